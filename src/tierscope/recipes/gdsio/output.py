"""gdsio's result line, from what was measured."""

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tierscope.model.event import Visit
from tierscope.model.run import Measurement
from tierscope.recipes.gdsio.options import Sizes
from tierscope.recipes.gdsio.plan import STEM
from tierscope.recipes.gdsio.totals import Totals, totals_of
from tierscope.recipes.gdsio.workload import Job, Workload

VERIFYING = "Verifying data"
"""Stands between the line of the writes and that of the reads that check them."""
_KIB = 1 << 10
_GIB = 1 << 30


def result_line(work: Workload, totals: Totals, jobs: tuple[Job, ...] | None = None) -> str:
    """Return the line of a workload, or of some of its jobs; ops and latency are of single I/Os."""
    of = work.jobs if jobs is None else jobs
    threads = sum(work.threads(job) for job in of)
    depth = f" IoDepth: {work.depth}" if work.in_batches else ""
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


def result_lines(work: Workload, visits: Sequence[Visit]) -> list[str]:
    """Return the line of all jobs, with ``-J`` behind a line for each job by its name."""
    lines = [f"{name}: {line}" for name, line, _totals in _by_job(work, visits)]
    return [*lines, result_line(work, totals_of(visits))]


def result_json(work: Workload, visits: Sequence[Visit], found: Measurement) -> dict[str, Any]:
    """Return what was measured as numbers: bytes, operations, seconds, latency, evidence."""
    totals = totals_of(visits)
    jobs = [
        {"name": name, "line": line, **_numbers(part)} for name, line, part in _by_job(work, visits)
    ]
    evidence = found.evidence.model_dump(mode="json", exclude_none=True) if found.evidence else {}
    return {
        "line": result_line(work, totals),
        **_numbers(totals),
        **({"jobs": jobs} if jobs else {}),
        "figures": [one.model_dump(mode="json", exclude_none=True) for one in found.figures],
        "evidence": evidence,
    }


def _numbers(totals: Totals) -> dict[str, Any]:
    rate = totals.operations / totals.seconds if totals.seconds else 0.0
    return {**asdict(totals), "bandwidth": totals.bandwidth, "iops": rate}


def _by_job(work: Workload, visits: Sequence[Visit]) -> list[tuple[str, str, Totals]]:
    """Return name, line and totals of each job, where that was asked for."""
    if not work.per_job:
        return []
    found = []
    for job in work.jobs:
        totals = totals_of(visits, _parts_of(visits, job) if len(work.jobs) > 1 else ("",))
        found.append((job.name, result_line(work, totals, (job,)), totals))
    return found


def _parts_of(visits: Sequence[Visit], job: Job) -> list[str]:
    """Return the parts of figures that are a job's: itself, or each of its files."""
    found = {column.part for visit in visits for column in visit.series[0].columns}
    of_file = re.compile(re.escape(f"{job.name} {STEM}") + "[0-9]+")
    return [part for part in found if part == job.name or of_file.fullmatch(part)]
