"""Memory-level parallelism: what several chases at once reach beside one."""

import math
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from tierscope.analysis.knee import SHARE, Knee, knee
from tierscope.model.run import Measurement
from tierscope.model.spec import CACHE_LINE
from tierscope.report import figures
from tierscope.report.pictures.picture import groups_by, varying
from tierscope.report.style import new_table, note

_GB = 1e9


def chases_of(measurement: Measurement) -> int:
    """Return how many chases were followed at once."""
    return int(measurement.pattern.get("chases", 1))


def compared(measured: list[Measurement]) -> list[list[Measurement]]:
    """Group measurements that differ in their chases only, two or more of them, fewest first."""
    keys = varying(measured, "chases")
    groups = groups_by(measured, *keys).values() if keys else [measured]
    several = [group for group in groups if len(set(map(chases_of, group))) > 1]
    return [sorted(group, key=chases_of) for group in several]


def others(measured: list[Measurement]) -> list[Measurement]:
    """Leave out what only the tables and pictures of parallelism show: several chases at once."""
    shown = {m.id for group in compared(measured) for m in group if chases_of(m) > 1}
    return [m for m in measured if m.id not in shown]


def bandwidth_of(measurement: Measurement) -> tuple[float, float, float]:
    """Return the bytes/s of the lines that the loads bring, and the ends of its interval."""
    bytes_in_flight = CACHE_LINE * chases_of(measurement)
    value = measurement.estimate or math.inf
    low = value if measurement.ci_low is None else measurement.ci_low
    high = value if measurement.ci_high is None else measurement.ci_high
    return (
        bytes_in_flight * 1e9 / value,
        bytes_in_flight * 1e9 / high,
        bytes_in_flight * 1e9 / low,
    )


def time_per_load(measurement: Measurement) -> float:
    """Return the ns that each of all loads adds: latency / chases."""
    return (measurement.estimate or 0.0) / chases_of(measurement)


def knee_of_chases(group: Sequence[Measurement]) -> Knee:
    """Return the fewest chases that reach 95% of the best bandwidth of the group."""
    return knee({chases_of(m): bandwidth_of(m)[1:] for m in group})


def knee_text(group: Sequence[Measurement]) -> str:
    """Say how many chases it takes to reach the best bandwidth."""
    best = figures.significant(max(bandwidth_of(m)[0] for m in group) / _GB, 3)
    found = knee_of_chases(group)
    counts = f"{found.first}" if found.first == found.last else f"{found.first} to {found.last}"
    text = f"fewest chases that reach {SHARE:.0%} of the best bandwidth, {best} GB/s: {counts}"
    scales = found.first == max(map(chases_of, group))
    return f"{text}; more may reach more" if scales else text


def show_parallelism(
    console: Console, caption: str, groups: Sequence[Sequence[Measurement]]
) -> None:
    """Print the groups of one path and variant, one below the other, as one table."""
    console.print(Text(f"Memory-level parallelism, {caption}", style="bold"))
    table = new_table()
    for name in ("working set", "chases", "latency, ns", "ns per load", "GB/s", "× one chase"):
        table.add_column(name, justify="right", no_wrap=True)
    for group in groups:
        one = next((time_per_load(m) for m in group if chases_of(m) == 1), None)
        for number, measurement in enumerate(group):
            size = figures.size_text(int(measurement.pattern["size"])) if number == 0 else ""
            each = time_per_load(measurement)
            table.add_row(
                size,
                str(chases_of(measurement)),
                figures.with_interval(measurement, 1.0),
                figures.significant(each, 3),
                figures.significant(bandwidth_of(measurement)[0] / _GB, 3),
                f"{one / each:.1f}" if one and each else "–",
            )
    console.print(table)
    for group in groups:
        size = figures.size_text(int(group[0].pattern["size"]))
        note(console, f"{size}: {knee_text(group)}")
    note(
        console,
        "latency: of each load; ns per load: latency / chases; GB/s: 64 bytes for each load",
    )
