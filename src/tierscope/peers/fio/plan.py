"""Specs of fio's jobs: stages, files, CPUs and memory."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tierscope.engine.targets import path_facts
from tierscope.model.endpoint import format_ranges
from tierscope.model.errors import UserError
from tierscope.model.storage import PathFacts
from tierscope.model.topology import Node, Topology
from tierscope.peers.drop_in import (
    cpus_of_gpu,
    io_spec,
    is_foreign,
    memory_node,
    on_any_of,
    one_file,
    own_files,
    refuse_device,
    refuse_overwriting,
    usable_cpus,
)
from tierscope.peers.fio.jobs import LOGS, Job, priority_of
from tierscope.peers.fio.values import Spread, Steadiness
from tierscope.plans.gpu import require_gpus

MAX_CLONES = 256
"""Threads of jobs that run together."""
_LEAST_FILE = 4096
_METADATA_BYTES = 2 << 20
_OPERATIONS = 4
"""Of each average where a rate is low, so that few of them are of nothing."""
_STEADY_S = 1.0
"""Of each figure whose steadiness is judged, as in fio."""
_POLICIES = {"bind": "bind", "prefer": "preferred", "interleave": "interleave"}
_ALIKE = {
    "ramp_time": "ramp_time",
    "steadystate": "steady state",
    "steadystate_duration": "duration of the steady state",
    "steadystate_ramp_time": "ramp of the steady state",
}
"""Options that jobs share if they run together, and what they are of."""
_OF_FILES = {
    "ioengine": "engine",
    "directory": "directory",
    "nrfiles": "number of files",
    "filesize": "size of files",
    "size": "size of files",
}
"""The same of jobs whose engines have an ``operation``."""


@dataclass(frozen=True)
class Clone:
    """One thread of a job."""

    job: Job
    number: int
    """Among the clones of its job, from 0 on."""
    group: int
    part: str
    """Its name in a run file, unique among those that run with it."""


@dataclass
class Stage:
    """Jobs that run together. The next ones begin when these have ended."""

    clones: list[Clone] = field(default_factory=list)

    @property
    def jobs(self) -> list[Job]:
        """Unique jobs, in order."""
        return list(dict.fromkeys(clone.job for clone in self.clones))

    @property
    def of_files(self) -> bool:
        """Whether its jobs open, stat or unlink files."""
        return bool(self.clones[0].job.engine.operation)

    def entries(self) -> Iterator[list[Clone]]:
        """Yield the clones of each result: a group or a single one."""
        entry: list[Clone] = []
        for clone in self.clones:
            # As in fio, a grouped clone joins the one before it, grouped or not.
            if entry and not (clone.job.of("group_reporting") and clone.group == entry[-1].group):
                yield entry
                entry = []
            entry.append(clone)
        if entry:
            yield entry


def stages(jobs: Sequence[Job]) -> list[Stage]:
    """Return jobs in the order of execution; UserError names what cannot run together."""
    found: list[Stage] = [Stage()]
    group = -1
    for job in jobs:
        waits = job.of("stonewall") or _waits(job, found)
        if waits and found[-1].clones:
            found.append(Stage())
        if waits or group < 0 or job.of("new_group"):
            group += 1
        _add(found[-1], job, group)
    for stage in found:
        _check(stage)
    _number_streams([clone.job for stage in found for clone in stage.clones])
    return found


def _number_streams(jobs: Sequence[Job]) -> None:
    """Give each clone's data a number, those that share a set of blocks (dedupe_global) first."""
    together = [job for job in jobs if job.of("dedupe_global")]
    every = [*together, *(job for job in jobs if not job.of("dedupe_global"))]
    for job in dict.fromkeys(every):
        job.stream = every.index(job)
        job.streams = len(together) if job.of("dedupe_global") else 1


def _waits(job: Job, before: Sequence[Stage]) -> bool:
    """Return whether a job begins a stage because of ``wait_for``."""
    name = job.of("wait_for")
    if name is None:
        return False
    if name in [one.name for one in before[-1].jobs]:
        if len(before[-1].jobs) > 1:
            raise job.fail(
                "wait_for", f"other jobs run together with '{name}', and the next one waits for "
                "all of them; use stonewall",
            )  # fmt: skip
        return True
    if not any(name == one.name for stage in before for one in stage.jobs):
        raise job.fail("wait_for", f"there is no job '{name}' before this one")
    return False


def _add(stage: Stage, job: Job, group: int) -> None:
    taken = {clone.part for clone in stage.clones}
    for number in range(job.of("numjobs")):
        name = "".join(sign if sign.isprintable() else "_" for sign in job.name)[:48]
        part, again = f"{name}.{number}", 1
        while part in taken:
            again += 1
            part = f"{name}.{number}#{again}"
        taken.add(part)
        stage.clones.append(Clone(job, number, group, part))


def _check(stage: Stage) -> None:
    """Check that jobs can run together: they begin and end so, for they are one measurement."""
    if len(stage.clones) > MAX_CLONES:
        raise UserError(
            f"{stage.clones[0].job.place}: {len(stage.clones)} threads run together; at most "
            f"{MAX_CLONES}"
        )
    first, *others = stage.jobs
    for job in others:
        if bool(job.engine.operation) != bool(first.engine.operation):
            raise job.fail(
                "ioengine", f"jobs by {first.engine.name} and by {job.engine.name} do not run "
                "together; give a stonewall",
            )  # fmt: skip
        for name, what in (_OF_FILES if first.engine.operation else _ALIKE).items():
            if first.values.get(name) != job.values.get(name) and first.of(name) != job.of(name):
                raise job.fail(
                    name, f"jobs that run together have one {what}, and [{first.name}] and "
                    f"[{job.name}] differ; give the same, or a stonewall",
                )  # fmt: skip
        cufile = [one.backend if one.engine.name == "libcufile" else "" for one in (first, job)]
        if cufile[0] != cufile[1]:
            raise job.fail(
                "ioengine", "jobs by libcufile run together only with others by it that have the "
                f"same cuda_io, and [{first.name}] differs; give a stonewall",
            )  # fmt: skip


@dataclass(frozen=True)
class Target:
    """The files of one clone."""

    clone: Clone
    path: str
    """The only file, or the device; empty: files of tierscope's in the job's directory."""
    stem: str
    kind: str
    """file, block or missing."""
    end: int | None
    """Bytes that each file has to have; None: as many as it has."""
    offset: int
    size: int
    """Bytes of each file that are used."""
    foreign: bool
    """tierscope did not make it."""

    @property
    def job(self) -> Job:
        """The clone's job."""
        return self.clone.job


def targets_of(stage: Stage, overwrite: bool, readonly: bool = False) -> list[Target]:
    """Return each clone's files; UserError where they are missing, too small or another's.

    ``readonly``: files are taken as they are; none is made, filled or extended.
    """
    found = [_target(clone, overwrite, readonly) for clone in stage.clones]
    _check_shared(found)
    ends: dict[str, int] = {}
    for one in found:
        ends[one.path] = max(ends.get(one.path, 0), one.end or 0)
    # Clones that share a file need as much of it as the one that needs most.
    return [replace(one, end=ends[one.path] or None) if one.path else one for one in found]


def _check_shared(found: Sequence[Target]) -> None:
    """Refuse several writers of a file from GPUs: only verified blocks say who wrote them."""
    paths = [target.path for target in found]
    for target in found:
        job, path = target.job, target.path
        alone = not path or paths.count(path) == 1 or job.engine.name != "libcufile"
        if job.writes and not job.verify and not alone:
            raise job.fail(
                "filename", "clones that write from GPUs have files of their own; give directory "
                "in place of filename, or verify",
            )  # fmt: skip


def _target(clone: Clone, overwrite: bool, readonly: bool) -> Target:
    job = clone.job
    if job.is_bottomless:
        return _bottomless(clone)
    path, stem = (job.path, "") if job.path else _below(clone)
    facts = path_facts(path or f"{job.directory}/{stem}0")
    if facts.kind == "directory":
        raise job.fail("filename", f"{facts.path} is a directory; name files by directory")
    if facts.kind == "other":
        raise job.fail("filename", f"{facts.path} is neither a file nor a block device")
    if facts.kind == "missing" and (job.is_device or not job.of("allow_file_create")):
        why = "there is no such device" if job.is_device else "and allow_file_create=0"
        raise job.fail("filename", f"{facts.path} is missing, {why}")
    if facts.kind == "missing" and readonly:
        raise UserError(f"{job.place}: {facts.path} is missing, and --readonly is given")
    if facts.kind == "block" and job.writes:
        raise refuse_device(facts.path, job.where("filename"))
    foreign = is_foreign(facts)
    if foreign and job.changes_space:
        raise UserError(
            f"{job.place}: {facts.path} exists, and tierscope did not make it; "
            f"ioengine={job.engine.name} takes tierscope's own files only: name another directory"
        )
    if foreign and job.writes and not overwrite:
        raise refuse_overwriting(facts.path, job.place, "--overwrite-others")
    as_it_is = foreign or readonly
    if as_it_is and not path and job.of("nrfiles") > 1:
        raise UserError(
            f"{job.place}: a job uses only one file as it is, and {facts.path} is "
            + ("not tierscope's; name another directory" if foreign else "such a file: --readonly")
        )
    if as_it_is and not path:
        path = f"{job.directory}/{stem}0"
    offset = job.of("offset") + clone.number * job.of("offset_increment")
    size, end = _extent(job, facts, offset, by_name=bool(path))
    return Target(
        clone=clone,
        path=facts.real if facts.kind == "block" else path,
        stem=stem,
        kind=facts.kind,
        end=end,
        offset=offset,
        size=size,
        foreign=foreign,
    )


def _bottomless(clone: Clone) -> Target:
    """Return /dev/null or /dev/zero, of which as many bytes are used as a job's size has."""
    job = clone.job
    if job.size is None:
        raise UserError(f"{job.place}: [{job.name}] needs a size, for {job.path} has none")
    if job.verify and job.writes:
        raise job.fail("verify", f"{job.path} keeps nothing that could be read back")
    if job.path == "/dev/null" and job.operation != "write" and job.backend != "null":
        raise job.fail("rw", "/dev/null has nothing to read; use /dev/zero")
    offset = job.of("offset") + clone.number * job.of("offset_increment")
    return Target(clone, job.path, "", "other", offset + job.size, offset, job.size, foreign=False)


def _below(clone: Clone) -> tuple[str, str]:
    """Return the path of a clone's only file below the directory, or the stem of their names."""
    job = clone.job
    name = job.of("filename_format").replace("$jobname", job.name)
    name = name.replace("$jobnum", str(clone.number))
    name = name.replace("$clientuid", "").replace("$jobuid", "")
    stem = name.removesuffix("$filenum")
    where = "filename_format" if "filename_format" in job.values else "name"
    plain = all(sign.isascii() and (sign.isalnum() or sign in "._-") for sign in stem)
    if "$" in stem or "/" in stem or not stem or len(stem) > 64 or stem.startswith("."):
        raise job.fail(
            where, f"'{name}' cannot be the name of files: $filenum stands at its end, without / "
            "and . in front, 64 characters at most",
        )  # fmt: skip
    if stem == name or not plain:
        if job.of("nrfiles") > 1:
            raise job.fail(
                where, f"'{name}' names {job.of('nrfiles')} files: it takes letters, digits, '.', "
                "'_', '-', and $filenum at its end",
            )  # fmt: skip
        return f"{job.directory}/{name.replace('$filenum', '0')}", ""
    return "", stem


def _size(job: Job, kind: str, size: int | None, offset: int) -> int:
    """Return the bytes of each file that are used."""
    found = None if job.size is None else job.size // job.of("nrfiles")
    if found is None:
        if kind == "missing" or size is None:
            raise UserError(f"{job.place}: [{job.name}] needs a size, for its file is missing")
        found = size - offset
    if found < job.largest:
        raise UserError(
            f"{job.place}: [{job.name}] has {max(0, found)} bytes in each file, less than one "
            f"operation of {job.largest}"
        )
    return found


def _extent(job: Job, facts: PathFacts, offset: int, by_name: bool) -> tuple[int, int | None]:
    """Return the bytes of each file that are used, and those that it has to have; None: as many as
    it has. ``by_name``: the path is that of its only file."""
    there = facts.kind != "missing"
    if job.of("fill_device"):
        size = facts.size if there and facts.size else _free(job, facts)
        return size, size
    size = _size(job, facts.kind, facts.size, offset)
    end = None if job.size is None else max(_LEAST_FILE, offset + size)
    kept = facts.size if by_name and there else None
    if kept is not None and end is not None and kept < end:
        raise UserError(
            f"{job.place}: {facts.path} has {kept} bytes, and {end} are needed; remove it, "
            "or make size smaller"
        )
    return size, end


def _free(job: Job, facts: PathFacts) -> int:
    """Return the bytes that are free beside the twentieth that stays so (engine/storage/fill.h),
    and a little for the file's own metadata."""
    free, whole = facts.free_bytes or 0, facts.total_bytes or 0
    files = job.of("nrfiles") * job.of("numjobs")
    each: int = (free - whole // 20 - _METADATA_BYTES) // files // job.largest * job.largest
    if each < job.largest:
        raise job.fail(
            "fill_device",
            f"{facts.path}: {free} of {whole} bytes are free, and a twentieth stays free",
        )
    return each


def buffered_foreign(targets: Sequence[Target]) -> list[str]:
    """Return files whose page cache cannot be emptied although the job asks for it."""
    found = [one for one in targets if one.foreign and one.job.of("invalidate")]
    return list(dict.fromkeys(one.path for one in found if not one.job.direct))


def spec_of(
    targets: Sequence[Target], topology: Topology, overwrite: bool = False
) -> dict[str, Any]:
    """Return the spec of jobs that run together, as plans have it.

    ``overwrite``: files may be anybody's. Raises UserError for CPUs, nodes and GPUs that are not
    there.
    """
    jobs = [_job(one, topology, overwrite) for one in targets]
    patterns = [_pattern(target) for target in targets]
    for job, pattern in zip(jobs, patterns, strict=True):
        if pattern != patterns[0] or (pattern.get("rate") and len(jobs) > 1):
            job["pattern"] = pattern
    first = targets[0].job
    every = [target.job for target in targets]
    _share(jobs, every, [target.clone.group for target in targets])
    times = [job.limit_s for job in every if job.time_based]
    sample = min([_sample_s(job) for job in every])
    budget = max([job.of("startdelay") + job.limit_s for job in every if job.time_based]
        or [0.05])  # fmt: skip
    gpu = jobs[0]["buffers"].get("gpu")
    initiator = initiator_of(jobs[0]["cpus"], topology) if gpu is None else f"gpu:{gpu}"
    if times:
        sample = min(sample, min(times) / 4)
    spec = io_spec(id_of(first), initiator, jobs, patterns[0], budget, sample)
    return {**spec, "own_ends": True, **_steadiness(first)}


def _sample_s(job: Job) -> float:
    if "steadystate" in job.values:
        return _STEADY_S
    logged = any(job.log(name) for name in LOGS)
    window = job.of("latency_window") / 4 if job.of("latency_target") else math.inf
    if logged:
        return job.log_s
    paced = _OPERATIONS / job.rate if job.rate else 0.0
    return float(min(max(job.of("bwavgtime"), paced), window))


def _steadiness(job: Job) -> dict[str, Any]:
    found: Steadiness | None = job.of("steadystate")
    if found is None:
        return {}
    return {
        "ends_steady": {
            "figure": found.figure,
            "slope": found.slope,
            "limit": found.limit,
            "of_the_mean": found.of_the_mean,
            "duration_s": job.of("steadystate_duration"),
            "ramp_s": job.of("steadystate_ramp_time"),
        }
    }


def _share(specs: Sequence[dict[str, Any]], jobs: Sequence[Job], groups: Sequence[int]) -> None:
    """Add to the specs of jobs what they share: who ends with whom, and flows."""
    for spec, job, group in zip(specs, jobs, groups, strict=True):
        spec["group"] = group
        if job.of("exitall"):
            spec["ends"] = "group" if job.of("exit_what") == "group" else "all"
        if job.of("flow"):
            flow = {"number": job.of("flow_id"), "weight": job.of("flow")}
            spec["flow"] = {**flow, "sleep_s": job.of("flow_sleep")}


def initiator_of(cpus: Sequence[int], topology: Topology) -> str:
    """Return the endpoint that threads on any of these CPUs are."""
    node = _node_of(cpus, topology)
    return f"cpus:{format_ranges(tuple(cpus))}" if node is None else f"node:{node.number}"


def _node_of(cpus: Sequence[int], topology: Topology) -> Node | None:
    """Return the node that has all of these CPUs, if one has."""
    return next((node for node in topology.nodes if set(cpus) <= set(node.cpus)), None)


def id_of(job: Job) -> str:
    """Return the id of the measurement whose first job this is."""
    kept = re.sub("[^A-Za-z0-9]", "-", job.name)
    return f"fio-{kept[:40]}".strip("-")


def _pattern(target: Target) -> dict[str, Any]:
    job = target.job
    found: dict[str, Any] = {
        "operation": job.pattern_operation,
        **_order(job),
        "block_size": int(job.mean_block),
        "backend": job.backend,
        "direct": job.direct,
        "depth": job.depth,
        **_registered(job),
        "sqpoll": job.of("sqthread_poll"),
        "iopoll": job.of("hipri"),
        **_stores(job),
        **_priorities(job),
        "offset": target.offset,
        "range": target.size,
        "seed": job.seed,
        "verify": job.verify and (not job.writes or job.of("do_verify")),
        "ramp_s": job.of("ramp_time"),
        "cache": "warm" if job.of("pre_read") else "cold" if job.of("invalidate") else "as-found",
        **_writes(job),
    }
    if duplicates := job.duplicates(target.clone.number):
        found["duplicates"] = duplicates
    if job.operation == "mix":
        found["read_percent"] = job.reads_percent
    if len(job.blocks) > 1:
        found["blocks"] = [{"bytes": size, "weight": weight} for size, weight in job.blocks]
    if job.write_blocks:
        found["write_blocks"] = [
            {"bytes": size, "weight": weight} for size, weight in job.write_blocks
        ]
    if job.work.random and job.of("blockalign"):
        found["align"] = job.of("blockalign")
    if job.depth > 1:
        found["batch"] = min(job.depth, job.of("iodepth_batch"))
    if job.rate:
        poisson = job.of("rate_process") == "poisson"
        found |= {"rate": job.rate, "arrivals": "poisson" if poisson else "regular"}
        found |= {"write_rate": job.write_rate} if job.write_rate else {}
    found |= _pace(job)
    if job.limit_s:
        found["time_limit_s"] = job.limit_s
    if not job.time_based:
        loops = job.of("loops")
        found["amount"] = (
            target.size * job.of("nrfiles") * loops if job.amount is None else job.amount
        )
    return found


def _order(job: Job) -> dict[str, Any]:
    """Return which offsets come, and in which order."""
    found: dict[str, Any] = {"order": "random" if job.work.random else "sequential"}
    if job.of("zonemode") == "strided":
        size = job.of("zonesize")
        zone = {"bytes": size, "range": job.of("zonerange") or size, "skip": job.of("zoneskip")}
        return {**found, "strided": zone}
    if job.of("nrfiles") > 1 and job.of("file_service_type") == "roundrobin":
        found["by_turns"] = True
    if not job.work.random:
        return {**found, "stride": job.work.stride}
    spread: Spread = job.of("random_distribution")
    skewed = {"pareto": spread.pareto, "normal": spread.normal}
    if spread.zipf:
        found |= {"order": "zipf", "zipf": spread.zipf}
    elif spread.zones:
        zones = [{"accesses": often, "size": size} for often, size in spread.zones]
        found["distribution"] = {"zones": zones}
    elif given := {name: value for name, value in skewed.items() if value}:
        found["distribution"] = given
    return {
        **found,
        "run": job.work.run,
        "same": job.of("rw_sequencer") == "identical",
        "random_percent": job.of("percentage_random"),
    }


def _registered(job: Job) -> dict[str, Any]:
    buffers, files = job.of("fixedbufs"), job.of("registerfiles")
    if buffers == files:
        return {"registered": buffers}
    return {"registered": True, "register_only": "buffers" if buffers else "files"}


def _pace(job: Job) -> dict[str, Any]:
    """Return when operations are made."""
    found: dict[str, Any] = {"delay_s": job.of("startdelay")}
    if job.of("thinktime"):
        think = {"pause_s": job.of("thinktime"), "spin_s": job.of("thinktime_spin")}
        found["think"] = {**think, "every": job.of("thinktime_blocks")}
    if job.of("latency_target"):
        found["search"] = {
            "target_s": job.of("latency_target"),
            "percent": job.of("latency_percentile"),
            "window_s": job.of("latency_window"),
        }
    return found


def _priorities(job: Job) -> dict[str, Any]:
    own = {"priority": priority_of(*job.priority)} if any(job.priority) else {}
    single = {"command_priorities": job.command_priorities} if job.command_priorities else {}
    return {**own, **single}


def _stores(job: Job) -> dict[str, Any]:
    """Return how a job stores to persistent memory."""
    if job.backend != "pmem" or not job.writes:
        return {}
    return {"non_temporal": job.non_temporal, "drain": job.drains}


def _writes(job: Job) -> dict[str, Any]:
    if not job.writes:
        return {}
    return {
        "fsync": job.of("fsync"),
        "fdatasync": job.of("fdatasync"),
        "end_fsync": job.of("end_fsync"),
        "refill": job.of("refill_buffers"),
        "compressible": job.of("buffer_compress_percentage"),
        **({"fill": job.fill} if job.fill else {}),
    }


def _job(target: Target, topology: Topology, overwrite: bool) -> dict[str, Any]:
    clone = target.clone
    if clone.job.engine.name == "libcufile":
        require_gpus(topology)
        gpus = clone.job.of("gpu_dev_ids")
        gpu = gpus[clone.number % len(gpus)]
        cpus = cpus_of_gpu(topology, gpu)
        buffers: dict[str, Any] = {"memory": "device", "gpu": gpu}
    else:
        cpus = cpus_of(clone, topology)
        buffers = {"memory": "host", "placement": _placement(clone.job, cpus, topology)}
    return {
        "name": clone.part,
        **on_any_of(cpus, 1),
        "buffers": buffers,
        "files": _files(target, overwrite),
        "shared": True,
    }


def cpus_of(clone: Clone, topology: Topology) -> list[int]:
    """Return the CPUs that a thread may run on: those that its job names, else all; with
    cpus_allowed_policy=split one of them, in turn."""
    job = clone.job
    name = next((n for n in ("cpus_allowed", "cpumask", "numa_cpu_nodes") if n in job.values), "")
    if not name:
        return topology.cpus
    if name == "numa_cpu_nodes":
        nodes = job.of(name)
        found = [cpu for node in nodes for cpu in usable_cpus(topology, node)]
        if not found:
            raise job.fail(name, f"nodes {', '.join(map(str, nodes))} have no CPUs to use")
        return found
    found = list(job.of(name))
    missing = [cpu for cpu in found if cpu not in topology.cpus]
    if missing:
        raise job.fail(name, f"CPU {missing[0]} is not there, or may not be used")
    split = job.of("cpus_allowed_policy") == "split"
    return [found[clone.number % len(found)]] if split else found


def _placement(job: Job, cpus: Sequence[int], topology: Topology) -> dict[str, Any]:
    place, policy = job.where("numa_mem_policy"), job.of("numa_mem_policy")
    if policy.mode == "local":
        own = _node_of(cpus, topology)
        wanted = own.number if own and own.total_bytes else None
        return {"policy": "bind", "nodes": [{"node": memory_node(topology, wanted, place)}]}
    if policy.mode == "bind" and len(policy.nodes) > 1:
        raise job.fail("numa_mem_policy", "buffers are bound to one node; name one")
    nodes = [{"node": memory_node(topology, node, place)} for node in policy.nodes]
    return {"policy": _POLICIES[policy.mode], "nodes": nodes}


def _files(target: Target, overwrite: bool) -> dict[str, Any]:
    job, keep = target.job, not target.job.of("unlink")
    if not target.path and target.kind != "block":
        return own_files(job.directory, target.stem, job.of("nrfiles"), target.end, keep)
    return one_file(
        target.path,
        target.end,
        device=target.kind == "block",
        create=job.of("allow_file_create"),
        keep=keep,
        overwrite=overwrite and job.writes,
    )
