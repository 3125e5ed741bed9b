"""STREAM's rule on the size of its arrays (McCalpin, stream.c 5.10, "Instructions" 1)."""

from collections.abc import Sequence

from tierscope.model.spec import last_level_bytes
from tierscope.model.topology import Topology
from tierscope.plans.machine import MIB, default_size
from tierscope.report.figures import size_text

CACHES = 4
"""An array has at least so many times the bytes of all last-level caches used."""
_ELEMENTS = 1_000_000
"""And at least so many elements of 8 bytes."""
_STEP = 64 * MIB


def rule_bytes(topology: Topology, cpus: Sequence[int]) -> int:
    """Bytes that STREAM's rule asks of each array, for threads on these CPUs."""
    return max(CACHES * last_level_bytes(topology.caches, cpus), 8 * _ELEMENTS)


def array_bytes(
    topology: Topology,
    cpus: Sequence[int],
    nodes: Sequence[int],
    arrays: int,
    devices: Sequence[int] = (),
) -> int:
    """Bytes of an array by STREAM's rule, rounded up to 64 MiB and from 256 MiB on; less where the
    emptiest of the nodes, or of devices of so many bytes, has not room for so many arrays, or the
    machine is emulated."""
    least = default_size(topology, list(cpus), list(nodes), arrays)
    if topology.emulated:
        return least
    wanted = max(256 * MIB, -(-rule_bytes(topology, cpus) // _STEP) * _STEP)
    free = [node.free_bytes for n in nodes if (node := topology.node(n)) and node.free_bytes]
    free += devices
    if topology.memory_left_bytes is not None:
        free.append(topology.memory_left_bytes)
    if not free:
        return wanted
    return max(MIB, min(wanted, min(free) // 2 // arrays // MIB * MIB))


def rule_text(topology: Topology, cpus: Sequence[int], size: int, asked: bool) -> str:
    """Say whether an array of this size keeps STREAM's rule, and if not, why; ``asked``: by an
    option."""
    caches = last_level_bytes(topology.caches, cpus)
    if not caches:
        return "the system names no caches, so nobody knows whether STREAM's rule is kept"
    times = f"{size / caches:.3g} x the {size_text(caches)} of last-level cache used"
    if size >= rule_bytes(topology, cpus):
        return f"arrays of {size_text(size)}: {times}; STREAM's rule, {CACHES} x, is kept"
    why = "--size asked for it" if asked else "the nodes have no more memory free"
    if topology.emulated and not asked:
        why = "the machine is emulated and slow"
    return (
        f"arrays of {size_text(size)}: {times}, less than STREAM's rule of {CACHES} x, because "
        f"{why}; caches may serve a part"
    )
