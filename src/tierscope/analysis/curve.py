"""Bandwidth-latency curves: what they say, and where they need one more point.

A curve is taken as it was loaded, from the longest delay to none, not by bandwidth: past
saturation, more load may bring less bandwidth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import dist, hypot
from statistics import median

_SATURATED = 0.97
"""Share of the highest bandwidth that a lighter load has to reach for the path to be full."""
_BEND = 0.1
"""How far a curve has to hang below its chord, both axes taken as one, to have a knee."""
_LEAST_STEP = 0.03
"""Shortest stretch of a curve, both axes taken as one, that is worth one more point."""
_LENGTH_SHARE = 0.05
"""Weight of a stretch's length beside its bend, so that long straight ones get points at last."""


@dataclass(frozen=True)
class Point:
    """One loaded point."""

    delay_ns: int
    bandwidth: float
    """bytes/s, measured during the chase."""
    latency: float
    """ns"""


@dataclass(frozen=True)
class Summary:
    """What a curve says."""

    idle: float
    """ns: the median of its idle controls, else its lightest load's."""
    drift: float
    """Highest idle control over the lowest, less one."""
    knee: Point | None
    """Where the curve bends most; None where it does not bend, as when the load is too weak."""
    peak: Point
    """The highest bandwidth."""
    saturated: bool
    """A lighter load reached nearly as much: the path is full, not the load exhausted."""
    doubled: float | None
    """Bandwidth at which latency reaches twice the idle one; None where it never does."""


def summarize(points: Sequence[Point], idle: Sequence[float]) -> Summary:
    """Return what a curve of at least one point says; ``idle`` are its controls' latencies."""
    loaded = by_load(points)
    floor = median(idle) if idle else loaded[0].latency
    peak = max(loaded, key=lambda point: point.bandwidth)
    lighter = [point for point in loaded if point.delay_ns > loaded[-1].delay_ns]
    return Summary(
        idle=floor,
        drift=max(idle) / min(idle) - 1 if idle else 0.0,
        knee=_knee(loaded, floor),
        peak=peak,
        saturated=any(point.bandwidth >= _SATURATED * peak.bandwidth for point in lighter),
        doubled=_crossing(loaded, floor, 2 * floor),
    )


def by_load(points: Sequence[Point]) -> list[Point]:
    """Order points from the lightest load to the heaviest."""
    return sorted(points, key=lambda point: -point.delay_ns)


def _knee(loaded: list[Point], idle: float) -> Point | None:
    """Return the point furthest below the chord from idle to the highest bandwidth.

    Satopää et al., "Finding a 'Kneedle' in a Haystack", 2011, for a curve that bends upwards.
    """
    peak = max(point.bandwidth for point in loaded)
    top = max(point.latency for point in loaded)
    if top <= idle:
        return None

    def hangs(point: Point) -> float:
        return point.bandwidth / peak - (point.latency - idle) / (top - idle)

    best = max(loaded, key=hangs)
    return best if hangs(best) >= _BEND and best is not loaded[-1] else None


def _crossing(loaded: list[Point], idle: float, wanted: float) -> float | None:
    before = Point(-1, 0.0, idle)
    for point in loaded:
        if point.latency >= wanted > before.latency:
            share = (wanted - before.latency) / (point.latency - before.latency)
            return before.bandwidth + share * (point.bandwidth - before.bandwidth)
        before = point
    return None


def next_delays(points: Sequence[Point], idle: float, count: int) -> list[int]:
    """Return up to ``count`` delays at which one more point tells most about a curve.

    Stretches between two points are ranked by how much the curve bends at their ends, times their
    length, both axes as shares of their range; so points gather where it bends. A stretch that got
    a point counts as two straight ones from then on. Fewer come back where all that is left is
    short.
    """
    loaded = by_load(points)
    delays: list[int] = []
    for _ in range(count):
        new = _worth_most(loaded, idle)
        if new is None:
            break
        delays.append(new.delay_ns)
        loaded = by_load([*loaded, new])
    return delays


def _worth_most(loaded: list[Point], idle: float) -> Point | None:
    """Return a point to come, put where a straight line would have it, or None."""
    peak = max(point.bandwidth for point in loaded)
    top = max(point.latency for point in loaded)
    if peak <= 0 or top <= idle:
        return None
    ends = [Point(-1, 0.0, idle), *loaded]
    places = [(point.bandwidth / peak, (point.latency - idle) / (top - idle)) for point in ends]
    bends = [0.0, *map(_bend, places, places[1:], places[2:]), 0.0]
    best: tuple[float, Point | None] = (0.0, None)
    for number, (first, second) in enumerate(pairwise(places)):
        length = dist(first, second)
        score = length * (max(bends[number], bends[number + 1]) + _LENGTH_SHARE * length)
        before, after = ends[number], ends[number + 1]
        delay = _between(before if number else None, after)
        if length >= _LEAST_STEP and delay is not None and score > best[0]:
            bandwidth = (before.bandwidth + after.bandwidth) / 2
            latency = (before.latency + after.latency) / 2
            best = score, Point(delay, bandwidth, latency)
    return best[1]


def _bend(
    before: tuple[float, float], here: tuple[float, float], after: tuple[float, float]
) -> float:
    """Distance of a point from the chord between its neighbours."""
    along = (after[0] - before[0], after[1] - before[1])
    length = hypot(*along)
    if length == 0:
        return dist(before, here)
    cross = along[0] * (here[1] - before[1]) - along[1] * (here[0] - before[0])
    return abs(cross) / length


def _between(lighter: Point | None, heavier: Point) -> int | None:
    """Return a delay that should land halfway between two points' bandwidths, or None.

    Below saturation, time per byte grows evenly with the delay; between idle and the lightest
    load, twice the delay brings half the bandwidth.
    """
    if lighter is None:
        return 2 * heavier.delay_ns if heavier.delay_ns else None
    gap = lighter.delay_ns - heavier.delay_ns
    if gap < 2:
        return None
    share = 0.5
    if 0 < lighter.bandwidth < heavier.bandwidth:
        # (1/middle - 1/heavier) / (1/lighter - 1/heavier), without a difference to divide by.
        share = max(0.1, lighter.bandwidth / (lighter.bandwidth + heavier.bandwidth))
    return heavier.delay_ns + min(gap - 1, max(1, round(share * gap)))


def delay_for(points: Sequence[Point], bandwidth: float) -> int | None:
    """Return the delay that should bring a bandwidth; None where a point is there already within
    3%, or where no load reaches it."""
    loaded = by_load(points)
    if any(abs(point.bandwidth / bandwidth - 1) < 1 - _SATURATED for point in loaded):
        return None
    before: Point | None = None
    for point in loaded:
        if point.bandwidth > bandwidth:
            if before is None or before.bandwidth <= 0:
                return round(point.delay_ns * point.bandwidth / bandwidth)
            fast, slow = point.bandwidth - bandwidth, point.bandwidth - before.bandwidth
            share = before.bandwidth * fast / (bandwidth * slow)
            return point.delay_ns + round(share * (before.delay_ns - point.delay_ns))
        before = point
    return None


def latency_at(points: Sequence[Point], idle: float, bandwidth: float) -> float | None:
    """Return the latency at a bandwidth, between the two points around it; None past the peak."""
    before = Point(-1, 0.0, idle)
    for point in by_load(points):
        if point.bandwidth >= bandwidth > before.bandwidth:
            share = (bandwidth - before.bandwidth) / (point.bandwidth - before.bandwidth)
            return before.latency + share * (point.latency - before.latency)
        before = point
    return None
