"""Memory that a process, a cgroup or the machine accesses, observed by DAMON.

Each process has a kdamond of its own, since regions do not say whose they are; the machine has one
for each node. Regions are laid over pieces of the memory that is there, and summed up over time.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tierscope.place.damon import tree
from tierscope.place.damon.rules import EVERY, Context, Kdamond, Monitoring, Rules, Scheme, Target
from tierscope.place.damon.status import Region
from tierscope.place.kernel import PAGE_BYTES, Kernel
from tierscope.place.nodes import nodes_with_memory
from tierscope.place.pages import process_tree

MOST_PROCESSES = 32
MONITORING = Monitoring(5_000, 100_000, 1_000_000, min_regions=100, max_regions=1000)
LOOK = Scheme("stat", accesses=EVERY, access_unit="samples")
"""Moves nothing; its regions are what is seen."""
_PIECES = 2000
"""Pieces that a process's or a node's memory is cut into."""
_RANGE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) ")


@dataclass(frozen=True)
class Piece:
    """A range of addresses, as far as memory is there."""

    start: int
    end: int
    bytes: float
    """Resident."""


@dataclass
class Observed:
    """One process, or one node's memory, and its accesses so far."""

    name: str
    pieces: list[Piece]
    heat: list[list[float]] = field(default_factory=list)
    """For each look, the share of samples that found each piece accessed."""

    @property
    def bytes(self) -> float:
        """Resident bytes."""
        return sum(piece.bytes for piece in self.pieces)

    def add(self, regions: Sequence[Region], samples: int) -> None:
        """Add a look; regions do not overlap and go up."""
        shares = [0.0] * len(self.pieces)
        at = 0
        for region in sorted(regions, key=lambda one: one.start):
            while at < len(self.pieces) and self.pieces[at].end <= region.start:
                at += 1
            place = at
            while place < len(self.pieces) and self.pieces[place].start < region.end:
                piece = self.pieces[place]
                common = min(piece.end, region.end) - max(piece.start, region.start)
                shares[place] += region.accesses / samples * common / (piece.end - piece.start)
                place += 1
        self.heat.append(shares)

    def working_sets(self) -> list[float]:
        """Bytes that were accessed, at each look."""
        return [
            sum(piece.bytes for piece, share in zip(self.pieces, shares, strict=True) if share)
            for shares in self.heat
        ]


def rules_for(kernel: Kernel, pids: Sequence[int]) -> Rules:
    """Return rules that only look: at processes, or where there are none at all nodes' memory."""
    if pids:
        targets = [("vaddr", Target(pid=pid)) for pid in pids]
    else:
        targets = [
            ("paddr", Target(regions=tree.ranges(kernel, node)))
            for node in nodes_with_memory(kernel)
        ]
    return Rules(
        tuple(
            Kdamond((Context(operations, (target,), MONITORING, (LOOK,)),))
            for operations, target in targets
        )
    )


def observed(kernel: Kernel, pids: Sequence[int]) -> list[Observed]:
    """Return what the kdamonds of ``rules_for`` look at, in their order."""
    if pids:
        return [Observed(_name(kernel, pid), _pieces(resident(kernel, pid))) for pid in pids]
    found = []
    for node in nodes_with_memory(kernel):
        whole = [(start, end, float(end - start)) for start, end in tree.ranges(kernel, node)]
        found.append(Observed(f"node {node}", _pieces(whole)))
    return found


def family(kernel: Kernel, pid: int) -> list[int]:
    """Return a process and all its descendants, the largest ones where they are too many."""
    found = process_tree(pid, kernel) if kernel.exists(f"/proc/{pid}") else []
    return largest(kernel, found)


def largest(kernel: Kernel, pids: Sequence[int]) -> list[int]:
    """Return the processes that have memory, in order, the largest where they are too many."""
    sizes = {}
    for pid in pids:
        words = (kernel.text(f"/proc/{pid}/statm") or "").split()
        if len(words) > 1 and int(words[1]):
            sizes[pid] = int(words[1])
    chosen = sorted(sizes, key=lambda pid: -sizes[pid])[:MOST_PROCESSES]
    return sorted(chosen)


def _name(kernel: Kernel, pid: int) -> str:
    return f"{pid} {kernel.text(f'/proc/{pid}/comm') or ''}".strip()


def resident(kernel: Kernel, pid: int) -> list[tuple[int, int, float]]:
    """Return start, end and resident bytes of each mapping that has any, going up."""
    found: list[tuple[int, int, float]] = []
    for line in (kernel.text(f"/proc/{pid}/smaps") or "").splitlines():
        match = _RANGE.match(line)
        if match:
            found.append((int(match[1], 16), int(match[2], 16), 0))
        elif line.startswith("Rss:") and found:
            start, end, _ = found[-1]
            found[-1] = (start, end, float(line.split()[1]) * 1024)
    return [one for one in found if one[2]]


def _pieces(ranges: Sequence[tuple[int, int, float]]) -> list[Piece]:
    """Cut ranges into about so many pieces, none of which spans two ranges."""
    pages = sum(end - start for start, end, _ in ranges) // _PIECES // PAGE_BYTES
    size = max(1, pages) * PAGE_BYTES
    pieces = []
    for start, end, resident in ranges:
        for at in range(start, end, size):
            stop = min(at + size, end)
            pieces.append(Piece(at, stop, resident * (stop - at) / (end - start)))
    return pieces
