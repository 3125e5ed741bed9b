"""``tierscope show``: a run again, or several beside each other."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tierscope.cli import options
from tierscope.cli.kept import runs_at
from tierscope.cli.output import Output, waiting
from tierscope.model.errors import ExitCode, UserError
from tierscope.runs.store import find_run

if TYPE_CHECKING:
    from rich.console import Console


@options.command()
@options.run_argument
@click.option(
    "--beside",
    metavar="RUN",
    multiple=True,
    shell_complete=options.complete_run,
    help="Show summaries of the curves of RUN beside this run's; may be repeated",
)
@options.json_option
@options.csv_option
@options.verbose_option
@click.pass_context
def show(context: click.Context, run: str, beside: tuple[str, ...], output: Output) -> None:
    """Show a run again, whether complete, interrupted or cut short.

    RUN is a run file, the name of a run, a tag, or last, which is the default. Runs of any
    machines, and imported ones, go beside each other.

    \b
    Examples:
      tierscope show
      tierscope show -v
      tierscope show results/20260105-140307-quick.jsonl --csv
      tierscope show 20260105-140307-quick --json
      tierscope show last --beside published
    """
    if beside:
        options.refuse_given(context, "runs beside each other are tables and --json", "csv")
        _show_beside((run, *beside), output)
    else:
        _show_one(run, output)


def _show_one(name: str, output: Output) -> None:
    """Print a run file, or write it, in the forms asked for."""
    from tierscope.cli.print_run import print_run
    from tierscope.runs.read import read_run

    output.check()
    path = find_run(name)
    output.check([path])
    with waiting("reading the run"):
        run = read_run(path)
    print_run(run, path, output)


def _show_beside(names: Sequence[str], output: Output) -> None:
    """Print what the figures of several runs come to; UserError where they come to nothing."""
    from tierscope.kinds.views import VIEWS
    from tierscope.report.view import more_of, summaries_of

    paths = [find_run(name) for name in names]
    output.check(paths)
    runs = runs_at(paths)
    found = summaries_of(runs, VIEWS)
    if not found:
        kinds = ", ".join(kind for kind, view in VIEWS.items() if view.summaries)
        raise UserError(
            f"--beside: none of these runs has results of {kinds}; for figures that both runs "
            "have, use 'tierscope compare'",
            ExitCode.NOTHING_MEASURED,
        )

    def tables(console: "Console") -> None:
        from tierscope.report.summary import show_summaries

        for summaries in found.values():
            show_summaries(console, summaries)

    in_json = {"runs": [{"name": name, **more_of(run, VIEWS)} for name, run in runs]}
    output.emit(in_json, tables)
