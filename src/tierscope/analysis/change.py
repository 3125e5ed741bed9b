"""Changes of figures between two runs, and their run-to-run variation."""

import json
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import NormalDist, fmean, median, stdev, variance

from tierscope.analysis.estimate import student_quantile
from tierscope.analysis.plateaus import plateaus
from tierscope.model.endpoint import EndpointKind
from tierscope.model.run import Measurement, Run

_Z95 = 1.96
"""Half-width of a normal 95% interval in standard deviations."""
_MUCH_DISTURBED = 0.25
_MIN_CURVE = 4
"""Minimum sizes of a curve whose levels can be told apart."""
_MAX_PRIVATE_LEVEL = 2
_PRIVATE_SHARE = 1 / 4
"""Usable share of a core's own cache: room for three arrays, its other thread and page tables."""

_CPU_ENDPOINTS = (EndpointKind.NODE, EndpointKind.CPUS)

_Curve = tuple[str, str, str]
"""Endpoints and all of the pattern but the size."""
_Group = tuple[str, str, bool]
"""Kind, metric, and whether the working set stays in the cores' own caches."""
_CONFIDENCE = 0.95
_FREEDOM = 4
"""Degrees of freedom of changes: figures vary from run to run by different amounts."""
_USUAL = 0.005
"""Median of the variation before any is seen, of half a Cauchy distribution (Gelman, Bayesian
Analysis 1, 2006), which is below 3% with 90%."""
_MOSTLY = 0.9
_VARIATIONS = [1e-4 * 1.2**step for step in range(50)]
"""0.01% to 75%."""
_MIN_OF_GROUP = 6
_MIN_OF_PATH = 5
"""Fewer measurements cannot tell that a path changed as a whole."""
_ALIKE = 4.0
"""Times that a path's change has to be larger than what its measurements differ in."""


@dataclass(frozen=True)
class Traits:
    """Traits of the machine's caches, as two runs show them."""

    private_bytes: float
    """Working set of a CPU that certainly stays in the core's own caches."""
    shared_caches: dict[tuple[_Curve, int], float]
    """Sizes on latency's curves between a core's own caches and memory, with the standard deviation
    to expect of the latency's logarithm."""

    @classmethod
    def of(cls, base: Run, new: Run) -> "Traits":
        """Read them from both runs, of the same machine."""
        private = _private_bytes(base)
        found = _in_shared_caches(base, private)
        for key, spread in _in_shared_caches(new, private).items():
            found[key] = max(spread, found.get(key, 0.0))
        return cls(private, found)


@dataclass(frozen=True)
class Change:
    """A measurement that both runs have and that can be compared, as natural logarithms."""

    base: Measurement
    new: Measurement
    size: float
    sampling: float
    """Standard error of ``size`` from both intervals."""
    spread: float
    """Standard deviation of a single sample, both runs together."""
    group: _Group
    volatile: bool
    """In either run other programs took CPU time during much of it, or its working set is in shared
    caches, where latency depends on how much of them other programs leave."""
    earlier: tuple[float, int] = (0.0, 0)
    """Variation, as ``Variation`` has it, of the figure's earlier runs, and the degrees of freedom
    that it is known with."""
    before: tuple[float, float] = (0.0, 0.0)
    """Least and most change from the base that was there before: in the base itself, 0, and in
    further earlier runs."""

    @property
    def error(self) -> float:
        """Standard error of ``size``; a volatile figure is trusted no further than its samples."""
        return math.hypot(self.sampling, self.spread) if self.volatile else self.sampling

    @property
    def beyond(self) -> float:
        """How far the change goes beyond what was there before."""
        low, high = self.before
        return self.size - min(max(self.size, low), high)


def pair_spread(base: Measurement, new: Measurement) -> float:
    """Standard deviation of the logarithm of the ratio of one repetition of each side.

    Variation from run to run is no part of it: sides that are measured in turn share it.
    """
    return math.hypot(*(_sampling(m) * math.sqrt(m.repetitions or 1) for m in (base, new)))


def change_of(
    base: Measurement,
    new: Measurement,
    traits: Traits,
    before: Sequence[Measurement] = (),
) -> Change:
    """Return the change of a measurement that gave a positive figure in both runs, and in further
    runs from ``before``."""
    assert base.estimate
    assert new.estimate
    where = _latency_size(base) if _is_chase(base) else None
    shared = traits.shared_caches.get(where) if where else None
    return Change(
        base=base,
        new=new,
        size=math.log(new.estimate / base.estimate),
        sampling=math.hypot(_sampling(base), _sampling(new)),
        spread=max(math.hypot(_spread(base), _spread(new)), shared or 0.0),
        group=(base.kind, str(base.metric), _bytes_of_a_cpu(base) <= traits.private_bytes),
        volatile=shared is not None
        or any(_disturbed_share(m) > _MUCH_DISTURBED for m in (base, new)),
        earlier=_earlier([base, *before]),
        before=_before(base, before),
    )


def _before(base: Measurement, before: Sequence[Measurement]) -> tuple[float, float]:
    """Return the least and the most change from the base to itself and to earlier runs."""
    changes = [0.0] + [
        math.log((other.estimate or 1.0) / (base.estimate or 1.0)) for other in before
    ]
    return min(changes), max(changes)


def _earlier(runs: Sequence[Measurement]) -> tuple[float, int]:
    """Return by how much two of a figure's runs differ beyond their sampling errors, as a standard
    deviation, and its degrees of freedom."""
    if len(runs) < 2:
        return 0.0, 0
    of_runs = variance(math.log(m.estimate or 1.0) for m in runs)
    of_sampling = fmean(_sampling(m) ** 2 for m in runs)
    return math.sqrt(2 * max(0.0, of_runs - of_sampling)), len(runs) - 1


def _disturbed_share(m: Measurement) -> float:
    disturbed = m.evidence.disturbed if m.evidence else None
    return (disturbed or 0) / max(1, m.n)


def _sampling(m: Measurement) -> float:
    """Standard error of the logarithm of a median, from the wider side of its interval.

    A median without an interval is trusted no further than a single sample.
    """
    assert m.estimate is not None
    if not m.ci_low or m.ci_high is None or m.ci_low <= 0:
        logs = [math.log(sample) for sample in m.samples if sample > 0]
        return stdev(logs) if len(logs) > 1 else math.inf
    return max(math.log(m.ci_high / m.estimate), math.log(m.estimate / m.ci_low), 0.0) / _Z95


def _spread(m: Measurement) -> float:
    logs = [math.log(sample) for sample in m.samples if sample > 0]
    return stdev(logs) if len(logs) > 1 else _sampling(m) * math.sqrt(m.n)


def _is_chase(m: Measurement) -> bool:
    """Whether it is a latency of CPUs over a working set."""
    return m.metric == "latency" and isinstance(m.pattern.get("size"), int) and _of_cpus(m)


def _of_cpus(m: Measurement) -> bool:
    """Whether CPUs walk memory, so that their caches matter."""
    return all(endpoint.partition(":")[0] in _CPU_ENDPOINTS for endpoint in (m.initiator, m.target))


def _latency_size(m: Measurement) -> tuple[_Curve, int]:
    others = {key: value for key, value in m.pattern.items() if key not in ("size", "part")}
    return (m.initiator, m.target, json.dumps(others, sort_keys=True)), m.pattern["size"]


def _in_shared_caches(run: Run, private_bytes: float) -> dict[tuple[_Curve, int], float]:
    curves: dict[_Curve, list[tuple[int, float]]] = {}
    for m in run.measurements:
        if _is_chase(m) and m.status == "measured" and m.estimate:
            name, size = _latency_size(m)
            curves.setdefault(name, []).append((size, m.estimate))
    found = {}
    for name, curve in curves.items():
        curve.sort()
        levels = plateaus(curve) if len(curve) >= _MIN_CURVE else []
        for at, (size, _) in enumerate(curve):
            # Of the first size of memory's plateau, too, caches still serve a part.
            if levels and private_bytes < size <= levels[-1].first_size:
                on_level = any(level.first_size <= size <= level.last_size for level in levels)
                found[name, size] = 0.0 if on_level else _steepness(curve, at) / 2
    return found


def _steepness(curve: list[tuple[int, float]], at: int) -> float:
    """Return the logarithm of the latency's growth from one size to the next, about a point.

    Between two levels, twice the cache gives the latency of half the size.
    """
    before, after = max(0, at - 1), min(len(curve) - 1, at + 1)
    return math.log(curve[after][1] / curve[before][1]) / (after - before)


def _private_bytes(run: Run) -> float:
    """Return the working set that certainly stays in a core's own caches, in bytes a CPU."""
    machine = run.header.machine
    threads = machine["cpus"] / max(1, machine["cores"])
    own = [
        cache["size_bytes"] / cache["cpus_each"]
        for cache in machine["caches"]
        if cache["type"] != "instruction"
        and 0 < cache["cpus_each"] <= threads
        # A virtual machine with one CPU does not see who shares its third level.
        and cache["level"] <= _MAX_PRIVATE_LEVEL
    ]
    return max(own, default=0) * _PRIVATE_SHARE


def _bytes_of_a_cpu(m: Measurement) -> float:
    walks = m.metric in ("bandwidth", "latency") and isinstance(m.pattern.get("size"), int)
    if not walks or not _of_cpus(m):
        return math.inf
    return float(m.pattern["size"]) / max(1, len(m.cpus))


class Variation:
    """Run-to-run variation, beyond sampling errors: standard deviations of the logarithm of a
    figure over that of another run.

    A change is its sampling error and a variation that differs from figure to figure, so that
    changes have the tails of Student's t with 4 degrees of freedom. How large the variation usually
    is follows from Bayes' rule: before any is seen it is half a percent, and below 3% with 90%;
    then come the other changes between the two runs, and what figures of earlier runs differ in."""

    def __init__(self, changes: Sequence[Change]) -> None:
        """Estimate it from all changes between two runs."""
        members: dict[_Group, list[Change]] = {}
        for change in changes:
            members.setdefault(change.group, []).append(change)
        self._usual = {
            group: median(change.sampling for change in own) for group, own in members.items()
        }
        self._all = _Evidence(changes)
        self._groups = {
            group: _Evidence(own) for group, own in members.items() if len(own) >= _MIN_OF_GROUP
        }

    def overall(self) -> float:
        """Return the larger of all changes' variation and of any one group's."""
        return max(one.variation() for one in (self._all, *self._groups.values()))

    def bound(self, change: Change, judged: int) -> float:
        """Return the half-width of the interval of a change, one of ``judged``."""
        error = (1 - _CONFIDENCE) / judged
        # Among many intervals of small effective sample sizes some are narrow by luck; none is
        # trusted to be narrower than usual.
        sampling = max(change.sampling, self._usual.get(change.group, 0.0))
        if change.group in self._groups:
            variation = self._groups[change.group].variation(change)
        else:
            others = (one.variation() for one in self._groups.values())
            variation = max(self._all.variation(change), *others, 0.0)
        # In shared caches and beside other programs, a figure may be any of its samples.
        varying = math.hypot(variation, change.spread if change.volatile else 0.0)
        normal = NormalDist().inv_cdf(1 - error / 2)
        return math.hypot(normal * sampling, student_quantile(_FREEDOM, error) * varying)


class _Evidence:
    """What changes say of their variation: the logarithm of its probability, for each of
    ``_VARIATIONS``."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self._of_each = {
            id(change): [
                _likelihood(residual, math.hypot(error, one)) + _of_earlier(*change.earlier, one)
                for one in _VARIATIONS
            ]
            for change, (residual, error) in zip(changes, _residuals(changes), strict=True)
        }
        usual = math.hypot(_USUAL, median([0.0, *(change.sampling for change in changes)]) / 2)
        prior = [math.log(one) - math.log1p((one / usual) ** 2) for one in _VARIATIONS]
        self._of_all = [sum(terms) for terms in zip(prior, *self._of_each.values(), strict=True)]

    def variation(self, but: Change | None = None) -> float:
        """Return what the variation is below with 90%, by all changes but one."""
        own = self._of_each.get(id(but), [0.0] * len(_VARIATIONS))
        weights = [one - less for one, less in zip(self._of_all, own, strict=True)]
        most = max(weights)
        below = [*accumulate(math.exp(weight - most) for weight in weights)]
        return _VARIATIONS[bisect_left(below, _MOSTLY * below[-1])]


def _likelihood(residual: float, scale: float) -> float:
    """Return the logarithm of Student's density, but for a constant."""
    return -math.log(scale) - (_FREEDOM + 1) / 2 * math.log1p((residual / scale) ** 2 / _FREEDOM)


def _of_earlier(own: float, freedom: int, variation: float) -> float:
    """Return the logarithm of the density of a standard deviation from so many degrees of freedom,
    whose own expectation differs from the usual one, but for a constant: Fisher's F."""
    ratio = max(own / variation, 1e-3) ** 2
    return freedom / 2 * math.log(ratio) - (freedom + _FREEDOM) / 2 * math.log1p(
        freedom * ratio / _FREEDOM
    )


def _residuals(changes: Sequence[Change]) -> list[tuple[float, float]]:
    """Return each difference, less its path's if that changed as a whole, with its error; paths of
    few measurements count as one."""
    paths = Counter(map(_path, changes))
    members: dict[tuple[str, ...], list[Change]] = {}

    def whole(change: Change) -> tuple[str, ...]:
        path = _path(change)
        return path if paths[path] >= _MIN_OF_PATH else path[:-2]

    for change in changes:
        members.setdefault(whole(change), []).append(change)
    common = {name: _common_change(own) for name, own in members.items()}
    found = []
    for change in changes:
        name = whole(change)
        # A path's own median lies nearer to its members than the true change does.
        grow = math.sqrt(len(members[name]) / (len(members[name]) - 1)) if common[name] else 1.0
        found.append(((change.size - common[name]) * grow, change.error))
    return found


def _path(change: Change) -> tuple[str, ...]:
    m = change.base
    return m.kind, str(m.metric), m.pattern.get("part", ""), m.initiator, m.target


def _common_change(members: list[Change]) -> float:
    """Return the median change of a path's measurements where they changed alike, else nothing.

    Alike: the change is far larger than what they differ in among themselves. A clock that went
    down, or another program, changes some of a path's measurements more than others.
    """
    if len(members) < _MIN_OF_PATH:
        return 0.0
    middle = median(change.size for change in members)
    apart = 1.4826 * median(abs(change.size - middle) for change in members)
    apart = max(apart, median(change.sampling for change in members))
    return middle if abs(middle) > _ALIKE * apart else 0.0


@dataclass(frozen=True)
class PairedRatio:
    """New over base, with its interval where there are two pairs at least."""

    ratio: float
    low: float | None
    high: float | None


def paired_ratio(pairs: Sequence[tuple[float, float]], error: float = 0.05) -> PairedRatio:
    """Return the geometric mean of new / base over pairs (base, new) of figures above 0, and
    Student's t interval on the logarithm: pairs are independent of each other, their sides not.

    ``error`` is the interval's, 0.05 for 95%.
    """
    logs = [math.log(new / base) for base, new in pairs]
    middle = fmean(logs)
    if len(logs) < 2:
        return PairedRatio(math.exp(middle), None, None)
    half = student_quantile(len(logs) - 1, error) * stdev(logs) / math.sqrt(len(logs))
    return PairedRatio(math.exp(middle), math.exp(middle - half), math.exp(middle + half))
