"""Which further points the curves of a run need, from what was measured so far.

The engine measures single points and knows of no curve; each round of points is a plan of its own
for it, and all rounds go into one run file.
"""

from collections.abc import Callable, Sequence

from tierscope.analysis.curve import Point, delay_for, next_delays, summarize
from tierscope.model.plan import PLAN_VERSION, LoadedLatencySpec, Plan, Spec
from tierscope.model.run import Measurement
from tierscope.plans.loaded_latency import LEAST_POINTS, idle_control, loaded_point

Refine = Callable[[Sequence[Measurement]], Plan | None]
"""Returns the next round's plan from all measurements so far; None ends the run."""
_ROUND = 3
"""Points of a curve that are chosen at once; more would be chosen before the bend is known."""
_MOST_ROUNDS = 40


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
    budgets = {
        spec.id.rpartition(".")[0]: spec.sampling.budget_s
        for spec in plan.measurements
        if isinstance(spec, LoadedLatencySpec)
    }
    return (further + rounds) * sum(budgets.values())


def _round(
    curve: LoadedLatencySpec,
    measurements: Sequence[Measurement],
    points: int,
    at: Sequence[float],
) -> list[LoadedLatencySpec]:
    own = [m for m in measurements if m.id.rpartition(".")[0] == curve.id]
    found = loaded_points(own)
    idle = idle_latencies(own)
    room = min(_ROUND, points - len(found))
    if room <= 0 or not found or any(m.status == "failed" for m in own):
        return []
    if at:
        wanted = [delay_for(found, bandwidth) for bandwidth in at]
        delays = [delay for delay in wanted if delay is not None][:room]
    else:
        delays = next_delays(found, summarize(found, idle).idle, room)
    taken = {point.delay_ns for point in found}
    new = [delay for delay in dict.fromkeys(delays) if delay not in taken]
    if not new:
        return []
    control = idle_control(curve, len(idle) + 1)
    return [control, *(loaded_point(curve, delay) for delay in sorted(new, reverse=True))]


def loaded_points(measurements: Sequence[Measurement]) -> list[Point]:
    """Return the loaded points among measurements of one curve."""
    points = []
    for measurement in measurements:
        delay = measurement.pattern.get("delay_ns")
        rates = [f.estimate for f in measurement.figures if f.metric == "bandwidth"]
        if delay is not None and rates and measurement.estimate is not None:
            points.append(Point(int(delay), rates[0], measurement.estimate))
    return points


def idle_latencies(measurements: Sequence[Measurement]) -> list[float]:
    """Return the latencies of the idle controls among measurements of one curve."""
    return [
        m.estimate
        for m in measurements
        if m.pattern.get("delay_ns") is None and m.estimate is not None
    ]
