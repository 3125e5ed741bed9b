"""Zones of a node's memory, by /proc/zoneinfo (proc(5))."""

import re
from dataclasses import dataclass, field

from tierscope.machine.files import Files

_ZONE = re.compile(r"Node (\d+), zone +(\w+)")
_COUNT = re.compile(r"(\w+):? +(\d+)$")
_RESERVES = re.compile(r"protection: \(([\d, ]+)\)")


@dataclass
class Zone:
    """A zone; all numbers are pages."""

    name: str
    """As ``Normal``."""
    pages: dict[str, int] = field(default_factory=dict)
    """By the kernel's names: ``free``, ``low`` (a watermark), ``spanned``, ``start_pfn``."""
    lists: int = 0
    """In the CPUs' own lists of free pages."""
    reserves: tuple[int, ...] = ()
    """Kept from requests that a higher zone could serve, by the highest such zone."""


def zones_of(node: int, files: Files) -> list[Zone]:
    """Return a node's zones, the lowest first; none where the kernel has no zoneinfo."""
    found: list[Zone] = []
    here = False
    for line in (files.text("/proc/zoneinfo") or "").splitlines():
        if header := _ZONE.match(line):
            here = int(header[1]) == node
            found += [Zone(header[2])] if here else []
        elif not here:
            continue
        elif reserves := _RESERVES.search(line):
            found[-1].reserves = tuple(map(int, reserves[1].split(",")))
        elif count := _COUNT.search(line):
            if count[1] == "count":
                found[-1].lists += int(count[2])
            else:
                found[-1].pages.setdefault(count[1], int(count[2]))
    return found
