"""What other memory modules would make of the limits of nodes."""

from collections.abc import Iterator, Sequence

from tierscope.machine.affinity import home
from tierscope.machine.memory import stated_limit
from tierscope.machine.paths import path_limit
from tierscope.machine.stated import check_stated, parse_stated
from tierscope.model.base import Model
from tierscope.model.endpoint import Endpoint, EndpointKind
from tierscope.model.errors import UserError
from tierscope.model.path import Limit
from tierscope.model.topology import Node, NodeKind, Topology

NOW = "now"


class MemoryLimit(Model):
    """Limit of reads of a node by the CPUs nearest to it, with some memory."""

    node: int
    memory: str
    """The modules as they were stated; "now": those that there are."""
    limit: Limit | None
    """Of the whole path: a link in front of the memory may set it. None where it is not known."""
    ratio: float | None = None
    """Over the present limit, where both are known."""


def memory_limits(topology: Topology, texts: Sequence[str]) -> list[MemoryLimit]:
    """Return the limits of each node that statements are about: the present one, then the stated
    ones in their order. Raises UserError for a wrong statement, or one of no such node."""
    stated = [_with(topology, text) for text in texts]
    found = [
        limit
        for node in topology.nodes
        if any(stated_limit(one, node) for one in stated)
        for limit in _of_node(topology, node, texts, stated)
    ]
    if not found:
        raise UserError("no node is known to be DRAM; name one, as in node:0=4xDDR5-5600")
    return found


def _with(topology: Topology, text: str) -> Topology:
    """The machine as if the system reported nothing of its memory, and the user stated this."""
    stated = parse_stated(text)
    if not stated:
        raise UserError(f"'{text}' states no memory; write modules, as in 4xDDR5-5600")
    nodes = [
        node.model_copy(
            update={
                "performance": [
                    claim.model_copy(update={"read_bandwidth": None}) for claim in node.performance
                ]
            }
        )
        for node in topology.nodes
    ]
    asked = topology.model_copy(update={"stated_memory": stated, "dimms": [], "nodes": nodes})
    check_stated(asked)
    return asked


def _of_node(
    topology: Topology, node: Node, texts: Sequence[str], stated: Sequence[Topology]
) -> Iterator[MemoryLimit]:
    if node.memory_side_caches:
        raise UserError(f"node {node.number} is behind a memory-side cache, whose limit would stay")
    if node.kind in (NodeKind.HBM, NodeKind.GPU):
        raise UserError(f"the memory of node {node.number} is {node.kind}, which has no modules")
    now = _limit(topology, node)
    yield MemoryLimit(node=node.number, memory=NOW, limit=now)
    for text, machine in zip(texts, stated, strict=True):
        if stated_limit(machine, node):
            limit = _limit(machine, node)
            ratio = limit.value / now.value if limit and now else None
            yield MemoryLimit(node=node.number, memory=text, limit=limit, ratio=ratio)


def _limit(topology: Topology, node: Node) -> Limit | None:
    near = home(topology, node)
    if near is None:
        return None
    initiator = Endpoint(kind=EndpointKind.NODE, numbers=(near,))
    return path_limit(topology, initiator, Endpoint(kind=EndpointKind.NODE, numbers=(node.number,)))
