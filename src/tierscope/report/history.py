"""The list of kept runs, and the outcome of a query, in the terminal."""

from typing import Any

from rich.console import Console
from rich.text import Text

from tierscope.model.errors import counted
from tierscope.model.text import brief
from tierscope.report.style import new_table, note
from tierscope.runs.history import Entry

_MAX_ROWS = 1000
_NAME = 24
"""Columns that a run's name gets: 20260105-140307-standard."""


def show_entries(console: Console, found: list[Entry]) -> None:
    """Print runs, oldest first, so that the newest stands where a terminal ends."""
    if not found:
        console.print("no runs; make one with 'tierscope run'")
        return
    remarks = [_remarks(entry) for entry in found]
    more = ["tags, state"] if any(remarks) else []
    table = new_table(
        "run", "started", "host", "measured", *more, words=("run", "host", "tags, state")
    )
    table.columns[0].min_width = min(max(len(entry.name) for entry in found), _NAME)
    for entry, remark in zip(found, remarks, strict=True):
        measured = f"{entry.measured} of {entry.planned}" if entry.measured is not None else "–"
        measured = "0" if entry.imported else measured
        started = entry.started[:16].replace("T", " ")
        table.add_row(entry.name, started, entry.host, measured, *([remark] if more else []))
    console.print(table)


def _remarks(entry: Entry) -> Text:
    """Return a run's tags, and what is not as it should be with it."""
    state: list[str] = [] if entry.state == "complete" else [entry.state]
    state += ["emulated"] if entry.emulated else []
    state += [f"imported from {entry.imported}"] if entry.imported else []
    parts = [Text(", ".join(entry.tags)), Text(", ".join(state), style="yellow")]
    return Text("; ").join([part for part in parts if part])


def show_rows(console: Console, names: list[str], rows: list[tuple[Any, ...]]) -> None:
    """Print a query's rows."""
    table = new_table(*names, words=names)
    for row in rows[:_MAX_ROWS]:
        table.add_row(*map(_cell, row))
    console.print(table)
    if len(rows) > _MAX_ROWS:
        note(console, f"and {len(rows) - _MAX_ROWS} more; --json or --csv print all")
    console.print(counted(len(rows), "row"))


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return brief(value, 6)
    return str(value)
