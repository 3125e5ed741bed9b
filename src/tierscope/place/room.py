"""What a node has left for programs, by the kernel's own rules.

Sources: /proc/zoneinfo, /proc/buddyinfo and /sys/devices/system/node/nodeN/meminfo (proc(5); Linux,
mm/page_alloc.c, zone_watermark_ok, and mm/vmscan.c, node_unmapped_file_pages).
"""

import contextlib
import re
from dataclasses import dataclass

from tierscope.machine.files import Files
from tierscope.machine.nodes import NODES
from tierscope.model.errors import UserError
from tierscope.place.kernel import PAGE_BYTES, Kernel

_ZONE = re.compile(r"^Node (\d+), zone +(\w+)$", re.MULTILINE)
_PAGES = re.compile(r"^ *(?:pages )?(free|low|count:) +(\d+)$", re.MULTILINE)
_PROTECTION = re.compile(r"protection: \(([\d, ]+)\)")
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
    zones = _zones(files.text("/proc/zoneinfo") or "")
    free, lists = (sum(zone[at] for zone in zones if zone[0] == node) for at in (1, 2))
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


def _zones(text: str) -> list[tuple[int, int, int]]:
    """Return for each zone its node, its pages above watermark and reserve, and those in lists."""
    headers = [*_ZONE.finditer(text)]
    ends = [header.start() for header in headers[1:]] + [len(text)]
    found = []
    for header, end in zip(headers, ends, strict=True):
        names = [other[2] for other in headers if other[1] == header[1]]
        zone = text[header.end() : end]
        pages: dict[str, int] = {}
        for name, count in _PAGES.findall(zone):
            pages[name] = pages.get(name, 0) + int(count)
        protection = _PROTECTION.search(zone)
        reserves = [int(one) for one in protection[1].split(",")] if protection else [0]
        # A zone keeps a reserve from requests that a higher zone could serve.
        highest = names.index(_MOVABLE) if _MOVABLE in names else len(reserves) - 1
        reserve = reserves[min(highest, len(reserves) - 1)]
        above = pages.get("free", 0) - pages.get("low", 0) - reserve
        found.append((int(header[1]), max(0, above), pages.get("count:", 0)))
    return found


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
