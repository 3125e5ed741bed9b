"""How far like hosts lie apart: a standard deviation and a tail that slow hosts do not widen.

Values are natural logarithms of figures, or scores.
"""

import math
from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from statistics import NormalDist

from tierscope.analysis.estimate import NORMAL, student_quantile

_NORMAL = NormalDist()
_QN = 2.2191
"""Standard deviation of a normal distribution over the first quartile of the distances of pairs."""
_QN_OF_FEW = {2: 0.399, 3: 0.994, 4: 0.512, 5: 0.844, 6: 0.611, 7: 0.857, 8: 0.669, 9: 0.872}
_COARSEST = 0.02
EFFICIENCY = 0.82
"""Degrees of freedom of ``within`` for each one of a standard deviation."""
_PAIRED = 100
"""Maximum number of values of which all pairs are formed; more are thinned out evenly."""
_CHOICES = (200, 100, 60, 40, 30, 20, 15, 10, 8, 6, 5, 4, 3)
_MIN_VALUES = 200
"""Minimum number of values on a side that its tail is taken from."""
_FEW = 4
"""Degrees of freedom where there are fewer."""
_BODY, _NEAR, _FAR = 0.2, 0.1, 0.01
"""Shares of a side's values: where the sides are compared, and where a tail is read off."""
_SKEW = 0.05
_BELOW_CAP = (0.05, 0.2)
"""Shares of the scores that are not that of the centre, between which those have the longest tail:
fewer may be slow for a reason, more tell how far they reach."""
_BIN = 0.005
_BINS = 20_000


def allowed(count: int, most: float) -> int:
    """Return how many of so many hosts a share is, one at least."""
    return max(1, int(most * count))


def within(values: list[float]) -> float:
    """Return the standard deviation of most values (at least 2): few far ones do not change it.

    Qn of Rousseeuw and Croux, Journal of the American Statistical Association 88, 1993; of few
    values as in Croux and Rousseeuw, Computational Statistics 1, 1992.
    """
    values = sorted(_untied(values))
    thin = values[:: -(-len(values) // _PAIRED)]
    count = len(thin)
    distances = sorted(abs(a - b) for a, b in combinations(thin, 2))
    half = count // 2 + 1
    few = _QN_OF_FEW.get(count, count / (count + (1.4 if count % 2 else 3.8)))
    return _QN * few * distances[half * (half - 1) // 2 - 1]


def slow_side(slower: list[float], most: float) -> float:
    """Return the standard deviation of the normal distribution that reaches as far on the slow side
    as the values do, but for the slowest ones, a share that may be slower for a reason.

    ``slower`` says how much slower than the centre each of 3 or more is.
    """
    values = sorted(_untied(slower), reverse=True)
    out = allowed(len(values), most)
    share = (len(values) - out - 0.5) / len(values)
    return max(0.0, values[out] / _NORMAL.inv_cdf(max(0.6, share)))


def most_tie(values: list[float]) -> bool:
    """Return whether half of the values or more are the same one."""
    ((_, most),) = _counts(values).most_common(1)
    return most > 1 and 2 * most >= len(values)


def _counts(values: list[float]) -> Counter[float]:
    return Counter(round(value, 9) for value in values)


def _untied(values: list[float]) -> list[float]:
    """Return rounded values as if they had not been rounded: those that tie lie evenly apart.

    The step is the least distance of two, but at most 2%: no figure is rounded more. Where less
    than half of the values tie with another one, they were not rounded.
    """
    counts = _counts(values)
    levels = sorted(counts)
    tied = sum(count for count in counts.values() if count > 1)
    if len(levels) < 2 or 2 * tied < len(values):
        return values
    step = min(_COARSEST, *(b - a for a, b in pairwise(levels)))
    return [
        level + step * ((number + 0.5) / counts[level] - 0.5)
        for level in levels
        for number in range(counts[level])
    ]


class _Side:
    """Counts positive values in bins, so that any number of them takes the same memory."""

    def __init__(self) -> None:
        self._bins = [0] * _BINS
        self.count = 0

    def add(self, value: float) -> None:
        if value > 0:
            self._bins[min(_BINS - 1, int(value / _BIN))] += 1
            self.count += 1

    def reach(self, share: float) -> float:
        """Return the quantile that a share of the values is beyond, over their median."""
        return self._quantile(1 - share) / self._quantile(0.5)

    def freedom(self, share: float) -> int:
        """Return the most degrees of freedom of a Student's t that reaches as far."""
        seen = self.reach(share)
        for freedom in (NORMAL, *_CHOICES):
            if student_quantile(freedom, share) / student_quantile(freedom, 0.5) >= seen:
                return freedom
        return _CHOICES[-1]

    def _quantile(self, share: float) -> float:
        """Return a quantile, at the middle of its bin."""
        left = math.ceil(share * self.count)
        for number, count in enumerate(self._bins):
            left -= count
            if left <= 0:
                return (number + 0.5) * _BIN
        return _BINS * _BIN


@dataclass
class Tail:
    """The tail of scores, as degrees of freedom of a Student's t.

    Hosts that are slow for a reason are on one side only, so the other side shows how far scores
    reach by themselves. Where the slow side is longer even well inside, where few slow hosts make
    no difference, scores are skewed, and the tail is that of the slow side.
    """

    _slow: _Side = field(default_factory=_Side)
    _fast: _Side = field(default_factory=_Side)
    _ties: int = 0

    def add(self, score: float) -> None:
        """Count a score, positive of what is slow."""
        self._slow.add(score)
        self._fast.add(-score)
        self._ties += score == 0

    def freedom(self, otherwise: int = _FEW) -> int:
        """Return the degrees of freedom; of few scores they are ``otherwise``."""
        apart = self._slow.count + self._fast.count
        few, many = (share * (apart + self._ties) for share in _BELOW_CAP)
        if few < apart < many:
            return _CHOICES[-1]  # most hosts are at a cap, and few tell how far others lie
        if min(self._slow.count, self._fast.count) < _MIN_VALUES:
            return otherwise
        longer = self._slow.reach(_BODY) / self._fast.reach(_BODY) - 1
        if longer > max(_SKEW, 2.4 / math.sqrt(self._slow.count)):
            return self._slow.freedom(_NEAR)
        return self._fast.freedom(_FAR)
