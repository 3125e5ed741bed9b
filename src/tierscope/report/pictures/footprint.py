"""Pictures of what is accessed: the working set over time, and heat maps of addresses and time."""

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

from tierscope.place.damon.footprint import MONITORING, Observed
from tierscope.report import figures
from tierscope.report.pictures import shapes
from tierscope.report.pictures.picture import Picture, Spec, slug
from tierscope.report.tiering import groups_of, largest, working_sets

_ROWS = 64
_LABELS = 12
_WIDTH = 560
_ROW = 5
"""Height of a row, of about as many resident bytes as any other."""
_LEVELS = 20
"""Shades of a heat map; cells that follow each other in one shade are drawn as one."""
_MOST_POINTS = 60


def footprint_pictures(
    what: str, seconds: Sequence[float], found: Sequence[Observed]
) -> Iterator[Picture]:
    """Yield the working set over time, and a heat map of each of the largest processes or nodes.

    ``seconds`` are the times of the looks since the beginning.
    """
    yield _over_time(what, seconds, found)
    for one in largest(found):
        yield _heat_map(one, seconds)


def _over_time(what: str, seconds: Sequence[float], found: Sequence[Observed]) -> Picture:
    lines = {one.name: one.working_sets() for one in largest(found)}
    if len(found) > 1:
        lines = {"all": working_sets(found), **lines}
    sizes = next(iter(lines.values()))
    unit, factor = figures.scale_of("B", [max(sizes)])
    rows = [
        {
            "x": round(second, 3),
            "value": size / factor,
            "low": size / factor,
            "high": size / factor,
            "series": name,
            "tip": f"{name}, {second:.1f} s: {figures.size_text(size)}",
        }
        for name, line in lines.items()
        for second, size in zip(seconds, line, strict=True)
    ]
    spec = shapes.curves(rows, _time_axis(seconds), shapes.from_zero(unit))
    resident = figures.size_text(sum(one.bytes for one in found))
    return Picture(
        key="working-set",
        title=f"Working set of {what}",
        subtitle=f"bytes accessed within {MONITORING.aggr_us // 1000} ms, of {resident} resident, "
        "by DAMON's samples",
        alt=f"From {figures.size_text(min(sizes))} to {figures.size_text(max(sizes))}.",
        spec=shapes.without_points(spec) if len(seconds) > _MOST_POINTS else spec,
        measurements=[],
    )


def _heat_map(one: Observed, seconds: Sequence[float]) -> Picture:
    groups = groups_of(one, _ROWS)
    edges = [0.0, *seconds]
    cells = [
        {
            "x": round(edges[first], 3),
            "x2": round(edges[last], 3),
            "y": row,
            "y2": row + 1,
            "share": level / _LEVELS,
            "tip": f"{one.pieces[group[0]].start:x}, {edges[first]:.1f} to {edges[last]:.1f} s: "
            f"{figures.share_text(level / _LEVELS)} of samples",
        }
        for row, group in enumerate(groups)
        for first, last, level in _cells(one, group)
    ]
    return Picture(
        key=slug(f"heat {one.name}"),
        title=f"Accesses of {one.name} by address and time",
        subtitle=f"share of DAMON's samples within {MONITORING.aggr_us // 1000} ms that found "
        "memory accessed; of each cell its hottest part; grey: no access seen",
        alt=_said(one),
        spec=_map_spec(one, groups, cells, seconds),
        measurements=[],
    )


def _said(one: Observed) -> str:
    ever = [max(shares) for shares in zip(*one.heat, strict=True)]
    accessed = sum(piece.bytes for piece, share in zip(one.pieces, ever, strict=True) if share)
    return (
        f"Of {figures.size_text(one.bytes)} resident, {figures.size_text(accessed)} were accessed "
        "at one time or another."
    )


def _cells(one: Observed, group: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield the first look, that after the last one, and the shade of cells with accesses."""
    shades = [-int(-_LEVELS * max(shares[place] for place in group) // 1) for shares in one.heat]
    at = 0
    for shade, alike in itertools.groupby(shades):
        count = len([*alike])
        if shade:
            yield at, at + count, min(shade, _LEVELS)
        at += count


def _map_spec(
    one: Observed,
    groups: Sequence[Sequence[int]],
    cells: list[dict[str, Any]],
    seconds: Sequence[float],
) -> Spec:
    labels = {
        row: f"{one.pieces[groups[row][0]].start:x}"
        for row in range(0, len(groups), max(1, -(-len(groups) // _LABELS)))
    }
    title = f"address ({figures.size_text(one.bytes)} resident, gaps left out)"
    text = f"({json.dumps(labels)})[datum.value]"
    ends = (len(groups), 0)  # the lowest address stands at the top
    y = shapes.axis("y", title, ends, values=[*labels], labelExpr=text, grid=False)
    x = _time_axis(seconds)
    colour = {
        "field": "share",
        "type": "quantitative",
        "title": "of samples",
        "scale": {"scheme": "yelloworangered", "domain": [0, 1]},
        "legend": {"orient": "right", "format": "%", "tickCount": 5, "gradientLength": 200},
    }
    place = {"x": x, "x2": {"field": "x2"}, "y": y, "y2": {"field": "y2"}}
    return {
        "width": _WIDTH,
        "height": _ROW * len(groups),
        "layer": [
            {
                "data": {"values": [{"x": 0, "x2": seconds[-1], "y": 0, "y2": len(groups)}]},
                "mark": {"type": "rect", "color": "role:grid", "aria": False},
                "encoding": place,
            },
            {
                "data": {"values": cells},
                "mark": {"type": "rect"},
                "encoding": {**place, "color": colour, "description": {"field": "tip"}},
            },
        ],
    }


def _time_axis(seconds: Sequence[float]) -> Spec:
    return shapes.axis("x", "time, s", (0, seconds[-1]), tickCount=8)
