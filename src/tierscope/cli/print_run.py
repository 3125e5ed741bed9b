"""Print a run, which was measured just now or read from a file."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tierscope.cli.output import Output
from tierscope.peers.registry import run_view
from tierscope.suites.registry import beside_of

if TYPE_CHECKING:
    from rich.console import Console

    from tierscope.model.run import Run

Show = Callable[["Console", "Run", Path], None]
"""Prints a run to a console; the path is the run file's."""
More = Callable[["Run"], dict[str, Any]]
"""Returns what a command's JSON has beside ``run`` and ``results``."""


def print_run(
    run: "Run", path: Path, output: Output, show: Show | None = None, more: More | None = None
) -> None:
    """Print a run, or write it, in the forms asked for; runs of a peer are shown by it."""
    own = run_view(run)

    def in_json() -> str:
        from tierscope.kinds.views import VIEWS
        from tierscope.report.summary import verdict_of
        from tierscope.report.view import more_of
        from tierscope.runs.export import to_json

        verdict = verdict_of(run, VIEWS)
        found: dict[str, Any] = {"verdict": {"word": verdict.word, "why": verdict.why}}
        published = beside_of(run)
        found |= more_of(run, VIEWS) | (published.json if published else {})
        found |= more(run) if more else {}
        return to_json(run, found | own.json() if own else found)

    def in_csv() -> str:
        from tierscope.runs.export import table_bytes

        return table_bytes([path], "csv")[0].decode()

    def tables(console: "Console") -> None:
        if show is not None:
            show(console, run, path)
            return
        if own is not None:
            own.show(console, path)
            return
        from tierscope.kinds.views import VIEWS
        from tierscope.report.run import show_run

        show_run(console, run, path, VIEWS, beside_of(run))

    output.emit(in_json, tables, in_csv)
