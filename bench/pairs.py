"""What the comparisons share: run the engine or a peer, alternate them, and compare the pairs."""

import contextlib
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tierscope.analysis.change import PairedRatio, paired_ratio
from tierscope.analysis.estimate import estimate_median
from tierscope.engine.repetitions import living_engine
from tierscope.kinds.bandwidth.spec import BandwidthPattern, BandwidthSpec
from tierscope.kinds.latency.spec import LatencySpec
from tierscope.kinds.plan import Spec
from tierscope.machine.discover import discover
from tierscope.model.chase import LatencyPattern
from tierscope.model.run import Measurement
from tierscope.model.spec import NodeShare, Pages, Placement, Sampling
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.runs.record import Bounds, measurement_of
from tierscope.runs.schedule import RepetitionStep, in_rounds
from tierscope.runs.state import RunState

Taken = TypeVar("Taken")

FEWEST = 4
TOLERANCE = float(os.environ.get("TOLERANCE", "0.01"))
"""Half-width of a ratio's interval that is narrow enough, as a share of the ratio."""
LIMIT_S = float(os.environ.get("LIMIT_S", "120"))
"""Seconds that one comparison may take; it ends with the pair that passes them."""

NODE = Placement(policy="bind", nodes=[NodeShare(node=0)])


@dataclass(frozen=True)
class Comparison:
    """Paired figures of tierscope and of a peer, taken in turn in one run."""

    name: str
    unit: str
    ours: list[float]
    theirs: list[float]

    @property
    def ratio(self) -> PairedRatio:
        """ours / theirs over the pairs, with its interval."""
        return paired_ratio(list(zip(self.theirs, self.ours, strict=True)))

    def __str__(self) -> str:
        ratio = self.ratio
        ours, theirs = statistics.median(self.ours), statistics.median(self.theirs)
        interval = "" if ratio.low is None else f"{ratio.low:.3f}–{ratio.high:.3f}, "
        return (
            f"{self.name:38} {ours:9.4g} {theirs:9.4g} {self.unit:5} "
            f"ratio {ratio.ratio:.3f} ({interval}{len(self.ours)} pairs){self._middle()}"
        )

    def _middle(self) -> str:
        """Say what the median of the pairs' ratios is, which few wild pairs do not move."""
        ratios = [[own / other] for own, other in zip(self.ours, self.theirs, strict=True)]
        found = estimate_median(ratios, apart=True)
        if found.low is None or found.high is None:
            return ""
        return f", median {found.value:.3f} ({found.low:.3f}–{found.high:.3f})"


@contextlib.contextmanager
def made_file(name: str, directory: Path, mebibytes: int = 256) -> Iterator[Path]:
    """A file of random bytes, removed at the end."""
    with tempfile.NamedTemporaryFile(prefix=f"bench-{name}-", dir=directory.resolve()) as file:
        for _ in range(mebibytes):
            file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())
        yield Path(file.name)


def alternate(
    name: str, unit: str, pairs: int, ours: Callable[[], float], theirs: Callable[[], float]
) -> Comparison:
    """Run both sides in turn, and compare all figures."""
    return Comparison(name, unit, *take_turns(pairs, ours, theirs))


def until_narrow(
    name: str, unit: str, ours: Callable[[], float], theirs: Callable[[], float]
) -> Comparison:
    """Take pairs until the ratio's interval is within TOLERANCE of it, or LIMIT_S have passed."""
    began = time.monotonic()
    found = alternate(name, unit, FEWEST, ours, theirs)
    while time.monotonic() - began < LIMIT_S and not is_narrow(found):
        more = alternate(name, unit, 2, ours, theirs)
        found = Comparison(name, unit, found.ours + more.ours, found.theirs + more.theirs)
    return found


def is_narrow(found: Comparison) -> bool:
    """Whether the ratio's interval is within TOLERANCE of it."""
    ratio = found.ratio
    if ratio.low is None or ratio.high is None:
        return False
    return max(ratio.high / ratio.ratio, ratio.ratio / ratio.low) <= 1 + TOLERANCE


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


def asked(kind: str, seconds: float, **options: str) -> Spec:
    """The one measurement that options of a kind ask for on this machine, for so long."""
    (spec,) = expand([Request(kind=kind, options=options)], discover(), thp=False).measurements
    return spec.model_copy(update={"sampling": Sampling(budget_s=seconds)})


def figure(spec: Spec) -> float:
    """The headline of one measurement by an engine of its own."""
    estimate = measure(spec).estimate
    assert estimate is not None, spec.id
    return estimate


def measure(spec: Spec) -> Measurement:
    """One measurement by an engine of its own; raises RuntimeError where it has no figure."""
    state = RunState([spec])
    with living_engine() as engine:
        engine.plan([spec])
        for step in in_rounds(state, spec.id):
            if isinstance(step, RepetitionStep):
                for event in engine.repetition(step.name, step.seconds, step.fresh):
                    if event.event in ("skipped", "failed"):
                        raise RuntimeError(f"{spec.id}: {event.reason}")
                    if event.event == "repetition":
                        state.add_repetition(event)
    return measurement_of(spec, state.repetitions[spec.id], None, Bounds())


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
