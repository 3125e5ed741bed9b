"""Times of operations in fio's layout: buckets, percentiles, shares below bounds.

fio counts times below 128 ns one by one, and those above in 64 buckets of equal width for each
power of two; the time of a bucket is its middle (fio's stat.h describes it). Each bucket of
tierscope's own histograms (``model.histogram``) lies within one of those, so that counts are exact.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tierscope.model.histogram import Histogram, values_of

_BITS = 6
_NS = (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)
_MS = (*_NS, 2000)


@dataclass(frozen=True)
class Times:
    """Times in ns: (time, count) in ascending order, as near as tierscope's buckets tell."""

    counts: tuple[tuple[float, int], ...]
    bins: dict[int, int]
    """By the time of fio's bucket."""

    @property
    def number(self) -> int:
        """Of all times."""
        return sum(count for _ns, count in self.counts)

    @property
    def least(self) -> int:
        """The shortest time."""
        return round(self.counts[0][0]) if self.counts else 0

    @property
    def most(self) -> int:
        """The longest time."""
        return round(self.counts[-1][0]) if self.counts else 0

    @property
    def mean(self) -> float:
        """Their mean; 0 of none."""
        return sum(ns * count for ns, count in self.counts) / self.number if self.counts else 0.0

    @property
    def deviation(self) -> float:
        """Their standard deviation; 0 of fewer than two."""
        if self.number < 2:
            return 0.0
        mean = self.mean
        squares = sum(count * (ns - mean) ** 2 for ns, count in self.counts)
        return math.sqrt(squares / (self.number - 1))

    def percentile(self, percent: float) -> int:
        """Return the time of the bucket that a percentile falls in; 0 where there are no times."""
        wanted, found = self.number * percent / 100, 0
        for ns, count in self.bins.items():
            found += count
            if found >= wanted:
                return ns
        return 0


def bucket_time(ns: int) -> int:
    """Return the time that stands for fio's bucket of a time."""
    shift = max(0, ns.bit_length() - 1 - _BITS)
    return ns if shift == 0 else ((ns >> shift) << shift) + (1 << (shift - 1))


def merged(first: Times, second: Times) -> Times:
    """Return the times of both."""
    counts: dict[float, int] = dict(first.counts)
    for ns, count in second.counts:
        counts[ns] = counts.get(ns, 0) + count
    bins = dict(first.bins)
    for time, count in second.bins.items():
        bins[time] = bins.get(time, 0) + count
    return Times(tuple(sorted(counts.items())), dict(sorted(bins.items())))


def times_of(histograms: Iterable[Histogram]) -> Times:
    """Add histograms up."""
    found: dict[int, int] = {}
    for histogram in histograms:
        for bucket, count in zip(histogram[::2], histogram[1::2], strict=True):
            found[bucket] = found.get(bucket, 0) + count
    counts: list[tuple[float, int]] = []
    bins: dict[int, int] = {}
    for bucket in sorted(found):
        low, high = values_of(bucket)
        counts.append(((low + high) / 2, found[bucket]))
        time = bucket_time(low)
        bins[time] = bins.get(time, 0) + found[bucket]
    return Times(tuple(counts), bins)


def shares(all_times: Times) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    """Return percentages of times up to bounds in ns, in µs and in ms, each above the one before.

    A time in the middle of its bucket is at most 0.4% off, so that one next to a bound may count
    on its other side.
    """
    found = _between(all_times, (*_NS, *(1000 * us for us in _NS), *(10**6 * ms for ms in _MS)))
    ns, us = len(_NS), 2 * len(_NS)
    above = {f">={_MS[-1]}": found[-1]}
    return (
        dict(zip(map(str, _NS), found[:ns], strict=True)),
        dict(zip(map(str, _NS), found[ns:us], strict=True)),
        {**dict(zip(map(str, _MS), found[us:-1], strict=True)), **above},
    )


def _between(all_times: Times, bounds: Sequence[int]) -> list[float]:
    counts = [0] * (len(bounds) + 1)
    for time, count in all_times.counts:
        place = next((at for at, bound in enumerate(bounds) if time <= bound), len(bounds))
        counts[place] += count
    number = all_times.number
    return [100 * count / number if number else 0.0 for count in counts]
