"""Weights of nodes in proportion to their bandwidths: the best integers, or HMSDK's."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tierscope.model.errors import UserError
from tierscope.model.topology import Topology
from tierscope.peers.mlc_text import Matrix
from tierscope.place.weights import MAX_WEIGHT

_HMSDK_MAX = 10
_EPSILON = 1e-9
_FORM = 'groups of nodes are written "[[0,2],[1,3]]"'


@dataclass(frozen=True)
class Group:
    """Nodes that memory is interleaved over, and their weights."""

    initiator: int
    """The node of the CPUs that read."""
    bandwidths: dict[int, float]
    """Bytes a second, by node."""
    weights: dict[int, int]

    @property
    def error(self) -> float:
        """Largest relative deviation of the ratio of weights from that of bandwidths."""
        return ratio_error(self.weights, self.bandwidths)


def parse_groups(text: str) -> list[list[int]]:
    """Return groups of ``[[0,2],[1,3]]``; raises UserError."""
    try:
        groups = json.loads(text)
    except (ValueError, RecursionError):
        raise UserError(f"'{text}' is not a list of lists; {_FORM}") from None
    if not isinstance(groups, list) or not groups:
        raise UserError(f"'{text}' is not a list of lists; {_FORM}")
    for group in groups:
        whole = isinstance(group, list) and group
        if not whole or not all(type(node) is int and 0 <= node < 1024 for node in group):
            raise UserError(f"'{text}': {json.dumps(group)} is not a list of nodes; {_FORM}")
    nodes = [node for group in groups for node in group]
    twice = next((node for node in nodes if nodes.count(node) > 1), None)
    if twice is not None:
        raise UserError(
            f"'{text}': node {twice} is named twice; the kernel has one weight for each node"
        )
    return groups


def groups_of(topology: Topology) -> list[list[int]]:
    """Return the nodes with memory of each package; raises UserError where some are of none."""
    found: dict[int, list[int]] = {}
    for node in topology.nodes:
        if node.total_bytes:
            if node.package is None:
                raise UserError(
                    f"node {node.number} is at no single package; name the groups with --topology"
                )
            found.setdefault(node.package, []).append(node.number)
    return [found[package] for package in sorted(found)]


def initiator_of(nodes: Sequence[int], topology: Topology | None) -> int:
    """Return the first node of a group that has CPUs; without a topology, the first node."""
    if topology is None:
        return nodes[0]
    with_cpus = {node.number for node in topology.nodes if node.cpus}
    found = next((node for node in nodes if node in with_cpus), None)
    if found is None:
        raise UserError(f"no node of the group {list(nodes)} has CPUs by {topology.source}")
    return found


def weigh(initiator: int, nodes: Sequence[int], matrix: Matrix, most: int, hmsdk: bool) -> Group:
    """Return a group's weights, by the bandwidths of one node's CPUs to all of its nodes.

    Raises UserError where the matrix lacks one of them.
    """
    row = matrix.get(initiator)
    if row is None:
        raise UserError(f"the matrix has no row of node {initiator}; it has {sorted(matrix)}")
    missing = [node for node in nodes if not row.get(node)]
    if missing:
        raise UserError(f"the matrix has no bandwidth from node {initiator} to node {missing[0]}")
    bandwidths = {node: row[node] for node in nodes}
    chosen = hmsdk_weights(bandwidths) if hmsdk else best_weights(bandwidths, most)
    return Group(initiator, bandwidths, chosen)


def best_weights(bandwidths: Mapping[int, float], most: int = MAX_WEIGHT) -> dict[int, int]:
    """Return the weights up to ``most`` whose ratio is nearest to that of bandwidths, all above 0.

    For each largest weight, the others are the nearest integers; of equally good ones, the smallest
    are taken.
    """
    top = max(bandwidths.values())
    best: dict[int, int] = {}
    least = math.inf
    for largest in range(1, most + 1):
        weights = {n: max(1, round(largest * rate / top)) for n, rate in bandwidths.items()}
        error = ratio_error(weights, bandwidths)
        if error < least - _EPSILON:
            best, least = weights, error
    return best


def hmsdk_weights(bandwidths: Mapping[int, float]) -> dict[int, int]:
    """Return weights as HMSDK's bwactl computes them from MB/s: halve until the largest is at most
    10, round, divide by the greatest common divisor."""
    rates = {node: rate / 1e6 for node, rate in bandwidths.items()}
    while max(rates.values()) > _HMSDK_MAX:
        rates = {node: rate / 2 for node, rate in rates.items()}
    rounded = {node: max(1, round(rate)) for node, rate in rates.items()}
    common = math.gcd(*rounded.values())
    return {node: weight // common for node, weight in rounded.items()}


def ratio_error(weights: Mapping[int, int], bandwidths: Mapping[int, float]) -> float:
    """Return the largest relative deviation of two nodes' ratio of weights from that of their
    bandwidths."""
    scales = [math.log(weights[node] / bandwidths[node]) for node in weights]
    return math.expm1(max(scales) - min(scales))
