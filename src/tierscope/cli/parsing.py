"""Extensions of click: short and long help, forms of results, older spellings, lazy groups."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click
from click.shell_completion import CompletionItem

from tierscope.cli.output import STDOUT

_ALL = "tierscope: all"
"""In a context's ``meta`` while the help of ``--help-all`` is made."""


class ListedOption(click.Option):
    """An option that ``--help`` lists, or, where it is not ``essential``, only ``--help-all``."""

    def __init__(self, *arguments: Any, essential: bool = True, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.essential = essential

    def get_help_record(self, context: click.Context) -> tuple[str, str] | None:
        """Return the option and its text; None where the help that is made leaves it out."""
        listed = self.essential or context.meta.get(_ALL)
        return super().get_help_record(context) if listed else None


class FormOption(ListedOption):
    """``--csv`` prints, ``--csv=FILE`` writes a file; a word behind it stays an argument.

    Only ``-`` or a word with the form's own suffix counts as its file without the sign =.
    """

    def get_help_record(self, context: click.Context) -> tuple[str, str] | None:
        """Show where its file stands."""
        listed = super().get_help_record(context) is not None
        return (f"{self.opts[0]}{self.metavar}", self.help or "") if listed else None

    def takes(self, word: str) -> bool:
        """Whether a word behind it is its file."""
        return word == STDOUT or word.endswith(f".{self.name}")


class Parsed:
    """Reads the files of output, and older spellings of options, before click parses the rest.

    Its ``--help`` says how much more ``--help-all`` lists.
    """

    def get_params(self, context: click.Context) -> list[click.Parameter]:
        """Return the parameters, with ``--help-all`` behind all others."""
        found = super().get_params(context)  # type: ignore[misc]
        return [*found, _HELP_ALL]

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """End the short help with what it leaves out."""
        more = self.left_out(context)
        if more and not context.meta.get(_ALL):
            formatter.write_paragraph()
            formatter.write(f"{more}: {context.command_path} --help-all\n")

    def left_out(self, context: click.Context) -> str:
        """Say what only ``--help-all`` lists: ``21 more options``; empty where there is nothing."""
        options = context.command.get_params(context)
        rare = [one for one in options if isinstance(one, ListedOption) and not one.essential]
        return f"{len(rare)} more option{'s' * (len(rare) > 1)}" if rare else ""

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


def _help_all(context: click.Context, _parameter: click.Parameter, asked: bool) -> None:
    if asked and not context.resilient_parsing:
        context.meta[_ALL] = True
        click.echo(context.get_help())
        context.exit()


class _HelpAll(click.Option):
    """``--help-all``, which the last line of helps names where there is more than they list."""

    def get_help_record(self, _context: click.Context) -> None:
        """Return nothing for the list of options."""


_HELP_ALL = _HelpAll(
    ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_help_all
)


class Command(Parsed, click.Command):
    """Base of all commands; one that has a group's name lists the group's commands, too."""

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options, and the commands of the group."""
        super().format_options(context, formatter)
        if below := grouped(context):
            with formatter.section("Commands"):
                formatter.write_dl([(entry.name, entry.summary) for entry in below])


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
    group: str = ""
    """The group of commands, or the command, whose ``--help`` lists it; the short help of
    ``tierscope`` does where empty. It is called with and without the group's name."""


def grouped(context: click.Context) -> "list[Entry]":
    """Return the commands that are called behind this command's name, too: those of its group."""
    above = context.parent.command if context.parent else None
    entries = above.entries if isinstance(above, LazyGroup) else ()
    return [entry for entry in entries if entry.group == context.info_name]


def complete_path(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete files, and the commands of the group that has this command's name."""
    names = [_completion(entry) for entry in grouped(context) if entry.name.startswith(incomplete)]
    return [*names, CompletionItem(incomplete, type="file")]


class LazyGroup(Parsed, click.Group):
    """Lists its commands from a table, and imports only the one that is called."""

    def __init__(self, *arguments: object, entries: Sequence[Entry], **settings: object) -> None:
        super().__init__(*arguments, **settings)  # type: ignore[arg-type]
        self.entries = tuple(entries)
        self._by_name = {entry.name: entry for entry in entries}

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Print the help where no command is named, if the group does nothing by itself; ``help
        COMMAND`` is ``COMMAND --help``, and with ``--all`` ``COMMAND --help-all``."""
        if args and args[0] == "help":
            words = [word for word in args[1:] if word != "--all"]
            context.meta[_ALL] = "--all" in args
            args = [*words, "--help"]
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
        below = self._by_name.get(arguments[1]) if len(arguments) > 1 else None
        if below and below.group == word:
            arguments = arguments[1:]
        return super().resolve_command(context, arguments)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands below their headings, those of other groups for ``--help-all``."""
        every = bool(context.meta.get(_ALL))
        listed = [entry for entry in self.entries if every or entry.group in ("", self.name)]
        width = max((len(entry.name) for entry in listed), default=0)
        for heading in dict.fromkeys(entry.heading for entry in listed):
            rows = [
                (entry.name.ljust(width), entry.summary)
                for entry in listed
                if entry.heading == heading
            ]
            with formatter.section(heading):
                formatter.write_dl(rows)

    def left_out(self, context: click.Context) -> str:
        """Say what only ``--help-all`` lists."""
        more = sum(entry.group not in ("", self.name) for entry in self.entries)
        return f"{more} more commands" if more else super().left_out(context)

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names."""
        found = [_completion(entry) for entry in self.entries if entry.name.startswith(incomplete)]
        return found + click.Command.shell_complete(self, context, incomplete)


def _completion(entry: Entry) -> CompletionItem:
    return CompletionItem(entry.name, help=entry.summary)


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
