"""Memory and time that a plan takes, and whether the nodes have that memory free."""

import math
from collections import Counter
from collections.abc import Sequence

from tierscope.kinds.plan import PLAN_VERSION, Plan, Spec
from tierscope.model.errors import UserError, counted
from tierscope.model.spec import HUGETLB, Region
from tierscope.model.topology import Node, Topology
from tierscope.plans.machine import GIB, MIB

MIN_BUDGET_S = 0.05

_SPARED_BYTES = 32 * MIB
_SPARED_SHARE = 64
"""32 MiB or a 64th of a node is left for the kernel and the engine itself."""
_SET_UP_S = 0.03
_BYTES_PER_S = 1.5e9
"""Approximate rate at which one thread populates pages, lays out a chase or verifies writes."""
_SAMPLE = 64
"""Further repetitions verify one in this many written bytes."""
_MAX_THREADS = 16
"""Threads beyond which populating is taken to get no faster."""


def check_memory(plan: Plan, topology: Topology) -> None:
    """Refuse a plan of which a measurement cannot fit, with the numbers.

    hugetlb pages come out of pools that the engine looks at.
    """
    limit = topology.memory_left_bytes
    for spec in plan.measurements:
        ordinary = [region for region in spec.regions() if _is_ordinary(region)]
        total = sum(region.total_bytes for region in ordinary)
        if limit is not None and total > limit:
            raise UserError(
                f"{spec.id} needs {_gib(total)}, but the cgroup's memory limit leaves "
                f"{_gib(limit)}; ask for a smaller --size"
            )
        needed: Counter[int] = Counter()
        for region in ordinary:
            if region.placement.policy != "preferred":
                needed.update(region.bytes_by_node())
        for number, size in needed.items():
            node = topology.node(number)
            if node:
                _check_node(spec, node, size)


def _is_ordinary(region: Region) -> bool:
    """Whether it takes memory of its nodes: pools of huge pages and file systems have their own."""
    persistent = region.placement.persistent
    return region.pages not in HUGETLB and (persistent is None or persistent.bound)


def _check_node(spec: Spec, node: Node, needed: int) -> None:
    if node.free_bytes is None:
        return
    spared = max(_SPARED_BYTES, node.total_bytes // _SPARED_SHARE)
    room = max(0, node.free_bytes - spared)
    if needed > room:
        raise UserError(
            f"{spec.id} needs {_gib(needed)} on node {node.number}, which can give {_gib(room)} "
            f"of its {_gib(node.total_bytes)}; ask for a smaller --size"
        )


def peak_bytes(plan: Plan) -> int:
    """Most memory that the plan holds at once; measurements come one after the other."""
    return max(spec.host_bytes() for spec in plan.measurements)


def longest_seconds(specs: Sequence[Spec]) -> list[float]:
    """Most seconds that each measurement is expected to take, with its set-up.

    All repetitions of a run share these seconds: where further repetitions need set-up, too, their
    rows get less time, so that the whole takes no longer."""
    set_up = _set_up_seconds(specs)
    return [seconds + spec.sampling.budget_s for seconds, spec in zip(set_up, specs, strict=True)]


def _set_up_seconds(specs: Sequence[Spec]) -> list[float]:
    """Approximate seconds of set-up; the engine keeps arrays that the next measurement can use."""
    seconds = []
    kept: set[tuple[str, str, int, int]] = set()
    for spec in specs:
        arrays = {
            (region.placement.model_dump_json(), region.pages, region.array_bytes, number)
            for region in spec.regions()
            for number in range(region.arrays)
        }
        new_bytes = sum(region_bytes for _, _, region_bytes, _ in arrays - kept)
        same_kind = {array[:3] for array in kept} == {array[:3] for array in arrays}
        kept = arrays | kept if same_kind else arrays
        if new_bytes and not spec.overwrites():
            new_bytes += _largest(spec)
        threads = min(len(spec.thread_cpus()), _MAX_THREADS)
        if spec.overwrites():
            new_bytes += _largest(spec)  # laid out as a chase, or verified
        seconds.append(_SET_UP_S + spec.build_s() + new_bytes / threads / _BYTES_PER_S)
    return seconds


def again_seconds(spec: Spec) -> float:
    """Approximate seconds of set-up of a further repetition, whose arrays are there: a sample of
    what was written is verified."""
    work = _largest(spec) / _SAMPLE if spec.overwrites() else 0
    return _SET_UP_S + work / min(len(spec.thread_cpus()), _MAX_THREADS) / _BYTES_PER_S


def _largest(spec: Spec) -> int:
    return max((region.array_bytes for region in spec.regions()), default=0)


def fit_time(plan: Plan, seconds: float, strictly: bool = True) -> Plan:
    """Shrink sampling budgets so that the whole plan is expected to take at most ``seconds``.

    Where even the smallest budgets would take longer, raises UserError, or, unless ``strictly``,
    returns the plan with those.
    """
    specs = plan.measurements
    set_up = sum(_set_up_seconds(specs))
    shortest = set_up + MIN_BUDGET_S * len(specs)
    if shortest > seconds and strictly:
        raise UserError(
            f"{counted(len(specs), 'measurement')} need{'s' if len(specs) == 1 else ''} at least "
            f"{math.ceil(shortest)} s, not {seconds:g} s; "
            "ask for fewer, for smaller sizes, or for a longer time"
        )
    wanted = sum(spec.sampling.budget_s for spec in specs)
    share = max(0.0, min(1.0, (seconds - set_up) / wanted))
    if share == 1.0:
        return plan
    return Plan(version=PLAN_VERSION, measurements=[_with_budget(spec, share) for spec in specs])


def _with_budget(spec: Spec, share: float) -> Spec:
    budget = max(MIN_BUDGET_S, round(spec.sampling.budget_s * share, 3))
    sampling = spec.sampling.model_copy(update={"budget_s": budget})
    return spec.model_copy(update={"sampling": sampling})


def _gib(size: int) -> str:
    return f"{size / GIB:.4g} GiB" if size >= GIB // 10 else f"{size / MIB:.0f} MiB"
