"""Heat of a program's call sites: DAMON's regions over the addresses of each function's blocks.

The preloaded allocator gives each function that allocates much an arena, and writes its addresses
into a file for each process (alloc/heat.c). One kdamond looks at each process: at those addresses,
and at its other large mappings.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tierscope.place.damon import footprint, status, tree
from tierscope.place.damon.files import content
from tierscope.place.damon.footprint import LOOK, MONITORING
from tierscope.place.damon.rules import Context, Kdamond, Rules, Target
from tierscope.place.kernel import Kernel, KernelError
from tierscope.place.tiering import Tiering

OTHER = ""
"""The name of memory that is no function's."""
COLD_SHARE = 0.01
"""Share of the accesses that what goes to slow memory may get, where no capacity is given."""
MOST_RULES = 64
"""By call site (kMaxPatterns in alloc/rules.h)."""
_LEAST = 1 << 20
"""Bytes of other mappings that are looked at: DAMON has 1000 regions for all."""
_PAUSE_S = 0.5
_GROWTH = 0.05
"""Of all memory; DAMON is given new addresses where more was added."""


@dataclass(frozen=True)
class Stretch:
    """Addresses that are looked at, of one function or of none."""

    start: int
    end: int
    resident: float
    """Bytes."""
    site: str

    @property
    def density(self) -> float:
        """Share of it that is there."""
        return self.resident / (self.end - self.start)


Layout = dict[int, list[Stretch]]
"""Of each process, going up."""


@dataclass
class SiteHeat:
    """What was seen of the memory that a function allocated; sums are over all looks."""

    name: str
    bytes: float = 0.0
    """Resident, at the look that found most."""
    resident: float = 0.0
    accessed: float = 0.0
    """Bytes, each times the share of samples that found it accessed."""
    touched: float = 0.0
    """Bytes that any sample found accessed."""

    @property
    def rate(self) -> float:
        """Share of samples that found its memory accessed, on average."""
        return self.accessed / self.resident if self.resident else 0.0

    @property
    def working(self) -> float:
        """Share of its memory that was accessed within an aggregation interval, on average."""
        return self.touched / self.resident if self.resident else 0.0


@dataclass(frozen=True)
class Found:
    """What was observed."""

    sites: list[SiteHeat]
    """Functions, hottest first."""
    other: SiteHeat
    """Memory that is no function's, of large mappings."""
    looks: int
    processes: int
    """That had the library, and memory of a function."""

    def share(self, one: SiteHeat) -> float:
        """Return its share of all accesses."""
        total = sum(each.accessed for each in (*self.sites, self.other))
        return one.accessed / total if total else 0.0


class Sums:
    """Adds up what looks find of each function."""

    def __init__(self) -> None:
        self.looks = 0
        self.pids: set[int] = set()
        self._sites: dict[str, SiteHeat] = {}

    def add_memory(self, layout: Layout) -> None:
        """Begin a look: where memory is."""
        self.looks += 1
        now: dict[str, float] = {}
        for pid, stretches in layout.items():
            for one in stretches:
                now[one.site] = now.get(one.site, 0.0) + one.resident
                if one.site != OTHER:
                    self.pids.add(pid)
        for name, size in now.items():
            site = self._site(name)
            site.resident += size
            site.bytes = max(site.bytes, size)

    def add_regions(self, stretches: Sequence[Stretch], regions: Iterable[status.Region]) -> None:
        """Add what one process accessed; neither stretches nor regions overlap."""
        samples = MONITORING.aggr_us // MONITORING.sample_us
        ordered = sorted(regions, key=lambda one: one.start)
        first = 0
        for one in stretches:
            while first < len(ordered) and ordered[first].end <= one.start:
                first += 1
            at = first
            while at < len(ordered) and ordered[at].start < one.end:
                region = ordered[at]
                common = min(one.end, region.end) - max(one.start, region.start)
                size = common * one.density
                site = self._site(one.site)
                site.accessed += size * region.accesses / samples
                site.touched += size if region.accesses else 0
                at += 1

    def found(self) -> Found:
        """Return what there is so far."""
        named = [one for name, one in self._sites.items() if name != OTHER]
        ordered = sorted(named, key=lambda one: (-one.rate, -one.bytes, one.name))
        other = self._sites.get(OTHER, SiteHeat(OTHER))
        return Found(ordered, other, self.looks, len(self.pids))

    def _site(self, name: str) -> SiteHeat:
        return self._sites.setdefault(name, SiteHeat(name))


def arenas_in(text: str) -> list[tuple[int, int, str]]:
    """Return first address, end and function of each arena that a process has written."""
    found = []
    for line in text.splitlines(keepends=True):
        words = line.split(maxsplit=2)
        if line.endswith("\n") and len(words) == 3:  # not one that is being written
            start, end, name = words
            found.append((int(start, 16), int(end, 16), name.rstrip("\n")))
    return found


def layout_of(kernel: Kernel, folder: Path, pids: Iterable[int]) -> Layout:
    """Return where the functions' memory, and other memory, is in processes with the library."""
    found: Layout = {}
    for pid in pids:
        path = folder / str(pid)
        if not path.exists():
            continue
        arenas = arenas_in(path.read_text(errors="replace"))
        stretches = []
        for start, end, resident in footprint.resident(kernel, pid):
            site = next((name for low, high, name in arenas if low <= start < high), OTHER)
            if site != OTHER or resident >= _LEAST:
                stretches.append(Stretch(start, end, resident, site))
        if any(one.site != OTHER for one in stretches):
            found[pid] = stretches
    return found


def has_moved(before: Layout, now: Layout) -> bool:
    """Whether memory is where DAMON does not look: it is new, or has grown."""
    if before.keys() != now.keys():
        return True
    known = {pid: {one.start: one.end for one in stretches} for pid, stretches in before.items()}
    total = sum(one.end - one.start for stretches in now.values() for one in stretches)
    new = sum(
        max(0, one.end - known[pid].get(one.start, one.start))
        for pid, stretches in now.items()
        for one in stretches
    )
    return new > _GROWTH * total


def rules_for(layout: Layout) -> Rules:
    """Return rules that only look at these addresses."""
    return Rules(
        tuple(
            Kdamond((Context("fvaddr", (_target(pid, stretches),), MONITORING, (LOOK,)),))
            for pid, stretches in layout.items()
        )
    )


def _target(pid: int, stretches: Sequence[Stretch]) -> Target:
    return Target(pid=pid, regions=tuple((one.start, one.end) for one in stretches))


def observe(
    kernel: Kernel, tiering: Tiering, pid: int, folder: Path, on: Callable[[], bool]
) -> Found:
    """Look at a process and what it starts while ``on`` says so."""
    sums = Sums()
    watched: Layout = {}
    while on():
        now = layout_of(kernel, folder, footprint.family(kernel, pid))
        if now and has_moved(watched, now):
            for number in tree.running(kernel):
                tree.command(kernel, number, "off")
            watched = now if _start(kernel, tiering, now) else {}
        time.sleep(_PAUSE_S)
        if watched and now:
            _look(kernel, sums, watched, now)
    return sums.found()


def _start(kernel: Kernel, tiering: Tiering, layout: Layout) -> bool:
    """Have kdamonds look; False where a process has ended meanwhile."""
    rules = rules_for(layout)
    try:
        tiering.run(rules, content(rules))
    except KernelError:
        if all(kernel.exists(f"/proc/{pid}") for pid in layout):
            raise
        return False
    return True


def _look(kernel: Kernel, sums: Sums, watched: Layout, now: Layout) -> None:
    seen = {}
    for number, pid in enumerate(watched):
        try:
            seen[pid] = status.regions_of(kernel, number, 0)
        except KernelError:  # it has ended
            continue
    alive = {pid: stretches for pid, stretches in now.items() if pid in seen}
    if alive:
        sums.add_memory(alive)
    for pid, stretches in alive.items():
        sums.add_regions(stretches, seen[pid])


def cold(found: Found, fast: int | None) -> list[SiteHeat]:
    """Return the functions whose memory belongs in slow memory, those with most of it first.

    The hottest stay, as far as they fit into ``fast`` bytes. Without that, the coldest go that
    together get ``COLD_SHARE`` of the accesses.
    """
    chosen = _beyond(found.sites, fast) if fast is not None else _rarely_accessed(found)
    return sorted(chosen, key=lambda one: -one.bytes)[:MOST_RULES]


def _beyond(sites: Sequence[SiteHeat], fast: int) -> list[SiteHeat]:
    left = float(fast)
    chosen = []
    for one in sites:
        if one.bytes <= left:
            left -= one.bytes
        else:
            chosen.append(one)
    return chosen


def _rarely_accessed(found: Found) -> list[SiteHeat]:
    spent = 0.0
    chosen = []
    for one in reversed(found.sites):
        spent += found.share(one)
        if spent > COLD_SHARE:
            break
        chosen.append(one)
    return chosen


def rules_text(slow: Sequence[SiteHeat], nodes: str) -> str:
    """Return rules of the allocator that have these functions' memory on nodes."""
    lines = [f"arena slow {nodes}"]
    lines += [f"site {_quoted(one.name)} -> slow" for one in slow]
    return "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    return f'"{name}"' if " " in name or "#" in name else name
