"""Statistics of a run of tierscope while it is measured, from its run file."""

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tierscope.model.errors import ExitCode, UserError
from tierscope.model.event import Visit
from tierscope.recipes.gds_stats.stats import GpuStats, Number, Sizes, Stats
from tierscope.recipes.gdsio.totals import totals_of
from tierscope.runs.read import parse_contents, read_bytes
from tierscope.runs.store import SUFFIX, is_run_file

_MIB = 1 << 20
_LAST_RANGE = 15
"""Number of the range of sizes from 64 MiB on."""


def stats_of_run(pid: int, level: int) -> Stats | None:
    """Return what a run of tierscope moved so far; None where the process is none.

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
    contents = parse_contents(read_bytes(path), str(path))
    done = []
    for spec in contents.planned:
        visits = [one.visit for one in contents.visits_of(spec["id"])]
        if any(visit.evidence.storage_io for visit in visits):
            done.append(_Moved(spec, [visit for visit in visits if visit.evidence.storage_io]))
    stats = Stats(f"tierscope's run {path.stem}")
    if not done:
        stats.notes.append("no visit of storage has ended yet")
        return stats
    _add_totals(stats, done)
    if level > 1:
        _add_sizes(stats, done)
    if level > 2:
        _add_gpus(stats, done)
    return stats


@dataclass(frozen=True)
class _Moved:
    """A measurement of storage, and its visits so far."""

    spec: dict[str, Any]
    visits: list[Visit]

    def counted(self, name: str) -> int:
        """Return the sum of one of the counters of its evidence."""
        return sum(getattr(visit.evidence.storage_io, name) for visit in self.visits)

    @property
    def operation(self) -> str:
        """read, write or mix."""
        return str(self.spec["pattern"]["operation"])

    @property
    def files(self) -> set[str]:
        """What it went over."""
        return {
            file
            for v in self.visits
            if v.evidence.storage_io
            for file in v.evidence.storage_io.files
        }


def _add_totals(stats: Stats, done: list[_Moved]) -> None:
    stats.totals["Total Files"] = len(set().union(*(one.files for one in done)))
    for word in ("Read", "Write"):
        which = "read" if word == "Read" else "written"
        moved = [one for one in done if one.counted(f"{word.lower()}s")]
        totals = [totals_of(one.visits) for one in moved]
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
    edges = [0, *(4 << step for step in range(_LAST_RANGE))]
    for number, low in enumerate(edges):
        high = "..." if number == _LAST_RANGE else str(edges[number + 1])
        reads, writes = counts.get(number, [0, 0])
        stats.sizes.append(Sizes(f"{low}-{high}", reads, writes))


def _range(size: int) -> int:
    """Return the number of the range that a size is in: 0 below 4 KiB, 1 below 8 KiB, ..."""
    return min(_LAST_RANGE, max(0, (size >> 12).bit_length()))


def _add_gpus(stats: Stats, done: list[_Moved]) -> None:
    groups: dict[int, dict[str, dict[str, Number]]] = {}
    for one in done:
        jobs = one.spec["jobs"]
        for job in jobs:
            gpu = job["buffers"].get("gpu")
            if gpu is None:
                continue
            totals = totals_of(one.visits, [job["name"]] if len(jobs) > 1 else [""])
            counters = groups.setdefault(gpu, {}).setdefault(one.operation, {"n": 0, "mib": 0})
            counters["n"] += totals.operations
            counters["mib"] += round(totals.bytes / _MIB)
        _add_ways(stats, one)
    stats.gpus = [GpuStats(gpu, groups[gpu]) for gpu in sorted(groups)]
    if not groups:
        stats.notes.append("no GPU takes part")


def _add_ways(stats: Stats, moved: _Moved) -> None:
    """Say by which way the operations of a measurement went."""
    ways: Counter[str] = Counter()
    for visit in moved.visits:
        ways.update((visit.evidence.storage_io and visit.evidence.storage_io.ways) or {})
    if ways:
        counts = ", ".join(f"{count} by {way}" for way, count in ways.items())
        stats.notes.append(f"{moved.spec['id']}: {counts}")
