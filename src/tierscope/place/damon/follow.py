"""Memory that goes online or offline while kdamonds monitor it: events, and new ranges."""

from collections.abc import Mapping
from dataclasses import dataclass

from tierscope.machine.nodes import NODES
from tierscope.model.errors import UserError
from tierscope.place.damon import tree
from tierscope.place.damon.rules import Rules
from tierscope.place.kernel import Kernel, KernelError

Blocks = Mapping[int, tuple[int, ...]]
"""The memory blocks that are online, by node."""


@dataclass(frozen=True)
class MemoryEvent:
    """Memory blocks of a node that went online or offline."""

    time: float
    """When it was seen, in seconds since the epoch."""
    node: int
    online: tuple[int, ...]
    offline: tuple[int, ...]
    left: int
    """How many blocks of the node are online by then."""
    block_bytes: int


@dataclass(frozen=True)
class Monitored:
    """What a kdamond of physical memory monitors."""

    nodes: tuple[int, ...]
    follows: bool
    """Whether that is all memory of one node, whatever comes or goes."""


def online(kernel: Kernel) -> Blocks:
    """Return the memory blocks that are online."""
    return {node: tree.online_blocks(kernel, node) for node, _ in kernel.numbered(NODES, "node")}


def events(kernel: Kernel, before: Blocks, now: Blocks, at: float) -> list[MemoryEvent]:
    """Return what went online or offline in between."""
    size = tree.block_bytes(kernel)
    found = []
    for node in sorted({*before, *now}):
        old, new = set(before.get(node, ())), set(now.get(node, ()))
        if old != new:
            came, went = tuple(sorted(new - old)), tuple(sorted(old - new))
            found.append(MemoryEvent(at, node, came, went, len(new), size))
    return found


def monitored(kernel: Kernel, rules: Rules) -> tuple[Monitored, ...]:
    """Return what each kdamond monitors."""
    return tuple(_monitored(kernel, rules, number) for number in range(len(rules.kdamonds)))


def _monitored(kernel: Kernel, rules: Rules, number: int) -> Monitored:
    contexts = rules.kdamonds[number].contexts
    nodes = tuple(node for context in contexts for node in tree.nodes_of(kernel, context))
    targets = [target for context in contexts for target in context.targets]
    follows = len(nodes) == len(targets) == 1 and targets[0].regions == _ranges(kernel, nodes[0])
    return Monitored(nodes, follows)


def _ranges(kernel: Kernel, node: int) -> tree.Regions:
    try:
        return tree.ranges(kernel, node)
    except UserError:  # nothing of it is online
        return ()


class Follower:
    """Has kdamonds monitor the memory that is online."""

    def __init__(self, kernel: Kernel, kdamonds: tuple[Monitored, ...], before: Blocks) -> None:
        self._kernel = kernel
        self._kdamonds = kdamonds
        self._before = before
        self.late = {
            number
            for number, one in enumerate(kdamonds)
            if one.follows and tree.monitored(kernel, number) != _ranges(kernel, one.nodes[0])
        }
        """Kdamonds that do not monitor what is online."""
        self.problem = ""
        """Why a kdamond does not."""

    def look(self, at: float) -> list[MemoryEvent]:
        """Return what went online or offline since the last look; new memory is monitored then."""
        now = online(self._kernel)
        found = events(self._kernel, self._before, now, at)
        self._before = now
        changed = {event.node for event in found}
        self.late |= {
            number
            for number, one in enumerate(self._kdamonds)
            if one.follows and one.nodes[0] in changed
        }
        return found

    def follow(self) -> None:
        """Tell kdamonds of what is online; a node without memory keeps the ranges that it had."""
        self.problem = ""
        running = tree.running(self._kernel)
        for number in sorted(self.late):
            (node,) = self._kdamonds[number].nodes
            ranges = _ranges(self._kernel, node)
            if number in running and ranges:
                try:
                    tree.monitor(self._kernel, number, ranges)
                except KernelError as error:
                    self.problem = f"node {node} is not monitored as it is: {error}"
                    continue
            self.late.discard(number)
