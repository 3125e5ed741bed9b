"""Limits of nodes' memory, and of the caches in front of it."""

from math import isclose
from typing import Literal

from tierscope.machine.dimms import PERSISTENT, channels
from tierscope.machine.files import Files
from tierscope.machine.gpu_paths import gpu_memory, is_memory_of
from tierscope.machine.links import dram_limit, firmware_limit, memory_on_package_limit
from tierscope.model.path import STATED, Limit
from tierscope.model.topology import MemorySideCache, Node, NodeKind, Topology

_CHANNEL_BITS = 64
_ALIKE = 0.01
_INDEXING: dict[int | None, Literal["direct-mapped", "indexed", "other"]] = {
    0: "direct-mapped",
    1: "indexed",
    2: "other",
}
_WRITE_POLICY: dict[int | None, Literal["write-back", "write-through", "other"]] = {
    0: "write-back",
    1: "write-through",
    2: "other",
}
_ON_PACKAGE = {  # CPU: (memory, transfers/s, data bits a package, source)
    "CPU Max 94": ("HBM2e", 3.2e9, 4096, "Intel Xeon CPU Max Series: 4 stacks of 1024 bits"),
    "A64FX": ("HBM2", 2.0e9, 4096, "Fujitsu A64FX data sheet: 4 stacks, 1024 GB/s"),
}


def read_memory_side_caches(files: Files, node_directory: str) -> list[MemorySideCache]:
    """A node's caches from sysfs (Linux, admin-guide/mm/numaperf), nearest to the CPUs first."""
    found: list[MemorySideCache] = []
    for level, index in files.numbered(f"{node_directory}/memory_side_cache", "index"):
        size = files.number(f"{index}/size")
        if size is None or size <= 0:
            continue
        found.append(
            MemorySideCache(
                level=level,
                size_bytes=size,
                line_bytes=files.number(f"{index}/line_size") or None,
                indexing=_INDEXING.get(files.number(f"{index}/indexing"), ""),
                write_policy=_WRITE_POLICY.get(files.number(f"{index}/write_policy"), ""),
            )
        )
    return found[::-1]


def memory_limit(topology: Topology, node: Node, initiators: list[int]) -> tuple[Limit | None, str]:
    """The limit of accesses to a node, or why it is not known.

    Of a node behind a memory-side cache it is the cache's: accesses that hit go no faster, and
    those that miss are slower.
    """
    if node.memory_side_caches:
        return _cache_limit(topology, node)
    return own_memory_limit(topology, node, initiators)


def own_memory_limit(
    topology: Topology, node: Node, initiators: list[int]
) -> tuple[Limit | None, str]:
    """The limit of a node's memory itself, whatever cache is in front of it; or why there is none
    that is known. What the system reports comes before what the user states."""
    limit, why = _reported_limit(topology, node, initiators)
    stated = stated_limit(topology, node) if limit is None else None
    return (limit, why) if stated is None else (stated, "")


def stated_limit(topology: Topology, node: Node) -> Limit | None:
    """The limit of a node's memory by the modules that the user states, if any are stated."""
    of_all = node.number if node.kind is NodeKind.DRAM else -1
    for one in topology.stated_memory:
        if node.number == (of_all if one.node is None else one.node):
            where = f" of node {node.number}"
            return dram_limit(
                f"stated {one.type}", one.speed, one.channels, _CHANNEL_BITS, where, STATED
            )
    return None


def unused_statements(topology: Topology) -> list[str]:
    """What is stated of nodes whose memory the system reports differently, each in a sentence."""
    found = []
    for node in topology.nodes:
        stated, (reported, _) = stated_limit(topology, node), _reported_limit(topology, node, [])
        if stated and reported and not isclose(stated.value, reported.value, rel_tol=_ALIKE):
            found.append(
                f"{reported.link} ({reported.value / 1e9:.1f} GB/s) is what the system reports, "
                f"and not the {stated.link} ({stated.value / 1e9:.1f} GB/s); the reported limit is "
                "used"
            )
    return found


def _reported_limit(
    topology: Topology, node: Node, initiators: list[int]
) -> tuple[Limit | None, str]:
    where = f" of node {node.number}"
    if node.kind is NodeKind.GPU:
        gpu = next((entry for entry in topology.gpus if is_memory_of(node, entry)), None)
        limit = gpu_memory(gpu)[0].limit if gpu else None
        if limit is not None:
            return limit, ""
    if node.kind is NodeKind.HBM:
        known = _on_package(topology, node, where)
        if known is not None:
            return known, ""
    if node.kind is NodeKind.DRAM:
        limit = _by_modules(topology, node, where)
        if limit is not None:
            return limit, ""
    # The kernel computes a CXL node's figures from its device and path, for no one initiator.
    claims = [
        claim
        for claim in node.performance
        if claim.read_bandwidth
        and (not claim.initiators or not initiators or set(claim.initiators) & set(initiators))
    ]
    if claims:
        return firmware_limit(max(claim.read_bandwidth or 0 for claim in claims), where), ""
    return None, _why_unknown(topology, node)


def _cache_limit(topology: Topology, node: Node) -> tuple[Limit | None, str]:
    """HBM where the CPU has some, else the DRAM modules beside persistent ones (Memory Mode)."""
    where = f" of node {node.number}, its memory-side cache"
    limit = _on_package(topology, node, where)
    persistent = any(dimm.type == PERSISTENT for dimm in topology.dimms)
    if limit is None and persistent:
        limit = _by_modules(topology, node, where)
    if limit is not None:
        return limit, ""
    return None, "nothing says what the memory-side cache is made of"


def _on_package(topology: Topology, node: Node, where: str) -> Limit | None:
    for name, (memory, transfers, bits, source) in _ON_PACKAGE.items():
        if name in topology.cpu_model:
            share = _nodes_in_package(topology, node)
            return memory_on_package_limit(memory, transfers, bits, share, where, source)
    return None


def _by_modules(topology: Topology, node: Node, where: str) -> Limit | None:
    dimms = [
        dimm
        for dimm in topology.dimms
        if dimm.package == node.package is not None and dimm.type != PERSISTENT
    ]
    speeds = [dimm.speed for dimm in dimms if dimm.speed]
    count = channels(dimms)
    if not dimms or len(speeds) < len(dimms) or count is None:
        return None
    share = _nodes_in_package(topology, node)
    if count % share:
        return None
    kinds = "/".join(sorted({dimm.type for dimm in dimms}))
    bits = min(dimm.bits or _CHANNEL_BITS for dimm in dimms)
    source = "SMBIOS type 17: configured speed and populated slots"
    return dram_limit(kinds, min(speeds), count // share, bits, where, source)


def _nodes_in_package(topology: Topology, node: Node) -> int:
    """Nodes of the same kind that share a package's memory (SNC, NPS)."""
    if node.package is None:
        same = [entry for entry in topology.nodes if entry.kind is node.kind]
        return max(1, len(same) // max(1, len(topology.packages)))
    return sum(
        1
        for entry in topology.nodes
        if entry.package == node.package and entry.kind is node.kind and entry.total_bytes
    )


def _why_unknown(topology: Topology, node: Node) -> str:
    if topology.source != "this machine":
        return "its source has no memory speed"
    if node.kind is NodeKind.DRAM and topology.dimms:
        return "the number of populated channels does not follow from slot names and speeds"
    if topology.virtual:
        return "a virtual machine shows neither memory modules nor HMAT"
    return "memory modules are readable by root only, and firmware claims nothing (HMAT)"
