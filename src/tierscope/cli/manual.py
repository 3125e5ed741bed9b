"""Write a manual page of each command: ``python -m tierscope.cli.manual share/man/man1``."""

import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from tierscope.cli.described import Described, Paragraph, described_app, described_commands

_CODE_WIDTH = 73
"""Columns of code that fit into 80 beside a page's margins."""
_EXIT_STATUS = "Exit status: "
_WORDS = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")
"""The words of a shell's line, with what they quote."""
_REMARK = re.compile(r" {3,}(?=\S)")
"""Separator of an example and its explanation."""
_SIGNS = {"\\": r"\(rs", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"}


def pages() -> dict[str, str]:
    """Return the pages of tierscope and of every command, by the name of their file."""
    commands = [described_app(), *described_commands()]
    return {f"{_name(one.words)}.1": _page(one) for one in commands}


def _page(command: Described) -> str:
    """Return a page in man(7)'s macros."""
    name = _name(command.words)
    summary = command.entry.summary.rstrip(".")
    lines = [
        r".\" Written by `make docs` from the command's options.",
        f'.TH {_escaped(name.upper())} 1 "" tierscope "User Commands"',
        ".nh",
        ".ad l",
        ".SH NAME",
        rf"{_escaped(name)} \- {_escaped(summary[:1].lower() + summary[1:])}",
        ".SH SYNOPSIS",
        rf"\fB{_escaped(command.words)}\fR {_escaped(command.usage)}",
        ".SH DESCRIPTION",
    ]
    examples, statuses, rest = _sorted(command.paragraphs)
    for paragraph in rest:
        lines += [".PP", *_paragraph(paragraph)]
    lines.remove(".PP")  # the first one has the section's heading above it
    if command.below:
        lines += _commands(command)
    if command.options:
        lines += [".SH OPTIONS", *_options(command)]
    if statuses:
        lines += [".SH EXIT STATUS", *_wrapped(statuses[0].text.removeprefix(_EXIT_STATUS))]
    if examples:
        lines += [".SH EXAMPLES", *_code(examples[0].code)]
    lines += [".SH SEE ALSO", *_see_also(command)]
    return "\n".join(lines) + "\n"


def _sorted(
    paragraphs: tuple[Paragraph, ...],
) -> tuple[list[Paragraph], list[Paragraph], list[Paragraph]]:
    """Return those that sections of their own are made of, and the rest."""
    examples = [one for one in paragraphs if one.title in ("Example:", "Examples:")][:1]
    statuses = [one for one in paragraphs if one.text.startswith(_EXIT_STATUS)][:1]
    return examples, statuses, [one for one in paragraphs if one not in examples + statuses]


def _paragraph(paragraph: Paragraph) -> Iterator[str]:
    if not paragraph.code:
        yield from _wrapped(paragraph.text)
        return
    if paragraph.title:
        yield from (_escaped(paragraph.title), ".PP")
    yield from _code(paragraph.code)


def _commands(command: Described) -> Iterator[str]:
    """Yield the list of a group's commands, below headings where there are several."""
    headings = dict.fromkeys(entry.heading for entry in command.below)
    yield ".SH COMMANDS"
    for heading in headings:
        if len(headings) > 1:
            yield f".SS {_escaped(heading)}"
        for entry in command.below:
            if entry.heading == heading:
                yield from (".TP", rf"\fB{_escaped(entry.name)}\fR", *_wrapped(entry.summary))


def _options(command: Described) -> Iterator[str]:
    for option in command.options:
        names = ", ".join(rf"\fB{_escaped(name)}\fR" for name in option.names)
        metavar = re.sub(r"[A-Z]{2,}", r"\\fI\g<0>\\fR", _escaped(option.metavar))
        default = f" [default: {option.default}]" if option.default else ""
        yield from (".TP", f"{names}{metavar}", *_wrapped(option.help + default))


def _see_also(command: Described) -> Iterator[str]:
    """Yield the pages of the group's commands, or of the group, and of tierscope."""
    above = command.words.rpartition(" ")[0]
    words = [f"{'tierscope' if one.group else command.words} COMMAND" for one in command.below]
    words += [above, "tierscope"] if above else []
    names = [rf"\fB{_escaped(_name(one))}\fR(1)" for one in dict.fromkeys(words)]
    yield ",\n".join(names)


def _code(code: tuple[str, ...]) -> Iterator[str]:
    yield ".EX"
    for line in _aligned(textwrap.dedent("\n".join(code)).splitlines()):
        yield from map(_escaped, _broken(line))
    yield ".EE"


def _aligned(lines: list[str]) -> list[str]:
    """Return lines of code whose remarks, where there are any, stand as far left as they can."""
    split = [_REMARK.split(line, maxsplit=1) for line in lines]
    if not any(len(line) > _CODE_WIDTH for line in lines) or all(len(one) < 2 for one in split):
        return lines
    width = max(len(one[0]) for one in split if len(one) > 1) + 2
    return ["".join([one[0].ljust(width), *one[1:]]).rstrip() for one in split]


def _broken(line: str) -> list[str]:
    """Return a line of code as lines that fit, as a shell continues them."""
    if len(line) <= _CODE_WIDTH:
        return [line]
    if "tierscope " not in line or line.count('"') % 2:
        indent = " " * (found.end() if (found := re.search(r"^ +|\S  +", line)) else 2)
        return textwrap.wrap(line, _CODE_WIDTH, subsequent_indent=indent)
    parts = [""]
    for word in _WORDS.findall(line):
        if len(parts[-1]) + len(word) + 3 > _CODE_WIDTH and parts[-1].strip():
            parts.append("   ")
        parts[-1] += f" {word}" if parts[-1] else word
    return [*(f"{part} \\" for part in parts[:-1]), parts[-1]]


def _wrapped(text: str) -> list[str]:
    """Return text as lines of source, which begin with no sign that means a macro."""
    lines = textwrap.wrap(text, 72, break_on_hyphens=False, break_long_words=False)
    return [_escaped(line) for line in lines]


def _escaped(text: str) -> str:
    """Return text whose signs mean themselves."""
    safe = "".join(
        _SIGNS.get(sign) or (sign if sign.isascii() else rf"\[u{ord(sign):04X}]") for sign in text
    )
    return rf"\&{safe}" if safe.startswith(".") else safe


def _name(words: str) -> str:
    return words.replace(" ", "-")


def write(folder: Path) -> None:
    """Write the pages into a folder, and remove those of commands that are no more."""
    folder.mkdir(parents=True, exist_ok=True)
    found = pages()
    for old in folder.glob("*.1"):
        if old.name not in found:
            old.unlink()
    for name, text in found.items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
