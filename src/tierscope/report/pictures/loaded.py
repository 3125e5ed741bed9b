"""Bandwidth-latency curves: latency of a chase over the bandwidth that runs beside it."""

from typing import Any

from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.pictures import shapes
from tierscope.report.pictures.picture import (
    Gathered,
    Picture,
    constants,
    groups_by,
    path_of,
    slug,
    varying,
    words_of,
)

_INJECTED = (
    "load_threads",
    "delay_ns",
    "load",
    "rate",
    "delay",
    "injected",
    "target_rate",
    "load_rate",
    "point",
)
"""Keys of a pattern that say how hard a point was loaded; points of one curve differ in them."""


def curves(gathered: Gathered) -> list[Picture]:
    """Latency over measured bandwidth, a curve for each mix of load."""
    points = [(m, _both(m)) for m in gathered.measured]
    usable = [m for m, both in points if both is not None]
    pictures = []
    for (path,), group in groups_by(usable, "path").items():
        names = [key for key in varying(group, "path") if key not in _INJECTED]
        rows = [
            _row(both, words_of(m, names) or path)
            for m, both in points
            if both is not None and path_of(m) == path
        ]
        x = {
            "field": "x",
            "type": "quantitative",
            "title": "bandwidth measured during the chase, GB/s",
            "scale": {"zero": True},
            "axis": {"tickCount": 6},
        }
        y = {
            "field": "value",
            "type": "quantitative",
            "title": "latency, ns",
            "scale": {"zero": True},
            "axis": {"tickCount": 6},
        }
        lowest = min(rows, key=lambda row: row["value"])
        most = max(rows, key=lambda row: row["x"])
        pictures.append(
            Picture(
                key=slug(f"loaded {path}"),
                title=f"Latency under load, {path}",
                subtitle=constants(group, *_INJECTED),
                alt=f"From {lowest['value']:.4g} ns at {lowest['x']:.3g} GB/s to "
                f"{most['value']:.4g} ns at {most['x']:.3g} GB/s.",
                spec=shapes.curves(rows, x, y),
                measurements=group,
            )
        )
    return pictures


def _both(measurement: Measurement) -> tuple[float, float, float, float] | None:
    """Return bandwidth, latency and the latency's interval, whichever of them is the main one."""
    rates = [f.estimate for f in measurement.figures if f.unit == "B/s"]
    times = [f for f in measurement.figures if f.unit == "ns"]
    value = measurement.estimate
    if value is None:
        return None
    if measurement.unit == "ns" and rates:
        low, high = measurement.ci_low or value, measurement.ci_high or value
        return rates[0], value, low, high
    if measurement.unit == "B/s" and times:
        time = times[0]
        return value, time.estimate, time.ci_low or time.estimate, time.ci_high or time.estimate
    return None


def _row(both: tuple[float, float, float, float], series: str) -> dict[str, Any]:
    rate, value, low, high = both
    half = max(value - low, high - value)
    decimals = figures.decimals_of(value, half)
    return {
        "x": rate / 1e9,
        "value": value,
        "low": low,
        "high": high,
        "order": rate,
        "series": series,
        "tip": f"{series}: {value:.{decimals}f} ns at {rate / 1e9:.3g} GB/s",
    }
