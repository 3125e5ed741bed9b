"""One sentence why the figure of a copy is what it is."""

from collections.abc import Sequence

from tierscope.kinds.gpu_copy.copies import Copy
from tierscope.model.gpu import SURELY_IN_MEMORY, GpuPlace, Transfer
from tierscope.model.run import Measurement
from tierscope.model.topology import Node, NodeKind, Topology
from tierscope.model.transfers import endpoint_of, host_places, issuer_and_memory
from tierscope.report.figures import size_text
from tierscope.report.gpu_evidence import states_of, throttled
from tierscope.topology.affinity import home
from tierscope.topology.links import PCIE
from tierscope.topology.paths import MachinePaths

_GOOD = 0.80
"""Efficiency from which a PCIe copy is as good as packet headers and flow control leave."""
_SMALL = 1 << 20
"""Bytes up to which starting a copy takes a visible share of its time."""


def explain(copy: Copy, topology: Topology | None) -> str:
    """Return the most telling thing about a measured copy; empty where there is none."""
    if copy.entry.status != "measured" or not copy.transfers:
        return ""
    for reason in (
        _slow_link(copy, topology),
        throttled(copy.entry),
        _by_memory(copy.transfers),
        _by_distance(copy.transfers, topology),
        _by_shape(copy),
    ):
        if reason:
            return reason
    return ""


def _slow_link(copy: Copy, topology: Topology | None) -> str:
    """Say how the PCIe link ran, where GPU and slot support a higher generation or more lanes."""
    if topology is None:
        return ""
    over_pcie = _over_pcie(copy.transfers, topology)
    for state in states_of(copy.entry):
        gpu = topology.gpu(state.gpu)
        best = gpu.link_max if gpu and state.gpu in over_pcie else None
        if best is None or not state.pcie_generation or not state.pcie_width:
            continue
        generation, width = int(state.pcie_generation[-1]), int(state.pcie_width[-1])
        known = PCIE.get(best.speed)
        supported = known.number if known else generation
        if generation < supported or width < best.width:
            return (
                f"the link ran at Gen{generation} x{width}, although GPU and slot support "
                f"Gen{supported} x{best.width}"
            )
    return ""


def _over_pcie(transfers: Sequence[Transfer], topology: Topology) -> set[int]:
    """Return the GPUs whose PCIe link the bytes go over: no NVLink, C2C or memory of their own."""
    paths = MachinePaths(topology)
    found: set[int] = set()
    for one in transfers:
        if any(hop.now or hop.best for hop in paths.path(*issuer_and_memory(one)).hops):
            places = (one.source, one.destination)
            found |= {place.gpu for place in places if isinstance(place, GpuPlace)}
    return found


def _by_memory(transfers: Sequence[Transfer]) -> str:
    kinds = {place.memory for place in host_places(transfers)}
    if "pageable" in kinds:
        return "pageable memory: the driver stages every byte through a pinned buffer of its own"
    if "managed" in kinds:
        return "managed memory: the GPU faults on each page, and pages migrate piece by piece"
    if "managed-prefetch" in kinds:
        return "managed memory, prefetched: the driver moves and remaps pages"
    return ""


def _by_distance(transfers: Sequence[Transfer], topology: Topology | None) -> str:
    if topology is None:
        return ""
    places = host_places(transfers[:1])
    nodes = {share.node for place in places for share in place.placement.nodes}
    gpu = topology.gpu(transfers[0].gpu)
    device = topology.pci_device(gpu.address if gpu else None)
    for number in sorted(nodes):
        node = topology.node(number)
        if node is not None and node.kind is NodeKind.CXL:
            return f"node {number} is CXL memory: its own link and controller are on the path"
        if node is not None and device is not None and device.node is not None:
            return _crossing(topology, node, device.node)
    return ""


def _crossing(topology: Topology, node: Node, own: int) -> str:
    """Say why memory of a node is not as near as that of a GPU's own; empty where it is."""
    near = home(topology, node)
    if near is None or own in (near, node.number):
        return ""
    here, there = topology.node(own), topology.node(near)
    if here and there and here.package is not None and here.package == there.package:
        return f"node {node.number} is not the GPU's: the path crosses their package's mesh"
    return f"node {node.number} is not the GPU's: the path crosses the sockets' interconnect"


def _by_shape(copy: Copy) -> str:
    entry, transfers = copy.entry, copy.transfers
    if entry.evidence and entry.evidence.in_turn:
        return (
            f"{len(transfers)} transfers were queued at once but served in turn: the rate covers "
            "the time until all had finished"
        )
    if len(transfers) > 1 and len(copy.counted) < len(transfers):
        return "the other transfers contend for the same links until the end; only this one counts"
    if len(transfers) > 1:
        return _of_several(copy)
    if transfers[0].source == transfers[0].destination:
        if copy.size < SURELY_IN_MEMORY:
            return "copies this small may stay in the L2, whose rate is not known"
        return "inside one GPU each byte is read and written: at most half of its memory's rate"
    return _of_one(entry, copy.size, transfers[0])


def _of_several(copy: Copy) -> str:
    transfers = copy.transfers
    if copy.both_ways:
        rates = {figure.part: figure.estimate for figure in copy.entry.figures}
        said = [
            f"{endpoint_of(one.source)} -> {endpoint_of(one.destination)} "
            f"{rates[one.name] / 1e9:.1f}"
            for one in transfers
            if one.name in rates
        ]
        if len(said) == len(transfers):
            return (
                f"{' and '.join(said)} GB/s at once: each direction also carries the other's "
                "acknowledgements and read requests"
            )
    return f"{len(transfers)} transfers at once, under contention until the end"


def _of_one(entry: Measurement, size: int, one: Transfer) -> str:
    efficiency = entry.efficiency or 0.0
    if size <= _SMALL and 0.0 < efficiency < 0.95 * _GOOD:
        return f"for {size_text(size)}, starting the copy takes a large share of the time"
    if one.engine != "ce":
        return "moved by a kernel's loads and stores: smaller packets than a copy engine's"
    if efficiency >= _GOOD:
        return "near the link's maximum: packet headers and flow control take the rest"
    if entry.limit is not None:
        return f"below what the smallest link, {entry.limit.link}, should give"
    return ""
