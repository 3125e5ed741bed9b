"""What a plan will take: memory, held against what the nodes have free, and time."""

from tierscope.model.errors import UserError
from tierscope.model.plan import PLAN_VERSION, Plan, Spec
from tierscope.model.topology import Node, Topology
from tierscope.plans.machine import GIB, MIB

ARRAYS = {"copy": 2, "copy-nt": 2, "scale": 2, "add": 3, "triad": 3}
"""Arrays that an operation goes over; one where it is not named."""
LEAST_BUDGET_S = 0.05

_SPARED_BYTES = 32 * MIB
_SPARED_SHARE = 64
"""Of a node, 32 MiB or a 64th is left, since the kernel and the engine itself need some."""
_SET_UP_S = 0.03
_BYTES_PER_S = 1.5e9
"""Rough rate at which one thread populates pages, lays out a chase or verifies what was written."""
_MOST_THREADS = 16
"""Threads beyond which populating is taken to get no faster."""


def region_bytes(spec: Spec) -> int:
    """Bytes of all arrays of a measurement together."""
    operation = spec.pattern.operation if spec.kind == "bandwidth" else ""
    return ARRAYS.get(operation, 1) * spec.pattern.size


def bytes_by_node(spec: Spec) -> dict[int, int]:
    """Bytes that a measurement takes of each node."""
    shares = spec.placement.nodes
    weights = [share.weight for share in shares]
    total = region_bytes(spec)
    return {
        share.node: -(-total * weight // sum(weights))
        for share, weight in zip(shares, weights, strict=True)
    }


def check_memory(plan: Plan, topology: Topology, limit: int | None) -> None:
    """Refuse a plan of which a measurement cannot fit, with the numbers.

    ``limit`` is what a cgroup lets this process still take, in bytes. hugetlb pages come out of
    pools that the engine looks at.
    """
    for spec in plan.measurements:
        if spec.pattern.pages in ("2m", "1g"):
            continue
        total = region_bytes(spec)
        if limit is not None and total > limit:
            raise UserError(
                f"{spec.id} needs {_gib(total)}, but the cgroup's memory limit leaves "
                f"{_gib(limit)}; ask for a smaller --size"
            )
        for number, needed in bytes_by_node(spec).items():
            node = topology.node(number)
            if spec.placement.policy != "preferred" and node:
                _check_node(spec, node, needed)


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
    return max(region_bytes(spec) for spec in plan.measurements)


def longest_seconds(plan: Plan) -> list[float]:
    """Most seconds that each measurement is expected to take, with its set-up."""
    set_up = _set_up_seconds(plan)
    return [
        seconds + spec.sampling.budget_s
        for seconds, spec in zip(set_up, plan.measurements, strict=True)
    ]


def _set_up_seconds(plan: Plan) -> list[float]:
    """Rough seconds of set-up; the engine keeps the arrays that the next measurement can use."""
    seconds = []
    kept: tuple[object, ...] = ()
    kept_bytes = 0
    for spec in plan.measurements:
        kind = (spec.placement, spec.pattern.size, spec.pattern.pages)
        if kind != kept:
            kept, kept_bytes = kind, 0
        region = region_bytes(spec)
        work = max(0, region - kept_bytes)
        kept_bytes = max(kept_bytes, region)
        threads = min(len(spec.cpus), _MOST_THREADS) if spec.kind == "bandwidth" else 1
        if spec.kind == "latency" or spec.pattern.operation != "read":
            work += spec.pattern.size  # to lay out the chase, or to verify what was written
        seconds.append(_SET_UP_S + work / threads / _BYTES_PER_S)
    return seconds


def fit_time(plan: Plan, seconds: float, strictly: bool = True) -> Plan:
    """Shrink sampling budgets so that the whole plan is expected to take at most ``seconds``.

    Where even the least budgets would take longer, raises UserError, or, unless ``strictly``,
    returns the plan with those.
    """
    specs = plan.measurements
    set_up = sum(_set_up_seconds(plan))
    least = set_up + LEAST_BUDGET_S * len(specs)
    if least > seconds and strictly:
        raise UserError(
            f"{len(specs)} measurements need at least {least:.0f} s, not {seconds:g} s; "
            "ask for fewer, for smaller sizes, or for a longer --budget"
        )
    wanted = sum(spec.sampling.budget_s for spec in specs)
    share = max(0.0, min(1.0, (seconds - set_up) / wanted))
    if share == 1.0:
        return plan
    return Plan(version=PLAN_VERSION, measurements=[_with_budget(spec, share) for spec in specs])


def _with_budget(spec: Spec, share: float) -> Spec:
    budget = max(LEAST_BUDGET_S, round(spec.sampling.budget_s * share, 3))
    sampling = spec.sampling.model_copy(update={"budget_s": budget})
    return spec.model_copy(update={"sampling": sampling})


def _gib(size: int) -> str:
    return f"{size / GIB:.2f} GiB" if size >= GIB // 10 else f"{size / MIB:.0f} MiB"
