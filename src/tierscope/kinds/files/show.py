"""How operations on small files are shown."""

from collections.abc import Iterator
from dataclasses import replace

from tierscope.model.run import Measurement
from tierscope.report.naming import described
from tierscope.report.pictures import generic, shapes
from tierscope.report.pictures.generic import Axes, best_of_each, curves_over
from tierscope.report.pictures.percentiles import percentiles
from tierscope.report.pictures.picture import (
    Picture,
    PictureInput,
    constants,
    distinct,
    groups_by,
    scale_of,
    varying,
)
from tierscope.report.view import View

_MIN_POINTS = 3
_MAX_LINES = 6
CACHES = (
    "Files were made just before: the kernel had their names, inodes and data in its caches, which "
    "tierscope never drops."
)
"""What figures of small files stand for."""


def rates(given: PictureInput) -> Iterator[Picture]:
    """Operations a second over threads, or bars where there are few numbers of threads."""
    swept = False
    for (path,), group in groups_by(given.measured, "path").items():
        if len(distinct(group, "threads")) >= _MIN_POINTS:
            swept = True
            yield _over_threads(str(path), group)
    if not swept:
        yield from generic.bars(given)


def _over_threads(path: str, group: list[Measurement]) -> Picture:
    unit, _ = scale_of(group)
    return curves_over(
        group,
        "threads",
        varying(group, "path", "threads"),
        key=f"files threads {path}",
        title=f"Operations on small files over threads, {path}",
        subtitle=constants(group, "threads"),
        axes=Axes(y={**shapes.from_zero(unit), "scale": {"type": "log"}}),
    )


def tails(given: PictureInput) -> Iterator[Picture]:
    """The time of an operation over its percentiles; of many measurements the best of each."""
    for group in groups_by(given.measured, "path").values():
        shown = group if len(group) <= _MAX_LINES else best_of_each(group, "operation")
        yield from percentiles(replace(given, measured=shown))


def summary_of(measured: list[Measurement]) -> str:
    """Return how fast files are created, or the first operation that was measured."""
    created = [m for m in measured if m.pattern["operation"] == "create"]
    return f"small files: {described((created or measured)[0])}"


VIEW = View(
    title="Small files",
    method="Pinned threads repeat one operation, each time on the next of the files that were made "
    "for it; a rate is the operations of all threads over their time. The kernel has names, inodes "
    "and data in its caches. Medians of samples and their 95% intervals.",
    notes=lambda _measured, _run: [CACHES],
    pictures=(rates, tails),
    represents_path=False,
    summary=summary_of,
)
