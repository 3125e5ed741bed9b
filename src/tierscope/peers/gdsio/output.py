"""gdsio's result line, its JSON, and the path of the data."""

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tierscope.model.event import Evidence, IoEvidence, Repetition
from tierscope.model.run import Measurement
from tierscope.peers.gdsio.options import Sizes
from tierscope.peers.gdsio.plan import STEM
from tierscope.peers.gdsio.workload import Job, Workload
from tierscope.peers.totals import Totals, totals_of
from tierscope.report.evidence import drives_text
from tierscope.report.figures import bound_words

VERIFYING = "Verifying data"
"""Printed between the result lines of the writes and of the reads that verify them."""
_THROUGH_HOST = "in compatibility mode, through host memory"
_WAYS = {
    "p2p": "by PCI P2PDMA",
    "nvfs": "by nvidia-fs",
    "posix": _THROUGH_HOST,
    "aio": f"{_THROUGH_HOST} (aio)",
    "io_uring": f"{_THROUGH_HOST} (io_uring)",
    "mixed": f"{_THROUGH_HOST} (several)",
}
"""Paths that cuFile counts."""
_UNPROVEN = "way not proven"
_BY_NVIDIA_FS = " (proof: compatibility mode was off, and nvidia-fs counted them)"
_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30


def way_taken(work: Workload, found: Measurement) -> str:
    """Return the path of cuFile's operations, and the share of the bytes that drives moved."""
    evidence = found.evidence
    if evidence is None or evidence.storage_io is None:
        return ""
    parts = [_ways(evidence, evidence.storage_io)] if work.transfer.cufile else []
    return "; ".join(filter(None, [*parts, drives_text(evidence)]))


def _ways(evidence: Evidence, io: IoEvidence) -> str:
    ways = {name: count for name, count in (io.ways or {}).items() if count}
    total = sum(ways.values())
    cufile = evidence.cufile
    if not total or (cufile and cufile.proof is None):
        return next(
            (one for one in evidence.notes or [] if one.startswith(_UNPROVEN)),
            f"{_UNPROVEN}: cuFile counted no operations",
        )
    return (
        "way: "
        + ", ".join(
            f"{count / total:.1%} of {total} operations {_WAYS.get(name, name)}"
            for name, count in sorted(ways.items(), key=lambda way: -way[1])
        )
        + (_BY_NVIDIA_FS if cufile and cufile.proof == "nvidia-fs" else "")
    )


def result_line(work: Workload, totals: Totals, jobs: tuple[Job, ...] | None = None) -> str:
    """Return the line of a workload, or of some of its jobs; ops and latency are of single I/Os."""
    of = work.jobs if jobs is None else jobs
    threads = sum(work.threads(job) for job in of)
    depth = f" IoDepth: {work.depth}" if work.transfer.in_batches else ""
    data = sum(job.data_bytes or 0 for job in of)
    return (
        f"IoType: {work.word} XferType: {work.transfer.word} Threads: {threads}{depth} "
        f"DataSetSize: {round(totals.bytes / _KIB)}/{data // _KIB}(KiB) "
        f"IOSize: {_io_size(work.sizes)}(KiB) "
        f"Throughput: {totals.bandwidth / _GIB:.6f} GiB/sec, "
        f"Avg_Latency: {totals.latency_s * 1e6:.6f} usecs "
        f"ops: {totals.operations} total_time {totals.seconds:.6f} secs"
    )


def _io_size(sizes: Sizes) -> str:
    """Return a size in KiB, or smallest, largest and step of a range."""
    first, last = sizes.values[0], sizes.values[-1]
    shown = (first, last, sizes.step) if sizes.step else (first,)
    return "-".join(f"{size / _KIB:g}" if size % _KIB else str(size // _KIB) for size in shown)


def result_lines(
    work: Workload, repetitions: Sequence[Repetition], found: Measurement
) -> list[str]:
    """Return the line of all jobs, with ``-J`` behind a line for each job by its name. Behind
    gdsio's own words stands what makes a figure another than the drive's."""
    lines = [f"{name}: {line}" for name, line, _totals in _by_job(work, repetitions)]
    of = f" ({bound_words(found.bound_by)})" if found.bound_by else ""
    return [line + of for line in (*lines, result_line(work, totals_of(repetitions)))]


def result_json(
    work: Workload, repetitions: Sequence[Repetition], found: Measurement
) -> dict[str, Any]:
    """Return what was measured as numbers: bytes, operations, seconds, latency, evidence."""
    totals = totals_of(repetitions)
    jobs = [
        {"name": name, "line": line, **_numbers(part)}
        for name, line, part in _by_job(work, repetitions)
    ]
    evidence = found.evidence.model_dump(mode="json", exclude_none=True) if found.evidence else {}
    return {
        "line": result_line(work, totals),
        **({"bound_by": found.bound_by} if found.bound_by else {}),
        **_numbers(totals),
        **({"jobs": jobs} if jobs else {}),
        "figures": [one.model_dump(mode="json", exclude_none=True) for one in found.figures],
        "evidence": evidence,
    }


def _numbers(totals: Totals) -> dict[str, Any]:
    rate = totals.operations / totals.seconds if totals.seconds else 0.0
    return {**asdict(totals), "bandwidth": totals.bandwidth, "iops": rate}


def _by_job(work: Workload, repetitions: Sequence[Repetition]) -> list[tuple[str, str, Totals]]:
    """Return name, line and totals of each job, where that was asked for."""
    if not work.per_job:
        return []
    found = []
    for job in work.jobs:
        totals = totals_of(
            repetitions, _parts_of(repetitions, job) if len(work.jobs) > 1 else ("",)
        )
        found.append((job.name, result_line(work, totals, (job,)), totals))
    return found


def _parts_of(repetitions: Sequence[Repetition], job: Job) -> list[str]:
    """Return the parts of figures that are a job's: itself, or each of its files."""
    found = {column.part for repetition in repetitions for column in repetition.series[0].columns}
    of_file = re.compile(re.escape(f"{job.name} {STEM}") + "[0-9]+")
    return [part for part in found if part == job.name or of_file.fullmatch(part)]
