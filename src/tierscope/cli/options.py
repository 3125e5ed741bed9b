"""Parameters that several commands have, each written once."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
from click.shell_completion import CompletionItem

from tierscope.cli.forms import Forms as Forms
from tierscope.cli.parsing import Command, FormOption

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
"""Of every command."""
PATH = click.Path(path_type=Path)
START_HELP = (
    "Begin measuring then, as in 18:30:00 or 2026-05-04T18:30:00Z, for hosts that share a device"
)

Function = TypeVar("Function", bound=Callable[..., Any])


class Output(NamedTuple):
    """What a measuring command prints and keeps, and where."""

    forms: Forms
    dry_run: bool
    directory: Path | None
    start_at: datetime | None = None
    """When the first visit is to begin; None: at once."""
    energy: bool = False
    """Energy is measured beside it."""


def command(name: str | None = None, **settings: Any) -> Callable[[Function], Command]:
    """Make a command of a function."""
    return click.command(name, cls=Command, context_settings=SETTINGS, **settings)


def json_option(function: Function) -> Function:
    """Add ``--json``."""
    return form_option("--json", "One JSON object instead of tables, or to FILE beside them")(
        function
    )


def csv_option(function: Function) -> Function:
    """Add ``--csv``."""
    return form_option("--csv", "CSV instead of tables, or to FILE beside them")(function)


def form_option(name: str, help_text: str) -> Callable[[Function], Function]:
    """Add a form of results; its value is a file's name, or ``-`` for stdout."""
    return click.option(name, cls=FormOption, metavar="[=FILE]", help=help_text)


def moved_option(name: str, message: str) -> Callable[[Function], Function]:
    """Refuse an option that has another name or place now, which ``message`` tells."""

    def refuse(_context: click.Context, _parameter: click.Parameter, given: str | None) -> None:
        if given is not None:
            raise click.UsageError(f"{name}: {message}")

    return click.option(name, hidden=True, expose_value=False, callback=refuse)


def out_option(metavar: str, help_text: str) -> Callable[[Function], Function]:
    """Add ``--out``: where the result goes."""
    return click.option("--out", "-o", metavar=metavar, type=PATH, help=help_text)


def output_options(function: Function) -> Function:
    """Add what every measuring command has: ``--json``, ``--csv``, ``--dry-run``, ``--out``,
    ``--start-at`` and ``--energy``."""
    out = out_option("DIR", "Directory of the run file  [default: the data directory]")
    return json_option(csv_option(dry_run_option(out(start_option(energy_option(function))))))


def dry_run_option(function: Function) -> Function:
    """Add ``--dry-run``."""
    return click.option(
        "--dry-run",
        is_flag=True,
        help="Print the expanded plan with its time and memory; measure nothing",
    )(function)


def start_option(function: Function) -> Function:
    """Add ``--start-at``."""
    return click.option("--start-at", metavar="TIME", callback=_moment, help=START_HELP)(function)


def energy_option(function: Function) -> Function:
    """Add ``--energy``."""
    return click.option(
        "--energy",
        is_flag=True,
        help="Measure watts too, and of bandwidths pJ/bit (RAPL, NVML, hwmon; RAPL needs root)",
    )(function)


def _moment(
    _context: click.Context, parameter: click.Parameter, given: str | None
) -> datetime | None:
    if given is None:
        return None
    from tierscope.model.errors import UserError
    from tierscope.plans.grammar import parse_moment

    try:
        return parse_moment(given, datetime.now().astimezone())
    except UserError as error:
        raise UserError(f"{parameter.opts[0]}: {error}") from None


def directory_option(function: Function) -> Function:
    """Add ``--in``."""
    return click.option(
        "--in",
        "directory",
        metavar="DIR",
        type=PATH,
        help="A directory of runs  [default: the data directory]",
    )(function)


def run_argument(function: Function) -> Function:
    """Add one run, ``last`` unless told."""
    return click.argument("run", metavar="[RUN]", default="last", shell_complete=complete_run)(
        function
    )


def runs_argument(metavar: str = "[RUN]...") -> Callable[[Function], Function]:
    """Add any number of runs."""
    return click.argument("runs", metavar=metavar, nargs=-1, shell_complete=complete_run)


def file_option(
    name: str, help_text: str, metavar: str = "FILE", **settings: Any
) -> Callable[[Function], Function]:
    """Add an option that names a file or directory to write or read."""
    return click.option(name, metavar=metavar, type=PATH, help=help_text, **settings)


def refuse_given(context: click.Context, why: str, *names: str) -> None:
    """Raise UserError where an option was given, one of these or any, that would be ignored."""
    from tierscope.model.errors import UserError

    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        chosen = not names or parameter.name in names
        if chosen and source is not None and source.name == "COMMANDLINE":
            raise UserError(f"{parameter.opts[0]} has no effect here; {why}")


def complete_run(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the names and tags of kept runs, else files."""
    from tierscope.runs.store import SUFFIX, runs_directory, tags_of

    paths = sorted(runs_directory().glob(f"*{SUFFIX}"), reverse=True)
    words = ["last", *(tag for path in paths for tag in tags_of(path)), *(p.stem for p in paths)]
    found = [CompletionItem(word) for word in dict.fromkeys(words) if word.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]
