"""How long repetitions take to warm up, by what they all have in common.

One repetition's samples vary too much to tell where it was warm. But each begins in the same way,
so the sample of the same number of all of them shows it: each repetition's samples are taken
relative to the median of its second half, and the median over the repetitions is taken for each
number. Averaging over replications before looking for the warm-up is Welch's method (The
Statistical Analysis of Simulation Results, 1983)."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

from tierscope.analysis.estimate import NORMAL, student_quantile
from tierscope.model.event import Series

_END = 0.3
"""Share of a warm-up whose end hides in the noise."""
_AT_ONCE = 3
"""Samples that are looked at together."""
_WARM = 1.5
"""Standard errors within which a mean of these is that of the second half."""
_MANY_REPETITIONS = 4
"""Repetitions from which on half of each may be warm-up; of fewer, a fifth."""
_FEW_SHARE = 0.2
_LIKELY, _CERTAIN = 0.05, 0.01
"""Probabilities that what is warm shows such a change from its first half to its second by chance:
from the one on an interval allows for the change, from the other on repetitions get longer."""
_MAX_DRIFT = 0.02
"""Maximum change of what is warm from which its end can be told."""
_LEAST = 1e-100
"""Minimum level, so that what is relative to it stays finite; no figure is as small."""
_MEDIAN_ERROR = 1.2533
"""Standard error of a median, in multiples of that of a mean."""
_MEDIAN_DEVIATION = 1.4826
"""Standard deviation, in multiples of the median absolute deviation."""


@dataclass(frozen=True)
class WarmUp:
    """What repetitions show of their warm-up."""

    samples: int
    """At the beginning of each repetition."""
    settled: bool = True
    """What follows them does not change any more, or by little."""
    too_short: bool = False
    """Repetitions are likely too short to be warm for most of their time."""
    trend: float = 0.0
    """By how much, relative, the two halves may differ."""
    drift: float = 0.0
    """Relative change from the first half to the second, 0 unless it is likely."""


def warm_up(repetitions: Sequence[Series], precision: float) -> WarmUp:
    """Return the warm-up of repetitions, at least one, of their first column.

    A change counts from a quarter of the ``precision`` asked for on."""
    lengths = sorted(len(series.starts) for series in repetitions)
    half = lengths[len(lengths) // 2] // 2
    relative: list[list[tuple[int, float]]] = []
    warm: list[float] = []
    for series in repetitions:
        disturbed = series.disturbed()
        values = [
            (number, value)
            for number, value in enumerate(series.columns[0].values)
            if value and number not in disturbed
        ]
        second = [value for number, value in values if number >= half]
        if not second:
            continue
        level = max(median(second), _LEAST)
        relative.append([(number, value / level - 1) for number, value in values])
        warm += [value / level - 1 for value in second]
    if not warm:
        return WarmUp(0)
    usual = _MEDIAN_DEVIATION * median(map(abs, warm))
    by_number: dict[int, list[float]] = {}
    for number, value in itertools.chain(*relative):
        by_number.setdefault(number, []).append(value)
    profile = [
        (number, median(values), _error(values, usual))
        for number, values in sorted(by_number.items())
    ]
    most = half if len(repetitions) >= _MANY_REPETITIONS else int(_FEW_SHARE * 2 * half)
    cold = next((number for number in range(most + 1) if _is_warm(profile, number)), None)
    found = most if cold is None else cold
    samples = found + math.ceil(_END * found)
    kept = [row for row in profile if row[0] >= samples]
    first, last = kept[: len(kept) // 2], kept[-(len(kept) // 2) :]
    if not first:
        return WarmUp(samples)
    changes = _changes(relative, samples, last[0][0])
    if len(changes) >= _MANY_REPETITIONS:
        drift, error = fmean(changes), stdev(changes) / math.sqrt(len(changes))
        freedom = len(changes) - 1
    else:
        drift = fmean(value for _, value, _ in last) - fmean(value for _, value, _ in first)
        error = math.sqrt(sum(error * error for _, _, error in [*first, *last])) / len(first)
        freedom = NORMAL
    change = abs(drift)
    likely, certain = (student_quantile(freedom, chance) * error for chance in (_LIKELY, _CERTAIN))
    return WarmUp(
        samples,
        settled=change <= max(certain, _MAX_DRIFT),
        too_short=cold is None or change > max(certain, precision / 4),
        trend=change + likely,
        drift=drift if cold is None or change > max(likely, precision / 4) else 0.0,
    )


def _error(values: Sequence[float], usual: float) -> float:
    """Return the standard error of the median of values, whose deviation is at least ``usual``."""
    deviation = usual
    if len(values) >= _MANY_REPETITIONS:
        middle = median(values)
        own = _MEDIAN_DEVIATION * median(abs(value - middle) for value in values)
        deviation = max(usual, own)
    return _MEDIAN_ERROR * deviation / math.sqrt(len(values))


def _changes(
    repetitions: Sequence[Sequence[tuple[int, float]]], begin: int, middle: int
) -> list[float]:
    """Return the change from numbers below the middle to those from it on, for each repetition:
    samples that follow each other are correlated, and so say less of its error than these do."""
    changes = []
    for values in repetitions:
        first = [value for number, value in values if begin <= number < middle]
        last = [value for number, value in values if number >= middle]
        if first and last:
            changes.append(median(last) - median(first))
    return changes


def _is_warm(profile: Sequence[tuple[int, float, float]], number: int) -> bool:
    found = [(value, error) for at, value, error in profile if number <= at < number + _AT_ONCE]
    return not found or abs(fmean(value for value, _ in found)) <= _WARM * max(
        error for _, error in found
    )
