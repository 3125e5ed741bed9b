"""Bandwidth-latency curves: latency of a chase over the bandwidth of the load."""

from typing import Any

from tierscope.analysis.curve import Summary
from tierscope.kinds.loaded_latency.family import MANY, families_of
from tierscope.kinds.loaded_latency.points import curves_of, delay_of, sound, summary_of_curve
from tierscope.kinds.loaded_latency.words import curve_text, rate_text
from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.naming import path_of
from tierscope.report.pictures import shapes
from tierscope.report.pictures.picture import (
    Gathered,
    Picture,
    Spec,
    constants,
    distinct,
    groups_by,
    label_of,
    row_of,
    slug,
    value_of,
    varying,
)

_INJECTED = ("delay_ns", "inject", "load_threads")
"""How hard a point was loaded."""
_SAME = ("load_from", "load_to", "load_order", "load_access_size", "load_size", "stride")
"""Said only where curves differ in it."""
_GB = 1e9


def curves(gathered: Gathered) -> list[Picture]:
    """Latency over measured bandwidth, a curve for each target and mix of load of an initiator,
    from light load to heavy; all initiators on one scale. Families of many curves have pictures
    of their own."""
    every = families_of(gathered.measured, None)
    many = {m.id for family in every if len(family.curves) >= MANY for m in family.members}
    rest = [m for m in gathered.measured if m.id not in many]
    drawn = [
        _Drawn(str(initiator), group)
        for (initiator,), group in groups_by(rest, "initiator").items()
    ]
    rows = [row for one in drawn for row in one.rows]
    if not rows:
        return []
    across = max(row["x"] for row in rows)
    bandwidth = {**_BANDWIDTH, "scale": {"domain": [0, 1.05 * across], "nice": False}}
    return [one.picture(bandwidth, _latency(rows)) for one in drawn if one.rows]


class _Drawn:
    """The curves of one initiator, before their picture is drawn."""

    def __init__(self, initiator: str, group: list[Measurement]) -> None:
        self.group = group
        loaded = [m for m in group if delay_of(m) is not None]
        several = len(distinct(loaded, "target")) > 1
        names = (["target"] if several else []) + varying(loaded, "path", *_INJECTED)
        self.where = initiator if several or not loaded else path_of(loaded[0])
        self.rows: list[dict[str, Any]] = []
        self.knees: list[dict[str, Any]] = []
        self.said: list[str] = []
        for (_,), path in groups_by(group, "path").items():
            for members in curves_of(path):
                self._add(members, names)

    def _add(self, members: list[Measurement], names: list[str]) -> None:
        summary = summary_of_curve(members)
        if summary is None:
            return
        words = [label_of(key, value_of(members[-1], key)) for key in names]
        series = ", ".join(words) or "latency"
        self.rows += [row for m in sound(members) if (row := _row(m, series))]
        self.knees += _knee(summary)
        text = curve_text(members, summary)
        self.said.append(f"{series}: {text}." if words else f"{text[0].upper()}{text[1:]}.")

    def picture(self, x: Spec, y: Spec) -> Picture:
        return Picture(
            key=slug(f"loaded {self.where}"),
            title=f"Latency under load, {self.where}",
            subtitle=constants(self.group, *_INJECTED, *_SAME),
            alt=" ".join(self.said),
            spec=shapes.curves(self.rows, x, y, _knee_marks(self.knees)),
            measurements=self.group,
        )


_BANDWIDTH: Spec = {
    "field": "x",
    "type": "quantitative",
    "title": "bandwidth measured during the chase, GB/s",
    "scale": {"zero": True},
    "axis": {"tickCount": 6},
}
_LATENCY: Spec = {
    "field": "value",
    "type": "quantitative",
    "title": "latency, ns",
    "scale": {"zero": True},
    "axis": {"tickCount": 6},
}


def _latency(rows: list[dict[str, Any]]) -> Spec:
    """From zero to the highest point; intervals of disturbed points are clipped there."""
    most = max(row["value"] for row in rows)
    return {**_LATENCY, "scale": {"domain": [0, 1.15 * most], "nice": False}}


def _row(measurement: Measurement, series: str) -> dict[str, Any] | None:
    rate = figures.figure_of(measurement, "bandwidth")
    delay = delay_of(measurement)
    value = measurement.estimate
    if value is None or rate is None or delay is None:
        return None
    row = row_of(measurement, 1.0, "ns", x=rate / _GB, order=-delay, series=series, what=series)
    return {**row, "tip": f"{row['tip']} at {rate_text(measurement)}"}


def _knee(summary: Summary) -> list[dict[str, Any]]:
    if summary.knee is None:
        return []
    return [{"x": summary.knee.bandwidth / _GB, "value": summary.knee.latency, "text": "knee"}]


def _knee_marks(knees: list[dict[str, Any]]) -> list[Spec]:
    if not knees:
        return []
    place = {"x": {"field": "x", "type": "quantitative"}, "y": _LATENCY}
    return [
        {
            "data": {"values": knees},
            "mark": {"type": "point", "size": 220, "color": "role:soft", "aria": False},
            "encoding": place,
        },
        {
            "data": {"values": sorted(knees, key=lambda knee: knee["x"])[:1]},
            "mark": {"type": "text", "dy": -16, "dx": -6, "align": "right", "aria": False},
            "encoding": {**place, "text": {"field": "text"}},
        },
    ]
