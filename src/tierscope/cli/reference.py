"""Write the commands' part of docs/cli.md: ``python -m tierscope.cli.reference docs/cli.md``."""

import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from tierscope.cli.described import Described, OptionText, Paragraph, described_commands

BEGIN = "<!-- commands: written by `make docs` -->\n"
END = "<!-- end of commands -->\n"
_WIDTH = 100


def with_reference(document: str) -> str:
    """Return a document whose part between the two marks describes all commands."""
    head, begin, rest = document.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the document lacks the line '{((begin and END) or BEGIN).strip()}'")
    return f"{head}{BEGIN}\n{reference()}{END}{tail}"


def reference() -> str:
    """Return Markdown that describes every command with its options and examples."""
    lines: list[str] = []
    heading = ""
    for command in described_commands():
        if command.heading != heading:
            heading = command.heading
            lines += [f"## {heading}", ""]
        lines += _section(command)
    return "\n".join(lines)


def _section(command: Described) -> Iterator[str]:
    """Yield the lines of a command."""
    yield from (f"### `{command.words}`", "", f"    {command.words} {command.usage}", "")
    for paragraph in command.paragraphs:
        yield from (*_paragraph(paragraph), "")
    if command.options:
        yield from ("| option | meaning | default |", "|---|---|---|")
        yield from (*map(_row, command.options), "")


def _paragraph(paragraph: Paragraph) -> list[str]:
    """Return a paragraph of a command's help; lines that are to stay as they are become code."""
    if not paragraph.code:
        return textwrap.wrap(_escaped(paragraph.text), _WIDTH, break_on_hyphens=False)
    code = [re.sub(r"^  tierscope ", "  $ tierscope ", line) for line in paragraph.code]
    if paragraph.title:
        return [paragraph.title, "", *(f"  {line}".rstrip() for line in code)]
    return [f"    {line}".rstrip() for line in code]


def _row(option: OptionText) -> str:
    names = ", ".join(f"`{name}`" for name in option.names)
    cells = (f"{names}{option.metavar}", option.help, option.default)
    return "| " + " | ".join(_escaped(cell) for cell in cells) + " |"


def _escaped(text: str) -> str:
    """Return text without the signs that Markdown takes for its own."""
    return re.sub(r"([|*<])", r"\\\1", text)


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(with_reference(file.read_text()))
