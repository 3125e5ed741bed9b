"""From what gdsio was asked to do to specs of the kind io."""

from typing import Any

from tierscope.model.errors import UserError
from tierscope.model.topology import Topology
from tierscope.plans.gpu import require_gpus
from tierscope.recipes.drop_in.hosts import cpus_of_gpu, cpus_of_node, memory_node, on_node
from tierscope.recipes.gdsio.transfers import MEMORIES
from tierscope.recipes.gdsio.workload import Job, Workload, amount, check_amounts

STEM = "gdsio."
"""Names of a directory's files begin with it."""
_SAMPLE_S = 0.05
_NEVER = 1e-9
"""A precision that no interval has, so that -T alone ends a measurement."""


def spec_of(
    work: Workload, topology: Topology, *, overwrite: bool = False, require: str | None = None
) -> dict[str, Any]:
    """Return the spec of a workload, as plans have it.

    ``overwrite``: files may be anybody's. Raises UserError for GPUs and nodes that are not there.
    """
    check_amounts(work)
    _check_way(work, require)
    if work.transfer.gpu:
        require_gpus(topology)
    first = work.jobs[0]
    jobs = [one for job in work.jobs for one in _jobs(work, job, topology, overwrite)]
    if len(jobs) == 1:
        jobs[0]["name"] = ""
    seconds = float(work.seconds) if work.seconds else _SAMPLE_S
    return {
        "kind": "io",
        "id": f"gdsio-{work.word}-{work.transfer.word}".lower(),
        "initiator": f"gpu:{first.gpu}" if work.transfer.gpu else f"node:{_node(first, topology)}",
        "target": f"{'dev' if first.is_device else 'file'}:{first.path}",
        "sampling": {"precision": _NEVER, "budget_s": seconds, "sample_s": _SAMPLE_S},
        "jobs": jobs,
        "pattern": _pattern(work, require),
    }


def _check_way(work: Workload, require: str | None) -> None:
    if require == "odirect" and work.buffered:
        raise UserError("--require odirect: -O 1 and -x 4 go through the page cache")
    if require not in (None, "odirect") and not work.transfer.cufile:
        raise UserError(
            f"--require {require}: only -x 0, 5, 6 and 7 go through cuFile, and -x is "
            f"{work.transfer_number}"
        )


def _pattern(work: Workload, require: str | None) -> dict[str, Any]:
    sizes = work.sizes.values
    pattern: dict[str, Any] = {
        "operation": "mix" if work.mix else "write" if work.writes else "read",
        "order": "random" if work.random else "sequential",
        "block_size": sum(sizes) // len(sizes),
        "backend": work.transfer.backend,
        "direct": not work.buffered,
        "depth": work.depth,
        "registered": work.registered,
        "refill": work.refill and work.writes,
        "offset": work.offset,
        "seed": work.seed,
        "verify": work.verify,
    }
    if work.buffered:
        pattern["cache"] = "as-found"
    if work.mix:
        pattern["read_percent"] = work.mix
    if len(sizes) > 1:
        pattern["blocks"] = [{"bytes": size, "weight": 1} for size in sizes]
    if work.align and work.random:
        pattern["align"] = work.align
    if not work.seconds:
        pattern["amount"] = amount(work, work.jobs[0])
    if require:
        pattern["require"] = require
    return pattern


def _jobs(work: Workload, job: Job, topology: Topology, overwrite: bool) -> list[dict[str, Any]]:
    """Return a job of the spec, or one for each file where each may be somebody else's."""
    cpus = _cpus(work, job, topology)
    common = {"name": job.name, "buffers": _buffers(work, job, topology)}
    if not job.is_directory:
        return [{**common, "cpus": cpus, "files": _file(work, job, job.path, overwrite)}]
    if job.size is not None and not overwrite and not job.foreign:
        return [
            {**common, "cpus": cpus, "files": _owned(work, job), "shared": work.one_thread_each}
        ]
    if work.one_thread_each:
        raise UserError(
            f"{job.place}: with -x 6 and 7 and without -B one thread goes over all files, which "
            "have to be tierscope's own; give -B, another directory, or each file by -f"
        )
    return [
        {
            **common,
            "name": f"{job.name} {STEM}{number}",
            "cpus": [cpu],
            "files": _file(work, job, f"{job.path}/{STEM}{number}", overwrite),
        }
        for number, cpu in enumerate(cpus)
    ]


def _owned(work: Workload, job: Job) -> dict[str, Any]:
    """Files that are made where they are missing, kept, and used again."""
    assert job.size is not None
    size = work.offset + job.size
    return {
        "directory": job.path, "stem": STEM, "count": job.threads, "size": size, "keep": True,
        "large": True,
    }  # fmt: skip


def _file(work: Workload, job: Job, path: str, overwrite: bool) -> dict[str, Any]:
    """One file or device; a file of a known size is made where it is missing, and kept."""
    if job.is_device:
        files: dict[str, Any] = {"device": path}
    elif job.size is None:
        files = {"path": path}
    else:
        files = {"path": path, "create": True, "keep": True, "large": True}
    if job.size is not None:
        files["size"] = work.offset + job.size
    if overwrite and work.writes:
        files["overwrite"] = True
    return files


def _buffers(work: Workload, job: Job, topology: Topology) -> dict[str, Any]:
    if work.transfer.gpu:
        managed = work.transfer.backend == "staged-managed"
        return {"memory": "managed" if managed else MEMORIES[job.memory], "gpu": job.gpu}
    return on_node(_node(job, topology))


def _node(job: Job, topology: Topology) -> int:
    return memory_node(topology, job.node, job.place)


def _cpus(work: Workload, job: Job, topology: Topology) -> list[int]:
    """Return a CPU for each thread: of the node asked for, of the GPU's, of the first."""
    if work.transfer.gpu and job.node is None:
        ordered = cpus_of_gpu(topology, job.gpu)
    else:
        ordered = cpus_of_node(topology, _node(job, topology))
    return [ordered[number % len(ordered)] for number in range(work.threads(job))]
