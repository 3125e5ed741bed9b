"""What ``tierscope storage --matrix`` prints: a table for each kind of reads, then the losses."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tierscope.kinds.io.remarks import remarks
from tierscope.model.run import Measurement, Run
from tierscope.recipes.storage_matrix import READS, Matrix
from tierscope.recipes.storage_matrix_figures import Cell, cells_of, loss_lines, short
from tierscope.recipes.storage_together_figures import groups_of, show_together
from tierscope.report import figures
from tierscope.report.affinity_words import LEGEND
from tierscope.report.evidence import warnings
from tierscope.report.run import show_machine
from tierscope.report.storage_text import targets_text
from tierscope.report.style import fits, new_table, note, title


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
    for line in (*where, *left_out, *remarks(measured), *warnings(measured), LEGEND):
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
    table = new_table()
    table.add_column("from \\ to", no_wrap=True)
    for target in columns:
        table.add_column(short(target), justify="right", no_wrap=True)
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
