"""Placements that applications are measured under, by name, on a machine.

Its **fast node** is the first one with memory and with CPUs that may be used: programs run on its
CPUs under each placement. Its **slow node** is the slowest of the others, by what the system says.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd

from tierscope.analysis.spread import Rates, best_spread, directions, whole_weights
from tierscope.machine.memory import own_memory_limit
from tierscope.machine.nodes import allowed_nodes
from tierscope.model.endpoint import format_ranges, parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.topology import Node, NodeKind, Topology
from tierscope.place import tiering
from tierscope.place.features import missing
from tierscope.place.kernel import Kernel
from tierscope.place.tier_rules import BALANCING
from tierscope.place.weights import kernel_weights
from tierscope.plans import machine

LOCAL = "local"
OWN_RULES = "alloc"
ROOM = "room-50%"
NAMES = (LOCAL, "slow", "interleave", "weights", "tier", OWN_RULES, ROOM)
SITES = "sites"
"""No placement, but which functions allocate most: what could be placed by itself."""
_RUNS = 20
"""How many of the newest runs are looked at for bandwidths."""
_KINDS: dict[NodeKind | str, int] = {
    NodeKind.HBM: 0,
    NodeKind.DRAM: 1,
    NodeKind.CXL: 2,
    NodeKind.PMEM: 3,
}
"""Kinds of memory by latency, where nothing else tells two nodes apart."""

Words = tuple[str, str]
"""Words of a placement, as of ``effect --placement``; or none, and why the machine has no such."""


@dataclass(frozen=True)
class Pair:
    """The nodes that applications are placed on."""

    fast: Node
    slow: Node

    @property
    def numbers(self) -> tuple[int, int]:
        """Their numbers, that of the fast one first."""
        return self.fast.number, self.slow.number


def placements(
    topology: Topology, names: Sequence[str], kernel: Kernel | None = None
) -> dict[str, Words]:
    """Return for each name its words, or empty words and why this machine has no such placement."""
    kernel = kernel or Kernel("/")
    pair = tier_pair(topology, kernel)
    if isinstance(pair, str):
        here = {LOCAL: "as-found", SITES: f"alloc:{SITES}"}
        return {name: (here[name], "") if name in here else ("", pair) for name in names}
    usable = [cpu for cpu in pair.fast.cpus if cpu in topology.cpus]
    cpus = f"cpus:{format_ranges(tuple(usable))}"
    found = {name: _words(name, topology, pair, kernel) for name in names}
    return {name: (f"{words} {cpus}" if words else "", why) for name, (words, why) in found.items()}


def tier_pair(topology: Topology, kernel: Kernel) -> Pair | str:
    """Return the fast and the slow node, or why there are no two."""
    allowed = allowed_nodes(kernel)
    nodes = machine.memory_nodes(topology)
    there = [node for node in nodes if allowed is None or node.number in allowed]
    if len(there) < 2:
        numbers = format_ranges(tuple(node.number for node in there)) or "none"
        return machine.one_node(topology) or (
            f"two nodes with memory are needed, and this process may use that of nodes {numbers}"
        )
    fast = next((node for node in machine.cpu_nodes(topology) if node in there), None)
    if fast is None:
        return "no node has both memory and CPUs that this process may use"
    return Pair(fast, slowest(fast, [node for node in there if node is not fast]))


def slowest(fast: Node, others: Sequence[Node]) -> Node:
    """Return the node that is slowest from the fast one.

    The kernel's memory tiers tell first, then what firmware (HMAT) claims of the way from the fast
    node: latency, then bandwidth; then the kind of memory, the distance (SLIT), and the number.
    What is not known of all does not count. A GPU's memory counts where there is no other.
    """
    evidence: tuple[Callable[[Node], float | None], ...] = (
        lambda node: node.tier,
        lambda node: _claim(node, fast, "read_latency_ns"),
        lambda node: _negative(_claim(node, fast, "read_bandwidth")),
        lambda node: _KINDS.get(node.kind),
        lambda node: fast.distances.get(node.number),
    )
    known = [one for one in evidence if all(one(node) is not None for node in others)]
    return max(
        others,
        key=lambda node: (
            node.kind is not NodeKind.GPU,
            *(one(node) or 0.0 for one in known),
            node.number,
        ),
    )


def _claim(node: Node, fast: Node, figure: str) -> float | None:
    """Return what firmware claims of accesses from the fast node; None where it claims nothing.

    The kernel computes a CXL node's figures for no one initiator.
    """
    values = [
        value
        for claim in node.performance
        if (not claim.initiators or fast.number in claim.initiators)
        and (value := getattr(claim, figure)) is not None
    ]
    return max(values, default=None)


def _negative(value: float | None) -> float | None:
    return None if value is None else -value


def _words(name: str, topology: Topology, pair: Pair, kernel: Kernel) -> Words:
    fast, slow = pair.numbers
    fixed = {
        LOCAL: f"bind node:{fast}",
        "slow": f"bind node:{slow}",
        "interleave": f"interleave node:{fast},{slow}",
        OWN_RULES: f"alloc:own pair:{fast}:{slow}",
        SITES: f"alloc:{SITES} bind node:{fast}",
        ROOM: f"bind node:{fast},{slow} {_room(pair)}",
    }
    if name in fixed:
        return fixed[name], ""
    return _tier(pair, kernel) if name == "tier" else _weighted(topology, pair, kernel)


def _room(pair: Pair) -> str:
    """Bound to both nodes, a program gets memory of the nearest one that has some free: of the fast
    one, and of no third."""
    return f"room:node:{pair.fast.number}:50%"


def _weighted(topology: Topology, pair: Pair, kernel: Kernel) -> Words:
    """Return weights: the kernel's, where its table says more than 1 of each; else by bandwidth, as
    firmware claims it, as memory modules have it, or as it was measured last."""
    fast, slow = pair.numbers
    if len(set(kernel_weights((fast, slow), kernel))) > 1:
        return f"weighted node:{fast},{slow}", ""
    rates = (
        [_claim(node, pair.fast, "read_bandwidth") for node in (pair.fast, pair.slow)],
        [_limit(topology, node, fast) for node in (pair.fast, pair.slow)],
    )
    for found in rates:
        known = [rate for rate in found if rate]
        if len(known) == len(found):
            return _by_weights(pair, _weights(known))
    measured = _measured(topology.host, pair)
    if measured:
        return _by_weights(pair, measured)
    return "", (
        f"nothing says which bandwidths nodes {fast} and {slow} have: neither the kernel's table "
        "of weights, nor firmware (HMAT), nor memory modules, nor a run; 'tierscope place weights' "
        "measures them"
    )


def _limit(topology: Topology, node: Node, fast: int) -> float | None:
    limit, _ = own_memory_limit(topology, node, [fast])
    return limit.value if limit else None


def _weights(rates: Sequence[float]) -> tuple[int, ...]:
    """Return the weights with which both nodes end their share at the same time."""
    limits = [
        limit
        for at, rate in enumerate(rates)
        for limit in directions(str(at), Rates(both=rate), [float(at == k) for k in (0, 1)], 0)
    ]
    return whole_weights(limits, best_spread(limits))


def _by_weights(pair: Pair, weights: tuple[int, ...]) -> Words:
    fast, slow = pair.numbers
    if 0 in weights:
        only = fast if weights[0] else slow
        return "", f"all pages on node {only} have the most bandwidth, so that spreading loses"
    if weights[0] == weights[1]:
        return "", f"nodes {fast} and {slow} have the same bandwidth: 'interleave' is the same"
    divisor = gcd(*weights)
    shares = ":".join(str(weight // divisor) for weight in weights)
    return f"weighted node:{fast},{slow}@{shares}", ""


def _measured(host: str, pair: Pair) -> tuple[int, ...]:
    """Return the weights that the newest run with bandwidths of both nodes lets expect, of those
    that the host made; empty where none has them."""
    from pathlib import Path

    from tierscope.runs.history import entries
    from tierscope.runs.read import read_run
    from tierscope.suites.place_weights import MIX, predicted_shares

    own = [entry for entry in entries() if entry.host == host]
    for entry in own[: -_RUNS - 1 : -1]:
        try:
            run = read_run(Path(entry.path))
            target = predicted_shares(run, MIX, pair.numbers, f"node:{pair.fast.number}")
        except UserError:
            continue
        found = parse_endpoint(target)
        weights = dict(zip(found.numbers, found.weights or (1,) * len(found.numbers), strict=True))
        return tuple(weights.get(number, 0) for number in pair.numbers)
    return ()


def _tier(pair: Pair, kernel: Kernel) -> Words:
    """Return how pages move while the program runs, the fast node having room for half of them.

    By NUMA balancing where the kernel has both nodes in different memory tiers (Linux 6.1 says so):
    it follows page faults within seconds. It moves bound pages only with ``balancing``. Else by
    DAMON (6.11), with HMSDK's rules, which need no tiers: a page is cold after 30 s, so that
    programs that run for less than about a minute see nothing of it.
    """
    fast, slow = pair.numbers
    if kernel.live and os.geteuid() != 0:
        return "", "moving pages between nodes needs root; run tierscope as root"
    bound = f"bind node:{fast},{slow}"
    why_not = _why_not_balancing(pair, kernel)
    if not why_not:
        return f"{bound} balancing {_room(pair)} tier:{BALANCING}", ""
    try:
        tiering.refuse_others(kernel)
        lacking = missing("damos-migrate", kernel)
    except UserError as error:
        lacking = str(error)
    if lacking:
        return "", f"{why_not}; and {lacking}"
    return f"{bound} {_room(pair)} tier:hmsdk pair:{fast}:{slow}", ""


def _why_not_balancing(pair: Pair, kernel: Kernel) -> str:
    """Say why NUMA balancing cannot move pages between both nodes; empty where it can."""
    for path, _ in tiering.SETTINGS:
        if not kernel.exists(path):
            return f"this kernel has no {path}"
    tiers = {node: at for at, group in enumerate(tiering.tiers(kernel)) for node in group}
    fast, slow = pair.numbers
    if tiers.get(fast, 0) >= tiers.get(slow, 0):
        return f"the kernel has node {slow} in no lower memory tier than node {fast}"
    return ""
