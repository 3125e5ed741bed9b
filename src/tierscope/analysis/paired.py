"""Ratio of two sides that were visited in turn, so that drift slower than a pair cancels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from tierscope.analysis.estimate import student_quantile


@dataclass(frozen=True)
class PairedRatio:
    """New over base, with its interval where there are two pairs at least."""

    ratio: float
    low: float | None
    high: float | None


def paired_ratio(pairs: Sequence[tuple[float, float]], error: float = 0.05) -> PairedRatio:
    """Return the geometric mean of new / base over pairs (base, new) of figures above 0, and
    Student's t interval on the logarithm: pairs are independent of each other, their sides not.

    ``error`` is the interval's, 0.05 for 95%.
    """
    logs = [math.log(new / base) for base, new in pairs]
    middle = fmean(logs)
    if len(logs) < 2:
        return PairedRatio(math.exp(middle), None, None)
    half = student_quantile(len(logs) - 1, error) * stdev(logs) / math.sqrt(len(logs))
    return PairedRatio(math.exp(middle), math.exp(middle - half), math.exp(middle + half))
