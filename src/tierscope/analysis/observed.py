"""Evidence of several visits as one: what was observed last, but for what adds up."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from tierscope.model.energy import EnergyEvidence
from tierscope.model.event import (
    CountedTraffic,
    Evidence,
    GpuState,
    IoEvidence,
    Visit,
)
from tierscope.model.gpu_state import CopiesOverlap, TraceRow
from tierscope.model.message import MessageEvidence
from tierscope.model.network import NfsCounts, PortCounts
from tierscope.model.program import ProgramEvidence
from tierscope.model.storage import BlockCounts, TargetIo

_RANGES = (
    "sm_clock_hz", "memory_clock_hz", "power_w", "temperature_c", "pcie_generation", "pcie_width",
)  # fmt: skip


_IO_SUMS = (
    "reads", "writes", "bytes_read", "bytes_written", "set_up_s",
)  # fmt: skip
_THEN = ", then "
"""Between states that changed from visit to visit."""


def merged_evidence(visits: Sequence[Visit]) -> Evidence:
    """Return what was observed over all visits, at least one.

    Pages, notes, traces, states of prefetchers and what GPUs did are joined, counted traffic is
    added up, the stolen share is averaged over time; of everything else the latest observation
    counts.
    """
    merged = visits[0].evidence
    for visit in visits[1:]:
        merged = _merged(merged, visit.evidence)
    shares = [(v.evidence.steal_share, v.seconds) for v in visits]
    known = [(share, seconds) for share, seconds in shares if share is not None]
    total = sum(seconds for _, seconds in known)
    if len(known) > 1 and total > 0:
        mean = sum(share * seconds for share, seconds in known) / total
        merged = merged.model_copy(update={"steal_share": mean})
    return merged


def _merged(before: Evidence, after: Evidence) -> Evidence:
    latest = {key: value for key, value in after if value is not None}
    if before.pages and after.pages:
        latest["pages"] = before.pages | after.pages
    if before.notes and after.notes:
        latest["notes"] = list(dict.fromkeys([*before.notes, *after.notes]))
    if before.prefetchers and after.prefetchers and before.prefetchers != after.prefetchers:
        states = [*before.prefetchers.split(_THEN), after.prefetchers]
        latest["prefetchers"] = _THEN.join(dict.fromkeys(states))
    if before.counters and after.counters:
        latest["counters"] = _counters(before.counters, after.counters)
    for key in _DEVICE_BYTES:
        moved, more = getattr(before, key), getattr(after, key)
        latest[key] = None if moved is None or more is None else moved + more
    if before.storage_io and after.storage_io:
        latest["storage_io"] = _io(before.storage_io, after.storage_io)
    if before.devices and after.devices:
        latest["devices"] = _summed(before.devices, after.devices, BlockCounts)
    if before.nfs and after.nfs:
        latest["nfs"] = _summed(before.nfs, after.nfs, NfsCounts)
    if before.ports and after.ports:
        latest["ports"] = _summed(before.ports, after.ports, PortCounts)
    if before.messages and after.messages:
        latest["messages"] = _messages(before.messages, after.messages)
    if before.nvidia_fs_errors and after.nvidia_fs_errors:
        sums = Counter(before.nvidia_fs_errors) + Counter(after.nvidia_fs_errors)
        latest["nvidia_fs_errors"] = dict(sums)
    if before.gpus and after.gpus:
        latest["gpus"] = _gpus(before.gpus, after.gpus)
    if before.program and after.program:
        runs = [*before.program.runs, *after.program.runs]
        latest["program"] = ProgramEvidence(runs=runs)
    if before.energy and after.energy:
        latest["energy"] = _energy(before.energy, after.energy)
    if before.trace and after.trace:
        latest["trace"] = _trace(before.trace, after.trace)
    if before.copies_overlap and after.copies_overlap:
        latest["copies_overlap"] = _overlap(before.copies_overlap, after.copies_overlap)
    if before.workloads and after.workloads:
        latest["workloads"] = {
            name: _merged(before.workloads[name], one) if name in before.workloads else one
            for name, one in after.workloads.items()
        }
    return before.model_copy(update=latest)


def _messages(before: MessageEvidence, after: MessageEvidence) -> MessageEvidence:
    """Add up what was sent."""
    sums: dict[str, int | None] = {}
    for key in ("count", "bytes", "wire_bytes"):
        known, more = getattr(before, key), getattr(after, key)
        sums[key] = None if known is None or more is None else known + more
    return after.model_copy(update=sums)


def _energy(before: EnergyEvidence, after: EnergyEvidence) -> EnergyEvidence:
    """Add up energy; the idle power of several runs of one file is averaged by windows."""
    known = {one.name: one for one in before.domains}
    seconds = before.seconds + after.seconds
    domains = []
    for one in after.domains:
        other = known.get(one.name)
        if other is None:  # what a window lacks has no sum
            continue
        idle = None
        if other.idle_w is not None and one.idle_w is not None and seconds > 0:
            idle = (other.idle_w * before.seconds + one.idle_w * after.seconds) / seconds
        domains.append(one.model_copy(update={"joules": other.joules + one.joules, "idle_w": idle}))
    update = {
        "seconds": seconds,
        "readings": before.readings + after.readings,
        "domains": domains,
    }
    return after.model_copy(update=update)


_DEVICE_BYTES = ("device_bytes_read", "device_bytes_written")


def _io(before: IoEvidence, after: IoEvidence) -> IoEvidence:
    """Add up operations and bytes; what was there before the first visit stays."""
    latest = {key: value for key, value in after if value is not None}
    for key in _IO_SUMS:
        known, more = getattr(before, key), getattr(after, key)
        latest[key] = None if known is None or more is None else known + more
    latest["cached_before"] = before.cached_before
    if before.targets and after.targets:
        latest["targets"] = _summed(before.targets, after.targets, TargetIo, _FINISHERS)
    if before.ways and after.ways:
        names = dict.fromkeys([*before.ways, *after.ways])
        latest["ways"] = {
            name: before.ways.get(name, 0) + after.ways.get(name, 0) for name in names
        }
    return before.model_copy(update=latest)


_FINISHERS = ("first_finisher_s", "last_finisher_s")
Named = TypeVar("Named", BlockCounts, TargetIo, NfsCounts, PortCounts)


def _summed(
    before: list[Named], after: list[Named], kind: type[Named], latest: Sequence[str] = ()
) -> list[Named]:
    """Add up what is known by name, but for fields whose latest value counts."""
    known = {one.name: one for one in before}
    sums = [name for name in kind.model_fields if name != "name" and name not in latest]
    return [
        one.model_copy(
            update={name: getattr(known[one.name], name) + getattr(one, name) for name in sums}
        )
        if one.name in known
        else one
        for one in after
    ]


def _counters(before: list[CountedTraffic], after: list[CountedTraffic]) -> list[CountedTraffic]:
    found = {one.source: one for one in before}
    for one in after:
        known = found.get(one.source)
        found[one.source] = (
            one
            if known is None
            else CountedTraffic(
                source=one.source,
                bytes=known.bytes + one.bytes,
                program_bytes=known.program_bytes + one.program_bytes,
                bus_bytes=None
                if known.bus_bytes is None or one.bus_bytes is None
                else known.bus_bytes + one.bus_bytes,
            )
        )
    return list(found.values())


def _trace(before: list[TraceRow], after: list[TraceRow]) -> list[TraceRow]:
    found = {(one.group, one.name, one.each_bytes): one for one in before}
    for one in after:
        key = (one.group, one.name, one.each_bytes)
        found[key] = _joined(found[key], one) if key in found else one
    return sorted(found.values(), key=lambda row: -row.total_ns)


def _overlap(before: CopiesOverlap, after: CopiesOverlap) -> CopiesOverlap:
    return CopiesOverlap(
        copies=before.copies + after.copies,
        busy_ns=before.busy_ns + after.busy_ns,
        overlapped_ns=before.overlapped_ns + after.overlapped_ns,
        most=max(before.most, after.most),
    )


def _joined(before: TraceRow, after: TraceRow) -> TraceRow:
    """Return the records of both; their median is that of the more numerous ones."""
    count = before.count + after.count
    mean = (before.total_ns + after.total_ns) / count
    squares = sum(
        row.count * (row.stddev_ns**2 + (row.mean_ns - mean) ** 2) for row in (before, after)
    )
    return after.model_copy(
        update={
            "count": count,
            "bytes": before.bytes + after.bytes,
            "total_ns": before.total_ns + after.total_ns,
            "mean_ns": mean,
            "median_ns": max(before, after, key=lambda row: row.count).median_ns,
            "min_ns": min(before.min_ns, after.min_ns),
            "max_ns": max(before.max_ns, after.max_ns),
            "stddev_ns": math.sqrt(squares / count),
        }
    )


def _gpus(before: list[GpuState], after: list[GpuState]) -> list[GpuState]:
    found = {one.gpu: one for one in before}
    for one in after:
        known = found.get(one.gpu)
        found[one.gpu] = one if known is None else _gpu(known, one)
    return [found[number] for number in sorted(found)]


def _gpu(before: GpuState, after: GpuState) -> GpuState:
    latest = {key: value for key, value in after if value is not None}
    latest["samples"] = before.samples + after.samples
    for key in _RANGES:
        values = [*(getattr(before, key) or []), *(getattr(after, key) or [])]
        latest[key] = [min(values), max(values)] if values else None
    if before.pcie_replays is not None and after.pcie_replays is not None:
        latest["pcie_replays"] = before.pcie_replays + after.pcie_replays
    if before.throttle is not None and after.throttle is not None:
        latest["throttle"] = list(dict.fromkeys([*before.throttle, *after.throttle]))
    return before.model_copy(update=latest)
