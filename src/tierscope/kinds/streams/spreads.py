"""Pages that are spread over several nodes: what was measured, what is predicted, what it gains.

A study is the measurements of one initiator and one access pattern that differ only in threads and
in the shares of pages. Its nodes by themselves say what each can carry, and so what is predicted.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tierscope.analysis.spread import (
    Limit,
    best_spread,
    predict,
    threads_limit,
    whole_weights,
)
from tierscope.model.endpoint import EndpointKind, parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement, Run
from tierscope.model.spec import Placement
from tierscope.model.stream import StreamPattern
from tierscope.model.topology import Topology
from tierscope.model.traffic import Traffic
from tierscope.report.best import best_of
from tierscope.topology.operations import limit_of
from tierscope.topology.paths import MachinePaths

Weights = tuple[tuple[int, int], ...]
"""Nodes, ascending, each with its weight, without common divisors; one node has weight 1."""

_THREADS = "threads"
_NOT_PATTERN = (_THREADS, "policy", "mechanism", "backing")


@dataclass(frozen=True)
class Gain:
    """One bandwidth over another one; what both intervals allow at most and at least."""

    value: float
    low: float | None
    high: float | None

    @property
    def pays(self) -> bool | None:
        """Whether it is a gain; None where the interval includes none, or is not known."""
        if self.low is None or self.high is None or self.low <= 1 < self.high:
            return None
        return self.low > 1


def gain(new: Measurement, base: Measurement) -> Gain:
    """Return the gain of a measured figure over another one.

    Each end takes both figures at their intervals' ends, so it is no narrower than 95% even where
    ``new`` is the best of several.
    """
    assert new.estimate
    assert base.estimate
    known = new.ci_low and new.ci_high and base.ci_low and base.ci_high
    low = new.ci_low / base.ci_high if known else None  # type: ignore[operator]
    high = new.ci_high / base.ci_low if known else None  # type: ignore[operator]
    return Gain(new.estimate / base.estimate, low, high)


@dataclass
class Study:
    """One initiator and one access pattern over the shares of pages."""

    initiator: str
    pattern: dict[str, Any]
    """Without threads and placement."""
    topology: Topology | None
    points: dict[tuple[Weights, int], Measurement] = field(default_factory=dict)
    """By weights and threads."""

    @property
    def nodes(self) -> list[int]:
        """All nodes that hold pages in any of its points."""
        return sorted({node for weights, _ in self.points for node, _ in weights})

    @property
    def threads(self) -> list[int]:
        """Thread counts at which pages were spread."""
        return sorted({threads for weights, threads in self.points if len(weights) > 1})

    def at(self, threads: int) -> dict[Weights, Measurement]:
        """Return its points of so many threads."""
        return {weights: m for (weights, n), m in self.points.items() if n == threads}

    def alone(self, node: int) -> dict[int, Measurement]:
        """Return the points with all pages on one node, by threads, ascending."""
        found = {n: m for (weights, n), m in self.points.items() if weights == ((node, 1),)}
        return dict(sorted(found.items()))

    @property
    def local(self) -> int | None:
        """The initiator's own node; the fastest one by itself where it has none or several."""
        singles = {node: list(found.values()) for node in self.nodes if (found := self.alone(node))}
        end = parse_endpoint(self.initiator)
        if end.kind is EndpointKind.NODE and len(end.numbers) == 1 and end.numbers[0] in singles:
            return end.numbers[0]
        best = best_of([m for members in singles.values() for m in members]) if singles else None
        return next((node for node, found in singles.items() if best in found), None)

    def local_at(self, threads: int) -> Measurement | None:
        """Return the figure of the local node only, at so many threads."""
        return self.points.get((((self.local, 1),), threads)) if self.local is not None else None

    def local_best(self) -> Measurement | None:
        """Return the figure of the local node only, at the threads that are best for it."""
        found = list(self.alone(self.local).values()) if self.local is not None else []
        return best_of(found) if found else None

    def even_at(self, threads: int) -> Measurement | None:
        """Return the figure of as many pages on each node."""
        return self.points.get((tuple((node, 1) for node in self.nodes), threads))

    def best_at(self, threads: int) -> tuple[Weights, Measurement]:
        """Return the best shares at so many threads, by the lower ends of intervals."""
        found = self.at(threads)
        best = best_of(list(found.values()))
        return next(weights for weights, m in found.items() if m is best), best

    def limits(self, threads: int) -> list[Limit]:
        """Return what bounds spreads at so many threads; empty where a node was not measured."""
        curves = [{n: m.estimate or 0.0 for n, m in self.alone(node).items()}
                  for node in self.nodes]  # fmt: skip
        if not all(curves):
            return []
        found = [_node_limit(at, self.nodes, curve) for at, curve in enumerate(curves)]
        # A single count of threads does not tell what one of them can do.
        seconds = [min(c) / c[min(c)] if len(c) > 1 else 0.0 for c in curves]
        if any(seconds):
            found.append(threads_limit(f"{threads} threads", threads, seconds))
        return found + self._shared_links()

    def predicted(self, threads: int, longest_round: int | None = None) -> "Prediction | None":
        """Return the best shares as the nodes by themselves let expect."""
        limits = self.limits(threads)
        if not limits or len(self.nodes) < 2:
            return None
        weights = whole_weights(limits, best_spread(limits), longest_round)
        return self.expected(threads, normal(zip(self.nodes, weights, strict=True)))

    def expected(self, threads: int, weights: Weights) -> "Prediction | None":
        """Return what these shares are predicted to give."""
        limits = self.limits(threads)
        if not limits:
            return None
        found = predict(limits, self._shares(dict(weights)))
        return Prediction(weights, found.bandwidth, found.bound_by)

    def bandwidths(self, threads: int, shares: Iterable[Mapping[int, float]]) -> list[float]:
        """Return what shares of nodes are predicted to give, in bytes/s; empty where unknown."""
        limits = self.limits(threads)
        return [predict(limits, self._shares(one)).bandwidth for one in shares] if limits else []

    def _shares(self, given: Mapping[int, float]) -> list[float]:
        return [given.get(node, 0.0) / sum(given.values()) for node in self.nodes]

    def _shared_links(self) -> list[Limit]:
        """Return the links that several of the nodes are behind, where their rates are known."""
        if self.topology is None:
            return []
        paths = MachinePaths(self.topology)
        users: dict[str, set[int]] = {}
        rates: dict[str, float] = {}
        for node in self.nodes:
            try:
                hops = paths.path(self.initiator, f"node:{node}").hops
            except UserError:
                return []
            for hop in hops:
                limit = limit_of(hop, self.traffic())
                if limit is not None and not hop.parallel:
                    name = hop.name.removesuffix(f" of node {node}")
                    users.setdefault(name, set()).add(node)
                    rates[name] = limit.value
        return [
            Limit(name, rates[name], tuple(float(node in nodes) for node in self.nodes))
            for name, nodes in users.items()
            if len(nodes) > 1
        ]

    def traffic(self) -> Traffic:
        """What its mix moves."""
        return StreamPattern(
            writes=self.pattern["writes"], stores=self.pattern["stores"], size=64
        ).traffic()


@dataclass(frozen=True)
class Prediction:
    """What shares of pages are predicted to give."""

    weights: Weights
    bandwidth: float
    bound_by: str


def _node_limit(at: int, nodes: Sequence[int], curve: dict[int, float]) -> Limit:
    """Return a node's limit from its bandwidth over threads, and how it falls past the peak."""
    best = max(curve, key=lambda n: curve[n])
    first = min(curve)
    # Threads that wait: those beyond what the bandwidth takes, as a single one does its accesses.
    past = [
        (n - rate * first / curve[first], rate)
        for n, rate in sorted(curve.items())
        if n > best and rate < curve[best]
    ]
    rising = [point for k, point in enumerate(past) if all(point[0] > p[0] for p in past[:k])]
    beginning = max(0.0, best - curve[best] * first / curve[first])
    falling = [(beginning, curve[best]), *(p for p in rising if p[0] > beginning)]
    use = tuple(float(other == at) for other in range(len(nodes)))
    return Limit(f"node {nodes[at]}", curve[best], use, tuple(falling) if past else ())


def normal(shares: Iterable[tuple[int, int]]) -> Weights:
    """Return nodes and weights, ascending, without nodes that hold nothing or common divisors."""
    held = sorted((node, weight) for node, weight in shares if weight)
    divisor = math.gcd(*(weight for _, weight in held))
    return tuple((node, weight // divisor) for node, weight in held)


def weights_of(target: str) -> Weights | None:
    """Return the shares of a target such as ``node:0,2@3:1``; None where it is no node."""
    try:
        end = parse_endpoint(target)
    except UserError:
        return None
    if end.kind is not EndpointKind.NODE:
        return None
    return normal(zip(end.numbers, end.weights or (1,) * len(end.numbers), strict=True))


def placed(placement: Placement) -> Weights:
    """Return the shares of a placement."""
    return normal((share.node, share.weight) for share in placement.nodes)


def target_of(weights: Weights) -> str:
    """Return the target with these shares: ``node:0,2@3:1``."""
    nodes = ",".join(str(node) for node, _ in weights)
    return f"node:{nodes}" + (f"@{ratio_of(weights)}" if len(weights) > 1 else "")


def ratio_of(weights: Weights) -> str:
    """Return ``3:1``."""
    return ":".join(str(weight) for _, weight in weights)


def words_of(weights: Weights) -> str:
    """Return ``3:1 on nodes 0,2`` or ``all on node 0``."""
    nodes = ",".join(str(node) for node, _ in weights)
    return f"all on node {nodes}" if len(weights) == 1 else f"{ratio_of(weights)} on nodes {nodes}"


def studies_of(run: Run) -> list[Study]:
    """Return the studies of a run: those in which pages were spread."""
    return studies(run.measurements, run.header.topology)


def studies(measurements: Iterable[Measurement], topology: Topology | None) -> list[Study]:
    """Return the studies among measurements."""
    found: dict[str, Study] = {}
    for m in measurements:
        weights = weights_of(m.target)
        if m.kind != "streams" or m.status != "measured" or weights is None or not m.estimate:
            continue
        if m.pattern.get("beside") or m.pattern.get("policy") in ("partition", "preferred"):
            continue
        pattern = {key: value for key, value in m.pattern.items() if key not in _NOT_PATTERN}
        key = json.dumps([m.initiator, pattern], sort_keys=True)
        study = found.setdefault(key, Study(m.initiator, pattern, topology))
        study.points.setdefault((weights, int(m.pattern[_THREADS])), m)
    return [study for study in found.values() if study.threads]
