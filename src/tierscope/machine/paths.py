"""What one hop of a path allows of an operation, by the bytes that go each way.

A full-duplex link carries its rate in each direction at the same time, so that the busier one
limits. On a half-duplex one, the data bus of DRAM, reads and writes take turns.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tierscope.machine.affinity import Tree, backing_addresses, home
from tierscope.machine.gpu_paths import (
    as_list,
    cpu_to_gpu,
    crossing_to,
    gpu_home,
    gpu_links,
    gpu_memory,
    gpu_to_gpu,
    is_memory_of,
)
from tierscope.machine.links import pcie_name
from tierscope.machine.memory import memory_limit, own_memory_limit
from tierscope.machine.pcie import chain, pcie_hop
from tierscope.machine.storage_paths import only_device, storage_hops
from tierscope.model.endpoint import INITIATORS, TARGETS, Endpoint, EndpointKind, parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.path import BOTH_WAYS, ONE_WAY, Hop, HopRole, Limit, Path, Traffic
from tierscope.model.storage import Access
from tierscope.model.topology import Gpu, Node, NodeKind, Topology

_MEDIA = "the speed of the DRAM behind a CXL controller is not readable"


def limit_of(hop: Hop, traffic: Traffic) -> Limit | None:
    """Limit of an operation by one hop, in bytes that the program counts; None where the hop's rate
    is not known."""
    rate = hop.limit
    if rate is None or not traffic.name:
        return rate
    value = rate.value / _load(hop, traffic)
    fetches = traffic.fetched > 0
    avoided = rate.value / _load(hop, traffic.without_fetched()) if fetches else None
    return rate.model_copy(
        update={
            "value": value,
            "formula": f"{rate.formula}{_each_way(hop)}; {_said(hop, traffic, rate.value)}",
            "without_write_allocate": avoided,
        }
    )


def _load(hop: Hop, traffic: Traffic) -> float:
    """Bytes that the busier direction, or the bus, carries for each that the program counts."""
    return traffic.both if hop.half_duplex else max(traffic.reads, traffic.writes)


def _each_way(hop: Hop) -> str:
    return "" if hop.half_duplex else " each way"


def _said(hop: Hop, traffic: Traffic, rate: float) -> str:
    """The operation's share of the formula, with its numbers and the direction that limits."""
    load = _load(hop, traffic)
    if hop.half_duplex:
        where = "on the bus"
    elif traffic.reads == traffic.writes:
        where = "in each direction"
    else:
        where = "in the direction of " + ("reads" if traffic.reads > traffic.writes else "writes")
    part = ""
    if traffic.fetched and (hop.half_duplex or traffic.reads >= traffic.writes):
        part = " (write-allocate included)"
    result = "" if load == 1 else f": / {load:.4g} = {rate / load / 1e9:.2f} GB/s"
    return f"{traffic.name} has {load:.4g} B{part} {where} for each byte counted{result}"


@dataclass(frozen=True)
class MachinePaths:
    """All paths of one machine, as ``tierscope.model.path.Paths`` describes them."""

    topology: Topology

    def path(self, initiator: str, target: str) -> Path:
        """The path; UserError where the machine has no such endpoint."""
        return find_path(self.topology, parse_endpoint(initiator), parse_endpoint(target))

    def limit(self, initiator: str, target: str, traffic: Traffic = ONE_WAY) -> Limit | None:
        """Limit of the path's smallest link; None where no rate is known, or no such endpoint,
        is known."""
        return path_limit(self.topology, parse_endpoint(initiator), parse_endpoint(target), traffic)

    def storage_limit(self, ways: Sequence[tuple[str, str]], access: Access) -> Limit | None:
        """Limit of storage reads and writes by links and data sheets; None where neither is
        known, or where the page cache takes part."""
        from tierscope.machine.storage_limit import storage_limit

        return storage_limit(self.topology, ways, access)


def path_limit(
    topology: Topology, initiator: Endpoint, target: Endpoint, traffic: Traffic = ONE_WAY
) -> Limit | None:
    """Return the limit of the path's smallest link; None where no link's rate is known.

    An endpoint that the machine has not gives None too: a result is never lost over its limit.
    """
    try:
        return find_path(topology, initiator, target, traffic).limit
    except UserError:
        return None


def find_path(
    topology: Topology, initiator: Endpoint, target: Endpoint, traffic: Traffic = ONE_WAY
) -> Path:
    """The way from an initiator to a target; UserError where the machine has no such endpoint.

    Its limit is that of an operation; without one, of one direction.
    """
    if initiator.kind not in INITIATORS:
        raise UserError(f"'{initiator}' issues no accesses: name CPUs, a node or a GPU first")
    if target.kind not in TARGETS:
        raise UserError(f"'{target}' holds no data: name a node, a GPU, a file or a device second")
    tree = Tree(topology.pci)
    if target.kind is EndpointKind.PMEM and target.numbers:
        target = target.model_copy(update={"kind": EndpointKind.NODE})
    if target.kind is EndpointKind.NODE and len(target.numbers) > 1:
        return _interleaved(topology, initiator, target, traffic)
    if initiator.kind is EndpointKind.GPU:
        hops = _from_gpu(topology, tree, _gpu(topology, initiator.numbers[0]), target)
    else:
        hops = _from_cpus(topology, tree, _cpu_nodes(topology, initiator), target)
    known = [found for hop in hops if not hop.parallel and (found := limit_of(hop, traffic))]
    limit = min(known, key=lambda entry: entry.value) if known else None
    unknown = [
        f"{hop.name}: {hop.note}"
        for hop in hops
        if hop.limit is None and hop.note and not hop.parallel
    ]
    return Path(
        initiator=str(initiator),
        target=str(target),
        hops=hops,
        limit=limit,
        both_ways=_both_ways(hops),
        note="; ".join(unknown),
    )


def _both_ways(hops: Sequence[Hop]) -> float | None:
    """Return the limit of equal traffic in both directions."""
    found = [limit_of(hop, BOTH_WAYS) for hop in hops if not hop.parallel]
    return min((limit.value for limit in found if limit is not None), default=None)


def _from_cpus(topology: Topology, tree: Tree, nodes: list[Node], target: Endpoint) -> list[Hop]:
    homes = [node.number for node in nodes]
    if target.kind is EndpointKind.NODE:
        return _to_node(topology, tree, homes, _node(topology, target.numbers[0]))
    if target.kind is EndpointKind.GPU:
        gpu = _gpu(topology, target.numbers[0])
        return [*cpu_to_gpu(topology, tree, homes, gpu), *gpu_memory(gpu)]
    return storage_hops(topology, tree, target, lambda near: crossing_to(topology, homes, near))


def _from_gpu(topology: Topology, tree: Tree, gpu: Gpu, target: Endpoint) -> list[Hop]:
    if target.kind is EndpointKind.GPU:
        return gpu_to_gpu(topology, tree, gpu, _gpu(topology, target.numbers[0]))
    if target.kind is EndpointKind.NODE:
        node = _node(topology, target.numbers[0])
        if gpu.node == node.number or (gpu.address and gpu.address in node.backed_by):
            return gpu_memory(gpu)
        root = gpu_home(topology, tree, gpu)
        near = [root] if root is not None else []
        up = cpu_to_gpu(topology, tree, near, gpu)[::-1]
        return [*up, *_to_node(topology, tree, near, node)]
    common = tree.common(gpu.address, only_device(topology, target))
    return [
        *gpu_links(tree, gpu, common),
        *storage_hops(
            topology,
            tree,
            target,
            lambda near: crossing_to(topology, as_list(gpu_home(topology, tree, gpu)), near),
            other=gpu.address,
        ),
    ]


def _to_node(topology: Topology, tree: Tree, homes: list[int], node: Node) -> list[Hop]:
    """From CPUs of the nodes ``homes`` to a node's memory."""
    crossing = crossing_to(topology, homes, home(topology, node))
    addresses = backing_addresses(topology, node)
    if node.kind is NodeKind.GPU:
        gpu = next((entry for entry in topology.gpus if is_memory_of(node, entry)), None)
        if gpu is not None:
            return [*cpu_to_gpu(topology, tree, homes, gpu), *gpu_memory(gpu)]
    if node.kind is NodeKind.CXL and addresses:
        claim, _ = memory_limit(topology, node, homes)
        # A claim is of each direction, no more than the link's: what both reach is not known.
        media = Hop(
            name="media",
            role=HopRole.MEMORY,
            limit=claim,
            half_duplex=claim is not None and claim.stated,
            note="" if claim else _MEDIA,
        )
        return [*crossing, *_cxl_hops(tree, addresses, node), media]
    limit, why = own_memory_limit(topology, node, homes)
    name = f"memory of node {node.number}"
    turns = node.kind in (NodeKind.DRAM, NodeKind.HBM)
    memory = Hop(name=name, role=HopRole.MEMORY, limit=limit, half_duplex=turns, note=why)
    if node.memory_side_caches:
        return [*crossing, *_behind_cache(topology, node, memory)]
    return [*crossing, memory]


def _behind_cache(topology: Topology, node: Node, memory: Hop) -> list[Hop]:
    """The cache in front of a node's memory, and the memory, which only what misses goes to."""
    limit, why = memory_limit(topology, node, [])
    name = f"memory-side cache of node {node.number}"
    cache = Hop(name=name, role=HopRole.MEMORY, limit=limit, half_duplex=True, note=why)
    note = "; ".join(filter(None, ("for what misses the cache", memory.note)))
    return [cache, memory.model_copy(update={"parallel": True, "note": note})]


def _cxl_hops(tree: Tree, addresses: list[str], node: Node) -> list[Hop]:
    """CXL links of a node's devices; interleaved ones carry their share side by side."""
    hops: list[Hop] = []
    for address in addresses:
        for device in chain(tree, address)[::-1]:
            what = f"switch {device.address}" if device.bridge else f"CXL {device.address}"
            hops.append(pcie_hop(tree, device, f"{what} of node {node.number}", cxl=True))
    if len(addresses) < 2:
        return hops
    limits = [hop.limit for hop in hops]
    if not all(limits):
        return [Hop(name=f"{len(addresses)} CXL devices", note="not every link's rate is known")]
    smallest = min((limit for limit in limits if limit), key=lambda entry: entry.value)
    total = smallest.value * len(addresses)
    return [
        Hop(
            name=f"{len(addresses)} CXL devices of node {node.number}, interleaved",
            limit=smallest.model_copy(
                update={
                    "value": total,
                    "link": f"{len(addresses)} x {smallest.link}",
                    "formula": f"{len(addresses)} x ({smallest.formula}) = {total / 1e9:.2f} GB/s",
                }
            ),
        )
    ]


def _interleaved(
    topology: Topology, initiator: Endpoint, target: Endpoint, traffic: Traffic
) -> Path:
    """Several nodes at once: the one that is first busy with its share of the pages limits."""
    weights = target.weights or (1,) * len(target.numbers)
    shares = [weight / sum(weights) for weight in weights]
    ways = [
        find_path(topology, initiator, Endpoint(kind=EndpointKind.NODE, numbers=(number,)), traffic)
        for number in target.numbers
    ]
    hops = [hop.model_copy(update={"parallel": True}) for way in ways for hop in way.hops]
    notes = "; ".join(way.note for way in ways if way.note)
    if not all(way.limit for way in ways):
        note = notes or "not every node's limit is known"
        return Path(initiator=str(initiator), target=str(target), hops=hops, limit=None, note=note)
    scaled = [
        way.limit.model_copy(
            update={
                "value": way.limit.value / share,
                "without_write_allocate": way.limit.without_write_allocate
                and way.limit.without_write_allocate / share,
                "link": f"{way.limit.link}, holding {share:.0%} of the pages",
                "formula": f"({way.limit.formula}) / {share:.4g}"
                f" = {way.limit.value / share / 1e9:.2f} GB/s",
            }
        )
        for way, share in zip(ways, shares, strict=True)
        if way.limit
    ]
    limit = min(scaled, key=lambda entry: entry.value)
    return Path(initiator=str(initiator), target=str(target), hops=hops, limit=limit, note=notes)


def _cpu_nodes(topology: Topology, initiator: Endpoint) -> list[Node]:
    if initiator.kind is EndpointKind.NODE:
        nodes = [_node(topology, number) for number in initiator.numbers]
        empty = next((node.number for node in nodes if not node.cpus), None)
        if empty is not None:
            raise UserError(f"node {empty} has no CPUs, so it issues no accesses; name another")
        return nodes
    all_cpus = {cpu for package in topology.packages for cpu in package.cpus}
    missing = [cpu for cpu in initiator.numbers if cpu not in all_cpus]
    if missing:
        raise UserError(f"CPU {missing[0]} of '{initiator}' is not a CPU of {topology.host}")
    return [node for node in topology.nodes if set(node.cpus) & set(initiator.numbers)]


def _node(topology: Topology, number: int) -> Node:
    node = topology.node(number)
    if node is None:
        known = ", ".join(str(entry.number) for entry in topology.nodes) or "none"
        raise UserError(f"node {number} is not a node of {topology.host}, which has {known}")
    return node


def _gpu(topology: Topology, index: int) -> Gpu:
    gpu = topology.gpu(index)
    if gpu is None:
        known = ", ".join(f"gpu:{entry.index}" for entry in topology.gpus) or "no GPU"
        raise UserError(f"gpu:{index} is not a GPU of {topology.host}, which has {known}")
    return gpu


def link_name(hop: Hop) -> str:
    """``PCIe 4.0 x16`` of a hop over PCIe; else its limit's own name; a dash where unknown."""
    if hop.now is not None:
        return pcie_name(hop.now)
    return hop.limit.link if hop.limit is not None else "-"
