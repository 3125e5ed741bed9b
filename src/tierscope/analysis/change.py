"""One measurement in two runs: by how much its figure changed, and how precisely that is known."""

import json
import math
from dataclasses import dataclass
from statistics import stdev

from tierscope.analysis.plateaus import plateaus
from tierscope.model.endpoint import EndpointKind
from tierscope.model.run import Measurement, Run

_Z95 = 1.96
"""Half-width of a normal 95% interval in standard deviations."""
_MUCH_DISTURBED = 0.25
_MIN_CURVE = 4
"""Of fewer sizes no levels can be told apart."""
_MAX_PRIVATE_LEVEL = 2
_PRIVATE_SHARE = 1 / 4
"""Of a core's own cache: up to three arrays, and room for its other thread and the page tables."""

_CPU_ENDPOINTS = (EndpointKind.NODE, EndpointKind.CPUS)

_Curve = tuple[str, str, str]
"""Endpoints and all of the pattern but the size."""


@dataclass(frozen=True)
class Traits:
    """What two runs show of their machine's caches."""

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
    group: tuple[str, bool]
    """The kind, and whether the working set stays in the cores' own caches."""
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
    """Standard deviation of the logarithm of the ratio of one visit of each side.

    Variation from run to run is no part of it: sides that are visited in turn share it.
    """
    return math.hypot(*(_sampling(m) * math.sqrt(m.visits or 1) for m in (base, new)))


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
        group=(base.kind, _bytes_of_a_cpu(base) <= traits.private_bytes),
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
    others = {key: value for key, value in m.pattern.items() if key != "size"}
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
