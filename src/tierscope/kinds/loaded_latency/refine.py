"""Which further points the curves of a run need, from what was measured so far."""

from collections.abc import Sequence

from tierscope.analysis.curve import delay_for, next_delays, summarize
from tierscope.kinds.loaded_latency.show import idle_latencies, is_disturbed, loaded_points
from tierscope.kinds.loaded_latency.spec import (
    MIN_POINTS,
    LoadedLatencySpec,
    idle_control,
    loaded_point,
)
from tierscope.model.run import Measurement, Refinement
from tierscope.model.topology import Topology

_ROUND = 3
"""Points of a curve that are chosen at once; more would be chosen before the bend is known."""
_MAX_AGAIN = 6
"""Points of a curve that are measured a second time since others disturbed the first."""
_AGAIN = "b"
"""Ends the id of a second try."""


def further_points(
    specs: Sequence[LoadedLatencySpec],
    how: Refinement,
    measurements: Sequence[Measurement],
    _topology: Topology | None = None,
) -> list[LoadedLatencySpec]:
    """Return the next round of points for all curves; none ends the run.

    ``specs`` are all points planned so far, ``measurements`` what they came to.
    """
    found = {measurement.id: measurement for measurement in measurements}
    further: list[LoadedLatencySpec] = []
    for points in _curves(specs):
        own = [found[point.id] for point in points if point.id in found]
        further += _round(points, own, how)
    return further


def further_seconds(specs: Sequence[LoadedLatencySpec], how: Refinement) -> float:
    """Return the most seconds that further points add to a plan."""
    further = how.points - MIN_POINTS
    rounds = -(-further // _ROUND)
    again = min(how.points, _MAX_AGAIN)
    budgets = [points[0].sampling.budget_s for points in _curves(specs)]
    return (further + rounds + again) * sum(budgets)


def _curves(specs: Sequence[LoadedLatencySpec]) -> list[list[LoadedLatencySpec]]:
    """Group points that differ in nothing but their load's delay.

    A curve over load threads has other points, all of one delay, and gets no more of them.
    """
    curves: dict[str, list[LoadedLatencySpec]] = {}
    for spec in specs:
        pattern = spec.load.pattern.model_copy(update={"delay_ns": 0})
        load = spec.load.model_copy(update={"idle": False, "pattern": pattern})
        key = spec.model_copy(update={"id": "", "load": load}).model_dump_json()
        curves.setdefault(key, []).append(spec)
    return [points for points in curves.values() if _has_delays(points)]


def _has_delays(points: Sequence[LoadedLatencySpec]) -> bool:
    return len({point.load.pattern.delay_ns for point in points if not point.load.idle}) > 1


def _round(
    points: list[LoadedLatencySpec], own: list[Measurement], how: Refinement
) -> list[LoadedLatencySpec]:
    found = loaded_points(own)
    loaded = [point for point in points if not point.load.idle]
    if not found or any(m.status == "failed" for m in own):
        return []
    first = loaded[0]
    # Further points are named like those before.
    base = first.id.removesuffix(f".d{first.load.pattern.delay_ns}")
    curve = first.model_copy(update={"id": base})
    if again := _again(curve, own):
        return again
    taken = {point.load.pattern.delay_ns for point in loaded}
    room = min(_ROUND, how.points - len(taken))
    if room <= 0:
        return []
    if how.at:
        wanted = [delay_for(found, bandwidth) for bandwidth in how.at]
        delays = [delay for delay in wanted if delay is not None][:room]
    else:
        delays = next_delays(found, summarize(found, idle_latencies(own)).idle, room)
    new = [delay for delay in dict.fromkeys(delays) if delay not in taken]
    if not new:
        return []
    control = idle_control(curve, len(points) - len(loaded) + 1)
    return [control, *(loaded_point(curve, delay) for delay in sorted(new, reverse=True))]


def _again(curve: LoadedLatencySpec, own: list[Measurement]) -> list[LoadedLatencySpec]:
    """Return second tries of points that others disturbed, each at most once."""
    delays = [int(m.pattern["delay_ns"]) for m in own if m.pattern.get("delay_ns") is not None]
    tried = {delay for delay in delays if delays.count(delay) > 1}
    disturbed = [
        int(m.pattern["delay_ns"])
        for m in own
        if is_disturbed(m) and m.pattern.get("delay_ns") not in (None, *tried)
    ]
    chosen = disturbed[: min(_ROUND, max(0, _MAX_AGAIN - len(tried)))]
    points = [loaded_point(curve, delay) for delay in chosen]
    return [point.model_copy(update={"id": f"{point.id}{_AGAIN}"}) for point in points]
