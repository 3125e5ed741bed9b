"""The documentation as pages: whole, without the net, with a search that needs no server."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait
from tests.report.browser import browser

ROOT = Path(__file__).parent.parent.parent
SETTINGS = (ROOT / "mkdocs.yml").read_text()
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source)[^>]*\ssrc="(?:https?:)?//|<link[^>]*https?://"""
)


def build(settings: Path, to: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", settings, "-d", to]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("site")
    answer = build(ROOT / "mkdocs.yml", to)
    assert answer.returncode == 0, answer.stderr
    return to


def test_every_document_is_a_page_that_fetches_nothing(site: Path) -> None:
    for document in (ROOT / "docs").glob("*.md"):
        assert (site / f"{document.stem}.html").is_file()
    for page in site.glob("*.html"):
        assert FETCHED.search(page.read_text()) is None, page.name


def test_links_to_sources_lead_to_their_text(site: Path) -> None:
    assert 'href="sources/alloc/tierscope_alloc.h.txt"' in (site / "allocator.html").read_text()
    found = (site / "sources/alloc/tierscope_alloc.h.txt").read_text()
    assert found == (ROOT / "alloc/tierscope_alloc.h").read_text()


@pytest.mark.parametrize(
    ("link", "complaint"),
    [("nowhere.md", "'nowhere.md'"), ("cli.md#no-such", "no-such"), ("../no.c", "'../no.c'")],
)
def test_a_link_that_leads_nowhere_ends_the_build(
    tmp_path: Path, link: str, complaint: str
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "cli.md").write_text("# Commands\n")
    (docs / "page.md").write_text(f"[there]({link})\n")
    settings = re.sub(r"(?ms)^nav:.*", "", SETTINGS).replace("tools/", f"{ROOT}/tools/")
    (tmp_path / "mkdocs.yml").write_text(settings.replace("docs_dir: docs", f"docs_dir: {docs}"))
    answer = build(tmp_path / "mkdocs.yml", tmp_path / "site")
    assert answer.returncode == 1
    assert any("page.md" in line and complaint in line for line in answer.stderr.splitlines())


def test_the_search_works_in_pages_that_are_opened_as_files(site: Path, tmp_path: Path) -> None:
    with browser(tmp_path) as page:
        page.look(1280, "light")
        page.open(site / "index.html")
        page.driver.find_element(By.CSS_SELECTOR, "input.md-search__input").send_keys("seccomp")
        result = WebDriverWait(page.driver, 300).until(
            lambda driver: driver.find_elements(By.CSS_SELECTOR, ".md-search-result__link")
        )[0]
        assert "/containers.html" in (result.get_attribute("href") or "")
        assert (page.requests(), page.messages()) == ([], [])
