"""The forms that pictures have: bars, curves, heat maps; what they show comes from the kinds."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.pictures.draw import DASHES, SERIES, SHAPES
from tierscope.report.pictures.picture import Spec, row_of, scale_of

WIDTH = 350
HEIGHT = 240
_BAR = 28
_MAX_SERIES = len(SERIES)
_LETTER = 6.6
"""Width of a letter, about."""
_MIN_BARS = 270
_FEW = 4
_OFF_AXIS = 3.0
"""A limit this many times the longest bar is told in words: drawn, it would shrink all bars."""
_MAX_LABELLED = 20
"""Columns of a heat map up to which its cells have room for their figures."""
_MANY = 64
"""Columns of a heat map from which on its cells are as small as can be told apart."""
_WIDE_RANGE = 20.0
"""Ratio of a heat map's values from which on its colours are logarithmic."""
_BYTES = (
    "datum.value >= 1099511627776 ? format(datum.value / 1099511627776, '~g') + ' TiB' : "
    "datum.value >= 1073741824 ? format(datum.value / 1073741824, '~g') + ' GiB' : "
    "datum.value >= 1048576 ? format(datum.value / 1048576, '~g') + ' MiB' : "
    "datum.value >= 1024 ? format(datum.value / 1024, '~g') + ' KiB' : datum.value + ' B'"
)

_DOUBTFUL = "disturbed by other programs, or unreliable"

Name = Callable[[Measurement], str]


def bars(measurements: list[Measurement], name: Name) -> Spec:
    """One bar a measurement, its interval on it; the limit as a line where one is known."""
    unit, factor = scale_of(measurements)
    rows = []
    for measurement in measurements:
        limit = measurement.limit.value / factor if measurement.limit else None
        text = figures.with_interval(measurement, factor) + figures.mark(measurement)
        rows.append(
            row_of(measurement, factor, unit, name=name(measurement), limit=limit,
                   what=name(measurement), text=text)
        )  # fmt: skip
    longest = max(row["high"] for row in rows)
    limits = [row["limit"] for row in rows if row["limit"]]
    beyond = [limit for limit in limits if limit > _OFF_AXIS * longest]
    for row in rows:
        row["limit"] = None if row["limit"] in beyond else row["limit"]
    most = max([longest, *(limit for limit in limits if limit not in beyond)])
    names = max(len(row["name"]) for row in rows) * _LETTER
    room = max(_MIN_BARS, WIDTH - max(110, names - 60))
    text_width = max(len(row["text"]) for row in rows) * _LETTER + 22
    y = {"field": "name", "type": "nominal", "sort": None, "title": None,
         "axis": {"labelColor": "role:ink", "domain": False, "grid": False}}  # fmt: skip
    x = axis("value", unit, (0, most * room / (room - text_width)), values=_ticks(most))
    layers = _bar_layers(x, any(row["limit"] for row in rows))
    if any(row.get("doubtful") for row in rows):
        layers.append(_remark(f"pale: {_DOUBTFUL}", {"expr": "height + 60"}))
    if beyond:
        text = f"limits from {min(beyond):.4g} {unit} on lie beyond this axis"
        layers.append(_remark(f"limit {beyond[0]:.4g} {unit}, beyond this axis"
                              if len(set(beyond)) == 1 else text))  # fmt: skip
    return {
        "width": room,
        "height": {"step": _BAR},
        "data": {"values": rows},
        "encoding": {"y": y},
        "layer": layers,
    }


def _bar_layers(x: Spec, limited: bool) -> list[Spec]:
    layers: list[Spec] = [
        {
            "mark": {"type": "bar", "height": 15, "color": "role:series-1", "cornerRadiusEnd": 2},
            "encoding": {
                "x": x,
                "opacity": {"condition": {"test": "datum.doubtful", "value": 0.35}, "value": 1},
                "description": {"field": "tip"},
            },
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
    if limited:
        layers.append(
            {
                "transform": [{"filter": "isValid(datum.limit)"}],
                "mark": {"type": "tick", "color": "role:series-2", "thickness": 3, "size": 20},
                "encoding": {"x": {"field": "limit", "type": "quantitative"}},
            }
        )
    return layers


def _ticks(most: float) -> list[float]:
    """Return round values from zero up to ``most``, about five."""
    if most <= 0:
        return [0.0]
    decade = 10.0 ** math.floor(math.log10(most / 5))
    step = next(decade * digit for digit in (1, 2, 5, 10) if most / (decade * digit) <= 5.5)
    return [number * step for number in range(int(most / step) + 1)]


def _remark(text: str, below: Spec | int | None = None) -> Spec:
    """A line of text above a picture's right end, or as far down as ``below``."""
    place = -9 if below is None else below
    return {
        "data": {"values": [{"text": text}]},
        "mark": {"type": "text", "x": "width", "y": place, "align": "right", "color": "role:soft",
                 "aria": False, "fontSize": 12},
        "encoding": {"text": {"field": "text", "type": "nominal"}, "y": None, "x": None},
    }  # fmt: skip


def doubtful_remark(below: int | None = None) -> Spec:
    """What hollow points mean, above a picture or so many pixels below its top."""
    return _remark(f"hollow: {_DOUBTFUL}", below)


def axis(field: str, title: str, ends: tuple[float, float] | None = None, **look: Any) -> Spec:
    """A linear axis of a field, from the first end to the second where they are given.

    ``look`` is Vega-Lite's ``axis``: its ticks and labels.
    """
    scale = {"scale": {"domain": [*ends], "nice": False}} if ends else {}
    labels = {"axis": look} if look else {}
    return {"field": field, "type": "quantitative", "title": title, **scale, **labels}


def log_axis(field: str, title: str, ends: tuple[float, float], **look: Any) -> Spec:
    """A logarithmic axis of a field, as ``axis`` otherwise."""
    scale = {"type": "log", "domain": [*ends], "nice": False}
    return {**axis(field, title, **look), "scale": scale}


def decade_ticks(ends: tuple[float, float], digits: Sequence[int] = (1, 2, 5)) -> list[float]:
    """Return these digits times powers of ten, as far as they lie between two positive ends."""
    low, high = ends
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [digit * 10.0**decade for decade in decades for digit in digits]
    return [tick for tick in ticks if low <= tick <= high]


def by_name(field: str, names: Sequence[str], values: Sequence[Any], legend: Spec | None) -> Spec:
    """The colours, shapes or dashes of the names that a field has, in their order."""
    scale = {"domain": [*names], "range": [*values[: len(names)]]}
    return {"field": field, "type": "nominal", "sort": None, "scale": scale, "legend": legend}


def points(encoding: Spec, hollow: str, **look: Any) -> list[Spec]:
    """Filled points, and hollow ones where a Vega expression holds."""
    mark = {"type": "point", "opacity": 1, **look}
    fills: tuple[tuple[str, Spec], ...] = (
        (f"!{hollow}", {"filled": True}),
        (hollow, {"fill": "role:paper"}),
    )
    return [
        {"transform": [{"filter": test}], "mark": {**mark, **fill}, "encoding": encoding}
        for test, fill in fills
    ]


def uprights(rows: list[dict[str, Any]], **text: Any) -> list[Spec]:
    """Dashed upright lines at ``x``, each with its ``text``; further options place the texts."""
    data = {"data": {"values": rows}}
    place = {"x": {"field": "x", "type": "quantitative"}}
    look = {"color": "role:soft", "aria": False}
    return [
        {**data, "mark": {"type": "rule", "strokeDash": [3, 4], **look}, "encoding": place},
        {
            **data,
            "mark": {"type": "text", "dx": 4, "align": "left", **look, **text},
            "encoding": {**place, "text": {"field": "text"}},
        },
    ]


def from_zero(title: str) -> Spec:
    """An axis of values that begins at zero."""
    return {**axis("value", title, tickCount=6), "scale": {"zero": True}}


def size_axis(title: str, sizes: list[float]) -> Spec:
    """An axis of bytes that doubles, labelled KiB, MiB, GiB."""
    low, high = min(sizes), max(sizes)
    ticks = [float(1 << power) for power in range(51) if low <= (1 << power) <= high]
    step = max(1, -(-len(ticks) // 7))
    found = log_axis(
        "x", title, (low, high), values=ticks[::step], labelExpr=_BYTES, labelOverlap="greedy"
    )
    return {**found, "scale": {**found["scale"], "base": 2}}


def count_axis(title: str, counts: list[float]) -> Spec:
    """An axis of counts, such as threads: whole numbers, from zero on unless there are few."""
    few = {"values": sorted(set(counts))} if len(set(counts)) <= 8 else {}
    low = min(counts) - 0.25 if max(counts) <= _FEW else 0
    return axis("x", title, (low, max(counts) * 1.04), tickMinStep=1, format="d", **few)


def curves(
    rows: list[dict[str, Any]],
    x: Spec,
    y: Spec,
    more: list[Spec] | None = None,
    lines: list[dict[str, Any]] | None = None,
    named: Sequence[str] | None = None,
) -> Spec:
    """Curves with their intervals: rows have x, value, low, high, series and tip.

    Lines go from row to row, or through ``lines``, which have x, value and series. Series differ
    in colour, dash and shape; ``named``: those that share these with other pictures.
    """
    names = list(named or dict.fromkeys(row["series"] for row in rows))[:_MAX_SERIES]
    kept = [row for row in rows if row["series"] in names]
    left_out = len({row["series"] for row in rows}.difference(names))
    if left_out:
        x = {**x, "title": f"{x['title']} ({left_out} more curves are in the CSV)"}
    legend: Any = {"title": None, "columns": _legend_columns(names)} if len(names) > 1 else None
    colour = by_name("series", names, SERIES, legend)
    shape = by_name("series", names, SHAPES, legend)
    dash = by_name("series", names, DASHES, None)
    order: Spec = {"field": "order" if "order" in rows[0] else "x", "type": "quantitative"}
    marks = {"y": y, "color": colour, "shape": shape, "description": {"field": "tip"}}
    filled, hollow = points(marks, "datum.doubtful", size=42)
    layers: list[Spec] = [
        *(more or []),
        {
            "mark": {"type": "rule", "strokeWidth": 5, "opacity": 0.3, "aria": False, "clip": True},
            "encoding": {"y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": colour},
        },
        {
            **_through(lines, names),
            "mark": {"type": "line", "strokeWidth": 2, "aria": False},
            "encoding": {"y": y, "color": colour, "strokeDash": dash, "order": order},
        },
        filled,
    ]
    if any(row.get("doubtful") for row in kept):
        layers.append(hollow)
        # A number, since a panel among others does not know its height.
        layers.append(doubtful_remark(HEIGHT + 60))
    if any(row["mark"] for row in kept if "mark" in row):
        text = {"type": "text", "dy": -10, "fontSize": 12, "aria": False}
        marked = {"y": y, "color": colour, "text": {"field": "mark"}}
        layers.append({"mark": text, "encoding": marked})
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "data": {"values": kept},
        "encoding": {"x": x},
        "layer": layers,
    }


def without_points(spec: Spec) -> Spec:
    """Return curves without their points, for lines whose points would touch each other."""
    layers = []
    for layer in spec["layer"]:
        mark, encoding = layer["mark"], layer.get("encoding", {})
        if isinstance(mark, dict) and mark.get("type") == "point":
            continue
        if isinstance(mark, dict) and mark.get("type") == "line" and encoding["color"]["legend"]:
            # Lines stand for the curves in the legend, too, in place of points.
            legend = {**encoding["color"]["legend"], "symbolStrokeWidth": 2, "symbolSize": 300}
            both = {key: {**encoding[key], "legend": legend} for key in ("color", "strokeDash")}
            layers.append({**layer, "encoding": {**encoding, **both}})
        else:
            layers.append(layer)
    return {**spec, "layer": layers}


def _through(lines: list[dict[str, Any]] | None, names: list[str]) -> Spec:
    """Return the data of lines that do not go from row to row."""
    return {"data": {"values": [row for row in lines if row["series"] in names]}} if lines else {}


def _legend_columns(names: list[str]) -> int:
    longest = max(map(len, names))
    return max(1, min(len(names), 72 // (longest + 6)))


def heatmap(
    rows: list[dict[str, Any]],
    across: str,
    down: str,
    unit: str,
    better: str,
    columns: list[str] | None = None,
) -> Spec:
    """A matrix of cells: rows have column, row, value, text and tip; order as given.

    ``better`` is ``high`` or ``low``; light cells are always the better ones. Colours are
    logarithmic where the values span decades. Without room for figures in the cells there is a
    legend instead.
    """
    columns = columns or list(dict.fromkeys(row["column"] for row in rows))
    lines = list(dict.fromkeys(row["row"] for row in rows))
    low, high = min(row["value"] for row in rows), max(row["value"] for row in rows)
    wide = low > 0 and high / low > _WIDE_RANGE
    if not wide:
        # Small differences get like colours: only half as good is as dark as can be.
        low, high = (min(low, high / 2), high) if better == "high" else (low, max(high, 2 * low))
    middle = math.sqrt(low * high) if wide else (low + high) / 2
    labelled = len(columns) <= _MAX_LABELLED
    smallest = 34 if labelled else 14 if len(columns) <= _MANY else 7
    width = max(smallest, min(66, 540 // max(1, len(columns))))
    axis = {"labelColor": "role:ink", "domain": False, "grid": False, "labelAngle": 0,
            **({} if labelled else {"labelOverlap": "greedy"})}  # fmt: skip
    slanted = max(len(str(column)) for column in columns) * 7 > width
    x = {"field": "column", "type": "nominal", "title": across, "sort": columns,
         "scale": {"paddingInner": 0.04},
         "axis": {**axis, "orient": "top", "labelAngle": -40 if slanted else 0}}  # fmt: skip
    y = {"field": "row", "type": "nominal", "title": down, "sort": lines, "axis": axis,
         "scale": {"paddingInner": 0.06}}  # fmt: skip
    scale = {"scheme": "cividis", "reverse": better == "low", "type": "log" if wide else "linear",
             "domain": [low, high]}  # fmt: skip
    colour = {"field": "value", "type": "quantitative", "title": unit, "scale": scale,
              "legend": None if labelled else {"orient": "bottom"}}  # fmt: skip
    cells: list[Spec] = [
        {
            "mark": {"type": "rect", "cornerRadius": 2},
            "encoding": {"color": colour, "description": {"field": "tip"}},
        }
    ]
    if labelled:
        darker = f"datum.value {'<' if better == 'high' else '>'} {middle!r}"
        longest = max(len(row["text"]) for row in rows)
        text = {
            "type": "text",
            "aria": False,
            "fontSize": 12 if longest * 7.5 <= width else 10,
            "fill": {"expr": f"{darker} ? '#ffffff' : '#111111'"},
        }
        cells.append({"mark": text, "encoding": {"text": {"field": "text"}}})
    return {
        "width": {"step": width},
        "height": {"step": 30 if labelled else width},
        "data": {"values": rows},
        "encoding": {"x": x, "y": y},
        "layer": cells,
    }
