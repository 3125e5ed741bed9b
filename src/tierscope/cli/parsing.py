"""What click is told beyond its own rules: forms of results, and older spellings of options."""

from collections.abc import Iterator, Sequence

import click

from tierscope.cli.forms import STDOUT

_OLDER = {"--output": "--out"}
"""Older spellings that still work."""


class FormOption(click.Option):
    """``--csv`` prints, ``--csv=FILE`` writes a file; a word behind it stays an argument.

    Only ``-`` or a word with the form's own suffix counts as its file without the sign =.
    """

    def get_help_record(self, _context: click.Context) -> tuple[str, str]:
        """Show where its file stands."""
        return f"{self.opts[0]}{self.metavar}", self.help or ""

    def takes(self, word: str) -> bool:
        """Whether a word behind it is its file."""
        return word == STDOUT or word.endswith(f".{self.name}")


class Parsed:
    """Reads the files of forms, and older spellings of options, before click parses the rest."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Parse what ``_spelled_out`` makes of the arguments."""
        options = {
            name: one
            for one in context.command.params
            if isinstance(one, click.Option)
            for name in one.opts
        }
        spelled_out = [*_spelled_out(args, options)]
        return super().parse_args(context, spelled_out)  # type: ignore[misc, no-any-return]


class Command(Parsed, click.Command):
    """What every command is."""


class WithProgram(Command):
    """Takes a program and its arguments behind ``--``, whatever they look like."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Refuse a program that is not behind ``--``: which options are its own is not clear."""
        before = args[: args.index("--")] if "--" in args else args
        rest = super().parse_args(context, [*args])
        if context.params.get("command") and len(before) == len(args):
            program = context.params["command"][0]
            context.fail(f"put -- before the program, as in: -- {program}")
        return rest


def _spelled_out(args: Sequence[str], options: dict[str, click.Option]) -> Iterator[str]:
    """Yield arguments as click understands them: ``--csv`` as ``--csv=-``."""
    rest = [*args]
    while rest:
        word = rest.pop(0)
        if word == "--":
            yield from (word, *rest)
            return
        name, sign, value = word.partition("=")
        if _OLDER.get(name) in options:
            name = _OLDER[name]
        option = options.get(name)
        if isinstance(option, FormOption) and not sign:
            sign, value = "=", rest.pop(0) if rest and option.takes(rest[0]) else STDOUT
        yield f"{name}{sign}{value}"
