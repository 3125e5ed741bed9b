"""Statistics of cuFile in the three levels of gds_stats, and the text that gds_stats prints."""

import re
from dataclasses import dataclass, field

Number = int | float
_HEADINGS = {
    "GLOBAL STATS": "totals",
    "READ-WRITE SIZE HISTOGRAM": "sizes",
    "PER_GPU STATS": "gpus",
    "PER_GPU POOL BUFFER STATS": "pools",
    "PER_GPU POSIX POOL BUFFER STATS": "posix_pools",
    "PER_GPU RDMA STATS": "rdma",
    "RDMA MRSTATS": "rdma",
}
"""Its sections, and the field that each fills."""
_VERSION = re.compile(r"cuFile STATS VERSION\s*:\s*(\S+)")
_TOTAL = re.compile(r"(\D.*?)\s*:\s*(-?\d+(?:\.\d+)?)")
_SIZE = re.compile(r"(\d+-(?:\d+|\.\.\.))\(KiB\)\s*:\s*(\d+)\s+(\d+)")
_GPU = re.compile(r"GPU\s*:?\s*(\d+)\s+(.*)")
_GROUP = re.compile(r"(\w+):((?:\s*[\w()%]+=\S+)*)")
_PAIR = re.compile(r"([\w()%]+)=(\S+)")
_POOL = re.compile(r"([\w()]+)\s*:\s*(\S+)")


@dataclass(frozen=True)
class Sizes:
    """Operations of one range of sizes."""

    range: str
    """In KiB, as gds_stats writes it: "4-8", "65536-...". The lower end belongs to it."""
    reads: int
    writes: int


@dataclass(frozen=True)
class GpuStats:
    """One GPU's part: counters by group (read, write, bufregister) and name."""

    gpu: int
    groups: dict[str, dict[str, Number]]


@dataclass
class Stats:
    """What one process did; a level that was not asked for is empty."""

    source: str
    """Where it was read."""
    version: str = ""
    totals: dict[str, Number] = field(default_factory=dict)
    """Level 1, by the names that gds_stats prints."""
    sizes: list[Sizes] = field(default_factory=list)
    """Level 2."""
    gpus: list[GpuStats] = field(default_factory=list)
    """Level 3."""
    pools: list[dict[str, str]] = field(default_factory=list)
    """Of each GPU with bounce buffers in GPU memory: "gpu" and what the tool prints of them."""
    posix_pools: list[dict[str, str]] = field(default_factory=list)
    """The same of bounce buffers in host memory, by their size: used/all."""
    rdma: list[str] = field(default_factory=list)
    """Lines about RDMA, as they are."""
    notes: list[str] = field(default_factory=list)
    """What a reader has to know, and lines that were not understood."""


def key_of(name: str) -> str:
    """Return a name as JSON keys are: ``Read BandWidth (GiB/s)`` is ``read_bandwidth_gib_s``."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def parse_stats(text: str, source: str) -> Stats | None:
    """Read what gds_stats printed; None where none of its sections is there."""
    stats = Stats(source)
    section = ""
    for line in map(str.strip, text.splitlines()):
        version = _VERSION.fullmatch(line)
        heading = _HEADINGS.get(line.removesuffix(":").strip()) if line.endswith(":") else None
        if version:
            stats.version = version[1]
        elif heading:
            section = heading
        elif line and not (section and _take(stats, section, line)):
            stats.notes.append(line)
    return stats if section else None


def _take(stats: Stats, section: str, line: str) -> bool:
    """Read a line of a section; return whether it was understood."""
    if section == "totals":
        return _take_total(stats, line)
    if section == "sizes":
        found = _SIZE.fullmatch(line)
        if found:
            stats.sizes.append(Sizes(found[1], int(found[2]), int(found[3])))
        return bool(found)
    if section == "rdma":
        stats.rdma.append(line)
        return True
    gpu = _GPU.fullmatch(line)
    if gpu is None:
        return line == "..."
    if section == "gpus":
        stats.gpus.append(GpuStats(int(gpu[1]), _groups(gpu[2])))
    else:
        pools: list[dict[str, str]] = getattr(stats, section)
        pools.append({"gpu": gpu[1], **dict(_POOL.findall(gpu[2]))})
    return True


def _take_total(stats: Stats, line: str) -> bool:
    found = _TOTAL.fullmatch(line)
    if found:
        stats.totals[found[1]] = _number(found[2])
    return bool(found)


def _groups(text: str) -> dict[str, dict[str, Number]]:
    return {
        group.lower(): {key_of(name): _number(value) for name, value in _PAIR.findall(pairs)}
        for group, pairs in _GROUP.findall(text)
    }


def _number(text: str) -> Number:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return 0
