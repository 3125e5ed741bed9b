"""A figure in words: its path, its value and what tells it from others of its path."""

from tierscope.analysis.concurrent import shared
from tierscope.model.comparison import Difference
from tierscope.model.run import Measurement
from tierscope.report import figures

_MOST = 2
"""Targets together that are named; of more, the first one."""


def path_name(measurement: Measurement) -> str:
    """Return a path as sentences name it."""
    start, end = measurement.initiator, measurement.target
    if measurement.pattern.get("way") == "both ways summed":
        return f"{start} ↔ {end}, both ways"
    if start == end and start.startswith("gpu"):
        return f"among {start}" if shared(measurement) else f"{start}'s own memory"
    return path_of(measurement)


def path_of(one: Measurement | Difference) -> str:
    """Return a path as people write it; of many targets together the first and how many more."""
    names = str(one.pattern.get("together", "")).split(", ")
    if names == [""]:
        return f"{one.initiator} → {one.target}"
    listed = ", ".join(names) if len(names) <= _MOST else f"{names[0]} and {len(names) - 1} more"
    return f"{listed if '→' in listed else f'{one.initiator} → {listed}'} together"


def described(measurement: Measurement, path: bool = True) -> str:
    """Return a figure with its unit and pattern, and with its path unless told otherwise."""
    unit, factor = figures.scale_of(measurement.unit or "count", [measurement.estimate or 0.0])
    value = f"{figures.with_interval(measurement, factor)} {unit}"
    detail = " ".join(filter(None, _details(measurement)))
    start = f"{path_name(measurement)}, " if path else ""
    total = figures.side_figure(measurement, "total_bandwidth")
    end = f", all streams {figures.plain(total, factor)} {unit}" if total else ""
    return f"{start}{value}{end}{f' ({detail})' if detail else ''}"


def _details(measurement: Measurement) -> list[str]:
    pattern = measurement.pattern
    threads, order = pattern.get("threads"), pattern.get("order")
    sequential = order in (None, "sequential")
    parts = [
        "" if sequential else str(order),
        str(pattern.get("operation", "")),
        f"by {threads} thread{'s' if threads != 1 else ''}" if threads else "",
    ]
    if measurement.unit == "ns" and pattern.get("size"):
        parts.append(f"over {figures.size_text(pattern['size'])}")
    elif not sequential and pattern.get("access_size"):
        parts.append(f"in accesses of {figures.size_text(pattern['access_size'])}")
    return parts
