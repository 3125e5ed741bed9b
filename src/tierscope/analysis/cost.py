"""How much of a memory could be on a slow node, and what that costs in latency.

Pieces of memory go to the slow node in the order of their accesses, the least accessed first. If a
share s of the accesses goes there, the mean latency is (1 - s) of the fast node's and s of the slow
one's. That is an upper bound of what a program notices: it does not wait for each access.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tierscope.analysis.best import best_of, idle_latencies, is_one_of
from tierscope.model.endpoint import EndpointKind, parse_endpoint
from tierscope.model.errors import UserError, counted
from tierscope.model.price import GIB, PricedTier, Prices
from tierscope.model.run import Measurement, Run

SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
_PART = "on_"
"""Begins the properties that say where a part of a data structure is."""
_OPERATIONS = {"100:0": "read", "0:100": "write", "0:100nt": "write-nt"}
"""Mixes that are an operation."""
_ELSEWHERE = ("array_b", "array_c", "beside")
"""Properties of measurements whose data is not all on their target."""
GOALS = ("bandwidth", "latency", "capacity")
"""Metrics that prices are related to."""


@dataclass(frozen=True)
class OnSlow:
    """Memory that fits on the slow node if a share of the accesses may go there."""

    share: float
    """Maximum share of accesses."""
    bytes: float
    latency_ns: float | None
    """Mean of an access; None without measured latencies."""
    slowdown: float | None
    """Increase of that mean over the fast node alone; 0.1 is 10%."""


def on_slow(
    pieces: Sequence[tuple[float, float]], latencies: tuple[float, float] | None
) -> list[OnSlow]:
    """Return a row for each share, none where nothing was accessed.

    ``pieces`` are (bytes, accesses); latencies are those of the fast and the slow node.
    """
    total = sum(accesses for _, accesses in pieces)
    if not total:
        return []
    ordered = sorted(pieces, key=lambda piece: piece[1] / max(1.0, piece[0]))
    found = []
    for share in SHARES:
        size = spent = 0.0
        for own, accesses in ordered:
            if spent + accesses > share * total:
                break
            size, spent = size + own, spent + accesses
        mean = slowdown = None
        if latencies:
            fast, slow = latencies
            used = spent / total
            mean = (1 - used) * fast + used * slow
            slowdown = mean / fast - 1
        found.append(OnSlow(share, size, mean, slowdown))
    return found


def memory_latency(run: Run, node: int) -> float | None:
    """Return a node's lowest idle latency (ns) of all initiators."""
    found = [
        m.estimate
        for (_, target), m in idle_latencies(run.measurements).items()
        if target == f"node:{node}" and m.estimate
    ]
    return min(found, default=None)


@dataclass(frozen=True)
class Value:
    """A figure with its 95% interval, which is the figure itself where it is exact or has none."""

    what: str
    """Description of the measurement: "random read, 4 threads"."""
    estimate: float
    low: float
    high: float
    measurement: Measurement | None = None


@dataclass
class Placement:
    """A tier, or pages spread over several; what it costs and what was measured of it."""

    name: str
    target: str
    tiers: tuple[PricedTier, ...]
    price: float
    capacity: float
    """Bytes."""
    bandwidth: Value | None = None
    """bytes/s"""
    latency: Value | None = None
    """ns, idle"""
    operations: list[Value] = field(default_factory=list)
    """1/s; of each operation its best."""

    @property
    def per_gib(self) -> float:
        """Price of a GiB that it holds."""
        return self.price / self.capacity * GIB

    def per(self, value: Value, unit: float) -> tuple[float, float, float]:
        """Price of a unit of a rate, with its interval: estimate, low, high."""
        return tuple(self.price / one * unit for one in (value.estimate, value.high, value.low))  # type: ignore[return-value]


def priced(prices: Prices, runs: Sequence[Run], operation: str) -> list[Placement]:
    """Return each tier with a price, then each placement over such tiers that was measured.

    ``operation`` is that of bandwidth: read, write, copy, or a mix such as 67:33. Raises UserError
    where a tier's capacity is in neither the file nor a run.
    """
    found = {tier.target: _placement(prices, runs, tier.target) for tier in prices.tiers}
    placements = {target: one for target, one in found.items() if one}
    usable = [*_usable(runs)]
    idle = idle_latencies(usable)
    measured: dict[str, list[Measurement]] = {}
    for m in usable:
        parts = _parts(m)
        key = str(parts) if parts else m.target
        if key not in placements and (new := _placement(prices, runs, m.target, parts)):
            placements[key] = new
        if m.metric != "latency" or is_one_of(m, idle):
            measured.setdefault(key, []).append(m)
    for key, placement in placements.items():
        _add(placement, measured.get(key, []), operation)
    return [one for one in placements.values()
            if len(one.tiers) == 1 or one.bandwidth or one.latency or one.operations]  # fmt: skip


def _usable(runs: Sequence[Run]) -> Iterable[Measurement]:
    """Yield figures of memory: measured, not of caches, all data on the target, by CPUs or by the
    GPU whose memory it is."""
    for run in runs:
        for m in run.measurements:
            apart = any(m.pattern.get(key) for key in _ELSEWHERE)
            apart |= "writer" in m.pattern  # lines of another core's caches
            apart |= m.initiator.startswith("gpu:") and not m.target.startswith("gpu:")
            if m.has_figure and m.estimate and not m.fits_caches and not apart:
                yield m


def _parts(m: Measurement) -> dict[str, str]:
    """Return where each part of a structure is, where its parts are in several places."""
    found = {key.removeprefix(_PART): str(where) for key, where in m.pattern.items()
             if key.startswith(_PART)}  # fmt: skip
    return found if len(set(found.values())) > 1 else {}


def _placement(
    prices: Prices, runs: Sequence[Run], target: str, parts: Mapping[str, str] | None = None
) -> Placement | None:
    """Return a target with its price; None where one of its tiers has none."""
    try:
        endpoint = parse_endpoint(target)
    except UserError:
        return None
    single = endpoint.kind is not EndpointKind.NODE or len(endpoint.numbers) == 1
    targets = [target] if single else [f"node:{number}" for number in endpoint.numbers]
    tiers = [tier for one in targets if (tier := prices.tier(one))]
    if len(tiers) != len(targets):
        return None
    weights = endpoint.weights or (1,) * len(tiers)
    capacities = [_capacity(prices, runs, tier) for tier in tiers]
    shares = [weight / sum(weights) for weight in weights]
    return Placement(
        name=tiers[0].name if single else _name(prices, tiers, weights, parts),
        target=target,
        tiers=tuple(tiers),
        price=sum(tier.per_gib * size / GIB for tier, size in zip(tiers, capacities, strict=True)),
        capacity=min(size / share for size, share in zip(capacities, shares, strict=True)),
    )


def _name(
    prices: Prices,
    tiers: Sequence[PricedTier],
    weights: Sequence[int],
    parts: Mapping[str, str] | None,
) -> str:
    if parts:
        where = {part: prices.tier(one) for part, one in parts.items()}
        return ", ".join(f"{part} on {tier.name if tier else parts[part]}"
                         for part, tier in where.items())  # fmt: skip
    return f"{':'.join(map(str, weights))} on {', '.join(tier.name for tier in tiers)}"


def _capacity(prices: Prices, runs: Sequence[Run], tier: PricedTier) -> int:
    if tier.capacity is not None:
        return tier.capacity
    endpoint = parse_endpoint(tier.target)
    for run in runs:
        topology = run.header.topology
        if topology is None:
            continue
        if endpoint.kind is EndpointKind.NODE and (node := topology.node(endpoint.numbers[0])):
            return node.total_bytes
        gpu = topology.gpu(endpoint.numbers[0]) if endpoint.kind is EndpointKind.GPU else None
        if gpu and gpu.memory_bytes:
            return gpu.memory_bytes
    raise UserError(
        f"{prices.path}: tier '{tier.name}': no run says how large {tier.target} is; give it the "
        "key 'capacity', as in 480g"
    )


def _add(placement: Placement, measured: Sequence[Measurement], operation: str) -> None:
    """Set the best figures that were measured of a placement."""
    best: dict[str, list[Measurement]] = {}
    for m in measured:
        if m.metric == "bandwidth" and operation_of(m) == operation:
            best.setdefault("bandwidth", []).append(m)
        elif m.metric == "latency":
            best.setdefault("latency", []).append(m)
        elif m.unit == "1/s":
            best.setdefault(_what(m), []).append(m)
    for what, members in best.items():
        if what == "bandwidth":
            placement.bandwidth = _value(best_of(members), operation)
        elif what == "latency":
            placement.latency = _value(best_of(members), "idle")
        else:
            placement.operations.append(_value(best_of(members), what))


def operation_of(m: Measurement) -> str:
    """Return what a bandwidth is of: its operation, or its mix of reads and writes."""
    mix = str(m.pattern.get("mix", ""))
    return str(m.pattern.get("operation") or _OPERATIONS.get(mix, mix))


def _what(m: Measurement) -> str:
    words = [m.pattern.get(key) for key in ("structure", "operation", "distribution")]
    keys = m.pattern.get("keys")
    said = [m.kind, *(str(word) for word in words if word)]
    return ", ".join([*said, f"{keys:,} keys"] if isinstance(keys, int) else said)


def _value(m: Measurement, what: str) -> Value:
    estimate = m.estimate or 0.0
    low = estimate if m.ci_low is None else m.ci_low
    high = estimate if m.ci_high is None else m.ci_high
    order, threads = m.pattern.get("order"), m.pattern.get("threads")
    words = [what, *([str(order)] if order not in (None, "sequential") else [])]
    words += [counted(threads, "thread")] if threads else []
    return Value(what if m.unit == "1/s" else ", ".join(words), estimate, low, high, m)


def goal_of(placement: Placement, goal: str) -> Value | None:
    """Return what a placement has of a goal; None where that was not measured."""
    if goal == "capacity":
        size = placement.capacity
        return Value("capacity", size, size, size)
    return placement.bandwidth if goal == "bandwidth" else placement.latency


def beaten_by(placement: Placement, others: Sequence[Placement], goal: str) -> Placement | None:
    """Return what costs no more and is better, beyond both intervals; the cheapest of them.

    None: the placement is on the frontier of price against this goal.
    """
    own = goal_of(placement, goal)
    if own is None:
        return None
    found = []
    for other in others:
        value = goal_of(other, goal)
        if value is None or other is placement or other.price > placement.price:
            continue
        better = value.high < own.low if goal == "latency" else value.low > own.high
        equal = value.estimate == own.estimate and other.price < placement.price
        if better or equal:
            found.append(other)
    return min(found, key=lambda one: one.price, default=None)
