"""Hosts of a fleet that are slower than their group, with a bound on false discoveries."""

import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from statistics import NormalDist, median
from typing import NamedTuple

from tierscope.analysis.estimate import NORMAL, student_quantile, student_within
from tierscope.model.metric import METRICS
from tierscope.model.outlier import Outlier as Outlier
from tierscope.model.outlier import SlowPath as SlowPath
from tierscope.model.outlier import Verdict as Verdict

_FEW = 4
"""Degrees of freedom where too little is known, as run-to-run variation has."""
_CHOICES = (200, 100, 60, 40, 30, 20, 15, 10, 8, 6, 5, 4, 3)
_MIN_VALUES = 200
"""Fewer say too little about the one in a hundred that is looked at."""
_FAR = 0.01
_BIN = 0.005
_BINS = 20_000
MINIMUM = 0.01
RATE = 0.05
MIN_HOSTS = 5
"""Minimum hosts of a group; the median of fewer may be that of slow ones."""
_ALIKE = 1e-3
"""Share that hosts differ in at least."""
_Z95 = 1.96
_MAD = 1.4826
_NORMAL = NormalDist().inv_cdf(0.75)
"""Median of the absolute value of a standard normal variable."""
"""Standard deviation of a normal distribution over its MAD."""
_MAD_EFFICIENCY = 0.3675
_MEDIAN_ERROR = math.sqrt(math.pi / 2)
"""Standard error of a median over that of a mean, of normal values."""
_TINY = 1e-15
"""Smaller probabilities are not told apart."""
_NORMAL_FROM = 200
"""Degrees of freedom from which on Student's t is taken as normal."""


class Tail:
    """Counts positive values in bins, so that any number of them takes the same memory."""

    def __init__(self) -> None:
        self._bins = [0] * _BINS
        self._count = 0

    def add(self, value: float) -> None:
        """Count a value if it is positive."""
        if value > 0:
            self._bins[min(_BINS - 1, int(value / _BIN))] += 1
            self._count += 1

    def freedom(self, otherwise: int = _FEW) -> int:
        """Return the most degrees of freedom of a Student's t whose tail is as heavy as that of
        the values: by their 99% quantile over their median. Of few values it is ``otherwise``."""
        if self._count < _MIN_VALUES:
            return otherwise
        middle = self._quantile(0.5)
        seen = self._quantile(1 - _FAR) / middle
        for freedom in (NORMAL, *_CHOICES):
            if student_quantile(freedom, _FAR) / student_quantile(freedom, 0.5) >= seen:
                return freedom
        return _CHOICES[-1]

    def _quantile(self, share: float) -> float:
        """Return a quantile, at the middle of its bin."""
        left = math.ceil(share * self._count)
        for number, count in enumerate(self._bins):
            left -= count
            if left <= 0:
                return (number + 0.5) * _BIN
        return _BINS * _BIN


class PathKey(NamedTuple):
    """Join key of figures of hosts; ``pattern`` is JSON."""

    kind: str
    initiator: str
    target: str
    pattern: str
    metric: str
    unit: str


class HostFigure(NamedTuple):
    """A host's figure of a path; ``model`` holds groups whose hosts are alike."""

    host: str
    group: str
    model: str
    value: float
    low: float | None
    high: float | None


Read = Callable[[frozenset[str] | None], Iterable[tuple[PathKey, list[HostFigure]]]]
"""Yields the paths one by one, each with its hosts: all of them, or those that are named."""


@dataclass(frozen=True)
class _Fit:
    """Centre and spread of one group of a path, as natural logarithms."""

    centre: float
    spread: float
    usual: float
    """Median standard error of the figures."""
    hosts: int
    freedom: int
    """Degrees of freedom of the spread."""

    def slower(self, key: PathKey, figure: HostFigure) -> float:
        """Logarithm of how many times as slow as the centre."""
        apart = math.log(figure.value) - self.centre
        return apart if METRICS[key.metric].better == "lower" else -apart

    def errors(self, figure: HostFigure) -> tuple[float, float]:
        """Standard errors of the deviation without and with what hosts differ in."""
        own = max(_own_error(figure) or 0.0, self.usual)
        centre = _MEDIAN_ERROR * math.hypot(self.spread, self.usual) / math.sqrt(self.hosts)
        return math.hypot(own, centre), math.hypot(own, centre, self.spread, _ALIKE)


@dataclass
class _Scores:
    """A host's scores over its paths, as far as they are known."""

    paths: int = 0
    total: float = 0.0
    slower: float = 0.0
    worst: float = -math.inf
    freedom: int = _NORMAL_FROM

    def add(self, score: float, slower: float, freedom: int) -> None:
        self.paths += 1
        self.total += score
        self.slower += slower
        self.worst = max(self.worst, score)
        self.freedom = min(self.freedom, freedom)


@dataclass
class _Judging:
    """Statistics of a fleet after one pass over its figures."""

    fits: dict[tuple[PathKey, str], _Fit] = field(default_factory=dict)
    scores: dict[str, _Scores] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    """Most hosts of each group on a path."""
    tail: Tail = field(default_factory=Tail)


def find_outliers(read: Read, minimum: float = MINIMUM, rate: float = RATE) -> Verdict:
    """Return the hosts that are slower than their groups; figures are read twice.

    In memory are one path's figures at a time, and a few numbers for each host.
    """
    judging = _Judging()
    for key, figures in read(None):
        _score(judging, key, figures)
    freedom = judging.tail.freedom()
    chances = dict(zip(judging.scores, _host_chances(judging, freedom), strict=True))
    found = {host: q for host, q in q_values(chances).items() if q <= rate}
    outliers = []
    share = rate * len(found) / max(1, len(chances))
    for host, slow in _paths_of(judging, read, frozenset(found), freedom).items():
        outlier = _outlier(judging, host, found[host], slow, share, minimum)
        if outlier is not None:
            outliers.append(outlier)
    return Verdict(
        outliers=sorted(outliers, key=lambda one: (one.q, -max(one.slower, 0.0), one.host)),
        judged=len(chances),
        unjudged={name: size for name, size in judging.sizes.items() if size < MIN_HOSTS},
    )


def q_values(chances: dict[str, float]) -> dict[str, float]:
    """Return, for each p value, the least rate of false discoveries at which it is one
    (Benjamini and Hochberg)."""
    order = sorted(chances, key=lambda name: chances[name], reverse=True)
    found: dict[str, float] = {}
    least = 1.0
    for after, name in enumerate(order):
        least = min(least, chances[name] * len(order) / (len(order) - after))
        found[name] = least
    return found


def _score(judging: _Judging, key: PathKey, figures: list[HostFigure]) -> None:
    """Fit a path's groups and add its scores."""
    models: dict[str, dict[str, list[HostFigure]]] = {}
    for figure in figures:
        models.setdefault(figure.model, {}).setdefault(figure.group, []).append(figure)
    for groups in models.values():
        for name, members in groups.items():
            judging.sizes[name] = max(judging.sizes.get(name, 0), len(members))
        large = {name: own for name, own in groups.items() if len(own) >= MIN_HOSTS}
        if not large:
            continue
        for name, fit in _fits(large).items():
            judging.fits[key, name] = fit
            for figure in large[name]:
                slower = fit.slower(key, figure)
                score = slower / fit.errors(figure)[1]
                scores = judging.scores.setdefault(figure.host, _Scores())
                scores.add(score, slower, fit.freedom)
                judging.tail.add(-score)


def _excess_scatter(residuals: list[tuple[float, float]]) -> float:
    """Return the scatter of residuals that their sampling errors do not explain, robustly.

    Of residuals over their whole standard deviation the median is that of a normal distribution;
    that gives the part of it that sampling is not, whose uncertainty of two standard errors of
    1.17 / sqrt(n) is added.
    """

    def excess(variation: float) -> float:
        scaled = (abs(r) / max(1e-9, math.hypot(s, variation)) for r, s in residuals)
        return median(scaled) - _NORMAL

    if excess(0.0) <= 0:
        return 0.0
    low, high = 0.0, max(abs(residual) for residual, _ in residuals) / _NORMAL
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high * (1 + 2 * 1.17 / math.sqrt(len(residuals)))


def _fits(groups: dict[str, list[HostFigure]]) -> dict[str, _Fit]:
    """Fit the groups of one path and one machine model."""
    errors = [error for own in groups.values() for one in own if (error := _own_error(one))]
    usual = median(errors) if errors else 0.0
    centres = {name: median(math.log(one.value) for one in own) for name, own in groups.items()}
    residuals = []
    for name, own in groups.items():
        # A group's own median lies nearer to its members than the true centre does.
        grow = math.sqrt(len(own) / (len(own) - 1))
        for one in own:
            apart = (math.log(one.value) - centres[name]) * grow
            residuals.append((apart, max(_own_error(one) or 0.0, usual)))
    spread = _excess_scatter(residuals)
    freedom = max(1, int(_MAD_EFFICIENCY * (len(residuals) - len(groups))))
    return {
        name: _Fit(centres[name], spread, usual, len(own), freedom) for name, own in groups.items()
    }


def _own_error(figure: HostFigure) -> float | None:
    """Standard error of a figure's logarithm, from the wider side of its interval."""
    if not figure.low or not figure.high:
        return None
    sides = math.log(figure.high / figure.value), math.log(figure.value / figure.low)
    return max(*sides, 0.0) / _Z95


def chance(score: float, freedom: int) -> float:
    """Return the probability that Student's t exceeds a score."""
    if freedom >= _NORMAL_FROM:
        return max(_TINY, math.erfc(score / math.sqrt(2)) / 2)
    above = (1 - student_within(abs(score), freedom)) / 2
    return max(_TINY, above if score > 0 else 1 - above)


def _host_chances(judging: _Judging, freedom: int) -> Iterator[float]:
    """Yield each host's p value over its paths."""
    hosts = list(judging.scores.values())
    means = _standardized_means(hosts)
    tail = Tail()
    for mean in means:
        tail.add(-mean)
    of_means = tail.freedom(freedom)
    for scores, mean in zip(hosts, means, strict=True):
        slowest = scores.paths * chance(scores.worst, min(freedom, scores.freedom))
        if scores.paths == 1:
            yield min(1.0, slowest)
        else:
            yield min(1.0, 2 * min(slowest, chance(mean, min(of_means, scores.freedom))))


def _standardized_means(hosts: list[_Scores]) -> list[float]:
    """Return the hosts' mean scores over their standard deviation, which the correlation of paths
    makes larger than independence would."""
    if not hosts:
        return []
    means = [one.total / one.paths for one in hosts]
    usual = median(one.paths for one in hosts)
    complete = [mean for mean, one in zip(means, hosts, strict=True) if one.paths >= usual]
    centre = median(complete)
    variance = (_MAD * median(abs(mean - centre) for mean in complete)) ** 2
    shared = 0.0
    if usual > 1:
        shared = min(1.0, max(0.0, (variance - 1 / usual) / (1 - 1 / usual)))
    return [
        (mean - centre) / math.sqrt(shared + (1 - shared) / one.paths)
        for mean, one in zip(means, hosts, strict=True)
    ]


def _paths_of(
    judging: _Judging, read: Read, hosts: frozenset[str], freedom: int
) -> dict[str, list[tuple[SlowPath, HostFigure, _Fit]]]:
    """Return all paths of a few hosts, by host, surest difference first."""
    found: dict[str, list[tuple[SlowPath, HostFigure, _Fit]]] = {host: [] for host in hosts}
    for key, figures in read(hosts) if hosts else ():
        for figure in figures:
            fit = judging.fits.get((key, figure.group))
            if fit is not None:
                path = _slow_path(key, figure, fit, freedom)
                found[figure.host].append((path, figure, fit))
    for paths in found.values():
        paths.sort(key=lambda one: (one[0].p, -abs(one[0].deviation)))
    return found


def _slow_path(key: PathKey, figure: HostFigure, fit: _Fit, freedom: int) -> SlowPath:
    apart = math.log(figure.value) - fit.centre
    measured, whole = fit.errors(figure)
    half = _Z95 * measured
    return SlowPath(
        **{**key._asdict(), "pattern": json.loads(key.pattern)},
        figure=figure.value,
        centre=math.exp(fit.centre),
        deviation=math.expm1(apart),
        low=math.expm1(apart - half),
        high=math.expm1(apart + half),
        p=chance(fit.slower(key, figure) / whole, min(freedom, fit.freedom)),
    )


def _outlier(
    judging: _Judging,
    host: str,
    q: float,
    paths: list[tuple[SlowPath, HostFigure, _Fit]],
    rate: float,
    minimum: float,
) -> Outlier | None:
    """Return a host's finding; None where no difference is as large as ``minimum``."""
    scores = judging.scores[host]
    q_of_paths = q_values({str(number): path.p for number, (path, _, _) in enumerate(paths)})
    slow = [
        path
        for number, (path, _, _) in enumerate(paths)
        if q_of_paths[str(number)] <= rate and abs(path.deviation) >= minimum
    ]
    slower = math.expm1(scores.slower / scores.paths)
    if not slow and slower < minimum:
        return None
    _, figure, fit = paths[0]
    return Outlier(
        host=host,
        group=figure.group,
        group_hosts=fit.hosts,
        q=q,
        judged=scores.paths,
        together=not slow,
        slower=slower,
        paths=slow or [paths[0][0]],
    )
