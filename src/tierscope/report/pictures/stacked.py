"""Bars made of parts: what a bandwidth or a time is the sum of."""

from typing import Any

from tierscope.report.pictures import shapes
from tierscope.report.pictures.draw import SERIES
from tierscope.report.pictures.picture import Spec

_BAR = 26


def stacked(rows: list[dict[str, Any]], unit: str) -> Spec:
    """Bars made of parts: rows have name, series (the part), value, tip, and text at the end."""
    parts = list(dict.fromkeys(row["series"] for row in rows))
    most: dict[str, float] = {}
    for row in rows:
        most[row["name"]] = most.get(row["name"], 0.0) + row["value"]
    x: Spec = {
        "field": "value",
        "type": "quantitative",
        "title": unit,
        "scale": {"domain": [0, max(most.values()) * 1.36], "nice": False},
        "axis": {"tickCount": 5},
    }
    y = {"field": "name", "type": "nominal", "sort": None, "title": None,
         "axis": {"labelColor": "role:ink", "domain": False, "grid": False}}  # fmt: skip
    colour = {
        "field": "series",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": parts, "range": SERIES[: len(parts)]},
        "legend": {
            "title": None,
            "columns": 1 if max(map(len, parts)) > 24 else len(parts),
            "symbolType": "square",
        },
    }
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
