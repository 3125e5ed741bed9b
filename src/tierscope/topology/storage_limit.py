"""What bounds reads and writes of storage: the links on the way, and the drives' data sheets.

A bound is never below what can be reached: where a part is not known, the rest bounds. What the
page cache holds is bounded by memory, so buffered accesses have no limit here.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from tierscope.model.endpoint import Endpoint, EndpointKind, parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.limit import Limit
from tierscope.model.path import Hop
from tierscope.model.rating import RatedDrive
from tierscope.model.storage import Access
from tierscope.model.topology import Block, Topology
from tierscope.model.traffic import Traffic
from tierscope.topology.affinity import Tree
from tierscope.topology.gpu_paths import gpu_home
from tierscope.topology.operations import limit_of
from tierscope.topology.paths import find_path
from tierscope.topology.storage_paths import Located, drives_of, locate


def storage_limit(
    topology: Topology, initiator: str, targets: Sequence[str], access: Access
) -> Limit | None:
    """What an initiator can have of its targets together.

    Targets on one device count once. None of buffered accesses, and where neither links nor data
    sheets tell: a result is never lost over its limit.
    """
    if not access.direct:
        return None
    try:
        found = _by_device(topology, targets)
        limits = [
            _of_device(topology, parse_endpoint(initiator), target, located, access)
            for target, located in found
        ]
    except UserError:
        return None
    known = [limit for limit in limits if limit is not None]
    if not known or len(known) < len(limits):
        return None
    return known[0] if len(known) == 1 else _sum(known)


def _by_device(topology: Topology, targets: Sequence[str]) -> list[tuple[Endpoint, Located]]:
    found: dict[str, tuple[Endpoint, Located]] = {}
    for text in targets:
        target = parse_endpoint(text)
        located = locate(topology, target)
        found.setdefault(located.block or text, (target, located))
    return list(found.values())


def _sum(limits: Sequence[Limit]) -> Limit:
    """Targets on several devices at once."""
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


def _of_device(
    topology: Topology, initiator: Endpoint, target: Endpoint, located: Located, access: Access
) -> Limit | None:
    found = drives_of(located)
    level = next((block.level for block in located.blocks if block.name == located.block), "")
    bounds = [
        *_of_links(topology, initiator, target, level, located.block or "", len(found), access),
        *_of_ratings(topology.ratings, found, level, access),
    ]
    return min(bounds, key=lambda limit: limit.value) if bounds else None


def _of_links(
    topology: Topology,
    initiator: Endpoint,
    target: Endpoint,
    level: str,
    name: str,
    members: int,
    access: Access,
) -> list[Limit]:
    """What each link on the way carries of the reads and writes."""
    share = useful_share(level, members)
    plain, copied = _traffic(access, 1.0, ""), _traffic(access, share, level)
    limits = []
    for hop in _hops(topology, initiator, target, access.through_host):
        # Copies and parity go over the links of an array's members only.
        limit = None if hop.parallel else limit_of(hop, copied if hop.name == name else plain)
        if limit is not None:
            limits.append(_per_second(limit, access))
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


def _traffic(access: Access, share: float, level: str) -> Traffic:
    """Bytes on a link for each that the program counts; writes are more where copies are kept."""
    reads, writes = access.read_share, (1 - access.read_share) / share
    kept = f" to {level}" if share < 1 else ""
    if reads == 1 or (reads == 0 and not kept):
        return Traffic()  # one direction, byte for byte
    name = f"{reads:.0%} reads, {1 - reads:.0%} writes" if reads else "writing"
    return Traffic(name + kept, reads, writes)


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
    """What the data sheets of all drives together allow; none where one of them has no rating."""
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
        bound = _mixed(read, write, share, access.read_share, unit)
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
) -> tuple[float, str] | None:
    """All drives' rate at a mix of reads and writes, and its formula; each takes its own time."""
    reads, writes = _together(read, unit), _together(write, unit)
    if (read_share > 0 and reads is None) or (read_share < 1 and writes is None):
        return None
    parts = []
    if writes is not None and share < 1:
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


def _together(rates: Sequence[float | None], unit: str) -> tuple[float, str] | None:
    known = [rate for rate in rates if rate is not None]
    if len(known) < len(rates):
        return None
    total = sum(known)
    if len(known) == 1:
        return total, _text(total, unit)
    return total, " + ".join(_text(rate, unit) for rate in known) + f" = {_text(total, unit)}"


def _text(value: float, unit: str) -> str:
    return f"{value / 1e9:.4g} GB/s" if unit == "B/s" else f"{value:,.0f}/s"
