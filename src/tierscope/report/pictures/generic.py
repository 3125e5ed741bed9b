"""Pictures that suit any kind: curves and heat maps over its properties, bars, matrices, sweeps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from tierscope.analysis.best import best_of
from tierscope.analysis.knee import half_size
from tierscope.model.property import properties_of
from tierscope.model.run import Measurement, lower_is_better
from tierscope.report import figures
from tierscope.report.best import with_rivals
from tierscope.report.naming import path_of
from tierscope.report.pictures import shapes
from tierscope.report.pictures.draw import SERIES
from tierscope.report.pictures.picture import (
    Picture,
    PictureInput,
    Spec,
    constants,
    distinct,
    groups_by,
    metric_name,
    name_of,
    row_of,
    scale_of,
    slug,
    value_of,
    value_text,
    varying,
    words_of,
)

_BAR = 26
_FEW = 6
"""Values of a property up to which each has a tick."""
_CROWDED = 10
"""Columns of a heat map up to which its cells have room for four digits."""
_MAX_BARS = 24
_SWEEPS = ("size", "access_size", "threads", "streams")


def stacked(rows: list[dict[str, Any]], unit: str) -> Spec:
    """Bars made of parts: rows have name, series (the part), value, tip, and text at the end."""
    parts = list(dict.fromkeys(row["series"] for row in rows))
    most: dict[str, float] = {}
    for row in rows:
        most[row["name"]] = most.get(row["name"], 0.0) + row["value"]
    x = shapes.axis("value", unit, (0, max(most.values()) * 1.36), tickCount=5)
    y = {"field": "name", "type": "nominal", "sort": None, "title": None,
         "axis": {"labelColor": "role:ink", "domain": False, "grid": False}}  # fmt: skip
    columns = 1 if max(map(len, parts)) > 24 else len(parts)
    legend = {"title": None, "columns": columns, "symbolType": "square"}
    colour = shapes.by_name("series", parts, SERIES, legend)
    order = [{**row, "place": parts.index(row["series"])} for row in rows]
    return {
        "width": shapes.WIDTH - 110,
        "height": {"step": _BAR},
        "data": {"values": order},
        "encoding": {"y": y},
        "layer": [
            {
                "mark": {"type": "bar", "height": 14, "stroke": "role:paper", "strokeWidth": 1},
                "encoding": {
                    "x": x,
                    "color": colour,
                    "order": {"field": "place", "type": "quantitative"},
                    "description": {"field": "tip"},
                },
            },
            {
                "transform": [{"filter": "datum.place == 0"}],
                "mark": {"type": "text", "align": "right", "x": "width", "aria": False},
                "encoding": {"text": {"field": "text"}},
            },
        ],
    }


@dataclass(frozen=True)
class Axes:
    """What is not usual of the axes of curves over a property."""

    x: Spec | None = None
    """By the property's kind of values where None."""
    y: Spec | None = None
    """From zero on where None."""
    at: Callable[[Measurement], float] | None = None
    """Where a measurement lies on ``x``: its value of the property where None."""
    marks: list[Spec] | None = None
    """Further layers."""


def curves_over(
    members: list[Measurement],
    swept: str,
    names: Sequence[str],
    *,
    key: str,
    title: str,
    called: Callable[[Measurement, list[str]], str] = words_of,
    subtitle: str | None = None,
    alt: str = "",
    axes: Axes = Axes(),
) -> Picture:
    """The headline over one property, a curve for each value of ``names``.

    ``called`` says what a curve is, by these properties. ``alt`` stands in place of the best one of
    all. What has no value of the property is on no curve.
    """
    if axes.at is None:
        members = [m for m in members if m.pattern.get(swept) is not None]
    unit, factor = scale_of(members)
    place = axes.at or (lambda m: m.pattern[swept])

    def what(m: Measurement) -> str:
        return ", ".join(filter(None, (called(m, [*names]), words_of(m, [swept]))))

    rows = [
        row_of(m, factor, unit, x=place(m), series=called(m, [*names]) or metric_name(m.metric),
               what=what(m))
        for m in members
    ]  # fmt: skip
    best = best_of(members)
    said = f"The best is {what(best)} with {figures.text(best, factor, unit)}."
    return Picture(
        key=slug(key),
        title=title,
        subtitle=constants(members, swept, *names) if subtitle is None else subtitle,
        alt=alt or said,
        spec=shapes.curves(
            rows,
            axes.x or axis_of(members[0].kind, swept, [row["x"] for row in rows]),
            axes.y or shapes.from_zero(unit),
            axes.marks,
        ),
        measurements=members,
    )


def axis_of(kind: str, key: str, values: list[float]) -> Spec:
    """Return the axis of a property: bytes double, counts are whole numbers."""
    one = properties_of(kind).get(key)
    title = name_of(kind, key)
    # A distance of none has no place on an axis that doubles.
    if one and one.grammar == "sizes" and min(values) > 0:
        return shapes.size_axis(title, values)
    if all(isinstance(value, int) for value in values) and not (one and one.grammar == "sizes"):
        return shapes.count_axis(title, values)
    few = {"values": sorted(set(values))} if len(set(values)) <= _FEW else {}
    return {**shapes.axis("x", title, None, **few), "scale": {"zero": False}}


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
        alt=with_rivals(
            f"The best of {len(best)} is {name(top)} with {figures.text(top, factor, unit)}",
            top,
            best,
            name,
        )
        + ".",
        spec=shapes.bars(best, name),
        measurements=best,
    )


def heat_over(
    members: list[Measurement],
    down: str,
    across: str,
    *,
    key: str,
    title: str,
    subtitle: str,
    alt: str = "",
    endpoints: tuple[str, str] = ("initiator", "target"),
    label: Callable[[Measurement], str] = lambda _: "",
) -> Picture:
    """The headline by two properties, one measurement a cell; ``label`` is beside its figure.

    ``alt`` stands in place of the best and the worst one; ``endpoints`` are what those are called.
    """
    unit, factor = scale_of(members)
    lower = lower_is_better(members[0])
    ends = dict(zip(("initiator", "target"), endpoints, strict=True))
    names = [ends.get(one) or name_of(members[0].kind, one) for one in (across, down)]

    def what(m: Measurement) -> str:
        return path_of(m) if down == "initiator" else words_of(m, [across, down])

    lines, columns = _values(members, down), _values(members, across)
    ordered = sorted(
        members,
        key=lambda m: (lines.index(value_text(m, down)), columns.index(value_text(m, across))),
    )
    digits = 3 if len(columns) > _CROWDED else 4
    rows = [
        row_of(m, factor, unit, row=value_text(m, down), column=value_text(m, across),
               text=f"{figures.plain(m, factor, digits)}{figures.mark(m)} {label(m)}".rstrip(),
               what=what(m))
        for m in ordered
    ]  # fmt: skip
    best = best_of(members)
    worst = (max if lower else min)(members, key=lambda m: m.estimate or 0.0)
    said = (
        f"{word}: {what(m)} with {figures.text(m, factor, unit)}"
        for word, m in (("Fastest", best), ("slowest", worst))
    )
    return Picture(
        key=slug(key),
        title=title,
        subtitle="; ".join(filter(None, (f"{unit}, lighter is better", subtitle))),
        alt=alt or f"{'; '.join(said)}.",
        spec=shapes.heatmap(rows, names[0], names[1], unit, "low" if lower else "high", columns),
        measurements=ordered,
    )


def matrix_of(
    best: list[Measurement],
    what: str,
    endpoints: tuple[str, str] = ("initiator", "target"),
    label: Callable[[Measurement], str] = lambda _: "",
) -> Picture:
    """Initiator by target, one measurement a cell; ``label`` is written beside its figure."""
    name = metric_name(best[0].metric)
    start, end = endpoints
    said = [part for part in constants(best).split(", ") if part not in what.split(", ")]
    return heat_over(
        best,
        "initiator",
        "target",
        key=f"matrix {best[0].kind} {what}",
        title=f"{name[0].upper()}{name[1:]} from {start} to {end}: {what}",
        subtitle=", ".join(said),
        endpoints=endpoints,
        label=label,
    )


def _values(members: list[Measurement], key: str) -> list[str]:
    """Return the values of a property as text: numbers ascending, node:2 before node:10."""
    values = distinct(members, key)
    if key in ("initiator", "target"):
        values.sort(key=_natural)
    first = {value_of(m, key): m for m in members}
    return [value_text(first[value], key) for value in values]


def _natural(text: str) -> tuple[tuple[int, str], ...]:
    """Order node:2 before node:10."""
    runs = ("".join(part) for _, part in groupby(text, str.isdigit))
    return tuple((int(run), "") if run.isdigit() else (-1, run) for run in runs)


def bars(given: PictureInput) -> list[Picture]:
    """Bars of what is in no matrix, a picture a metric: of each sweep over sizes its best."""
    drawn = {_sweep(m) for picture in matrices(given) for m in picture.measurements}
    rest = [m for m in _by_part(given) if _sweep(m) not in drawn]
    pictures: list[Picture] = []
    groups: dict[tuple[str, str], list[Measurement]] = {}
    for m in rest:
        # Bars of a fast link would leave nothing to see of a slow one's.
        limit = ""
        if m.limit:
            stated = "stated " if m.limit.stated else ""
            limit = f"{stated}limit {m.limit.value / 1e9:.4g} GB/s"
        groups.setdefault((str(m.metric), limit), []).append(m)
    for (metric, limit), members in groups.items():
        apart = varying(members, "size")
        group = [best_of(list(alike)) for alike in groups_by(members, *apart).values()]
        if len(group) < 2 and len(members) > 1:
            continue
        names = varying(group, "size")
        lower = lower_is_better(group[0])
        shown = sorted(group, key=lambda m: m.estimate or 0.0, reverse=not lower)[:_MAX_BARS]
        left_out = len(group) - len(shown)
        unit, factor = scale_of(shown)
        best = best_of(shown)
        pictures.append(
            Picture(
                key=slug(f"{given.kind} {metric} {limit}"),
                title=f"{given.title}: {metric_name(metric)}",
                subtitle="; ".join(
                    filter(
                        None,
                        (
                            constants(group),
                            limit,
                            f"the best {_MAX_BARS} of {len(group)}" if left_out else "",
                        ),
                    )
                ),
                alt=(f"The best of {len(group)} is " if len(group) > 1 else "")
                + with_rivals(
                    f"{_name(best, names)}: {figures.text(best, factor, unit)}",
                    best,
                    group,
                    lambda m, names=names: _name(m, names),  # type: ignore[misc]
                )
                + ".",
                spec=shapes.bars(shown, lambda m, names=names: _name(m, names)),  # type: ignore[misc]
                measurements=shown,
            )
        )
    return pictures


def _by_part(given: PictureInput) -> list[Measurement]:
    """Return the results, one for each part of the headline's metric."""
    return [
        m.of_figure(figure)
        for m in given.measured
        for figure in m.figures
        if figure.metric == m.metric
    ]


def _sweep(measurement: Measurement) -> str:
    """Return what measurements have in common of which a matrix shows the best one."""
    rest = {k: value for k, value in measurement.pattern.items() if k not in ("size", "issued")}
    return f"{path_of(measurement)} {measurement.metric} {sorted(rest.items())}"


def _name(measurement: Measurement, names: list[str]) -> str:
    return words_of(measurement, names) or path_of(measurement)


def matrices(given: PictureInput) -> list[Picture]:
    """Initiator by target for each pattern, where at least three paths share it."""
    pictures: list[Picture] = []
    single = [m for m in _by_part(given) if "transfers" not in m.pattern]
    apart = (*_SWEEPS, "memory", "issued")
    alike = [key for key in varying(single, "path") if key not in apart]
    for group in groups_by(single, "metric", *alike).values():
        # Copies between GPUs touch no host memory and belong to each kind of it.
        for memory in [kind for kind in distinct(group, "memory") if kind] or [None]:
            members = [m for m in group if m.pattern.get("memory") in (memory, "", None)]
            best = [best_of(path) for path in groups_by(members, "path").values()]
            if len(best) >= 3:
                said = [words_of(best[0], alike), str(memory or "")]
                what = ", ".join(filter(None, said)) or given.kind
                pictures.append(matrix_of(best, what, given.endpoints))
    return pictures


def size_sweeps(given: PictureInput) -> list[Picture]:
    """A metric over size for each path; of bandwidth with the size that reaches half the peak."""
    pictures: list[Picture] = []
    for (path, metric), group in groups_by(_by_part(given), "path", "metric").items():
        if len(distinct(group, "size")) < 4 or None in distinct(group, "size"):
            continue
        names = varying(group, "size", "path")
        sweeps = groups_by(group, *names).values()
        group = [m for sweep in sweeps if len(distinct(sweep, "size")) >= 4 for m in sweep]
        if not group:
            continue
        unit, _ = scale_of(group)
        rising = group[0].unit == "B/s"
        halves = _halves(group, names) if rising else {}
        rows = [{"x": size, "text": f"n½ {figures.size_text(size)}"} for size in halves]
        marks = shapes.uprights(rows, y=4, baseline="top") if rows else []
        y = {**shapes.from_zero(unit), "scale": {"zero": True} if rising else {"type": "log"}}
        pictures.append(
            curves_over(
                group,
                "size",
                names,
                key=f"{given.kind} size {path} {metric}",
                title=f"{metric_name(metric).capitalize()} over size, {path}",
                subtitle=constants(group, "size"),
                alt=f"Half the peak is reached at {', '.join(halves.values())}."
                if halves
                else f"{len(group)} sizes.",
                axes=Axes(y=y, marks=marks),
            )
        )
    return pictures


def _halves(group: list[Measurement], names: list[str]) -> dict[float, str]:
    """Return n1/2 of each curve with its text."""
    found: dict[float, str] = {}
    for members in groups_by(group, *names).values():
        half = half_size([(float(m.pattern["size"]), m.estimate or 0.0) for m in members])
        if half is not None:
            text = figures.size_text(half.size)
            found[half.size] = f"{text} ({words_of(members[0], names) or 'n½'})"
    return found
