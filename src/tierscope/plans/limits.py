"""Limits of measurements: a path's, or what the links of copies at once let through together."""

from collections import defaultdict
from collections.abc import Iterable

from tierscope.kinds.bandwidth.spec import BandwidthSpec
from tierscope.kinds.gpu_copy.spec import GpuCopySpec
from tierscope.kinds.gpu_memory.spec import GpuMemorySpec
from tierscope.kinds.plan import Spec
from tierscope.kinds.streams.spec import StreamsSpec
from tierscope.model.endpoint import parse_endpoint
from tierscope.model.gpu import GpuPlace, MemoryPlace, Transfer
from tierscope.model.needs import cpus_of, host_bytes
from tierscope.model.run import Limit
from tierscope.model.topology import Topology
from tierscope.plans.gpu_specs import ends_of
from tierscope.topology.paths import find_path, path_limit


def limit_of(topology: Topology, spec: Spec) -> Limit | None:
    """The limit of a measurement; None where no link's rate is known.

    A kind of one path has that path's. Of a set of transfers between GPUs it is what all sources
    together can send or all destinations together can take, whichever is less; of those with the
    host what their links, the switches and the host memory that they share let through. Bytes
    moved inside one GPU are read and written there, so half of its memory's rate.
    """
    if isinstance(spec, GpuCopySpec):
        inside = any(entry.source == entry.destination for entry in spec.transfers)
        if inside and spec.pattern.size < SURELY_IN_MEMORY:
            return None
        return _limit_of_set(topology, [entry for entry in spec.transfers if entry.reported])
    if isinstance(spec, GpuMemorySpec) and spec.pattern.size < SURELY_IN_MEMORY:
        return None  # may come out of the L2, whose rate nothing tells
    if may_stay_in_caches(spec, topology):
        return None
    return path_limit(topology, parse_endpoint(spec.initiator), parse_endpoint(spec.target))


def may_stay_in_caches(spec: Spec, topology: Topology) -> bool:
    """Whether the last-level caches of a bandwidth's CPUs can hold all that it walks."""
    if not isinstance(spec, BandwidthSpec | StreamsSpec) or not topology.caches:
        return False
    last = max(cache.level for cache in topology.caches)
    cpus = set(cpus_of(spec))
    held = sum(
        cache.size_bytes
        for cache in topology.caches
        if cache.level == last and not cpus.isdisjoint(cache.cpus)
    )
    return host_bytes(spec) <= held


SURELY_IN_MEMORY = 256 << 20
"""Bytes of an array that no GPU's L2 keeps."""


def transfer_limit(topology: Topology, one: Transfer) -> Limit | None:
    """The limit of one transfer by itself."""
    initiator, target = ends_of(one)
    limit = path_limit(topology, parse_endpoint(initiator), parse_endpoint(target))
    if limit is None or one.source != one.destination:
        return limit
    return limit.model_copy(
        update={
            "value": limit.value / 2,
            "formula": f"{limit.formula}; a copy inside reads and writes: half, "
            f"{limit.value / 2e9:.0f} GB/s",
        }
    )


def _limit_of_set(topology: Topology, transfers: list[Transfer]) -> Limit | None:
    limits = [transfer_limit(topology, entry) for entry in transfers]
    known = [limit for limit in limits if limit is not None]
    if not known or len(known) != len(limits):
        return None
    if len(known) == 1:
        return known[0]
    pairs = list(zip(transfers, known, strict=True))
    peers = [(e.source, e.destination, limit.value) for e, limit in pairs if _of_gpus(e)]
    out = _through(topology, peers)
    into = _through(topology, [(there, here, value) for here, there, value in peers])
    with_host, shared = _with_host(topology, [pair for pair in pairs if not _of_gpus(pair[0])])
    value = min(out, into) + with_host
    named = shared or known
    return Limit(
        value=value,
        unit="B/s",
        link=_names_of(named),
        formula=f"what {'shared links and memory' if shared else 'the links'} let through "
        f"together, over {len(known)} transfers = {value / 1e9:.1f} GB/s; {named[0].formula}",
        source=named[0].source,
    )


def _names_of(limits: list[Limit]) -> str:
    """Name up to two links; of more, the first, or one that runs below what it is able to."""
    links = list(dict.fromkeys(limit.link for limit in limits))
    if len(links) <= 2:
        return ", ".join(links)
    below = [link for link in links if ": " in link]
    return f"{(below or links)[0]} and {len(links) - 1} more links"


def _of_gpus(one: Transfer) -> bool:
    return isinstance(one.source, GpuPlace) and isinstance(one.destination, GpuPlace)


def _through(topology: Topology, ends: Iterable[tuple[MemoryPlace, MemoryPlace, float]]) -> float:
    """bytes/s that the first ends of transfers between GPUs send (or take) together.

    A GPU's links to a switch, or its PCIe link, serve all of its peers, so they count once;
    straight NVLinks serve one peer, so they add up.
    """
    links: dict[tuple[int, int | None], float] = defaultdict(float)
    for end, other, value in ends:
        assert isinstance(end, GpuPlace)
        assert isinstance(other, GpuPlace)
        gpu, peer = topology.gpu(end.gpu), topology.gpu(other.gpu)
        straight = gpu and peer and any(e.peer_address == peer.address for e in gpu.nvlinks)
        key = (end.gpu, other.gpu if straight else None)
        links[key] = max(links[key], value)
    return sum(links.values())


def _with_host(
    topology: Topology, pairs: list[tuple[Transfer, Limit]]
) -> tuple[float, list[Limit]]:
    """bytes/s of transfers with the host together, and what they share that bounds them."""
    rates = [limit.value for _, limit in pairs]
    users: dict[tuple[str, str], list[int]] = defaultdict(list)
    bounds: dict[tuple[str, str], Limit] = {}
    for number, (one, _) in enumerate(pairs):
        initiator, target = ends_of(one)
        for hop in find_path(topology, parse_endpoint(initiator), parse_endpoint(target)).hops:
            made_up = topology.virtual and hop.name.startswith("switch")
            if hop.limit is None or hop.parallel or made_up:
                continue
            # A link has its rate each way, memory its rate for both ways together.
            both_ways = hop.name.startswith(("memory", "media"))
            way = "both" if both_ways else one.destination.where
            users[hop.name, way].append(number)
            bounds[hop.name, way] = hop.limit
    shared = []
    # Users of a GPU's link are among its switch's, and those among the memory's: fewest first.
    for key in sorted(users, key=lambda key: len(users[key])):
        wanted, most = sum(rates[number] for number in users[key]), bounds[key].value
        if wanted > most:
            shared.append(bounds[key])
            for number in users[key]:
                rates[number] *= most / wanted
    return sum(rates), shared
