"""Memory that a node can give: what is free, and what the kernel would give up for it.

The engine reckons the same way, so that a plan that passes here is not refused there.
"""

from pathlib import Path

from tierscope.model.topology import Node, Topology
from tierscope.topology.files import Files
from tierscope.topology.nodes import NODES


def with_available(topology: Topology, root: str | Path = "/") -> Topology:
    """Return the topology with each ``free_bytes`` counting memory that a program can get."""
    files = Files(root)
    with_memory = [node for node in topology.nodes if node.online and node.total_bytes]
    if len(with_memory) == 1:
        # /proc/meminfo also counts memory that a kernel with deferred initialisation has not
        # touched yet, and that the node's own counters therefore lack.
        values = files.fields("/proc/meminfo")
        total, free = values.get("MemTotal"), values.get("MemAvailable")
        if total is None or free is None:
            return topology
        update = {"total_bytes": total, "free_bytes": free}
        nodes = [n.model_copy(update=update) if n is with_memory[0] else n for n in topology.nodes]
    else:
        nodes = [_with_reclaimable(files, node) for node in topology.nodes]
    return topology.model_copy(update={"nodes": nodes})


def _with_reclaimable(files: Files, node: Node) -> Node:
    values = files.fields(f"{NODES}/node{node.number}/meminfo")
    if "MemFree" not in values:
        return node
    halves = values.get("Active(file)", 0) + values.get("SReclaimable", 0)
    free = values["MemFree"] + values.get("Inactive(file)", 0) + halves // 2
    return node.model_copy(update={"free_bytes": free})
