"""gdsio's result line, from what was measured."""

from tierscope.recipes.gdsio.options import Sizes
from tierscope.recipes.gdsio.totals import Totals
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
