"""Changes of figures between two runs, and their run-to-run variation."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, median, stdev

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
_MIN_CHANGES = 8
"""Fewer differences than this say too little about run-to-run variation."""
_MIN_OF_GROUP = 6
_MIN_OF_PATH = 5
"""Fewer measurements cannot tell that a path changed as a whole."""
_ALIKE = 4.0
"""Times that a path's change has to be larger than what its measurements differ in."""
_NORMAL = NormalDist().inv_cdf(0.75)
"""Median of the absolute value of a standard normal variable."""


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
    before: tuple[float, float] = (0.0, 0.0),
) -> Change:
    """Return the change of a measurement that gave a positive figure in both runs."""
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
        before=before,
    )


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
    threads = machine.get("cpus", 1) / max(1, machine.get("cores", 1))
    own = [
        cache["size_bytes"] / cache["cpus_each"]
        for cache in machine.get("caches", [])
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


@dataclass(frozen=True)
class Variation:
    """Run-to-run variation of medians, in standard deviations of logarithms."""

    overall: float | None
    """The larger of all changes' and of any one group's; None where differences are too few."""
    groups: dict[_Group, float]
    """Variation of groups that are large enough."""
    usual: dict[_Group, float]
    """Median sampling error of each group: among many intervals of small effective sample sizes
    some are narrow by luck; none is trusted to be narrower than usual."""

    @classmethod
    def of(cls, changes: list[Change]) -> "Variation":
        """Estimate it from all changes between two runs."""
        members: dict[_Group, list[Change]] = {}
        for change in changes:
            members.setdefault(change.group, []).append(change)
        usual = {group: median(change.sampling for change in own) for group, own in members.items()}
        if len(changes) < _MIN_CHANGES:
            return cls(None, {}, usual)
        groups = {
            group: excess_scatter(_residuals(own))
            for group, own in members.items()
            if len(own) >= _MIN_OF_GROUP
        }
        return cls(max([excess_scatter(_residuals(changes)), *groups.values()]), groups, usual)

    def bound(self, change: Change, judged: int) -> float:
        """Return the half-width of the interval of a change, one of ``judged``."""
        tail = (1 - _CONFIDENCE) / 2 / judged
        sampling = max(change.sampling, self.usual.get(change.group, 0.0))
        known = self.groups.get(change.group, self.overall)
        # Where the variation is unknown, it is at worst that of single samples.
        own = change.spread if change.volatile or known is None else 0.0
        varying = math.hypot(known or 0.0, own)
        return math.hypot(NormalDist().inv_cdf(1 - tail) * sampling, student4(1 - tail) * varying)


def excess_scatter(residuals: list[tuple[float, float]]) -> float:
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


def _residuals(changes: list[Change]) -> list[tuple[float, float]]:
    """Return each difference, less its path's if that changed as a whole, with its error."""
    paths: dict[tuple[str, ...], list[Change]] = {}
    for change in changes:
        m = change.base
        part = m.pattern.get("part", "")
        paths.setdefault((m.kind, str(m.metric), part, m.initiator, m.target), []).append(change)
    found = []
    for members in paths.values():
        common = _common_change(members)
        # A path's own median lies nearer to its members than the true change does.
        grow = math.sqrt(len(members) / (len(members) - 1)) if common else 1.0
        found += [((change.size - common) * grow, change.error) for change in members]
    return found


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


def student4(probability: float) -> float:
    """Quantile of Student's t with 4 degrees of freedom, above 0.5; exact (Shaw, 2006)."""
    alpha = 4 * probability * (1 - probability)
    root = math.sqrt(alpha)
    return 2 * math.sqrt(max(0.0, math.cos(math.acos(root) / 3) / root - 1))


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
