"""Measurements of ``tierscope storage --matrix``: every initiator reads every target.

Large sequential reads and small random ones, in the same way from CPUs and GPUs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tierscope.analysis.best import best_of
from tierscope.kinds.io.show import io_remarks, on, rate_text
from tierscope.kinds.io.spec import IoJob, IoSpec
from tierscope.kinds.plan import PLAN_VERSION, Plan, Spec
from tierscope.machine.assignment import assign
from tierscope.machine.storage_paths import drives_of, far_words, locate, near_and_far, reach
from tierscope.model.affinity import LEGEND, Affinity
from tierscope.model.endpoint import EndpointKind, Initiator, Target, parse_initiator
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement, Run
from tierscope.model.storage import PathFacts
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand, with_new_id
from tierscope.plans.fit import fit_time
from tierscope.plans.gpu import gpu_cpus, gpu_numbered
from tierscope.plans.machine import cpu_nodes, initiator_cpus
from tierscope.plans.pinning import pinned
from tierscope.plans.request import Request
from tierscope.report import figures
from tierscope.report.evidence import remarks, targets_text
from tierscope.report.figures import Figured
from tierscope.report.run import show_machine
from tierscope.report.style import fits, new_table, note, title
from tierscope.suites.storage_tour import Given, file_options

SECONDS = 3.0
"""Time that a cell is fitted into, both of its reads together."""
_SAMPLING = {"budget": "1.5", "sample": "20ms", "precision": "2%"}
_GPU = {"backend": "staged-async,cufile-batch"}
"""Backends to a GPU that keep several operations in flight; the better one counts."""
Pair = tuple[str, str]
"""Initiator and target."""
_LOSS = 0.95
"""Share of the best reader's figure below which a significant difference is told as a loss."""


@dataclass(frozen=True)
class Reads:
    """One way of reading, which all initiators do of all targets."""

    name: str
    """Begins the ids of its measurements."""
    title: str
    options: dict[str, str]


LARGE = Reads(
    "large",
    "Large reads: sequential, 1 MiB, depth 8",
    {"order": "sequential", "block-size": "1m", "depth": "8"},
)
SMALL = Reads(
    "small",
    "Small reads: random, 4 KiB, depth 32",
    {"order": "random", "block-size": "4k", "depth": "32"},
)
READS = (LARGE, SMALL)


@dataclass(frozen=True)
class Together:
    """A measurement of several pairs at once."""

    id: str
    reads: str
    alone: dict[str, str]
    """By the part of the figures that is a pair's, the id of the pair's measurement alone."""


@dataclass(frozen=True)
class Matrix:
    """Measurements, in the order shown."""

    plan: Plan
    initiators: list[str]
    targets: list[str]
    together: list[Together] = field(default_factory=list)


def matrix(topology: Topology, given: Given, thp: bool) -> Matrix:
    """Return the matrix of these targets; raises UserError where one cannot be used."""
    initiators = _initiators(topology, given.initiator)
    specs: list[Spec] = []
    for number, (target, facts) in enumerate(zip(given.targets, given.facts, strict=True)):
        for reads in READS:
            for initiator in initiators:
                options = _options(initiator, target, facts, given, reads)
                request = Request(kind="io", name=reads.name, options=options)
                for spec in expand([request], topology, thp).measurements:
                    words = [reads.name, initiator, str(number), str(spec.identity()["backend"])]
                    name = ".".join(words)
                    named = spec.model_copy(update={"id": name})
                    specs.append(with_new_id(named, {one.id for one in specs}))
    together = list(_together(topology, initiators, given.targets, specs))
    plan = Plan(version=PLAN_VERSION, measurements=[*specs, *(spec for spec, _ in together)])
    seconds = SECONDS * (len(initiators) * len(given.targets) + len(together) / len(READS))
    fitted = fit_time(plan, seconds, strictly=False)
    targets = [str(target) for target in given.targets]
    return Matrix(fitted, initiators, targets, [what for _, what in together])


def _together(
    topology: Topology, initiators: list[str], targets: Sequence[Target], specs: Sequence[Spec]
) -> Iterator[tuple[IoSpec, Together]]:
    """Yield what reads at the same time: a measurement for each way of reading and backend."""
    alone = cast("list[IoSpec]", specs)  # they come from requests of the kind io
    for pairs in pairs_of(topology, initiators, targets):
        kind = pairs[0][0].partition(":")[0]
        for reads in READS:
            own = [spec for spec in alone if spec.id.startswith(f"{reads.name}.")]
            backends = (s.pattern.backend for s in own if s.initiator.startswith(kind))
            for backend in dict.fromkeys(backends):
                members = [
                    spec
                    for pair in pairs
                    for spec in own
                    if (spec.initiator, spec.target) == pair and spec.pattern.backend == backend
                ]
                name = f"together.{reads.name}.{kind}.{backend}"
                yield combined(topology, name, reads.name, members)


def _options(
    initiator: str, target: Target, facts: PathFacts, given: Given, reads: Reads
) -> dict[str, str]:
    return {
        "from": initiator,
        "to": str(target),
        "op": "read",
        "files": "shared",
        **file_options(facts, given),
        **_SAMPLING,
        **reads.options,
        **(_GPU if initiator.startswith("gpu:") else {}),
    }


def _initiators(topology: Topology, asked: str) -> list[str]:
    """Return the nodes and GPUs that read, or those that were asked for."""
    every = [
        *(f"node:{node.number}" for node in cpu_nodes(topology)),
        *(f"gpu:{gpu.index}" for gpu in topology.gpus),
    ]
    if not asked:
        return every
    chosen = asked.split(",")
    wrong = next((one for one in chosen if one not in every), None)
    if wrong is not None:
        raise UserError(
            f"--from: there is no '{wrong}' to read with; with --matrix it names some of this "
            f"machine's nodes and GPUs: {', '.join(every)}"
        )
    return list(dict.fromkeys(chosen))


def readable(topology: Topology) -> Sequence[str]:
    """Return the devices of all drives and arrays, the arrays last."""
    kinds = ("nvme", "disk", "virtual", "pmem")
    single = [block.name for block in topology.blocks if block.kind in kinds and not block.members]
    arrays = [block.name for block in topology.blocks if block.level]
    return [f"/dev/{name}" for name in (*single, *arrays)]


def pairs_of(
    topology: Topology, initiators: Sequence[str], targets: Sequence[Target]
) -> list[list[Pair]]:
    """Return the pairs that read together: those of nodes, then those of GPUs.

    Of targets with a drive in common, such as an array and its members, the first one takes part.
    """
    apart = _apart(topology, targets)
    of_nodes = list(_near(topology, [i for i in initiators if i.startswith("node:")], apart))
    of_gpus = list(_assigned(topology, initiators, apart)) if topology.gpus else []
    return [pairs for pairs in (of_nodes, of_gpus) if len(pairs) > 1]


def _apart(topology: Topology, targets: Sequence[Target]) -> list[tuple[Target, set[str]]]:
    """Targets with no drive in common, and their drives by the names that affinity has."""
    found: list[tuple[Target, set[str]]] = []
    for target in targets:
        below = {drive.controller or drive.name for drive in drives_of(locate(topology, target))}
        if not any(below & others for _, others in found):
            found.append((target, below))
    return found


def _near(
    topology: Topology, nodes: Sequence[str], targets: Sequence[tuple[Target, set[str]]]
) -> Iterator[Pair]:
    for target, _ in targets if nodes else []:
        try:
            near = [f"node:{number}" for number in near_and_far(topology, target).near]
        except UserError:  # nobody knows where its drives are
            near = []
        yield next((node for node in near if node in nodes), nodes[0]), str(target)


def _assigned(
    topology: Topology, initiators: Sequence[str], targets: Sequence[tuple[Target, set[str]]]
) -> Iterator[Pair]:
    for stream in assign(topology).drives:
        for target, below in targets:
            if below == {stream.device} and stream.gpu in initiators:
                yield stream.gpu, str(target)


def combined(
    topology: Topology, name: str, reads: str, alone: Sequence[IoSpec]
) -> tuple[IoSpec, Together]:
    """Return the measurement of all of these at once; each has threads on CPUs of its own."""
    used: dict[tuple[int, ...], int] = {}
    jobs: list[IoJob] = []
    for spec in alone:
        (job,) = spec.jobs
        cpus = _cpus(topology, parse_initiator(spec.initiator))
        first = used.get(tuple(cpus), 0)
        used[tuple(cpus)] = first + len(job.cpus)
        own = [cpus[(first + at) % len(cpus)] for at in range(len(job.cpus))]
        jobs.append(job.model_copy(update={"name": spec.target, "cpus": own}))
    made = alone[0].model_copy(update={"id": name, "jobs": jobs})
    ids = {job.name: spec.id for job, spec in zip(jobs, alone, strict=True)}
    return made, Together(name, reads, ids)


def _cpus(topology: Topology, initiator: Initiator) -> list[int]:
    """CPUs that an initiator's threads run on, in the order in which they take them."""
    if initiator.kind is EndpointKind.GPU:
        return gpu_cpus(topology, gpu_numbered(topology, initiator.numbers[0]))
    return pinned(topology, initiator_cpus(topology, initiator), "cores")


@dataclass(frozen=True)
class Row:
    """One pair: what it reaches alone, and at the same time as the others."""

    alone: Measurement
    together: Figured

    @property
    def share(self) -> float:
        """Share of what it reaches alone."""
        return (self.together.estimate or 0.0) / (self.alone.estimate or 1.0)


@dataclass(frozen=True)
class Group:
    """Pairs that were measured together, and each alone."""

    what: Together
    measurement: Measurement
    rows: list[Row]

    @property
    def sum(self) -> float:
        """Sum of what all pairs reach alone."""
        return sum(row.alone.estimate or 0.0 for row in self.rows)

    @property
    def lost(self) -> bool:
        """Whether together they reach less than the sum by more than the intervals."""
        all_of_it = [self.measurement, *(row.alone for row in self.rows)]
        if any(figures.is_vague(m) for m in all_of_it):
            return False
        least = sum(row.alone.ci_low or 0.0 for row in self.rows)
        return (self.measurement.ci_high or 0.0) < least


def groups_of(run: Run, matrix: Matrix) -> list[Group]:
    """Return what was measured together, where each pair was measured alone, too."""
    found = {m.id: m for m in run.measurements if m.status == "measured"}
    groups: list[Group] = []
    for what in matrix.together:
        m = found.get(what.id)
        if m is None or any(name not in found for name in what.alone.values()):
            continue
        parts = [
            (found[name], figures.side_figure(m, str(m.metric), part))
            for part, name in what.alone.items()
        ]
        rows = [Row(alone, part) for alone, part in parts if part is not None]
        if len(rows) == len(parts):
            groups.append(Group(what, m, rows))
    return groups


def show_together(console: Console, groups: list[Group]) -> None:
    """Print a table of the pairs for each group, and what all of them reach."""
    for group in groups:
        small = group.measurement.metric == "iops"
        rates = [row.alone.estimate or 0.0 for row in group.rows]
        unit, factor = ("IOPS", 1.0) if small else figures.scale_of("B/s", rates)
        backend = group.measurement.pattern["backend"]
        title(console, f"All at once: {group.what.reads} reads by {backend}, {unit}")
        table = new_table("from", "to", "alone", "all at once", "of alone", words=("from", "to"))
        for row in group.rows:
            table.add_row(
                row.alone.initiator,
                row.alone.target,
                figures.with_interval(row.alone, factor),
                figures.plain(row.together, factor),
                f"{row.share:.0%}",
            )
        console.print(table)
        for line in _lines(group):
            note(console, line, style="")


def _lines(group: Group) -> Iterator[str]:
    share = (group.measurement.estimate or 0.0) / (group.sum or 1.0)
    text = (
        f"{len(group.rows)} pairs at once reach {rate_text(group.measurement)}, {share:.0%} of the "
        "sum of each alone"
    )
    yield text if group.lost else f"{text}; the difference is within the intervals"


def together_json(groups: list[Group]) -> list[dict[str, Any]]:
    """Return a group as an object; ``id`` is that of its measurement."""
    return [
        {
            "reads": group.what.reads,
            "id": group.what.id,
            "share_of_sum": round((group.measurement.estimate or 0.0) / (group.sum or 1.0), 4),
            "significant_loss": group.lost,
            "pairs": [
                {
                    "initiator": row.alone.initiator,
                    "target": row.alone.target,
                    "alone": row.alone.id,
                    "share_of_alone": round(row.share, 4),
                }
                for row in group.rows
            ],
        }
        for group in groups
    ]


@dataclass(frozen=True)
class Cell:
    """The better way of an initiator to read a target."""

    reads: Reads
    measurement: Measurement
    affinity: Affinity
    best: Measurement
    """The initiator of its kind, nodes or GPUs, that reads the target fastest."""
    best_affinity: Affinity
    far: str
    """The path between the initiator and the target, in words."""

    @property
    def share(self) -> float:
        """Share of what the best initiator reaches."""
        return (self.measurement.estimate or 0.0) / (self.best.estimate or 1.0)

    @property
    def lost(self) -> bool:
        """Whether it is less than the best by more than the intervals of both."""
        both = (self.measurement, self.best)
        if any(figures.is_vague(m) for m in both):
            return False
        return (self.measurement.ci_high or 0.0) < (self.best.ci_low or 0.0) and self.share < _LOSS


def cells_of(run: Run, matrix: Matrix) -> list[Cell]:
    """Return the cells that were measured, target by target."""
    found: list[Cell] = []
    for reads in READS:
        for target in matrix.targets:
            best = {
                initiator: best_of(ways)
                for initiator in matrix.initiators
                if (ways := _measured(run, reads, initiator, target))
            }
            found += [_cell(run, reads, m, best) for m in best.values()]
    return found


def _measured(run: Run, reads: Reads, initiator: str, target: str) -> list[Measurement]:
    return [
        m
        for m in run.measurements
        if m.status == "measured"
        and m.id.startswith(f"{reads.name}.")
        and (m.initiator, m.target) == (initiator, target)
    ]


def _cell(run: Run, reads: Reads, m: Measurement, readers: dict[str, Measurement]) -> Cell:
    kind = m.initiator.partition(":")[0]
    alike = [other for name, other in readers.items() if name.partition(":")[0] == kind]
    best = max(alike, key=lambda other: other.estimate or 0.0)
    way = affinity_of(run, m)
    topology = run.header.topology
    far = far_words(topology, way, on(m)) if topology is not None else ""
    return Cell(reads, m, way, best, affinity_of(run, best), far)


def affinity_of(run: Run, measurement: Measurement) -> Affinity:
    """Return how a measurement's initiator reaches what it read."""
    topology = run.header.topology
    assert topology is not None, "a run that was just measured has its machine"
    return reach(topology, measurement.initiator, on(measurement))


def loss_lines(cells: list[Cell]) -> list[str]:
    """Say which initiators read a target worse than others of their kind, and why."""
    return [
        f"{cell.measurement.initiator} reads {short(cell.measurement.target)} at {cell.share:.0%} "
        f"of what {cell.best.initiator} reaches ({cell.reads.name} reads): {_why(cell)}"
        for cell in cells
        if cell.lost
    ]


def _why(cell: Cell) -> str:
    ours, theirs = (
        (way.level.rank, way.switches) for way in (cell.affinity, cell.best_affinity)
    )  # fmt: skip
    if ours > theirs:
        return cell.far
    return f"although it is as near ({cell.affinity})"


def short(target: str) -> str:
    """Return a device's name, or the path of a file or directory."""
    return target.removeprefix("dev:/dev/").removeprefix("dev:").removeprefix("file:")


def matrix_json(cells: list[Cell]) -> list[dict[str, Any]]:
    """Return a cell as an object; ``id`` is that of its measurement."""
    return [
        {
            "reads": cell.reads.name,
            "initiator": cell.measurement.initiator,
            "target": cell.measurement.target,
            "id": cell.measurement.id,
            "affinity": cell.affinity.model_dump(mode="json") | {"label": str(cell.affinity)},
            "best_initiator": cell.best.initiator,
            "share_of_best": round(cell.share, 4),
            "significant_loss": cell.lost,
        }
        for cell in cells
    ]


def show_storage_matrix(console: Console, run: Run, matrix: Matrix, left_out: list[str]) -> None:
    """Print the matrices; ``left_out`` are targets that were not measured, with the reason."""
    show_machine(console, run)
    cells = cells_of(run, matrix)
    for reads in READS:
        _show(console, reads.title, [cell for cell in cells if cell.reads is reads], matrix)
    show_together(console, groups_of(run, matrix))
    console.print()
    lines = loss_lines(cells)
    for line in lines or _no_losses(cells):
        note(console, line, style="")
    measured = [cell.measurement for cell in cells]
    where = dict.fromkeys(targets_text(m.evidence) for m in measured if m.evidence)
    for line in (*where, *left_out, *io_remarks(measured), *remarks(measured), LEGEND):
        note(console, line)


def _no_losses(cells: Sequence[Cell]) -> Iterator[str]:
    if len({cell.measurement.initiator for cell in cells}) > 1:
        yield "No initiator reads a target worse than another by more than the intervals."


def _show(console: Console, name: str, cells: list[Cell], matrix: Matrix) -> None:
    if not cells:
        return
    unit, factor = _scale([cell.measurement for cell in cells])
    title(console, f"{name}, {unit}")
    by = {(cell.measurement.initiator, cell.measurement.target): cell for cell in cells}
    initiators = [one for one in matrix.initiators if any(one == i for i, _ in by)]
    targets = [one for one in matrix.targets if any(one == t for _, t in by)]
    for some in _parts(console, by, initiators, targets, factor):
        console.print(_table(by, initiators, some, factor))


def _scale(measured: list[Measurement]) -> tuple[str, float]:
    if measured[0].metric == "iops":
        return "IOPS", 1.0
    return figures.scale_of("B/s", [m.estimate or 0.0 for m in measured])


def _table(
    by: dict[tuple[str, str], Cell], rows: list[str], columns: list[str], factor: float
) -> Table:
    corner = "from \\ to"
    table = new_table(corner, *map(short, columns), words=[corner])
    for initiator in rows:
        found = (by.get((initiator, target)) for target in columns)
        table.add_row(initiator, *(_text(cell, factor) for cell in found))
    return table


def _text(cell: Cell | None, factor: float) -> Text:
    if cell is None:
        return Text("·", style="dim")
    value = figures.with_interval(cell.measurement, factor)
    level = Text(f" {cell.affinity!s:<4}", style="red" if cell.lost else "dim")
    return Text(value).append_text(level)


def _parts(
    console: Console,
    by: dict[tuple[str, str], Cell],
    rows: list[str],
    columns: list[str],
    factor: float,
) -> Iterator[list[str]]:
    """Yield the columns in as many parts as the screen's width takes."""
    part: list[str] = []
    for column in columns:
        if part and not fits(console, _table(by, rows, [*part, column], factor)):
            yield part
            part = []
        part.append(column)
    yield part
