"""Time of operations, and bandwidth, if memory had another latency and bandwidth.

An operation waits for memory n times, each time for the latency of a load. On a tier it takes

    t_tier = t + n * (L_tier - L_local)

n is not counted but bounded, by three figures that are measured here: the time t of an operation on
a structure that no cache holds, the time c of the same operation where the private caches hold the
structure, and the latency L of a chase over as many bytes as the structure has:

- at least (t - c) / L: all work that takes time in caches takes as long beside the waiting; lines
  in order, which prefetchers fetch ahead, need not be waited for longer on a tier;
- at most t / L: all work is hidden behind the waiting;
- at most the loads of an operation that wait for an earlier one and miss the private caches.

Lookups in flight and prefetched lines overlap, so n is smaller than the lines missed. Waits for the
last-level cache are part of t - c; the lower bound leaves them out by the latency measured there.

Threads ask a tier for the lines that miss: its bandwidth over those bytes bounds the operations
(Little's law is in n already). Where the tier's latency under load is known, L_tier is that at the
bandwidth that is predicted.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import NamedTuple, Protocol

from tierscope.analysis.curve import Point, latency_at
from tierscope.analysis.spread import (
    Limit,
    best_spread,
    node_limit,
    predict,
    shares_of,
    threads_limit,
    whole_weights,
)
from tierscope.model.metric import Unit
from tierscope.model.run import Figure, Measurement
from tierscope.model.spec import CACHE_LINE, MeasurementSpec

_ID_TAIL = 56
"""Signs of an id that tell it from others: its end does."""
_ROUNDS = 30
"""Steps to the latency at the bandwidth that it leads to."""


@dataclass(frozen=True)
class Range:
    """A value that lies between two others."""

    estimate: float
    low: float
    high: float

    @classmethod
    def exact(cls, value: float) -> "Range":
        """Return a value that was stated."""
        return cls(value, value, value)

    def map(self, change: Callable[[float], float]) -> "Range":
        """Return what a function makes of it; a function that falls turns its ends round."""
        low, high = change(self.low), change(self.high)
        return Range(change(self.estimate), min(low, high), max(low, high))

    def figure(self, metric: str, unit: Unit) -> Figure:
        """Return it as a figure, for those who print."""
        return Figure(
            metric=metric, unit=unit, estimate=self.estimate, ci_low=self.low, ci_high=self.high
        )


def ordered(estimate: float, ends: Iterable[float]) -> Range:
    """Return a range of these ends that holds the estimate."""
    found = [estimate, *ends]
    return Range(estimate, min(found), max(found))


def range_of(m: Measurement, figure: Figure | None = None) -> Range:
    """Return a figure, by default the headline, with its interval.

    Where it has none, its range is that of the middle 80% of its samples, where these are there.
    """
    shown = figure or m.figures[0]
    ends = [end for end in (shown.ci_low, shown.ci_high) if end is not None]
    if not ends and shown is m.headline:
        ends = [*m.samples]
        if len(ends) > 1:
            deciles = quantiles(ends, n=10, method="inclusive")
            ends = [deciles[0], deciles[-1]]
    return ordered(shown.estimate, ends)


@dataclass(frozen=True)
class Tier:
    """Memory that is asked about."""

    name: str
    latency: Range
    """ns, idle; what it adds to the local one where ``added``."""
    bandwidth: Range | None
    """bytes/s; None: unknown."""
    added: bool = False
    curve: tuple[Point, ...] = ()
    """Latency under load, where that is known."""

    def idle(self, local: Range) -> Range:
        """Return its idle latency in ns beside a local one."""
        if not self.added:
            return self.latency
        low, high = local.low + self.latency.low, local.high + self.latency.high
        return Range(local.estimate + self.latency.estimate, low, high)

    def more(self, local: Range) -> Range:
        """Return how much longer a load takes than from local memory, in ns; negative: shorter."""
        if self.added:
            return self.latency
        low, high = self.latency.low - local.high, self.latency.high - local.low
        return Range(self.latency.estimate - local.estimate, low, high)

    def waiting(self, bandwidth: float) -> float:
        """Return how much longer than idle a load takes at a bandwidth, in ns."""
        if not self.curve:
            return 0.0
        idle = self.latency.estimate
        highest = max(point.latency for point in self.curve)
        found = latency_at(self.curve, idle, bandwidth) if bandwidth > 0 else idle
        return max(0.0, (highest if found is None else found) - idle)


@dataclass(frozen=True)
class Visits:
    """Accesses of an operation to one part of its data, or to one level of it."""

    part: str
    loads: float
    """Loads of an operation, at most, that have to wait for an earlier one."""
    lines: float
    """Lines of memory that an operation moves, at most; written ones count twice."""
    reuse: float
    """Bytes that go through the caches until the same line is wanted again."""
    in_order: bool = False
    """Prefetchers fetch its lines ahead, and may do so at a longer latency."""


class Level(NamedTuple):
    """Part of the data, or a level of it, of which all is wanted equally often."""

    part: str
    loads: float
    lines: float
    size: float
    """Bytes"""
    in_order: bool = False


def visits_of(levels: Sequence[Level]) -> tuple[Visits, ...]:
    """Return an operation's visits of the levels of its data.

    A line is wanted again after as many operations as go over all of its level; meanwhile these go
    over the other levels, at most over all of them.
    """
    found = []
    for one in levels:
        if one.lines <= 0:
            continue
        operations = max(1.0, one.size / (one.lines * CACHE_LINE))
        reuse = sum(min(operations * o.lines * CACHE_LINE, o.size) for o in levels)
        loads = min(one.loads, one.lines)
        found.append(Visits(one.part, loads, one.lines, reuse, one.in_order))
    return tuple(found)


@dataclass(frozen=True)
class Work:
    """An operation that was measured with all its data in local memory."""

    measurement: Measurement
    name: str
    streams: int
    """Operations that are under way at once: those of threads, or of several walks of each."""
    time: Range
    """ns of an operation, in its stream."""
    visits: tuple[Visits, ...]
    size: int
    """Bytes of all its data."""
    pages: str
    writes: bool = False
    skewed: bool = False
    """Some of its data is wanted more often than other: caches may hold that."""
    dependent: bool = False
    """Each of its loads waits for the one before it, whatever else it does."""
    cached: Range | None = None
    """ns of the same operation where the private caches hold its data; None: not measured."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of its data, each of which may be somewhere else."""
        return tuple(dict.fromkeys(one.part for one in self.visits))


def small_id(name: str) -> str:
    """Return the id of the same operation on data that private caches hold."""
    return f"cached.{name[-_ID_TAIL:]}"


class WorkOf(Protocol):
    """What a kind says of its operations."""

    def work_of(self, measurement: Measurement) -> Work | None:
        """Return a measurement's work; None where its data was in several places."""

    def in_caches(self, spec: MeasurementSpec, size: int) -> MeasurementSpec | None:
        """Return the same operation on data of at most so many bytes; None where there is none."""

    def cached_time(self, work: Work, small: Work | None) -> Range | None:
        """Return the time of an operation in caches, in ns, from that on small data."""


@dataclass(frozen=True)
class Local:
    """The memory that the work was measured on."""

    idle: Range
    """ns, as the idle latency of a path is defined."""
    here: Range
    """ns of a chase over as many bytes as the work has, on the same pages."""
    last_level: Range
    """ns of a chase that the last-level cache may hold."""
    private_bytes: float
    last_level_bytes: float

    def missing(self, reuse: float, cache: float) -> float:
        """Return the share of accesses that miss a cache of so many bytes."""
        return max(0.0, 1 - cache / reuse) if reuse else 0.0


@dataclass(frozen=True)
class Prediction:
    """What an operation is predicted to take with some of its parts on a tier."""

    parts: tuple[str, ...]
    """Those on the tier."""
    waits: Range
    """Of an operation for the tier."""
    time: Range
    """ns of an operation, in its thread"""
    rate: Range
    """Operations a second of all threads"""
    slowdown: Range
    """Time of an operation over the local one"""
    traffic: Range
    """bytes/s from the tier"""
    full: bool
    """The tier's bandwidth bounds it, not the latency."""


def predictions(work: Work, local: Local, tier: Tier) -> list[Prediction]:
    """Return each part of the data on the tier by itself, then all of them."""
    alone = [(part,) for part in work.parts] if len(work.parts) > 1 else []
    return [_predicted(work, local, tier, parts) for parts in (*alone, work.parts)]


def waits_of(work: Work, local: Local, parts: Sequence[str]) -> Range:
    """Return how often an operation waits for the memory that holds these parts."""
    least, most = _loads(work, local)
    likely = {part: (least[part] + most[part]) / 2 for part in work.parts}
    all_least, all_most, all_likely = (sum(one.values()) for one in (least, most, likely))
    high = min(work.time.high / local.here.low, all_most)
    middle = work.time.estimate / local.here.estimate
    low = 0.0
    if work.cached is not None:
        spare = max(0.0, work.time.estimate - work.cached.estimate)
        share = _of_memory(all_likely, all_most, local)
        middle = spare / local.here.estimate * share
        spare = max(0.0, work.time.low - work.cached.high)
        low = spare / local.here.high * _of_memory(all_least, all_most, local)
    # What is fetched ahead may be so at a longer latency: it counts half, and not at the low end.
    ahead = sum(one.loads for one in work.visits if one.in_order)
    middle *= 1 - ahead / sum(one.loads for one in work.visits) / 2
    low -= ahead
    if work.dependent:
        low, high = max(low, all_least), all_most
    low = min(max(low, 0.0), high)
    middle = min(max(middle, low), high)
    if set(parts) == set(work.parts):
        return Range(middle, low, high)
    # What the other parts cannot have waited for was waited for here.
    mine, others = _sums(most, parts)
    own, _ = _sums(likely, parts)
    low, high = max(0.0, low - others), min(high, mine)
    middle = middle * own / all_likely if all_likely else 0.0
    return Range(min(max(middle, low), high), low, high)


def _loads(work: Work, local: Local) -> tuple[dict[str, float], dict[str, float]]:
    """Return the loads of each part that reach memory: if the last-level cache holds what it can,
    and if it holds nothing."""
    least, most = dict.fromkeys(work.parts, 0.0), dict.fromkeys(work.parts, 0.0)
    for one in work.visits:
        if not work.skewed:
            least[one.part] += one.loads * local.missing(one.reuse, local.last_level_bytes)
        most[one.part] += one.loads * local.missing(one.reuse, local.private_bytes)
    return least, most


def _of_memory(loads: float, most: float, local: Local) -> float:
    """Return the share of the waiting that is for memory, where the other loads that miss the
    private caches are served by the last level."""
    memory = loads * local.here.estimate
    cache = (most - loads) * min(local.last_level.estimate, local.here.estimate)
    return memory / (memory + cache) if memory else 0.0


def _sums(loads: Mapping[str, float], parts: Sequence[str]) -> tuple[float, float]:
    own = sum(value for part, value in loads.items() if part in parts)
    return own, sum(loads.values()) - own


def _bytes(work: Work, local: Local, parts: Sequence[str]) -> Range:
    """Return the bytes that an operation moves to and from these parts in memory."""
    least = most = 0.0
    for one in work.visits:
        if one.part in parts:
            few = one.loads * local.missing(one.reuse, local.last_level_bytes)
            least += 0 if work.skewed else CACHE_LINE * few
            most += CACHE_LINE * one.lines * local.missing(one.reuse, local.private_bytes)
    return Range((least + most) / 2, least, most)


@dataclass(frozen=True)
class _Case:
    """One value of all that the time of an operation follows from."""

    local: float
    """ns of an operation on local memory"""
    waits: float
    more: float
    """ns that a load takes longer on the tier"""
    moved: float
    """Bytes of an operation from and to the tier"""
    rate: float
    """bytes/s of the tier"""


def _predicted(work: Work, local: Local, tier: Tier, parts: tuple[str, ...]) -> Prediction:
    base, waits, more = work.time, waits_of(work, local, parts), tier.more(local.idle)
    moved = _bytes(work, local, parts)
    rates = tier.bandwidth or Range.exact(math.inf)
    # All of an operation may be waiting, which takes as much less as the latency is lower.
    least = min(1.0, tier.idle(local.idle).low / local.idle.high)
    if work.cached:
        least = max(least, min(1.0, work.cached.low / base.high))
    time, full = _time(
        work,
        tier,
        _Case(base.estimate, waits.estimate, more.estimate, moved.estimate, rates.estimate),
        least,
    )
    cases = []
    for count in (waits.low, waits.high):  # Of a faster tier more waits are the lower end.
        cases.append(_Case(base.low, count, more.low, moved.low, rates.high))
        cases.append(_Case(base.high, count, more.high, moved.high, rates.low))
    ends = [_time(work, tier, case, least)[0] for case in cases]
    times = ordered(time, ends)
    per_second = times.map(lambda ns: work.streams * 1e9 / ns)
    # The local time is in both terms of the ratio, so its interval is in neither.
    apart = (end / case.local for end, case in zip(ends, cases, strict=True))
    return Prediction(
        parts=parts,
        waits=waits,
        time=times,
        rate=per_second,
        slowdown=ordered(time / base.estimate, apart),
        traffic=ordered(
            moved.estimate * per_second.estimate,
            (moved.low * per_second.low, moved.high * per_second.high),
        ),
        full=full,
    )


def _time(work: Work, tier: Tier, case: _Case, least: float) -> tuple[float, bool]:
    """Return the time of an operation, and whether the tier's bandwidth bounds it.

    ``least``: share of the local time that it takes whatever the tier.
    """
    moving = work.streams * case.moved / case.rate * 1e9
    queue = low = 0.0
    high = tier.waiting(math.inf)
    for _ in range(_ROUNDS if tier.curve else 1):
        waiting = case.waits * (case.more + queue)
        taken = max(case.local + waiting, least * case.local, moving)
        found = tier.waiting(work.streams * case.moved / taken * 1e9)
        # More waiting takes longer and so asks for less bandwidth: the two meet once.
        low, high = (queue, high) if found > queue else (low, queue)
        queue = (low + high) / 2
    return taken, 0 < moving == taken


@dataclass(frozen=True)
class Curve:
    """Bandwidth of local memory over threads, by one access pattern."""

    name: str
    points: Mapping[int, Measurement]
    """By threads."""


@dataclass(frozen=True)
class Expansion:
    """What spreading pages over local memory and a tier is predicted to give."""

    curve: Curve
    threads: int
    weights: tuple[int, int]
    """Pages on local memory and on the tier."""
    local: Range
    """bytes/s of as many threads on local memory only"""
    bandwidth: Range
    """bytes/s"""
    gain: Range
    bound_by: str


def expansion(curve: Curve, idle: Range, tier: Tier) -> Expansion | None:
    """Return the best pages for as many threads as were measured; None of a tier without bandwidth.

    A thread keeps as many bytes in flight on the tier as it has on local memory, so its rate there
    falls as the latency grows; prefetchers may keep more in flight, up to the same rate.
    """
    if tier.bandwidth is None:
        return None
    threads = max(curve.points)
    found = {count: range_of(m) for count, m in curve.points.items()}
    far = tier.idle(idle)
    longer = far.estimate / idle.estimate
    usual = {count: one.estimate for count, one in found.items()}
    limits = _limits(usual, threads, longer, tier.bandwidth.estimate)
    best = whole_weights(limits, best_spread(limits))
    # A thread by itself, and several, may each be at either end of their intervals.
    cases = [
        (_curve_at(found, one, several), reach, rate)
        for one, several in itertools.product((0, 1), repeat=2)
        for reach, rate in (
            (max(longer, far.high / idle.low), tier.bandwidth.low),
            (min(longer, 1.0), tier.bandwidth.high),
        )
    ]
    ends = [(_gain(_limits(at, threads, *rest), best), at[threads]) for at, *rest in cases]
    gain = _gain(limits, best)
    local = found[threads]
    return Expansion(
        curve=curve,
        threads=threads,
        weights=(best[0], best[1]),
        local=local,
        bandwidth=ordered(gain * local.estimate, (more * rate for more, rate in ends)),
        gain=ordered(gain, (more for more, _ in ends)),
        bound_by=predict(limits, shares_of(best)).bound_by,
    )


def _gain(limits: Sequence[Limit], weights: Sequence[int]) -> float:
    """Return the bandwidth of pages spread so over that of all on local memory."""
    spread, local = (predict(limits, shares_of(one)).bandwidth for one in (weights, (1, 0)))
    return spread / local


def _curve_at(found: Mapping[int, Range], one: int, several: int) -> dict[int, float]:
    """Return a curve with the fewest threads, and all others, at the low or the high end."""
    fewest = min(found)
    return {
        count: (value.low, value.high)[one if count == fewest else several]
        for count, value in found.items()
    }


def _limits(
    curve: Mapping[int, float], threads: int, longer: float, rate: float
) -> tuple[Limit, ...]:
    fewest = min(curve)
    seconds = fewest / curve[fewest]
    found = (
        node_limit("local memory", (1.0, 0.0), curve),
        Limit("the tier's bandwidth", rate, (0.0, 1.0)),
    )
    if len(curve) < 2:  # A single count does not tell what one thread can do.
        return found
    return (*found, threads_limit(f"{threads} threads", threads, (seconds, seconds * longer)))


@dataclass(frozen=True)
class Answer:
    """An operation, and what is predicted of it for each tier."""

    work: Work
    local: Local
    predictions: tuple[tuple[Tier, tuple[Prediction, ...]], ...]


@dataclass(frozen=True)
class WhatIf:
    """All that is predicted."""

    tiers: tuple[Tier, ...]
    idle: Range
    """ns: idle latency of local memory."""
    answers: tuple[Answer, ...]
    expansions: tuple[tuple[Tier, Expansion], ...]
    unknown: tuple[str, ...]
    """What was not predicted, and why."""
