"""What the machine has for a case, and what is fitted to it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tierscope.model.errors import UserError
from tierscope.model.spec import Sampling
from tierscope.model.topology import Topology
from tierscope.plans import machine
from tierscope.plans.grammar import parse_count
from tierscope.report.figures import size_text

_EMULATED_BYTES = 2 << 20
_EMULATED_S = 0.3
_CROWDED_SAMPLE_S = 0.1
_PAGE = 4096
Shares = dict[int, float]
"""Of a region, by node."""


@dataclass(frozen=True)
class Means:
    """A machine, and what was allowed there."""

    topology: Topology
    fit: bool = False
    """Regions, threads and times are made smaller where the machine asks for it."""
    nodes: dict[str, int] = field(default_factory=dict)
    """Nodes by the names in the files: numbers, and devices such as dax0.0."""
    destroy: frozenset[str] = frozenset()
    """DAX devices whose data may be lost, by names and UUIDs."""

    def node(self, number: int, notes: list[str]) -> int:
        """The node that stands in for one of the file, or that one itself."""
        found = self.nodes.get(str(number), number)
        if found != number:
            notes.append(f"node {number} is node {found}")
        return found


def parse_mapping(words: Sequence[str], option: str) -> dict[str, int]:
    """Parse ``8=4,dax2.0=4``: nodes and devices of the files, and the nodes to take."""
    found: dict[str, int] = {}
    for word in (one.strip() for text in words for one in text.split(",")):
        name, sign, number = word.partition("=")
        name = name.removeprefix("node:").rpartition("/")[2]
        number = number.removeprefix("node:")
        if not (sign and name and number):
            raise UserError(f"{option}: '{word}' is not OLD=NEW, as in 8=4 or dax2.0=4")
        if not (name.startswith("dax") or (name.isascii() and name.isdigit())):
            raise UserError(
                f"{option}: '{name}' is neither a node's number nor a DAX device's name"
            )
        try:
            new = parse_count(number, 0, minimum=0)
        except UserError:
            raise UserError(f"{option}: '{number}' is no node's number") from None
        if found.setdefault(name, new) != new:
            raise UserError(f"{option}: {name} is mapped to {found[name]} and to {new}")
    return found


def fitted_size(
    means: Means, regions: Sequence[tuple[Shares, int]], least: int, notes: list[str]
) -> list[int]:
    """Return the bytes of each region that are measured: what the file says, or what fits.

    ``regions`` are held at once: shares of nodes, and bytes. What fits takes at most half of what
    each node has free, and of an emulated machine, which is slow, 2 MiB. ``least`` is what a case
    needs in any event.
    """
    sizes = [size for _, size in regions]
    if not means.fit:
        return sizes
    room = _room(means.topology, [shares for shares, _ in regions])
    fits = 1 << (max(room, _PAGE).bit_length() - 1)
    found = []
    for shares, asked in regions:
        most = fits if shares or means.topology.emulated else asked
        size = max(min(asked, most), least)
        if size < asked:
            notes.append(f"{size_text(size)} for {size_text(asked)}")
        found.append(min(size, asked))
    return found


def _room(topology: Topology, regions: Sequence[Shares]) -> int:
    """Bytes that each of the regions may have."""
    if topology.emulated:
        return _EMULATED_BYTES
    needed: dict[int, float] = {}
    for shares in regions:
        for number, share in shares.items():
            needed[number] = needed.get(number, 0.0) + share
    rooms = [
        free / 2 / share
        for number, share in needed.items()
        if share and (free := _free(topology, number)) is not None
    ]
    if topology.memory_left_bytes is not None:
        rooms.append(topology.memory_left_bytes / 2 / len(regions))
    return int(min(rooms, default=machine.GIB))


def _free(topology: Topology, number: int) -> int | None:
    node = topology.node(number)
    if node is None:
        return None
    return node.total_bytes if node.free_bytes is None else node.free_bytes


def sampling(budget: float, crowded: bool) -> dict[str, float]:
    """Return how a case is sampled. Threads that take turns on a CPU do so by the scheduler's
    slices, of which a sample then has many."""
    if not crowded:
        return {"budget_s": budget}
    return {"budget_s": budget, "sample_s": min(_CROWDED_SAMPLE_S, budget)}


def budget_s(means: Means, run_time: int, notes: list[str]) -> float:
    """Return the most seconds that a measurement gets; ``run_time`` 0 asks for fixed work."""
    usual = Sampling().budget_s
    if not means.fit:
        return min(float(run_time), 86400.0) or usual
    if means.topology.emulated:
        usual = _EMULATED_S
    if run_time > usual:
        notes.append(f"at most {usual:g} s for {run_time} s")
    return min(float(run_time) or usual, usual)
