"""DAMON's files in sysfs: write rules, and the address ranges of nodes' memory."""

import errno
import time
from collections.abc import Iterator
from typing import TypeVar

from tierscope.machine.nodes import NODES
from tierscope.model.endpoint import format_ranges
from tierscope.model.errors import UserError
from tierscope.place.damon.rules import (
    Context,
    Filter,
    Kdamond,
    Monitoring,
    Quota,
    Range,
    Scheme,
    Target,
)
from tierscope.place.features import FEATURES, missing
from tierscope.place.kernel import PAGE_BYTES, Kernel, KernelError
from tierscope.place.nodes import nodes_with_memory
from tierscope.place.zones import zones_of

_MEMORY = "/sys/devices/system/memory"
KDAMONDS = "/sys/kernel/mm/damon/admin/kdamonds"
_COUNT = f"{KDAMONDS}/nr_kdamonds"
_PATIENCE_S, _PAUSE_S = 2.0, 0.02
Write = tuple[str, str]
"""A file and its value."""
Regions = tuple[tuple[int, int], ...]
"""Ranges of addresses, each from the first to before the second."""
Item = TypeVar("Item")


def check(kernel: Kernel, node: int) -> None:
    """Raise UserError where a node has no memory."""
    nodes = nodes_with_memory(kernel)
    if node not in nodes:
        raise UserError(
            f"node {node} has no memory; nodes with memory: {format_ranges(tuple(nodes))}"
        )


def ranges(kernel: Kernel, node: int) -> Regions:
    """Return the address ranges of a node's online memory, from its memory blocks.

    Of a block that is another node's, too, the node has the part that its zones span.
    """
    size = block_bytes(kernel)
    blocks = online_blocks(kernel, node) if size else ()
    shared = _shared_blocks(kernel, node)
    found: list[tuple[int, int]] = []
    for number in blocks:
        whole = (number * size, (number + 1) * size)
        for start, end in _in_zones(kernel, node, whole) if number in shared else [whole]:
            joined = found.pop()[0] if found and found[-1][1] == start else start
            found.append((joined, end))
    if not found:
        raise UserError(
            f"the kernel does not say where node {node}'s memory is: {NODES}/node{node} has no "
            "memory blocks that are online (CONFIG_MEMORY_HOTPLUG)"
        )
    return tuple(found)


def block_bytes(kernel: Kernel) -> int:
    """Return the size of a memory block, which goes online or offline as a whole; 0: unknown."""
    return int(kernel.text(f"{_MEMORY}/block_size_bytes") or "0", 16)


def online_blocks(kernel: Kernel, node: int) -> tuple[int, ...]:
    """Return the numbers of a node's memory blocks that are online."""
    return tuple(
        number
        for number, path in kernel.numbered(f"{NODES}/node{node}", "memory")
        if kernel.text(f"{path}/state") not in ("offline", None)
    )


def _shared_blocks(kernel: Kernel, node: int) -> set[int]:
    """Return the memory blocks that other nodes have, too."""
    return {
        number
        for other, path in kernel.numbered(NODES, "node")
        if other != node
        for number, _ in kernel.numbered(path, "memory")
    }


def _in_zones(kernel: Kernel, node: int, block: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the parts of a block that a node's zones span; all of it where these are unknown."""
    zones = zones_of(node, kernel)
    if not zones:
        return [block]
    found = []
    for zone in zones:
        first, count = zone.pages.get("start_pfn", 0), zone.pages.get("spanned", 0)
        start = max(block[0], first * PAGE_BYTES)
        end = min(block[1], (first + count) * PAGE_BYTES)
        if start < end:
            found.append((start, end))
    return sorted(found)


def nodes_of(kernel: Kernel, context: Context) -> tuple[int, ...]:
    """Return the nodes whose physical memory a context monitors."""
    if context.operations != "paddr":
        return ()
    regions = [region for target in context.targets for region in target.regions]
    return tuple(
        node
        for node in nodes_with_memory(kernel)
        if any(
            start < own_end and own_start < end
            for start, end in regions
            for own_start, own_end in ranges(kernel, node)
        )
    )


def used(kernel: Kernel) -> dict[int, int]:
    """Return the bytes of anonymous and file pages on each node with memory."""
    found = {}
    for node in nodes_with_memory(kernel):
        info = kernel.fields(f"{NODES}/node{node}/meminfo")
        found[node] = info.get("AnonPages", 0) + info.get("FilePages", 0)
    return found


def free_and_low(kernel: Kernel, node: int) -> tuple[int, int]:
    """Return a node's free bytes, and those below which the kernel reclaims (low watermarks)."""
    zones = zones_of(node, kernel)
    free, low = (sum(zone.pages.get(name, 0) for zone in zones) for name in ("free", "low"))
    return free * PAGE_BYTES, low * PAGE_BYTES


class FeatureError(KernelError):
    """The kernel lacks a feature that a rule needs."""


def available(kernel: Kernel) -> bool:
    """Whether the kernel has DAMON and its sysfs interface."""
    return kernel.exists(_COUNT)


def count(kernel: Kernel) -> int:
    """How many kdamonds there are, running or not."""
    return kernel.number(_COUNT) or 0


def set_count(kernel: Kernel, number: int) -> None:
    """Replace all kdamonds by so many blank ones; the kernel refuses while one of them runs."""
    _write(kernel, _COUNT, str(number))


def running(kernel: Kernel) -> list[int]:
    """The kdamonds that are on."""
    numbered = kernel.numbered(KDAMONDS, "")
    return [number for number, path in numbered if kernel.text(f"{path}/state") == "on"]


def command(kernel: Kernel, number: int, word: str) -> None:
    """Give a kdamond a command: on, off, update_schemes_stats, ..."""
    _write(kernel, f"{KDAMONDS}/{number}/state", word)


def _write(kernel: Kernel, path: str, value: str) -> None:
    """Write a value; the kernel refuses all but one writer at a time, who would have to wait."""
    give_up_at = time.monotonic() + _PATIENCE_S
    while True:
        try:
            kernel.write(path, value)
        except KernelError as error:
            if error.errno != errno.EBUSY or time.monotonic() > give_up_at:
                raise
            time.sleep(_PAUSE_S)
        else:
            return


def monitor(kernel: Kernel, number: int, regions: Regions) -> None:
    """Have a kdamond that runs monitor other ranges of physical memory from now on."""
    target = f"{KDAMONDS}/{number}/contexts/0/targets/0"
    _Writer(kernel).target(target, Target(regions=regions))
    command(kernel, number, "commit")


def monitored(kernel: Kernel, number: int) -> Regions:
    """Return the ranges that a kdamond was told to monitor."""
    folder = f"{KDAMONDS}/{number}/contexts/0/targets/0/regions"
    return tuple(
        (kernel.number(f"{path}/start") or 0, kernel.number(f"{path}/end") or 0)
        for _, path in kernel.numbered(folder, "")
    )


def fill(kernel: Kernel, kdamonds: tuple[Kdamond, ...]) -> list[Write]:
    """Write kdamonds into blank ones; return what was written, in that order."""
    writer = _Writer(kernel)
    for number, kdamond in enumerate(kdamonds):
        folder = f"{KDAMONDS}/{number}"
        if kdamond.refresh_ms and kernel.exists(f"{folder}/refresh_ms"):
            writer.put(f"{folder}/refresh_ms", kdamond.refresh_ms)
        for place, context in writer.each(f"{folder}/contexts", "contexts", kdamond.contexts):
            writer.context(place, context)
    return writer.done


def matches(kernel: Kernel, writes: list[Write]) -> bool:
    """Whether the tree still has every value that was written."""
    return all(kernel.text(path) == value for path, value in writes)


class _Writer:
    """Writes values, and notes them; what changes while a kdamond runs is written but not noted:
    what the kernel tunes by itself, and regions, which follow the memory that is online."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.done: list[Write] = []

    def put(self, path: str, value: float | str | bool, noted: bool = True) -> None:
        text = ("Y" if value else "N") if isinstance(value, bool) else value
        text = text if isinstance(text, str) else str(int(text))
        _write(self.kernel, path, text)
        if noted:
            self.done.append((path, text))

    def each(
        self, folder: str, what: str, items: tuple[Item, ...], noted: bool = True
    ) -> Iterator[tuple[str, Item]]:
        """Make a folder for each item; yield both."""
        if not items and not self.kernel.exists(f"{folder}/nr_{what}"):
            return
        self.put(f"{folder}/nr_{what}", len(items), noted)
        for number, item in enumerate(items):
            yield f"{folder}/{number}", item

    def need(self, path: str, feature: str) -> None:
        """Raise FeatureError where a file is not there that came with a feature."""
        if not self.kernel.exists(path):
            why = missing(feature, self.kernel)
            raise FeatureError(why or f"{path} is absent, which {FEATURES[feature].title} need")

    def context(self, folder: str, context: Context) -> None:
        known = (self.kernel.text(f"{folder}/avail_operations") or "").split()
        if known and context.operations not in known:
            raise FeatureError(
                f"this kernel's DAMON does not monitor {context.operations} (CONFIG_DAMON_VADDR, "
                f"CONFIG_DAMON_PADDR); it monitors {', '.join(known)}"
            )
        if context.operations == "paddr" and any(scheme.dests for scheme in context.schemes):
            raise FeatureError(
                "DAMON moves nothing to several destinations by physical addresses (paddr); "
                "name one node, or monitor a process (vaddr)"
            )
        if context.operations != "paddr" and any(scheme.moves for scheme in context.schemes):
            lacking = missing("damos-vaddr-migrate", self.kernel)
            if lacking:
                raise FeatureError(lacking)
        self.put(f"{folder}/operations", context.operations)
        self.monitoring(f"{folder}/monitoring_attrs", context.monitoring)
        for place, target in self.each(f"{folder}/targets", "targets", context.targets):
            self.target(place, target)
        for place, scheme in self.each(f"{folder}/schemes", "schemes", context.schemes):
            self.scheme(place, scheme, context.monitoring)

    def monitoring(self, folder: str, monitoring: Monitoring) -> None:
        goal = monitoring.goal
        intervals = f"{folder}/intervals"
        tuned = bool(goal.aggrs)
        if tuned:
            self.need(f"{intervals}/intervals_goal", "intervals-goal")
            for name in ("access_bp", "aggrs", "min_sample_us", "max_sample_us"):
                self.put(f"{intervals}/intervals_goal/{name}", getattr(goal, name))
        self.put(f"{intervals}/sample_us", monitoring.sample_us, noted=not tuned)
        self.put(f"{intervals}/aggr_us", monitoring.aggr_us, noted=not tuned)
        self.put(f"{intervals}/update_us", monitoring.update_us)
        # Each has to be within the other at any time.
        self.put(f"{folder}/nr_regions/max", monitoring.max_regions)
        self.put(f"{folder}/nr_regions/min", monitoring.min_regions)

    def target(self, folder: str, target: Target) -> None:
        if target.pid is not None:
            self.put(f"{folder}/pid_target", target.pid)
        regions = self.each(f"{folder}/regions", "regions", target.regions, noted=False)
        for place, (start, end) in regions:
            self.put(f"{place}/start", start, noted=False)
            self.put(f"{place}/end", end, noted=False)

    def scheme(self, folder: str, scheme: Scheme, monitoring: Monitoring) -> None:
        self.range(f"{folder}/access_pattern/sz", scheme.sizes)
        self.range(f"{folder}/access_pattern/nr_accesses", scheme.samples(monitoring))
        self.range(f"{folder}/access_pattern/age", scheme.intervals(monitoring))
        if scheme.moves:
            self.need(f"{folder}/target_nid", "damos-migrate")
        self.put(f"{folder}/action", scheme.action)
        if scheme.apply_interval_us:
            self.need(f"{folder}/apply_interval_us", "damos-apply-interval")
            self.put(f"{folder}/apply_interval_us", scheme.apply_interval_us)
        if scheme.target_nid is not None:
            self.put(f"{folder}/target_nid", scheme.target_nid)
        if scheme.dests:
            self.need(f"{folder}/dests", "damos-dests")
            for place, (node, weight) in self.each(f"{folder}/dests", "dests", scheme.dests):
                self.put(f"{place}/id", node)
                self.put(f"{place}/weight", weight)
        self.quota(f"{folder}/quotas", scheme.quota)
        watermarks = scheme.watermarks
        for name in ("metric", "interval_us", "high", "mid", "low"):
            self.put(f"{folder}/watermarks/{name}", getattr(watermarks, name))
        self.filters(folder, scheme.filters)

    def range(self, folder: str, limits: Range) -> None:
        self.put(f"{folder}/min", limits.low)
        self.put(f"{folder}/max", limits.high)

    def quota(self, folder: str, quota: Quota) -> None:
        self.put(f"{folder}/ms", quota.ms)
        self.put(f"{folder}/bytes", quota.bytes)
        self.put(f"{folder}/reset_interval_ms", quota.reset_interval_ms)
        weights = zip(("sz", "nr_accesses", "age"), quota.weights, strict=True)
        for name, weight in weights:
            self.put(f"{folder}/weights/{name}_permil", weight)
        if not quota.goals:
            return
        self.need(f"{folder}/goals", "damos-goals")
        for place, goal in self.each(f"{folder}/goals", "goals", quota.goals):
            if goal.metric != "user_input":
                self.need(f"{place}/target_metric", "damos-goal-metrics")
                if goal.nid is not None:
                    self.need(f"{place}/nid", "node-mem-goals")
                    self.put(f"{place}/nid", goal.nid)
                if goal.path is not None:
                    self.need(f"{place}/path", "node-memcg-goals")
                    self.put(f"{place}/path", goal.path)
                self.put(f"{place}/target_metric", goal.metric)
            self.put(f"{place}/target_value", goal.target)
            self.put(f"{place}/current_value", goal.current)

    def filters(self, folder: str, filters: tuple[Filter, ...]) -> None:
        if not self.kernel.exists(f"{folder}/ops_filters"):
            if filters:
                self.need(f"{folder}/filters", "damos-memcg-filter")
                self.filter_list(f"{folder}/filters", filters)
            return
        for name, is_core in (("core_filters", True), ("ops_filters", False)):
            chosen = tuple(one for one in filters if one.is_core == is_core)
            self.filter_list(f"{folder}/{name}", chosen)

    def filter_list(self, folder: str, filters: tuple[Filter, ...]) -> None:
        for place, one in self.each(folder, "filters", filters):
            self.put(f"{place}/type", one.type)
            self.put(f"{place}/matching", one.matching)
            if one.allow:
                self.need(f"{place}/allow", "damos-allow-filters")
                self.put(f"{place}/allow", True)
            if one.memcg_path is not None:
                self.put(f"{place}/memcg_path", one.memcg_path)
            if one.addresses is not None:
                self.put(f"{place}/addr_start", one.addresses[0])
                self.put(f"{place}/addr_end", one.addresses[1])
            if one.target is not None:
                self.put(f"{place}/damon_target_idx", one.target)
            if one.sizes is not None:
                self.need(f"{place}/min", "damos-hugepage-filter")
                self.put(f"{place}/min", one.sizes.low)
                self.put(f"{place}/max", one.sizes.high)
