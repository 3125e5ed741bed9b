"""The spec of a workload: files, threads and their memory."""

from dataclasses import replace
from typing import Any

from tierscope.engine.targets import path_facts
from tierscope.model.errors import UserError
from tierscope.model.topology import Topology
from tierscope.peers.drop_in import (
    cpus_of_gpu,
    cpus_of_node,
    io_spec,
    is_foreign,
    memory_node,
    on_any_of,
    one_file,
    own_files,
    refuse_overwriting,
)
from tierscope.peers.gdsio.options import MEMORIES
from tierscope.peers.gdsio.workload import Job, Workload, amount, check_amounts
from tierscope.plans.gpu import require_gpus

STEM = "gdsio."
"""Names of a directory's files begin with it."""
_SAMPLE_S = 0.05


def looked_up(work: Workload, overwrite: bool) -> Workload:
    """Return the workload with the sizes of the files to be read that were not given.

    Of a directory the first file stands for all. Raises UserError where files that are needed are
    missing, or would be overwritten although they are not tierscope's.
    """
    return replace(work, jobs=tuple(_looked_up(work, job, overwrite) for job in work.jobs))


def _looked_up(work: Workload, job: Job, overwrite: bool) -> Job:
    path = f"{job.path}/{STEM}0" if job.is_directory else job.path
    facts = path_facts(path)
    if facts.kind == "directory":
        raise UserError(f"{job.place}: {path} is a directory; -D makes files below one")
    if facts.kind == "block":
        job = replace(job, path=facts.real)
    if job.size is None and facts.kind == "missing":
        raise UserError(f"{job.place}: {path} is missing; give -s (size), so that it can be made")
    another_s = is_foreign(facts)
    foreign = job.is_directory and another_s
    if foreign and work.writes and not overwrite:
        raise refuse_overwriting(path, job.place)
    size = job.size
    needed = work.offset + (size or 0)
    if another_s and not work.writes and facts.size is not None and facts.size < needed:
        raise UserError(
            f"{job.place}: {path} has {facts.size} bytes, and {needed} are needed; make -s (size) "
            "smaller, or name another file"
        )
    if size is None and facts.size is not None:
        size = max(0, facts.size - work.offset)
    return replace(job, size=size, foreign=foreign)


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
    return io_spec(
        f"gdsio-{work.word}-{work.transfer.word}".lower(),
        f"gpu:{first.gpu}" if work.transfer.gpu else f"node:{_node(first, topology)}",
        jobs,
        _pattern(work, require),
        float(work.seconds) if work.seconds else _SAMPLE_S,
        _SAMPLE_S,
    )


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
        "ramp_s": 0,  # As a job without a ramp: one repetition, which goes over each file once.
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
    """Return a job of the spec, or one per file where tierscope may not have made the files."""
    cpus = _cpus(work, job, topology)
    common = {"name": job.name, "buffers": _buffers(work, job, topology)}
    if not job.is_directory:
        files = _file(work, job, job.path, overwrite)
        return [{**common, **on_any_of(cpus, work.threads(job)), "files": files}]
    if job.size is not None and not overwrite and not job.foreign:
        files = own_files(job.path, STEM, job.threads, work.offset + job.size, keep=True)
        threads = on_any_of(cpus, work.threads(job))
        return [{**common, **threads, "files": files, "shared": work.one_thread_each}]
    if work.one_thread_each:
        raise UserError(
            f"{job.place}: with -x 6 and 7 and without -B one thread goes over all files, which "
            "have to be tierscope's own; give -B, another directory, or each file by -f"
        )
    return [
        {
            **common,
            "name": f"{job.name} {STEM}{number}",
            **on_any_of(cpus, 1),
            "files": _file(work, job, f"{job.path}/{STEM}{number}", overwrite),
        }
        for number in range(work.threads(job))
    ]


def _file(work: Workload, job: Job, path: str, overwrite: bool) -> dict[str, Any]:
    size = None if job.size is None else work.offset + job.size
    return one_file(path, size, device=job.is_device, overwrite=overwrite and work.writes)


def _buffers(work: Workload, job: Job, topology: Topology) -> dict[str, Any]:
    if work.transfer.gpu:
        managed = work.transfer.backend == "staged-managed"
        return {"memory": "managed" if managed else MEMORIES[job.memory], "gpu": job.gpu}
    nodes = [{"node": _node(job, topology)}]
    return {"memory": "host", "placement": {"policy": "bind", "nodes": nodes}}


def _node(job: Job, topology: Topology) -> int:
    return memory_node(topology, job.node, job.place)


def _cpus(work: Workload, job: Job, topology: Topology) -> list[int]:
    """Return the CPUs of threads: of the node asked for, of the GPU's, of the first."""
    if work.transfer.gpu and job.node is None:
        return cpus_of_gpu(topology, job.gpu)
    return cpus_of_node(topology, _node(job, topology))
