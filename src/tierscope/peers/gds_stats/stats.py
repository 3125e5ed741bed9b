"""Statistics of cuFile in the three levels of gds_stats, and the text that gds_stats prints."""

import glob
import os
import re
import shutil
from bisect import bisect_right
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tierscope.engine.process import answer_of
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.event import IoEvidence, Repetition
from tierscope.peers.totals import totals_of
from tierscope.runs.read import read_contents
from tierscope.runs.store import SUFFIX, is_run_file

if TYPE_CHECKING:
    import subprocess


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
_MIB = 1 << 20
_EDGES = (0, *(4 << step for step in range(15)))
"""Where ranges of sizes begin, in KiB; the last one has no end."""
_PLACES = "/usr/local/cuda*/gds/tools/gds_stats"
_DEADLINE_S = 20.0


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
    """Statistics of one process; levels that were not asked for are empty."""

    source: str
    """The run or tool that they are from."""
    version: str = ""
    totals: dict[str, Number] = field(default_factory=dict)
    """Level 1, by the names that gds_stats prints."""
    sizes: list[Sizes] = field(default_factory=list)
    """Level 2."""
    gpus: list[GpuStats] = field(default_factory=list)
    """Level 3."""
    pools: list[dict[str, str]] = field(default_factory=list)
    """Bounce buffers in GPU memory, one entry per GPU: "gpu" and the columns of the tool."""
    posix_pools: list[dict[str, str]] = field(default_factory=list)
    """Bounce buffers in host memory per GPU, by size: used/all."""
    rdma: list[str] = field(default_factory=list)
    """Lines about RDMA, as they are."""
    notes: list[str] = field(default_factory=list)
    """Remarks, and lines that were not understood."""


def key_of(name: str) -> str:
    """Return a name as JSON keys are: ``Read BandWidth (GiB/s)`` is ``read_bandwidth_gib_s``."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def parse_stats(text: str, source: str) -> Stats | None:
    """Parse the output of gds_stats; None where it has none of its sections."""
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
    if section == "rdma":
        stats.rdma.append(line)
    elif section == "totals" and (found := _TOTAL.fullmatch(line)):
        stats.totals[found[1]] = _number(found[2])
    elif section == "sizes" and (found := _SIZE.fullmatch(line)):
        stats.sizes.append(Sizes(found[1], int(found[2]), int(found[3])))
    elif section == "gpus" and (found := _GPU.fullmatch(line)):
        stats.gpus.append(GpuStats(int(found[1]), _groups(found[2])))
    elif "pools" in section and (found := _GPU.fullmatch(line)):
        pools: list[dict[str, str]] = getattr(stats, section)
        pools.append({"gpu": found[1], **dict(_POOL.findall(found[2]))})
    else:
        return line == "..." and section not in ("totals", "sizes")
    return True


def _groups(text: str) -> dict[str, dict[str, Number]]:
    return {
        group.lower(): {key_of(name): _number(value) for name, value in _PAIR.findall(pairs)}
        for group, pairs in _GROUP.findall(text)
    }


def _number(text: str) -> Number:
    """Return a number; 0 for other text."""
    for parse in (int, float):
        with suppress(ValueError):
            return parse(text)
    return 0


def stats_of_run(pid: int, level: int) -> Stats | None:
    """Return the statistics of a run of tierscope so far; None for other processes.

    ``pid`` may be that of tierscope or of its engine. Raises UserError (exit code 3) where there is
    no such process.
    """
    for process in (pid, _parent(pid)):
        path = _run_file(process) if process else None
        if path is not None:
            return _stats(path, level)
    return None


def _parent(pid: int) -> int | None:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        raise UserError(f"there is no process {pid}", ExitCode.NOTHING_MEASURED) from None
    except OSError:
        return None
    return int(status.rpartition(")")[2].split()[1])


def _run_file(pid: int) -> Path | None:
    """Return the run file that a process has open for writing."""
    try:
        entries = [*Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return None
    for entry in entries:
        try:
            target = os.readlink(entry)  # noqa: PTH115 - the text, wherever it leads
        except OSError:
            continue
        if target.endswith(SUFFIX) and is_run_file(Path(target)):
            return Path(target)
    return None


def _stats(path: Path, level: int) -> Stats:
    contents = read_contents(path)
    done = []
    for spec in contents.planned:
        repetitions = [one.repetition for one in contents.repetitions_of(spec["id"])]
        moved = [repetition for repetition in repetitions if repetition.evidence.storage_io]
        if moved:
            done.append(_Moved(spec, moved))
    stats = Stats(f"tierscope's run {path.stem}")
    if not done:
        stats.notes.append("no repetition of storage has ended yet")
        return stats
    _add_totals(stats, done)
    if level > 1:
        _add_sizes(stats, done)
    if level > 2:
        _add_gpus(stats, done)
    return stats


@dataclass(frozen=True)
class _Moved:
    """A measurement of storage, and its repetitions so far."""

    spec: dict[str, Any]
    repetitions: list[Repetition]

    def counted(self, name: str) -> int:
        """Return the sum of one of the counters of its evidence."""
        return sum(getattr(io, name) for io in self.observed)

    @property
    def operation(self) -> str:
        """read, write or mix."""
        return str(self.spec["pattern"]["operation"])

    @property
    def observed(self) -> list[IoEvidence]:
        """What its repetitions observed of I/O."""
        return [one.evidence.storage_io for one in self.repetitions if one.evidence.storage_io]


def _add_totals(stats: Stats, done: list[_Moved]) -> None:
    files = {file for one in done for io in one.observed for file in io.files}
    stats.totals["Total Files"] = len(files)
    for word, which in (("Read", "read"), ("Write", "written")):
        moved = [one for one in done if one.counted(f"{word.lower()}s")]
        totals = [totals_of(one.repetitions) for one in moved]
        size = sum(one.counted(f"bytes_{which}") for one in moved)
        seconds = sum(one.seconds for one in totals)
        operations = sum(one.operations for one in totals)
        waited = sum(one.operations * one.latency_s for one in totals)
        stats.totals |= {
            f"Total {word} Errors": 0,
            f"Total {word} Size (MiB)": size // _MIB,
            f"{word} BandWidth (GiB/s)": round(size / seconds / (1 << 30), 6) if seconds else 0,
            f"Avg {word} Latency (us)": round(waited / operations * 1e6) if operations else 0,
        }
    if any(one.operation == "mix" for one in done):
        stats.notes.append("latencies of mixes are those of reads and writes together")


def _add_sizes(stats: Stats, done: list[_Moved]) -> None:
    counts: dict[int, list[int]] = {}
    for one in done:
        if one.spec["pattern"].get("blocks"):
            stats.notes.append(f"{one.spec['id']} has blocks of several sizes; it counts by none")
            continue
        row = counts.setdefault(_range(one.spec["pattern"]["block_size"]), [0, 0])
        row[0] += one.counted("reads")
        row[1] += one.counted("writes")
    for number, low in enumerate(_EDGES):
        high = "..." if low == _EDGES[-1] else str(_EDGES[number + 1])
        stats.sizes.append(Sizes(f"{low}-{high}", *counts.get(number, (0, 0))))


def _range(size: int) -> int:
    """Return the number of the range that a size in bytes is in."""
    return bisect_right(_EDGES, size >> 10) - 1


def _add_gpus(stats: Stats, done: list[_Moved]) -> None:
    groups: dict[int, dict[str, dict[str, Number]]] = {}
    for one in done:
        jobs = one.spec["jobs"]
        for job in jobs:
            gpu = job["buffers"].get("gpu")
            if gpu is None:
                continue
            totals = totals_of(one.repetitions, [job["name"]] if len(jobs) > 1 else [""])
            counters = groups.setdefault(gpu, {}).setdefault(one.operation, {"n": 0, "mib": 0})
            counters["n"] += totals.operations
            counters["mib"] += round(totals.bytes / _MIB)
        _add_ways(stats, one)
    stats.gpus = [GpuStats(gpu, groups[gpu]) for gpu in sorted(groups)]
    if not groups:
        stats.notes.append("no GPU takes part")


def _add_ways(stats: Stats, moved: _Moved) -> None:
    """Note the path of the operations of a measurement."""
    ways: Counter[str] = Counter()
    for io in moved.observed:
        ways.update(io.ways or {})
    if ways:
        counts = ", ".join(f"{count} by {way}" for way, count in ways.items())
        stats.notes.append(f"{moved.spec['id']}: {counts}")


def find_tool() -> Path | None:
    """Return gds_stats of PATH, else of the newest CUDA toolkit; None where there is none."""
    found = shutil.which("gds_stats")
    if found:
        return Path(found)
    places = sorted(glob.glob(_PLACES), key=_version)  # noqa: PTH207 - an absolute pattern
    return Path(places[-1]) if places else None


def _version(path: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", path.split("/")[3]))


def stats_of_tool(pid: int, level: int) -> Stats:
    """Run gds_stats; raises UserError (exit code 3) where there is none or it has no statistics."""
    tool = find_tool()
    if tool is None:
        raise UserError(
            f"process {pid} is not a run of tierscope, and cuFile's statistics of other processes "
            f"are read by NVIDIA's gds_stats, which is neither on PATH nor at {_PLACES}; it comes "
            "with the CUDA toolkit's package gds-tools",
            ExitCode.NOTHING_MEASURED,
        )
    done = answer_of([tool, "-p", str(pid), "-l", str(level)], _DEADLINE_S)
    stats = parse_stats(done.stdout, f"{tool}, process {pid}")
    if stats is None or done.returncode:
        raise _nothing(tool, pid, done)
    return stats


def _nothing(tool: Path, pid: int, done: "subprocess.CompletedProcess[str]") -> UserError:
    lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    said = f" ('{lines[0].strip()}')" if lines else ""
    return UserError(
        f"{tool} has no statistics of process {pid}{said}: a process keeps them if cufile.json "
        "sets profile.cufile_stats to 1, 2 or 3 and data does not go in compatibility mode",
        ExitCode.NOTHING_MEASURED,
    )
