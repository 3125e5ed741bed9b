"""Evidence of several visits as one: what was observed last, but for what adds up."""

import math
from collections.abc import Sequence

from tierscope.model.event import CountedTraffic, Evidence, GpuState, IoEvidence, TraceRow, Visit

_RANGES = (
    "sm_clock_hz", "memory_clock_hz", "power_w", "temperature_c", "pcie_generation", "pcie_width",
)  # fmt: skip


_IO_SUMS = (
    "reads", "writes", "bytes_read", "bytes_written", "set_up_s",
)  # fmt: skip
_DRIVE_SUMS = ("device_bytes_read", "device_bytes_written")
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
    for name in _DRIVE_SUMS:
        known, more = getattr(before, name), getattr(after, name)
        latest[name] = None if known is None or more is None else known + more
    if before.gpus and after.gpus:
        latest["gpus"] = _gpus(before.gpus, after.gpus)
    if before.trace and after.trace:
        latest["trace"] = _trace(before.trace, after.trace)
    if before.workloads and after.workloads:
        latest["workloads"] = {
            name: _merged(before.workloads[name], one) if name in before.workloads else one
            for name, one in after.workloads.items()
        }
    return before.model_copy(update=latest)


_DEVICE_BYTES = ("device_bytes_read", "device_bytes_written")


def _io(before: IoEvidence, after: IoEvidence) -> IoEvidence:
    """Add up operations and bytes; what was there before the first visit stays."""
    latest = {key: value for key, value in after if value is not None}
    for key in _IO_SUMS:
        known, more = getattr(before, key), getattr(after, key)
        latest[key] = None if known is None or more is None else known + more
    latest["cached_before"] = before.cached_before
    if before.ways and after.ways:
        names = dict.fromkeys([*before.ways, *after.ways])
        latest["ways"] = {
            name: before.ways.get(name, 0) + after.ways.get(name, 0) for name in names
        }
    return before.model_copy(update=latest)


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
    found = {(one.group, one.name): one for one in before}
    for one in after:
        known = found.get((one.group, one.name))
        found[one.group, one.name] = one if known is None else _joined(known, one)
    return sorted(found.values(), key=lambda row: -row.total_ns)


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
