"""Memories of the STREAMer study: nodes, and what holds persistent data of each."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tierscope.analysis.streamer import Memory
from tierscope.model.persistent import Dax
from tierscope.model.topology import Node, NodeKind, Package, Topology
from tierscope.plans.machine import memory_nodes

DEVICE = "device"
"""The backing of a device of DAX, which has no file that a pool could be in."""


@dataclass(frozen=True)
class Source:
    """Persistent memory that a machine has, in place of emulation."""

    node: int
    kind: str
    """As series name it: PMem fsdax, PMem devdax, CXL devdax."""
    target: str
    size_bytes: int
    names: tuple[str, ...] = ()
    """Of a device: its name and its namespace's UUID, which --destroy-data may have."""


def sources_of(topology: Topology) -> list[Source]:
    """Return each node's file system on fsdax that is mounted with DAX, else its device of DAX."""
    found: dict[int, Source] = {}
    for source in (*_file_systems(topology), *_devices(topology)):
        found.setdefault(source.node, source)
    return list(found.values())


def _file_systems(topology: Topology) -> list[Source]:
    spaces = {space.device: space for space in topology.namespaces if space.mode == "fsdax"}
    return [
        Source(space.node, "PMem fsdax", f"pmem:{mount.path}", space.size_bytes)
        for mount in sorted(topology.mounts, key=lambda mount: mount.path)
        if mount.dax and (space := spaces.get(mount.block or "")) and space.node is not None
    ]


def _devices(topology: Topology) -> list[Source]:
    return [
        Source(dax.node, _device_kind(topology, dax), f"dax:/dev/{dax.name}", dax.size_bytes,
               (dax.name, *(space.uuid for space in topology.namespaces
                            if space.device == dax.name and space.uuid)))
        for dax in topology.dax
        if dax.mode == "devdax" and dax.node is not None
    ]  # fmt: skip


def _device_kind(topology: Topology, dax: Dax) -> str:
    of_cxl = dax.parent in {region.name for region in topology.cxl_regions}
    of_pmem = dax.name in {space.device for space in topology.namespaces}
    return "CXL devdax" if of_cxl else "PMem devdax" if of_pmem else "devdax"


def consent(topology: Topology, memory: Memory, destroyed: Collection[str]) -> str:
    """Return which of these words allows that a memory is overwritten; empty where none does."""
    names = next((one.names for one in sources_of(topology) if one.target == memory.target), ())
    return next((name for name in names if name in destroyed), "")


def plain_memories(topology: Topology) -> list[Memory]:
    """Return every node's memory that CPUs place data in."""
    return [
        Memory((node.number,), _kind(topology, node), _socket(topology, node), persistent=False,
               target=f"node:{node.number}")
        for node in memory_nodes(topology)
        if node.kind is not NodeKind.GPU
    ]  # fmt: skip


def persistent_memories(topology: Topology, backings: Sequence[str]) -> list[Memory]:
    """Return what holds persistent data of each node, one for each backing: its own persistent
    memory, else memory of the node that stands in for it."""
    sources = {source.node: source for source in sources_of(topology)}
    emulated = {
        memory.numbers[0]: (memory.kind, f"pmem:{memory.target}")
        for memory in plain_memories(topology)
    }
    found = []
    for number in sorted({*emulated, *sources}):
        source, node = sources.get(number), topology.node(number)
        kind, target = (source.kind, source.target) if source else emulated[number]
        socket = _socket(topology, node) if node else None
        held_by = [DEVICE] if source and source.names else backings
        found += [Memory((number,), kind, socket, True, backing, target) for backing in held_by]
    return found


def _socket(topology: Topology, node: Node) -> int | None:
    """The package whose own memory a node is; None of CXL and other memory without CPUs."""
    if not node.cpus:
        return None
    owners = [package.number for package in topology.packages if _shares(package, node)]
    return owners[0] if owners else None


def _shares(package: Package, node: Node) -> bool:
    return not set(package.cpus).isdisjoint(node.cpus)


def _kind(topology: Topology, node: Node) -> str:
    """DDR5 where the modules say so, else what the node's memory is."""
    if node.kind is not NodeKind.DRAM or not node.cpus:
        return str(node.kind)
    modules = {dimm.type for dimm in topology.dimms if dimm.package in (None, node.package)}
    named = {kind for kind in modules if kind.startswith(("DDR", "LPDDR"))}
    return named.pop() if len(named) == 1 else str(node.kind)
