"""The machine as plans use it: CPUs of initiators, nodes of targets, memory, defaults."""

from tierscope.model.endpoint import Endpoint, EndpointKind, Initiator, Target, format_ranges
from tierscope.model.errors import UserError
from tierscope.model.spec import HUGETLB, NodeShare, Placement, last_level_bytes
from tierscope.model.topology import Node, Topology
from tierscope.plans.pinning import one_per_core_first

GIB = 1 << 30
MIB = 1 << 20
_EMULATED_SIZE = 2 * MIB
"""Working set on an emulated machine: its memory may move 5 MB/s, and its figures mean nothing."""
_MIN_SIZE = 256 * MIB
_MAX_SIZE = 4 * GIB
_MAX_SIZE_VIRTUAL = 1 * GIB


def initiator_cpus(topology: Topology, endpoint: Initiator) -> list[int]:
    """Return the CPUs of an initiator, nodes or CPUs, in the order in which threads take them.

    Order: one CPU of each core first, then the cores' SMT siblings. Raises UserError for
    CPUs that do not exist or that this process may not use.
    """
    if endpoint.kind is EndpointKind.CPUS:
        wanted = list(endpoint.numbers)
        _refuse_foreign_cpus(topology, endpoint, wanted)
    else:
        wanted = []
        for number in endpoint.numbers:
            wanted += _cpus_of(topology, endpoint, number)
    return one_per_core_first(wanted, topology.siblings)


def _refuse_foreign_cpus(topology: Topology, endpoint: Endpoint, wanted: list[int]) -> None:
    foreign = sorted(set(wanted) - set(topology.cpus))
    if not foreign:
        return
    online = {cpu for core in topology.siblings for cpu in core}
    absent = [cpu for cpu in foreign if cpu not in online]
    if absent:
        raise UserError(
            f"initiator '{endpoint}': CPU {format_ranges(tuple(absent))} is not online; "
            f"this machine's CPUs are {format_ranges(tuple(sorted(online)))}"
        )
    raise UserError(
        f"initiator '{endpoint}': CPU {format_ranges(tuple(foreign))} is outside the CPUs that "
        f"this process may use, {format_ranges(tuple(topology.cpus))} (cgroup or CPU affinity)"
    )


def _cpus_of(topology: Topology, endpoint: Endpoint, number: int) -> list[int]:
    node = _node(topology, endpoint, number)
    if not node.cpus:
        raise UserError(
            f"initiator '{endpoint}': node {number} has no CPUs; "
            f"nodes with CPUs: {_numbers(cpu_nodes(topology))}"
        )
    usable = [cpu for cpu in node.cpus if cpu in topology.cpus]
    if not usable:
        raise UserError(
            f"initiator '{endpoint}': none of node {number}'s CPUs "
            f"({format_ranges(tuple(node.cpus))}) is among those that this process may use, "
            f"{format_ranges(tuple(topology.cpus))} (cgroup or CPU affinity)"
        )
    return usable


def other_core(topology: Topology, cpu: int, kind: str) -> int:
    """Return a CPU of another core of the same node, else the nearest to that.

    Raises UserError, which names the kind, where this process may use one CPU only.
    """
    own = next((node for node in topology.nodes if cpu in node.cpus), None)
    near = own.cpus if own else []
    core = next((core for core in topology.siblings if cpu in core), [cpu])
    usable = [one for one in topology.cpus if one != cpu]
    if not usable:
        raise UserError(
            f"{kind} takes two CPUs, and this process may use CPU {cpu} only "
            "(cgroup or CPU affinity)"
        )
    return min(usable, key=lambda one: (one in core, one not in near, one))


def check_target(topology: Topology, endpoint: Target) -> None:
    """Raise UserError where a node of a target has no memory in use."""
    for number in endpoint.numbers:
        node = _node(topology, endpoint, number)
        if not node.online or node.total_bytes == 0:
            raise UserError(
                f"target '{endpoint}': node {number} has no memory online; "
                f"nodes with memory: {_numbers(memory_nodes(topology))}"
            )


def placement(endpoint: Target, policy: str | None, mechanism: str) -> Placement:
    """Return where a target's pages go; raises UserError where the policy does not suit it."""
    chosen = policy or _policy_of(endpoint)
    if endpoint.weights and chosen not in ("weighted", "partition"):
        raise UserError(f"target '{endpoint}' has weights, which policy {chosen} does not take")
    weights = endpoint.weights or (1,) * len(endpoint.numbers)
    shares = [NodeShare(node=n, weight=w) for n, w in zip(endpoint.numbers, weights, strict=True)]
    return Placement.model_validate({"policy": chosen, "nodes": shares, "mechanism": mechanism})


def _policy_of(endpoint: Target) -> str:
    if endpoint.weights:
        return "weighted"
    return "bind" if len(endpoint.numbers) == 1 else "interleave"


def _node(topology: Topology, endpoint: Endpoint, number: int) -> Node:
    node = topology.node(number)
    if node is None:
        offline = number in topology.offline_nodes
        raise UserError(
            f"endpoint '{endpoint}': "
            f"{f'node {number} is offline' if offline else f'there is no node {number}'}; "
            f"this machine's nodes are {_numbers(topology.nodes)}"
        )
    return node


def _numbers(nodes: list[Node]) -> str:
    return format_ranges(tuple(sorted(node.number for node in nodes))) or "none"


def memory_nodes(topology: Topology) -> list[Node]:
    """Nodes that have memory in use."""
    return [node for node in topology.nodes if node.online and node.total_bytes > 0]


def one_node(topology: Topology | None) -> str:
    """Say of a machine with one node of memory what a comparison of tiers takes, and what can be
    done without; empty of other machines."""
    nodes = memory_nodes(topology) if topology else []
    if len(nodes) != 1:
        return ""
    return (
        f"this machine has one node with memory, node {nodes[0].number}; comparing tiers takes a "
        "second one: another socket, CXL or persistent memory; "
        "'tierscope whatif --tier 250ns,30GB/s' predicts what slower memory would do here"
    )


def cpu_nodes(topology: Topology) -> list[Node]:
    """Nodes that have CPUs which this process may use."""
    allowed = set(topology.cpus)
    return [node for node in topology.nodes if allowed.intersection(node.cpus)]


def no_initiator(topology: Topology) -> UserError:
    """Return why no CPU can be the initiator, and what to do about it."""
    if not topology.siblings:
        return UserError(
            "/sys is not visible, so CPUs and nodes are unknown; mount it, as in docker run -v "
            "/sys:/sys:ro"
        )
    return UserError("no node has CPUs that this process may use; name CPUs in --from")


def best_initiator(topology: Topology, target: Node) -> Node:
    """Return the node with CPUs that is nearest to a target: itself, else by SLIT distance."""
    nodes = cpu_nodes(topology)
    if not nodes:
        raise no_initiator(topology)
    if target in nodes:
        return target
    return min(nodes, key=lambda node: (target.distances.get(node.number, 1 << 30), node.number))


def page_bytes(topology: Topology, pages: str) -> int:
    """Bytes of a page of a kind; of ``thp`` a base page where the kernel has no huge ones."""
    sizes = {"thp": topology.thp_page_bytes, **HUGETLB}
    return sizes.get(pages) or topology.base_page_bytes


def default_size(topology: Topology, cpus: list[int], nodes: list[int], arrays: int) -> int:
    """Bytes of an array that the CPUs' caches cannot hold and that the nodes can.

    Four times those CPUs' last-level caches as the system names them, or the caches in front of the
    nodes where those are larger, rounded up to a power of two, from 256 MiB to 4 GiB; in a virtual
    machine, whose system names caches that its CPUs need not get, to 1 GiB. A memory-side cache may
    be larger than that and hold the array, which a measurement then says. Never more than half of
    what the emptiest of the nodes has free, or the cgroup leaves, over ``arrays`` arrays, rounded
    down so that a little more or less free memory changes nothing.
    """
    if topology.emulated:
        return _EMULATED_SIZE
    found = [node for number in nodes if (node := topology.node(number))]
    in_front = [cache.size_bytes for node in found for cache in node.memory_side_caches]
    largest_cache = max([last_level_bytes(topology.caches, cpus), *in_front])
    wanted = max(4 * largest_cache, _MIN_SIZE)
    largest = _MAX_SIZE_VIRTUAL if topology.virtual else _MAX_SIZE
    size = min(1 << (wanted - 1).bit_length(), largest)
    free = _free_bytes(topology, nodes)
    if free is not None:
        room = max(MIB, free // 2 // arrays)
        size = min(size, 1 << (room.bit_length() - 1))
    return size


def has_room(topology: Topology, nodes: list[int], size: int) -> bool:
    """Whether a default may take these bytes of these nodes: of none more than half of what is
    free, and not of emulated memory, which is slow."""
    free = _free_bytes(topology, nodes)
    return not topology.emulated and (free is None or size <= free // 2)


def _free_bytes(topology: Topology, nodes: list[int]) -> int | None:
    """Free bytes of the emptiest node, or of the cgroup if fewer; None where unknown."""
    found = (topology.node(number) for number in nodes)
    free = [node.free_bytes for node in found if node and node.free_bytes is not None]
    if topology.memory_left_bytes is not None:
        free.append(topology.memory_left_bytes)
    return min(free) if free else None
