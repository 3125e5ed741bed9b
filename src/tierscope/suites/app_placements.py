"""Placements that applications are measured under, by name, on a machine."""

from collections.abc import Sequence

from tierscope.model.endpoint import format_ranges
from tierscope.model.topology import Topology
from tierscope.plans import machine

LOCAL = "local"
OWN_RULES = "alloc"
NAMES = (LOCAL, "slow", "interleave", OWN_RULES)


def placements(topology: Topology, names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return for each name its words, as of ``effect --placement``, or empty words and why this
    machine has no such placement."""
    nodes = [node.number for node in machine.memory_nodes(topology)]
    if len(nodes) < 2:
        why = machine.one_node(topology)
        return {name: ("as-found", "") if name == LOCAL else ("", why) for name in names}
    fast = next(node for node in topology.nodes if node.cpus and node.number in nodes)
    slow = next(number for number in reversed(nodes) if number != fast.number)
    pair, cpus = f"{fast.number}:{slow}", f"cpus:{format_ranges(tuple(fast.cpus))}"
    words = {
        LOCAL: f"bind node:{fast.number}",
        "slow": f"bind node:{slow}",
        "interleave": f"interleave node:{fast.number},{slow}",
        OWN_RULES: f"alloc:own pair:{pair}",
    }
    return {name: (f"{words[name]} {cpus}", "") for name in names}
