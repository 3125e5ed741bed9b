"""Hooks of `make site`: the README is the first page, and links to sources lead to their text.

MkDocs calls these functions by their names (mkdocs.yml).
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
_TO_DOCS = re.compile(r"\]\(docs/")
_WORKER = "https://unpkg.com/iframe-worker/shim"
"""What the theme fetches from the net for the search of pages that are opened as files."""
_TO_SOURCE = re.compile(r"\]\(\.\./([^)#]+)\)")


def on_files(files: Files, *, config: Any) -> Files:
    """Add the README as index.md, CHANGELOG.md, and the sources that pages link to, as text."""
    for name, path in (("index.md", "README.md"), ("CHANGELOG.md", "CHANGELOG.md")):
        text = _TO_DOCS.sub("](", (ROOT / path).read_text())
        files.append(File.generated(config, name, content=text))
    pages = "".join(page.read_text() for page in (ROOT / "docs").glob("*.md"))
    for path in sorted(set(_TO_SOURCE.findall(pages))):
        if (ROOT / path).is_file():  # else the link stays, and the strict build complains
            text = (ROOT / path).read_text()
            files.append(File.generated(config, f"sources/{path}.txt", content=text))
    for name, path in (("worker.js", "tools/site_worker.js"), ("site.css", "tools/site.css")):
        text = (ROOT / path).read_text()
        files.append(File.generated(config, f"assets/{name}", content=text))
    return files


def on_page_markdown(markdown: str, **_rest: Any) -> str:
    """Turn links to sources into links to their text in the site."""
    return _TO_SOURCE.sub(_source, markdown)


def on_post_page(output: str, **_rest: Any) -> str:
    """Have the search use our worker."""
    return output.replace(_WORKER, "assets/worker.js")


def on_post_template(output_content: str, **_rest: Any) -> str:
    """The same for the page of what is not found."""
    return output_content.replace(_WORKER, "assets/worker.js")


def _source(found: re.Match[str]) -> str:
    return f"](sources/{found[1]}.txt)" if (ROOT / found[1]).is_file() else found[0]
