"""Make the records of a run file from the plan, the machine and the repetitions."""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib import metadata
from typing import Any

from tierscope.analysis.conclude import conclude
from tierscope.analysis.energy import energy_figures
from tierscope.analysis.time_series import ended_by, of_figure, rounds_of, whole_evidence
from tierscope.analysis.watched import conclude_watched, joined
from tierscope.kinds.plan import Plan
from tierscope.machine.clock import clock_state
from tierscope.model.capability import Capabilities
from tierscope.model.cause import Cause
from tierscope.model.errors import shown
from tierscope.model.event import Failed, Repetition, Skipped
from tierscope.model.path import Limit, Paths
from tierscope.model.run import Figure, Header, Measurement, Refinement, check_figure
from tierscope.model.spec import MeasurementSpec
from tierscope.model.topology import Topology

_COSTS_A_REPETITION = {Cause.CRASH, Cause.TIMEOUT, Cause.PROTOCOL, Cause.GPU_ERROR, Cause.PROGRAM}
"""Causes of failures that leave earlier repetitions valid."""


def make_header(
    name: str,
    started: datetime,
    command: list[str],
    plan: Plan,
    topology: Topology,
    environment: dict[str, str],
    engine: Capabilities,
    refinement: Refinement | None = None,
    start_at: datetime | None = None,
) -> Header:
    """Return what is known of a run before its first measurement."""
    return Header(
        name=name,
        started=started.isoformat(timespec="seconds"),
        host=topology.host,
        command=[shown(word) for word in command],
        tierscope=version(),
        git_commit=engine.git_commit,
        emulated=topology.emulated,
        engine=engine.model_dump(mode="json"),
        machine=summarize(topology),
        environment=environment,
        plan=plan.model_dump(mode="json"),
        topology=topology,
        refinement=refinement,
        start_at=start_at.astimezone(timezone.utc).isoformat() if start_at else None,
        clock=clock_state(),
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
        "thp_page_bytes": topology.thp_page_bytes,
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
                "memory_side_caches": [
                    cache.model_dump(mode="json") for cache in node.memory_side_caches
                ],
            }
            for node in topology.nodes
        ],
        "caches": _caches(topology),
        "gpus": [{"index": gpu.index, "name": gpu.name, "uuid": gpu.uuid} for gpu in topology.gpus],
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


@dataclass(frozen=True)
class Bounds:
    """Bounds of a measurement's figure, known before it is measured."""

    limit: Limit | None = None
    fits_caches: bool | None = None
    fits_memory_side_cache: bool | None = None

    @classmethod
    def of(cls, spec: MeasurementSpec, paths: Paths) -> "Bounds":
        """Work them out."""
        return cls(
            spec.limit(paths),
            spec.fits_caches(paths.topology.caches),
            spec.fits_memory_side_cache(paths.topology.nodes),
        )


def measurement_of(
    spec: MeasurementSpec,
    repetitions: Sequence[Repetition],
    last: Skipped | Failed | None,
    bounds: Bounds,
    cut: bool = False,
) -> Measurement:
    """Return the record of a measurement from its repetitions, and why there was no further one.

    ``last`` is what ended it other than a repetition; without repetitions, there has to be one.
    ``cut`` says that the run ended before its time."""
    identity: dict[str, Any] = {
        "id": spec.id,
        "kind": spec.kind,
        "initiator": spec.initiator,
        "target": spec.target,
        "cpus": spec.thread_cpus(),
        "pattern": spec.identity(),
        "fits_caches": bounds.fits_caches,
        "fits_memory_side_cache": bounds.fits_memory_side_cache,
    }
    fatal = isinstance(last, Failed) and last.cause not in _COSTS_A_REPETITION
    if repetitions and not fatal:
        try:
            return _measured(identity, spec, repetitions, last, bounds.limit, cut)
        except ValueError as error:
            last = Failed(id=spec.id, cause=Cause.OTHER, reason=str(error))
    assert last is not None
    return Measurement(
        **identity,
        status=last.event,
        cause=last.cause,
        reason=last.reason,
        remedy=last.remedy if isinstance(last, Skipped) else "",
        repetitions=len(repetitions),
    )


def _measured(
    identity: dict[str, Any],
    spec: MeasurementSpec,
    repetitions: Sequence[Repetition],
    last: Skipped | Failed | None,
    limit: Limit | None,
    cut: bool,
) -> Measurement:
    """Return a measured record; raises ValueError where the repetitions give no figure above 0."""
    found = (
        conclude_watched(repetitions, cut)
        if spec.observes
        else conclude(spec, of_figure(spec, repetitions), cut)
    )
    evidence = found.evidence
    of_energy, said = energy_figures(of_figure(spec, repetitions))
    if said:
        evidence = evidence.model_copy(update={"notes": [*(evidence.notes or []), *said]})
    in_rounds = spec.time_series() is not None
    if in_rounds:
        evidence = evidence.model_copy(update=whole_evidence(repetitions))
    if last is not None and last.cause is not Cause.INTERRUPTED:
        note = f"a further repetition {'failed' if last.event == 'failed' else 'was skipped'}: "
        notes = [*(evidence.notes or []), note + last.reason]
        evidence = evidence.model_copy(update={"notes": notes})
    measured = Measurement(
        **identity,
        status="measured",
        figures=_of_kind(type(spec), [*found.figures, *of_energy], limit),
        repetitions=len(repetitions),
        n=len(found.samples),
        stop=ended_by(spec, repetitions) or found.stop,
        samples=found.samples,
        rounds=rounds_of(repetitions) if in_rounds else None,
        series=joined(repetitions) if spec.observes else None,
        distributions=found.distributions or None,
        evidence=evidence,
        bound_by=spec.bound_by(found.figures[0].estimate, evidence),
    )
    check_figure(measured)
    return measured


def _of_kind(
    kind: type[MeasurementSpec], figures: Sequence[Figure], limit: Limit | None
) -> list[Figure]:
    """Return figures as their kind has them: which are compared, and what bounds them.

    The path's limit bounds the headline's parts, too, but only together.
    """
    head = figures[0]
    bound = limit if limit is not None and limit.unit == head.unit and limit.value > 0 else None
    return [
        one.model_copy(
            update={
                "limit": bound if one.metric == head.metric else None,
                "efficiency": one.estimate / bound.value if bound and one is head else None,
                "compared": kind.compares(one.metric, head.metric),
            }
        )
        for one in figures
    ]
