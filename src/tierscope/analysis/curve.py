"""Whether a curve bends upwards by more than its noise.

Two models are compared: one straight line, and two that join at a hinge, y = a + bx + c(x - h)+.
The curve bends where the weighted least-squares estimate of c exceeds its standard error by more
than chance does. Each point but the ends is tried as the hinge, so each gets an equal share of the
5% (Bonferroni). Hinkley, "Inference in Two-Phase Regression", Journal of the American Statistical
Association 66, 1971; Davies, Biometrika 74, 1987, on hinges that are sought in the data themselves.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import dist, hypot
from statistics import NormalDist, fmean, median, median_low, stdev

LEVEL = 0.05
"""Share of straight lines, at most, that are said to bend."""
_FINEST = 1e-4
"""Relative standard error that is assumed at least, so that equal samples are not exact ones."""
_PARAMETERS = 4
"""a, b, c and h: what a scatter about the hinged line has fewer degrees of freedom than points."""
_FULL = 1 / 3
"""Share, at most, of the pauses taken away that turned into traffic where a path is full."""
_BEND = 0.1
"""How far a curve has to hang below its chord, both axes taken as one, to have a knee."""
_LEAST_STEP = 0.03
"""Shortest stretch of a curve, both axes taken as one, that is worth one more point."""
_LENGTH_SHARE = 0.05
"""Weight of a stretch's length beside its bend, so that long straight ones get points at last."""
_NEAR = 0.03
"""Difference of bandwidths up to which a point is where one was asked for."""
_HALF_WIDTH = 1.96
"""Half of a 95% interval over the standard error."""
_ASSUMED = 0.02
"""Standard error as a share of its value, on a curve of which no point has an interval."""
_MEDIAN_ERROR = 1.2533
"""Standard error of a median over the mean's: sqrt(pi / 2)."""


@dataclass(frozen=True)
class Observed:
    """One point with its standard errors."""

    x: float
    y: float
    x_error: float
    y_error: float


def bends_upwards(points: Sequence[Observed], errors_known: bool) -> bool:
    """Return whether points bend upwards; 5% of straight lines at most do by chance.

    Where the errors are not known, those given are taken as shares of one unknown noise, which
    then is the scatter about the hinged line.
    """
    xs = [point.x for point in points]
    ys = [point.y for point in points]
    errors = [max(point.y_error, _FINEST * abs(point.y)) for point in points]
    _, slope = _line(xs, ys, [error**-2 for error in errors])
    # An error in x moves a point off the line by the slope times that much.
    across = [point.x_error if errors_known else 0.0 for point in points]
    weights = [
        1 / (error**2 + (slope * x_error) ** 2)
        for error, x_error in zip(errors, across, strict=True)
    ]
    base, slope = _line(xs, ys, weights)
    residuals = [y - base - slope * x for x, y in zip(xs, ys, strict=True)]
    bends = [_bend(xs, residuals, weights, hinge) for hinge in sorted(set(xs))[1:-1]]
    if not bends:
        return False
    steepest, level = max(bends), LEVEL / len(bends)
    if errors_known:
        return steepest > z_of(level)
    freedom = len(points) - _PARAMETERS
    if freedom < 3 or steepest <= 0:
        return False
    scatter = sum(w * r**2 for w, r in zip(weights, residuals, strict=True)) - steepest**2
    noise = max(scatter / freedom, (_FINEST * min(map(abs, ys)) / max(errors)) ** 2)
    return steepest > math.sqrt(noise) * _student(level, freedom)


def z_of(level: float) -> float:
    """Return the normal deviate that is exceeded with that probability."""
    return NormalDist().inv_cdf(1 - level)


def _line(
    xs: Sequence[float], ys: Sequence[float], weights: Sequence[float]
) -> tuple[float, float]:
    """Return base and slope of the weighted least-squares line."""
    whole = sum(weights)
    x_mean = sum(w * x for w, x in zip(weights, xs, strict=True)) / whole
    y_mean = sum(w * y for w, y in zip(weights, ys, strict=True)) / whole
    spread = sum(w * (x - x_mean) ** 2 for w, x in zip(weights, xs, strict=True))
    if spread == 0:
        return y_mean, 0.0
    shared = (w * (x - x_mean) * (y - y_mean) for w, x, y in zip(weights, xs, ys, strict=True))
    slope = sum(shared) / spread
    return y_mean - slope * x_mean, slope


def _bend(
    xs: Sequence[float], residuals: Sequence[float], weights: Sequence[float], hinge: float
) -> float:
    """Return the change of slope at a hinge over its standard error.

    ``residuals`` are about the straight line; what the hinge adds to a line is regressed on them.
    """
    rise = [max(0.0, x - hinge) for x in xs]
    base, slope = _line(xs, rise, weights)
    added = [value - base - slope * x for x, value in zip(xs, rise, strict=True)]
    size = math.sqrt(sum(w * value**2 for w, value in zip(weights, added, strict=True)))
    along = sum(w * a * r for w, a, r in zip(weights, added, residuals, strict=True))
    return along / size if size else 0.0


def _student(level: float, freedom: int) -> float:
    """Return Student's t by the approximation of Gaver and Kafadar, The American Statistician 38,
    1984: within 3% from three degrees of freedom on."""
    share = (freedom - 1.5) / (freedom - 1) ** 2
    return math.sqrt(freedom * math.expm1(z_of(level) ** 2 * share))


@dataclass(frozen=True)
class Point:
    """One loaded point."""

    delay_ns: int
    bandwidth: float
    """bytes/s, measured during the chase."""
    latency: float
    """ns"""
    bandwidth_half: float | None = None
    """bytes/s: half of its 95% interval; None where it has none."""
    latency_half: float | None = None
    """ns: half of its 95% interval; None where it has none."""
    timed: bool = True
    """``delay_ns`` is a time; else another program's count, of which only the order tells."""
    disturbed: bool = False
    """Other programs disturbed all of its samples."""


@dataclass(frozen=True)
class Summary:
    """Summary of a curve. Each claim exceeds the intervals: 5% of curves without it get it."""

    idle: float
    """ns: the idle control in the middle, the lower of two; else the lightest load's latency."""
    drift: float
    """Highest idle control over the lowest, less one."""
    doubt: str
    """Why nothing is said of the curve's shape, such as "latency falls although the load rises";
    empty: it has none."""
    knee: Point | None
    """Where the curve bends most; None where it does not bend, as when the load is too weak, where
    its shape is in doubt, and of imported points, whose errors nobody knows."""
    peak: Point
    """The highest bandwidth."""
    saturated: bool
    """More load brought longer waiting in place of bandwidth: the path is full."""
    doubled: float | None
    """Bandwidth from which on latency is at least twice the idle one; None where it never is, where
    the lightest load has it already, and where the curve's shape is in doubt."""


def summarize(points: Sequence[Point], idle: Sequence[float]) -> Summary:
    """Return what a curve of at least one point says; ``idle`` are its controls' latencies."""
    loaded = by_load(points)
    floor = median_low(idle) if idle else loaded[0].latency
    noise = _Noise.of(loaded, idle)
    doubt = _doubt(loaded)
    return Summary(
        idle=floor,
        drift=max(idle) / min(idle) - 1 if idle else 0.0,
        doubt=doubt,
        knee=_knee(loaded, floor, noise, idle) if loaded[-1].timed and not doubt else None,
        peak=max(loaded, key=lambda point: point.bandwidth),
        saturated=not doubt and _saturated(loaded, noise),
        doubled=None if doubt else _doubled(loaded, floor, noise, len(idle)),
    )


def _doubt(loaded: Sequence[Point]) -> str:
    """Say why the shape of a curve tells nothing; empty where nothing speaks against it."""
    if any(point.disturbed for point in loaded):
        return "other programs disturbed the measurement"
    if len(rising(loaded)) < len(loaded):
        return "latency falls although the load rises"
    return ""


def rising(points: Sequence[Point]) -> list[Point]:
    """Return as many points as rise together: the latency of none falls below a lighter one's.

    They come from the lightest load to the heaviest. ``latency_spans`` says what a fall is.
    """
    longest: list[tuple[float, list[Point]]] = [(-math.inf, [])]
    """Chains by their length, each with its highest lower end, which is the lowest there is."""
    for point, low, high in latency_spans(points):
        for length, (highest, chain) in reversed(list(enumerate(longest))):
            if high < highest:
                continue
            longer = max(highest, low), [*chain, point]
            if length + 1 == len(longest):
                longest.append(longer)
            elif longer[0] < longest[length + 1][0]:
                longest[length + 1] = longer
    return longest[-1][1]


def latency_spans(points: Sequence[Point]) -> list[tuple[Point, float, float]]:
    """Return each point, the lightest load first, and between which latencies it lies, in ns.

    They are so wide that two of 5% of flat curves, at most, lie apart by chance (Bonferroni, over
    all pairs). A point without an interval may be anywhere.
    """
    pairs = max(1, len(points) * (len(points) - 1) // 2)
    wider = z_of(LEVEL / pairs) / _HALF_WIDTH
    halves = [math.inf if p.latency_half is None else wider * p.latency_half for p in points]
    spans = [
        (p, p.latency - half, p.latency + half) for p, half in zip(points, halves, strict=True)
    ]
    return sorted(spans, key=lambda span: -span[0].delay_ns)


def by_load(points: Sequence[Point]) -> list[Point]:
    """Order points from the lightest load to the heaviest."""
    return sorted(points, key=lambda point: -point.delay_ns)


@dataclass(frozen=True)
class _Noise:
    """Standard errors of a curve's points, by their intervals and its idle controls."""

    known: bool
    """Some point has an interval."""
    bandwidth: float
    """Share of a bandwidth that the error of one without an interval is: the largest."""
    latency: float
    """The same of a latency."""
    usual: float
    """The median share of a latency, which the idle controls have too."""
    factor: float
    """Idle controls are one figure measured several times. Where they differ by more than their
    intervals, so do other figures: all errors grow by that ratio (Birge, Physical Review 40, 1932).
    """

    @classmethod
    def of(cls, loaded: Sequence[Point], idle: Sequence[float]) -> "_Noise":
        shares = [_share(p.latency_half, p.latency) for p in loaded]
        latencies = [share for share in shares if share is not None]
        shares = [_share(p.bandwidth_half, p.bandwidth) for p in loaded]
        bandwidths = [share for share in shares if share is not None]
        usual = median(latencies) if latencies else _ASSUMED
        differ = stdev(idle) / fmean(idle) if len(idle) > 1 else 0.0
        return cls(
            known=bool(latencies),
            bandwidth=max(bandwidths, default=_ASSUMED),
            latency=max(latencies, default=_ASSUMED),
            usual=usual,
            factor=max(1.0, differ / usual) if usual else 1.0,
        )

    def of_bandwidth(self, point: Point) -> float:
        """bytes/s"""
        share = _share(point.bandwidth_half, point.bandwidth)
        return self.factor * point.bandwidth * (self.bandwidth if share is None else share)

    def of_latency(self, point: Point) -> float:
        """ns"""
        share = _share(point.latency_half, point.latency)
        return self.factor * point.latency * (self.latency if share is None else share)

    def observed(self, points: Sequence[Point], idle: Sequence[float]) -> list[Observed]:
        """All points, and the idle controls as points at no bandwidth."""
        usual = self.factor * self.usual
        return [
            *(Observed(0.0, latency, 0.0, usual * latency) for latency in idle),
            *(
                Observed(p.bandwidth, p.latency, self.of_bandwidth(p), self.of_latency(p))
                for p in points
            ),
        ]


def _share(half: float | None, value: float) -> float | None:
    """Return a standard error as a share of its value."""
    return None if half is None or value <= 0 else half / value / _HALF_WIDTH


def _knee(loaded: list[Point], floor: float, noise: _Noise, idle: Sequence[float]) -> Point | None:
    """Return the point furthest below the chord from idle to the highest bandwidth.

    Satopää et al., "Finding a 'Kneedle' in a Haystack", 2011, for a curve that bends upwards; but
    only where it bends by more than its noise, and at no point below the idle latency.
    """
    peak = max(point.bandwidth for point in loaded)
    top = max(point.latency for point in loaded)
    if top <= floor:
        return None

    def hangs(point: Point) -> float:
        return point.bandwidth / peak - (point.latency - floor) / (top - floor)

    best = max((p for p in loaded[:-1] if p.latency >= floor), key=hangs, default=None)
    if best is None or hangs(best) < _BEND:
        return None
    bent = bends_upwards(noise.observed(loaded, idle), errors_known=noise.known)
    return best if bent else None


def _saturated(loaded: list[Point], noise: _Noise) -> bool:
    """Return whether a lighter load moved about as much as the heaviest, with less waiting.

    Each thread moves the same bytes between two pauses. Where the path has room, a pause that gets
    shorter by a nanosecond makes the round shorter by one; where it is full, the accesses take that
    time. So a load that is hardly lighter proves nothing, whatever it moves. Threads at the end of
    their own means move no more either, but then nothing waits longer.
    """
    *lighter, heaviest = loaded
    if not heaviest.timed:
        return False
    limit = z_of(LEVEL / max(1, len(lighter)))
    # Bytes between two pauses, of all threads: a light load's round is nearly all pause.
    moved = loaded[0].delay_ns * loaded[0].bandwidth
    for point in lighter:
        if min(point.bandwidth, heaviest.bandwidth) <= 0:
            continue
        pause = point.delay_ns - heaviest.delay_ns
        rounds = moved / point.bandwidth, moved / heaviest.bandwidth
        error = hypot(
            rounds[0] * noise.of_bandwidth(point) / point.bandwidth,
            rounds[1] * noise.of_bandwidth(heaviest) / heaviest.bandwidth,
        )
        waiting = heaviest.latency - point.latency
        waiting_error = hypot(noise.of_latency(point), noise.of_latency(heaviest))
        if (
            rounds[0] - rounds[1] + limit * error < _FULL * pause
            and waiting > limit * waiting_error
        ):
            return True
    return False


def _doubled(loaded: list[Point], floor: float, noise: _Noise, controls: int) -> float | None:
    """Return from which bandwidth on a curve is at twice the idle latency, beyond its noise.

    It lies between two loaded points: below the lightest one, nothing was measured.
    """
    wanted = 2 * floor
    lower = [number for number, point in enumerate(loaded) if point.latency < wanted]
    if not lower or lower[-1] + 1 == len(loaded):
        return None
    first, *beyond = loaded[lower[-1] :]
    limit = z_of(LEVEL / len(loaded))
    own = noise.factor * noise.usual * floor / max(1, controls) ** 0.5
    floor_error = own * (_MEDIAN_ERROR if controls > 2 else 1.0)
    if all(
        point.latency - wanted <= limit * hypot(noise.of_latency(point), 2 * floor_error)
        for point in beyond
    ):
        return None
    share = (wanted - first.latency) / (beyond[0].latency - first.latency)
    return first.bandwidth + share * (beyond[0].bandwidth - first.bandwidth)


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
    bends = [0.0, *map(_curve_bend, places, places[1:], places[2:]), 0.0]
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


def _curve_bend(
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
    if any(abs(point.bandwidth / bandwidth - 1) < _NEAR for point in loaded):
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
