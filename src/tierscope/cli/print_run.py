"""Print a run, which was measured just now or read from a file."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tierscope.model.run import Run

if TYPE_CHECKING:
    from rich.console import Console

Show = Callable[["Console", Run, Path], None]
"""Prints a run to a console; the path is the run file's."""


def print_run(run: Run, path: Path, as_json: bool, show: Show | None = None) -> None:
    """Print a run as JSON or tables."""
    if as_json:
        from tierscope.runs.export import to_json

        click.echo(to_json(run))
        return
    from tierscope.report.console import make_console

    console = make_console()
    if show is not None:
        show(console, run, path)
        return
    from tierscope.kinds.views import VIEWS
    from tierscope.report.run import show_run

    show_run(console, run, path, VIEWS)
