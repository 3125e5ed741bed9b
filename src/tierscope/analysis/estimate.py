"""The median over the times and pages that a measurement sampled, and its confidence interval.

The interval goes from one order statistic of all samples to another, so it holds for any
distribution and never leaves the range of what was seen (Conover, Practical Nonparametric
Statistics, 3.2). How many samples lie above the median differs from repetition to repetition: that
is what pages and time change, and what samples of one repetition share. The ranks come from this
scatter between repetitions, with Student's t for their number (Woodruff, Journal of the American
Statistical Association 47, 1952, for samples in clusters), and never from less than independent
samples would scatter. Repetitions on the same pages share those, too: where there are several sets
of pages and fewer than repetitions, the scatter between sets counts where it gives the wider
interval.

Repetitions that are near each other in time are correlated, and few repetitions show less of it
than there is: their correlation is estimated without the bias of a short series. What follows each
other at once has, as a further lower bound, what the autocorrelation of its samples implies, taken
as a first-order autoregression. Where each has pages of its own, samples of one are alike for that
reason, too, so that bound is at most a standard error above the correlation of the repetitions
themselves. The correlation takes degrees of freedom away, and with a margin on
top it widens the interval. Where less than two independent repetitions remain, there is no
interval. Of less than six, order statistics say little, and Student's interval of their medians
counts, too."""

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist, median, stdev
from typing import TypeVar

from tierscope.model.run import NoInterval

_PARTS = 8
"""Parts that a single repetition is cut into, to be compared as repetitions are."""
_MIN_SAMPLES = 6
"""Samples that repetitions need for an interval, and twice as many if there is one only."""
_STANDARD_ERRORS = 2.0
"""Margin on the samples' autocorrelation: a short series tends to show too little of it."""
_FEW_REPETITIONS = 5
"""Repetitions below which more of them are what an interval lacks."""
_MARGIN = 0.3
"""Margin on the correlation between repetitions, in standard errors, for each standard error by
which the correlation exceeds the first ``_USUAL``: what is likely to be correlated is taken to be
more so. Chosen by simulation (tests/simulation)."""
_USUAL = 0.7
_MIN_CORRELATED = 8
"""Repetitions below which only a correlation that is significant, by ``_SIGNIFICANT`` standard
errors, counts: fewer say too little of it."""
_SIGNIFICANT = 1.64
_FEW_UNITS = 6
"""Independent repetitions below which Student's interval of their medians counts, too."""
_BEYOND_RANGE = 0.5
"""How far such an interval of many repetitions, which are correlated, goes beyond the range of all
samples at most, as a share of it."""
_MAX_FACTOR = 10.0
"""Of such an interval of few repetitions, from which on it says nothing and is none."""
_MAX_CORRELATION = 0.99
_MIN_WORTH = 1.9
"""Repetitions of the same size that those of an interval are worth at least: not quite two, since
their numbers of samples differ."""
NORMAL = 1000
"""Degrees of freedom at which Student's t is normal."""
_MAX_LOGARITHM = 50.0
"""Of an interval that says nothing."""

_Sample = TypeVar("_Sample")


@dataclass(frozen=True)
class Estimate:
    """A median with its confidence interval, or why it has none."""

    value: float
    low: float | None
    high: float | None
    effective_n: float
    """Independent samples that the samples are worth, at most as many as there are."""
    correlation: float = 0.0
    """Between repetitions that follow each other: an upper bound, 0..1."""
    no_interval: NoInterval | None = None

    @property
    def relative_half_width(self) -> float:
        """Half of the interval as a share of the median; infinite where that is unknown."""
        if self.low is None or self.high is None or self.value == 0:
            return math.inf
        return (self.high - self.low) / 2 / abs(self.value)

    def without(self, cause: NoInterval) -> "Estimate":
        """Return it without an interval."""
        return Estimate(self.value, None, None, self.effective_n, self.correlation, cause)

    def covering(self, low: float, high: float) -> "Estimate":
        """Return it with an interval that holds these values, too; none stays none."""
        if self.low is None or self.high is None:
            return self
        low, high = min(low, self.low), max(high, self.high)
        return Estimate(self.value, low, high, self.effective_n, self.correlation)

    def widened(self, share: float) -> "Estimate":
        """Return it with an interval that allows for a relative error of all samples, below 1.

        A type B uncertainty, as the Guide to the Expression of Uncertainty in Measurement (JCGM
        100:2008, 4.3) calls what is known from elsewhere than from the samples.
        """
        return self.scaled(1 - share, 1 + share)

    def scaled(self, *factors: float) -> "Estimate":
        """Return it with an interval that also holds its ends times each of these, above 0."""
        if self.low is None or self.high is None:
            return self
        return self.covering(self.low * min(factors), self.high * max(factors))


def estimate_median(
    repetitions: Sequence[Sequence[float]],
    error: float = 0.05,
    apart: bool = False,
    pages: Sequence[int] = (),
) -> Estimate:
    """Return the median of all samples, at least one; ``error`` is the interval's, 0.05 for 95%.

    ``repetitions`` hold the kept samples in the order in which they were taken. ``apart`` says that
    the time between repetitions was far longer than they were, so that they do not continue each
    other. ``pages`` has a number for each repetition's set of pages; by default each has its own.
    """
    sets = [one for one, samples in zip(pages, repetitions, strict=False) if samples]
    repetitions = [samples for samples in repetitions if samples]
    ordered = sorted(sample for samples in repetitions for sample in samples)
    n = len(ordered)
    middle = median(ordered)
    alone = n / autocorrelation_time(repetitions, middle)
    if too_few(repetitions):
        return Estimate(middle, None, None, alone, no_interval="few-samples")
    parts = parts_of(repetitions)
    shares = [
        sum((sample > middle) - (sample < middle) for sample in samples) / 2 for samples in parts
    ]
    equal = sum(shares) / n  # Not 0 where samples are equal to the median.
    scores = [share - equal * len(samples) for share, samples in zip(shares, parts, strict=True)]
    found = scatter(scores, [len(samples) for samples in parts], repetitions, apart, sets)
    effective = alone / found.inflation
    if found.no_interval:
        return Estimate(middle, None, None, effective, found.correlation, found.no_interval)
    half = max(found.bound(error) / n, NormalDist().inv_cdf(1 - error / 2) / math.sqrt(4 * n))
    cut = max(0, int(n * (0.5 - half)))
    low, high = ordered[cut], ordered[-1 - cut]
    if found.units < _FEW_UNITS and ordered[0] > 0:
        factor = _factor_of_medians(joined(parts, sets), found, error)
        if factor > _MAX_FACTOR and len(parts) < _MIN_CORRELATED:
            return Estimate(middle, None, None, effective, found.correlation, "few-repetitions")
        by_medians = middle / factor, middle * factor
        # Between the extremes of all samples lies more than the median can be.
        low, high = by_medians if cut == 0 else (min(low, by_medians[0]), max(high, by_medians[1]))
        if len(parts) >= _MIN_CORRELATED:
            beyond = _BEYOND_RANGE * (ordered[-1] - ordered[0])
            low, high = max(low, ordered[0] - beyond), min(high, ordered[-1] + beyond)
    return Estimate(middle, low, high, effective, found.correlation)


def _factor_of_medians(units: Sequence[Sequence[float]], found: "Scatter", error: float) -> float:
    """Return the factor on either side of Student's interval of the units' medians, which is one
    of their logarithms."""
    deviation = stdev(math.log(median(samples)) for samples in units)
    _, freedom = found.ways[-1]
    more = student_quantile(freedom, error) * deviation / math.sqrt(found.units)
    return math.exp(min(more, _MAX_LOGARITHM))


def too_few(repetitions: Sequence[Sequence[object]]) -> bool:
    """Return whether repetitions have too few samples for an interval."""
    return sum(map(len, repetitions)) < _MIN_SAMPLES * (2 if len(repetitions) == 1 else 1)


def parts_of(repetitions: Sequence[Sequence[_Sample]]) -> Sequence[Sequence[_Sample]]:
    """Return what is compared with each other: the repetitions, or parts of a single one."""
    if len(repetitions) > 1:
        return repetitions
    return _cut(repetitions[0], min(_PARTS, len(repetitions[0]) // 2))


def joined(parts: Sequence[Sequence[_Sample]], sets: Sequence[int]) -> Sequence[Sequence[_Sample]]:
    """Return the parts on each set of pages together, where there are several and fewer than parts;
    else the parts."""
    if not 1 < len(set(sets)) < len(parts) == len(sets):
        return parts
    found: dict[int, list[_Sample]] = {}
    for one, samples in zip(sets, parts, strict=True):
        found.setdefault(one, []).extend(samples)
    return [*found.values()]


@dataclass(frozen=True)
class Scatter:
    """How far a sum over repetitions may be from its expectation."""

    ways: Sequence[tuple[float, int]]
    """By repetitions, and by sets of pages where these are several: the variance of the sum, and
    the degrees of freedom that it is known with."""
    units: float
    """Independent repetitions, or sets of pages, that all are worth."""
    correlation: float
    """As in ``Estimate``."""
    no_interval: NoInterval | None = None

    @property
    def inflation(self) -> float:
        """Factor of the variance, by the correlation between repetitions."""
        return (1 + self.correlation) / (1 - self.correlation)

    def bound(self, error: float) -> float:
        """Return half of the sum's confidence interval."""
        return max(
            student_quantile(freedom, error) * math.sqrt(variance)
            for variance, freedom in self.ways
        )


def scatter(
    scores: Sequence[float],
    sizes: Sequence[float],
    repetitions: Sequence[Sequence[float]],
    apart: bool,
    sets: Sequence[int],
) -> Scatter:
    """Return how far the sum of scores may be from 0, its expectation.

    ``scores`` and ``sizes`` are of the parts that ``parts_of`` gives; a size is what a score is in
    proportion to. ``repetitions`` hold the samples' values, whose autocorrelation counts where
    repetitions follow each other. ``sets`` are as ``estimate_median`` has them."""
    single = len(repetitions) == 1
    apart = apart and not single
    likely, correlation = _between(
        [score / size for score, size in zip(scores, sizes, strict=True)]
    )
    if not apart:
        samples = sum(map(len, repetitions)) / len(scores)
        implied = _implied(_autoregression(repetitions), samples)
        if len(set(sets)) == len(scores) >= _MIN_CORRELATED:
            implied = min(implied, likely + 1 / math.sqrt(len(scores)))
        likely, correlation = max(likely, implied), max(correlation, implied)
    correlation = min(correlation, _MAX_CORRELATION)
    inflation = (1 + correlation) / (1 - correlation)
    units = _worth(sizes) * (1 - likely) / (1 + likely)
    freedom = round(units) - 1
    if freedom < 1 and not (apart and _worth(sizes) >= _MIN_WORTH):
        cause: NoInterval = (
            "few-repetitions" if _worth(sizes) < _FEW_REPETITIONS else "autocorrelated"
        )
        return Scatter((), units, correlation, cause)
    ways = [(len(scores) * _variance(scores, sizes) * inflation, max(1, freedom))]
    of_sets = joined([[score] for score in scores], sets)
    if len(of_sets) < len(scores):
        sums = [sum(own) for own in of_sets]
        lengths = [sum(own) for own in joined([[size] for size in sizes], sets)]
        units = min(units, _worth(lengths))
        ways.append((len(sums) * _variance(sums, lengths), max(1, round(_worth(lengths)) - 1)))
    return Scatter(ways, units, correlation)


def _worth(sizes: Sequence[float]) -> float:
    """Return how many parts of the same size say as much (Kish, Survey Sampling, 1965)."""
    return sum(sizes) ** 2 / sum(size * size for size in sizes)


def _cut(samples: Sequence[_Sample], parts: int) -> list[Sequence[_Sample]]:
    """Return the samples in so many stretches of the same length."""
    ends = [part * len(samples) // parts for part in range(parts + 1)]
    return [samples[begin:end] for begin, end in itertools.pairwise(ends)]


def _variance(scores: Sequence[float], samples: Sequence[float]) -> float:
    """Return the variance of the scores of two or more repetitions about their mean for so many
    samples."""
    mean = sum(scores) / sum(samples)
    squares = ((score - mean * count) ** 2 for score, count in zip(scores, samples, strict=True))
    return sum(squares) / (len(scores) - 1)


def _between(shares: Sequence[float]) -> tuple[float, float]:
    """Return the correlation of successive repetitions' shares of samples above the median, without
    the bias of a short series (Kendall, Biometrika 41, 1954), and with a margin on top."""
    n = len(shares)
    square = sum(share * share for share in shares)
    if square < 1e-12:  # all repetitions are alike, but for rounding
        return 0.0, 0.0
    found = sum(a * b for a, b in itertools.pairwise(shares)) / square
    if n < _MIN_CORRELATED:
        found += 1 / n
        found = found if found * math.sqrt(n) > _SIGNIFICANT else 0.0
        return found, found
    found += (1 + 3 * max(found, 0.0)) / n
    margin = _MARGIN * max(0.0, found * math.sqrt(n) - _USUAL)
    found = min(found, _MAX_CORRELATION)
    return max(0.0, found), max(0.0, found + margin * math.sqrt(max(0.0, 1 - found * found) / n))


def _autoregression(repetitions: Sequence[Sequence[float]]) -> float:
    """Return an upper bound of the correlation of a sample with the next one of its repetition.

    Of ranks, so that neither outliers nor two modes count for more than others. The bias of a short
    series is Kendall's (Biometrika 41, 1954).
    """
    ordered = sorted(sample for samples in repetitions for sample in samples)
    n = len(ordered)
    pairs = n - len(repetitions)
    ranks = {
        sample: (bisect_left(ordered, sample) + bisect_right(ordered, sample) - n) / 2
        for sample in set(ordered)
    }
    variance = sum(ranks[sample] ** 2 for sample in ordered) / n
    if variance == 0 or pairs == 0:
        return 0.0
    products = sum(
        ranks[a] * ranks[b] for samples in repetitions for a, b in itertools.pairwise(samples)
    )
    found = products / pairs / variance
    found += (1 + 3 * max(found, 0.0)) / n
    return found + _STANDARD_ERRORS * math.sqrt(max(0.0, 1 - found * found) / pairs)


def _implied(phi: float, samples: float) -> float:
    """Return the correlation of the means of two adjacent stretches of so many samples each, of a
    first-order autoregression."""
    phi = min(phi, 0.999)
    if phi <= 0:
        return 0.0
    lost: float = 1 - phi**samples
    return phi * lost * lost / (samples * (1 - phi * phi) - 2 * phi * lost)


def autocorrelation_time(repetitions: Sequence[Sequence[float]], middle: float) -> float:
    """Return the integrated autocorrelation time, 1..n samples, of whether each sample is above the
    median; samples equal to it are on neither side.

    Pairs of samples are of one repetition each. The sum ends where pairs of lags turn negative
    (initial positive sequence: Geyer, Statistical Science 7, 1992)."""
    # One bit a sample, so that a covariance takes microseconds: long series of a drifting machine
    # need thousands of lags.
    bits = [
        (
            int("".join("1" if sample > middle else "0" for sample in samples), 2),
            int("".join("1" if sample < middle else "0" for sample in samples), 2),
            len(samples),
        )
        for samples in repetitions
    ]

    def covariance(lag: int) -> float:
        total = pairs = 0
        for above, below, length in bits:
            if length > lag:
                later_above, later_below = above >> lag, below >> lag
                total += (above & later_above).bit_count() + (below & later_below).bit_count()
                total -= (above & later_below).bit_count() + (below & later_above).bit_count()
                pairs += length - lag
        return total / pairs

    variance = covariance(0)
    if variance == 0:
        return 1.0  # all samples are equal
    longest = max(length for _, _, length in bits)
    tau = -1.0
    lag = 0
    while lag + 1 < longest:
        pair = (covariance(lag) + covariance(lag + 1)) / variance
        if pair <= 0:
            break
        tau += 2 * pair
        lag += 2
    return min(max(tau, 1.0), float(sum(length for _, _, length in bits)))


@lru_cache(maxsize=4096)
def student_quantile(freedom: int, error: float) -> float:
    """Return what Student's t of so many degrees of freedom, 1 or more, exceeds on either side with
    a probability of ``error``."""
    low, high = 0.0, 1e4
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if student_within(middle, freedom) < 1 - error else (low, middle)
    return high


def student_within(t: float, freedom: int) -> float:
    """Return the probability that Student's t is between -t and t (Abramowitz and Stegun,
    Handbook of Mathematical Functions, 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    odd = freedom % 2
    total, term = 0.0, cosine if odd else 1.0
    for j in range(1 if odd else 0, freedom - 1, 2):
        total += term
        term *= cosine * cosine * (j + 1) / (j + 2)
    return 2 / math.pi * (angle + sine * total) if odd else sine * total
