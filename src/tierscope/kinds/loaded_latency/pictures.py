"""Bandwidth-latency curves: latency of a chase over the bandwidth of the load."""

from typing import Any

from tierscope.analysis.curve import Summary, summarize
from tierscope.kinds.loaded_latency.points import idle_latencies, loaded_points, sound
from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.pictures import shapes
from tierscope.report.pictures.picture import (
    Gathered,
    Picture,
    Spec,
    constants,
    groups_by,
    label_of,
    slug,
    value_of,
    varying,
)

_INJECTED = ("delay_ns", "load_threads")
"""What says how hard a point was loaded; points of one curve differ in it."""
_SAME = ("load_from", "load_to", "load_order", "load_access_size", "load_size", "stride")
"""Said only where curves differ in it."""
_GB = 1e9


def curves(gathered: Gathered) -> list[Picture]:
    """Latency over measured bandwidth, a curve for each mix of load, from light load to heavy."""
    pictures = []
    for (path,), group in groups_by(gathered.measured, "path").items():
        names = [key for key in varying(group, "path") if key not in _INJECTED]
        rows: list[dict[str, Any]] = []
        knees: list[dict[str, Any]] = []
        said = []
        for members in groups_by(group, *names).values():
            points = loaded_points(members)
            if not points:
                continue
            words = [label_of(key, value_of(members[0], key)) for key in names]
            series = ", ".join(words) or "latency"
            rows += [row for m in sound(members) if (row := _row(m, series))]
            summary = summarize(points, idle_latencies(members))
            knees += _knee(summary)
            said.append(_said(series if words else "", summary))
        if rows:
            pictures.append(
                Picture(
                    key=slug(f"loaded {path}"),
                    title=f"Latency under load, {path}",
                    subtitle=constants(group, *_INJECTED, *_SAME),
                    alt=" ".join(said),
                    spec=shapes.curves(rows, _BANDWIDTH, _latency(rows), _knee_marks(knees)),
                    measurements=group,
                )
            )
    return pictures


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
    """From zero to the highest point; a disturbed one's interval may go far beyond and is cut."""
    most = max(row["value"] for row in rows)
    return {**_LATENCY, "scale": {"domain": [0, 1.15 * most], "nice": False}}


def _row(measurement: Measurement, series: str) -> dict[str, Any] | None:
    rates = [f.estimate for f in measurement.figures if f.metric == "bandwidth"]
    delay = measurement.pattern.get("delay_ns")
    value = measurement.estimate
    if value is None or not rates or delay is None:
        return None
    return {
        "x": rates[0] / _GB,
        "value": value,
        "low": measurement.ci_low if measurement.ci_low is not None else value,
        "high": measurement.ci_high if measurement.ci_high is not None else value,
        "order": -int(delay),
        "series": series,
        "tip": f"{series}: {figures.with_interval(measurement, 1.0)} ns at {rates[0] / _GB:.3g} "
        "GB/s",
    }


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


def _said(series: str, summary: Summary) -> str:
    name = f"{series}: idle" if series else "Idle"
    knee = (
        f"knee at {summary.knee.bandwidth / _GB:.3g} GB/s, {summary.knee.latency:.4g} ns"
        if summary.knee
        else "no knee"
    )
    top = "saturation" if summary.saturated else "most reached"
    return f"{name} {summary.idle:.4g} ns, {knee}, {top} {summary.peak.bandwidth / _GB:.3g} GB/s."
