"""Which further points the curves of a run need, from what was measured so far.

The engine measures single points and knows of no curve; each round of points is a plan of its own
for it, and all rounds go into one run file.
"""

from collections.abc import Callable, Sequence

from tierscope.analysis.curve import Point, delay_for, next_delays, summarize
from tierscope.kinds.loaded_latency.spec import LoadedLatencySpec
from tierscope.kinds.plan import PLAN_VERSION, Plan, Spec
from tierscope.model.run import Measurement
from tierscope.plans.loaded_latency import LEAST_POINTS, idle_control, loaded_point

Refine = Callable[[Sequence[Measurement]], Plan | None]
"""Returns the next round's plan from all measurements so far; None ends the run."""
_ROUND = 3
"""Points of a curve that are chosen at once; more would be chosen before the bend is known."""
_MOST_ROUNDS = 40
_MOST_AGAIN = 6
"""Points of a curve that are measured a second time since others disturbed the first."""
_AGAIN = "b"
"""Ends the id of a second try."""
_ENOUGH = 3
"""Undisturbed points with which a curve can do without its disturbed ones."""


def refinement(plan: Plan, points: int, at: Sequence[float] = ()) -> Refine | None:
    """Return what refines the curves that a plan begins, or None where it begins none.

    ``points`` is how many loaded points each curve gets at most. With ``at``, bandwidths in
    bytes/s, the curves are refined there instead of where they bend.
    """
    curves: dict[str, LoadedLatencySpec] = {}
    for spec in plan.measurements:
        if isinstance(spec, LoadedLatencySpec):
            base = spec.id.rpartition(".")[0]
            curves.setdefault(base, loaded_point(spec.model_copy(update={"id": base}), 0))
    if not curves:
        return None
    rounds = 0

    def refine(measurements: Sequence[Measurement]) -> Plan | None:
        nonlocal rounds
        rounds += 1
        specs: list[Spec] = []
        for base, example in curves.items():
            curve = example.model_copy(
                update={"id": base, "load": example.load.model_copy(update={"idle": False})}
            )
            specs += _round(curve, measurements, points, at)
        if not specs or rounds > _MOST_ROUNDS:
            return None
        return Plan(version=PLAN_VERSION, measurements=specs)

    return refine


def further_seconds(plan: Plan, points: int) -> float:
    """Return the most seconds that ``refinement`` adds to a plan by its rounds of points."""
    further = points - LEAST_POINTS
    rounds = -(-further // _ROUND)
    again = min(points, _MOST_AGAIN)
    budgets = {
        spec.id.rpartition(".")[0]: spec.sampling.budget_s
        for spec in plan.measurements
        if isinstance(spec, LoadedLatencySpec)
    }
    return (further + rounds + again) * sum(budgets.values())


def _round(
    curve: LoadedLatencySpec,
    measurements: Sequence[Measurement],
    points: int,
    at: Sequence[float],
) -> list[LoadedLatencySpec]:
    own = [m for m in measurements if m.id.rpartition(".")[0] == curve.id]
    found = loaded_points(own)
    idle = idle_latencies(own)
    if not found or any(m.status == "failed" for m in own):
        return []
    if again := _again(curve, own):
        return again
    taken = {int(m.pattern["delay_ns"]) for m in own if m.pattern.get("delay_ns") is not None}
    room = min(_ROUND, points - len(taken))
    if room <= 0:
        return []
    if at:
        wanted = [delay_for(found, bandwidth) for bandwidth in at]
        delays = [delay for delay in wanted if delay is not None][:room]
    else:
        delays = next_delays(found, summarize(found, idle).idle, room)
    new = [delay for delay in dict.fromkeys(delays) if delay not in taken]
    if not new:
        return []
    controls = sum(m.pattern.get("delay_ns") is None for m in own)
    control = idle_control(curve, controls + 1)
    return [control, *(loaded_point(curve, delay) for delay in sorted(new, reverse=True))]


def _again(curve: LoadedLatencySpec, own: list[Measurement]) -> list[LoadedLatencySpec]:
    """Return second tries of points that others disturbed, each at most once."""
    tried = {m.pattern.get("delay_ns") for m in own if m.id.endswith(_AGAIN)}
    spoilt = [
        int(m.pattern["delay_ns"])
        for m in own
        if _disturbed(m) and m.pattern.get("delay_ns") not in (None, *tried)
    ]
    points = [
        loaded_point(curve, delay) for delay in spoilt[: min(_ROUND, _MOST_AGAIN - len(tried))]
    ]
    return [point.model_copy(update={"id": f"{point.id}{_AGAIN}"}) for point in points]


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
        if delay not in chosen or not _disturbed(measurement):
            chosen[int(delay)] = measurement
    calm = [m for m in chosen.values() if not _disturbed(m)]
    return calm if len(calm) >= _ENOUGH else list(chosen.values())


def _disturbed(measurement: Measurement) -> bool:
    return bool(measurement.evidence and measurement.evidence.disturbed)


def loaded_points(measurements: Sequence[Measurement]) -> list[Point]:
    """Return the sound points among measurements of one curve."""
    points = []
    for measurement in sound(measurements):
        rates = [f.estimate for f in measurement.figures if f.metric == "bandwidth"]
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
    calm = [m for m in controls if not _disturbed(m)]
    return [m.estimate for m in calm or controls if m.estimate is not None]
