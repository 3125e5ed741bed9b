"""The points of one curve among measurements of loaded latency."""

from collections.abc import Sequence

from tierscope.analysis.curve import Point
from tierscope.model.run import Measurement

_ENOUGH = 3
"""Undisturbed points with which a curve can do without its disturbed ones."""
_RATE = ("bandwidth", "")
"""Metric and part of what the load moved."""


def sound(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Return the loaded points of one curve that tell something, one for each delay.

    A second try takes the place of a disturbed first one; those that are still disturbed are left
    out where enough others remain.
    """
    chosen: dict[int, Measurement] = {}
    for measurement in measurements:
        delay = measurement.pattern.get("delay_ns")
        if delay is None or measurement.estimate is None:
            continue
        if delay not in chosen or not is_disturbed(measurement):
            chosen[int(delay)] = measurement
    undisturbed = [m for m in chosen.values() if not is_disturbed(m)]
    return undisturbed if len(undisturbed) >= _ENOUGH else list(chosen.values())


def is_disturbed(measurement: Measurement) -> bool:
    """Return whether a figure comes from disturbed samples, for want of others."""
    return bool(measurement.evidence and measurement.evidence.disturbed)


def loaded_points(measurements: Sequence[Measurement]) -> list[Point]:
    """Return the sound points among measurements of one curve."""
    points = []
    for measurement in sound(measurements):
        rates = [f.estimate for f in measurement.figures if (f.metric, f.part) == _RATE]
        if rates and measurement.estimate is not None:
            points.append(
                Point(int(measurement.pattern["delay_ns"]), rates[0], measurement.estimate)
            )
    return points


def idle_latencies(measurements: Sequence[Measurement]) -> list[float]:
    """Return the latencies of a curve's idle controls, without disturbed ones if others remain."""
    controls = [
        m for m in measurements if m.pattern.get("delay_ns") is None and m.estimate is not None
    ]
    undisturbed = [m for m in controls if not is_disturbed(m)]
    return [m.estimate for m in undisturbed or controls if m.estimate is not None]
