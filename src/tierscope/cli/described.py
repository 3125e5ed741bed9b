"""Help texts of all commands, in parts, for docs/cli.md and the manual pages."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass

import click

from tierscope.cli.app import app
from tierscope.cli.parsing import Entry, FormOption, LazyGroup, grouped

_BREAK = "\b\n"
"""Begins a paragraph whose lines stay as they are."""
_HELP = {"--help", "--help-all"}
_DEFAULT = re.compile(r"  \[default: (.*)\]$")


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of a command's help."""

    title: str
    """Title above lines of code, which ends in a colon; empty where there is none."""
    text: str
    """To be wrapped; empty where there is code."""
    code: tuple[str, ...] = ()
    """Lines that stay as they are, each indented by two spaces or more."""


@dataclass(frozen=True)
class OptionText:
    """An option, as its command's help shows it."""

    names: tuple[str, ...]
    metavar: str
    """Its value, with the sign or space before it; empty for flags."""
    help: str
    default: str


@dataclass(frozen=True)
class Described:
    """A command, the words that call it, and what it says of itself."""

    words: str
    entry: Entry
    heading: str
    """The heading of ``tierscope --help`` that lists it or its group."""
    usage: str
    paragraphs: tuple[Paragraph, ...]
    options: tuple[OptionText, ...]
    below: tuple[Entry, ...]
    """The commands of a group, or those that are called behind this command's name, too."""


def described_app() -> Described:
    """Return what ``tierscope`` itself says."""
    summary = inspect.cleandoc(app.help or "").partition("\n")[0]
    return _describe(Entry("tierscope", summary, "", lambda: app), "", None, "")


def described_commands() -> Iterator[Described]:
    """Yield every command below ``tierscope``, heading by heading, groups before their commands."""
    for heading in dict.fromkeys(entry.heading for entry in app.entries):
        for entry in app.entries:
            if entry.heading == heading:
                yield from _walk(entry, "tierscope ", app, heading)


def _walk(entry: Entry, above: str, group: LazyGroup, heading: str) -> Iterator[Described]:
    found = _describe(entry, above, group, heading)
    yield found
    command = entry.load()
    if isinstance(command, LazyGroup):
        for below in (entry for entry in command.entries if not entry.group):
            yield from _walk(below, f"{found.words} ", command, heading)


def _describe(entry: Entry, above: str, group: LazyGroup | None, heading: str) -> Described:
    command = entry.load()
    parent = click.Context(group) if group else None
    context = click.Context(command, info_name=entry.name, parent=parent)
    options = [one for one in command.get_params(context) if isinstance(one, click.Option)]
    shown = [one for one in options if not one.hidden and not _HELP & {*one.opts}]
    return Described(
        words=f"{above}{entry.name}",
        entry=entry,
        heading=heading,
        usage=" ".join(_usage(command)),
        paragraphs=tuple(map(_paragraph, inspect.cleandoc(command.help or "").split("\n\n"))),
        options=tuple(map(_option, shown)),
        below=command.entries if isinstance(command, LazyGroup) else tuple(grouped(context)),
    )


def _usage(command: click.Command) -> Iterator[str]:
    yield "[OPTIONS]"
    yield from (one.metavar or "" for one in command.params if isinstance(one, click.Argument))
    if isinstance(command, LazyGroup):
        yield "[COMMAND]"


def _paragraph(text: str) -> Paragraph:
    lines = text.removeprefix(_BREAK).splitlines()
    if not text.startswith(_BREAK) or not any("  " in line for line in lines):
        return Paragraph("", " ".join(lines))
    title = lines.pop(0) if lines[0].endswith(":") else ""
    return Paragraph(title, "", tuple(lines))


def _option(option: click.Option) -> OptionText:
    space = "" if isinstance(option, FormOption) else " "
    text = option.help or ""
    found = _DEFAULT.search(text)
    return OptionText(
        names=tuple(option.opts),
        metavar=f"{space}{option.metavar}" if option.metavar else "",
        help=_DEFAULT.sub("", text),
        default=found[1] if found else "",
    )
