"""What the comparisons share: run the engine or a peer, alternate them, and compare medians."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from tierscope.engine import stream
from tierscope.model.event import Result
from tierscope.model.plan import (
    PLAN_VERSION,
    BandwidthPattern,
    BandwidthSpec,
    LatencyPattern,
    LatencySpec,
    NodeShare,
    Pages,
    Placement,
    Plan,
    Sampling,
    Spec,
)

NODE = Placement(policy="bind", nodes=[NodeShare(node=0)])


@dataclass(frozen=True)
class Comparison:
    """Paired figures of tierscope and of a peer, taken in turn in one run."""

    name: str
    unit: str
    ours: list[float]
    theirs: list[float]

    @property
    def ratio(self) -> float:
        """Median over the pairs of ours / theirs."""
        return statistics.median(a / b for a, b in zip(self.ours, self.theirs, strict=True))

    def __str__(self) -> str:
        ratios = sorted(a / b for a, b in zip(self.ours, self.theirs, strict=True))
        ours, theirs = statistics.median(self.ours), statistics.median(self.theirs)
        spread = f"({ratios[0]:.3f}..{ratios[-1]:.3f}, {len(ratios)} pairs)"
        return (
            f"{self.name:38} {ours:9.4g} {theirs:9.4g} {self.unit:5} "
            f"ratio {self.ratio:.3f} {spread}"
        )


def alternate(
    name: str, unit: str, pairs: int, ours: Callable[[], float], theirs: Callable[[], float]
) -> Comparison:
    """Run both sides in turn, each side first in every other pair, and keep all figures."""
    comparison = Comparison(name, unit, [], [])
    for pair in range(pairs):
        sides = [(comparison.ours, ours), (comparison.theirs, theirs)]
        for figures, measure in sides if pair % 2 == 0 else reversed(sides):
            figures.append(measure())
    return comparison


def measure(spec: Spec) -> Result:
    """One measurement through the engine; raises RuntimeError where it has no result."""
    for event in stream(Plan(version=PLAN_VERSION, measurements=[spec])):
        if event.event == "result":
            return event
        if event.event in ("skipped", "failed"):
            raise RuntimeError(f"{spec.id}: {event.reason}")
    raise RuntimeError(f"{spec.id}: the engine ended without a result")


def bandwidth(
    pattern: BandwidthPattern, cpus: list[int], sampling: Sampling | None = None
) -> BandwidthSpec:
    """Bandwidth of some CPUs to node 0."""
    return BandwidthSpec(
        id="bandwidth",
        initiator="node:0",
        target="node:0",
        placement=NODE,
        sampling=sampling or Sampling(budget_s=3.0),
        cpus=cpus,
        pattern=pattern,
    )


def latency(size: int, pages: Pages, cpu: int) -> LatencySpec:
    """Idle latency of one CPU to node 0."""
    return LatencySpec(
        id="latency",
        initiator="node:0",
        target="node:0",
        placement=NODE,
        sampling=Sampling(budget_s=3.0, sample_s=0.05),
        cpu=cpu,
        pattern=LatencyPattern(size=size, pages=pages),
    )
