"""Families of bandwidth-latency curves, coloured by their reads on the bus."""

from collections.abc import Sequence
from typing import Any

from tierscope.kinds.loaded_latency.family import MANY, Curve, Family, families_of
from tierscope.kinds.loaded_latency.metrics import family_name, side_families
from tierscope.kinds.loaded_latency.points import bus_rate, delay_of
from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.pictures import shapes
from tierscope.report.pictures.picture import Gathered, Picture, Spec, constants, row_of, slug
from tierscope.report.view import Side

_GB = 1e9
_LABELLED = 10
"""Curves up to which each has its share of reads at its end."""
_NEAR = 0.01
_ROOM = 0.5
"""Share of the axis that a line of words takes."""
_SAID_APART = ("delay_ns", "inject", "load_threads", "mix", "load_from", "load_to")
_SMALL = ("load_order", "load_access_size", "load_size", "stride")
_X: Spec = {"field": "x", "type": "quantitative", "title": "bandwidth on the bus, GB/s"}
_Y: Spec = {"field": "value", "type": "quantitative", "title": "latency, ns"}
_POINT: Spec = {"type": "point", "size": 30, "opacity": 1}
_PANEL = {"anchor": "start", "color": "role:ink", "fontSize": 13}


def families(gathered: Gathered) -> list[Picture]:
    """Latency over the bandwidth on the bus, a picture for each family of many curves; all on one
    scale."""
    every = families_of(gathered.measured, gathered.run.header.topology)
    found = [family for family in every if len(family.curves) >= MANY]
    x, y = _axes(found)
    return [
        Picture(
            key=slug(f"family {family_name(family)}"),
            title=f"Bandwidth-latency curves, {family_name(family)}",
            subtitle=constants(family.members, *_SAID_APART, *_SMALL),
            alt=_said(family),
            spec=_spec(family, x, y),
            measurements=family.members,
        )
        for family in found
    ]


def beside(sides: Sequence[Side]) -> list[Picture]:
    """All families of several runs, a panel for each, on the same axes and colours."""
    found = [(side, family) for side in sides for family in side_families(side)]
    if not found:
        return []
    x, y = _axes([family for _, family in found])
    panels = [
        {**_spec(family, x, y), "title": {"text": f"{side.name}: {family_name(family)}", **_PANEL}}
        for side, family in found
    ]
    alt = [f"{side.name}, {family_name(family)}: {_said(family)}" for side, family in found]
    return [
        Picture(
            key="beside-curves",
            title="Bandwidth-latency curves beside each other",
            subtitle="latency over the bandwidth on the bus, a curve for each share of reads",
            alt=" ".join(alt),
            spec={"concat": panels, "columns": 2, "spacing": 28},
            measurements=[m for _, family in found for m in family.members],
        )
    ]


def _said(family: Family) -> str:
    """Return the ranges of a family's metrics in words."""
    unloaded, highest = family.metrics.unloaded, family.metrics.maximum_latency
    best = family.metrics.maximum_bandwidth
    plain = figures.plain
    return (
        f"{len(family.curves)} curves from {family.curves[0].name} to {family.curves[-1].name}: "
        f"{plain(unloaded[0], 1.0)} to {plain(unloaded[1], 1.0)} ns unloaded, at most "
        f"{plain(highest[0], 1.0)} to {plain(highest[1], 1.0)} ns, up to "
        f"{plain(best[0], _GB)} to {plain(best[1], _GB)} GB/s."
    )


def _axes(found: Sequence[Family]) -> tuple[Spec, Spec]:
    """Return both axes, from zero to what holds the points and limits of all families."""
    rows = [row for family in found for curve in family.curves for row in _rows(curve)]
    across = [row["x"] for row in rows] + [
        limit / _GB for family in found if (limit := _theoretical(family))
    ]
    ends = (1.05 * max(across, default=1.0), 1.1 * max((row["value"] for row in rows), default=1.0))
    return (
        {**_X, "scale": {"domain": [0, ends[0]], "nice": False}, "axis": {"tickCount": 6}},
        {**_Y, "scale": {"domain": [0, ends[1]], "nice": False}, "axis": {"tickCount": 6}},
    )


def _theoretical(family: Family) -> float | None:
    """Return the theoretical rate of the bus where it is the same for all mixes."""
    limits = [family.theoretical(curve) for curve in family.curves]
    known = [limit for limit in limits if limit]
    same = len(known) == len(limits) and max(known) < (1 + _NEAR) * min(known)
    return known[0] if same else None


def _rows(curve: Curve) -> list[dict[str, Any]]:
    return [row for m in curve.points if (row := _row(curve, m))]


def _row(curve: Curve, m: Measurement) -> dict[str, Any] | None:
    rate = bus_rate(m)
    if rate is None:
        return None
    row = row_of(
        m,
        1.0,
        "ns",
        x=rate.estimate / _GB,
        order=-(delay_of(m) or 0),
        series=curve.name,
        reads=100 * curve.traffic.read_share,
        stores="non-temporal" if curve.mix.endswith("nt") else "ordinary",
        what=curve.name,
    )
    return {**row, "tip": f"{row['tip']} at {figures.plain(rate, _GB)} GB/s on the bus"}


def _spec(family: Family, x: Spec, y: Spec) -> Spec:
    rows = [row for curve in family.curves for row in _rows(curve)]
    mixed = len({row["stores"] for row in rows}) > 1
    colour = {
        "field": "reads",
        "type": "quantitative",
        "title": "reads on the bus, %",
        "scale": {
            "scheme": {"name": "viridis", "extent": [0.0, 0.9]},
            "domain": [0, 100],
            "reverse": True,
        },
        "legend": {"orient": "bottom", "gradientLength": 200},
    }
    dash = {
        "field": "stores",
        "type": "nominal",
        "title": "stores",
        "scale": {"domain": ["ordinary", "non-temporal"], "range": [[1, 0], [5, 3]]},
        "legend": {
            "orient": "bottom",
            "symbolType": "stroke",
            "symbolStrokeColor": "role:ink",
            "symbolStrokeWidth": 2,
            "symbolSize": 300,
        },
    }
    marks = {"y": y, "color": colour, "description": {"field": "tip"}}
    lines = {"y": y, "color": colour, "detail": {"field": "series"}, "order": {"field": "order"}}
    layers: list[Spec] = [
        {
            "mark": {"type": "rule", "strokeWidth": 5, "opacity": 0.3, "aria": False, "clip": True},
            "encoding": {"y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": colour},
        },
        {
            "mark": {
                "type": "line",
                "strokeWidth": 2 if len(family.curves) <= _LABELLED else 1,
                "aria": False,
            },
            "encoding": {**lines, "strokeDash": dash} if mixed else lines,
        },
        {
            "transform": [{"filter": "!datum.doubtful"}],
            "mark": {**_POINT, "filled": True},
            "encoding": marks,
        },
        *_doubtful(rows, marks),
        *_doublings(family, y, x["scale"]["domain"][1]),
        *_limit(family),
    ]
    if len(family.curves) <= _LABELLED:
        layers.append(_labels(family, y))
    return {
        "width": shapes.WIDTH + 60,
        "height": shapes.HEIGHT + 40,
        "data": {"values": rows},
        "encoding": {"x": x},
        "layer": layers,
    }


def _doubtful(rows: Sequence[dict[str, Any]], marks: Spec) -> list[Spec]:
    """Return hollow points where figures are in doubt, and what that means."""
    if not any(row["doubtful"] for row in rows):
        return []
    hollow = {"mark": {**_POINT, "fill": "role:paper"}, "encoding": marks}
    remark = shapes.doubtful_remark()
    return [{"transform": [{"filter": "datum.doubtful"}], **hollow}, remark]


def _doublings(family: Family, y: Spec, most: float) -> list[Spec]:
    """Return a ring where each curve's saturated range begins; of many curves, the outermost ones.

    ``most`` is the end of the axis in GB/s.
    """
    rings = [
        {"x": one.saturated_from.estimate / _GB, "value": 2 * one.unloaded.estimate}
        for one in (curve.metrics for curve in family.curves)
        if one.saturated_from
    ]
    if not rings:
        return []
    rings.sort(key=lambda ring: float(ring["x"]))
    # What says so stands where no curve is: left of all rings, or right where there is no room.
    left = rings[0]["x"] > _ROOM * most
    told = [{**rings[0 if left else -1], "text": "twice the unloaded latency"}]
    side = {"align": "right", "dx": -10} if left else {"align": "left", "dx": 10}
    if len(rings) > _LABELLED:
        rings = [rings[0], rings[-1]]
    place = {"x": {"field": "x", "type": "quantitative"}, "y": y}
    text = {"type": "text", "aria": False, **side}
    return [
        {
            "data": {"values": rings},
            "mark": {"type": "point", "size": 120, "color": "role:soft", "aria": False},
            "encoding": place,
        },
        {
            "data": {"values": told},
            "mark": text,
            "encoding": {**place, "text": {"field": "text"}},
        },
    ]


def _limit(family: Family) -> list[Spec]:
    """Return a line at the theoretical rate, where it is known."""
    limit = _theoretical(family)
    if limit is None:
        return []
    values = [{"x": limit / _GB, "text": f"theoretical {limit / _GB:.4g} GB/s"}]
    x = {"field": "x", "type": "quantitative"}
    text = {"type": "text", "align": "right", "dx": -4, "y": 8, "aria": False}
    return [
        {
            "data": {"values": values},
            "mark": {"type": "rule", "strokeDash": [2, 3], "color": "role:ink", "aria": False},
            "encoding": {"x": x},
        },
        {
            "data": {"values": values},
            "mark": text,
            "encoding": {"x": x, "text": {"field": "text"}},
        },
    ]


def _labels(family: Family, y: Spec) -> Spec:
    """Return the share of reads at each curve's heaviest point."""
    ends = [
        {**rows[-1], "text": f"{rows[-1]['reads']:.0f}"}
        for curve in family.curves
        if (rows := _rows(curve))
    ]
    return {
        "data": {"values": ends},
        "mark": {"type": "text", "dx": 5, "align": "left", "fontSize": 11, "aria": False},
        "encoding": {
            "x": {"field": "x", "type": "quantitative"},
            "y": y,
            "text": {"field": "text"},
        },
    }
