"""Pictures of idle latency: ways of access, all paths, memory-level parallelism."""

from typing import Any

from tierscope.kinds.latency.parallelism import (
    bandwidth_of,
    chases_of,
    compared,
    knee_text,
    others,
    time_per_load,
)
from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.naming import path_of
from tierscope.report.pictures import shapes
from tierscope.report.pictures.matrix import matrix_of
from tierscope.report.pictures.picture import (
    Gathered,
    Picture,
    Spec,
    constants,
    groups_by,
    scale_of,
    slug,
    varying,
    words_of,
)
from tierscope.report.pictures.working_set import log_axis


def parallelism(gathered: Gathered) -> list[Picture]:
    """Bandwidth over chases, both logarithmic, a curve for each working set; what a load takes is
    in the tips."""
    pictures: list[Picture] = []
    for (path,), measured in groups_by(gathered.measured, "path").items():
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
    chases = "1 chase" if count == 1 else f"{count} chases"
    return {
        "x": count,
        "value": rate,
        "low": low,
        "high": high,
        "series": series,
        "tip": f"{chases}: {figures.significant(rate, 3)} GB/s, "
        f"{figures.significant(time_per_load(measurement), 3)} ns per load, "
        f"latency {figures.with_interval(measurement, 1.0)} ns",
    }


def variants(gathered: Gathered) -> list[Picture]:
    """Bars of one working set measured in several ways: page sizes, orders."""
    pictures: list[Picture] = []
    for (path, size), group in groups_by(others(gathered.measured), "path", "size").items():
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
                    f"{words_of(m, names)} {figures.with_interval(m, factor)} {unit}" for m in group
                ),
                spec=shapes.bars(group, lambda m, names=names: words_of(m, names)),  # type: ignore[misc]
                measurements=group,
            )
        )
    return pictures


def matrix(gathered: Gathered) -> list[Picture]:
    """Initiator by target at the largest working set that all paths share."""
    pictures: list[Picture] = []
    measured = others(gathered.measured)
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
