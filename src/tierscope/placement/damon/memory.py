"""Physical memory of nodes: its address ranges, and how much of it is used."""

from tierscope.model.endpoint import format_ranges
from tierscope.model.errors import UserError
from tierscope.placement.damon.rules import Context
from tierscope.placement.kernel import Kernel
from tierscope.placement.nodes import nodes_with_memory
from tierscope.topology.nodes import NODES

_MEMORY = "/sys/devices/system/memory"


def check(kernel: Kernel, node: int) -> None:
    """Raise UserError where a node has no memory."""
    nodes = nodes_with_memory(kernel)
    if node not in nodes:
        raise UserError(
            f"node {node} has no memory; nodes with memory: {format_ranges(tuple(nodes))}"
        )


def ranges(kernel: Kernel, node: int) -> tuple[tuple[int, int], ...]:
    """Return the address ranges of a node's online memory, from its memory blocks."""
    block = int(kernel.text(f"{_MEMORY}/block_size_bytes") or "0", 16)
    found: list[tuple[int, int]] = []
    folder = f"{NODES}/node{node}"
    for number, path in kernel.numbered(folder, "memory"):
        if kernel.text(f"{path}/state") in ("offline", None) or not block:
            continue
        start, end = number * block, (number + 1) * block
        if found and found[-1][1] == start:
            start, _ = found.pop()
        found.append((start, end))
    if not found:
        raise UserError(
            f"the kernel does not say where node {node}'s memory is: {folder} has no memory blocks "
            "(CONFIG_MEMORY_HOTPLUG)"
        )
    return tuple(found)


def nodes_of(kernel: Kernel, context: Context) -> tuple[int, ...]:
    """Return the nodes whose physical memory a context monitors."""
    if context.operations != "paddr":
        return ()
    regions = [region for target in context.targets for region in target.regions]
    return tuple(
        node
        for node in nodes_with_memory(kernel)
        if any(
            start < own_end and own_start < end
            for start, end in regions
            for own_start, own_end in ranges(kernel, node)
        )
    )


def used(kernel: Kernel) -> dict[int, int]:
    """Return the bytes of anonymous and file pages on each node with memory."""
    found = {}
    for node in nodes_with_memory(kernel):
        info = kernel.fields(f"{NODES}/node{node}/meminfo")
        found[node] = info.get("AnonPages", 0) + info.get("FilePages", 0)
    return found


def free_and_low(kernel: Kernel, node: int) -> tuple[int, int]:
    """Return a node's free bytes, and those below which the kernel reclaims (low watermarks)."""
    free = low = 0
    here = False
    page = 4096
    for line in (kernel.text("/proc/zoneinfo") or "").splitlines():
        words = line.replace(",", " ").split()
        if words[:1] == ["Node"]:
            here = int(words[1]) == node
        elif here and words[:2] == ["pages", "free"]:
            free += int(words[2]) * page
        elif here and len(words) == 2 and words[0] == "low":
            low += int(words[1]) * page
    return free, low
