"""Pictures of small files: operations a second over threads, and the time of each operation."""

from collections.abc import Iterator
from dataclasses import replace

from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.best import best_of
from tierscope.report.pictures import generic, shapes
from tierscope.report.pictures.percentiles import percentiles
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

_MIN_POINTS = 3
_MAX_LINES = 6


def rates(gathered: Gathered) -> Iterator[Picture]:
    """Operations a second over threads, or bars where there are few numbers of threads."""
    swept = False
    for (path,), group in groups_by(gathered.measured, "path").items():
        counts = distinct(group, "threads")
        if len(counts) >= _MIN_POINTS:
            swept = True
            yield _over_threads(str(path), group, counts)
    if not swept:
        yield from generic.bars(gathered)


def _over_threads(path: str, group: list[Measurement], counts: list[float]) -> Picture:
    names = varying(group, "path", "threads")
    unit, factor = scale_of(group)
    rows = [
        row_of(m, factor, unit, x=m.pattern["threads"], series=words_of(m, names) or "operations",
               what=words_of(m, [*names, "threads"]))
        for m in group
    ]  # fmt: skip
    best = best_of(group)
    return Picture(
        key=slug(f"files threads {path}"),
        title=f"Operations on small files over threads, {path}",
        subtitle=constants(group, "threads"),
        alt=f"The most is {figures.with_interval(best, factor)} {unit}: "
        f"{words_of(best, [*names, 'threads'])}.",
        spec=shapes.curves(
            rows,
            shapes.count_axis("threads", counts),
            {**shapes.from_zero(unit), "scale": {"type": "log"}},
        ),
        measurements=group,
    )


def tails(gathered: Gathered) -> Iterator[Picture]:
    """The time of an operation over its percentiles; of many measurements the best of each."""
    for group in groups_by(gathered.measured, "path").values():
        best = [best_of(alike) for alike in groups_by(group, "operation").values()]
        yield from percentiles(
            replace(gathered, measured=group if len(group) <= _MAX_LINES else best)
        )


PICTURES = (rates, tails)
