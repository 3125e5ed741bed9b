"""Matrices of initiators and targets."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.text import Text

from tierscope.analysis.curve import latency_at, summarize
from tierscope.kinds.loaded_latency import points as curve_points
from tierscope.kinds.loaded_latency.words import rate_text
from tierscope.model.run import Measurement, Run, is_unreliable
from tierscope.recipes.matrix_figures import (
    Pair,
    curves,
    firmware_lines,
    idle_latencies,
    operations,
    peak_bandwidths,
)
from tierscope.report import figures
from tierscope.report.evidence import evidence_line, warnings
from tierscope.report.run import show_end, show_machine, show_missing
from tierscope.report.style import new_table, note, title

Value = TypeVar("Value")
_GB = 1e9
_DIGITS = 4


def show_matrix(console: Console, run: Run, path: Path, rates: list[float]) -> None:
    """Print a matrix for each figure; ``rates`` are the loads, in bytes/s, that were asked for."""
    show_machine(console, run)
    idle = idle_latencies(run)
    _show(console, "Idle latency, ns", idle, lambda m: figures.with_interval(m, 1.0))
    for operation in operations(run):
        peaks = peak_bandwidths(run, operation)
        _show(console, f"Peak {operation} bandwidth, GB/s (threads)", peaks, _peak)
    for rate in rates:
        at = {pair: _at(members, rate) for pair, members in curves(run).items()}
        _show(console, f"Latency under a load of {rate / _GB:g} GB/s, ns", at, str)
    measured = [m for m in run.measurements if m.has_figure]
    console.print()
    for line in firmware_lines(run):
        note(console, line)
    for line in filter(None, (*warnings(measured), evidence_line(measured))):
        note(console, line)
    show_missing(console, run)
    show_end(console, run, path)


def _show(
    console: Console, name: str, cells: dict[Pair, Value], text: Callable[[Value], str]
) -> None:
    if not cells:
        return
    title(console, name)
    initiators = list(dict.fromkeys(initiator for initiator, _ in cells))
    targets = list(dict.fromkeys(target for _, target in cells))
    table = new_table()
    table.add_column("from \\ to", no_wrap=True)
    for target in targets:
        table.add_column(target, justify="right", no_wrap=True)
    for initiator in initiators:
        row = [cells.get((initiator, target)) for target in targets]
        table.add_row(
            initiator,
            *(Text("·", style="dim") if cell is None else Text(text(cell)) for cell in row),
        )
    console.print(table)


def _peak(measurement: Measurement) -> str:
    return f"{figures.plain(measurement, _GB, _DIGITS)} ({measurement.pattern['threads']})"


def _at(members: list[Measurement], rate: float) -> str:
    points = curve_points.loaded_points(members)
    if not points:
        return "·"
    summary = summarize(points, curve_points.idle_latencies(members))
    found = latency_at(points, summary.idle, rate)
    if found is None:
        return f"at most {rate_text(curve_points.measured_at(members, summary.peak))}"
    # Between two points, as precise as the least precise of them.
    unreliable = any(map(is_unreliable, curve_points.sound(members)))
    return f"~{figures.significant(found, 1)}" if unreliable else figures.significant(found, 3)
