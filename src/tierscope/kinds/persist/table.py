"""The table of what persistence costs: a row for each method, its time beside that of the stores
alone, bandwidth and percentiles."""

from rich.console import Console
from rich.text import Text

from tierscope.kinds.persist.cost import alone, cost
from tierscope.model.errors import counted
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.evidence import evidence_line, warnings
from tierscope.report.naming import path_of
from tierscope.report.pictures.picture import groups_by, label_of, value_of
from tierscope.report.style import new_table, note, title

_PERCENTILES = ("p50", "p99", "p99.9")
_COLUMNS = ("path", "threads", "order", "size", "pages", "policy", "prefetchers")
"""Properties that the line above the table has, and the table where they differ."""


def show_table(console: Console, measured: list[Measurement], _run: Run) -> None:
    """Print the measured results: block by block, the methods beside each other."""
    title(console, "Persistence: the time until a block persists")
    varying = [key for key in _COLUMNS if len({value_of(m, key) for m in measured}) > 1]
    console.print(Text(", ".join(_same(measured[0], varying))))
    table = new_table()
    for key in varying:
        table.add_column(key, no_wrap=key != "path")
    table.add_column("block", justify="right", no_wrap=True)
    table.add_column("method", no_wrap=True)
    cut = any(m.pattern.get("ranges", 1) > 1 for m in measured)
    if cut:
        table.add_column("ranges", justify="right", no_wrap=True)
    for name in ("time", "× stores", "bandwidth", *_PERCENTILES):
        table.add_column(name, justify="right", no_wrap=True)
    for block in groups_by(measured, *varying, "block_size").values():
        for m in block:
            ranges = [str(m.pattern.get("ranges", ""))] if cut else []
            table.add_row(*map(Text, (*_names(m, varying), *ranges, *_figures(m, measured))))
    console.print(table)
    for line in dict.fromkeys((*_said(measured), *warnings(measured), evidence_line(measured))):
        if line:
            note(console, line)


def _same(measurement: Measurement, varying: list[str]) -> list[str]:
    said = {
        "path": path_of(measurement),
        "threads": counted(measurement.pattern["threads"], "thread"),
        "order": f"{measurement.pattern['order']} blocks",
        "size": f"over {figures.size_text(measurement.pattern['size'])}",
    }
    return [
        said.get(key) or label_of(key, value_of(measurement, key))
        for key in _COLUMNS
        if key not in varying and value_of(measurement, key)
    ]


def _names(measurement: Measurement, varying: list[str]) -> list[str]:
    sizes = ("size", "block_size")
    said = [
        figures.size_text(value) if key in sizes else str(value)
        for key in (*varying, "block_size")
        for value in [value_of(measurement, key)]
    ]
    return [*said, str(measurement.pattern["method"])]


def _figures(measurement: Measurement, measured: list[Measurement]) -> list[str]:
    base = alone(measurement, measured)
    rate = figures.side_figure(measurement, "bandwidth")
    times = [figures.side_figure(measurement, f"persist_latency_{p}") for p in _PERCENTILES]
    return [
        _with_unit(measurement, "ns"),
        _ratio(cost(measurement, base)) if base else "",
        _short(rate, "B/s") if rate else "",
        *(_short(time, "ns") if time else "" for time in times),
    ]


def _with_unit(figure: figures.Figured, unit: str) -> str:
    """Return a figure with its own unit: blocks of all sizes stand in one column."""
    unit, factor = _scale(figure, unit)
    if not figures.has_interval(figure):
        return f"{figures.plain(figure, factor)} {unit} (no interval)"
    return f"{figures.with_interval(figure, factor)} {unit}"


def _short(figure: figures.Figured, unit: str) -> str:
    unit, factor = _scale(figure, unit)
    return f"{figures.plain(figure, factor, 3)} {unit}"


def _scale(figure: figures.Figured, unit: str) -> tuple[str, float]:
    """Return a figure's unit and what to divide it by: times of 10 µs and more are in µs."""
    return figures.scale_of(unit, [(figure.estimate or 0.0) * (10 if unit == "ns" else 1)])


def _ratio(figure: figures.Figured) -> str:
    known = figures.has_interval(figure)
    return figures.with_interval(figure, 1.0) if known else figures.plain(figure, 1.0)


def _said(measured: list[Measurement]) -> list[str]:
    """Say what the columns stand for, and what the figures do not."""
    found = [m.evidence for m in measured if m.evidence]
    timer = [one.timer_ns for one in found if one.timer_ns]
    lines = [
        "× stores: over the same stores alone; for nt-drain, nt-stores",
        "time: one block after the other, without reading a clock; percentiles: each block timed "
        "by itself"
        + (f", {figures.significant(max(timer), 2)} ns of which is the timer" if timer else ""),
    ]
    if any(one.persist and one.persist.durable == "volatile-memory" for one in found):
        lines.append(
            "this memory forgets its contents without power: the figures are what flushing costs"
        )
    return lines
