"""Measurements of core-to-core latency as matrices: readers by writers, for each state and home."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from rich.console import Console
from rich.text import Text

from tierscope.analysis.core_groups import (
    UNKNOWN,
    Comparison,
    Group,
    Pair,
    Relations,
    compared,
    groups_of,
    in_order,
    split_of,
)
from tierscope.model.endpoint import format_ranges
from tierscope.model.run import Figure, Measurement, Run
from tierscope.report import figures
from tierscope.report.pictures import generic, shapes
from tierscope.report.pictures.picture import (
    Picture,
    PictureInput,
    constants,
    row_of,
    slug,
    words_of,
)
from tierscope.report.style import fits, new_table, note, title
from tierscope.report.table import Grid, grid_table, show_grid, show_notes, show_rows
from tierscope.report.view import Column, View

EXCHANGE = "exchange_latency"
_OWN = "own"
"""The home is the node of both CPUs."""
_ORDER = ("reader's node", "writer's node")
_MOST_SETS = 4
_VERDICTS = {
    "agrees": "agrees with the topology",
    "overlaps": "agrees with the topology in part",
    "differs": "does not agree with the topology",
}
_FEW = 12
"""Measurements up to which each has a row of its own."""
_WIDEST = 24
"""CPUs up to which a matrix is printed, where the screen is wide enough; the heat map shows all."""
_MIN_CELLS = 2


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
    return f"{figures.text(m, 1.0, 'ns')} ({cpus_text(m)}{f', {state}' if state else ''})"


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


def show_table(console: Console, measured: list[Measurement], run: Run) -> None:
    """Print each pair, or, of many pairs, matrices and groups."""
    title(console, VIEW.title)
    found = matrices(measured, run)
    shown = {id(m) for matrix in found for m in matrix.cells.values()}
    listed = measured if len(measured) <= _FEW else [m for m in measured if id(m) not in shown]
    if len(measured) > _FEW:
        for matrix in found:
            _show_matrix(console, matrix)
        if found:
            _show_groups(console, found)
    if listed:
        show_rows(console, listed, VIEW, [_shared(run)])
    for line in (line for matrix in found for line in topology_lines(matrix)):
        note(console, line, style="")
    show_notes(console, measured, ())


def _shared(run: Run) -> Column:
    """Return the column of what the CPUs of pairs share."""
    relations = Relations(run.header.topology)

    def share(m: Measurement) -> str:
        reader, writer = reader_of(m), writer_of(m)
        known = reader is not None and writer is not None
        return relations.of_pair((reader, writer)) if known else ""  # type: ignore[arg-type]

    return Column("CPUs share", share, number=False)


def _show_matrix(console: Console, matrix: Matrix) -> None:
    writers = [cpu for cpu in matrix.cpus if any(cpu == writer for _, writer in matrix.cells)]
    readers = [cpu for cpu in matrix.cpus if any(cpu == reader for reader, _ in matrix.cells)]
    cells = {(str(reader), str(writer)): m for (reader, writer), m in matrix.cells.items()}
    grid = Grid("reader", "writer", [*map(str, readers)], [*map(str, writers)], cells, {})
    if len(matrix.cpus) <= _WIDEST and fits(console, grid_table(grid, grid.columns, 1.0)):
        caption = f"{matrix.name}: ns a line, readers down, writers across"
        show_grid(console, grid, caption, 1.0)


def _show_groups(console: Console, found: list[Matrix]) -> None:
    homes = any(matrix.home for matrix in found)
    names = ["lines", *(["home"] if homes else []), "CPUs share"]
    exchanged = any(exchange_of(m) for matrix in found for m in matrix.cells.values())
    numbers = ["pairs", "median", "5%–95%", "nearest", "farthest"]
    numbers += ["exchange"] if exchanged else []
    table = new_table(*names, *numbers, words=names)
    for matrix in found:
        for number, group in enumerate(matrix.groups):
            lines = ", ".join(filter(None, (matrix.state, matrix.variant)))
            what = [lines, *([matrix.home.removesuffix("'s node")] if homes else [])]
            cells = [*(what if number == 0 else [""] * len(what)), *_group_cells(group)]
            cells += [_exchange(matrix, group)] if exchanged else []
            table.add_row(*map(Text, cells))
    console.print(table)
    exchange = "; exchange: half the round trip of one line" if exchanged else ""
    note(console, f"Medians over pairs, and the pairs reader←writer{exchange}.")


def _group_cells(group: Group) -> list[str]:
    ends = (f"{reader}←{writer}" for reader, writer in (group.pairs[0], group.pairs[-1]))
    nearest, farthest = (
        f"{_ns(value)} {pair}"
        for value, pair in zip((group.values[0], group.values[-1]), ends, strict=True)
    )
    spread = f"{_ns(group.percentile(0.05))}–{_ns(group.percentile(0.95))}"
    return [group.relation, str(len(group.pairs)), _ns(group.median), spread, nearest, farthest]


def _exchange(matrix: Matrix, group: Group) -> str:
    found = [f.estimate for pair in group.pairs if (f := exchange_of(matrix.cells[pair]))]
    return _ns(median(found)) if found else ""


def heat_maps(given: PictureInput) -> Iterator[Picture]:
    """A heat map of each matrix, and one of exchanges; bars of what makes no matrix."""
    found = [m for m in matrices(given.measured, given.run) if len(m.cells) >= _MIN_CELLS]
    drawn = {id(m) for matrix in found for m in matrix.cells.values()}
    for matrix in found:
        yield _picture(matrix, matrix.cells, "Core-to-core latency", matrix.name)
        exchanged = {
            pair: m.model_copy(update={"figures": [figure]})
            for pair, m in matrix.cells.items()
            if (figure := exchange_of(m))
        }
        if len(exchanged) >= _MIN_CELLS:
            name = matrix.name.removeprefix(matrix.state).removeprefix(", ")
            yield _picture(matrix, exchanged, "Exchange of one line", name)
    rest = [m for m in given.measured if id(m) not in drawn]
    if rest:
        yield from generic.bars(
            PictureInput(given.kind, given.title, rest, given.run, given.endpoints)
        )


def _picture(matrix: Matrix, cells: Mapping[Pair, Measurement], what: str, name: str) -> Picture:
    place = {cpu: number for number, cpu in enumerate(matrix.cpus)}
    pairs = sorted(cells, key=lambda pair: (place[pair[0]], place[pair[1]]))
    rows = [
        row_of(m, 1.0, "ns", row=str(reader), column=str(writer), text=figures.plain(m, 1.0, 3),
               what=", ".join(filter(None, (cpus_text(m), name))))
        for reader, writer in pairs
        for m in (cells[reader, writer],)
    ]  # fmt: skip
    writers = sorted({writer for _, writer in pairs}, key=place.__getitem__)
    by = sorted(cells.values(), key=lambda m: m.estimate or 0.0)
    said = constants(by, "writer", "state")
    return Picture(
        key=slug(f"{what} {name}"),
        title=f"{what}: {name}" if name else what,
        subtitle="; ".join(filter(None, ("ns, lighter is nearer", said))),
        alt=f"Nearest: {cpus_text(by[0])} with {figures.text(by[0], 1.0, 'ns')}; "
        f"farthest: {cpus_text(by[-1])} with {figures.text(by[-1], 1.0, 'ns')}.",
        spec=shapes.heatmap(
            rows, "writer's CPU", "reader's CPU", "ns", "low", list(map(str, writers))
        ),
        measurements=[matrix.cells[pair] for pair in pairs],
    )


VIEW = View(
    title="Core-to-core latency",
    method="One CPU stores to lines that its L2 cache can hold, or has all caches drop them and "
    "loads them; another one loads them in a random order, each address out of the line before; "
    "time per line, every line verified to be of its round. Exchange: half the round trip of one "
    "line that both update in turn. Medians and their 95% intervals.",
    endpoints=("reader", "home"),
    table=show_table,
    pictures=(heat_maps,),
    more=more_of,
    represents_path=False,
    summary=summary_of,
)
