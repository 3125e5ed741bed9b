"""What placements do to a program: its runs, pair by pair of the same round.

Each figure under each placement is compared with the first placement by the geometric mean of its
ratios over rounds and Student's t interval on their logarithm (``paired``). The order of a round is
random, so the differences of a placement to itself are symmetric about 0, and the interval holds
for other distributions than the normal one, too. The error of 5% is shared between all comparisons
of a program (Bonferroni): nineteen of twenty times that nothing differs, nothing is found.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Literal

from tierscope.analysis.paired import paired_ratio
from tierscope.model.base import Model
from tierscope.model.metric import METRICS, Better
from tierscope.model.run import Measurement

MIN_PAIRS = 6
"""Pairs that a verdict takes."""
_ERROR = 0.05
EffectVerdict = Literal["better", "worse", "undecided"]


class Effect(Model):
    """One figure under one placement, beside the first one."""

    base: str
    placement: str
    command: str
    figure: str
    """``run_time``, ``gc_time``, ``gc_pause_max``, or as the user named it."""
    metric: str
    pairs: int
    """Rounds in which both placements have the figure."""
    ratio: float | None = None
    """That of the placement over that of the first one; None without a pair."""
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
    """Return the metric of a figure."""
    if figure in METRICS:
        return figure
    named = (one.metric for one in measurement.figures if one.part == figure)
    return next(named, measurement.metric or "")


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
    if ratio.low is None or ratio.high is None or len(pairs) < MIN_PAIRS:
        return found.model_copy(update={"ratio": ratio.ratio})
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
