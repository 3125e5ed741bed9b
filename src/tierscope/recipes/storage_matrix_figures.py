"""What a storage matrix measured: each cell with its affinity, and what farther readers lose."""

from dataclasses import dataclass
from typing import Any

from tierscope.kinds.io.points import on
from tierscope.model.affinity import Affinity
from tierscope.model.run import Measurement, Run, is_unreliable
from tierscope.recipes.storage_matrix import READS, Matrix, Reads
from tierscope.report import figures
from tierscope.report.best import best_of
from tierscope.topology.reach import far_words, reach

_LOSS = 0.95
"""Share of the best reader's figure below which a significant difference is told as a loss."""


@dataclass(frozen=True)
class Cell:
    """The better way of an initiator to read a target."""

    reads: Reads
    measurement: Measurement
    affinity: Affinity
    best: Measurement
    """Of all initiators of its kind, nodes or GPUs, the one that reads the target best."""
    best_affinity: Affinity
    far: str
    """What is between the initiator and the target, in words."""

    @property
    def share(self) -> float:
        """Of what the best initiator reaches."""
        return (self.measurement.estimate or 0.0) / (self.best.estimate or 1.0)

    @property
    def lost(self) -> bool:
        """Whether it is less than the best by more than the intervals of both."""
        both = (self.measurement, self.best)
        if any(is_unreliable(m) or not figures.has_interval(m) for m in both):
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
