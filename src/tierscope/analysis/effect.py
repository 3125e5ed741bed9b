"""Effect of a placement on a program: where its memory landed, and what changed."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tierscope.analysis.change import paired_ratio
from tierscope.model.base import Model
from tierscope.model.metric import METRICS, Better
from tierscope.model.run import Measurement
from tierscope.place.look import Look
from tierscope.place.policy import Policy

_HUGE = 2 << 20
_PAGE = 4096
_OTHER_STEPS = 0.005
"""Share of memory by which page tables and the page cache, which take steps of a round too, and
threads that have ended may shift the others."""
MIN_PAIRS = 6
"""Pairs that a verdict takes."""
_ERROR = 0.05
EffectVerdict = Literal["better", "worse", "undecided"]


@dataclass(frozen=True)
class Landing:
    """Bytes by node at the moment when a program was largest, beside what was asked."""

    look: Look
    share: dict[int, float]
    """Bytes of anonymous and shared memory by node."""
    asked: dict[int, float] | None
    """The share that the policy asks for; None where it leaves that open."""
    tolerance: float
    """How far shares may be off by rounds of interleaving that were begun and not finished."""
    off_nodes: float
    """The share on nodes that the policy does not name."""
    approximated: tuple[str, ...]
    """Amounts that the kernel does not count exactly."""

    @property
    def as_asked(self) -> bool | None:
        """Whether memory is where it should be; None where the policy leaves that open."""
        if self.asked is None:
            return None
        nodes = {*self.share, *self.asked}
        off = (abs(self.share.get(n, 0.0) - self.asked.get(n, 0.0)) for n in nodes)
        return max(off, default=0.0) <= self.tolerance


@dataclass(frozen=True)
class Watched:
    """A program that was watched to its end."""

    command: tuple[str, ...]
    policy: Policy | None
    mechanism: str
    """``kernel`` or ``user``: who placed by weights."""
    weights: tuple[int, ...]
    """Weights that applied, for ``weighted``."""
    exit_status: int
    looks: tuple[Look, ...]

    @property
    def largest(self) -> Look | None:
        """The look at which it had most memory; None where it ended before one."""
        return max(self.looks, key=lambda one: one.total_bytes, default=None)


def landing(watched: Watched) -> Landing | None:
    """Judge the largest of the looks; None where there is no policy or no memory.

    A thread counts its rounds by itself, a step for each folio (page, or huge page) that it gets
    first. So each thread may have an unfinished round of folios; shares may be off by these, and by
    what else takes steps.
    """
    look, policy = watched.largest, watched.policy
    if policy is None or look is None or not look.total_bytes:
        return None
    total = look.total_bytes
    share = {node: count / total for node, count in look.bytes_by_node.items()}
    off_nodes = sum(part for node, part in share.items() if node not in policy.nodes)
    steps = {
        "interleave": (1,) * len(policy.nodes),
        "weighted": watched.weights,
    }.get(policy.mode)
    if steps is None:
        alone = {policy.nodes[0]: 1.0} if policy.mode == "bind" and len(policy.nodes) == 1 else None
        return Landing(look, share, alone, 0.0, off_nodes, ())
    rounds = sum(steps)
    asked = {node: step / rounds for node, step in zip(policy.nodes, steps, strict=True)}
    threads = max(one.threads for one in watched.looks)
    # A thread is off by at most a whole round, in base pages and, where it has any, in huge ones;
    # the preloaded library's units may be as large as those.
    folio = _PAGE + (_HUGE if look.huge_bytes or watched.mechanism == "user" else 0)
    tolerance = min(1.0, _OTHER_STEPS + threads * rounds * folio / total)
    return Landing(look, share, asked, tolerance, off_nodes, _approximated(look))


def _approximated(look: Look) -> tuple[str, ...]:
    notes = ["threads are those that were there at a look; each counts its rounds by itself"]
    if look.huge_bytes:
        notes.append(
            "a huge page is one step of a round, as a base page is; the kernel does not say how "
            "many there are on each node"
        )
    return tuple(notes)


class Effect(Model):
    """One figure under one placement, beside the first one."""

    base: str
    placement: str
    command: str
    figure: str
    """``run_time``, ``gc_time``, ``gc_pause_max``, ``gc_concurrent``, or as the user named it."""
    metric: str
    pairs: int
    """Rounds in which both placements have the figure."""
    ratio: float | None = None
    """Ratio to the first placement; None without a pair."""
    low: float | None = None
    high: float | None = None
    """Interval of the ratio that holds for all of the program's comparisons at once, with 95%."""
    verdict: EffectVerdict = "undecided"
    detectable: float | None = None
    """Smallest change that would have been found, as a share: 0.05 is 5%."""


def effects(measurements: Sequence[Measurement]) -> list[Effect]:
    """Return what each placement does to each program, in the order of the plan."""
    found: list[Effect] = []
    for group in by_program(measurements):
        base, *others = group
        asked = [(m, name) for m in others for name in figures_of(base) if name in figures_of(m)]
        found += [_effect(base, m, name, _ERROR / len(asked)) for m, name in asked]
    return found


def by_program(measurements: Sequence[Measurement]) -> list[list[Measurement]]:
    """Return what was measured of programs, that of the same command together."""
    groups: dict[str, list[Measurement]] = {}
    for m in measurements:
        if m.status == "measured":
            groups.setdefault(str(m.pattern.get("command")), []).append(m)
    return list(groups.values())


def figures_of(measurement: Measurement) -> list[str]:
    """Return the names of the figures that runs have, the headline first."""
    runs = _runs(measurement)
    return list(dict.fromkeys(itertools.chain.from_iterable(runs)))


def values_of(measurement: Measurement, figure: str) -> list[float]:
    """Return a figure's values, run by run."""
    return [run[figure] for run in _runs(measurement) if figure in run]


def metric_of(measurement: Measurement, figure: str) -> str:
    """Return the metric of a figure; a name that the user gave says nothing of it."""
    named = (one.metric for one in measurement.figures if one.part == figure)
    return next(named, figure if figure in METRICS else measurement.metric or "")


def _runs(measurement: Measurement) -> list[dict[str, float]]:
    """Return the figures of each run, or the headline of a file of others' making, without runs."""
    program = measurement.evidence.program if measurement.evidence else None
    if program is None:
        return [{str(measurement.metric): measurement.estimate or 0.0}]
    return [run.values for run in program.runs]


def _effect(base: Measurement, other: Measurement, figure: str, error: float) -> Effect:
    pairs = [
        (old[figure], new[figure])
        for old, new in zip(_runs(base), _runs(other), strict=False)  # one may have failed
        if old.get(figure, 0) > 0 and new.get(figure, 0) > 0
    ]
    metric = metric_of(base, figure)
    found = Effect(
        base=str(base.pattern.get("placement")),
        placement=str(other.pattern.get("placement")),
        command=str(base.pattern.get("command")),
        figure=figure,
        metric=metric,
        pairs=len(pairs),
    )
    if not pairs:
        return found
    ratio = paired_ratio(pairs, error)
    if len(pairs) < MIN_PAIRS:
        return found.model_copy(update={"ratio": ratio.ratio})
    assert ratio.low is not None
    assert ratio.high is not None
    return found.model_copy(
        update={
            "ratio": ratio.ratio,
            "low": ratio.low,
            "high": ratio.high,
            "verdict": _verdict(ratio.low, ratio.high, METRICS[metric].better),
            "detectable": math.expm1(math.log(ratio.high / ratio.low) / 2),
        }
    )


def _verdict(low: float, high: float, better: Better) -> EffectVerdict:
    if low <= 1 <= high:
        return "undecided"
    return "better" if (low > 1) == (better == "higher") else "worse"
