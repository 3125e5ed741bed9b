"""Pictures of comparisons: changes with their intervals, one measurement over several runs."""

from typing import Any

from tierscope.model.comparison import Difference
from tierscope.report import figures
from tierscope.report.pictures import shapes
from tierscope.report.pictures.picture import Picture, label_of

_MOST = 40
_COLOURS = {"slower": "role:series-2", "faster": "role:series-3", "same": "role:series-8"}


def changes_picture(differences: list[Difference]) -> Picture:
    """Each change as a point on its interval, on a line at no change; the first 40."""
    rows: list[dict[str, Any]] = []
    for number, d in enumerate(differences[:_MOST]):
        ratio, low, high = d.ratio or 1.0, d.low or 1.0, d.high or 1.0
        name = _name(d)
        rows.append(
            {
                "name": f"{number} {name}",
                "label": name,
                "value": 100 * (ratio - 1),
                "low": 100 * (low - 1),
                "high": 100 * (high - 1),
                "verdict": d.verdict,
                "tip": f"{name}: {100 * (ratio - 1):+.1f}%, {d.verdict}",
            }
        )
    verdicts = list(_COLOURS)
    colour = {
        "field": "verdict",
        "type": "nominal",
        "scale": {"domain": verdicts, "range": [_COLOURS[v] for v in verdicts]},
        "legend": {"title": None},
    }
    shape = {
        "field": "verdict",
        "type": "nominal",
        "scale": {"domain": verdicts, "range": ["triangle-down", "triangle-up", "circle"]},
        "legend": {"title": None},
    }
    spec = {
        "width": 460,
        "height": {"step": 20},
        "data": {"values": rows},
        "encoding": {
            "y": {
                "field": "name",
                "type": "nominal",
                "sort": None,
                "title": None,
                "axis": {
                    "labelExpr": "slice(datum.label, indexof(datum.label, ' ') + 1)",
                    "labelColor": "role:ink",
                    "labelLimit": 380,
                    "domain": False,
                },
            }
        },
        "layer": [
            {
                "mark": {"type": "rule", "color": "role:soft", "aria": False},
                "encoding": {"x": {"datum": 0, "type": "quantitative"}, "y": None},
            },
            {
                "mark": {"type": "rule", "strokeWidth": 3, "aria": False},
                "encoding": {
                    "x": {"field": "low", "type": "quantitative", "title": "change, %"},
                    "x2": {"field": "high"},
                    "color": colour,
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                "encoding": {
                    "x": {"field": "value", "type": "quantitative"},
                    "color": colour,
                    "shape": shape,
                    "description": {"field": "tip"},
                },
            },
        ],
    }
    first = differences[0]
    return Picture(
        key="changes",
        title="Changes",
        subtitle="new / base with intervals that hold for all at once",
        alt=f"{len(rows)} changes with their intervals; the first is {_name(first)}, "
        f"{100 * ((first.ratio or 1.0) - 1):+.1f}%, {first.verdict}.",
        spec=spec,
        measurements=[],
    )


def _name(d: Difference) -> str:
    keys = ("operation", "order", "threads", "size", "access_size", "pages", "streams")
    words = [
        label_of(key, d.pattern[key])
        for key in keys
        if d.pattern.get(key) not in (None, "", "sequential")
        and (key, d.pattern[key]) != ("access_size", 64)
        and not (key == "size" and d.unit == "B/s")
    ]
    return f"{d.initiator} → {d.target} {d.kind} {', '.join(words)}"


def trend_picture(difference: Difference, values: list[float | None], names: list[str]) -> Picture:
    """One measurement over the runs, in the order given."""
    known = [value for value in values if value is not None] or [0.0]
    unit, factor = figures.scale_of(difference.unit or "count", known)
    rows = [
        {
            "x": number,
            "value": value / factor,
            "tip": f"{name}: {value / factor:.4g} {unit}",
        }
        for number, (name, value) in enumerate(zip(names, values, strict=True), 1)
        if value is not None
    ]
    y = {"field": "value", "type": "quantitative", "title": unit, "scale": {"zero": True}}
    x = {
        "field": "x",
        "type": "quantitative",
        "title": "run",
        "scale": {"domain": [1, max(2, len(names))]},
        "axis": {"values": list(range(1, len(names) + 1)), "labelOverlap": True},
    }
    spec = {
        "width": shapes.WIDTH,
        "height": 150,
        "data": {"values": rows},
        "encoding": {"x": x, "y": y},
        "layer": [
            {"mark": {"type": "line", "color": "role:series-1", "aria": False}},
            {
                "mark": {"type": "point", "filled": True, "size": 60, "color": "role:series-1"},
                "encoding": {"description": {"field": "tip"}},
            },
        ],
    }
    course = ", ".join("–" if value is None else f"{value / factor:.4g}" for value in values)
    return Picture("trend", "Trend", "", f"{course} {unit}.", spec, [])
