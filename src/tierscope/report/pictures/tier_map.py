"""The tier map: each target of an initiator as a mark at its latency and bandwidth."""

import math
from collections.abc import Iterator
from typing import Any

from tierscope.model.endpoint import STORAGE, parse_endpoint
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.pictures.picture import Picture, Spec, slug
from tierscope.report.pictures.shapes import by_name, decade_ticks, log_axis, points
from tierscope.report.tiers import HOST, MEDIA, Tier, tiers_of
from tierscope.report.view import Views

WIDTH, HEIGHT = 350, 250
SHAPES = dict(
    zip(
        MEDIA,
        ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross",
         "triangle-right", "triangle-left", "circle"),
        strict=True,
    )
)  # fmt: skip
COLOURS = {medium: f"series-{number}" for number, medium in enumerate(MEDIA, 1)}
COLOURS[HOST] = COLOURS[MEDIA[0]]  # from a GPU, no other DRAM is on its map
_SMALLEST, _LARGEST = 110.0, 700.0
"""Areas of marks, in square pixels."""
_DOUBLING = 45.0
"""Area for each doubling of the capacity above a GiB."""
_LETTER, _LINE = 7.4, 15.0
"""Width and height of a letter of labels, about."""
_MARGIN = 1.7
"""Factor by which the axes go beyond the figures."""
_MIN_SPAN = 4.0
"""Ratio, at least, of an axis' ends."""
_GB = 1e9
Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


def tier_maps(run: Run, views: Views) -> Iterator[Picture]:
    """Yield the map of each initiator that has at least two complete tiers, all on one scale."""
    complete = {
        initiator: [tier for tier in tiers if tier.latency and tier.bandwidth]
        for initiator, tiers in tiers_of(run, views).items()
    }
    shown = {initiator: tiers for initiator, tiers in complete.items() if len(tiers) > 1}
    rows = [_row(tier) for tiers in shown.values() for tier in tiers]
    if not rows:
        return
    across = _ends([row[key] for row in rows for key in ("x", "x_low", "x_high")])
    up = _ends([row[key] for row in rows for key in ("y", "y_low", "y_high")])
    for initiator, tiers in shown.items():
        yield Picture(
            key=slug(f"tiers {initiator}"),
            title=f"{_what(tiers)} tiers from {initiator}",
            subtitle="idle latency and best bandwidth, with 95% intervals; larger marks hold more",
            alt=f"From {initiator}, nearest first: {'; '.join(map(_said, tiers))}.",
            spec=_spec([_row(tier) for tier in tiers], across, up),
            measurements=[m for tier in tiers for m in (tier.latency, tier.bandwidth) if m],
        )


def _what(tiers: list[Tier]) -> str:
    stores = any(parse_endpoint(tier.target).kind in STORAGE for tier in tiers)
    return "Memory and storage" if stores else "Memory"


def _row(tier: Tier) -> dict[str, Any]:
    assert tier.latency
    assert tier.bandwidth
    return {
        **_sides("x", tier.latency, 1.0),
        **_sides("y", tier.bandwidth, _GB),
        "name": tier.name,
        "medium": tier.medium,
        "area": _area(tier.capacity),
        "doubtful": figures.is_doubtful(tier.latency) or figures.is_doubtful(tier.bandwidth),
        "tip": _said(tier),
    }


def _sides(axis: str, measurement: Measurement, factor: float) -> dict[str, float]:
    value = measurement.estimate or 0.0
    low = measurement.ci_low or value
    high = measurement.ci_high or value
    return {axis: value / factor, f"{axis}_low": low / factor, f"{axis}_high": high / factor}


def _said(tier: Tier) -> str:
    assert tier.latency
    assert tier.bandwidth
    latency = figures.text(tier.latency, 1.0, "ns")
    return f"{tier.name}: {latency}, {figures.text(tier.bandwidth, _GB, 'GB/s')}"


def _area(capacity: int | None) -> float:
    doublings = math.log2(max(1.0, (capacity or 0) / (1 << 30)))
    return min(_LARGEST, _SMALLEST + _DOUBLING * doublings)


def _ends(values: list[float]) -> tuple[float, float]:
    """Return the ends of a logarithmic axis, with room for marks and labels."""
    low, high = min(values) / _MARGIN, max(values) * _MARGIN
    if high / low < _MIN_SPAN:
        middle = math.sqrt(low * high)
        low, high = middle / math.sqrt(_MIN_SPAN), middle * math.sqrt(_MIN_SPAN)
    return low, high


def _spec(rows: list[dict[str, Any]], across: tuple[float, float], up: tuple[float, float]) -> Spec:
    labels = place_labels(rows, across, up)
    x, y = _axis("x", "idle latency, ns", across), _axis("y", "bandwidth, GB/s", up)
    present = [medium for medium in MEDIA if any(row["medium"] == medium for row in rows)]
    colour = by_name("medium", present, [f"role:{COLOURS[medium]}" for medium in present], None)
    whisker = {"type": "rule", "strokeWidth": 2, "opacity": 0.6, "aria": False}
    mark = {
        "x": x,
        "y": y,
        "color": colour,
        "shape": by_name("medium", present, [SHAPES[medium] for medium in present], None),
        "size": {"field": "area", "type": "quantitative", "scale": None},
        "description": {"field": "tip"},
    }
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "data": {"values": rows},
        "layer": [
            {
                "mark": whisker,
                "encoding": {"x": {**x, "field": "x_low"}, "x2": {"field": "x_high"},
                             "y": y, "color": colour},
            },
            {
                "mark": whisker,
                "encoding": {"y": {**y, "field": "y_low"}, "y2": {"field": "y_high"},
                             "x": x, "color": colour},
            },
            *points(mark, "datum.doubtful", strokeWidth=2),
            # Whiskers stop short of labels.
            _label_layer(labels, {"stroke": "role:paper", "strokeWidth": 5}),
            _label_layer(labels, {}),
            {
                "data": {"values": [{"text": "better: up and to the left"}]},
                "mark": {"type": "text", "x": "width", "y": -8, "align": "right", "fontSize": 12,
                         "color": "role:soft", "aria": False},
                "encoding": {"text": {"field": "text"}},
            },
        ],
    }  # fmt: skip


def _label_layer(labels: list[dict[str, Any]], look: Spec) -> Spec:
    return {
        "data": {"values": labels},
        "mark": {"type": "text", "align": "left", "baseline": "middle", "aria": False, **look},
        "encoding": {
            "x": {"field": "left", "type": "quantitative", "scale": None},
            "y": {"field": "middle", "type": "quantitative", "scale": None},
            "text": {"field": "text"},
        },
    }


def _axis(field: str, title: str, ends: tuple[float, float]) -> Spec:
    span = ends[1] / ends[0]
    digits = (1, 2, 5) if span < 200 else (1, 3) if span < 1e4 else (1,)
    return log_axis(field, title, ends, values=decade_ticks(ends, digits), format="~g")


def place_labels(
    rows: list[dict[str, Any]], across: tuple[float, float], up: tuple[float, float]
) -> list[dict[str, Any]]:
    """Return labels beside their marks, none over another label or mark, or over the edge.

    Places free of whiskers come first. A label for which there is no place is left out; the table
    has it.
    """
    marks = [_Mark(row, across, up) for row in rows]
    taken = [mark.box for mark in marks]
    whiskers = [box for mark in marks for box in mark.whiskers]
    labels = []
    for mark in marks:
        free = [box for box in mark.places() if _inside(box) and not _touches(box, taken)]
        clear = [box for box in free if not _touches(box, whiskers)]
        if found := (clear or free)[:1]:
            left, top, _, bottom = found[0]
            taken.append(found[0])
            middle = (top + bottom) / 2
            labels.append({"left": left, "middle": middle, "text": mark.row["name"]})
    return labels


class _Mark:
    """A mark in pixels: its box, its whiskers, and where its label may be."""

    def __init__(
        self, row: dict[str, Any], across: tuple[float, float], up: tuple[float, float]
    ) -> None:
        self.row = row
        self.x, self.y = _along(row["x"], across) * WIDTH, (1 - _along(row["y"], up)) * HEIGHT
        self.reach = math.sqrt(row["area"]) / 2
        x, y, reach = self.x, self.y, self.reach
        self.box: Box = (x - reach, y - reach, x + reach, y + reach)
        left, right = (_along(row[key], across) * WIDTH for key in ("x_low", "x_high"))
        bottom, top = ((1 - _along(row[key], up)) * HEIGHT for key in ("y_low", "y_high"))
        self.whiskers: list[Box] = [(left, y - 1, right, y + 1), (x - 1, top, x + 1, bottom)]

    def places(self) -> Iterator[Box]:
        """Yield boxes for the label, the best first."""
        width = len(self.row["name"]) * _LETTER
        beside, over = self.reach + 5, self.reach + 3 + _LINE / 2
        right, left = self.x + beside, self.x - beside - width
        yield from (_label_box(at, self.y, width) for at in (right, left))
        for down in (over, 1.8 * over, 2.6 * over):
            for at in (self.x - width / 2, self.x - 6, right, self.x + 6 - width, left):
                yield _label_box(at, self.y - down, width)
                yield _label_box(at, self.y + down, width)


def _label_box(left: float, middle: float, width: float) -> Box:
    return (left, middle - _LINE / 2, left + width, middle + _LINE / 2)


def _along(value: float, ends: tuple[float, float]) -> float:
    return math.log(value / ends[0]) / math.log(ends[1] / ends[0])


def _inside(box: Box) -> bool:
    return box[0] >= 0 and box[1] >= 0 and box[2] <= WIDTH and box[3] <= HEIGHT


def _touches(box: Box, others: list[Box]) -> bool:
    return any(
        box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
        for other in others
    )
