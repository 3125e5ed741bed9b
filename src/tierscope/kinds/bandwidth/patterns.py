"""Pictures of bandwidth by access pattern: orders and strides."""

from collections.abc import Iterator
from functools import partial

from tierscope.report import figures
from tierscope.report.best import best_of
from tierscope.report.pictures import shapes
from tierscope.report.pictures.best_bars import best_bars, best_of_each
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


def orders(gathered: Gathered) -> Iterator[Picture]:
    """Bars of each operation's best in each order of access."""
    for (path, operation), group in groups_by(gathered.measured, "path", "operation").items():
        best = best_of_each(group, "order")
        if len(best) > 1:
            yield best_bars(
                best,
                partial(words_of, keys=varying(best, "isa", "path")),
                key=f"orders {path} {operation}",
                title=f"{str(operation).capitalize()} bandwidth by order of access, {path}",
                subtitle=f"the best of each order; {constants(best, 'operation')}",
            )


def strides(gathered: Gathered) -> list[Picture]:
    """Bandwidth over stride, a curve an operation."""
    pictures: list[Picture] = []
    strided = [m for m in gathered.measured if m.pattern.get("order") == "strided"]
    for (path,), group in groups_by(strided, "path").items():
        found = distinct(group, "stride")
        if len(found) < 3:
            continue
        unit, factor = scale_of(group)
        names = varying(group, "stride", "path") or ["operation"]
        rows = [
            row_of(m, factor, unit, x=m.pattern["stride"], series=words_of(m, names),
                   what=words_of(m, [*names, "stride"]))
            for m in group
        ]  # fmt: skip
        best = best_of(group)
        pictures.append(
            Picture(
                key=slug(f"strides {path}"),
                title=f"Bandwidth over stride, {path}",
                subtitle=constants(group, "stride", "operation"),
                alt=f"The best is {words_of(best, [*names, 'stride'])} with "
                f"{figures.with_interval(best, factor)} {unit}.",
                spec=shapes.curves(rows, shapes.size_axis("stride", found), shapes.from_zero(unit)),
                measurements=group,
            )
        )
    return pictures
