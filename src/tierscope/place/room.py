"""What a node has left for programs, by the kernel's own rules.

Sources: /proc/zoneinfo, /proc/buddyinfo and /sys/devices/system/node/nodeN/meminfo (proc(5); Linux,
mm/page_alloc.c, zone_watermark_ok, and mm/vmscan.c, node_unmapped_file_pages).
"""

import contextlib
from dataclasses import dataclass

from tierscope.machine.files import Files
from tierscope.machine.nodes import NODES
from tierscope.model.errors import UserError
from tierscope.place.kernel import PAGE_BYTES, Kernel
from tierscope.place.zones import Zone, zones_of

PIECE = 2 << 20
"""Bytes of a huge page, on most machines."""
_REFRESH = "/proc/sys/vm/stat_refresh"
_FRUITLESS = 3
"""Writes in a row after which the lists are as short as they get."""
_MOVABLE = "Movable"
"""The highest zone that memory of programs may be in."""


@dataclass(frozen=True)
class Room:
    """Memory of a node, in bytes."""

    total: int
    free: int
    """What programs get there before the kernel gives them memory of another node, or reclaims: in
    each zone what is above its low watermark and the reserve for kernel memory."""
    cache: int
    """Page cache that no program has mapped. Programs bound to the node get it, too: the kernel
    reclaims it for them. Others get memory of another node instead."""
    pieces: int = 0
    """Free memory in pieces of 2 MiB or more, which huge pages can be made of."""
    lists: int = 0
    """Free memory in the CPUs' own lists, for programs on these CPUs only; no part of ``free``. The
    kernel gives what is more than about a low watermark back to the node within a minute."""

    @property
    def available(self) -> int:
        """Both, in bytes."""
        return self.free + self.cache


def room(node: int, files: Files | None = None) -> Room:
    """Return what a node has left; all 0 of a node that is not there."""
    files = files or Files()
    info = files.fields(f"{NODES}/node{node}/meminfo")
    cache = info.get("Active(file)", 0) + info.get("Inactive(file)", 0) - info.get("Mapped", 0)
    zones = zones_of(node, files)
    names = [zone.name for zone in zones]
    free, lists = sum(_above(one, names) for one in zones), sum(one.lists for one in zones)
    return Room(
        info.get("MemTotal", 0),
        free * PAGE_BYTES,
        max(0, cache),
        _pieces(node, files),
        lists * PAGE_BYTES,
    )


def settled_room(node: int, kernel: Kernel) -> Room:
    """Return what a node has left once its CPUs' own lists are short, as far as root can have that.

    Each write to stat_refresh shortens them, by an eighth at most (mm/page_alloc.c,
    decay_pcp_high), and brings counters up to date.
    """
    now, fruitless = room(node, kernel), 0
    while fruitless < _FRUITLESS:
        with contextlib.suppress(UserError):
            kernel.write(_REFRESH, "1")
        before, now = now, room(node, kernel)
        fruitless = fruitless + 1 if now.lists >= before.lists else 0
    return now


def _above(zone: Zone, names: list[str]) -> int:
    """Return a zone's free pages above watermark and reserve; ``names`` are all of its node's."""
    reserves = zone.reserves or (0,)
    highest = names.index(_MOVABLE) if _MOVABLE in names else len(reserves) - 1
    reserve = reserves[min(highest, len(reserves) - 1)]
    return max(0, zone.pages.get("free", 0) - zone.pages.get("low", 0) - reserve)


def _pieces(node: int, files: Files) -> int:
    """Return the free bytes of a node in pieces of 2 MiB or more: a line of buddyinfo has for each
    zone how many pieces of 1, 2, 4, ... pages there are."""
    found = 0
    for line in (files.text("/proc/buddyinfo") or "").splitlines():
        words = line.replace(",", " ").split()
        if words[:2] == ["Node", str(node)]:
            sizes = ((PAGE_BYTES << order, int(count)) for order, count in enumerate(words[4:]))
            found += sum(size * count for size, count in sizes if size >= PIECE)
    return found
