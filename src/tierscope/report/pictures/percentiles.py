"""Latency over percentile, of measurements that timed single operations."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from tierscope.analysis.distribution import MIN_BEYOND, percentile
from tierscope.model.errors import counted
from tierscope.model.metric import PERCENTILES, WHOLE_OPERATIONS
from tierscope.model.run import Figure, Measurement, MergedDistribution
from tierscope.report import figures
from tierscope.report.naming import path_of
from tierscope.report.pictures import shapes
from tierscope.report.pictures.picture import (
    Picture,
    PictureInput,
    constants,
    groups_by,
    metric_name,
    slug,
    varying,
    words_of,
)

_STEPS = 20
"""Points of a line for each factor of ten of operations."""
_LABELS = "{" + ", ".join(f"'{1 / beyond:.0f}': '{name}'" for name, beyond in PERCENTILES.items())
_LABEL_OF = _LABELS + "}[format(datum.value, '.0f')]"


Naming = Callable[[Measurement, list[str]], str]
"""Says what a line is, by these properties."""


def percentiles(
    given: PictureInput, naming: Naming = words_of, without: Sequence[str] = ()
) -> list[Picture]:
    """The times of whole operations over their percentiles: a picture a path, a line for each
    measurement and part, called by ``naming``, which gets the properties that differ; those
    ``without`` which a picture speaks are left to it."""
    timed = [m for m in given.measured if _whole(m)]
    return [
        _picture(given, members, naming, without) for members in groups_by(timed, "path").values()
    ]


def _picture(
    given: PictureInput, members: list[Measurement], naming: Naming, without: Sequence[str]
) -> Picture:
    keys = varying(members, "path", *without)

    def name_of(m: Measurement) -> str:
        return naming(m, keys)

    curves = [(m, one) for m in members for one in _whole(m)]
    ends = [f.estimate for m, one in curves for _, f in _given(m, one)]
    unit, factor = figures.scale_of("ns", [math.sqrt(min(ends) * max(ends))])
    points: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    for m, one in curves:
        part = one.part or ("all" if len(_whole(m)) > 1 else "")
        series = ", ".join(filter(None, (name_of(m), part))) or metric_name(one.metric)
        for name, figure in _given(m, one):
            tip = f"{series}, {name}: {figures.text(figure, factor, unit)}"
            points.append(
                {
                    "x": 1 / PERCENTILES[name],
                    "value": figure.estimate / factor,
                    "low": (figure.ci_low or figure.estimate) / factor,
                    "high": (figure.ci_high or figure.estimate) / factor,
                    "doubtful": figures.is_vague(figure),
                    "series": series,
                    "tip": tip,
                }
            )
        lines += [{"x": x, "value": value / factor, "series": series} for x, value in _line(one)]
    most = max(row["x"] for row in lines)
    ticks = [1 / beyond for beyond in PERCENTILES.values() if 1 / beyond <= most]
    title = "percentile of operations"
    x = shapes.log_axis("x", title, (1, most), values=ticks, labelExpr=_LABEL_OF)
    drawn = [row["value"] for row in lines] + [row["high"] for row in points]
    y = shapes.log_axis("value", unit, (0.8 * min(drawn), 1.2 * max(drawn)))
    path = path_of(members[0])
    return Picture(
        key=slug(f"{given.kind} percentiles {path}"),
        title=f"Latency over percentile, {path}",
        subtitle=constants(members, *without),
        alt=_said(curves, name_of, unit, factor),
        spec=shapes.curves(points, x, y, lines=lines),
        measurements=members,
    )


def _whole(m: Measurement) -> list[MergedDistribution]:
    """Return the distributions of whole operations that a percentile can be read from."""
    return [
        one for one in m.distributions or () if one.metric in WHOLE_OPERATIONS and _given(m, one)
    ]


def _given(m: Measurement, one: MergedDistribution) -> list[tuple[str, Figure]]:
    """Return the figures of a distribution's percentiles by name."""
    found = [
        (name, figures.side_figure(m, f"{one.metric}_{name}", one.part)) for name in PERCENTILES
    ]
    return [(name, figure) for name, figure in found if figure]


def _line(one: MergedDistribution) -> list[tuple[float, float]]:
    """Return operations for each one that takes longer, and the time, as far as ten take longer."""
    total = sum(one.histogram[1::2])
    steps = int(_STEPS * math.log10(total / MIN_BEYOND))
    places = [10 ** (step / _STEPS) for step in range(1, steps + 1)]
    return [(place, value) for place in places if (value := percentile(one.histogram, 1 / place))]


def _said(
    curves: list[tuple[Measurement, MergedDistribution]],
    name_of: Callable[[Measurement], str],
    unit: str,
    factor: float,
) -> str:
    """Say the median and the last percentile of the first line."""
    m, one = curves[0]
    given = _given(m, one)
    told = ", ".join(
        f"{name} {figures.plain(figure, factor)} {unit}" for name, figure in (given[0], given[-1])
    )
    which = f" of {name_of(m)}" if len(curves) > 1 else ""
    return f"{counted(len(curves), 'line')}; {told}{which}."
