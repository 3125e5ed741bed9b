"""Nodes and CPUs that threads and host memory of a job are on."""

from tierscope.model.errors import UserError
from tierscope.model.topology import Topology
from tierscope.plans.gpu import gpu_cpus, gpu_numbered, home_node, host_nodes
from tierscope.plans.pinning import one_per_core_first


def memory_node(topology: Topology, wanted: int | None, place: str) -> int:
    """Return the node of host memory: the one wanted, else the first one with CPUs to use."""
    nodes = host_nodes(topology)
    if wanted is None:
        with_cpus = [number for number in nodes if usable_cpus(topology, number)]
        return (with_cpus or nodes)[0]
    if wanted not in nodes:
        known = ", ".join(map(str, nodes))
        raise UserError(f"{place}: node {wanted} has no memory to use; nodes: {known}")
    return wanted


def usable_cpus(topology: Topology, number: int) -> list[int]:
    """Return the CPUs of a node that this process may use."""
    node = topology.node(number)
    return [cpu for cpu in (node.cpus if node else []) if cpu in topology.cpus]


def cpus_of_node(topology: Topology, node: int) -> list[int]:
    """Return the CPUs for threads by a node, in the order in which threads take them."""
    cpus = usable_cpus(topology, node) or topology.cpus
    return one_per_core_first(cpus, topology.siblings)


def cpus_of_gpu(topology: Topology, number: int) -> list[int]:
    """Return the CPUs for threads by a GPU, in the order in which threads take them."""
    gpu = gpu_numbered(topology, number)
    cpus = usable_cpus(topology, home_node(topology, gpu)) or gpu_cpus(topology, gpu)
    return one_per_core_first(cpus, topology.siblings)


def on_node(node: int) -> dict[str, object]:
    """Return host buffers on a node, as a spec has them."""
    return {"memory": "host", "placement": {"policy": "bind", "nodes": [{"node": node}]}}
