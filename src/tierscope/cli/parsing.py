"""Extensions of click: forms of results, older spellings of options, lazy groups."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click
from click.shell_completion import CompletionItem

from tierscope.cli.output import STDOUT


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
    """Reads the files of output, and older spellings of options, before click parses the rest."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Parse what ``_spelled_out`` makes of the arguments."""
        options = {
            name: one
            for one in context.command.get_params(context)
            if isinstance(one, click.Option)
            for name in one.opts
        }
        spelled_out = [*_spelled_out(args, options)]
        return super().parse_args(context, spelled_out)  # type: ignore[misc, no-any-return]


class Command(Parsed, click.Command):
    """Base of all commands."""


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
        if name.startswith("--") and name not in options:
            name = _newer(name, options)
        option = options.get(name)
        if isinstance(option, FormOption) and not sign:
            sign, value = "=", rest.pop(0) if rest and option.takes(rest[0]) else STDOUT
        yield f"{name}{sign}{value}"


def _newer(name: str, options: Collection[str]) -> str:
    """Return today's name of an option that has an older spelling, else the name itself."""
    from tierscope.plans.options import OLDER

    newer = "--out" if name == "--output" else f"--{OLDER.get(name[2:])}"
    return newer if newer in options else name


@dataclass(frozen=True)
class Entry:
    """One command, as its group's ``--help`` needs it."""

    name: str
    summary: str
    heading: str
    """The heading of ``--help`` that lists it."""
    load: Callable[[], click.Command]


class LazyGroup(Parsed, click.Group):
    """Lists its commands from a table, and imports only the one that is called."""

    def __init__(self, *arguments: object, entries: Sequence[Entry], **settings: object) -> None:
        super().__init__(*arguments, **settings)  # type: ignore[arg-type]
        self.entries = tuple(entries)
        self._by_name = {entry.name: entry for entry in entries}

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Print the help where no command is named, if the group does nothing by itself; ``help
        COMMAND`` is ``COMMAND --help``."""
        if args and args[0] == "help":
            args = [*args[1:], "--help"]
        if not args and self.no_args_is_help and not context.resilient_parsing:
            click.echo(context.get_help())
            context.exit()
        return super().parse_args(context, args)

    def list_commands(self, _context: click.Context) -> list[str]:
        """Return the names that ``--help`` lists."""
        return [entry.name for entry in self.entries]

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        """Import a command by its name."""
        entry = self._by_name.get(name)
        return _once_each(entry.load()) if entry else None

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command to call."""
        word = arguments[0]
        if word not in self._by_name and not word.startswith("-") and not context.resilient_parsing:
            from tierscope.model.errors import did_you_mean

            context.fail(f"there is no command '{word}'{did_you_mean(word, tuple(self._by_name))}")
        return super().resolve_command(context, arguments)

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands below their headings."""
        width = max((len(entry.name) for entry in self.entries), default=0)
        for heading in dict.fromkeys(entry.heading for entry in self.entries):
            rows = [
                (entry.name.ljust(width), entry.summary)
                for entry in self.entries
                if entry.heading == heading
            ]
            with formatter.section(heading):
                formatter.write_dl(rows)

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names."""
        found = [
            CompletionItem(entry.name, help=entry.summary)
            for entry in self.entries
            if entry.name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, context, incomplete)


def _once_each(command: click.Command) -> click.Command:
    """Make a command refuse an option of one value that is given twice, where the last would win.

    Flags may be repeated, since that changes nothing.
    """
    if "make_parser" in vars(command):
        return command  # it came here before
    make = command.make_parser

    def make_parser(context: click.Context) -> Any:
        parser = make(context)
        parse = parser.parse_args

        def parse_args(args: list[str]) -> Any:
            values, rest, order = parse(args)
            for given in order:
                single = isinstance(given, click.Option) and not given.is_flag
                if single and not given.multiple and order.count(given) > 1:
                    raise click.UsageError(
                        f"{given.opts[0]} is given twice; give it once, with all its values",
                        context,
                    )
            return values, rest, order

        parser.parse_args = parse_args  # type: ignore[method-assign]
        return parser

    command.make_parser = make_parser  # type: ignore[assignment,method-assign]
    return command
