"""Write the commands' part of docs/cli.md: ``python -m tierscope.cli.reference docs/cli.md``."""

import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click

from tierscope.cli.app import app
from tierscope.cli.group import Entry, LazyGroup
from tierscope.cli.parsing import FormOption

BEGIN = "<!-- commands: written by `make docs` -->\n"
END = "<!-- end of commands -->\n"
_WIDTH = 100
_BREAK = "\b\n"
"""Begins a paragraph whose lines stay as they are."""
_DEFAULT = re.compile(r"  \[default: (.*)\]$")


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
    for heading in dict.fromkeys(entry.heading for entry in app.entries):
        lines += [f"## {heading}", ""]
        for entry in app.entries:
            if entry.heading == heading:
                lines += _section(entry, "tierscope", app)
    return "\n".join(lines)


def _section(entry: Entry, above: str, group: LazyGroup) -> Iterator[str]:
    """Yield the lines of a command and of those below it."""
    path = f"{above} {entry.name}"
    command = entry.load()
    context = click.Context(command, info_name=entry.name, parent=click.Context(group))
    usage = " ".join(_usage(command))
    yield from (f"### `{path}`", "", f"    {path} {usage}", "")
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        yield from (*_paragraph(paragraph), "")
    options = [one for one in command.get_params(context) if isinstance(one, click.Option)]
    shown = [one for one in options if not one.hidden and "--help" not in one.opts]
    rows = [_row(option) for option in shown]
    if rows:
        yield from ("| option | meaning | default |", "|---|---|---|", *rows, "")
    if entry.aliases:
        yield from (f"Older name: `{', '.join(entry.aliases)}`.", "")
    if isinstance(command, LazyGroup):
        for below in command.entries:
            yield from _section(below, path, command)


def _usage(command: click.Command) -> Iterator[str]:
    yield "[OPTIONS]"
    yield from (one.metavar or "" for one in command.params if isinstance(one, click.Argument))
    if isinstance(command, LazyGroup):
        yield "[COMMAND]"


def _paragraph(text: str) -> list[str]:
    """Return a paragraph of a command's help; lines that are to stay as they are become code."""
    lines = text.removeprefix(_BREAK).splitlines()
    if not text.startswith(_BREAK) or not any(line.startswith("  ") for line in lines):
        return textwrap.wrap(_escaped(" ".join(lines)), _WIDTH, break_on_hyphens=False)
    code = [re.sub(r"^  tierscope ", "  $ tierscope ", line) for line in lines]
    if code[0].endswith(":"):
        return [code[0], "", *(f"  {line}".rstrip() for line in code[1:])]
    return [f"    {line}".rstrip() for line in code]


def _row(option: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in option.opts)
    space = "" if isinstance(option, FormOption) else " "
    metavar = f"{space}{option.metavar}" if option.metavar else ""
    help_text = option.help or ""
    found = _DEFAULT.search(help_text)
    cells = (f"{names}{metavar}", _DEFAULT.sub("", help_text), found[1] if found else "")
    return "| " + " | ".join(_escaped(cell) for cell in cells) + " |"


def _escaped(text: str) -> str:
    """Return text without the signs that Markdown takes for its own."""
    return re.sub(r"([|*<])", r"\\\1", text)


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(with_reference(file.read_text()))
