"""Pictures of checkpoints: time to durable and time to restart, by target or over sizes."""

from collections.abc import Iterator

from tierscope.kinds.checkpoint.words import HELD, RESTARTED, SAVED
from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.naming import path_name
from tierscope.report.pictures import generic, shapes
from tierscope.report.pictures.picture import (
    Gathered,
    Picture,
    constants,
    distinct,
    row_of,
    scale_of,
    slug,
    varying,
    words_of,
)

_TITLES = {
    SAVED: "Time until a checkpoint is durable",
    RESTARTED: "Time to restart from a checkpoint",
}
_MIN_POINTS = 3
_MAX_BARS = 24


def times(gathered: Gathered) -> Iterator[Picture]:
    """Each time over the state's size, or as bars where there are few sizes."""
    for metric, title in _TITLES.items():
        timed = [_of(m, metric) for m in gathered.measured]
        shown = [m for m in timed if m is not None]
        if len(shown) == len(gathered.measured):
            yield _picture(metric, title, shown)
        elif metric == SAVED:
            yield from generic.bars(gathered)


def _of(m: Measurement, metric: str) -> Measurement | None:
    """Return a measurement whose headline is one of its further figures."""
    found = figures.side_figure(m, metric)
    if found is None:
        return None
    return m.model_copy(
        update={
            "metric": metric,
            "unit": found.unit,
            "estimate": found.estimate,
            "ci_low": found.ci_low,
            "ci_high": found.ci_high,
            "no_interval": None,
            "limit": None,
            "efficiency": None,
        }
    )


def _picture(metric: str, title: str, measured: list[Measurement]) -> Picture:
    sizes = distinct(measured, "size")
    swept = len(sizes) >= _MIN_POINTS
    names = _telling(measured, swept)
    ordered = sorted(measured, key=lambda m: m.estimate or 0.0)
    unit, factor = scale_of(ordered)
    best, worst = ordered[0], ordered[-1]

    def name(m: Measurement) -> str:
        path = m.target if len({m.initiator for m in measured}) == 1 else path_name(m)
        held = HELD.get(m.pattern.get("backing", ""), "")
        return ", ".join(filter(None, (path, held, words_of(m, names))))

    if swept:
        rows = [
            row_of(m, factor, unit, x=m.pattern["size"], series=name(m),
                   what=f"{name(m)}, {figures.size_text(m.pattern['size'])}")
            for m in measured
        ]  # fmt: skip
        axis = {**shapes.from_zero(unit), "scale": {"type": "log"}}
        spec = shapes.curves(rows, shapes.size_axis("state", sizes), axis)
    else:
        spec = shapes.bars(ordered[:_MAX_BARS], name)
    return Picture(
        key=slug(f"checkpoint {metric}"),
        title=title,
        subtitle=constants(measured, *(["size"] if swept else [])),
        alt=f"The shortest is {figures.with_interval(best, factor)} {unit}: {name(best)}; the "
        f"longest is {figures.with_interval(worst, factor)} {unit}: {name(worst)}.",
        spec=spec,
        measurements=measured,
    )


def _telling(measured: list[Measurement], swept: bool) -> list[str]:
    """Return the properties that tell these apart, beside their paths and what holds them: of those
    that files alone have, the ones in which files differ."""
    files = [m for m in measured if "backend" in m.pattern]
    of_files = varying(files, "path") if files else []
    return [
        key
        for key in varying(measured, "path", "backing", *(["size"] if swept else []))
        if key in of_files or key not in ("backend", "direct", "depth")
    ]


PICTURES = (times,)
