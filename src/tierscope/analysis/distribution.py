"""Percentiles, mean and maximum of single operations, over the histograms of all kept samples.

A percentile is read from the sum of all histograms. It is given only where at least ten operations
took longer: fewer say nothing of a tail.

Its interval is Woodruff's for samples in clusters, as that of a median is (``estimate``): how far
the share of longer operations may be from the nominal one comes from how much it scatters between
repetitions, and both ends of that share's interval are looked up in the sum of all histograms,
rounded outwards to buckets. Small shares scatter lopsidedly, so the interval is Wilson's (Journal
of the American Statistical Association 22, 1927), with the number of independent operations that
would scatter as much (Korn and Graubard, Survey Methodology 24, 1998), at most as many as there
are."""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate
from statistics import NormalDist

from tierscope.analysis.estimate import (
    Estimate,
    parts_of,
    scatter,
    too_few,
)
from tierscope.model.histogram import Histogram, values_of
from tierscope.model.metric import PERCENTILES
from tierscope.model.run import NoInterval

MIN_BEYOND = 10
"""Operations that take longer than a percentile that is given."""


class Counts:
    """A histogram that answers how many operations took longer."""

    def __init__(self, histogram: Sequence[int]) -> None:
        self.buckets = histogram[::2]
        self.counts = histogram[1::2]
        self.from_here = [*accumulate(reversed(self.counts), initial=0)][::-1]
        """Operations of each bucket and all further ones; of none at the end."""
        self.total = self.from_here[0]

    def longer(self, bucket: int, share: float = 0.0) -> float:
        """Return how many operations are in further buckets, and of this one's a share."""
        at = bisect_left(self.buckets, bucket)
        if at == len(self.buckets) or self.buckets[at] != bucket:
            return self.from_here[at]
        return self.from_here[at + 1] + share * self.counts[at]

    def place_of(self, longer: float) -> int:
        """Return the place, in ``buckets``, of the operation that so many took longer than."""
        low, high = 0, len(self.buckets) - 1
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.from_here[middle] > longer else (low, middle - 1)
        return low

    def sum(self) -> float:
        """Return the time in ns of all operations together."""
        return sum(
            count * _middle(bucket) for bucket, count in zip(self.buckets, self.counts, strict=True)
        )


def merged(repetitions: Sequence[Sequence[Histogram]]) -> Histogram:
    """Return the sum of all samples' histograms."""
    total: Counter[int] = Counter()
    for samples in repetitions:
        for sample in samples:
            for bucket, count in zip(sample[::2], sample[1::2], strict=True):
                total[bucket] += count
    return [number for item in sorted(total.items()) for number in item]


def percentile(histogram: Histogram, beyond: float) -> float | None:
    """Return the time in ns that a share ``beyond`` of all operations exceed; None where fewer than
    ten do."""
    counts = Counts(histogram)
    if beyond * counts.total < MIN_BEYOND:
        return None
    return _middle(counts.buckets[counts.place_of(beyond * counts.total)])


def estimates(
    repetitions: Sequence[Sequence[Histogram]],
    error: float = 0.05,
    apart: bool = False,
    pages: Sequence[int] = (),
) -> Iterator[tuple[str, Estimate]]:
    """Yield mean, percentiles and maximum by name, in ns, of all samples; nothing of no operation.

    ``repetitions`` hold the histograms of the kept samples; the further parameters are those of
    ``estimate_median``. A figure of less than 1 ns is left out.
    """
    own = [
        [counts for sample in samples if (counts := Counts(sample)).total]
        for samples in repetitions
    ]
    sets = [one for one, samples in zip(pages, own, strict=False) if samples]
    own = [samples for samples in own if samples]
    whole = Counts(merged(repetitions))
    if not own:
        return
    sample = _Sample(own, whole, error, apart, sets)
    found = [("mean", sample.mean())]
    found += [
        (name, sample.percentile(beyond))
        for name, beyond in PERCENTILES.items()
        if beyond * whole.total >= MIN_BEYOND
    ]
    found.append(("max", sample.maximum()))
    yield from ((name, estimate) for name, estimate in found if estimate.value >= 1)


class _Sample:
    """Samples of repetitions with what their estimates have in common."""

    def __init__(
        self,
        repetitions: list[list[Counts]],
        whole: Counts,
        error: float,
        apart: bool,
        sets: Sequence[int],
    ) -> None:
        self.repetitions = repetitions
        self.whole = whole
        self.error = error
        self.apart = apart
        self.sets = sets
        self.normal = NormalDist().inv_cdf(1 - error / 2)
        self.parts = None if too_few(repetitions) else parts_of(repetitions)

    def percentile(self, beyond: float) -> Estimate:
        """Return what a share ``beyond`` of all operations exceed."""
        whole = self.whole
        place = whole.place_of(beyond * whole.total)
        bucket = whole.buckets[place]
        value = _middle(bucket)
        # Operations of one bucket count as evenly spread.
        share = (beyond * whole.total - whole.from_here[place + 1]) / whole.counts[place]
        samples = [
            [sample.longer(bucket, share) for sample in repetition]
            for repetition in self.repetitions
        ]
        least = beyond * (1 - beyond) * whole.total
        found = self._scatter(samples, beyond, least)
        if isinstance(found, str):
            return Estimate(value, None, None, 0, no_interval=found)
        effective = whole.total * least / found**2
        low, high = _wilson(beyond, effective, self.normal)
        if low * whole.total < 1:  # the interval ends beyond the maximum
            return Estimate(value, None, None, effective, no_interval="few-samples")
        lowest, _ = values_of(whole.buckets[whole.place_of(high * whole.total)])
        _, highest = values_of(whole.buckets[whole.place_of(low * whole.total)])
        return Estimate(value, lowest, highest, effective)

    def mean(self) -> Estimate:
        """Return the mean over all operations."""
        whole = self.whole
        value = whole.sum() / whole.total
        samples = [[sample.sum() for sample in repetition] for repetition in self.repetitions]
        squares = sum(
            count * (_middle(bucket) - value) ** 2
            for bucket, count in zip(whole.buckets, whole.counts, strict=True)
        )
        found = self._scatter(samples, value, squares)
        if isinstance(found, str):
            return Estimate(value, None, None, 0, no_interval=found)
        factor = math.exp(found * self.normal / whole.total / value)
        effective = whole.total * squares / found**2 if found else whole.total
        return Estimate(value, value / factor, value * factor, effective)

    def maximum(self) -> Estimate:
        """Return the longest time; no interval can say how much longer the next one takes."""
        return Estimate(_middle(self.whole.buckets[-1]), None, None, 0, no_interval="maximum")

    def _scatter(self, samples: list[list[float]], each: float, least: float) -> float | NoInterval:
        """Return the standard deviation of a sum over all operations, or why it is not known; made
        so large that normal quantiles suit it.

        ``samples`` have what each sample adds to the sum, ``each`` is what an operation adds on
        average, ``least`` is the variance of the sum where operations are independent."""
        if self.parts is None:
            return "few-samples"
        sizes = [sum(sample.total for sample in part) for part in self.parts]
        sums = [sum(part) for part in parts_of(samples)]
        means = [
            [own / sample.total for own, sample in zip(mine, repetition, strict=True)]
            for mine, repetition in zip(samples, self.repetitions, strict=True)
        ]
        scores = [own - each * size for own, size in zip(sums, sizes, strict=True)]
        found = scatter(scores, sizes, means, self.apart, self.sets)
        if found.no_interval:
            return found.no_interval
        return max(found.bound(self.error) / self.normal, math.sqrt(least))


def _wilson(share: float, n: float, normal: float) -> tuple[float, float]:
    """Return Wilson's interval of a share of ``n`` independent operations."""
    more = normal * normal / n
    middle = (share + more / 2) / (1 + more)
    half = normal * math.sqrt((share * (1 - share) + more / 4) / n) / (1 + more)
    return middle - half, middle + half


@cache
def _middle(bucket: int) -> float:
    low, high = values_of(bucket)
    return (low + high) / 2
