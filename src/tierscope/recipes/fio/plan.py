"""From jobs that run together to a spec of the kind io."""

from collections.abc import Sequence
from typing import Any

from tierscope.model.topology import Topology
from tierscope.plans.gpu import require_gpus
from tierscope.plans.pinning import one_per_core_first
from tierscope.recipes.drop_in.hosts import cpus_of_gpu, memory_node, usable_cpus
from tierscope.recipes.fio.jobs import Job
from tierscope.recipes.fio.stages import Clone, Stage
from tierscope.recipes.fio.targets import Target

_NEVER = 1e-9
"""A precision that no interval has, so that time or amount alone ends a measurement."""
_SAMPLE_S = 0.5
"""fio's own time for an average of bandwidth (bwavgtime)."""
_POLICIES = {"bind": "bind", "prefer": "preferred", "interleave": "interleave"}


def spec_of(
    stage: Stage, targets: Sequence[Target], topology: Topology, overwrite: bool = False
) -> dict[str, Any]:
    """Return the spec of jobs that run together, as plans have it.

    ``overwrite``: files may be anybody's. Raises UserError for CPUs, nodes and GPUs that are not
    there.
    """
    pairs = list(zip(stage.clones, targets, strict=True))
    patterns = [_pattern(clone.job, target) for clone, target in pairs]
    jobs = [
        _job(index, clone, target, topology, overwrite)
        for index, (clone, target) in enumerate(pairs)
    ]
    if len(jobs) == 1:
        jobs[0]["name"] = ""
    for job, pattern in zip(jobs, patterns, strict=True):
        if pattern != patterns[0] or (pattern.get("rate") and len(jobs) > 1):
            job["pattern"] = pattern
    timing = stage.jobs[0].timing
    budget = timing.seconds if timing.time_based else 0.05
    first = jobs[0]
    gpu = first["buffers"].get("gpu")
    files = first["files"]
    where = files.get("path") or files.get("device") or files["directory"]
    node = next((n.number for n in topology.nodes if first["cpus"][0] in n.cpus), 0)
    return {
        "kind": "io",
        "id": _id(stage),
        "initiator": f"node:{node}" if gpu is None else f"gpu:{gpu}",
        "target": f"{'dev' if 'device' in files else 'file'}:{where}",
        "sampling": {
            "precision": _NEVER,
            "budget_s": budget,
            "sample_s": min(_SAMPLE_S, budget / 4),
        },
        "jobs": jobs,
        "pattern": patterns[0],
    }


def _id(stage: Stage) -> str:
    name = stage.clones[0].job.name
    kept = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in name)
    return f"fio-{kept[:40]}".strip("-")


def _pattern(job: Job, target: Target) -> dict[str, Any]:
    weights = sum(weight for _size, weight in job.blocks)
    found: dict[str, Any] = {
        "operation": job.operation,
        "order": "random" if job.work.random else "sequential",
        "block_size": sum(size * weight for size, weight in job.blocks) // weights,
        "backend": job.backend,
        "direct": job.direct,
        "depth": job.depth,
        "registered": job.values.of("registerfiles", False),
        "sqpoll": job.values.of("sqthread_poll", False),
        "iopoll": job.values.of("hipri", False),
        "offset": target.offset,
        "range": target.size,
        "seed": job.seed,
        "verify": job.verify,
        "ramp_s": job.timing.ramp,
        **_cache(job),
        **_writes(job),
    }
    if job.operation == "mix":
        found["read_percent"] = job.reads_percent
    if len(job.blocks) > 1:
        found["blocks"] = [{"bytes": size, "weight": weight} for size, weight in job.blocks]
    if job.work.random:
        theta = job.values.of("random_distribution")
        found |= {"order": "zipf", "zipf": theta} if theta else {}
        found |= {"align": job.values.of("blockalign")} if job.values.of("blockalign") else {}
    if job.depth > 1:
        found["batch"] = min(job.depth, job.values.of("iodepth_batch", 1))
    if job.rate:
        found |= {"rate": job.rate[0], "arrivals": job.rate[1]}
    if not job.timing.time_based:
        loops = job.values.of("loops", 1)
        found["amount"] = target.data_bytes * loops if job.amount is None else job.amount
        found |= {"time_limit_s": job.timing.seconds} if job.timing.seconds else {}
    return found


def _cache(job: Job) -> dict[str, str]:
    """What the page cache holds of the files when the job begins."""
    if job.values.of("pre_read", False):
        return {"cache": "warm"}
    return {"cache": "cold" if job.values.of("invalidate", True) else "as-found"}


def _writes(job: Job) -> dict[str, Any]:
    if not job.writes:
        return {}
    return {
        "fsync": job.values.of("fsync", 0),
        "fdatasync": job.values.of("fdatasync", 0),
        "end_fsync": job.values.of("end_fsync", False),
        "refill": job.values.of("refill_buffers", False),
        "compressible": job.values.of("buffer_compress_percentage", 0),
    }


def _job(
    index: int, clone: Clone, target: Target, topology: Topology, overwrite: bool
) -> dict[str, Any]:
    if clone.job.engine.name == "libcufile":
        require_gpus(topology)
        gpus = clone.job.values.of("gpu_dev_ids", (0,))
        gpu = gpus[clone.number % len(gpus)]
        cpus = cpus_of_gpu(topology, gpu)
        buffers: dict[str, Any] = {"memory": "device", "gpu": gpu}
        cpu = cpus[clone.number % len(cpus)]
    else:
        cpu = _cpu(index, clone, topology)
        buffers = {"memory": "host", "placement": _placement(clone.job, cpu, topology)}
    return {
        "name": clone.part,
        "cpus": [cpu],
        "buffers": buffers,
        "files": _files(clone.job, target, overwrite),
        "shared": True,
    }


def _cpu(index: int, clone: Clone, topology: Topology) -> int:
    """Return the CPU of a thread: one of those that its job names, else of all, in turn."""
    job = clone.job
    name = next(
        (n for n in ("cpus_allowed", "cpumask", "numa_cpu_nodes") if n in job.values.given), ""
    )
    if not name:
        every = one_per_core_first(topology.cpus, topology.siblings)
        return every[index % len(every)]
    if name == "numa_cpu_nodes":
        nodes = job.values.of(name)
        found = [cpu for node in nodes for cpu in usable_cpus(topology, node)]
        if not found:
            raise job.values.fail(name, f"nodes {', '.join(map(str, nodes))} have no CPUs to use")
        found = one_per_core_first(found, topology.siblings)
    else:
        found = list(job.values.of(name))
        missing = [cpu for cpu in found if cpu not in topology.cpus]
        if missing:
            raise job.values.fail(name, f"CPU {missing[0]} is not there, or may not be used")
    return found[clone.number % len(found)]


def _placement(job: Job, cpu: int, topology: Topology) -> dict[str, Any]:
    place = job.values.where("numa_mem_policy")
    if job.policy.mode == "local":
        own = next((node.number for node in topology.nodes if cpu in node.cpus), None)
        nodes = [memory_node(topology, own if own in _with_memory(topology) else None, place)]
        return {"policy": "bind", "nodes": [{"node": nodes[0]}]}
    if job.policy.mode == "bind" and len(job.policy.nodes) > 1:
        raise job.values.fail("numa_mem_policy", "buffers are bound to one node; name one")
    nodes = [memory_node(topology, node, place) for node in job.policy.nodes]
    return {"policy": _POLICIES[job.policy.mode], "nodes": [{"node": node} for node in nodes]}


def _with_memory(topology: Topology) -> list[int]:
    return [node.number for node in topology.nodes if node.total_bytes]


def _files(job: Job, target: Target, overwrite: bool) -> dict[str, Any]:
    if target.kind == "block":
        return {"device": target.path, **({"size": target.end} if target.end else {})}
    if not target.path:
        return {
            "directory": target.directory, "stem": target.stem, "count": target.count,
            "size": target.end, "keep": target.keep, "large": True,
        }  # fmt: skip
    files: dict[str, Any] = {"path": target.path}
    if target.create and target.end:
        files |= {"create": True, "keep": target.keep, "large": True}
    if target.end:
        files["size"] = target.end
    if overwrite and job.writes:
        files["overwrite"] = True
    return files
