"""The cost of PMDK: arrays in a pool of libpmemobj and in plain memory of one node, in pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from rich.console import Console

from tierscope.analysis.change import PairedRatio, paired_ratio
from tierscope.kinds.plan import Plan
from tierscope.model.errors import UserError, counted
from tierscope.model.spec import MemorySpec
from tierscope.model.text import csv_text
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine, options
from tierscope.plans.expand import expand
from tierscope.plans.fit import check_memory
from tierscope.plans.options import Option
from tierscope.plans.request import Request
from tierscope.report.figures import significant
from tierscope.report.style import new_table, note, title
from tierscope.runs.pairs import Paired

BACKINGS = {
    "pool": "addresses taken once",
    "pool-objects": "object ids translated for each element",
}
"""How a pool's arrays are reached."""
OPTIONS = (
    options.FROM,
    options.to_of(MemorySpec).but(  # type: ignore[type-abstract]
        help="Nodes: node:1 or node:*", default="the first node with CPUs"
    ),
    Option("op", "LIST", "Operations of bandwidth: copy, scale, add, triad", "all four"),
    options.THREADS,
    options.PIN,
    options.SIZE.but(help="Bytes of each array, as in 64m..1g"),
    Option("pairs", "COUNT", "Repetitions of each side, in turn", "10"),
    options.BUDGET.but(help="Time of each side of each measurement, as in 500ms"),
)
_TAKEN = ("from", "op", "threads", "pin", "size", "budget")
_DEFAULTS = {"op": "copy,scale,add,triad"}
_MOST_PAIRS = 10_000


@dataclass(frozen=True)
class Cost:
    """A pool's bandwidth over that of plain memory, of one operation and number of threads."""

    paired: Paired
    backing: str
    ratio: PairedRatio | None
    """None where nothing was measured; ``paired.reason`` says why."""

    @property
    def pattern(self) -> dict[str, Any]:
        """Operation, threads and sizes."""
        return self.paired.base.identity()

    @property
    def bandwidths(self) -> tuple[float, float]:
        """Medians of plain memory and of the pool, in bytes/s."""
        base, new = zip(*self.paired.pairs, strict=True)
        return median(base), median(new)


def pair_count(given: dict[str, str]) -> int:
    """Return how often each side is measured; at least twice, for an interval."""
    text = given.get("pairs", "10")
    try:
        count = int(grammar.parse_number(text, 0, _MOST_PAIRS))
    except UserError as error:
        raise UserError(f"--pairs: {error}") from None
    if count < 2:
        raise UserError(f"--pairs: '{text}' pairs give no interval; take 2 or more")
    return count


def sides(given: dict[str, str], topology: Topology) -> tuple[Plan, Plan]:
    """Return the plans of plain memory and of pools, which have the same places.

    Both have base pages, which a pool's file has.
    """
    common = {name: value for name, value in {**_DEFAULTS, **given}.items() if name in _TAKEN}
    plain: list[Request] = []
    pools: list[Request] = []
    for backing in BACKINGS:
        for node in _nodes(given, topology):
            to_node = {**common, "to": node, "pages": "base"}
            request = Request(kind="bandwidth", name=f"for-{backing}", options=to_node)
            sizes = {
                spec.identity()["size"]
                for spec in expand([request], topology, thp=False).measurements
            }
            plain.append(request)
            to_pool = {**common, "size": ",".join(map(str, sorted(sizes))), "backing": backing}
            pools.append(
                Request(kind="bandwidth", name=backing, options={**to_pool, "to": f"pmem:{node}"})
            )
    plans = expand(plain, topology, thp=False), expand(pools, topology, thp=False)
    for plan in plans:
        check_memory(plan, topology)
    return plans


def _nodes(given: dict[str, str], topology: Topology) -> list[str]:
    text = given.get("to")
    if text is None:
        return [f"node:{machine.cpu_nodes(topology)[0].number}"]
    every = [f"node:{node.number}" for node in machine.memory_nodes(topology)]
    words = [one for word in grammar.split_endpoints(text)
             for one in (every if word == "node:*" else [word])]  # fmt: skip
    wrong = next((word for word in words if word not in every), None)
    if wrong is not None:
        raise UserError(f"--to: '{wrong}' is not one node with memory, as {', '.join(every)} are")
    return words


def costs(found: Sequence[Paired]) -> list[Cost]:
    """Return the ratio of each pair of measurements."""
    return [
        Cost(one, one.new.identity()["backing"], paired_ratio(one.pairs) if one.pairs else None)
        for one in found
    ]


def costs_json(found: Sequence[Cost]) -> list[dict[str, Any]]:
    """Return one object for each operation, number of threads and pool; ratios are pool / plain."""
    return [
        {
            "backing": one.backing,
            "initiator": one.paired.base.initiator,
            "node": one.paired.base.target,
            "operation": one.pattern["operation"],
            "threads": one.pattern["threads"],
            "size": one.pattern["size"],
            "unit": "B/s",
            "ratio": one.ratio.ratio if one.ratio else None,
            "low": one.ratio.low if one.ratio else None,
            "high": one.ratio.high if one.ratio else None,
            "pairs": one.paired.pairs,
            "reason": one.paired.reason,
        }
        for one in found
    ]


def costs_csv(found: Sequence[Cost]) -> str:
    """Return a line for each object of ``costs_json``, with the medians of both sides in place of
    all pairs."""
    rows = []
    for cost, row in zip(found, costs_json(found), strict=True):
        plain, pool = cost.bandwidths if cost.ratio else (None, None)
        del row["pairs"]
        rows.append({**row, "plain": plain, "pool": pool})
    return csv_text([rows[0], *(row.values() for row in rows)])


def show_costs(console: Console, found: Sequence[Cost]) -> None:
    """Print both sides' bandwidths and the change from plain memory to the pool."""
    title(console, "PMDK over plain memory of the same node")
    table = new_table(
        "node", "operation", "threads", "pool", "plain GB/s", "pool GB/s", "change",
        words=("node", "operation", "pool"),
    )  # fmt: skip
    for one in found:
        rates = [significant(rate / 1e9, 3) for rate in one.bandwidths] if one.ratio else ["–", "–"]
        change = _change(one) if one.ratio else one.paired.reason or "not measured"
        names = (one.paired.base.target, one.pattern["operation"], str(one.pattern["threads"]))
        table.add_row(*names, one.backing, *rates, change)
    console.print(table)
    measured = [one for one in found if one.ratio]
    for backing, how in BACKINGS.items():
        if any(one.backing == backing for one in measured):
            note(console, f"{backing}: {how}")
    if measured:
        note(
            console,
            f"medians of {counted(len(measured[0].paired.pairs), 'pair')} of repetitions, made in "
            "turn; changes with their 95% intervals; those that hold 0 show no difference",
        )


def _change(one: Cost) -> str:
    """Return ``-9.5% (-9.9 to -9.1)``, the change from plain memory to the pool."""
    assert one.ratio
    text = f"{100 * (one.ratio.ratio - 1):+.1f}%"
    if one.ratio.low is None or one.ratio.high is None:
        return text
    low, high = (100 * (end - 1) for end in (one.ratio.low, one.ratio.high))
    return f"{text} ({low:+.1f} to {high:+.1f})"
