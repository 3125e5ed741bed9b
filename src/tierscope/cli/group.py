"""Groups of commands that import a command only when it is used."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click
from click.shell_completion import CompletionItem

from tierscope.cli.parsing import Parsed


@dataclass(frozen=True)
class Entry:
    """One command, as its group's ``--help`` needs it."""

    name: str
    summary: str
    heading: str
    """The heading of ``--help`` that lists it."""
    load: Callable[[], click.Command]
    aliases: tuple[str, ...] = ()
    """Older names, which work but are not listed."""


class LazyGroup(Parsed, click.Group):
    """Lists its commands from a table, and imports only the one that is called."""

    def __init__(self, *arguments: object, entries: Sequence[Entry], **settings: object) -> None:
        super().__init__(*arguments, **settings)  # type: ignore[arg-type]
        self.entries = tuple(entries)
        self._by_name = {name: entry for entry in entries for name in (entry.name, *entry.aliases)}

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Print the help where no command is named, if the group does nothing by itself."""
        if not args and self.no_args_is_help and not context.resilient_parsing:
            click.echo(context.get_help())
            context.exit()
        return super().parse_args(context, args)

    def list_commands(self, _context: click.Context) -> list[str]:
        """Return the names that ``--help`` lists."""
        return [entry.name for entry in self.entries]

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        """Import a command by its name or an alias."""
        entry = self._by_name.get(name)
        return _once_each(entry.load()) if entry else None

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command to call; an alias counts as the command's own name."""
        word = arguments[0]
        if word not in self._by_name and not word.startswith("-") and not context.resilient_parsing:
            from tierscope.model.errors import did_you_mean

            context.fail(f"there is no command '{word}'{did_you_mean(word, tuple(self._by_name))}")
        _, command, rest = super().resolve_command(context, arguments)
        return (command.name if command else None), command, rest

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
        """Complete names, and aliases to the names that stand for them now."""
        found = [
            CompletionItem(entry.name, help=entry.summary)
            for entry in self.entries
            if any(name.startswith(incomplete) for name in (entry.name, *entry.aliases))
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
