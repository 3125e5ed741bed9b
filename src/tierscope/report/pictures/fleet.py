"""How one path's figure is distributed over the hosts of a fleet."""

import math
from collections import Counter
from typing import Any

from tierscope.model.errors import counted
from tierscope.model.outlier import SlowPath
from tierscope.model.text import brief
from tierscope.report.fleet import FleetPath, FleetView, signed_percent
from tierscope.report.pictures.draw import SERIES
from tierscope.report.pictures.picture import Picture, Spec, slug
from tierscope.report.pictures.shapes import WIDTH, axis

_HEIGHT = 96
_FEW = 60
"""Hosts up to which each is a dot."""
_MOST_BINS = 48
_NEAR = 1.3
"""A limit is drawn up to this many times the largest value; a farther one is told in words."""
_MOST_GROUPS = 4
"""Groups whose medians are drawn."""


def distribution(view: FleetView, number: int) -> Picture:
    """Return the picture of a path: dots of few hosts, else a histogram, with outliers marked.

    Lines stand at the groups' medians, at the golden value and at the limit where it is near.
    """
    path, name = view.paths[number], view.names[number]
    factor = path.scale[1]
    slow = view.slow_on(number)
    low, high = min(path.measured) / factor, max(path.measured) / factor
    width = _bin_width(path.measured, view.spreads[number], factor, high - low)
    if len(path.measured) <= _FEW:
        layers = [_dots(view, number, width, {host for host, _ in slow})]
    else:
        layers = [_bars(view, number, width, low), _marks(path, slow)]
    lines = [*_medians(view, number), *_bounds(view, number)]
    ends = [low, high, *(line["x"] for line in lines)]
    room = 0.03 * (max(ends) - min(ends)) or 0.02 * max(ends)
    layers += [_rule(line) for line in lines]
    for layer in layers:
        layer["encoding"]["x"]["scale"] = {"domain": [min(ends) - room, max(ends) + room],
                                           "nice": False, "zero": False}  # fmt: skip
    return Picture(
        key=slug(f"{number + 1} {name}"),
        title=name,
        subtitle=_subtitle(view, number),
        alt=_alt(view, number, slow),
        spec={"width": WIDTH, "height": _HEIGHT, "layer": layers},
        measurements=[],
    )


def _bin_width(values: list[float], spread: float, factor: float, span: float) -> float:
    """Return the width of bins by Scott's rule, in the unit shown, so that there are not too
    many."""
    middle = sorted(values)[len(values) // 2] / factor
    width = 3.49 * spread * middle * len(values) ** (-1 / 3)
    return max(width, span / _MOST_BINS, abs(middle) * 1e-6) or 1.0


def _dots(view: FleetView, number: int, width: float, marked: set[str]) -> Spec:
    """A dot a host; hosts with about the same value stand on each other."""
    path, (unit, factor) = view.paths[number], view.paths[number].scale
    stacked: Counter[int] = Counter()
    rows = []
    for host, value in zip(view.hosts, path.values, strict=True):
        if value is None:
            continue
        place = math.floor(value / factor / (width / 3))
        stacked[place] += 1
        rows.append({"x": value / factor, "y": stacked[place], "marked": host.name in marked,
                     "tip": f"{host.name}: {path.text(value)}"})  # fmt: skip
    most = max(stacked.values())
    return {
        "data": {"values": rows},
        "mark": {"type": "point", "filled": True, "size": 55, "opacity": 0.85},
        "encoding": {
            "x": _x(unit),
            "y": {"field": "y", "type": "quantitative", "axis": None,
                  "scale": {"domain": [0, max(4, most) + 0.5]}},
            "color": {"condition": {"test": "datum.marked", "value": "role:series-2"},
                      "value": "role:series-1"},
            "shape": {"condition": {"test": "datum.marked", "value": "triangle-up"},
                      "value": "circle"},
            "description": {"field": "tip"},
        },
    }  # fmt: skip


def _bars(view: FleetView, number: int, width: float, low: float) -> Spec:
    """A histogram; groups stand on each other, each in its colour."""
    path, (unit, factor) = view.paths[number], view.paths[number].scale
    counts: Counter[tuple[int, int]] = Counter()
    for group, value in zip(view.group_of, path.values, strict=True):
        if value is not None:
            counts[math.floor((value / factor - low) / width), min(group, len(SERIES) - 1)] += 1
    below: Counter[int] = Counter()
    rows = []
    for (place, group), count in sorted(counts.items()):
        start = low + place * width
        said = f"{counted(count, 'host')}: {brief(start, 4)} to {brief(start + width, 4)} {unit}"
        whose = f", {view.groups[group]}" if len(view.groups) > 1 else ""
        rows.append({"x": start, "x2": start + width, "y": below[place], "y2": below[place] + count,
                     "group": view.groups[group], "tip": said + whose})  # fmt: skip
        below[place] += count
    colour: Spec = {"value": "role:series-1"}
    if len(view.groups) > 1:
        named = view.groups[: len(SERIES)]
        scale = {"domain": named, "range": [_colour_of(n) for n in range(len(named))]}
        colour = {"field": "group", "type": "nominal", "scale": scale, "legend": None}
    return {
        "data": {"values": rows},
        "mark": {"type": "rect", "opacity": 0.6},
        "encoding": {
            "x": {**_x(unit), "field": "x"},
            "x2": {"field": "x2"},
            "y": {"field": "y", "type": "quantitative", "title": "hosts",
                  "axis": {"tickCount": 3, "format": "d"}},
            "y2": {"field": "y2"},
            "color": colour,
            "description": {"field": "tip"},
        },
    }  # fmt: skip


def _colour_of(group: int) -> str:
    """Return the colour of a group; the second series is the outliers'."""
    return SERIES[group if group < 1 else group + 1 if group + 1 < len(SERIES) else -1]


def _marks(path: FleetPath, slow: list[tuple[str, SlowPath]]) -> Spec:
    """Outliers at the bottom of a histogram, where a bar of one host would not be seen."""
    unit, factor = path.scale
    rows = [
        {
            "x": one.figure / factor,
            "tip": f"{host}: {path.text(one.figure)}, {signed_percent(one.deviation)}",
        }
        for host, one in slow
    ]
    return {
        "data": {"values": rows},
        "mark": {"type": "point", "filled": True, "size": 60, "opacity": 0.9, "y": _HEIGHT - 5,
                 "shape": "triangle-up", "color": "role:series-2"},
        "encoding": {"x": _x(unit), "description": {"field": "tip"}},
    }  # fmt: skip


def _x(unit: str) -> Spec:
    return axis("x", unit, tickCount=5, grid=False)


def _medians(view: FleetView, number: int) -> list[dict[str, Any]]:
    path = view.paths[number]
    return [
        _line(path, middle, "ink", [1, 0], f"median of {view.groups[group]}: {path.text(middle)}")
        for group, middle in enumerate(view.medians[number][:_MOST_GROUPS])
        if middle is not None
    ]


def _line(path: FleetPath, value: float, role: str, dash: list[int], tip: str) -> dict[str, Any]:
    unit, factor = path.scale
    return {"x": value / factor, "colour": f"role:{role}", "dash": dash, "unit": unit, "tip": tip}


def _bounds(view: FleetView, number: int) -> list[dict[str, Any]]:
    path = view.paths[number]
    found = []
    if path.golden:
        tip = f"golden value: {path.golden_text} {path.scale[0]}"
        found.append(_line(path, path.golden.bound, "series-3", [6, 3], tip))
    limits = path.known_limits
    if len(limits) == 1 and max(limits) <= _NEAR * max(path.measured):
        limit = max(limits)
        found.append(_line(path, limit, "series-4", [2, 2], f"limit: {path.text(limit)}"))
    return found


def _rule(line: dict[str, Any]) -> Spec:
    return {
        "data": {"values": [{"x": line["x"], "tip": line["tip"]}]},
        "mark": {"type": "rule", "strokeWidth": 2, "color": line["colour"],
                 "strokeDash": line["dash"]},
        "encoding": {"x": _x(line["unit"]), "description": {"field": "tip"}},
    }  # fmt: skip


def _subtitle(view: FleetView, number: int) -> str:
    path = view.paths[number]
    if len(view.groups) == 1:
        parts = [f"median {path.text(view.medians[number][0] or 0)}"]
    elif len(view.groups) <= _MOST_GROUPS:
        parts = [line["tip"] for line in _medians(view, number)]
    else:
        parts = [f"{len(view.groups)} groups"]
    parts += [line["tip"] for line in _bounds(view, number)]
    if path.known_limits and not any(part.startswith("limit") for part in parts):
        parts.append(f"limit {path.between(path.known_limits)} {path.scale[0]}")
    return "; ".join(parts)


def _alt(view: FleetView, number: int, slow: list[tuple[str, SlowPath]]) -> str:
    path = view.paths[number]
    text = (
        f"{len(path.measured)} hosts, {path.number(min(path.measured))} to "
        f"{path.text(max(path.measured))}; hosts alike differ by "
        f"{100 * view.spreads[number]:.2g}%"
    )
    if slow:
        host, first = slow[0]
        text += f"; {counted(len(slow), 'outlier')}, the farthest {host} by "
        text += signed_percent(first.deviation)
    if path.golden:
        failing = path.failing()
        text += f"; the golden value is {f'missed by {failing}' if failing else 'met by all'}"
    return f"{text}."
