"""From a sweep over sizes: the peak, and the size that reaches half of it (Hockney's n1/2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_MIN_SIZES = 4


@dataclass(frozen=True)
class HalfSize:
    """What a sweep over sizes comes to."""

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
    for (small, slow), (large, fast) in pairwise(ordered):
        if slow < peak / 2 <= fast:
            share = (peak / 2 - slow) / (fast - slow)
            return HalfSize(peak, small + share * (large - small), least_s)
    return None
