"""The limit of concurrent copies, whose links are shared."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from tierscope.model.gpu import GpuPlace, MemoryPlace, Transfer
from tierscope.model.limit import Limit
from tierscope.model.path import HopRole, Paths
from tierscope.model.traffic import ONE_WAY, Traffic
from tierscope.model.transfers import issuer_and_memory

_INSIDE = Traffic("a copy inside", reads=1.0, writes=1.0)
"""Each byte that such a copy counts is read and written in the same memory."""


def limit_of_set(paths: Paths, transfers: Sequence[Transfer]) -> Limit | None:
    """The limit of transfers that run at once; None where no link's rate is known.

    Of transfers between GPUs it is the total that all sources can send or all destinations can
    take, whichever is less; of those with the host, what their links, the switches and the host
    memory that they share can carry.
    """
    limits = [transfer_limit(paths, entry) for entry in transfers]
    known = [limit for limit in limits if limit is not None]
    if not known or len(known) != len(limits):
        return None
    if len(known) == 1:
        return known[0]
    pairs = list(zip(transfers, known, strict=True))
    peers = [(e.source, e.destination, limit.value) for e, limit in pairs if _of_gpus(e)]
    out = _through(paths, peers)
    into = _through(paths, [(there, here, value) for here, there, value in peers])
    with_host, shared = _with_host(paths, [pair for pair in pairs if not _of_gpus(pair[0])])
    value = min(out, into) + with_host
    named = shared or known
    return Limit(
        value=value,
        unit="B/s",
        link=_names_of(named),
        formula=f"what {'shared links and memory' if shared else 'the links'} can carry "
        f"of {len(known)} concurrent transfers = {value / 1e9:.1f} GB/s; {named[0].formula}",
        source=named[0].source,
        degraded=any(limit.degraded for limit in named),
    )


def transfer_limit(paths: Paths, one: Transfer) -> Limit | None:
    """The limit of one transfer by itself: one direction of each link."""
    inside = one.source == one.destination
    return paths.limit(*issuer_and_memory(one), _INSIDE if inside else ONE_WAY)


def _names_of(limits: list[Limit]) -> str:
    """Name up to two links; of more, the first, or one that runs below what it is able to."""
    links = list(dict.fromkeys(limit.link for limit in limits))
    if len(links) <= 2:
        return ", ".join(links)
    degraded = [limit.link for limit in limits if limit.degraded]
    return f"{(degraded or links)[0]} and {len(links) - 1} more links"


def _of_gpus(one: Transfer) -> bool:
    return isinstance(one.source, GpuPlace) and isinstance(one.destination, GpuPlace)


def _through(paths: Paths, pairs: Iterable[tuple[MemoryPlace, MemoryPlace, float]]) -> float:
    """bytes/s that the first endpoints of transfers between GPUs send (or take) in total.

    A GPU's links to a switch, or its PCIe link, serve all of its peers, so they count once;
    straight NVLinks serve one peer, so they add up.
    """
    links: dict[tuple[int, int | None], float] = defaultdict(float)
    for end, other, value in pairs:
        assert isinstance(end, GpuPlace)
        assert isinstance(other, GpuPlace)
        gpu, peer = paths.topology.gpu(end.gpu), paths.topology.gpu(other.gpu)
        straight = gpu and peer and any(e.peer_address == peer.address for e in gpu.nvlinks)
        key = (end.gpu, other.gpu if straight else None)
        links[key] = max(links[key], value)
    return sum(links.values())


def _with_host(paths: Paths, pairs: list[tuple[Transfer, Limit]]) -> tuple[float, list[Limit]]:
    """bytes/s of all transfers with the host, and what they share that bounds them."""
    rates = [limit.value for _, limit in pairs]
    users: dict[tuple[str, str], list[int]] = defaultdict(list)
    bounds: dict[tuple[str, str], Limit] = {}
    for number, (one, _) in enumerate(pairs):
        for hop in paths.path(*issuer_and_memory(one)).hops:
            emulated = paths.topology.virtual and hop.role is HopRole.SWITCH
            if hop.limit is None or hop.parallel or emulated:
                continue
            way = "both" if hop.half_duplex else one.destination.where
            users[hop.name, way].append(number)
            bounds[hop.name, way] = hop.limit
    shared = []
    # Users of a GPU's link are among its switch's, and those among the memory's: fewest first.
    for key in sorted(users, key=lambda key: len(users[key])):
        wanted, carried = sum(rates[number] for number in users[key]), bounds[key].value
        if wanted > carried:
            shared.append(bounds[key])
            for number in users[key]:
                rates[number] *= carried / wanted
    return sum(rates), shared
