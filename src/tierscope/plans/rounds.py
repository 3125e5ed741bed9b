"""Sizes and pages of interleaved arrays of which every thread's share holds whole rounds."""

import math
from dataclasses import dataclass

from tierscope.model.spec import Placement
from tierscope.model.topology import Topology
from tierscope.plans import machine
from tierscope.plans.axes import pages, sizes
from tierscope.plans.request import Request


@dataclass(frozen=True)
class Arrays:
    """Arrays that threads go over."""

    placement: Placement
    default: int
    """Bytes of an array where none were asked for."""
    count: int = 1
    """Arrays, or workloads on the same nodes."""
    shares: int = 1
    """Threads that have a share of their own."""
    access_size: int = 64
    others: tuple[Placement, ...] = ()
    """Placements of further arrays that are gone over together with the others."""

    @property
    def placements(self) -> tuple[Placement, ...]:
        """Placements of all arrays."""
        return (self.placement, *self.others)


def sizes_and_pages(
    request: Request, topology: Topology, thp: bool, arrays: Arrays, option: str = "size"
) -> tuple[list[int], list[str]]:
    """Return the sizes and pages asked for; of what was not, those that give the weights.

    The engine refuses arrays of which a thread's share holds no whole round. So the default size is
    as many rounds as there are threads, where the nodes have room for that, and else the default
    pages are base pages.
    """
    persistent = any(placed.persistent for placed in arrays.placements)
    given, kinds = sizes(request, option), pages(request, topology, thp and not persistent)
    if persistent and not set(kinds) <= {"base", "thp"}:
        raise request.wrong("pages", "files and devices of persistent memory have base and thp")
    asked = given or [arrays.default]
    least = _least(topology, arrays, kinds)
    if least <= min(asked):
        return asked, kinds
    nodes = [share.node for placed in arrays.placements for share in placed.nodes]
    if not given and machine.has_room(topology, nodes, least * arrays.count):
        return [least], kinds
    if "pages" not in request.options:
        kinds = ["base"]
    return given or [max(arrays.default, _least(topology, arrays, kinds))], kinds


def _least(topology: Topology, arrays: Arrays, kinds: list[str]) -> int:
    """Fewest bytes that hold a round for each share; 0 for policies without rounds."""
    pages_in_round = math.lcm(*(placed.round_pages for placed in arrays.placements))
    if pages_in_round == 1:
        return 0
    page = max(machine.page_bytes(topology, kind) for kind in kinds)
    return arrays.shares * math.lcm(pages_in_round * page, arrays.access_size)
