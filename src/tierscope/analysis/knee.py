"""The number of threads beyond which bandwidth no longer grows."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tierscope.model.run import Measurement, is_exact

SHARE = 0.95
"""Share of the best bandwidth from which on a path counts as saturated."""
_MIN_SIZES = 4


@dataclass(frozen=True)
class Knee:
    """The fewest threads that reach 95% of the best bandwidth lie between these two counts.

    A path that still scales at its largest count has its knee there, which says that it may lie
    further on.
    """

    first: int
    """The fewest whose interval comes up to 95% of what the best surely reaches."""
    last: int
    """The fewest that surely reach 95% of the best that any may be; else the largest count."""

    def __str__(self) -> str:
        counts = str(self.first) if self.first == self.last else f"{self.first}–{self.last}"
        return f"{counts} thr."


def knee(intervals: Mapping[int, tuple[float, float]]) -> Knee:
    """Return the knee of thread counts, at least one, with the intervals of their bandwidths.

    Where intervals overlap, which count is the first that suffices is not known, and the maximum
    of noisy figures would name a count by chance; so a range of counts comes back.
    """
    surely = max(low for low, _ in intervals.values())
    perhaps = max(high for _, high in intervals.values())
    reaching = [threads for threads, (low, _) in intervals.items() if low >= SHARE * perhaps]
    return Knee(
        first=min(threads for threads, (_, high) in intervals.items() if high >= SHARE * surely),
        last=min(reaching, default=max(intervals)),
    )


def knee_of(measurements: Iterable[Measurement], key: str = "threads") -> Knee:
    """Return the knee of measurements that differ in a count, such as their threads.

    One that should have an interval and has none, as when other programs disturbed it, may be
    anything; one that lacks it by its nature counts with its estimate.
    """
    return knee({int(m.pattern[key]): _interval(m) for m in measurements})


def _interval(measurement: Measurement) -> tuple[float, float]:
    low, high = measurement.ci_low, measurement.ci_high
    if low is not None and high is not None:
        return low, high
    value = measurement.estimate or 0.0
    return (value, value) if is_exact(measurement) else (0.0, math.inf)


@dataclass(frozen=True)
class HalfSize:
    """Summary of a sweep over sizes."""

    peak: float
    """The largest bandwidth, bytes/s."""
    size: float
    """Bytes from which on at least half of it is reached; between two sizes, interpolated."""
    least_s: float
    """Seconds that a transfer of the smallest size takes."""


def half_size(points: Sequence[tuple[float, float]]) -> HalfSize | None:
    """Take (bytes, bytes/s) in any order; None for fewer than four sizes or no half among them."""
    ordered = sorted(points)
    if len({size for size, _ in ordered}) < _MIN_SIZES or ordered[0][1] <= 0:
        return None
    peak = max(rate for _, rate in ordered)
    least_s = ordered[0][0] / ordered[0][1]
    for (small, slow), (large, fast) in reversed(list(pairwise(ordered))):
        if slow < peak / 2 <= fast:
            share = (peak / 2 - slow) / (fast - slow)
            return HalfSize(peak, small + share * (large - small), least_s)
    return None
