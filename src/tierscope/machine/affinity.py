"""Affinity of devices: nvidia-smi's level for every pair, and the devices nearest to a GPU.

The levels follow the legend of ``nvidia-smi topo``: what counts between two PCI functions is the
lowest bridge above both, else whether they share a host bridge, else a NUMA node.
"""

from collections.abc import Callable, Sequence
from functools import partial

from tierscope.machine.storage import drives
from tierscope.model.affinity import Advice, Affinity, Device, Kind, Level, Nearest
from tierscope.model.topology import Block, Gpu, Node, NodeKind, PciDevice, Topology


class Tree:
    """The PCI tree, looked up by address."""

    def __init__(self, pci: Sequence[PciDevice]) -> None:
        self._devices = {device.address: device for device in pci}

    def device(self, address: str | None) -> PciDevice | None:
        """The function at that address, if there is one."""
        return self._devices.get(address or "")

    def bridges(self, address: str | None) -> list[PciDevice]:
        """Bridges above a function, nearest first."""
        above: list[PciDevice] = []
        device = self.device(address)
        while device is not None and device.parent and len(above) < 64:
            device = self.device(device.parent)
            if device is not None and device.bridge:
                above.append(device)
        return above

    def common(self, one: str | None, other: str | None) -> str | None:
        """The lowest bridge above two functions; None where there is none."""
        across = {bridge.address for bridge in self.bridges(other)}
        return next((entry.address for entry in self.bridges(one) if entry.address in across), None)

    def is_switch(self, bridge: PciDevice) -> bool:
        """Whether a bridge is a switch's upstream port, which stands for the whole switch.

        Below a root port, upstream and downstream ports take turns all the way down.
        """
        return bridge.bridge and len(self.bridges(bridge.address)) % 2 == 1

    def top_switch(self, address: str | None) -> str:
        """The switch above a function that is nearest the CPU, else its root port, else itself."""
        above = self.bridges(address)
        switches = [bridge.address for bridge in above if self.is_switch(bridge)]
        if switches:
            return switches[-1]
        return above[-1].address if above else address or ""


def devices(topology: Topology) -> list[Device]:
    """GPUs, NVMe drives, NICs, CXL memory, then NUMA nodes: the matrix's rows."""
    tree = Tree(topology.pci)

    def node_of(address: str | None) -> int | None:
        device = tree.device(address)
        return device.node if device is not None else None

    def on_pci(name: str, kind: Kind, address: str | None) -> Device:
        addresses = [address] if address else []
        return Device(name=name, kind=kind, addresses=addresses, node=node_of(address))

    found = [
        Device(
            name=f"gpu:{gpu.index}",
            kind="gpu",
            addresses=[gpu.address] if gpu.address else [],
            node=_gpu_home(topology, gpu, node_of(gpu.address)),
        )
        for gpu in topology.gpus
    ]
    nvme = {
        block.controller or block.name: block for block in topology.blocks if block.kind == "nvme"
    }
    found += [on_pci(name, "nvme", block.address) for name, block in nvme.items()]
    nics = {
        port.rdma or port.name: port
        for port in topology.ports
        if port.address and port.kind != "virtual"
    }
    found += [on_pci(name, "nic", port.address) for name, port in nics.items()]
    found += [
        on_pci(memory.name, "cxl", memory.address)
        for memory in topology.cxl_memories
        if memory.address
    ]
    found += [
        Device(
            name=f"node:{node.number}",
            kind="node",
            addresses=backing_addresses(topology, node),
            node=home(topology, node),
        )
        for node in topology.nodes
        if node.online
    ]
    return found


def _gpu_home(topology: Topology, gpu: Gpu, node: int | None) -> int | None:
    if node is None and gpu.node is not None:
        own = topology.node(gpu.node)
        return home(topology, own) if own is not None else None
    return node


def backing_addresses(topology: Topology, node: Node) -> list[str]:
    """PCI functions that hold a CXL or GPU node's memory."""
    if node.kind not in (NodeKind.CXL, NodeKind.GPU):
        return []
    memories = {memory.name: memory.address for memory in topology.cxl_memories}
    addresses = [memories.get(name) or name for name in node.backed_by]
    return [address for address in addresses if topology.pci_device(address) is not None]


def home(topology: Topology, node: Node) -> int | None:
    """The node with CPUs that a node is local to; None where that is unknown."""
    if node.cpus:
        return node.number
    with_cpus = [entry for entry in topology.nodes if entry.cpus]
    around = [entry.number for entry in with_cpus if set(entry.cpus) & set(node.local_cpus)]
    if len(around) == 1:
        return around[0]
    for claim in node.performance:
        near = [entry.number for entry in with_cpus if entry.number in claim.initiators]
        if len(near) == 1:
            return near[0]
    if node.package is not None:
        with_cpus = [entry for entry in with_cpus if entry.package == node.package]
    if len(with_cpus) == 1:
        return with_cpus[0].number
    by_distance = sorted(
        (node.distances[entry.number], entry.number)
        for entry in with_cpus
        if entry.number in node.distances
    )
    if len(by_distance) == 1 or (len(by_distance) > 1 and by_distance[0][0] < by_distance[1][0]):
        return by_distance[0][1]
    return None


def matrix(topology: Topology, *, nvlink: bool = True) -> list[list[Affinity]]:
    """Every device against every other; ``nvlink=False`` is what ``nvidia-smi topo -mp`` shows."""
    tree, rows = Tree(topology.pci), devices(topology)
    return [
        [relation(topology, tree, first, second, nvlink=nvlink) for second in rows]
        for first in rows
    ]


def relation(
    topology: Topology, tree: Tree, first: Device, second: Device, *, nvlink: bool = True
) -> Affinity:
    """How two devices reach each other."""
    pair = partial(Affinity, first=first.name, second=second.name)
    if first.name == second.name or (
        first.addresses and set(first.addresses) == set(second.addresses)
    ):
        return pair(level=Level.SELF)
    links = _nvlinks(topology, first, second) if nvlink else 0
    if links:
        return pair(level=Level.NVLINK, links=links)
    ways = [
        _pci_relation(tree, one, other, pair)
        for one in first.addresses
        for other in second.addresses
    ]
    known = [way for way in ways if way is not None]
    if known and len(known) == len(ways):
        return max(known, key=lambda way: (way.level.rank, way.switches))
    return pair(level=_node_level(first, second))


def _pci_relation(
    tree: Tree, one: str, other: str, pair: Callable[..., Affinity]
) -> Affinity | None:
    """The relation of two functions below one host bridge; None where they share none."""
    first, second = tree.device(one), tree.device(other)
    if first is None or second is None:
        return None
    above, across = tree.bridges(one), tree.bridges(other)
    common = tree.device(tree.common(one, other))
    if common is None:
        if first.root != second.root:
            return None
        switches = sum(tree.is_switch(bridge) for bridge in [*above, *across])
        return pair(level=Level.PHB, common=first.root, switches=switches)
    ways = [
        bridge
        for way in (above, across)
        for bridge in way[: [entry.address for entry in way].index(common.address)]
    ]
    switches = sum(tree.is_switch(bridge) for bridge in [*ways, common])
    level = Level.PIX if switches <= 1 else Level.PXB
    return pair(level=level, common=common.address, switches=switches)


def _node_level(first: Device, second: Device) -> Level:
    if first.node is None or second.node is None:
        return Level.UNKNOWN
    if first.node != second.node:
        return Level.SYS
    # From a device to memory that its own host bridge's CPU holds is only that host bridge.
    memory = [device.kind == "node" and not device.addresses for device in (first, second)]
    return Level.PHB if memory[0] != memory[1] else Level.NODE


def _nvlinks(topology: Topology, first: Device, second: Device) -> int:
    """NVLinks that join two GPUs, directly or through the switches of the machine's fabric.

    Those of a GPU and its CPU (POWER8, POWER9) join it to that CPU's nodes.
    """
    gpus = [_gpu_of(topology, device) for device in (first, second)]
    if gpus[0] is None or gpus[1] is None:
        gpu, other = (gpus[0], second) if gpus[0] is not None else (gpus[1], first)
        home_of_gpu = first.node if gpus[0] is not None else second.node
        return _nvlinks_to_node(topology, gpu, home_of_gpu, other) if gpu is not None else 0
    direct = sum(link.links for link in gpus[0].nvlinks if link.peer_address == gpus[1].address)
    if direct:
        return direct
    return min(
        sum(link.links for link in gpu.nvlinks if link.peer == "switch") for gpu in gpus if gpu
    )


def _nvlinks_to_node(topology: Topology, gpu: Gpu, gpu_node: int | None, other: Device) -> int:
    """NVLinks of a GPU to the CPU that a node's memory is at; 0 where it is no such node."""
    if other.kind != "node" or other.addresses:
        return 0
    node = topology.node(int(other.name.partition(":")[2]))
    if node is None or not node.cpus:
        return 0
    return sum(
        link.links
        for link in gpu.nvlinks
        if link.peer == "cpu"
        and (
            node.number == gpu_node
            if link.peer_package is None
            else node.package == link.peer_package
        )
    )


def _gpu_of(topology: Topology, device: Device) -> Gpu | None:
    if device.kind != "gpu":
        return None
    return topology.gpu(int(device.name.partition(":")[2]))


def advice(topology: Topology) -> list[Advice]:
    """For each GPU the nearest NVMe drives, md arrays and NICs."""
    tree, rows = Tree(topology.pci), devices(topology)
    by_name = {row.name: row for row in rows}
    arrays = {block.name: members(topology, block) for block in topology.blocks if block.level}
    result: list[Advice] = []
    for gpu in (row for row in rows if row.kind == "gpu"):
        near = {
            kind: [
                relation(topology, tree, gpu, row, nvlink=False) for row in rows if row.kind == kind
            ]
            for kind in ("nvme", "nic")
        }
        of_arrays = [
            _worst(name, [relation(topology, tree, gpu, by_name[drive]) for drive in names])
            for name, names in arrays.items()
            if names and all(drive in by_name for drive in names)
        ]
        result.append(
            Advice(
                gpu=gpu.name,
                nvme=_nearest(near["nvme"]),
                arrays=_nearest(of_arrays),
                nics=_nearest(near["nic"]),
            )
        )
    return result


def members(topology: Topology, array: Block) -> list[str]:
    """NVMe drives that an array's data lies on, as the matrix names them."""
    below = drives(array.name, topology.blocks)
    return [drive.controller or drive.name for drive in below if drive.kind == "nvme"]


def _worst(name: str, relations: Sequence[Affinity]) -> Affinity:
    worst = max(relations, key=lambda entry: (entry.level.rank, entry.switches))
    return worst.model_copy(update={"second": name})


def _nearest(relations: Sequence[Affinity]) -> Nearest | None:
    if not relations:
        return None
    best = min((entry.level.rank, entry.switches) for entry in relations)
    chosen = [entry for entry in relations if (entry.level.rank, entry.switches) == best]
    return Nearest(
        names=[entry.second for entry in chosen],
        level=chosen[0].level,
        switches=chosen[0].switches,
    )


def array_switches(topology: Topology) -> dict[str, dict[str, list[str]]]:
    """Each md array's drives by the switch (or root port) above them that is nearest the CPU."""
    tree = Tree(topology.pci)
    found: dict[str, dict[str, list[str]]] = {}
    for array in topology.blocks:
        below = drives(array.name, topology.blocks) if array.level else []
        switches: dict[str, list[str]] = {}
        for drive in below:
            if drive.address:
                name = drive.controller or drive.name
                switches.setdefault(tree.top_switch(drive.address), []).append(name)
        if switches:
            found[array.name] = switches
    return found
