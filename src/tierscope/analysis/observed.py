"""Merge the evidence of repetitions: sums and unions, else the latest observation."""

import functools
import math
import operator
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from tierscope.model.base import Model
from tierscope.model.event import COUNTED_BYTES, Evidence, GpuState, IoEvidence, Repetition
from tierscope.model.evidence import (
    CopiesOverlap,
    CufileState,
    EnergyEvidence,
    OwnEvidence,
    ProgramEvidence,
    TraceRow,
)

_RANGES = (
    "sm_clock_hz", "memory_clock_hz", "power_w", "temperature_c", "pcie_generation", "pcie_width",
)  # fmt: skip
_THEN = ", then "
"""Between states that changed from repetition to repetition."""
_M = TypeVar("_M", bound=Model)
_IO_SUMS = ("reads", "writes", "bytes_read", "bytes_written", "set_up_s")


def merged_evidence(
    repetitions: Sequence[Repetition], own: type[OwnEvidence] | None = None
) -> Evidence:
    """Return what was observed over all repetitions, at least one; ``own`` are the kind's keys.

    Pages, notes, traces, states of prefetchers and what GPUs did are joined, counted traffic is
    added up, the stolen share is averaged over time; of everything else the latest observation
    counts.
    """
    merged = repetitions[0].evidence
    for repetition in repetitions[1:]:
        merged = _merged(merged, repetition.evidence)
    shares = [(v.evidence.steal_share, v.seconds) for v in repetitions]
    known = [(share, seconds) for share, seconds in shares if share is not None]
    total = sum(seconds for _, seconds in known)
    if len(known) > 1 and total > 0:
        mean = sum(share * seconds for share, seconds in known) / total
        merged = merged.model_copy(update={"steal_share": mean})
    if own is None:
        return merged
    each = [repetition.evidence.own(own) for repetition in repetitions]
    return merged.with_own(functools.reduce(own.followed_by, each))


def _merged(before: Evidence, after: Evidence) -> Evidence:
    latest = {key: value for key, value in after if value is not None}
    for key, merge in _MERGES.items():
        known, more = getattr(before, key), getattr(after, key)
        if known and more:
            latest[key] = merge(known, more)
    latest |= _sums(before, after, COUNTED_BYTES)
    return before.model_copy(update=latest)


def _sums(before: Model, after: Model, names: Iterable[str]) -> dict[str, Any]:
    """Add up fields; the sum with what is not known is not known."""
    pairs = {name: (getattr(before, name), getattr(after, name)) for name in names}
    return {name: None if None in both else sum(both) for name, both in pairs.items()}


def _matched(
    key: Callable[[_M], Hashable], join: Callable[[_M, _M], _M]
) -> Callable[[list[_M], list[_M]], list[_M]]:
    """Return a merge of lists that joins the entries of one key."""

    def merge(before: list[_M], after: list[_M]) -> list[_M]:
        found = {key(one): one for one in before}
        for one in after:
            known = found.get(key(one))
            found[key(one)] = one if known is None else join(known, one)
        return list(found.values())

    return merge


def _added(key: str, *latest: str) -> Callable[[list[_M], list[_M]], list[_M]]:
    """Return a merge that adds up entries of one key, but for fields whose latest value counts."""

    def join(before: _M, after: _M) -> _M:
        names = [name for name in type(after).model_fields if name not in (key, *latest)]
        return after.model_copy(update=_sums(before, after, names))

    return _matched(operator.attrgetter(key), join)


def _unique(before: list[str], after: list[str]) -> list[str]:
    return list(dict.fromkeys([*before, *after]))


def _states(before: str, after: str) -> str:
    return before if before == after else _THEN.join(_unique(before.split(_THEN), [after]))


def _counts(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    return {name: before.get(name, 0) + after.get(name, 0) for name in {**before, **after}}


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
    update = {**_sums(before, after, ("seconds", "readings")), "domains": domains}
    return after.model_copy(update=update)


def _io(before: IoEvidence, after: IoEvidence) -> IoEvidence:
    """Add up operations and bytes; what was there before the first repetition stays."""
    latest = {key: value for key, value in after if value is not None}
    latest |= _sums(before, after, _IO_SUMS)
    latest["cached_before"] = before.cached_before
    if before.cached_bytes is not None and after.cached_bytes is not None:
        latest["cached_bytes"] = max(before.cached_bytes, after.cached_bytes)
    if before.targets and after.targets:
        latest["targets"] = _targets(before.targets, after.targets)
    if before.ways and after.ways:
        latest["ways"] = _counts(before.ways, after.ways)
    return before.model_copy(update=latest)


_targets = _added("name", "first_finisher_s", "last_finisher_s", "threads")


def _trace(before: list[TraceRow], after: list[TraceRow]) -> list[TraceRow]:
    merge = _matched(lambda row: (row.group, row.name, row.each_bytes), _joined)
    return sorted(merge(before, after), key=lambda row: -row.total_ns)


def _overlap(before: CopiesOverlap, after: CopiesOverlap) -> CopiesOverlap:
    sums = _sums(before, after, ("copies", "busy_ns", "overlapped_ns"))
    return CopiesOverlap(**sums, most=max(before.most, after.most))


def _joined(before: TraceRow, after: TraceRow) -> TraceRow:
    """Return the records of both; their median is that of the more numerous ones."""
    sums = _sums(before, after, ("count", "bytes", "total_ns"))
    mean = sums["total_ns"] / sums["count"]
    squares = sum(
        row.count * (row.stddev_ns**2 + (row.mean_ns - mean) ** 2) for row in (before, after)
    )
    return after.model_copy(
        update={
            **sums,
            "mean_ns": mean,
            "median_ns": max(before, after, key=lambda row: row.count).median_ns,
            "min_ns": min(before.min_ns, after.min_ns),
            "max_ns": max(before.max_ns, after.max_ns),
            "stddev_ns": math.sqrt(squares / sums["count"]),
        }
    )


def _gpus(before: list[GpuState], after: list[GpuState]) -> list[GpuState]:
    merge = _matched(lambda state: state.gpu, _gpu)
    return sorted(merge(before, after), key=lambda state: state.gpu)


def _gpu(before: GpuState, after: GpuState) -> GpuState:
    latest = {key: value for key, value in after if value is not None}
    latest["samples"] = before.samples + after.samples
    for key in _RANGES:
        values = [*(getattr(before, key) or []), *(getattr(after, key) or [])]
        latest[key] = [min(values), max(values)] if values else None
    if before.pcie_replays is not None and after.pcie_replays is not None:
        latest["pcie_replays"] = before.pcie_replays + after.pcie_replays
    if before.throttle is not None and after.throttle is not None:
        latest["throttle"] = _unique(before.throttle, after.throttle)
    return before.model_copy(update=latest)


def _workloads(before: dict[str, Evidence], after: dict[str, Evidence]) -> dict[str, Evidence]:
    return {
        name: _merged(before[name], one) if name in before else one for name, one in after.items()
    }


def _program(before: ProgramEvidence, after: ProgramEvidence) -> ProgramEvidence:
    return ProgramEvidence(runs=[*before.runs, *after.runs])


def _cufile(before: CufileState, after: CufileState) -> CufileState:
    """Return the latest; the way is proven where the same proves it of all."""
    proof = after.proof if after.proof == before.proof else None
    return after.model_copy(update={"proof": proof})


_MERGES: dict[str, Callable[[Any, Any], Any]] = {
    "pages": operator.or_,
    "notes": _unique,
    "prefetchers": _states,
    "counters": _added("source"),
    "storage_io": _io,
    "devices": _added("name"),
    "nfs": _added("name"),
    "ports": _added("name"),
    "nvidia_fs_errors": _counts,
    "gpus": _gpus,
    "cufile": _cufile,
    "program": _program,
    "energy": _energy,
    "trace": _trace,
    "copies_overlap": _overlap,
    "workloads": _workloads,
}
"""How the evidence of two successive repetitions becomes one, where both have it."""
