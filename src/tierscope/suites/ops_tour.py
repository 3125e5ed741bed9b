"""What ``tierscope ops`` measures without options: structures and operations beside each other.

Where there is one tier, ``whatif``'s model predicts them on a slower one; where there are several,
each is measured with all parts of its structure on each of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console

from tierscope.analysis.tiers import parse_tier
from tierscope.analysis.whatif import Range, ordered
from tierscope.kinds.ops.show import local_of, slowdown
from tierscope.kinds.ops.spec import STRUCTURES
from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement, Run
from tierscope.model.topology import Topology
from tierscope.plans import machine
from tierscope.plans.expand import expand
from tierscope.plans.grammar import format_size
from tierscope.plans.request import Request
from tierscope.report import figures
from tierscope.report.style import new_table, note, title
from tierscope.report.whatif import range_text
from tierscope.suites.whatif import chases, lacking, predicted

TIER = "+150ns"
"""Of memory that is asked about where there is one tier."""
TOLERATED = 1.2
"""An operation that takes at most so many times as long tolerates slower memory."""
BUDGET = "1s"
_POINTS: tuple[dict[str, str], ...] = (
    {"structure": "btree", "op": "lookup", "interleave": "1,16"},
    {"structure": "btree", "op": "scan"},
    {"structure": "btree", "op": "ycsb-a", "threads": "all"},
    {"structure": "hash", "op": "lookup", "interleave": "1,16"},
    {"structure": "hash", "op": "ycsb-a", "threads": "all"},
    {"structure": "string-btree", "op": "lookup"},
    {"structure": "string-hash", "op": "lookup"},
    {"structure": "column", "op": "filter"},
    {"structure": "relations", "op": "join"},
    {"structure": "runs", "op": "merge"},
    {"structure": "lsm", "op": "lookup"},
)


def plan_of(topology: Topology, thp: bool, given: dict[str, str]) -> Plan:
    """Return the plan; ``given`` are options of ``ops`` that do not say what is measured."""
    nodes = [node.number for node in machine.memory_nodes(topology)]
    (own, *_) = [node.number for node in machine.cpu_nodes(topology)] or nodes
    usual = {"from": f"node:{own}", "threads": "1", "budget": BUDGET, **given}
    requests = []
    for point in _POINTS:
        parts = STRUCTURES[point["structure"]].parts
        places = (",".join(f"{part}=node:{node}" for part in parts) for node in nodes)
        requests.append(Request(kind="ops", options={**usual, **point, "place": ";".join(places)}))
    specs = expand(requests, topology, thp).measurements
    if len(nodes) > 1:
        return Plan(version=PLAN_VERSION, measurements=specs)
    more = [*lacking(specs, topology, [])]
    asked = [*chases(specs, topology, [], usual["budget"])]
    return Plan(
        version=PLAN_VERSION,
        measurements=[*specs, *more, *expand(asked, topology, thp).measurements],
    )


@dataclass(frozen=True)
class Stop:
    """One operation of the tour, with all data on the threads' own node."""

    name: str
    local: Measurement
    elsewhere: dict[str, Range]
    """How many times as long it takes on other memory, by that memory's name."""


def stops(run: Run) -> list[Stop]:
    """Return the operations that were measured, in the plan's order."""
    measured = [m for m in run.measurements if m.metric == "operations" and m.has_figure]
    tour = [m for m in measured if not m.id.startswith("cached.")]
    groups: dict[str, list[Measurement]] = {}
    for m in tour:
        groups.setdefault(_name(m), []).append(m)
    foretold = _foretold(run)
    found = []
    for name, group in groups.items():
        local = local_of(group)
        if local is not None:
            others = {m.target: _range(m, local) for m in group if m is not local} or foretold.get(
                local.id, {}
            )
            found.append(Stop(name, local, others))
    return found


def _foretold(run: Run) -> dict[str, dict[str, Range]]:
    """Return what is predicted of each measurement; nothing where that cannot be."""
    try:
        answers = predicted([run], [parse_tier(TIER)]).answers
    except UserError:
        return {}
    return {
        answer.work.measurement.id: {tier.name: whole.slowdown}
        for answer in answers
        for tier, (*_, whole) in answer.predictions
    }


def _range(m: Measurement, local: Measurement) -> Range:
    found = slowdown(m, local)
    ends = [end for end in (found.ci_low, found.ci_high) if end is not None]
    return ordered(found.estimate, ends)


def _name(m: Measurement) -> str:
    pattern = m.pattern
    words = [f"{pattern['structure']} {pattern['operation']}"]
    if pattern.get("interleave", 1) > 1:
        words.append(f"{pattern['interleave']} interleaved")
    if pattern["threads"] > 1:
        words.append(f"{pattern['threads']} threads")
    return ", ".join(words)


def verdicts(found: Sequence[Stop]) -> Iterator[str]:
    """Say of each other memory which operations tolerate it."""
    for memory in dict.fromkeys(name for stop in found for name in stop.elsewhere):
        groups: dict[str, list[str]] = {word: [] for word in _WORDS}
        for stop in found:
            if memory in stop.elsewhere:
                groups[tolerance(stop.elsewhere[memory])].append(stop.name)
        said = [f"{word}: {'; '.join(names)}" for word, names in groups.items() if names]
        where = f"Memory with {memory} latency (predicted)" if memory == TIER else memory
        yield f"{where}. {'. '.join(said)}."


_WORDS = ("Tolerated by", "Not tolerated by", "Undecided")


def tolerance(times: Range) -> str:
    """Return whether an operation that takes so many times as long tolerates that."""
    if times.high <= TOLERATED:
        return _WORDS[0]
    return _WORDS[1] if times.low > TOLERATED else _WORDS[2]


def show_tour(console: Console, run: Run) -> None:
    """Print which operations tolerate slower memory, then all figures."""
    found = stops(run)
    for line in verdicts(found):
        note(console, line, style="")
    memories = list(dict.fromkeys(name for stop in found for name in stop.elsewhere))
    title(console, "Structures and operations, all data local")
    table = new_table(
        "operation", "keys", "million/s", "ns", "p99 ns", *(f"on {one}" for one in memories),
        words=("operation",),
    )  # fmt: skip
    for stop in found:
        m = stop.local
        each, slowest = (
            figures.side_figure(m, name) for name in ("time_per_operation", "operation_latency_p99")
        )
        table.add_row(
            stop.name,
            format_size(m.pattern["keys"]),
            figures.with_interval(m, 1e6),
            figures.significant(each.estimate, 3) if each else "",
            figures.significant(slowest.estimate, 2) if slowest else "",
            *(range_text(stop.elsewhere[one]) if one in stop.elsewhere else "" for one in memories),
        )
    console.print(table)
    note(
        console,
        f"on ...: times as long with all data there; tolerated: at most {TOLERATED:g}; undecided: "
        "the range holds that",
    )
    if TIER in memories:
        note(
            console,
            f"{TIER}: a load takes so much longer, bandwidth is no bound; docs/whatif.md says how "
            "it is predicted",
        )


def in_json(run: Run) -> dict[str, object]:
    """Return what the tour comes to, for ``--json``."""
    return {
        "tour": [
            {
                "name": stop.name,
                "id": stop.local.id,
                "elsewhere": {
                    memory: {
                        "slowdown": times.estimate,
                        "low": times.low,
                        "high": times.high,
                        "tolerated": {_WORDS[0]: True, _WORDS[1]: False}.get(tolerance(times)),
                    }
                    for memory, times in stop.elsewhere.items()
                },
            }
            for stop in stops(run)
        ]
    }
