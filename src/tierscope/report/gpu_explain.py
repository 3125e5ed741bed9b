"""One sentence why a figure of a GPU is what it is."""

from pydantic import ValidationError

from tierscope.model.endpoint import parse_endpoint
from tierscope.model.event import GpuState
from tierscope.model.gpu import GpuPlace, HostPlace, Transfer
from tierscope.model.run import Measurement
from tierscope.model.topology import Node, NodeKind, Topology
from tierscope.report.figures import size_text
from tierscope.topology.affinity import home
from tierscope.topology.links import PCIE
from tierscope.topology.paths import find_path

_GOOD = 0.80
"""Efficiency from which a PCIe copy is as good as packet headers and flow control leave."""
_SMALL = 1 << 20
"""Bytes up to which starting a copy takes a share of its time that one can see."""


def explain(measurement: Measurement, topology: Topology | None) -> str:
    """The most telling thing about a measured copy or memory figure; empty where there is none."""
    if measurement.status != "measured":
        return ""
    given = measurement.pattern.get("transfers", [])
    try:
        transfers = [Transfer.model_validate(one) for one in given]
    except ValidationError:  # Of a newer tierscope, say: its figures stand for themselves.
        return ""
    for reason in (
        _slow_link(measurement, transfers, topology),
        _throttled(measurement),
        _by_memory(transfers),
        _by_distance(transfers, topology),
        _by_shape(measurement, transfers) if transfers else _of_memory(measurement, topology),
    ):
        if reason:
            return reason
    return ""


def _states(measurement: Measurement) -> list[GpuState]:
    return (measurement.evidence and measurement.evidence.gpus) or []


def _slow_link(
    measurement: Measurement, transfers: list[Transfer], topology: Topology | None
) -> str:
    """The PCIe link's generation or width during the run, where GPU and slot are able to more."""
    if topology is None:
        return ""
    over_pcie = _over_pcie(transfers, topology)
    for state in _states(measurement):
        gpu = topology.gpu(state.gpu)
        best = gpu.link_max if gpu and state.gpu in over_pcie else None
        if best is None or not state.pcie_generation or not state.pcie_width:
            continue
        generation, width = int(state.pcie_generation[-1]), int(state.pcie_width[-1])
        known = PCIE.get(best.speed)
        able = known.number if known else generation
        if generation < able or width < best.width:
            return (
                f"the link ran at Gen{generation} x{width}, although GPU and slot are able to "
                f"Gen{able} x{best.width}"
            )
    return ""


def _over_pcie(transfers: list[Transfer], topology: Topology) -> set[int]:
    """GPUs whose PCIe link the measured bytes go over: no NVLink, C2C or memory of their own."""
    found: set[int] = set()
    for one in transfers:
        worker, other = (parse_endpoint(end) for end in ends_of(one))
        if any(hop.now or hop.best for hop in find_path(topology, worker, other).hops):
            found |= {end.gpu for end in (one.source, one.destination) if isinstance(end, GpuPlace)}
    return found


def _throttled(measurement: Measurement) -> str:
    reasons = {reason for state in _states(measurement) for reason in state.throttle or []}
    return f"the GPU's clocks were held down: {', '.join(sorted(reasons))}" if reasons else ""


def _host_ends(transfers: list[Transfer]) -> list[HostPlace]:
    ends = [end for one in transfers for end in (one.source, one.destination)]
    return [end for end in ends if isinstance(end, HostPlace)]


def _by_memory(transfers: list[Transfer]) -> str:
    kinds = {end.memory for end in _host_ends(transfers)}
    if "pageable" in kinds:
        return "pageable memory: the driver stages every byte through a pinned buffer of its own"
    if "managed" in kinds:
        return "managed memory: the GPU faults on each page, and it comes over piece by piece"
    if "managed-prefetch" in kinds:
        return "managed memory, prefetched: the driver moves and remaps pages"
    return ""


def _by_distance(transfers: list[Transfer], topology: Topology | None) -> str:
    if topology is None or not transfers:
        return ""
    ends = _host_ends(transfers[:1])
    nodes = {share.node for end in ends for share in end.placement.nodes}
    gpu = topology.gpu(transfers[0].gpu)
    device = topology.pci_device(gpu.address if gpu else None)
    for number in sorted(nodes):
        node = topology.node(number)
        if node is not None and node.kind is NodeKind.CXL:
            return f"node {number} is CXL memory: its own link and controller are on the way"
        if node is not None and device is not None and device.node is not None:
            return _crossing(topology, node, device.node)
    return ""


def _crossing(topology: Topology, node: Node, own: int) -> str:
    """Why memory of a node is not as near as that of a GPU's own; empty where it is."""
    near = home(topology, node)
    if near is None or own in (near, node.number):
        return ""
    here, there = topology.node(own), topology.node(near)
    if here and there and here.package is not None and here.package == there.package:
        return f"node {node.number} is not the GPU's: the way leads over their package's mesh"
    return f"node {node.number} is not the GPU's: the way leads over the sockets' interconnect"


def _by_shape(measurement: Measurement, transfers: list[Transfer]) -> str:
    efficiency = measurement.efficiency or 0.0
    size = int(measurement.pattern.get("size", 0))
    if measurement.evidence and measurement.evidence.in_turn:
        return f"{len(transfers)} queued at once, but served in turn: until all had their bytes"
    reported = [one for one in transfers if one.reported]
    if len(transfers) > 1 and len(reported) < len(transfers):
        return "the others contend for the same way to the end; only this one is counted"
    if len(transfers) > 1:
        return _both_ways(measurement, transfers)
    if transfers[0].source == transfers[0].destination:
        if size < SURELY_IN_MEMORY:
            return "copies this small may stay in the L2, whose rate nothing tells"
        return "inside one GPU each byte is read and written: half of its memory's rate at best"
    if size <= _SMALL and 0.0 < efficiency < 0.95 * _GOOD:
        return f"copies of {size_text(size)} end before the time to start one is made up for"
    if transfers[0].engine != "ce":
        return "moved by a kernel's loads and stores: smaller packets than a copy engine's"
    if efficiency >= _GOOD:
        return "as much as the link gives: the rest is packet headers and flow control"
    if measurement.limit is not None:
        return f"below what the smallest link, {measurement.limit.link}, should give"
    return ""


def _both_ways(measurement: Measurement, transfers: list[Transfer]) -> str:
    rates = [f"{figure.estimate / 1e9:.1f}" for figure in measurement.figures[: len(transfers)]]
    if len(transfers) == 2 and transfers[0].source == transfers[1].destination:
        names = [one.name for one in transfers]
        return (
            f"{names[0]} {rates[0]} and {names[1]} {rates[1]} GB/s at once: each way's "
            "acknowledgements and read requests go the other way"
        )
    return f"{len(transfers)} at once, each contested to the end"


def _of_memory(measurement: Measurement, topology: Topology | None) -> str:
    if int(measurement.pattern.get("size", 0)) < SURELY_IN_MEMORY:
        return "arrays this small may come out of the L2, whose rate nothing tells"
    if measurement.pattern.get("operation") == "random":
        return "random accesses: each opens a row of its own"
    if measurement.limit is None and topology is not None:
        own = parse_endpoint(measurement.target)
        return f"no limit is known: {find_path(topology, own, own).note}"
    if (measurement.efficiency or 0.0) >= 0.9:
        return "as much as its memory gives: the rest goes into refresh and turning the bus around"
    return ""
