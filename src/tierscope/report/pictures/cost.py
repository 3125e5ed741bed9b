"""The picture of what memory costs: price against bandwidth, latency and capacity."""

from collections.abc import Sequence
from typing import Any

from tierscope.analysis.cost import GOALS, Placement, beaten_by, goal_of
from tierscope.model.price import GIB
from tierscope.model.text import brief
from tierscope.report.pictures.draw import SERIES, SHAPES
from tierscope.report.pictures.picture import Picture, Spec
from tierscope.report.pictures.shapes import axis, by_name, points

_AXES = {
    "bandwidth": ("bandwidth, GB/s: higher is better", 1e9),
    "latency": ("idle latency, ns: lower is better", 1.0),
    "capacity": ("capacity, GiB: higher is better", float(GIB)),
}
_SIDE, _MAX_NAMED = 250, len(SERIES)


def frontier_picture(
    placements: Sequence[Placement], currency: str, operation: str
) -> Picture | None:
    """A panel for each goal: all placements, and a line through those that none beats."""
    shown = [one for one in placements if any(goal_of(one, g) for g in ("bandwidth", "latency"))]
    shown = sorted(shown, key=lambda one: one.price)[:_MAX_NAMED]
    if not shown:
        return None
    names = [one.name for one in shown]
    panels = [_panel(goal, shown, names, currency) for goal in GOALS
              if any(goal_of(one, goal) for one in shown)]  # fmt: skip
    said = []
    for goal in GOALS:
        best = [one.name for one in shown if goal_of(one, goal) and not beaten_by(one, shown, goal)]
        said.append(f"On the frontier of price against {goal}: {', '.join(best) or 'none'}.")
    return Picture(
        key="cost-frontier",
        title="What memory costs",
        subtitle=f"price in {currency} of all tiers that hold the pages; bandwidth: {operation}; "
        "lines: what no cheaper placement beats; filled points are on them",
        alt=" ".join(said),
        spec={
            "concat": panels,
            "columns": 3,
            "spacing": 24,
            "resolve": {"scale": {"color": "shared", "shape": "shared"}},
        },
        measurements=[],
    )


def _panel(goal: str, shown: Sequence[Placement], names: list[str], currency: str) -> Spec:
    heading, factor = _AXES[goal]
    rows: list[dict[str, Any]] = []
    for one in shown:
        value = goal_of(one, goal)
        if value is None:
            continue
        rows.append(
            {
                "x": one.price,
                "value": value.estimate / factor,
                "low": value.low / factor,
                "high": value.high / factor,
                "series": one.name,
                "beaten": beaten_by(one, shown, goal) is not None,
                "tip": f"{one.name}: {one.price:.0f} {currency}, "
                + brief(value.estimate / factor, 4),
            }
        )
    most = max(row["high"] for row in rows)
    dearest = max(row["x"] for row in rows)
    x = axis("x", f"price, {currency}", (0, 1.08 * dearest), tickCount=4)
    y = axis("value", heading, (0, 1.1 * most), tickCount=5)
    columns = max(1, min(len(names), 90 // (max(map(len, names)) + 6)))
    legend = {"title": None, "columns": columns}
    colour = by_name("series", names, SERIES, legend)
    shape = by_name("series", names, SHAPES, legend)
    marks = {"x": x, "y": y, "color": colour, "shape": shape, "description": {"field": "tip"}}
    line = {"x": x, "y": y, "order": {"field": "x", "type": "quantitative"}}
    return {
        "width": _SIDE,
        "height": _SIDE,
        "data": {"values": rows},
        "layer": [
            {
                "transform": [{"filter": "!datum.beaten"}],
                "mark": {"type": "line", "color": "role:soft", "strokeWidth": 1.5, "aria": False},
                "encoding": line,
            },
            {
                "mark": {"type": "rule", "strokeWidth": 4, "opacity": 0.3, "aria": False},
                "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"},
                             "color": colour},
            },
            *points(marks, "datum.beaten", size=70),
        ],
    }  # fmt: skip
