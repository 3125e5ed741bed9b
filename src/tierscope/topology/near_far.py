"""CPUs near a storage target's drives, and CPUs far from them."""

from typing import NamedTuple

from tierscope.model.endpoint import Endpoint
from tierscope.model.errors import UserError
from tierscope.model.topology import Block, Node, Topology
from tierscope.topology.affinity import Tree, home
from tierscope.topology.files import Files
from tierscope.topology.network_paths import ports_of
from tierscope.topology.storage_paths import drives_of, interfaces_of, is_live, locate


class NearFar(NamedTuple):
    """Nodes with CPUs that this process may use."""

    near: list[int]
    """Those that one of the drives is local to."""
    far: list[int]
    """All others, the farthest first: of another socket, then by distance (SLIT)."""


def near_and_far(topology: Topology, target: Endpoint) -> NearFar:
    """Sort the nodes with CPUs by where a target's drives are, or the NICs that lead to its server.

    Raises UserError where no node of theirs is known: virtual drives and loop devices have none.
    """
    located = locate(topology, target)
    local = [drive for drive in drives_of(located) if not drive.server]
    where = {drive.name: _node_of(topology, drive) for drive in local}
    tree = Tree(topology.pci)
    for port in ports_of(topology, interfaces_of(located)):
        device = tree.device(port.address)
        where[port.name] = device.node if device is not None else None
    found = set(where.values())
    nodes = [topology.node(number) for number in found if number is not None]
    usable = [node for node in topology.nodes if not set(node.cpus).isdisjoint(topology.cpus)]
    homes = {home(topology, node) for node in nodes if node is not None}
    near = [node for node in usable if node.number in homes]
    if not near or None in found:
        names = ", ".join(where)
        place = f"{names}, whose NUMA node is not known" if names else "no drive of this machine"
        raise UserError(
            f"'{target}' lies on {place}: name CPUs or a node instead of 'near' and 'far'"
        )
    far = [node for node in usable if node not in near]
    far.sort(key=lambda node: _distance(node, near), reverse=True)
    return NearFar([node.number for node in near], [node.number for node in far])


def near_or_far(topology: Topology, word: str, target: Endpoint) -> int:
    """The node that ``near`` or ``far`` means for a target; UserError where there is none."""
    found = near_and_far(topology, target)
    if word == "near":
        return found.near[0]
    if not found.far:
        raise UserError(
            f"no CPUs are far from '{target}': all that may be used are on its drives' own node"
        )
    return found.far[0]


def _distance(node: Node, near: list[Node]) -> tuple[bool, int]:
    """How far a node is from the nearest of others: whether on another socket, then SLIT."""
    return min(
        (node.package != other.package, node.distances.get(other.number, 0)) for other in near
    )


def _node_of(topology: Topology, drive: Block) -> int | None:
    device = Tree(topology.pci).device(drive.address)
    if device is not None:
        return device.node
    if not is_live(topology):
        return None
    number = Files().number(f"/sys/class/block/{drive.name}/device/numa_node")  # pmem
    return number if number is not None and number >= 0 else None
