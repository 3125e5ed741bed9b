"""Bandwidth over the working set: the picture with the caches, and what a cache in front gives."""

from typing import Any

from tierscope.kinds.bandwidth.spec import arrays_of
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.machine_caches import side_caches
from tierscope.report.pictures import shapes
from tierscope.report.pictures.picture import (
    Gathered,
    Picture,
    constants,
    distinct,
    groups_by,
    row_of,
    scale_of,
    slug,
    varying,
    words_of,
)
from tierscope.report.pictures.working_set import cache_marks

_MIN_SWEEP = 4
_MAX_COUNTS = 2
"""Thread counts up to which each has curves; a map shows more."""
_ALIKE = ("path", "operation", "order", "access_size", "threads", "pages", "sharing")


def working_set(measurement: Measurement) -> int:
    """Bytes of all arrays that a measurement goes over."""
    return int(measurement.pattern["size"]) * arrays_of(str(measurement.pattern["operation"]))


def over_working_set(gathered: Gathered) -> list[Picture]:
    """Bandwidth over working set, a curve an operation, with the caches as named."""
    pictures: list[Picture] = []
    for (path,), group in groups_by(gathered.measured, "path").items():
        curves = groups_by(group, *_ALIKE).values()
        members = [m for curve in curves if len(distinct(curve, "size")) >= _MIN_SWEEP
                   for m in curve]  # fmt: skip
        if not members or len(distinct(members, "threads")) > _MAX_COUNTS:
            continue
        unit, factor = scale_of(members)
        names = varying(members, "size", "path") or ["operation"]
        x = shapes.size_axis("working set, all arrays", [float(working_set(m)) for m in members])
        rows = [
            row_of(m, factor, unit, x=working_set(m), series=words_of(m, names),
                   what=words_of(m, [*names, "size"]))
            for m in members
        ]  # fmt: skip
        said = side_cache_lines(gathered.run, members)
        largest = max(members, key=working_set)
        at_end = f"{figures.with_interval(largest, factor)} {unit}"
        pictures.append(
            Picture(
                key=slug(f"bandwidth working set {path}"),
                title=f"Bandwidth over working set, {path}",
                subtitle=constants(members, "size"),
                alt=f"{figures.size_text(working_set(largest))} have {at_end}. {' '.join(said)}",
                spec=shapes.curves(
                    rows,
                    x,
                    shapes.from_zero(unit),
                    cache_marks(gathered.run, x, distinct(members, "target"), at_top=True),
                ),
                measurements=members,
            )
        )
    return pictures


def side_cache_lines(run: Run, measured: list[Measurement]) -> list[str]:
    """Say what each operation gets from a cache in front of a node, and what from behind it."""
    lines: list[str] = []
    for _, group in groups_by(measured, *_ALIKE).items():
        sizes = side_caches(run, group[0].target)
        beyond_caches = [m for m in group if not m.fits_caches]
        for size in sizes:
            within = [m for m in beyond_caches if working_set(m) <= size]
            behind = [m for m in beyond_caches if working_set(m) > size]
            if within and behind:
                lines.append(_side_cache_line(group[0], size, within, behind))
    return lines


def _side_cache_line(
    first: Measurement, size: int, within: list[Measurement], behind: list[Measurement]
) -> str:
    inside, outside = max(within, key=working_set), max(behind, key=working_set)
    unit, factor = scale_of([inside, outside])

    def told(measurement: Measurement) -> str:
        rate = figures.with_interval(measurement, factor)
        return f"{rate} {unit} with {figures.size_text(working_set(measurement))}"

    what: dict[str, Any] = first.pattern
    threads = f"{what['threads']} thread{'s' * (what['threads'] != 1)}"
    times = figures.significant(working_set(outside) / size, 2)
    return (
        f"{what['operation']} by {threads}, memory-side cache of {first.target}, "
        f"{figures.size_text(size)}: {told(inside)} inside; {told(outside)} ({times} x its size), "
        "of which the cache still serves a part"
    )
