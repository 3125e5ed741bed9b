"""Hosts of a fleet that are slower than their group, with a bound on false discoveries."""

import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, NamedTuple

from tierscope.analysis.estimate import student_quantile, student_within
from tierscope.analysis.scatter import EFFICIENCY, Tail, allowed, most_tie, slow_side, within
from tierscope.model.metric import METRICS
from tierscope.model.outlier import Detectable, Uneven
from tierscope.model.outlier import Outlier as Outlier
from tierscope.model.outlier import SlowPath as SlowPath
from tierscope.model.outlier import Verdict as Verdict

MINIMUM = 0.01
RATE = 0.05
MOST = 0.05
"""Share of a group's hosts that may be slow for a reason; more are what its hosts differ in."""
MIN_HOSTS = 5
"""Minimum hosts of a group; the median of fewer may be that of slow ones."""
_FALSE_ALARM = 3e-4
"""Maximum probability of naming a host that is like its group."""
_APART = 4.0
"""Standard deviations of most hosts from which on others count as apart from them."""
_FEW_HOSTS, _LIKE_PATHS = 20, 3
"""With fewer hosts, and at least so many like paths, the spread leans on that of like paths."""
_LEANING = 4
"""Degrees of freedom that like paths are worth."""
_ALIKE = 1e-3
"""Share that hosts differ in at least."""
_AT_A_CAP = 5e-3
"""The same of fewer than ``_FEW_HOSTS`` hosts, of which most tie: few are left to tell how far
those lie that do not reach the cap."""
_Z95 = 1.96
_MEDIAN_ERROR = math.sqrt(math.pi / 2)
"""Standard error of a median over that of a mean, of normal values."""
_TINY = 1e-15
"""Smaller probabilities are not told apart."""
_NORMAL_FROM = 200
"""Degrees of freedom from which on Student's t is taken as normal."""


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

    def leaning(self, usual: float) -> "_Fit":
        """Return a fit whose spread leans on what is usual."""
        whole = self.freedom + _LEANING
        variance = (self.freedom * self.spread**2 + _LEANING * usual**2) / whole
        return replace(self, spread=math.sqrt(variance), freedom=whole)

    def errors(self, figure: HostFigure | None) -> tuple[float, float]:
        """Standard errors of the deviation of a figure, or of a usual one, without and with what
        hosts differ in."""
        own = max((figure and _own_error(figure)) or 0.0, self.usual)
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

    minimum: float
    most: float
    fits: dict[tuple[PathKey, str], _Fit] = field(default_factory=dict)
    scores: dict[str, _Scores] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    """Most hosts of each group on a path."""
    tail: Tail = field(default_factory=Tail)
    few: list[tuple[PathKey, str, list[list[HostFigure]], dict[str, _Fit]]] = field(
        default_factory=list
    )
    """Paths, models, groups and fits of too few hosts to tell a spread by; they are scored last."""
    uneven: dict[str, Uneven] = field(default_factory=dict)
    """By group, with the path on which most of its hosts lie apart."""

    def score(
        self, key: PathKey, groups: Iterable[list[HostFigure]], fits: dict[str, _Fit]
    ) -> None:
        """Add the scores of a path's groups."""
        for members in groups:
            fit = self.fits[key, members[0].group] = fits[members[0].group]
            for figure in members:
                slower = fit.slower(key, figure)
                score = slower / fit.errors(figure)[1]
                self.scores.setdefault(figure.host, _Scores()).add(score, slower, fit.freedom)
                self.tail.add(score)


def find_outliers(
    read: Read, minimum: float = MINIMUM, rate: float = RATE, most: float = MOST
) -> Verdict:
    """Return the hosts that are slower than their groups; figures are read twice.

    Of each group at most the share ``most`` can be slow for a reason, and one host in any case.
    In memory are one path's figures at a time, and a few numbers for each host.
    """
    judging = _Judging(minimum, most)
    for key, figures in read(None):
        _score(judging, key, figures)
    _score_few(judging)
    freedom = judging.tail.freedom()
    chances = dict(zip(judging.scores, _host_chances(judging, freedom), strict=True))
    found = {
        host: q
        for host, q in q_values(chances).items()
        if q <= rate and chances[host] <= _FALSE_ALARM
    }
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
        uneven=[*judging.uneven.values()],
        detectable=_detectable(judging, min(_FALSE_ALARM, rate / max(1, len(chances))), freedom),
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
    for model, groups in models.items():
        for name, members in groups.items():
            judging.sizes[name] = max(judging.sizes.get(name, 0), len(members))
        large = {name: own for name, own in groups.items() if len(own) >= MIN_HOSTS}
        if not large:
            continue
        fits = _fits(judging, key, large)
        if sum(map(len, large.values())) < _FEW_HOSTS:
            judging.few.append((key, model, [*large.values()], fits))
        else:
            judging.score(key, large.values(), fits)


def _score_few(judging: _Judging) -> None:
    """Score what has few hosts, by spreads that lean on those of like paths.

    The variance is the mean of a path's own, weighted by its degrees of freedom, and of what is
    usual on paths of the same kind and metric (as in Smyth, Statistical Applications in Genetics
    and Molecular Biology 3, 2004, with a weight that is given).
    """
    alike: dict[tuple[str, str, str], list[float]] = {}
    for key, model, _, fits in judging.few:
        (spread, *_) = {fit.spread for fit in fits.values()}
        alike.setdefault((key.kind, key.metric, model), []).append(spread)
    for key, model, groups, fits in judging.few:
        spreads = alike[key.kind, key.metric, model]
        if len(spreads) >= _LIKE_PATHS:
            fits = {name: fit.leaning(median(spreads)) for name, fit in fits.items()}
        judging.score(key, groups, fits)


def _fits(judging: _Judging, key: PathKey, groups: dict[str, list[HostFigure]]) -> dict[str, _Fit]:
    """Fit the groups of one path and one machine model, and note which of them is uneven."""
    errors = [error for own in groups.values() for one in own if (error := _own_error(one))]
    usual = median(errors) if errors else 0.0
    centres = {name: median(math.log(one.value) for one in own) for name, own in groups.items()}
    sign = 1 if METRICS[key.metric].better == "lower" else -1
    slower = {
        name: [sign * (math.log(one.value) - centres[name]) * _grown(own) for one in own]
        for name, own in groups.items()
    }
    every = [one for own in slower.values() for one in own]
    most_hosts = within(every)
    spread = max(most_hosts, slow_side(every, judging.most))
    spread = math.sqrt(max(0.0, spread**2 - usual**2))
    if len(every) < _FEW_HOSTS and most_tie(every):
        spread = max(spread, _AT_A_CAP)
    freedom = max(1, round(EFFICIENCY * (len(every) - len(groups))))
    bound = max(_APART * math.hypot(most_hosts, _ALIKE), math.log1p(judging.minimum))
    for name, own in slower.items():
        _note_uneven(judging, key, name, own, bound)
    return {
        name: _Fit(centres[name], spread, usual, len(own), freedom) for name, own in groups.items()
    }


def _grown(members: list[HostFigure]) -> float:
    """Return what makes up for a group's own median, which lies nearer to its members than the true
    centre does."""
    return math.sqrt(len(members) / (len(members) - 1))


def _note_uneven(
    judging: _Judging, key: PathKey, group: str, slower: list[float], bound: float
) -> None:
    """Note a group in which more hosts lie apart from the others than may be slow for a reason."""
    apart = [one for one in slower if one > bound]
    if len(apart) <= allowed(len(slower), judging.most):
        return
    before = judging.uneven.get(group)
    paths = 1 + (before.paths if before else 0)
    if before and before.hosts >= len(apart):
        judging.uneven[group] = before.model_copy(update={"paths": paths})
        return
    judging.uneven[group] = Uneven(
        **_fields_of(key),
        group=group,
        hosts=len(apart),
        group_hosts=len(slower),
        slower=_share(key, median(apart)),
        paths=paths,
    )


def _detectable(judging: _Judging, chance_: float, freedom: int) -> list[Detectable]:
    """Return by how much a host has to be slower on one path alone to be named, at most of its
    groups; the largest first."""
    tests = max((one.paths for one in judging.scores.values()), default=1)
    tests *= 2 if tests > 1 else 1
    found: dict[PathKey, float] = {}
    for (key, _), fit in judging.fits.items():
        whole = fit.errors(None)[1]
        far = student_quantile(min(freedom, fit.freedom), min(1.0, 2 * chance_ / tests))
        found[key] = max(found.get(key, 0.0), judging.minimum, _share(key, far * whole))
    return [
        Detectable(**_fields_of(key), slower=slower)
        for key, slower in sorted(found.items(), key=lambda item: -item[1])
    ]


def _fields_of(key: PathKey) -> dict[str, Any]:
    return {**key._asdict(), "pattern": json.loads(key.pattern)}


def _share(key: PathKey, slower: float) -> float:
    """Return a logarithm of how many times as slow as a share: of rates what is missing."""
    return math.expm1(slower) if METRICS[key.metric].better == "lower" else -math.expm1(-slower)


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
    means = _standardized_means(hosts, judging.most)
    tail = Tail()
    for mean in means:
        tail.add(mean)
    of_means = tail.freedom(freedom)
    for scores, mean in zip(hosts, means, strict=True):
        slowest = scores.paths * chance(scores.worst, min(freedom, scores.freedom))
        if scores.paths == 1:
            yield min(1.0, slowest)
        else:
            yield min(1.0, 2 * min(slowest, chance(mean, min(of_means, scores.freedom))))


def _standardized_means(hosts: list[_Scores], most: float) -> list[float]:
    """Return the hosts' mean scores over their standard deviation, which the correlation of paths
    makes larger than independence would."""
    if not hosts:
        return []
    means = [one.total / one.paths for one in hosts]
    usual = median(one.paths for one in hosts)
    complete = [mean for mean, one in zip(means, hosts, strict=True) if one.paths >= usual]
    centre = median(complete)
    apart = [mean - centre for mean in complete]
    variance = max(within(apart), slow_side(apart, most)) ** 2
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
        **_fields_of(key),
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
