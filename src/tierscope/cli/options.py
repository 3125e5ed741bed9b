"""Parameters that several commands have, each written once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
from click.shell_completion import CompletionItem

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
"""Of every command."""
PATH = click.Path(path_type=Path)

Function = TypeVar("Function", bound=Callable[..., Any])


class Output(NamedTuple):
    """What a measuring command prints and keeps, and where."""

    json: bool
    dry_run: bool
    directory: Path | None


def json_option(function: Function) -> Function:
    """Add ``--json``."""
    return click.option("--json", is_flag=True, help="Print one JSON object instead of tables")(
        function
    )


def csv_option(function: Function) -> Function:
    """Add ``--csv``."""
    return click.option("--csv", is_flag=True, help="Print CSV instead of tables")(function)


def output_options(function: Function) -> Function:
    """Add what every measuring command has: ``--json``, ``--dry-run`` and ``--out``."""
    out = click.option(
        "--out",
        metavar="DIR",
        type=PATH,
        help="Directory of the run file  [default: the data directory]",
    )
    dry_run = click.option(
        "--dry-run",
        is_flag=True,
        help="Print the expanded plan with its time and memory; measure nothing",
    )
    return json_option(dry_run(out(function)))


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


def complete_run(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the names and tags of kept runs, else files."""
    from tierscope.runs.store import SUFFIX, runs_directory, tags_of

    paths = sorted(runs_directory().glob(f"*{SUFFIX}"), reverse=True)
    words = ["last", *(tag for path in paths for tag in tags_of(path)), *(p.stem for p in paths)]
    found = [CompletionItem(word) for word in dict.fromkeys(words) if word.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


def form_of(json: bool, csv: bool) -> str:
    """Return what to print: json, csv or tables; raises UserError where both are asked for."""
    from tierscope.model.errors import UserError

    if json and csv:
        raise UserError("give --json or --csv, not both")
    return "json" if json else "csv" if csv else "tables"
