"""The points of one curve among measurements of loaded latency."""

from collections.abc import Sequence

from tierscope.analysis.curve import Point, Summary
from tierscope.model.run import Figure, Measurement

_ENOUGH = 3
"""Undisturbed points with which a curve can do without its disturbed ones."""
_MIN_COUNTS = 2
"""Numbers of load threads that make a curve over them, none at all among them."""
_RATE = ("bandwidth", "")
"""Metric and part of what the load moved."""
_POINT = ("delay_ns", "inject", "load_threads")
"""Properties that points of one curve differ in."""
_OF_LOAD = ("load_from", "load_to", "mix", "load_order", "load_access_size", "load_size", *_POINT)
"""Properties that make no difference while nothing loads."""


def curves_of(measurements: Sequence[Measurement]) -> list[list[Measurement]]:
    """Group measurements by curve over bandwidth: all of a point but how hard it is loaded.

    Idle controls load nothing, so they belong to each curve that differs from them in nothing but
    its load's threads. Points that ``thread_curves`` has are left out.
    """
    swept = {m.id for members in thread_curves(measurements) for m in members if _is_loaded(m)}
    curves: dict[str, list[Measurement]] = {}
    controls: dict[str, list[Measurement]] = {}
    for m in measurements:
        key = _but(m, _POINT)
        if delay_of(m) is None:
            controls.setdefault(key, []).append(m)
        elif m.id not in swept:
            curves.setdefault(_but(m, ("delay_ns", "inject")), []).append(m)
    loaded = {_but(m, _POINT) for m in measurements if _is_loaded(m)}
    found = [[*controls.get(_but(points[0], _POINT), []), *points] for points in curves.values()]
    return found + [members for key, members in controls.items() if key not in loaded]


def thread_curves(measurements: Sequence[Measurement]) -> list[list[Measurement]]:
    """Group measurements by curve over load threads: the idle ones, then those at full rate.

    Curves without an idle point of their own have that of another load of their chase. Threads that
    load at several rates are points of a curve over bandwidth and not of these.
    """
    groups: dict[str, dict[int, list[Measurement]]] = {}
    idle: dict[str, list[Measurement]] = {}
    for m in measurements:
        groups.setdefault(_but(m, _POINT), {}).setdefault(load_threads(m), []).append(m)
        if not _is_loaded(m):
            idle.setdefault(_but(m, _OF_LOAD), []).append(m)
    found = []
    for by_threads in groups.values():
        (first, *_) = next(iter(by_threads.values()))
        if shared := idle.get(_but(first, _OF_LOAD)):
            by_threads.setdefault(0, shared)
        at_full_rate = [
            threads
            for threads, members in sorted(by_threads.items())
            if {m.pattern.get("delay_ns") for m in members} == {0}
        ]
        counts = [0] * (0 in by_threads) + at_full_rate
        if at_full_rate and len(counts) >= _MIN_COUNTS:
            found.append([m for threads in counts for m in by_threads[threads]])
    return found


def load_threads(measurement: Measurement) -> int:
    """Return how many threads load at a point; 0 at an idle one, -1 where nobody knows."""
    return int(measurement.pattern.get("load_threads", -1)) if _is_loaded(measurement) else 0


def delay_of(measurement: Measurement) -> int | None:
    """Return a loaded point's delay, the larger the lighter its load; None of an idle point.

    It is in ns, or of imported points what the other program counts it in (``inject``).
    """
    found: int | None = measurement.pattern.get("delay_ns")
    return measurement.pattern.get("inject") if found is None else found


def _is_loaded(measurement: Measurement) -> bool:
    return delay_of(measurement) is not None


def _but(measurement: Measurement, without: Sequence[str]) -> str:
    rest = sorted((key, v) for key, v in measurement.pattern.items() if key not in without)
    return f"{measurement.initiator} {measurement.target} {rest}"


def sound(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Return the loaded points of one curve that tell something, one for each delay.

    A second try takes the place of a disturbed first one; those that are still disturbed are left
    out where enough others remain.
    """
    chosen: dict[int, Measurement] = {}
    for measurement in measurements:
        delay = delay_of(measurement)
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
        rates = [f for f in measurement.figures if (f.metric, f.part) == _RATE]
        delay = delay_of(measurement)
        if rates and measurement.estimate is not None and delay is not None:
            points.append(
                Point(
                    delay,
                    rates[0].estimate,
                    measurement.estimate,
                    bandwidth_half=_half(rates[0]),
                    latency_half=_half(measurement),
                    timed="inject" not in measurement.pattern,
                )
            )
    return points


def _half(figure: Measurement | Figure) -> float | None:
    """Return half of a figure's interval."""
    if figure.ci_low is None or figure.ci_high is None:
        return None
    return (figure.ci_high - figure.ci_low) / 2


def idle_latencies(measurements: Sequence[Measurement]) -> list[float]:
    """Return the latencies of a curve's idle controls, without disturbed ones if others remain."""
    return [m.estimate for m in _controls(measurements) if m.estimate is not None]


def _controls(measurements: Sequence[Measurement]) -> list[Measurement]:
    controls = [m for m in measurements if delay_of(m) is None and m.estimate is not None]
    return [m for m in controls if not is_disturbed(m)] or controls


def idle_of(measurements: Sequence[Measurement], summary: Summary) -> Measurement:
    """Return the measurement that a curve's idle latency is."""
    members = [*_controls(measurements), *sound(measurements)]
    return next(m for m in members if m.estimate == summary.idle)


def measured_at(measurements: Sequence[Measurement], point: Point) -> Measurement:
    """Return the measurement that a point of a curve's summary is."""
    return next(m for m in sound(measurements) if delay_of(m) == point.delay_ns)
