"""Which further shares of pages a run needs to find the best ones."""

from collections.abc import Iterator, Sequence

from tierscope.analysis.spread import nearest_weights
from tierscope.kinds.traffic.show import Study, Weights, normal, placed, studies, target_of
from tierscope.kinds.traffic.spec import TrafficSpec
from tierscope.model.endpoint import parse_endpoint
from tierscope.model.run import Measurement, Refinement
from tierscope.model.spec import HUGETLB, NodeShare, Placement
from tierscope.model.topology import Topology
from tierscope.plans.axes import identity

_STEPS = (1.5, 1.25, 1.1, 1.05)
"""Factors of a node's share by which points lie about the best one, coarse to fine."""
_BASE_PAGE = 4096
_PAGES = {"thp": 2 << 20, **HUGETLB}
_MARK = ".f"
"""Ends the ids of further points."""


def further_points(
    specs: Sequence[TrafficSpec],
    how: Refinement,
    measurements: Sequence[Measurement],
    topology: Topology | None = None,
) -> list[TrafficSpec]:
    """Return the next shares to measure for each study; none ends the run.

    The predicted ones come first, then those about the best one that was measured. ``topology``
    tells which links several nodes share.
    """
    if not how.ratios:
        return []
    further: list[TrafficSpec] = []
    for group in _groups(specs):
        taken = {placed(spec.placement) for spec in group}
        room = how.ratios - sum(spec.id.endswith(_MARK) for spec in group)
        study = _study(specs, group[0], measurements, topology)
        if room <= 0 or study is None:
            continue
        threads, longest = group[0].thread_count, _longest_round(group[0], measurements)
        further += [_with_weights(group, weights)
                    for weights in _wanted(study, threads, longest, taken, room)]  # fmt: skip
    return further


def further_seconds(specs: Sequence[TrafficSpec], how: Refinement) -> float:
    """Return the most seconds that further points add to a plan."""
    return sum(how.ratios * group[0].sampling.budget_s for group in _groups(specs))


def _groups(specs: Sequence[TrafficSpec]) -> list[list[TrafficSpec]]:
    """Group specs that differ in nothing but the shares of pages; those with spread pages."""
    groups: dict[str, list[TrafficSpec]] = {}
    for spec in specs:
        alike = spec.model_copy(update={"id": "", "target": ""})
        groups.setdefault(alike.model_dump_json(exclude={"placement"}), []).append(spec)
    return [group for group in groups.values() if any(_is_spread(spec) for spec in group)]


def _is_spread(spec: TrafficSpec) -> bool:
    return spec.placement.policy == "weighted" and not spec.beside


def _study(
    specs: Sequence[TrafficSpec],
    one: TrafficSpec,
    measurements: Sequence[Measurement],
    topology: Topology | None,
) -> Study | None:
    """Return the study that a spec belongs to, with the nodes by themselves at any threads."""
    alike = {
        spec.id for spec in specs if (spec.initiator, spec.pattern) == (one.initiator, one.pattern)
    }
    found = studies([m for m in measurements if m.id in alike], topology)
    return found[0] if found else None


def _wanted(
    study: Study, threads: int, longest: int, taken: set[Weights], room: int
) -> Iterator[Weights]:
    """Yield new shares, at most ``room``: those predicted, else those about the best one."""
    predicted = study.predicted(threads, longest)
    new = predicted and not _known(predicted.weights, taken, _STEPS[-1])
    if predicted and new and len(predicted.weights) > 1:
        yield predicted.weights
        return
    if threads not in study.threads:
        return
    best, _ = study.best_at(threads)
    if len(best) < 2:
        spread = [weights for weights in study.at(threads) if len(weights) > 1]
        best = max(spread, key=lambda one: study.at(threads)[one].estimate or 0.0)
    for step in _STEPS:
        near = [one for one in _about(best, step, longest) if not _known(one, taken, step)]
        if near:
            yield from near[:room]
            return


def _about(best: Weights, step: float, longest: int) -> Iterator[Weights]:
    """Yield shares with one node's part larger or smaller by a step."""
    for place in range(len(best) if len(best) > 2 else 1):
        for factor in (step, 1 / step):
            parts = [weight * (factor if k == place else 1) for k, (_, weight) in enumerate(best)]
            weights = nearest_weights(parts, longest)
            yield normal(zip((node for node, _ in best), weights, strict=True))


def _known(weights: Weights, taken: set[Weights], step: float) -> bool:
    """Whether shares as near as half a step were measured or planned."""
    return any(_distance(weights, other) < step**0.5 for other in taken)


def _distance(one: Weights, other: Weights) -> float:
    """The largest factor between the nodes' ratios to the first node; infinite of other nodes."""
    first, second = dict(one), dict(other)
    if first.keys() != second.keys():
        return float("inf")
    ratios = [first[node] / second[node] for node in first]
    return max(ratios) / min(ratios)


def _longest_round(spec: TrafficSpec, measurements: Sequence[Measurement]) -> int:
    """Pages of the longest round that each thread's share of the array holds."""
    seen = next((m.evidence for m in measurements if m.id == spec.id), None)
    page = (seen and seen.page_bytes) or _PAGES.get(spec.pattern.pages, _BASE_PAGE)
    return max(2, spec.pattern.size // page // spec.thread_count)


def _with_weights(group: Sequence[TrafficSpec], weights: Weights) -> TrafficSpec:
    """Return a further spec, named by what it is."""
    one = next(spec for spec in group if _is_spread(spec))
    nodes = [NodeShare(node=node, weight=weight) for node, weight in weights]
    mechanism = one.placement.mechanism
    target = str(parse_endpoint(target_of(weights)))
    parts = ["expand", one.initiator, target, one.pattern.mix, one.pattern.order,
             f"t{one.thread_count}", str(one.pattern.size)]  # fmt: skip
    name = f"{identity(parts, 64 - len(_MARK))}{_MARK}"
    placement = Placement(policy="weighted", nodes=nodes, mechanism=mechanism)
    return one.model_copy(update={"id": name, "target": target, "placement": placement})
