"""The forms that pictures have: bars, curves, heat maps; what they show comes from the kinds."""

from collections.abc import Callable
from typing import Any

from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.pictures.draw import DASHES, SERIES, SHAPES
from tierscope.report.pictures.picture import Spec, row_of, scale_of

WIDTH = 430
HEIGHT = 270
_BAR = 26
_MOST_SERIES = 8
_BYTES = (
    "datum.value >= 1099511627776 ? format(datum.value / 1099511627776, '~g') + ' TiB' : "
    "datum.value >= 1073741824 ? format(datum.value / 1073741824, '~g') + ' GiB' : "
    "datum.value >= 1048576 ? format(datum.value / 1048576, '~g') + ' MiB' : "
    "datum.value >= 1024 ? format(datum.value / 1024, '~g') + ' KiB' : datum.value + ' B'"
)

Name = Callable[[Measurement], str]


def bars(measurements: list[Measurement], name: Name) -> Spec:
    """One bar a measurement, its interval on it; the limit as a line where one is known."""
    unit, factor = scale_of(measurements)
    rows = []
    for measurement in measurements:
        limit = measurement.limit.value / factor if measurement.limit else None
        rows.append(
            row_of(measurement, factor, unit, name=name(measurement), limit=limit,
                   what=name(measurement), text=figures.with_interval(measurement, factor))
        )  # fmt: skip
    most = max(max(row["high"], row["limit"] or 0.0) for row in rows)
    y = {"field": "name", "type": "nominal", "sort": None, "title": None,
         "axis": {"labelColor": "role:ink", "domain": False, "grid": False}}  # fmt: skip
    x: Spec = {
        "field": "value",
        "type": "quantitative",
        "title": unit,
        "scale": {"domain": [0, most * 1.36], "nice": False},
        "axis": {"tickCount": 5},
    }
    layers: list[Spec] = [
        {
            "mark": {"type": "bar", "height": 14, "color": "role:series-1", "cornerRadiusEnd": 2},
            "encoding": {"x": x, "description": {"field": "tip"}},
        },
        {
            "mark": {"type": "rule", "strokeWidth": 1.5, "color": "role:ink", "aria": False},
            "encoding": {"x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"}},
        },
        {
            "mark": {"type": "text", "align": "right", "x": "width", "aria": False},
            "encoding": {"text": {"field": "text"}},
        },
    ]
    if any(row["limit"] for row in rows):
        layers.append(
            {
                "transform": [{"filter": "isValid(datum.limit)"}],
                "mark": {"type": "tick", "color": "role:series-2", "thickness": 3, "size": 20},
                "encoding": {"x": {"field": "limit", "type": "quantitative"}},
            }
        )
    return {
        "width": WIDTH - 110,
        "height": {"step": _BAR},
        "data": {"values": rows},
        "encoding": {"y": y},
        "layer": layers,
    }


def size_axis(title: str, sizes: list[float]) -> Spec:
    """An axis of bytes that doubles, labelled KiB, MiB, GiB."""
    low, high = min(sizes), max(sizes)
    ticks = [float(1 << power) for power in range(51) if low <= (1 << power) <= high]
    step = max(1, -(-len(ticks) // 7))
    return {
        "field": "x",
        "type": "quantitative",
        "title": title,
        "scale": {"type": "log", "base": 2, "domain": [low, high], "nice": False},
        "axis": {"values": ticks[::step], "labelExpr": _BYTES, "labelOverlap": "greedy"},
    }


def count_axis(title: str, counts: list[float]) -> Spec:
    """An axis of counts, such as threads: whole numbers, from zero on."""
    axis: Spec = {"tickMinStep": 1, "format": "d"}
    if len(set(counts)) <= 8:
        axis["values"] = sorted(set(counts))
    return {
        "field": "x",
        "type": "quantitative",
        "title": title,
        "scale": {"domain": [0, max(counts) * 1.04], "nice": False},
        "axis": axis,
    }


def curves(rows: list[dict[str, Any]], x: Spec, y: Spec, more: list[Spec] | None = None) -> Spec:
    """Curves with their intervals: rows have x, value, low, high, series and tip.

    Series differ in colour, dash and the points' shape, so that paper without colour will do.
    """
    names = list(dict.fromkeys(row["series"] for row in rows))[:_MOST_SERIES]
    kept = [row for row in rows if row["series"] in names]
    legend: Any = {"title": None, "columns": _legend_columns(names)} if len(names) > 1 else None
    series: Spec = {"field": "series", "type": "nominal", "sort": None}
    colour = {**series, "scale": {"domain": names, "range": SERIES[: len(names)]}, "legend": legend}
    dash = {**series, "scale": {"domain": names, "range": DASHES[: len(names)]}, "legend": None}
    shape = {**series, "scale": {"domain": names, "range": SHAPES[: len(names)]}, "legend": legend}
    order: Spec = {"field": "order" if "order" in rows[0] else "x", "type": "quantitative"}
    point = {"type": "point", "filled": True, "size": 42, "opacity": 1}
    layers: list[Spec] = [
        *(more or []),
        {
            "mark": {"type": "rule", "strokeWidth": 5, "opacity": 0.3, "aria": False, "clip": True},
            "encoding": {"y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": colour},
        },
        {
            "mark": {"type": "line", "strokeWidth": 2, "aria": False},
            "encoding": {"y": y, "color": colour, "strokeDash": dash, "order": order},
        },
        {
            "mark": point,
            "encoding": {
                "y": y,
                "color": colour,
                "shape": shape,
                "description": {"field": "tip"},
            },
        },
    ]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "data": {"values": kept},
        "encoding": {"x": x},
        "layer": layers,
    }


def _legend_columns(names: list[str]) -> int:
    longest = max(map(len, names))
    return max(1, min(len(names), 72 // (longest + 6)))


def series_left_out(rows: list[dict[str, Any]]) -> int:
    """How many series ``curves`` leaves out, being more than can be told apart."""
    return max(0, len({row["series"] for row in rows}) - _MOST_SERIES)


def heatmap(rows: list[dict[str, Any]], across: str, down: str, unit: str, better: str) -> Spec:
    """A matrix of cells: rows have column, row, value, text and tip; order as given.

    ``better`` is ``high`` or ``low``; light cells are always the better ones.
    """
    columns = list(dict.fromkeys(row["column"] for row in rows))
    lines = list(dict.fromkeys(row["row"] for row in rows))
    values = [row["value"] for row in rows]
    middle = (min(values) + max(values)) / 2
    darker = f"datum.value {'<' if better == 'high' else '>'} {middle!r}"
    width = max(34, min(64, 520 // max(1, len(columns))))
    axis = {"labelColor": "role:ink", "domain": False, "grid": False, "labelAngle": 0}
    slanted = max(len(str(column)) for column in columns) * 7 > width
    x = {"field": "column", "type": "nominal", "sort": None, "title": across,
         "axis": {**axis, "orient": "top", "labelAngle": -40 if slanted else 0}}  # fmt: skip
    y = {"field": "row", "type": "nominal", "sort": None, "title": down, "axis": axis}
    cell_text = max(len(row["text"]) for row in rows)
    scale = {"scheme": "cividis", "reverse": better == "low"}
    return {
        "width": {"step": width},
        "height": {"step": 30},
        "data": {"values": rows},
        "encoding": {
            "x": {**x, "sort": columns, "scale": {"paddingInner": 0.04}},
            "y": {**y, "sort": lines, "scale": {"paddingInner": 0.06}},
        },
        "layer": [
            {
                "mark": {"type": "rect", "cornerRadius": 2},
                "encoding": {
                    "color": {
                        "field": "value",
                        "type": "quantitative",
                        "title": unit,
                        "scale": scale,
                        "legend": None,
                    },
                    "description": {"field": "tip"},
                },
            },
            {
                "mark": {
                    "type": "text",
                    "aria": False,
                    "fontSize": 11 if cell_text * 7 <= width else 9,
                    "fill": {"expr": f"{darker} ? '#ffffff' : '#111111'"},
                },
                "encoding": {"text": {"field": "text"}},
            },
        ],
    }
