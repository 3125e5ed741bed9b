"""Print a run, which was measured just now or read from a file."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tierscope.cli.forms import Forms, emit
from tierscope.model.run import Run

if TYPE_CHECKING:
    from rich.console import Console

Show = Callable[["Console", Run, Path], None]
"""Prints a run to a console; the path is the run file's."""


def print_run(run: Run, path: Path, forms: Forms, show: Show | None = None) -> None:
    """Print a run, or write it, in the forms asked for."""

    def in_json() -> str:
        from tierscope.runs.export import to_json

        return to_json(run)

    def in_csv() -> str:
        from tierscope.runs.export_tables import table_bytes

        return table_bytes([path], "csv")[0].decode()

    def tables() -> None:
        from tierscope.report.console import make_console

        console = make_console()
        if show is not None:
            show(console, run, path)
            return
        from tierscope.kinds.views import VIEWS
        from tierscope.report.run import show_run

        show_run(console, run, path, VIEWS)

    emit(forms, in_json, tables, in_csv)
