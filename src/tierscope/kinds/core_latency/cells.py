"""Measurements of core-to-core latency as matrices: readers by writers, for each state and home."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tierscope.analysis.core_groups import Group, Pair, groups_of, in_order
from tierscope.model.run import Figure, Measurement, Run
from tierscope.report import figures
from tierscope.report.pictures.picture import words_of

EXCHANGE = "exchange_latency"
_OWN = "own"
"""The home is the node of both CPUs."""
_ORDER = ("reader's node", "writer's node")


@dataclass(frozen=True)
class Matrix:
    """One way of measuring and one home, as seen from the CPUs; a cell for each ordered pair."""

    state: str
    home: str
    """"reader's node", "writer's node" or a node; empty where there is one home only."""
    variant: str
    """Whatever else differs in a run, in words: sizes, pages."""
    cells: dict[Pair, Measurement]
    cpus: list[int]
    """In the order of the topology."""
    groups: list[Group]
    """By what the pairs share."""

    @property
    def name(self) -> str:
        """What it is, in words: "modified, home at the reader's node"."""
        home = f"home at the {self.home}" if self.home in _ORDER else self.home
        return ", ".join(filter(None, (self.state, home, self.variant)))


def reader_of(measurement: Measurement) -> int | None:
    """Return the CPU that reads; None where that is not told, as of another program's figures."""
    return measurement.cpus[0] if measurement.cpus else None


def writer_of(measurement: Measurement) -> int | None:
    """Return the CPU that writes, likewise."""
    writer = measurement.pattern.get("writer")
    return writer if isinstance(writer, int) else None


def exchange_of(measurement: Measurement) -> Figure | None:
    """Return the latency of exchanging one line, where it was measured too."""
    return figures.side_figure(measurement, EXCHANGE)


def node_of_cpus(run: Run) -> dict[int, str]:
    """Return each CPU's node as an endpoint."""
    nodes: Sequence[dict[str, Any]] = run.header.machine["nodes"]
    return {int(cpu): f"node:{node['node']}" for node in nodes for cpu in node["cpus"]}


def matrices(measured: Iterable[Measurement], run: Run) -> list[Matrix]:
    """Return a matrix for each state, home and whatever else differs; what names no CPUs is left
    out."""
    known = [m for m in measured if reader_of(m) is not None and writer_of(m) is not None]
    nodes = node_of_cpus(run)
    keys = _further_keys(known)
    found: dict[tuple[str, str], dict[str, dict[Pair, Measurement]]] = {}
    for m in known:
        pair = _pair(m)
        home = _home(m.target, *(nodes.get(cpu, "") for cpu in pair))
        ways = found.setdefault((str(m.pattern.get("state", "")), words_of(m, keys)), {})
        ways.setdefault(home, {})[pair] = m
    topology = run.header.topology
    made = []
    for (state, variant), homes in found.items():
        for home, cells in _with_own(homes).items():
            cpus = in_order(topology, {cpu for pair in cells for cpu in pair})
            latencies = {pair: m.estimate for pair, m in cells.items() if m.estimate}
            made.append(Matrix(state, home, variant, cells, cpus, groups_of(topology, latencies)))
    return made


def _pair(measurement: Measurement) -> Pair:
    reader, writer = reader_of(measurement), writer_of(measurement)
    assert reader is not None
    assert writer is not None
    return reader, writer


def _further_keys(measured: Sequence[Measurement]) -> list[str]:
    keys = dict.fromkeys(key for m in measured for key in m.pattern)
    return [
        key
        for key in keys
        if key not in ("state", "writer") and len({str(m.pattern.get(key)) for m in measured}) > 1
    ]


def _home(target: str, reader_node: str, writer_node: str) -> str:
    """Say where the home is, as seen from the two CPUs."""
    if target == reader_node:
        return _OWN if reader_node == writer_node else _ORDER[0]
    return _ORDER[1] if target == writer_node else target


def _with_own(
    homes: dict[str, dict[Pair, Measurement]],
) -> dict[str, dict[Pair, Measurement]]:
    """Return the homes with names to show: pairs of one node belong to both ends' matrices."""
    own = homes.get(_OWN, {})
    ends = [home for home in _ORDER if home in homes]
    others = {home: cells for home, cells in homes.items() if home not in (_OWN, *_ORDER)}
    if ends:
        return {**{home: {**own, **homes[home]} for home in ends}, **others}
    if not own:
        return others if len(others) > 1 else {"": next(iter(others.values()))}
    return {"": own} if not others else {"own node": own, **others}
