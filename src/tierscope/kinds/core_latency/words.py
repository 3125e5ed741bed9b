"""What core-to-core latencies say about a machine, in sentences and as JSON."""

from collections.abc import Iterator
from typing import Any

from tierscope.analysis.core_groups import UNKNOWN, Comparison, Group, compared, split_of
from tierscope.kinds.core_latency.cells import Matrix, matrices, reader_of, writer_of
from tierscope.model.endpoint import format_ranges
from tierscope.model.run import Measurement, Run
from tierscope.report import figures

_MOST_SETS = 4
_VERDICTS = {
    "agrees": "agrees with the topology",
    "overlaps": "agrees with the topology in part",
    "differs": "does not agree with the topology",
}


def cpus_text(measurement: Measurement) -> str:
    """Name the reader and the writer: "CPU 0 from CPU 8"."""
    reader, writer = reader_of(measurement), writer_of(measurement)
    start = measurement.initiator if reader is None else f"CPU {reader}"
    return start if writer is None else f"{start} from CPU {writer}"


def topology_lines(matrix: Matrix) -> Iterator[str]:
    """Say whether the groups are as near as the topology says, and what it does not say."""
    groups = [group for group in matrix.groups if group.relation != UNKNOWN]
    found = compared(groups)
    if found:
        yield f"{matrix.name}: {_agreement(found)}"
    for group in groups:
        if split := split_of(group):
            sets = [f"CPUs {format_ranges(tuple(one))}" for one in split.sets[:_MOST_SETS]]
            more = len(split.sets) - len(sets)
            sets += [f"{more} more"] if more else []
            yield (
                f"{matrix.name}: {split.relation}, as the topology says, but measured as "
                f"{len(split.sets)} sets: {'; '.join(sets)} ({_ns(split.within)} ns inside, "
                f"{_ns(split.between)} ns between them)"
            )


def _agreement(found: list[Comparison]) -> str:
    groups = [found[0].near, *(one.far for one in found)]
    order = ", ".join(f"{group.relation} {_ns(group.median)} ns" for group in groups)
    worst = min(found, key=lambda one: one.share)
    detail = ""
    if worst.verdict != "agrees":
        detail = (
            f"; {worst.near.relation} is nearer than {worst.far.relation} in {worst.share:.0%} "
            "of comparisons only"
        )
    return f"{_VERDICTS[worst.verdict]}: {order}{detail}"


def _ns(value: float) -> str:
    return figures.significant(value, 3)


def summary_of(measured: list[Measurement]) -> str:
    """Return a clause on the nearest and the farthest pair."""
    by = sorted(measured, key=lambda m: m.estimate or 0.0)
    text = f"core-to-core latency is {_described(by[0])}"
    return text if len(by) == 1 else f"{text} to {_described(by[-1])}"


def _described(m: Measurement) -> str:
    state = m.pattern.get("state")
    return f"{figures.with_interval(m, 1.0)} ns ({cpus_text(m)}{f', {state}' if state else ''})"


def more_of(run: Run) -> dict[str, Any]:
    """Return ``core_groups``: pairs by what they share, for each state and home, and whether the
    next farther group is farther indeed."""
    measured = [m for m in run.measurements if m.kind == "core-latency" and m.status == "measured"]
    return {"core_groups": [_matrix_json(matrix) for matrix in matrices(measured, run)]}


def _matrix_json(matrix: Matrix) -> dict[str, Any]:
    return {
        "state": matrix.state,
        "home": matrix.home,
        "variant": matrix.variant,
        "groups": [_group_json(group) for group in matrix.groups],
        "comparisons": [
            {
                "near": one.near.relation,
                "far": one.far.relation,
                "nearer_share": round(one.share, 4),
                "verdict": one.verdict,
            }
            for one in compared(matrix.groups)
        ],
        "splits": [
            {
                "relation": split.relation,
                "sets": split.sets,
                "within_ns": split.within,
                "between_ns": split.between,
            }
            for split in filter(None, map(split_of, matrix.groups))
        ],
    }


def _group_json(group: Group) -> dict[str, Any]:
    return {
        "relation": group.relation,
        "pairs": len(group.pairs),
        "median_ns": group.median,
        "p5_ns": group.percentile(0.05),
        "p95_ns": group.percentile(0.95),
        "nearest": list(group.pairs[0]),
        "farthest": list(group.pairs[-1]),
    }
