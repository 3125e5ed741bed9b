"""Histograms of times in ns, in the layout of ``engine/sampling/histogram.h``.

That of Gil Tene's HdrHistogram (https://hdrhistogram.org) for two significant digits: below 256 ns
each value has a bucket; from there on each power of two has 128 buckets of equal width. Written
sparsely: bucket, count, bucket, count, ... in ascending order, empty buckets left out.
"""

from itertools import pairwise
from typing import Annotated

from pydantic import AfterValidator

BUCKETS = 128 * 36
"""The last one ends at 2^42 - 1 ns, 73 minutes; what takes longer is in it, too."""
_MAX_COUNT = 1 << 53
"""Up to here a float has every count exactly."""


def bucket_of(ns: int) -> int:
    """Return the bucket of a time in ns, 0 or more."""
    value = min(ns, (1 << 42) - 1)
    shift = max(0, value.bit_length() - 8)
    return 128 * shift + (value >> shift)


def values_of(bucket: int) -> tuple[int, int]:
    """Return the least and the largest value in ns of a bucket."""
    shift = max(0, bucket // 128 - 1)
    low = (bucket - 128 * shift) << shift
    return low, low + (1 << shift) - 1


def _check(histogram: list[int]) -> list[int]:
    buckets, counts = histogram[::2], histogram[1::2]
    if len(buckets) != len(counts):
        raise ValueError("a histogram's last bucket has no count")
    if any(a >= b for a, b in pairwise(buckets)):
        raise ValueError("a histogram's buckets are not in ascending order")
    if buckets and not 0 <= buckets[0] <= buckets[-1] < BUCKETS:
        raise ValueError(f"a histogram's buckets are not within 0 and {BUCKETS - 1}")
    if counts and (min(counts) < 1 or sum(counts) > _MAX_COUNT):
        raise ValueError(f"a histogram's counts are not above 0 and at most {_MAX_COUNT} in sum")
    return histogram


Histogram = Annotated[list[int], AfterValidator(_check)]
"""A sparse histogram; empty: of nothing."""
