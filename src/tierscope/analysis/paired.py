"""Ratio of two sides that were visited in turn, so that drift slower than a pair cancels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from tierscope.analysis.estimate import student_quantile


@dataclass(frozen=True)
class PairedRatio:
    """New over base, with its 95% interval where there are two pairs at least."""

    ratio: float
    low: float | None
    high: float | None


def paired_ratio(pairs: Sequence[tuple[float, float]]) -> PairedRatio:
    """Return the geometric mean of new / base over pairs (base, new) of figures above 0, and
    Student's t interval on the logarithm: pairs are independent of each other, their sides not."""
    logs = [math.log(new / base) for base, new in pairs]
    middle = fmean(logs)
    if len(logs) < 2:
        return PairedRatio(math.exp(middle), None, None)
    half = student_quantile(len(logs) - 1, 0.05) * stdev(logs) / math.sqrt(len(logs))
    return PairedRatio(math.exp(middle), math.exp(middle - half), math.exp(middle + half))
