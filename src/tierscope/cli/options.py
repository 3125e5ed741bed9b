"""Options and arguments that several commands share."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
from click.shell_completion import CompletionItem

from tierscope.cli.output import Output
from tierscope.cli.parsing import Command, FormOption, ListedOption

if TYPE_CHECKING:
    from tierscope.peers.registry import Export

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
"""Settings of every command."""
PATH = click.Path(path_type=Path)
START_HELP = (
    "Start measuring at this time, as in 18:30:00 or 2026-05-04T18:30:00Z, for hosts that share "
    "a device"
)

Function = TypeVar("Function", bound=Callable[..., Any])


def command(name: str | None = None, **settings: Any) -> Callable[[Function], Command]:
    """Make a command of a function."""
    return click.command(name, cls=Command, context_settings=SETTINGS, **settings)


def json_option(function: Function) -> Function:
    """Add ``--json``, which the function gets in ``output``."""
    form = form_option("--json", "One JSON object instead of tables, or to FILE beside them")
    return form(_into_output(function, json="json"))


def csv_option(function: Function, essential: bool = True) -> Function:
    """Add ``--csv``, which the function gets in ``output``."""
    form = form_option("--csv", "CSV instead of tables, or to FILE beside them", essential)
    return form(_into_output(function, csv="csv"))


def _into_output(function: Function, **options: str) -> Function:
    """Hand options on, by the fields of Output that hold them, in the argument ``output``."""

    @functools.wraps(function)
    def call(*arguments: Any, output: Output | None = None, **values: Any) -> Any:
        fields = {name: values.pop(option) for name, option in options.items()}
        return function(*arguments, output=replace(output or Output(), **fields), **values)

    return cast(Function, call)


def form_option(
    name: str, help_text: str, essential: bool = True
) -> Callable[[Function], Function]:
    """Add a form of results; its value is a file's name, or ``-`` for stdout."""
    return click.option(
        name, cls=FormOption, metavar="[=FILE]", help=help_text, essential=essential
    )


def moved_option(name: str, message: str) -> Callable[[Function], Function]:
    """Refuse an option that has another name or place now, which ``message`` tells."""

    def refuse(_context: click.Context, _parameter: click.Parameter, given: str | None) -> None:
        if given is not None:
            raise click.UsageError(f"{name}: {message}")

    return click.option(name, hidden=True, expose_value=False, callback=refuse)


def out_option(
    metavar: str, help_text: str, essential: bool = True, **settings: Any
) -> Callable[[Function], Function]:
    """Add ``--out``: where the result goes."""
    return click.option(
        "--out", "-o", cls=ListedOption, metavar=metavar, type=PATH, help=help_text,
        essential=essential, **settings,
    )  # fmt: skip


def run_file_option(essential: bool = True) -> Callable[[Function], Function]:
    """Add ``--out`` of what writes a run file."""
    text = "The run file, NAME.jsonl, or a directory for it  [default: the data directory]"
    return out_option("RUN", text, essential, callback=_no_stdout)


def _no_stdout(_context: click.Context, _option: click.Parameter, out: Path | None) -> Path | None:
    from tierscope.model.errors import UserError
    from tierscope.runs.output import is_stdout

    if out is not None and is_stdout(out):
        raise UserError("--out: a run goes to a file; name one that ends in .jsonl, or a directory")
    return out


def output_options(function: Function) -> Function:
    """Add what every measuring command has, which the function gets in ``output``."""
    out = run_file_option(essential=False)
    with_energy = click.option(
        "--energy",
        cls=ListedOption,
        essential=False,
        is_flag=True,
        help="Also measure power, and energy per bit (RAPL, NVML, hwmon; RAPL needs root)",
    )
    function = out(
        start_option(with_energy(_into_output(function, directory="out", energy="energy")))
    )
    return json_option(csv_option(dry_run_option(verbose_option(function)), essential=False))


def stated_options(function: Function) -> Function:
    """Add ``--memory`` and ``--socket-link``, which state what the system does not report of this
    machine."""

    @functools.wraps(function)
    def call(
        *arguments: Any, memory: str | None = None, socket_link: str | None = None, **values: Any
    ) -> Any:
        for name, text in (("memory", memory), ("socket-link", socket_link)):
            if text is not None:
                from tierscope.cli.stated import keep_stated

                keep_stated(name, text, f"--{name}")
        return function(*arguments, **values)

    memory_option = click.option(
        "--memory",
        cls=ListedOption,
        essential=False,
        metavar="MODULES",
        help="State the memory of each node, as in 8xDDR5-4800, or node:0=8xDDR5-4800, where the "
        "system reports none; kept for later runs, none forgets",
    )
    link_option = click.option(
        "--socket-link",
        cls=ListedOption,
        essential=False,
        metavar="LINKS",
        help="State the links between each pair of sockets (UPI, xGMI), as in 3x20.8GB/s each way, "
        "or 4x16x32GT/s by lanes; kept for later runs, none forgets",
    )
    return memory_option(link_option(cast(Function, call)))


def verbose_option(function: Function) -> Function:
    """Add ``--verbose``, which the function gets in ``output``."""
    return click.option(
        "--verbose",
        "-v",
        is_flag=True,
        help="Also say how each figure was observed: pages, CPUs, disturbance, samples",
    )(_into_output(function, verbose="verbose"))


def dry_run_option(function: Function) -> Function:
    """Add ``--dry-run``, which the function gets in ``output``."""
    return click.option(
        "--dry-run",
        is_flag=True,
        help="Print the expanded plan with its time and memory; measure nothing",
    )(_into_output(function, dry_run="dry_run"))


def start_option(function: Function) -> Function:
    """Add ``--start-at``, which the function gets in ``output``."""
    option = click.option(
        "--start-at",
        cls=ListedOption,
        essential=False,
        metavar="TIME",
        callback=_moment,
        help=START_HELP,
    )
    return option(_into_output(function, start_at="start_at"))


def _moment(
    _context: click.Context, parameter: click.Parameter, given: str | None
) -> datetime | None:
    if given is None:
        return None
    from tierscope.plans.grammar import parse_moment

    with blaming(parameter.opts[0]):
        return parse_moment(given, datetime.now().astimezone())


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
    return click.option(
        name, cls=ListedOption, metavar=metavar, type=PATH, help=help_text, **settings
    )


def peer_options(rows: "dict[str, Export]") -> Callable[[Function], Function]:
    """Add a file option with the name of each peer that has such a row in the registry."""

    def add(function: Function) -> Function:
        for name, row in reversed(rows.items()):
            function = file_option(f"--{name}", row.help, metavar=row.metavar)(function)
        return function

    return add


@contextlib.contextmanager
def blaming(option: str) -> Iterator[None]:
    """Name an option in front of what a UserError of the block says."""
    from tierscope.model.errors import UserError

    try:
        yield
    except UserError as error:
        raise UserError(f"{option}: {error}", error.exit_code) from None


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
