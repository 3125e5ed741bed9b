"""Make the records of a run file from the plan, the machine and the engine's events."""

import os
import platform
from datetime import datetime
from importlib import metadata
from typing import Any

from tierscope.kinds.atomics.spec import AtomicsSpec
from tierscope.kinds.gpu_copy.spec import GpuCopySpec
from tierscope.kinds.gpu_latency.spec import GpuLatencySpec
from tierscope.kinds.loaded_latency.spec import Load, LoadedLatencySpec
from tierscope.kinds.plan import Plan, Spec
from tierscope.kinds.streams.spec import StreamsSpec
from tierscope.model.event import Capabilities, Failed, Result, Skipped
from tierscope.model.needs import cpus_of
from tierscope.model.run import Header, Limit, Measurement
from tierscope.model.spec import MemorySpec
from tierscope.model.stream import StreamPattern
from tierscope.model.topology import Topology


def make_header(
    name: str,
    started: datetime,
    command: list[str],
    plan: Plan,
    topology: Topology,
    environment: dict[str, str],
    engine: Capabilities,
) -> Header:
    """Return what is known of a run before its first measurement."""
    return Header(
        name=name,
        started=started.isoformat(timespec="seconds"),
        host=topology.host,
        command=command,
        tierscope=version(),
        git_commit=engine.git_commit,
        emulated=topology.emulated,
        engine=engine.model_dump(mode="json"),
        machine=summarize(topology),
        environment=environment,
        plan=plan.model_dump(mode="json"),
        topology=topology,
    )


def version() -> str:
    """Return the installed tierscope's version."""
    try:
        return metadata.version("tierscope")
    except metadata.PackageNotFoundError:
        return "not installed"


def summarize(topology: Topology) -> dict[str, Any]:
    """Return the topology in short: what a reader of the figures has to know of the machine."""
    return {
        "product": topology.product,
        "cpu": topology.cpu_model,
        "architecture": topology.architecture or platform.machine(),
        "hypervisor": topology.virtual,
        "packages": len(topology.packages),
        "cores": len(topology.siblings),
        "cpus": len([cpu for core in topology.siblings for cpu in core]),
        "usable_cpus": topology.cpus,
        "page_bytes": topology.base_page_bytes or os.sysconf("SC_PAGE_SIZE"),
        "nodes": [
            {
                "node": node.number,
                "kind": node.kind,
                "inferred_from": node.inferred_from,
                "cpus": node.cpus,
                "total_bytes": node.total_bytes,
                "free_bytes": node.free_bytes,
                "distances": {str(to): distance for to, distance in node.distances.items()},
                "performance": [
                    claim.model_dump(mode="json", exclude_none=True) for claim in node.performance
                ],
            }
            for node in topology.nodes
        ],
        "caches": _caches(topology),
        "gpus": [{"index": gpu.index, "name": gpu.name} for gpu in topology.gpus],
    }


def _caches(topology: Topology) -> list[dict[str, Any]]:
    """Caches that hold data, one line for each kind of them."""
    found: dict[tuple[int, str, int, int], int] = {}
    for cache in topology.caches:
        if cache.type != "instruction":
            key = (cache.level, cache.type, cache.size_bytes, len(cache.cpus))
            found[key] = found.get(key, 0) + 1
    return [
        {"level": level, "type": type_, "size_bytes": size, "cpus_each": cpus, "count": count}
        for (level, type_, size, cpus), count in sorted(found.items())
    ]


def mix_text(pattern: StreamPattern) -> str:
    """Write a mix as the command line takes it: 67:33, 50:50nt."""
    stores = "" if pattern.stores == "ordinary" else pattern.stores
    return f"{100 - pattern.writes}:{pattern.writes}{stores}"


def _stream_pattern(spec: StreamsSpec) -> dict[str, Any]:
    """What a stream adds to its pattern: its threads, its mix, and what runs beside it."""
    beside = [
        f"{stream.name}: {stream.initiator} → {stream.target}, {mix_text(stream.pattern)} "
        f"by {len(stream.cpus)}, {stream.pattern.order}"
        for stream in spec.beside
    ]
    added: dict[str, Any] = {"threads": len(spec.cpus), "mix": mix_text(spec.pattern)}
    return {**added, "beside": "; ".join(beside)} if beside else added


def _load_pattern(load: Load) -> dict[str, Any]:
    """What loads a chase, flat, so that a load is one more thing that points may differ in."""
    return {
        "load_from": load.initiator,
        "load_to": load.target,
        "mix": mix_text(load.pattern),
        "load_order": load.pattern.order,
        "load_access_size": load.pattern.access_size,
        "load_size": load.pattern.size,
        "load_threads": 0 if load.idle else len(load.cpus),
        "delay_ns": None if load.idle else load.pattern.delay_ns,
    }


def measurement_of(
    spec: Spec, outcome: Result | Skipped | Failed, limit: Limit | None
) -> Measurement:
    """Return the record of a measurement that has its outcome."""
    pattern = spec.pattern.model_dump(mode="json", exclude_none=True)
    if spec.kind == "bandwidth":
        pattern["threads"] = len(spec.cpus)
    if isinstance(spec, MemorySpec):
        placement = spec.placement
        if placement.mechanism != "user" or len(placement.nodes) > 1:
            pattern["policy"] = placement.policy
            pattern["mechanism"] = placement.mechanism
    if isinstance(spec, StreamsSpec):
        pattern.update(_stream_pattern(spec))
    if isinstance(spec, AtomicsSpec):
        pattern["threads"] = len(spec.cpus)
    if isinstance(spec, LoadedLatencySpec):
        pattern.update(_load_pattern(spec.load))
    if isinstance(spec, GpuCopySpec):
        pattern["transfers"] = [transfer.model_dump(mode="json") for transfer in spec.transfers]
    if isinstance(spec, GpuLatencySpec):
        pattern["memory"] = spec.memory.model_dump(mode="json")
    identity: dict[str, Any] = {
        "id": spec.id,
        "kind": spec.kind,
        "initiator": spec.initiator,
        "target": spec.target,
        "cpus": cpus_of(spec),
        "pattern": pattern,
    }
    if isinstance(outcome, Skipped):
        return Measurement(
            **identity, status="skipped", reason=outcome.reason, remedy=outcome.remedy
        )
    if isinstance(outcome, Failed):
        return Measurement(**identity, status="failed", reason=outcome.reason)
    comparable = limit is not None and limit.unit == outcome.unit and limit.value > 0
    return Measurement(
        **identity,
        status="measured",
        metric=outcome.metric,
        unit=outcome.unit,
        estimate=outcome.estimate,
        ci_low=outcome.ci_low,
        ci_high=outcome.ci_high,
        n=outcome.n,
        stop=outcome.stop,
        samples=outcome.samples,
        figures=outcome.figures,
        evidence=outcome.evidence,
        limit=limit if comparable else None,
        efficiency=outcome.estimate / limit.value if limit and comparable else None,
    )
