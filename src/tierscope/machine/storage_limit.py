"""Limits of storage reads and writes: links on the path, and the drives' data sheets.

A bound is never below what can be reached: where a part is not known, the rest bounds. What the
page cache holds is bounded by memory, so buffered accesses have no limit here.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from tierscope.machine.affinity import Tree
from tierscope.machine.gpu_paths import gpu_home
from tierscope.machine.paths import find_path, limit_of
from tierscope.machine.storage_paths import array_of, drives_of, locate
from tierscope.model.endpoint import Endpoint, EndpointKind, parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.path import Hop, Limit, Traffic
from tierscope.model.rating import RatedDrive
from tierscope.model.storage import Access
from tierscope.model.topology import Block, Topology


def storage_limit(
    topology: Topology, ways: Sequence[tuple[str, str]], access: Access
) -> Limit | None:
    """Return the limit of several pairs of initiator and target together; shared links count once.

    None of buffered accesses, and where neither links nor data sheets tell: a result is never lost
    over its limit.
    """
    if not access.direct:
        return None
    try:
        bounds = [
            _bounds(topology, parse_endpoint(initiator), parse_endpoint(target), access)
            for initiator, target in dict.fromkeys(ways)
        ]
    except UserError:
        return None
    return _together(bounds) if bounds and all(bounds) else None


def _together(bounds: Sequence[dict[str, Limit]]) -> Limit:
    """The sum of what each way has, but of what several ways go through no more than that has.

    From the links that fewest ways share upwards, as a tree of switches is.
    """
    groups = [({way}, min(own.values(), key=_value)) for way, own in enumerate(bounds)]
    users: dict[str, set[int]] = {}
    for way, own in enumerate(bounds):
        for name in own:
            users.setdefault(name, set()).add(way)
    for name in sorted(users, key=lambda name: len(users[name])):
        inside = [group for group in groups if group[0] <= users[name]]
        if len(users[name]) < 2 or sum(len(ways) for ways, _ in inside) < len(users[name]):
            continue  # nobody shares it, or not as in a tree
        shared = bounds[min(users[name])][name]
        limit = min(_sum([limit for _, limit in inside]), shared, key=_value)
        groups = [group for group in groups if group not in inside]
        groups.append((users[name], limit))
    return _sum([limit for _, limit in sorted(groups, key=lambda group: min(group[0]))])


def _value(limit: Limit) -> float:
    return limit.value


def _sum(limits: Sequence[Limit]) -> Limit:
    """Several at once that share nothing."""
    if len(limits) == 1:
        return limits[0]
    total = sum(limit.value for limit in limits)
    return limits[0].model_copy(
        update={
            "value": total,
            "link": " and ".join(limit.link for limit in limits),
            "formula": " + ".join(f"({limit.formula})" for limit in limits)
            + f" = {_text(total, limits[0].unit)}",
            "source": "; ".join(dict.fromkeys(limit.source for limit in limits)),
            "degraded": any(limit.degraded for limit in limits),
        }
    )


def _bounds(
    topology: Topology, initiator: Endpoint, target: Endpoint, access: Access
) -> dict[str, Limit]:
    """Return the limits of one path by their source: links, and data sheets."""
    located = locate(topology, target)
    found = drives_of(located)
    array = array_of(located)
    level = array.level if array is not None else ""
    name = located.block or ""
    bounds = _of_links(topology, initiator, target, (level, name, len(found)), access)
    for limit in _of_ratings(topology.ratings, found, level, access):
        bounds[f"{limit.link}: {limit.formula}"] = limit
    return bounds


def _of_links(
    topology: Topology,
    initiator: Endpoint,
    target: Endpoint,
    array: tuple[str, str, int],
    access: Access,
) -> dict[str, Limit]:
    """What each link on the way carries of the reads and writes; ``array`` has level, name and
    members."""
    level, name, members = array
    plain = _traffic(access, 1.0, "")
    copied = _traffic(access, useful_share(level, members), level)
    limits = {}
    for hop in _hops(topology, initiator, target, access.through_host):
        # Copies and parity go over the links of an array's members only.
        limit = None if hop.parallel else limit_of(hop, copied if hop.name == name else plain)
        if hop.parallel and level == "raid1" and access.read_share < 1:
            # Each member gets all writes, so the slowest one counts, and may share the reads.
            limit = limit_of(hop, _traffic(access, 1.0, f"each member of {level}", members))
        if limit is not None:
            limits[hop.name] = _per_second(limit, access)
    return limits


def _hops(
    topology: Topology, initiator: Endpoint, target: Endpoint, through_host: bool
) -> list[Hop]:
    if initiator.kind is not EndpointKind.GPU or not through_host:
        return find_path(topology, initiator, target).hops
    gpu = topology.gpu(initiator.numbers[0])
    near = gpu_home(topology, Tree(topology.pci), gpu) if gpu is not None else None
    nodes = [near] if near is not None else [node.number for node in topology.nodes if node.cpus]
    host = Endpoint(kind=EndpointKind.NODE, numbers=tuple(nodes))
    return [
        *find_path(topology, host, target).hops,
        *(hop for hop in find_path(topology, host, initiator).hops if not hop.half_duplex),
    ]


def _traffic(access: Access, share: float, level: str, readers: int = 1) -> Traffic:
    """Bytes on a link for each that the program counts; writes are more where copies are kept, and
    ``readers`` links share the reads."""
    reads, writes = access.read_share / readers, (1 - access.read_share) / share
    kept = f" to {level}" if level and writes else ""
    if access.read_share == 1 or (reads == 0 and not kept):
        return Traffic()  # one direction, byte for byte
    shares = f"{access.read_share:.0%} reads, {1 - access.read_share:.0%} writes"
    return Traffic((shares if reads else "writing") + kept, reads, writes)


def useful_share(level: str, members: int) -> float:
    """Share of what an md array's members write that is new data: the rest is copies and parity.

    Full stripes; what needs to be read first makes it less.
    """
    if members < 2:
        return 1.0
    shares = {"raid1": 1 / members, "raid10": 1 / 2}
    parity = {"raid4": 1, "raid5": 1, "raid6": 2}.get(level, 0)
    return shares.get(level, (members - parity) / members)


def _per_second(limit: Limit, access: Access) -> Limit:
    """The same as operations a second, where those are what is counted."""
    if not access.counts_operations:
        return limit
    value = limit.value / access.block_bytes
    formula = f"{limit.formula}; / {access.block_bytes} B an operation = {_text(value, '1/s')}"
    return limit.model_copy(update={"value": value, "unit": "1/s", "formula": formula})


def _of_ratings(
    ratings: Sequence[RatedDrive], found: Sequence[Block], level: str, access: Access
) -> list[Limit]:
    """Return the sum of the drives' ratings; none where one of them has no rating."""
    rated = [_rating_of(block, ratings) for block in found]
    drives = [entry for entry in rated if entry is not None]
    if not drives or len(drives) < len(rated):
        return []
    share = useful_share(level, len(drives))
    names = ", ".join(block.name for block in found)
    models = " and ".join(dict.fromkeys(block.product for block in found if block.product))
    sources = "; ".join(dict.fromkeys(drive.source for drive in drives))
    limits = []
    for read, write, unit in (
        ([d.read for d in drives], [d.write for d in drives], "B/s"),
        ([d.read_iops for d in drives], [d.write_iops for d in drives], "1/s"),
    ):
        if unit == "1/s" and not (access.counts_operations and access.random):
            continue  # data sheets count random accesses; those in sequence may be merged
        bound = _mixed(read, write, share, access.read_share, unit, level == "raid1")
        if bound is None:
            continue
        value, formula = bound
        limit = Limit(
            value=value,
            unit="B/s" if unit == "B/s" else "1/s",
            link=f"rating of {names} ({models})" if models else f"rating of {names}",
            formula=formula,
            source=f"data sheet, by {sources}",
        )
        limits.append(_per_second(limit, access) if unit == "B/s" else limit)
    return limits


def _rating_of(block: Block, ratings: Sequence[RatedDrive]) -> RatedDrive | None:
    """The rating of a drive's model; one without a wildcard goes first."""
    matching = [entry for entry in ratings if fnmatchcase(block.product, entry.model)]
    return min(matching, key=lambda entry: "*" in entry.model, default=None)


def _mixed(
    read: Sequence[float | None],
    write: Sequence[float | None],
    share: float,
    read_share: float,
    unit: str,
    slowest: bool,
) -> tuple[float, str] | None:
    """All drives' rate at a mix of reads and writes, and its formula; each takes its own time.

    ``slowest``: each drive gets every write.
    """
    reads, writes = _all_of(read, unit), _all_of(write, unit)
    if (read_share > 0 and reads is None) or (read_share < 1 and writes is None):
        return None
    parts = []
    if writes is not None and slowest:
        rates = [rate for rate in write if rate is not None]
        writes = min(rates), f"the slowest of {len(rates)}: {_text(min(rates), unit)}"
    elif writes is not None and share < 1:
        total = writes[0] * share
        writes = total, f"({writes[1]}) x {share:.3g} = {_text(total, unit)}"
    if reads is not None and read_share == 1:
        return reads
    if writes is not None and read_share == 0:
        return writes
    seconds = 0.0
    for word, rate, part in (("reads", reads, read_share), ("writes", writes, 1 - read_share)):
        assert rate is not None
        seconds += part / rate[0]
        parts.append(f"{part:.0%} {word} at {rate[1]}")
    return 1 / seconds, f"{'; '.join(parts)}; in turn {_text(1 / seconds, unit)}"


def _all_of(rates: Sequence[float | None], unit: str) -> tuple[float, str] | None:
    known = [rate for rate in rates if rate is not None]
    if len(known) < len(rates):
        return None
    total = sum(known)
    if len(known) == 1:
        return total, _text(total, unit)
    return total, " + ".join(_text(rate, unit) for rate in known) + f" = {_text(total, unit)}"


def _text(value: float, unit: str) -> str:
    return f"{value / 1e9:.4g} GB/s" if unit == "B/s" else f"{value:,.0f}/s"
