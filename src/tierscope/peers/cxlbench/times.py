"""Times of single operations as CXL-Bench's results have them: named figures, and lists."""

import math
import operator
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from tierscope.model.histogram import values_of
from tierscope.model.run import Measurement

_MOST = 10_000
"""Times of a list; of more, as many quantiles stand for all."""
_SHARES = {"lower_quartile": 0.25, "median": 0.5, "upper_quartile": 0.75, "percentile_90": 0.9,
           "percentile_95": 0.95, "percentile_99": 0.99, "percentile_999": 0.999,
           "percentile_9999": 0.9999}  # fmt: skip


@dataclass(frozen=True)
class Times:
    """Times in ns, by their buckets' middles in ascending order, the timer's own included."""

    ns: list[float]
    up_to: list[int]
    """How many take at most as long."""

    @classmethod
    def of(cls, measurement: Measurement, metric: str) -> "Times | None":
        """Return a measurement's times of that distribution; None where it has none."""
        for one in measurement.distributions or ():
            if one.metric == metric and one.histogram:
                middles = [sum(values_of(bucket)) / 2 for bucket in one.histogram[::2]]
                return cls(middles, list(accumulate(one.histogram[1::2])))
        return None

    @property
    def total(self) -> int:
        """Number of operations."""
        return self.up_to[-1]

    @property
    def mean(self) -> float:
        """ns of an operation."""
        times = zip(self.ns, self._counts(), strict=True)
        return sum(ns * count for ns, count in times) / self.total

    def _counts(self) -> Iterator[int]:
        return map(operator.sub, self.up_to, [0, *self.up_to])

    def at(self, rank: int) -> float:
        """Return the time of the operation of this rank, 1 to ``total``, of the shortest first."""
        return self.ns[bisect_left(self.up_to, rank)]

    def named(self) -> dict[str, float]:
        """Return the keys of a result's ``latency``."""
        mean = self.mean
        squares = ((ns - mean) ** 2 for ns in self.ns)
        return {
            "min": self.ns[0],
            "avg": mean,
            "max": self.ns[-1],
            "std_dev": math.sqrt(sum(map(operator.mul, squares, self._counts())) / self.total),
            **{key: self.at(math.ceil(share * self.total)) for key, share in _SHARES.items()},
        }

    def spread(self) -> list[float]:
        """Return all times, or evenly spaced quantiles of them where they are many."""
        count = min(self.total, _MOST)
        return [self.at((2 * i + 1) * self.total // (2 * count) + 1) for i in range(count)]
