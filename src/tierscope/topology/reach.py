"""How an initiator reaches the drives of a storage target or the NICs that lead to its server.

Evidence names them.
"""

from collections.abc import Iterator, Sequence

from tierscope.model.affinity import Affinity, Device, Kind, Level
from tierscope.model.endpoint import EndpointKind, parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.storage import StorageFacts
from tierscope.model.topology import Topology
from tierscope.topology.affinity import Tree, devices, relation
from tierscope.topology.network_paths import ports_of


def reach(topology: Topology, initiator: str, targets: Sequence[StorageFacts]) -> Affinity:
    """The affinity of an initiator and targets over PCIe; of several drives or NICs the farthest's.

    Without any, and of one whose node is not known, the level is unknown.
    """
    name = _device_name(topology, initiator)
    first = next((device for device in devices(topology) if device.name == name), None)
    tree = Tree(topology.pci)
    known = [
        relation(topology, tree, first, end, nvlink=False)
        for end in _ends(topology, tree, targets)
        if first is not None
    ]
    unknown = Affinity(first=initiator, second="", level=Level.UNKNOWN)
    return max(known, key=lambda way: (way.level.rank, way.switches), default=unknown)


def _device_name(topology: Topology, initiator: str) -> str:
    """The name that affinity has of an initiator; CPUs stand for their node."""
    try:
        endpoint = parse_endpoint(initiator)
    except UserError:  # of a file that others wrote
        return ""
    if endpoint.kind is not EndpointKind.CPUS:
        return initiator
    cpus = set(endpoint.numbers)
    return next((f"node:{n.number}" for n in topology.nodes if cpus & set(n.cpus)), "")


def _ends(topology: Topology, tree: Tree, targets: Sequence[StorageFacts]) -> Iterator[Device]:
    """Drives and NICs as affinity has devices."""
    for target in targets:
        for drive in (drive for drive in target.drives if not drive.server):
            yield _device(tree, drive.name, "nvme", drive.address, drive.node)
        for name in target.interfaces:
            ports = ports_of(topology, [name])
            yield _device(tree, name, "nic", ports[0].address if ports else None, None)


def _device(tree: Tree, name: str, kind: Kind, address: str | None, node: int | None) -> Device:
    found = tree.device(address)
    return Device(
        name=name,
        kind=kind,
        addresses=[found.address] if found is not None else [],
        node=found.node if found is not None else node,
    )


def far_words(topology: Topology, way: Affinity, targets: Sequence[StorageFacts]) -> str:
    """What is on the way: "other socket", "another NUMA node of its socket", "2 PCIe switches".

    ``targets`` are those that ``reach`` got.
    """
    if way.level is Level.SYS:
        return _between_nodes(topology, way, targets)
    return {
        Level.PIX: "one PCIe switch at most",
        Level.PXB: f"{way.switches} PCIe switches",
        Level.PHB: "its own host bridge",
        Level.NODE: "another host bridge of its node",
    }.get(way.level, "nobody knows how near it is")


def _between_nodes(topology: Topology, way: Affinity, targets: Sequence[StorageFacts]) -> str:
    tree = Tree(topology.pci)
    ends = [*devices(topology), *_ends(topology, tree, targets)]
    nodes = [
        next((end.node for end in ends if end.name == name), None)
        for name in (way.first, way.second)
    ]
    packages = {n.package for n in topology.nodes if n.number in nodes}
    if None in packages or None in nodes:
        return "another NUMA node"
    return "other socket" if len(packages) > 1 else "another NUMA node of its socket"
