"""Pictures of comparisons: changes with their intervals, one measurement over several runs."""

from typing import Any

from tierscope.model.comparison import Difference
from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.compare import change_text, name_of
from tierscope.report.naming import path_of
from tierscope.report.pictures import shapes
from tierscope.report.pictures.picture import Picture, Spec, row_of

_MAX = 16
_LINE = 38
"""Height of a change: its name in a line, its interval below."""
_WIDE = 1.6
"""Ratio of the axis' ends from which on it counts in factors, not percent."""
_COLOURS = {
    "slower": "role:series-2", "faster": "role:series-3", "undecided": "role:series-4",
    "same": "role:series-8",
}  # fmt: skip
_MARKS = {
    "slower": "triangle-down", "faster": "triangle-up", "undecided": "diamond", "same": "circle",
}  # fmt: skip


def changes_picture(differences: list[Difference]) -> Picture:
    """Each change as a point on its interval, on a line at no change; the first 16."""
    rows: list[dict[str, Any]] = []
    for number, d in enumerate(differences[:_MAX]):
        name = _title(d)
        rows.append(
            {
                "name": f"{number}",
                "label": name,
                "value": d.ratio or 1.0,
                "low": d.low or 1.0,
                "high": d.high or 1.0,
                "verdict": d.verdict,
                "tip": f"{name}: {change_text(d)}, {d.verdict}",
            }
        )
    first = differences[0]
    left_out = len(differences) - len(rows)
    more = f" {left_out} more are in the CSV." if left_out else ""
    return Picture(
        key="changes",
        title="Changes with their intervals",
        subtitle="",
        alt=f"The first is {_title(first)}: {change_text(first)}, {first.verdict}.{more}",
        spec={
            "width": 420,
            "height": {"step": _LINE},
            "data": {"values": rows},
            "encoding": {"y": {"field": "name", "type": "nominal", "sort": None, "axis": None}},
            "layer": _change_layers(rows),
        },
        measurements=[],
    )


def _change_layers(rows: list[dict[str, Any]]) -> list[Spec]:
    present = [verdict for verdict in _COLOURS if any(row["verdict"] == verdict for row in rows)]
    legend: Spec = {"title": None}
    colour = shapes.by_name("verdict", present, [_COLOURS[one] for one in present], legend)
    shape = shapes.by_name("verdict", present, [_MARKS[one] for one in present], legend)
    x = _ratio_axis([row[key] for row in rows for key in ("low", "value", "high")])
    name = {"type": "text", "x": 0, "dy": -9, "align": "left", "aria": False}
    return [
        {
            "mark": {"type": "rule", "color": "role:soft", "aria": False},
            "encoding": {"x": {"datum": 1.0, "type": "quantitative"}, "y": None},
        },
        # The line of no change stops short of the names.
        {
            "mark": {**name, "stroke": "role:paper", "strokeWidth": 5},
            "encoding": {"text": {"field": "label"}},
        },
        {"mark": name, "encoding": {"text": {"field": "label"}}},
        {
            "mark": {"type": "rule", "strokeWidth": 3, "yOffset": 7, "aria": False},
            "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": colour},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1, "yOffset": 7},
            "encoding": {
                "x": x,
                "color": colour,
                "shape": shape,
                "description": {"field": "tip"},
            },
        },
    ]


def _ratio_axis(values: list[float]) -> Spec:
    """A logarithmic axis of new / base: half as much lies as far from none as twice as much."""
    low, high = min([*values, 1.0]) / 1.003, max([*values, 1.0]) * 1.003
    if high / low < _WIDE:
        span = 100 * (high - low)
        step = next(s for s in (0.1, 0.2, 0.5, 1, 2, 5, 10) if span / s <= 8)
        ticks = [1 + number * step / 100 for number in range(-400, 401)]
        ticks = [tick for tick in ticks if low <= tick <= high]
        sign = "+.1f" if step < 1 else "+.0f"
        label = f"datum.value == 1 ? '0' : format(100 * (datum.value - 1), '{sign}') + '%'"
    else:
        ticks = shapes.decade_ticks((low, high))
        label = "'×' + format(datum.value, '~g')"
    return shapes.log_axis("value", "new / base", (low, high), values=ticks, labelExpr=label)


def _title(d: Difference) -> str:
    return f"{path_of(d)} {d.kind} {name_of(d)}"


def trend_picture(
    difference: Difference, members: list[Measurement | None], names: list[str]
) -> Picture:
    """One measurement over the runs, in the order given, with each run's own interval."""
    known = [m for m in members if m is not None and m.estimate is not None]
    unit, factor = figures.scale_of(difference.unit or "count", [m.estimate or 0.0 for m in known])
    rows = [
        row_of(m, factor, unit, x=number, what=name)
        for number, (name, m) in enumerate(zip(names, members, strict=True), 1)
        if m is not None
    ]
    y = {**shapes.from_zero(unit), "axis": {"tickCount": 4}}
    look = {"values": [*range(1, len(names) + 1)], "labelOverlap": True, "grid": False}
    x = shapes.axis("x", "run", (0.8, max(2, len(names)) + 0.2), format="d", **look)
    colour = "role:series-1"
    point = {"type": "point", "filled": True, "size": 60, "opacity": 1, "color": colour}
    spec = {
        "width": shapes.WIDTH,
        "height": 150,
        "data": {"values": rows},
        "encoding": {"x": x},
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 5, "opacity": 0.3, "color": colour,
                         "aria": False},
                "encoding": {"y": {**y, "field": "low"}, "y2": {"field": "high"}},
            },
            {"mark": {"type": "line", "color": colour, "aria": False}, "encoding": {"y": y}},
            {"mark": point, "encoding": {"y": y, "description": {"field": "tip"}}},
        ],
    }  # fmt: skip
    course = ", ".join("–" if m is None else figures.with_interval(m, factor) for m in members)
    change = (
        f"; the last against the first: {change_text(difference)}, {difference.verdict}"
        if difference.ratio
        else ""
    )
    return Picture("trend", _title(difference), "", f"{course} {unit}{change}.", spec, [])
