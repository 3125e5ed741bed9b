"""The median of a series of samples, and its 95% confidence interval.

The interval goes from one order statistic to another and so holds for any distribution (Conover,
Practical Nonparametric Statistics, 3.2). Successive samples on a shared machine depend on each
other, which would make the interval of a drifting series far too narrow; so the ranks are chosen
for the effective sample size n / tau, tau being the integrated autocorrelation time of the series
"is above the median" (initial positive sequence: Geyer, Statistical Science 7, 1992), which is what
the median's variance depends on. A short series tells little of tau, and most often too little: it
counts with two standard errors on top (Madras and Sokal, Journal of Statistical Physics 50, 1988).

Fewer than six effective samples cannot give 95% in this way. Two to five get Student's t by their
median absolute deviation, cut to the range of the samples: bursts of disturbance far from the
median do not widen it, drift and two modes do. One gets the range, which has no coverage.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median

MIN_FOR_RANKS = 6
"""Effective samples from which on ranks give a 95% interval: 2 / 2^6 is less than 5%."""
_STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}
"""97.5% quantiles of Student's t, by the number of samples."""
_DEVIATION = 1.4826
"""Standard over median absolute deviation of a normal distribution."""
_MEDIAN_ERROR = 1.2533
"""Standard error of a normal median over the mean's: sqrt(pi / 2)."""


@dataclass(frozen=True)
class Estimate:
    """A median with its 95% confidence interval."""

    value: float
    low: float
    high: float
    effective_n: float
    """Independent samples that the series is worth, 1..n."""

    @property
    def relative_half_width(self) -> float:
        """Half of the interval as a share of the median; infinite for a median of 0."""
        return (self.high - self.low) / 2 / abs(self.value) if self.value else math.inf

    def widened(self, share: float) -> "Estimate":
        """Return it with a share of the median added on each side of the interval.

        A type B uncertainty, as the Guide to the Expression of Uncertainty in Measurement (JCGM
        100:2008, 4.3) calls what is known from elsewhere than from the samples.
        """
        more = share * self.value
        return Estimate(self.value, self.low - more, self.high + more, self.effective_n)


def estimate_median(samples: Sequence[float]) -> Estimate:
    """Return the median of samples in the order in which they were taken, at least one."""
    ordered = sorted(samples)
    n = len(ordered)
    middle = median(ordered)
    effective = n / _autocorrelation_time(samples, middle)
    whole = max(1, int(effective))
    low, high = ordered[0], ordered[-1]
    if whole >= MIN_FOR_RANKS:
        # The same share of the series is cut off on each side as would be of independent samples.
        cut = int(n * _lower_rank(whole) / whole)
        low, high = ordered[cut], ordered[n - 1 - cut]
    elif whole > 1:
        half = _student_half_width(ordered, middle, whole)
        low, high = max(low, middle - half), min(high, middle + half)
    return Estimate(middle, low, high, effective)


def _autocorrelation_time(samples: Sequence[float], middle: float) -> float:
    """Return the upper end of the integrated autocorrelation time, 1..n, of whether each sample is
    above the median; samples equal to it are on neither side."""
    n = len(samples)
    # One bit a sample, so that a covariance takes microseconds: long series of a drifting machine
    # need thousands of lags.
    above = int("".join("1" if sample > middle else "0" for sample in samples), 2)
    below = int("".join("1" if sample < middle else "0" for sample in samples), 2)

    def covariance(lag: int) -> int:
        shifted_above, shifted_below = above >> lag, below >> lag
        same = (above & shifted_above).bit_count() + (below & shifted_below).bit_count()
        return same - (above & shifted_below).bit_count() - (below & shifted_above).bit_count()

    variance = covariance(0)
    if variance == 0:
        return 1.0  # all samples are equal
    tau = -1.0
    lag = 0
    while lag + 1 < n:
        pair = (covariance(lag) + covariance(lag + 1)) / variance
        if pair <= 0:
            break
        tau += 2 * pair
        lag += 2
    # A series that does not stay on one side of its median has no window to be uncertain about.
    window = lag if tau > 1 else 0
    relative_error = math.sqrt(2 * (2 * window + 1) / n)
    return min(max(tau, 1.0) * (1 + 2 * relative_error), float(n))


@lru_cache(maxsize=4096)
def _lower_rank(n: int) -> int:
    """Return how many heads of n >= 6 fair coin tosses at most have a probability <= 2.5%."""
    cumulative = 0.0
    rank = 0
    for heads in range(n + 1):
        log_ways = math.lgamma(n + 1) - math.lgamma(heads + 1) - math.lgamma(n - heads + 1)
        cumulative += math.exp(log_ways - n * math.log(2))
        if cumulative > 0.025:
            break
        rank = heads
    return rank


def _student_half_width(ordered: Sequence[float], middle: float, whole: int) -> float:
    deviation = median(abs(sample - middle) for sample in ordered)
    return _STUDENT[whole] * _MEDIAN_ERROR * _DEVIATION * deviation / math.sqrt(whole)
