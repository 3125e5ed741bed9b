"""The points of one curve among measurements of loaded latency."""

from collections.abc import Sequence

from tierscope.analysis.curve import Point, Summary, summarize
from tierscope.model.run import Figure, Measurement

_ENOUGH = 3
"""Undisturbed points with which a curve can do without its disturbed ones."""
_MIN_COUNTS = 2
"""Numbers of load threads that make a curve over them, none at all among them."""
_RATE = "bandwidth"
"""What the load moved, as the program counts it."""
_ON_BUS = "bandwidth_with_write_allocate"
"""The same with the lines that ordinary stores fetch, where those differ."""
_DELAYS = ("delay_ns", "inject")
"""What paces a load: our pause in ns, or another program's pause, in a unit of its own."""
_POINT = (*_DELAYS, "load_threads")
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
        key = same_but(m, _POINT)
        if not _is_loaded(m):
            controls.setdefault(key, []).append(m)
        elif m.id not in swept:
            curves.setdefault(same_but(m, _DELAYS), []).append(m)
    loaded = {same_but(m, _POINT) for m in measurements if _is_loaded(m)}
    found = [
        [*controls.get(same_but(points[0], _POINT), []), *points] for points in curves.values()
    ]
    return found + [members for key, members in controls.items() if key not in loaded]


def thread_curves(measurements: Sequence[Measurement]) -> list[list[Measurement]]:
    """Group measurements by curve over load threads: the idle ones, then those at full rate.

    Curves without an idle point of their own have that of another load of their chase. Threads that
    load at several rates are points of a curve over bandwidth and not of these.
    """
    groups: dict[str, dict[int, list[Measurement]]] = {}
    idle: dict[str, list[Measurement]] = {}
    for m in measurements:
        groups.setdefault(same_but(m, _POINT), {}).setdefault(load_threads(m), []).append(m)
        if not _is_loaded(m):
            idle.setdefault(same_but(m, _OF_LOAD), []).append(m)
    found = []
    for by_threads in groups.values():
        (first, *_) = next(iter(by_threads.values()))
        if shared := idle.get(same_but(first, _OF_LOAD)):
            by_threads.setdefault(0, shared)
        at_full_rate = [
            threads
            for threads, members in sorted(by_threads.items())
            if {delay_of(m) for m in members} == {0}
        ]
        counts = [0] * (0 in by_threads) + at_full_rate
        if at_full_rate and len(counts) >= _MIN_COUNTS:
            found.append([m for threads in counts for m in by_threads[threads]])
    return found


def load_threads(measurement: Measurement) -> int:
    """Return how many threads load at a point; 0 at an idle one, -1 where nobody knows."""
    return int(measurement.pattern.get("load_threads", -1)) if _is_loaded(measurement) else 0


def delay_of(measurement: Measurement) -> int | None:
    """Return how long the load pauses between accesses; None where nothing loads.

    In ns; in figures of other programs in a unit of theirs, or only in its order.
    """
    found = (measurement.pattern.get(key) for key in _DELAYS)
    delay = next((delay for delay in found if delay is not None), None)
    return None if delay is None else int(delay)


def _is_loaded(measurement: Measurement) -> bool:
    return delay_of(measurement) is not None


def by_load(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Order points from the lightest load to the heaviest; idle ones come first."""
    idle = [m for m in measurements if not _is_loaded(m)]
    loaded = [m for m in measurements if _is_loaded(m)]
    return idle + sorted(loaded, key=lambda m: -(delay_of(m) or 0))


def same_but(measurement: Measurement, without: Sequence[str]) -> str:
    """Return what measurements share that differ in nothing but these properties."""
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
            chosen[delay] = measurement
    undisturbed = [m for m in chosen.values() if not is_disturbed(m)]
    return undisturbed if len(undisturbed) >= _ENOUGH else list(chosen.values())


def is_disturbed(measurement: Measurement) -> bool:
    """Return whether a figure comes from disturbed samples, for want of others."""
    return bool(measurement.evidence and measurement.evidence.disturbed)


def loaded_points(measurements: Sequence[Measurement], on_bus: bool = False) -> list[Point]:
    """Return the sound points among measurements of one curve.

    ``on_bus``: over all that the bus carries, and not over what the program counts.
    """
    points = []
    for measurement in sound(measurements):
        rate = bus_rate(measurement) if on_bus else _figure_of(measurement, _RATE)
        if rate and measurement.estimate is not None:
            points.append(
                Point(
                    delay_of(measurement) or 0,
                    rate.estimate,
                    measurement.estimate,
                    bandwidth_half=_half(rate),
                    latency_half=_half(measurement),
                    timed="inject" not in measurement.pattern,
                )
            )
    return points


def summary_of_curve(members: Sequence[Measurement], on_bus: bool = False) -> Summary | None:
    """Return what one curve says; None where nothing of it was measured under load."""
    points = loaded_points(members, on_bus)
    return summarize(points, idle_latencies(members)) if points else None


def bus_rate(measurement: Measurement) -> Figure | None:
    """Return what the bus carried of the load, lines that ordinary stores fetch included."""
    return _figure_of(measurement, _ON_BUS) or _figure_of(measurement, _RATE)


def _figure_of(measurement: Measurement, metric: str) -> Figure | None:
    return next((f for f in measurement.figures if (f.metric, f.part) == (metric, "")), None)


def _half(figure: Measurement | Figure) -> float | None:
    """Return half of a figure's interval."""
    if figure.ci_low is None or figure.ci_high is None:
        return None
    return (figure.ci_high - figure.ci_low) / 2


def idle_latencies(measurements: Sequence[Measurement]) -> list[float]:
    """Return the latencies of a curve's idle controls, without disturbed ones if others remain."""
    return [m.estimate for m in idle_controls(measurements) if m.estimate is not None]


def idle_controls(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Return a curve's idle controls, without disturbed ones if others remain."""
    controls = [m for m in measurements if not _is_loaded(m) and m.estimate is not None]
    return [m for m in controls if not is_disturbed(m)] or controls


def idle_of(measurements: Sequence[Measurement], summary: Summary) -> Measurement:
    """Return the measurement that a curve's idle latency is."""
    members = [*idle_controls(measurements), *sound(measurements)]
    return next(m for m in members if m.estimate == summary.idle)


def measured_at(measurements: Sequence[Measurement], point: Point) -> Measurement:
    """Return the measurement that a point of a curve's summary is."""
    return next(m for m in sound(measurements) if delay_of(m) == point.delay_ns)
