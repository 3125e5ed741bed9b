"""A matrix of initiators and targets, one measurement a cell."""

from collections.abc import Callable
from itertools import groupby

from tierscope.analysis.direction import lower_is_better
from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.best import best_of
from tierscope.report.naming import path_of
from tierscope.report.pictures import shapes
from tierscope.report.pictures.picture import (
    Picture,
    constants,
    metric_name,
    row_of,
    scale_of,
    slug,
)


def matrix_of(
    best: list[Measurement],
    what: str,
    endpoints: tuple[str, str] = ("initiator", "target"),
    label: Callable[[Measurement], str] = lambda _: "",
) -> Picture:
    """Initiator by target, one measurement a cell; ``label`` is written beside its figure."""
    unit, factor = scale_of(best)
    lower = lower_is_better(best[0])
    ordered = sorted(best, key=lambda m: (_natural(m.initiator), _natural(m.target)))
    rows = [
        row_of(m, factor, unit, row=m.initiator, column=m.target,
               text=f"{figures.plain(m, factor, 4)} {label(m)}".rstrip(),
               what=f"{path_of(m)}, {what}")
        for m in ordered
    ]  # fmt: skip
    fastest = best_of(best)
    slowest = (max if lower else min)(best, key=lambda m: m.estimate or 0.0)
    name = metric_name(best[0].metric)
    start, end = endpoints
    said = [part for part in constants(best).split(", ") if part not in what.split(", ")]
    better = f"{unit}, lighter is better"
    columns = sorted({m.target for m in best}, key=_natural)
    return Picture(
        key=slug(f"matrix {best[0].kind} {what}"),
        title=f"{name[0].upper()}{name[1:]} from {start} to {end}: {what}",
        subtitle="; ".join(filter(None, (better, ", ".join(said)))),
        alt=f"Fastest: {path_of(fastest)} with {figures.with_interval(fastest, factor)} {unit}; "
        f"slowest: {path_of(slowest)} with {figures.with_interval(slowest, factor)} {unit}.",
        spec=shapes.heatmap(rows, end, start, unit, "low" if lower else "high", columns),
        measurements=ordered,
    )


def _natural(text: str) -> tuple[tuple[int, str], ...]:
    """Order node:2 before node:10."""
    runs = ("".join(part) for _, part in groupby(text, str.isdigit))
    return tuple((int(run), "") if run.isdigit() else (-1, run) for run in runs)
