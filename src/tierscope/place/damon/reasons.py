"""Why a scheme that should move pages moves none: what DAMON and its nodes say."""

from collections.abc import Sequence

from tierscope.machine.nodes import NODES
from tierscope.place.cgroups import Cgroup
from tierscope.place.damon import tree
from tierscope.place.damon.rules import MOST, Context, Scheme
from tierscope.place.damon.status import Region, SchemeStatus
from tierscope.place.kernel import Kernel

_ENOUGH = 1 << 20
"""Bytes that count as having moved."""


def why_nothing_moves(
    kernel: Kernel,
    context: Context,
    scheme: Scheme,
    status: SchemeStatus | None,
    regions: Sequence[Region],
    cgroup: Cgroup | None,
    sources: Sequence[int],
) -> list[str]:
    """Return the reasons that fit a scheme; empty where it moves pages.

    ``status`` is None where its kdamond does not run; ``regions`` are those of its kdamond,
    ``sources`` the nodes that it monitors.
    """
    if status is None:
        return ["its kdamond is off: the kernel ended it, or somebody turned it off"]
    if status.applied_bytes >= _ENOUGH:
        return []
    asleep = _watermark(kernel, scheme)
    if asleep:
        return [asleep]
    if cgroup is not None:
        empty = _empty_cgroup(kernel, cgroup)
        if empty:
            return [empty]
    if status.tried_bytes == 0:
        return _quota(scheme, status) or [_no_region(context, scheme, regions)]
    found = [*_full(kernel, scheme)]
    found += _quota(scheme, status)
    if context.operations == "paddr":  # by virtual addresses nobody counts what passes
        found += _filters(scheme, status)
    found += _unevictable(kernel, sources)
    other = (
        "regions fit and the kernel moved nothing of them: their pages are free, on the "
        "destination already, pinned, or not on the lists of reclaimable pages (huge page pool)"
    )
    return found or [other]


def _watermark(kernel: Kernel, scheme: Scheme) -> str:
    marks = scheme.watermarks
    if marks.metric != "free_mem_rate":
        return ""
    info = kernel.fields("/proc/meminfo")
    if not info.get("MemTotal"):
        return ""
    free = 1000 * info.get("MemFree", 0) // info["MemTotal"]
    if marks.low <= free <= marks.mid:
        return ""
    side = "below its low" if free < marks.low else "above its mid"
    limit = marks.low if free < marks.low else marks.mid
    return f"watermark: {free / 10:.1f}% of memory is free, {side} watermark of {limit / 10:.1f}%"


def _empty_cgroup(kernel: Kernel, cgroup: Cgroup) -> str:
    if not kernel.exists(cgroup.folder):
        return f"filter: cgroup {cgroup.path} is gone"
    if kernel.number(f"{cgroup.folder}/memory.current") == 0:
        return (
            f"filter: cgroup {cgroup.path} has no memory; a page stays with the cgroup that "
            "allocated it"
        )
    return ""


def _no_region(context: Context, scheme: Scheme, regions: Sequence[Region]) -> str:
    monitoring = context.monitoring
    accesses, ages = scheme.samples(monitoring), scheme.intervals(monitoring)
    if not regions:
        return "region: DAMON has no regions yet; it needs an aggregation interval at least"
    fit = [one for one in regions if accesses.low <= one.accesses <= accesses.high]
    seconds = monitoring.aggr_us / 1e6
    if not fit:
        seen = max(regions, key=lambda one: one.bytes)
        wanted = (
            f"{accesses.low:g} to {accesses.high:g}"
            if accesses.high < MOST
            else f"{accesses.low:g} or more"
        )
        return (
            f"region: none was accessed in {wanted} samples of {seconds:g} s; "
            f"the largest was in {seen.accesses}"
        )
    oldest = max(fit, key=lambda one: one.age)
    if oldest.age < ages.low:
        return (
            f"region: the oldest that fits has been so for {oldest.age * seconds:g} s, "
            f"and the rule asks for {ages.low * seconds:g} s"
        )
    return "region: those that fit have no size that the rule asks for, or were just found"


def _full(kernel: Kernel, scheme: Scheme) -> list[str]:
    found = []
    for node in scheme.destinations():
        free, low = tree.free_and_low(kernel, node)
        if free <= low + _ENOUGH:
            found.append(
                f"target full: node {node} has {free >> 20} MiB free, and the kernel keeps "
                f"{low >> 20} MiB"
            )
    return found


def _quota(scheme: Scheme, status: SchemeStatus) -> list[str]:
    quota = scheme.quota
    if status.effective_bytes is not None and quota.goals and status.effective_bytes < _ENOUGH:
        goal = quota.goals[0]
        text = (
            f"quota: its goal ({goal.metric} {goal.target / 100:g}%) has brought it down to "
            f"{status.effective_bytes >> 10} KiB in {quota.reset_interval_ms / 1000:g} s"
        )
        return [text]
    if status.quota_exceeded and status.effective_bytes is not None:
        text = (
            f"quota: it was reached {status.quota_exceeded} times, at "
            f"{status.effective_bytes >> 20} MiB in {quota.reset_interval_ms / 1000:g} s"
        )
        return [text]
    return []


def _filters(scheme: Scheme, status: SchemeStatus) -> list[str]:
    if not scheme.filters or (status.passed_bytes or 0) >= _ENOUGH:
        return []
    names = " and ".join(one.type for one in scheme.filters)
    if status.passed_bytes is None:
        text = f"filter: {names} may leave all of it out; Linux 6.14 and later say how much passes"
        return [text]
    return [f"filter: {names} let {status.passed_bytes >> 10} KiB pass"]


def _unevictable(kernel: Kernel, sources: Sequence[int]) -> list[str]:
    found = []
    for node in sources:
        info = kernel.fields(f"{NODES}/node{node}/meminfo")
        locked = info.get("Unevictable", 0)
        if locked >= _ENOUGH:
            found.append(
                f"unevictable: {locked >> 20} MiB on node {node} are locked and never move"
            )
    return found
