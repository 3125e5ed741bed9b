"""The whole procedure on series whose median is known: schedule, warm-up, disturbed samples, looks,
stop and estimate are those of a run; only the engine is replaced.
"""

import math
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import fmean, median, stdev

from processes import Make, Process

from tierscope.analysis.conclude import Conclusion, conclude
from tierscope.kinds.bandwidth.spec import BandwidthSpec
from tierscope.model.event import Column, Evidence, Repetition, Series
from tierscope.runs.schedule import RepetitionStep, in_rounds
from tierscope.runs.state import RunState

_SET_UP_S = 0.005
"""What a repetition takes beside its samples."""
_COLD = (0.7, 0.9)
"""What the first samples of a repetition reach: its warm-up."""


@dataclass(frozen=True)
class Design:
    """How many figures a run has, and how long each is measured."""

    name: str
    figures: int
    budget_s: float
    populate_s: float = 0.01
    """What new pages take."""
    sample_s: float = 0.01


DESIGNS = (
    Design("rounds over 30 figures, 2 s each", 30, 2.0),
    Design("rounds over 30 figures, 2 s each, new pages take 0.3 s", 30, 2.0, populate_s=0.3),
    Design("rounds over 30 figures, 0.6 s each, samples of 4 ms (quick)", 30, 0.6, sample_s=0.004),
    Design("one figure alone, 2 s", 1, 2.0),
)


@dataclass
class Tally:
    """How often intervals held the median."""

    stops: Counter[str] = field(default_factory=Counter)
    held: Counter[str] = field(default_factory=Counter)
    widths: list[float] = field(default_factory=list)
    """Half of each interval, relative to the estimate."""
    errors: list[float] = field(default_factory=list)
    """Logarithm of estimate over truth."""
    repetitions: list[int] = field(default_factory=list)

    def add(self, found: Conclusion, truth: float, repetitions: int) -> None:
        """Count a figure."""
        first = found.figures[0]
        self.errors.append(math.log(first.estimate) - truth)
        self.repetitions.append(repetitions)
        if first.ci_low is None or first.ci_high is None:
            self.stops["none"] += 1
            return
        self.stops[found.stop] += 1
        self.held[found.stop] += first.ci_low <= math.exp(truth) <= first.ci_high
        self.widths.append((first.ci_high - first.ci_low) / 2 / first.estimate)

    @property
    def count(self) -> int:
        """Figures."""
        return len(self.errors)

    def share(self, stop: str) -> float:
        """Of figures that ended so; ``none``: without an interval."""
        return self.stops[stop] / self.count

    def coverage(self, *stops: str) -> float:
        """Of intervals of figures that ended so; of all intervals by default."""
        stops = stops or ("precision", "budget")
        return sum(self.held[s] for s in stops) / max(1, sum(self.stops[s] for s in stops))

    @property
    def width(self) -> float:
        """The median half-width; infinite where there was no interval."""
        return median(self.widths) if self.widths else math.inf

    @property
    def oracle(self) -> float:
        """Half of the 95% interval of one who knows how far such estimates are from the truth."""
        return 1.96 * stdev(self.errors)

    @property
    def mean_repetitions(self) -> float:
        """Repetitions of a figure."""
        return fmean(self.repetitions)


def simulate(make: Make, design: Design, figures: int, seed: str) -> Tally:
    """Return how intervals fared over at least so many figures."""
    tally = Tally()
    number = 0
    while tally.count < figures:
        for found, truth, repetitions in _run(make, design, f"{seed} {number}"):
            tally.add(found, truth, repetitions)
        number += 1
    return tally


def _run(make: Make, design: Design, seed: str) -> Iterator[tuple[Conclusion, float, int]]:
    """One run: each figure is a process of its own."""
    source = random.Random(seed)
    specs = [_spec(number, design) for number in range(design.figures)]
    state = RunState(specs)
    total = state.left_s() / design.sample_s
    processes = {spec.id: make(source, total) for spec in specs}
    clocks = dict.fromkeys(processes, 0.0)
    now = 0.0
    for step in in_rounds(state, seed):
        if not isinstance(step, RepetitionStep):
            continue
        process = processes[step.name]
        new_pages = step.fresh or not state.repetitions[step.name]
        beside = _SET_UP_S + new_pages * design.populate_s
        now += beside
        process.skip((now - clocks[step.name]) / design.sample_s)
        process.others.skip((now - clocks[step.name]) / design.sample_s)
        process.begin(new_pages)
        repetition = _repetition(step, design.sample_s, process, now, source)
        now += repetition.seconds
        clocks[step.name] = now
        state.add_repetition(repetition, repetition.seconds + beside)
    for spec in specs:
        process = processes[spec.id]
        process.skip((now - clocks[spec.id]) / design.sample_s)
        repetitions = state.repetitions[spec.id]
        one_set = not any(repetition.fresh for repetition in repetitions[1:])
        truth = process.truth_here() if one_set else process.truth()
        yield conclude(spec, repetitions), truth, len(repetitions)


def _repetition(
    step: RepetitionStep, sample_s: float, process: Process, at_s: float, source: random.Random
) -> Repetition:
    samples = max(2, round(step.seconds / sample_s))
    values: list[float] = []
    lost: list[float] = []
    for number in range(samples):
        values.append(math.exp(process.sample()))
        lost.append(source.uniform(0, 0.5) if process.others.busy else 0.0)
        values[number] *= 1 - lost[number]
        process.others.skip(1)
    for number, share in enumerate(_COLD[: samples - 1]):
        values[number] *= share
    series = Series.model_construct(
        name="windows",
        starts=[number * sample_s for number in range(samples)],
        durations=[sample_s] * samples,
        lost=lost,
        columns=[Column.model_construct(metric="bandwidth", part="", values=values)],
    )
    return Repetition.model_construct(
        id=step.name,
        seconds=samples * sample_s,
        fresh=step.fresh,
        interrupted=False,
        series=[series],
        evidence=Evidence(),
        at_s=at_s,
    )


def _spec(number: int, design: Design) -> BandwidthSpec:
    return BandwidthSpec.model_validate(
        {
            "id": f"m{number}", "initiator": "node:0", "target": "node:0", "cpus": [0],
            "placement": {"policy": "bind", "nodes": [{"node": 0}]},
            "pattern": {"operation": "read", "size": (number + 1) << 20},
            "sampling": {
                "precision": 0.01, "budget_s": design.budget_s, "sample_s": design.sample_s,
            },
        }
    )  # fmt: skip
