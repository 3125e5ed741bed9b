"""Latency over load threads: a table and a panel for each tier, with all kinds of load."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from tierscope.kinds.loaded_latency.points import load_threads, thread_curves
from tierscope.kinds.loaded_latency.words import (
    chase_text,
    load_of,
    rate_text,
    thread_words,
    threads_text,
)
from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.pictures import shapes
from tierscope.report.pictures.picture import (
    Gathered,
    Picture,
    Spec,
    constants,
    label_of,
    row_of,
    slug,
    value_of,
    varying,
)
from tierscope.report.style import fits, new_table, note

_KIND_OF_LOAD = ("mix", "load_order", "load_access_size")
_INJECTED = ("delay_ns", "inject", "load_threads")
_GB = 1e9

Curve = list[Measurement]


def curve_name(curve: Curve, curves: Sequence[Curve]) -> str:
    """Return what tells a curve from the others of its table: its load, and more where needed."""
    first = [one[-1] for one in curves]
    keys = varying(first, "path", "mix", "load_order", "load_from", "load_to", *_INJECTED)
    more = [label_of(key, value_of(curve[-1], key)) for key in keys]
    return ", ".join([load_of(curve[-1]), *more])


def show_thread_tables(console: Console, measured: list[Measurement]) -> None:
    """Print a table for each path: latency by load threads, a column for each kind of load."""
    for curves in _by_path(thread_curves(measured)).values():
        _show_table(console, curves)


def _by_path(curves: Sequence[Curve]) -> dict[tuple[Any, ...], list[Curve]]:
    found: dict[tuple[Any, ...], list[Curve]] = {}
    for curve in curves:
        last = curve[-1]
        key = (last.initiator, last.target, last.pattern["load_from"], last.pattern["load_to"])
        found.setdefault(key, []).append(curve)
    return found


def _show_table(console: Console, curves: Sequence[Curve]) -> None:
    console.print(Text(_caption(curves), style="bold"))
    table = _table(curves, with_intervals=True)
    if not fits(console, table):
        table = _table(curves, with_intervals=False)
    console.print(table)
    for curve in curves:
        note(console, f"{curve_name(curve, curves)}: {thread_words(curve)}")


def _table(curves: Sequence[Curve], with_intervals: bool) -> Any:
    table = new_table()
    table.add_column("load\nthreads", justify="right", no_wrap=True)
    for curve in curves:
        table.add_column(_heading(curve, curves), justify="right", no_wrap=True)
        table.add_column("\n\nGB/s", justify="right", no_wrap=True)
    for count in sorted({load_threads(m) for curve in curves for m in curve}):
        cells: list[Text] = []
        for curve in curves:
            found = next((m for m in curve if load_threads(m) == count), None)
            cells += _cells(found, with_intervals)
        table.add_row("idle" if count == 0 else str(count), *cells)
    return table


def _heading(curve: Curve, curves: Sequence[Curve]) -> str:
    order, _, rest = curve_name(curve, curves).partition(" ")
    return f"{order}\n{rest}\nns"


def _cells(measurement: Measurement | None, with_interval: bool) -> list[Text]:
    if measurement is None:
        return [Text("·", style="dim"), Text("")]
    plain = figures.with_interval if with_interval else figures.plain
    rate = figures.side_figure(measurement, "bandwidth")
    return [
        Text(plain(measurement, 1.0) + figures.mark(measurement)),
        Text(figures.plain(rate, _GB, 3) if rate else "", style="dim"),
    ]


def _caption(curves: Sequence[Curve]) -> str:
    last = curves[0][-1]
    pattern = last.pattern
    load = ""
    if pattern["load_from"] != last.initiator:
        load += f", loaded by {pattern['load_from']}"
    if pattern["load_to"] != last.target:
        load += f", load on {pattern['load_to']}"
    parts = [f"{last.initiator} → {last.target} by load threads", chase_text(pattern)]
    return ", ".join(filter(None, parts)) + load


def over_threads(gathered: Gathered) -> list[Picture]:
    """Latency over load threads: for each initiator a picture with a panel for each tier, a line
    for each kind of load; all on one scale."""
    found: dict[str, list[Curve]] = {}
    for curve in thread_curves(gathered.measured):
        found.setdefault(curve[-1].initiator, []).append(curve)
    return [_picture(initiator, curves) for initiator, curves in found.items()]


def _picture(initiator: str, curves: Sequence[Curve]) -> Picture:
    members = [*{m.id: m for curve in curves for m in curve}.values()]
    most = max(m.estimate or 0.0 for m in members)
    counts = [float(load_threads(m)) for m in members]
    names = list(dict.fromkeys(curve_name(curve, curves) for curve in curves))
    y = {**shapes.from_zero("latency, ns"), "scale": {"domain": [0, 1.1 * most], "nice": False}}
    panels: list[Spec] = []
    for path in _by_path(curves).values():
        rows = [row for curve in path for m in curve if (row := _row(m, curve, curves))]
        spec = shapes.curves(rows, shapes.count_axis("load threads", counts), y, named=names)
        panels.append({**spec, "title": {"text": _panel_title(path), "anchor": "start",
                                         "color": "role:ink", "fontSize": 13}})  # fmt: skip
    said = [f"{_panel_title([curve])}, {curve_name(curve, curves)}: {thread_words(curve)}."
            for curve in curves]  # fmt: skip
    shared = {"color": "shared", "shape": "shared", "strokeDash": "shared"}
    return Picture(
        key=slug(f"load threads {initiator}"),
        title=f"Latency over load threads, {initiator}",
        subtitle="chase: " + constants(members, *_INJECTED, *_KIND_OF_LOAD, "load_from", "load_to",
                           "load_size", "stride"),
        alt=" ".join(said),
        spec={"concat": panels, "columns": 2, "spacing": 28, "resolve": {"scale": shared}},
        measurements=members,
    )  # fmt: skip


def _row(m: Measurement, curve: Curve, curves: Sequence[Curve]) -> dict[str, Any] | None:
    if m.estimate is None:
        return None
    name = curve_name(curve, curves)
    what = f"{name}, {threads_text(load_threads(m))}" if load_threads(m) else f"{name}, idle"
    row = row_of(m, 1.0, "ns", x=load_threads(m), series=name, what=what)
    return {**row, "tip": f"{row['tip']} at {rate_text(m)}"} if load_threads(m) else row


def _panel_title(path: Sequence[Curve]) -> str:
    last = path[0][-1]
    at = str(last.pattern["load_to"])
    return last.target if at == last.target else f"{last.target}, load on {at}"
