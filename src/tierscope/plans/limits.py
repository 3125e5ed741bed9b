"""Limits of measurements: a path's, or what the links of copies at once let through together."""

from collections import defaultdict
from collections.abc import Iterable

from tierscope.model.endpoint import parse_endpoint
from tierscope.model.gpu import GpuCopySpec, GpuMemorySpec, GpuPlace, MemoryPlace, Transfer
from tierscope.model.needs import cpus_of, host_bytes
from tierscope.model.plan import BandwidthSpec, Spec, StreamsSpec
from tierscope.model.run import Limit
from tierscope.model.topology import Topology
from tierscope.plans.gpu_specs import ends_of
from tierscope.topology import path_limit


def limit_of(topology: Topology, spec: Spec) -> Limit | None:
    """The limit of a measurement; None where no link's rate is known.

    A kind of one path has that path's. Of a set of transfers it is what all sources together can
    send or all destinations together can take, whichever is less; bytes moved inside one GPU are
    read and written there, so half of its memory's rate.
    """
    if isinstance(spec, GpuCopySpec):
        return _limit_of_set(topology, [entry for entry in spec.transfers if entry.reported])
    if isinstance(spec, GpuMemorySpec) and spec.pattern.size < _SURELY_IN_MEMORY:
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


_SURELY_IN_MEMORY = 256 << 20
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
    out = _through((entry.source, entry.destination, limit.value) for entry, limit in pairs)
    into = _through((entry.destination, entry.source, limit.value) for entry, limit in pairs)
    value = min(out, into)
    links = ", ".join(dict.fromkeys(limit.link for limit in known))
    return Limit(
        value=value,
        unit="B/s",
        link=links,
        formula=f"what the sources together send or the destinations together take, over "
        f"{len(known)} transfers = {value / 1e9:.1f} GB/s; {known[0].formula}",
        source=known[0].source,
    )


def _through(ends: Iterable[tuple[MemoryPlace, MemoryPlace, float]]) -> float:
    """bytes/s through one side's ends: a GPU's link counts once each way, the host has no limit."""
    links: dict[object, float] = defaultdict(float)
    for end, other, value in ends:
        # The link of a transfer with the host is the GPU's own, whichever side the GPU is on.
        gpu = end if isinstance(end, GpuPlace) else other
        assert isinstance(gpu, GpuPlace)
        toward = "peers" if isinstance(end, GpuPlace) and isinstance(other, GpuPlace) else "host"
        key = (gpu.gpu, toward, isinstance(end, GpuPlace))
        links[key] = max(links[key], value)
    return sum(links.values())
