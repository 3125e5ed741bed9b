"""Print a run, which was measured just now or read from a file."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tierscope.analysis.streamer import is_study
from tierscope.cli.forms import Forms, emit
from tierscope.model.run import Run

if TYPE_CHECKING:
    from rich.console import Console

Show = Callable[["Console", Run, Path], None]
"""Prints a run to a console; the path is the run file's."""
More = Callable[[Run], dict[str, Any]]
"""Returns what a command's JSON has beside ``run`` and ``results``."""


def print_run(
    run: Run, path: Path, forms: Forms, show: Show | None = None, more: More | None = None
) -> None:
    """Print a run, or write it, in the forms asked for; one of the study has its own tables."""

    def in_json() -> str:
        from tierscope.kinds.views import VIEWS
        from tierscope.report.view import more_of
        from tierscope.runs.export import to_json

        found = more_of(run, VIEWS) | (more(run) if more else {})
        if is_study(run):
            from tierscope.recipes.streamer_view import view_of
            from tierscope.report.streamer import study_json

            found |= study_json(view_of(run))
        return to_json(run, found)

    def in_csv() -> str:
        from tierscope.runs.export_tables import table_bytes

        return table_bytes([path], "csv")[0].decode()

    def tables() -> None:
        from tierscope.report.console import make_console

        console = make_console()
        if show is not None:
            show(console, run, path)
            return
        if run.header.cases and not run.header.imported:
            from tierscope.kinds.views import VIEWS
            from tierscope.recipes.cxlbench.table import show_cases

            show_cases(console, run, path, VIEWS)
            return
        if is_study(run):
            from tierscope.cli.streamer_flow import print_study
            from tierscope.recipes.streamer_view import view_of

            print_study(console, view_of(run), run, path)
            return
        from tierscope.kinds.views import VIEWS
        from tierscope.report.run import show_run

        show_run(console, run, path, VIEWS)

    emit(forms, in_json, tables, in_csv)
