"""The table of database operations: a row for each placement, its slowdown against all parts on the
threads' node, percentiles, and bytes that are elsewhere."""

from collections.abc import Callable
from functools import partial

from rich.console import Console
from rich.text import Text

from tierscope.kinds.ops.slowdown import (
    bytes_elsewhere,
    local_of,
    sentences,
    side_by_side,
    slowdown,
    where_parts_are,
)
from tierscope.kinds.ops.structures import SKEWED
from tierscope.model.errors import counted
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.evidence import evidence_line, warnings
from tierscope.report.pictures.picture import label_of, value_of
from tierscope.report.style import new_table, note, title

_PERCENTILES = ("p50", "p99", "p99.9")
_COUNTS = ("keys", "interleave", "scan_length")
_SHARES = ("selectivity", "misses")
_SIZES = ("inner_node", "leaf_node")
_UNSAID = ("structure", "sample_every", "zipf_alpha")
"""What the title, the notes, or another column says."""


def show_table(console: Console, measured: list[Measurement], _run: Run) -> None:
    """Print the measured results, a table for each structure."""
    structures = dict.fromkeys(m.pattern["structure"] for m in measured)
    for structure in structures:
        _show(console, [m for m in measured if m.pattern["structure"] == structure])


def _show(console: Console, measured: list[Measurement]) -> None:
    title(console, f"Database operations: {measured[0].pattern['structure']}")
    keys = [key for key in _properties(measured) if key not in _UNSAID]
    varying = [key for key in keys if len({_cell(m, key) for m in measured}) > 1]
    said = (_words(measured[0], key) for key in keys if key not in varying)
    console.print(Text(", ".join(filter(None, said))))
    unit, factor = figures.scale_of("1/s", [m.estimate or 0.0 for m in measured])
    table = new_table()
    for key in varying:
        table.add_column(key.replace("_", " "), no_wrap=True)
    parts = list(where_parts_are(measured[0]))
    for part in parts:
        table.add_column(part, no_wrap=True)
    more = {heading: cell for heading, cell in _OF_SOME.items() if any(cell(m) for m in measured)}
    for heading in (f"operations, {unit}", "slowdown", *more, "elsewhere"):
        table.add_column(heading, justify="right", no_wrap=True)
    for group in side_by_side(measured):
        local = local_of(group)
        for m in group:
            table.add_row(*map(Text, (
                *(_cell(m, key) for key in varying),
                *where_parts_are(m).values(),
                figures.with_interval(m, factor),
                _slowdown(m, local),
                *(cell(m) for cell in more.values()),
                _elsewhere(m, local),
            )))  # fmt: skip
    console.print(table)
    for line in (*sentences(measured), *_notes(measured), *warnings(measured)):
        note(console, line)
    observed = evidence_line(measured)
    if observed:
        note(console, observed)


def _properties(measured: list[Measurement]) -> list[str]:
    names = dict.fromkeys(key for m in measured for key in m.pattern if not key.startswith("on_"))
    return ["initiator", *names]


def _cell(measurement: Measurement, key: str) -> str:
    value = value_of(measurement, key)
    if key == "distribution":
        return " ".join(map(str, filter(None, (value, measurement.pattern.get("zipf_alpha")))))
    if key in _SIZES:
        return figures.size_text(value)
    if key in _SHARES and value is not None:
        return f"{value * 100:.4g}%"
    return "" if value is None else _count(value) if key in _COUNTS else str(value)


def _count(value: int) -> str:
    """Write a count with a suffix where that loses nothing: 1m is 1024 * 1024."""
    for suffix, factor in (("g", 1 << 30), ("m", 1 << 20), ("k", 1 << 10)):
        if value >= factor and value % factor == 0:
            return f"{value // factor}{suffix}"
    return str(value)


def _words(measurement: Measurement, key: str) -> str:
    """Say what is the same everywhere, where that is worth saying."""
    value = value_of(measurement, key)
    if value is None or (key == "interleave" and value == 1):
        return ""
    said = {
        "initiator": f"from {value}",
        "operation": str(value),
        "keys": f"{_cell(measurement, 'keys')} keys",
        "distribution": f"{_cell(measurement, key)} distribution"
        if measurement.pattern["structure"] in SKEWED
        else "",
        "keys_file": f"keys of {value}",
        "scan_length": f"{value} entries a scan",
        "key_bytes": f"keys of {value} bytes",
        "selectivity": f"selectivity {_cell(measurement, key)}",
        "misses": f"{_cell(measurement, key)} misses",
        "probe_ratio": f"{value} probe rows for each build row",
        "partitions": "not partitioned" if value == 1 else f"{value} partitions",
        "runs": f"{value} runs",
        "ratio": f"levels that grow by {value}",
        "interleave": f"{value} keys interleaved",
        "threads": counted(value, "thread") if key == "threads" else "",
        "pages": f"{value} pages",
    }
    if key in _SIZES:
        return f"{key.replace('_', ' ')} {figures.size_text(value)}"
    return said[key] if key in said else label_of(key, value)


def _slowdown(measurement: Measurement, local: Measurement | None) -> str:
    if local is None or measurement is local:
        return "" if local is None else "1"
    return figures.with_interval(slowdown(measurement, local), 1.0)


def _percentile(measurement: Measurement, name: str) -> str:
    found = figures.side_figure(measurement, f"operation_latency_{name}")
    if found is None:
        return ""
    unit, factor = figures.scale_of("ns", [10 * (found.estimate or 0.0)])
    return f"{figures.plain(found, factor, 3)} {unit}"


def _input(measurement: Measurement) -> str:
    """Write the rate at which rows, or keys of runs, are gone over."""
    found = figures.side_figure(measurement, "bandwidth", "input")
    return "" if found is None else figures.plain(found, 1e9, 3)


_OF_SOME: dict[str, Callable[[Measurement], str]] = {
    "GB/s": _input,
    **{name: partial(_percentile, name=name) for name in _PERCENTILES},
}
"""Columns that only some structures have anything for."""


def _elsewhere(measurement: Measurement, local: Measurement | None) -> str:
    found = bytes_elsewhere(measurement, local) if local else None
    return "" if found is None else figures.size_text(found) if found else "0"


def _notes(measured: list[Measurement]) -> list[str]:
    """Say what the columns stand for."""
    lines = ["slowdown: all parts local over this placement; elsewhere: bytes that are not local"]
    timers = [m.evidence.timer_ns for m in measured if m.evidence and m.evidence.timer_ns]
    if timers and any(_percentile(m, "p50") for m in measured):
        every = ", ".join(dict.fromkeys(str(m.pattern.get("sample_every")) for m in measured))
        lines.append(
            f"percentiles: one of {every} operations, timed by itself, "
            f"{figures.significant(max(timers), 2)} ns of which is the timer"
        )
    if any(m.pattern.get("interleave", 1) > 1 for m in measured):
        lines.append("interleaved: a percentile is that of a whole group of lookups")
    if any(_input(m) for m in measured):
        lines.append(
            "GB/s: of the column, or of rows or keys with their values, that are gone over"
        )
    if any(m.pattern.get("operation") in ("insert", "update") for m in measured):
        lines.append("threads that write have a structure of their own each")
    return lines
