"""The page ratio over several nodes that gives the most bandwidth.

Pages that are interleaved by weight make the nodes' flows proportional to the weights: node i
carries the share x_i of the bandwidth B, f_i = B * x_i. Whatever carries data limits a sum of
flows: a node's or a link's reads, its writes, both together, and the links that several nodes or
initiators share. Threads are a limit of the same form. Each has so many accesses in flight, so a
byte of node i takes one of them t_i seconds (Little, Operations Research 9, 1961): the sum of
t_i * f_i is at most the number of threads. So the best ratio is that of the flows that solve a
linear program: maximise the sum of f_i, where no limit is exceeded.

Threads beyond those that saturate a limit wait there, and some memories get slower by that. A
limit may have its rate over the threads that wait. The limit that binds has all of them. So there
is a linear program for each limit that may bind and number of threads that may wait there, in which
all others that fall keep clear of saturation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

MAX_WEIGHT = 255
"""Linux's largest weight of a node; its smallest is 1."""
_NEAR = 0.0025
"""Share of the bandwidth that a shorter round of pages may cost."""
_CLOSE = 0.01
"""Relative error of a share that a shorter round of pages may have."""
_HEADROOM = 0.01
"""Share of a limit left free, so that another one binds."""
_EPSILON = 1e-9
_STEPS = 60
_FIRST = 1e3
"""How much more it counts that the limit binds that is to bind."""
_WAITS = 8
"""Numbers of threads that wait, for which a ratio is solved where a limit falls."""


@dataclass(frozen=True)
class Rates:
    """Maximum rate of a node or a link in bytes/s; infinite where unlimited."""

    read: float = float("inf")
    write: float = float("inf")
    both: float = float("inf")
    """Reads and writes together: of memory whose directions take turns, or as measured in a mix."""


@dataclass(frozen=True)
class Limit:
    """A bound on a sum of flows."""

    name: str
    rate: float
    """bytes/s, or threads."""
    use: tuple[float, ...]
    """Rate taken per byte/s of flow, by node."""
    past: tuple[tuple[float, float], ...] = ()
    """Threads that wait and the rate that is left then, ascending, where it falls."""
    of_threads: bool = False

    def used(self, shares: Sequence[float]) -> float:
        """Return the rate taken per byte/s of bandwidth, at these shares of pages."""
        return sum(use * share for use, share in zip(self.use, shares, strict=True))

    def rate_at(self, waiting: float) -> float:
        """The rate while so many threads wait; beyond the last point as there."""
        before = (0.0, self.rate)
        for point in self.past:
            if waiting <= point[0]:
                part = (waiting - before[0]) / max(point[0] - before[0], _EPSILON)
                return before[1] + part * (point[1] - before[1])
            before = point
        return before[1]


@dataclass(frozen=True)
class Spread:
    """Shares of pages, and the bandwidth that they are predicted to have."""

    shares: tuple[float, ...]
    """Share of each node; their sum is 1."""
    bandwidth: float
    """bytes/s of all threads."""
    bound_by: str
    """Name of the limit that binds."""


def directions(name: str, rates: Rates, use: Sequence[float], writes: float) -> list[Limit]:
    """Return the limits of a node or link, one for each direction that has a rate.

    ``use`` has, of each node, the share of its flow that goes through here: 0 or 1, or less where
    initiators differ. ``writes``: the share of writes, 0..1.
    """
    parts = [("reads", rates.read, 1 - writes), ("writes", rates.write, writes)]
    found = [
        Limit(f"{name}, {what}", rate, tuple(part * one for one in use))
        for what, rate, part in parts
        if part > 0 and rate < float("inf")
    ]
    if rates.both < float("inf"):
        found.append(Limit(name, rates.both, tuple(use)))
    return found


def threads_limit(name: str, threads: float, seconds: Sequence[float]) -> Limit:
    """Return the limit of threads; ``seconds``: what a byte of each node takes one of them."""
    return Limit(name, threads, tuple(seconds), of_threads=True)


def node_limit(name: str, use: tuple[float, ...], curve: Mapping[int, float]) -> Limit:
    """Return a node's limit from its bandwidth over threads, and how it falls past the peak.

    ``use``: 1 for the node itself, 0 for others.
    """
    best = max(curve, key=lambda n: curve[n])
    first = min(curve)
    # Threads that wait: those beyond what the bandwidth takes, as a single one does its accesses.
    past = [
        (n - rate * first / curve[first], rate)
        for n, rate in sorted(curve.items())
        if n > best and rate < curve[best]
    ]
    rising = [point for k, point in enumerate(past) if all(point[0] > p[0] for p in past[:k])]
    beginning = max(0.0, best - curve[best] * first / curve[first])
    falling = [(beginning, curve[best]), *(p for p in rising if p[0] > beginning)]
    return Limit(name, curve[best], use, tuple(falling) if past else ())


def predict(limits: Sequence[Limit], shares: Sequence[float]) -> Spread:
    """Return the bandwidth at these shares and what binds it; raises ValueError without a limit."""
    bounds = [(one.rate / used, one) for one in limits if (used := one.used(shares)) > 0]
    if not bounds:
        raise ValueError("no limit bounds the bandwidth of these nodes")
    most, binding = min(bounds, key=lambda bound: bound[0])
    if binding.past:
        most = _with_waiting(limits, shares, binding, most)
    return Spread(tuple(shares), most, binding.name)


def _with_waiting(
    limits: Sequence[Limit], shares: Sequence[float], binding: Limit, most: float
) -> float:
    """Return the bandwidth, at most ``most``, at which the threads that wait leave just so much."""
    low, high = 0.0, most
    for _ in range(_STEPS):
        middle = (low + high) / 2
        enough = binding.rate_at(_waiting(limits, shares, middle)) >= middle * binding.used(shares)
        low, high = (middle, high) if enough else (low, middle)
    return high


def _waiting(limits: Sequence[Limit], shares: Sequence[float], bandwidth: float) -> float:
    idle = (one.rate - bandwidth * one.used(shares) for one in limits if one.of_threads)
    return max(0.0, sum(idle))


def best_spread(limits: Sequence[Limit]) -> Spread:
    """Return the shares with the most bandwidth; raises ValueError where a node has no limit."""
    shares = [_solved(limits)]
    if any(one.past for one in limits):
        for at, binding in enumerate(limits):
            shares += [_solved(_bound(limits, at, n), at) for n in _waits(limits, binding)]
    return max((predict(limits, one) for one in shares), key=lambda spread: spread.bandwidth)


def _bound(limits: Sequence[Limit], binding: int, waiting: float) -> list[Limit]:
    """One limit with so many threads that wait; all others that fall keep clear of saturation."""
    return [
        replace(one, rate=one.rate_at(waiting) if at == binding else one.rate * (1 - _HEADROOM))
        if one.past
        else one
        for at, one in enumerate(limits)
    ]


def _waits(limits: Sequence[Limit], binding: Limit) -> list[float]:
    """Numbers of threads that may wait at a limit, over which its rate changes."""
    if not binding.past:
        return [0]
    most = min(binding.past[-1][0], sum(one.rate for one in limits if one.of_threads))
    return [most * step / _WAITS for step in range(_WAITS + 1)]


def _solved(limits: Sequence[Limit], binding: int | None = None) -> list[float]:
    flows = _largest_flows(limits, binding)
    return [flow / sum(flows) for flow in flows]


def _largest_flows(limits: Sequence[Limit], binding: int | None) -> list[float]:
    """Return the flows with the largest sum, by the simplex method (Dantzig, 1951).

    Of all flows, only those count that take most of the binding limit, where one is named.
    Flows of nothing are a feasible beginning, since all limits are upper ones. Bland's rule
    (Mathematics of Operations Research 2, 1977) keeps it from going round in circles.
    """
    nodes = len(limits[0].use)
    # In units of what the fastest node has, so that rounding errors are alike everywhere.
    unit = max(predict(limits, _only(node, nodes)).bandwidth for node in range(nodes))
    slack = range(len(limits))
    rows = [
        [use * unit / one.rate for use in one.use] + [float(at == k) for k in slack] + [1.0]
        for at, one in enumerate(limits)
    ]
    first = [0.0] * nodes if binding is None else rows[binding][:nodes]
    gains = [1.0 + _FIRST * gain for gain in first] + [0.0] * (len(limits) + 1)
    basis = [nodes + k for k in slack]
    while (entering := next((j for j, gain in enumerate(gains) if gain > _EPSILON), -1)) >= 0:
        steps = [
            (row[-1] / row[entering], basis[k], k)
            for k, row in enumerate(rows)
            if row[entering] > _EPSILON
        ]
        leaving = min(steps)[2]
        basis[leaving] = entering
        rows[leaving] = [value / rows[leaving][entering] for value in rows[leaving]]
        for row in [gains, *(row for k, row in enumerate(rows) if k != leaving)]:
            factor = row[entering]
            row[:] = [value - factor * own for value, own in zip(row, rows[leaving], strict=True)]
    flows = dict(zip(basis, (row[-1] * unit for row in rows), strict=True))
    return [max(0.0, flows.get(node, 0.0)) for node in range(nodes)]


def _only(node: int, nodes: int) -> list[float]:
    return [float(other == node) for other in range(nodes)]


def shares_of(weights: Sequence[int]) -> list[float]:
    """Return the share of each node of these weights; 0 means no pages."""
    return [weight / sum(weights) for weight in weights]


def whole_weights(
    limits: Sequence[Limit], spread: Spread, longest_round: int | None = None
) -> tuple[int, ...]:
    """Return weights of 1 to 255, 0 for nodes without pages, that come nearest to a spread.

    Of all roundings to a largest weight of 1, 2, ... 255, those count whose predicted bandwidth is
    within 0.25% of the best; of them the one with the shortest round is returned. ``longest_round``
    bounds the sum of the weights.
    """
    top = max(spread.shares)
    # A node that would get less than one page in 255 may be left out.
    without = [share if share * MAX_WEIGHT >= top else 0.0 for share in spread.shares]
    found = {*_roundings(spread.shares, longest_round), *_roundings(without, longest_round)}
    rated = [(predict(limits, shares_of(one)).bandwidth, one) for one in found]
    best = max(bandwidth for bandwidth, _ in rated)
    near = [one for bandwidth, one in rated if bandwidth >= best * (1 - _NEAR)]
    return min(near, key=lambda one: (sum(one), one))


def nearest_weights(parts: Sequence[float], longest_round: int | None = None) -> tuple[int, ...]:
    """Return weights of 1 to 255 whose shares are within 1% of those of ``parts``, else nearest.

    Parts of 0 get weights of 0. The shortest round that will do is returned.
    """
    wanted = [part / sum(parts) for part in parts]

    def error(weights: Sequence[int]) -> float:
        pairs = zip(shares_of(weights), wanted, strict=True)
        return max(abs(share / want - 1) for share, want in pairs if want)

    found = [(error(one), one) for one in _roundings(parts, longest_round)]
    near = [one for off, one in found if off <= _CLOSE]
    return min(near, key=sum) if near else min(found)[1]


def _roundings(parts: Sequence[float], longest_round: int | None) -> list[tuple[int, ...]]:
    """Return the roundings of parts to a largest weight of 1, 2, ... 255 that fit a round."""
    top = max(parts)
    found = [
        tuple(max(1, round(part / top * largest)) if part / top > _EPSILON else 0 for part in parts)
        for largest in range(1, MAX_WEIGHT + 1)
    ]
    return [one for one in found if sum(one) <= (longest_round or sum(one))] or found[:1]
