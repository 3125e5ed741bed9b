"""Memory-level parallelism: what several chases at once reach beside one."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console

from tierscope.analysis.knee import SHARE, Knee, knee
from tierscope.analysis.plateaus import LevelCheck, Plateau, check_levels, plateaus
from tierscope.model.errors import counted
from tierscope.model.run import Measurement, Run
from tierscope.model.spec import CACHE_LINE
from tierscope.report import figures
from tierscope.report.naming import path_of
from tierscope.report.pictures import shapes
from tierscope.report.pictures.generic import matrix_of
from tierscope.report.pictures.picture import (
    Picture,
    PictureInput,
    Spec,
    constants,
    groups_by,
    scale_of,
    slug,
    value_text,
    varying,
    words_of,
)
from tierscope.report.pictures.working_set import log_axis, over_working_set
from tierscope.report.style import bar, note, title
from tierscope.report.table import show_notes, show_rows
from tierscope.report.tiers import side_caches
from tierscope.report.view import Column, View

_GB = 1e9
_WIDEST_BAR = 24
_WITHOUT_BAR = 68
"""Columns that the table takes without its bars."""
_MIN_SWEEP = 4
_IMPRECISE = 0.1
"""Half-width, as a share, from which on a figure is too imprecise to find levels by."""
_MIN_PRECISE = 0.6
"""Share of a sweep's sizes that has to be precise for levels to be found."""


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


def show_table(console: Console, measured: list[Measurement], run: Run) -> None:
    """Print latency by working set, by numbers of chases, then what is neither."""
    title(console, VIEW.title)
    alone = others(measured)
    sweeps = [
        sorted(group, key=lambda m: int(m.pattern["size"]))
        for group in groups_by(alone, "path", *varying(alone, "size", "path")).values()
        if len(group) >= _MIN_SWEEP and all("size" in m.pattern for m in group)
    ]
    for curve in sweeps:
        _show_curve(console, curve, run)
    parallel = [m for group in compared(measured) for m in group]
    told = {m.id for group in (*sweeps, parallel) for m in group}
    if rest := [m for m in measured if m.id not in told]:
        show_rows(console, rest, VIEW)
    _show_parallelism(console, parallel)
    show_notes(console, measured, ())


def _show_parallelism(console: Console, members: list[Measurement]) -> None:
    """Print what several chases at once reach beside one, a table for each path and variant."""
    one = {m.id: group[0] for group in compared(members) for m in group if chases_of(group[0]) == 1}
    columns = [
        Column("ns per load", lambda m: figures.significant(time_per_load(m), 3)),
        Column("GB/s", lambda m: figures.significant(bandwidth_of(m)[0] / _GB, 3)),
        Column("× one chase", lambda m: f"{time_per_load(one[m.id]) / time_per_load(m):.1f}"
               if m.id in one else ""),
    ]  # fmt: skip
    view = replace(VIEW, hidden=("time_per_load", "bandwidth"))
    for group in groups_by(members, "path", *varying(members, "chases", "size", "path")).values():
        caption = f"Memory-level parallelism, {path_of(group[0])}"
        show_rows(console, group, view, columns, ["path"], caption)
        for sizes in compared(group):
            note(console, f"{value_text(sizes[0], 'size')}: {knee_text(sizes)}")
        note(
            console,
            "latency: of each load; ns per load: latency / chases; GB/s: 64 bytes for each load",
        )


def _show_curve(console: Console, curve: list[Measurement], run: Run) -> None:
    """Print latency by working set, as bars too, with the levels that are found in it."""
    points = [(int(m.pattern["size"]), m.estimate or 0.0) for m in curve]
    precise = [
        point
        for point, measurement in zip(points, curve, strict=True)
        if figures.relative_half(measurement) <= _IMPRECISE
    ]
    found = plateaus(precise) if len(precise) >= _MIN_PRECISE * len(curve) else []
    ends = {plateau.last_size: plateau for plateau in found}
    most = max(latency for _, latency in points)
    target = curve[0].target
    last = _last_level(run, target, points[-1][0])
    width = max(4, min(_WIDEST_BAR, console.width - _WITHOUT_BAR))

    def level(m: Measurement) -> str:
        plateau = ends.get(int(m.pattern["size"]))
        if plateau is None:
            return ""
        return f"{_name(found, plateau, last)}: {figures.significant(plateau.latency, 3)} ns"

    bars = Column("", lambda m: bar(m.estimate or 0.0, most, width), number=False, style="cyan")
    show_rows(console, curve, VIEW, [bars, Column("level found", level, number=False)])
    for line in _level_lines(found, points[-1][0], run, target) if found else []:
        note(console, line)
    left_out = len(curve) - len(precise)
    if left_out:
        what = "left out of the levels" if found else "too many to find cache levels"
        note(
            console,
            f"{left_out} of {len(curve)} intervals are wider than ±{_IMPRECISE:.0%}: {what}",
        )


def _last_level(run: Run, target: str, largest: int) -> str:
    """What the largest working set lies in: memory, unless a cache in front of it may hold it."""
    held = any(largest <= size for size in side_caches(run, target))
    return "memory-side cache" if held else "memory"


def _name(found: list[Plateau], plateau: Plateau, last: str) -> str:
    if plateau.ends_by is None:
        return last if len(found) > 1 else "flat"
    return f"level {found.index(plateau) + 1}, to {_between(plateau)}"


def _between(plateau: Plateau) -> str:
    if plateau.ends_by is None:
        return f"{figures.size_text(plateau.last_size)} or more"
    return f"{figures.size_text(plateau.last_size)}–{figures.size_text(plateau.ends_by)}"


def _level_lines(found: list[Plateau], largest: int, run: Run, target: str) -> list[str]:
    """Compare the caches that the system reports with the levels found."""
    sizes = sorted({(int(c["level"]), int(c["size_bytes"])) for c in run.header.machine["caches"]})
    caches = [(f"L{level}", size) for level, size in sizes]
    in_front = [(f"memory-side cache of {target}", size) for size in side_caches(run, target)]
    checks = check_levels(found, largest, caches + in_front)
    taken = [check.plateau for check in checks]
    last = _last_level(run, target, largest)
    lines = [_level_line(check, largest) for check in checks]
    for plateau in found[:-1]:
        if plateau not in taken:
            name = _name(found, plateau, last)
            latency = figures.significant(plateau.latency, 3)
            lines.append(f"{name}: {latency} ns, matches no cache that the system reports")
    return lines


def _level_line(check: LevelCheck, largest: int) -> str:
    named = f"{check.name}: the system reports {figures.size_text(check.size_bytes)}"
    if check.plateau:
        latency = f"{figures.significant(check.plateau.latency, 3)} ns"
        return f"{named}; measured: {latency} up to {_between(check.plateau)}, which agrees"
    if check.verdict == "beyond":
        return f"{named}; the sweep ends at {figures.size_text(largest)}, too early to find it"
    return (
        f"{named}, but no level of that size shows in the latencies: a virtual machine may report "
        "a cache that its cores do not have, or other programs use it"
    )


def parallelism(given: PictureInput) -> list[Picture]:
    """Bandwidth over chases, both logarithmic, a curve for each working set; what a load takes is
    in the tips."""
    pictures: list[Picture] = []
    for (path,), measured in groups_by(given.measured, "path").items():
        groups = compared(measured)
        if not groups:
            continue
        members = [m for group in groups for m in group]
        names = varying(members, "chases", "path")
        rows = [_parallel_row(m, words_of(m, names) or "bandwidth") for m in members]
        x = _chases_axis([row["x"] for row in rows])
        y = log_axis("GB/s of one core", [row["value"] for row in rows])
        pictures.append(
            Picture(
                key=slug(f"parallelism {path}"),
                title=f"Memory-level parallelism, {path}",
                subtitle=constants(members, "chases"),
                alt="; ".join(
                    f"{words_of(group[0], names)}{': ' if names else ''}{knee_text(group)}"
                    for group in groups
                ),
                spec=shapes.curves(rows, x, y),
                measurements=members,
            )
        )
    return pictures


def _chases_axis(counts: list[int]) -> Spec:
    return {
        "field": "x",
        "type": "quantitative",
        "title": "chases at once",
        "scale": {
            "type": "log",
            "base": 2,
            "domain": [0.93 * min(counts), 1.07 * max(counts)],
            "nice": False,
        },
        "axis": {"values": sorted(set(counts)), "format": "d", "labelOverlap": "greedy"},
    }


def _parallel_row(measurement: Measurement, series: str) -> dict[str, Any]:
    count = chases_of(measurement)
    rate, low, high = (each / 1e9 for each in bandwidth_of(measurement))
    chases = counted(count, "chase")
    return {
        "x": count,
        "value": rate,
        "low": low,
        "high": high,
        "series": series,
        "tip": f"{chases}: {figures.significant(rate, 3)} GB/s, "
        f"{figures.significant(time_per_load(measurement), 3)} ns per load, "
        f"latency {figures.text(measurement, 1.0, 'ns')}",
    }


def variants(given: PictureInput) -> list[Picture]:
    """Bars of one working set measured in several ways: page sizes, orders."""
    pictures: list[Picture] = []
    for (path, size), group in groups_by(others(given.measured), "path", "size").items():
        names = varying(group)
        if len(group) < 2 or not names:
            continue
        unit, factor = scale_of(group)
        pictures.append(
            Picture(
                key=slug(f"variants {path} {size}"),
                title=f"Latency by kind of access, {path}",
                subtitle=constants(group),
                alt="; ".join(
                    f"{words_of(m, names)} {figures.text(m, factor, unit)}" for m in group
                ),
                spec=shapes.bars(group, lambda m, names=names: words_of(m, names)),  # type: ignore[misc]
                measurements=group,
            )
        )
    return pictures


def matrix(given: PictureInput) -> list[Picture]:
    """Initiator by target at the largest working set that all paths share."""
    pictures: list[Picture] = []
    measured = others(given.measured)
    paths = len({path_of(m) for m in measured})
    if paths < 2:
        return []
    groups = groups_by(measured, *varying(measured, "path", "size"))
    for members in groups.values():
        largest = [
            max(group, key=lambda m: m.pattern.get("size", 0))
            for group in groups_by(members, "path").values()
        ]
        if len(largest) == paths:
            pictures.append(matrix_of(largest, constants(largest) or "largest working set"))
    return pictures


VIEW = View(
    title="Idle latency",
    method="One pinned thread follows one random cycle of dependent loads through the whole "
    "working set, nothing else running; time per load; median and its 95% interval. Several chases "
    "at once enter the cycle at evenly spaced lines, and their loads overlap.",
    table=show_table,
    pictures=(matrix, over_working_set, parallelism, variants),
)
