"""Bars of the best of each group: operations, orders of access, kinds of update."""

from collections.abc import Callable

from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.best import best_of
from tierscope.report.pictures import shapes
from tierscope.report.pictures.picture import Picture, groups_by, scale_of, slug


def best_of_each(group: list[Measurement], *keys: str) -> list[Measurement]:
    """Return the best of those that have the same values under ``keys``."""
    return [best_of(members) for members in groups_by(group, *keys).values()]


def best_bars(
    best: list[Measurement],
    name: Callable[[Measurement], str],
    *,
    key: str,
    title: str,
    subtitle: str,
) -> Picture:
    """One bar a group, and the best of all in words."""
    unit, factor = scale_of(best)
    top = best_of(best)
    return Picture(
        key=slug(key),
        title=title,
        subtitle=subtitle,
        alt=f"The best of {len(best)} is {name(top)} with {figures.with_interval(top, factor)} "
        f"{unit}.",
        spec=shapes.bars(best, name),
        measurements=best,
    )
