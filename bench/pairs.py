"""What the comparisons share: run the engine or a peer, alternate them, and compare medians."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tierscope.engine.visits import living_engine
from tierscope.kinds.bandwidth.spec import BandwidthPattern, BandwidthSpec
from tierscope.kinds.latency.spec import LatencySpec
from tierscope.kinds.plan import Spec
from tierscope.model.chase import LatencyPattern
from tierscope.model.run import Measurement
from tierscope.model.spec import NodeShare, Pages, Placement, Sampling
from tierscope.runs.book import Book
from tierscope.runs.record import Bounds, measurement_of
from tierscope.runs.schedule import VisitStep, in_rounds

Taken = TypeVar("Taken")

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
    """Run both sides in turn, and compare all figures."""
    return Comparison(name, unit, *take_turns(pairs, ours, theirs))


def take_turns(
    pairs: int, ours: Callable[[], Taken], theirs: Callable[[], Taken]
) -> tuple[list[Taken], list[Taken]]:
    """What each side gave, a pair each time; each side goes first in every other pair."""
    taken: tuple[list[Taken], list[Taken]] = ([], [])
    for pair in range(pairs):
        sides = list(zip(taken, (ours, theirs), strict=True))
        for kept, run in sides if pair % 2 == 0 else reversed(sides):
            kept.append(run())
    return taken


def measure(spec: Spec) -> Measurement:
    """One measurement by an engine of its own; raises RuntimeError where it has no figure."""
    book = Book([spec])
    with living_engine() as engine:
        engine.plan([spec])
        for step in in_rounds(book, spec.id):
            if isinstance(step, VisitStep):
                for event in engine.visit(step.name, step.seconds, step.fresh):
                    if event.event in ("skipped", "failed"):
                        raise RuntimeError(f"{spec.id}: {event.reason}")
                    if event.event == "visit":
                        book.add_visit(event)
    return measurement_of(spec, book.visits[spec.id], None, Bounds())


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
