"""The tables of core-to-core latency: a few pairs one by one, many as a matrix and in groups."""

from statistics import median

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tierscope.analysis.core_groups import Group, Relations
from tierscope.kinds.core_latency.cells import (
    Matrix,
    exchange_of,
    matrices,
    reader_of,
    writer_of,
)
from tierscope.kinds.core_latency.words import topology_lines
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.evidence import evidence_line, warnings
from tierscope.report.pictures.picture import constants
from tierscope.report.style import fits, new_table, note, title

_FEW = 12
"""Measurements up to which each has a row of its own."""
_WIDEST = 24
"""CPUs up to which a matrix is printed, where the screen is wide enough; the heat map shows all."""


def show_table(console: Console, measured: list[Measurement], run: Run) -> None:
    """Print each pair, or, of many pairs, matrices and groups."""
    title(console, "Core-to-core latency, ns")
    found = matrices(measured, run)
    shown = {id(m) for matrix in found for m in matrix.cells.values()}
    apart = [m for m in measured if id(m) not in shown]
    console.print(Text(constants(measured, "writer")))
    if len(measured) <= _FEW:
        _show_list(console, measured, run)
    else:
        for matrix in found:
            _show_matrix(console, matrix)
        if found:
            _show_groups(console, found)
        if apart:
            _show_list(console, apart, run)
    lines = [line for matrix in found for line in topology_lines(matrix)]
    for line in lines:
        note(console, line, style="")
    for line in filter(None, (*warnings(measured), evidence_line(measured))):
        note(console, line)


def _show_list(console: Console, measured: list[Measurement], run: Run) -> None:
    relations = Relations(run.header.topology)
    exchanged = any(map(exchange_of, measured))
    table = new_table()
    for name in ("reader", "writer", "share", "home", "lines"):
        table.add_column(name, no_wrap=True)
    table.add_column("ns a line", justify="right", no_wrap=True)
    if exchanged:
        table.add_column("exchange", justify="right", no_wrap=True)
    for m in measured:
        reader, writer = reader_of(m), writer_of(m)
        share = ""
        if reader is not None and writer is not None:
            share = relations.of_pair((reader, writer))
        exchange = exchange_of(m)
        cells = [
            m.initiator,
            str(m.pattern.get("writer", "")) if writer is None else f"cpus:{writer}",
            share,
            m.target,
            str(m.pattern.get("state", "")),
            figures.with_interval(m, 1.0),
            *([figures.with_interval(exchange, 1.0) if exchange else ""] if exchanged else []),
        ]
        table.add_row(*map(Text, cells))
    console.print(table)


def _show_matrix(console: Console, matrix: Matrix) -> None:
    if len(matrix.cpus) > _WIDEST:
        return
    table = _matrix_table(matrix)
    if fits(console, table):
        console.print(Text(f"{matrix.name}: ns a line, readers down, writers across", style="bold"))
        console.print(table)


def _matrix_table(matrix: Matrix) -> Table:
    table = new_table()
    table.add_column("CPU", justify="right", no_wrap=True)
    writers = [cpu for cpu in matrix.cpus if any(cpu == writer for _, writer in matrix.cells)]
    for writer in writers:
        table.add_column(str(writer), justify="right", no_wrap=True)
    for reader in matrix.cpus:
        row = [matrix.cells.get((reader, writer)) for writer in writers]
        if any(row):
            cells = (Text(figures.plain(m, 1.0, 3)) if m else Text("·", style="dim") for m in row)
            table.add_row(str(reader), *cells)
    return table


def _show_groups(console: Console, found: list[Matrix]) -> None:
    table = new_table()
    table.add_column("lines", overflow="fold")
    homes = any(matrix.home for matrix in found)
    if homes:
        table.add_column("home", no_wrap=True)
    table.add_column("CPUs share", no_wrap=True)
    for name in ("pairs", "median", "5%..95%", "nearest", "farthest"):
        table.add_column(name, justify="right", no_wrap=True)
    exchanged = any(exchange_of(m) for matrix in found for m in matrix.cells.values())
    if exchanged:
        table.add_column("exchange", justify="right", no_wrap=True)
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
    spread = f"{_ns(group.percentile(0.05))}..{_ns(group.percentile(0.95))}"
    return [group.relation, str(len(group.pairs)), _ns(group.median), spread, nearest, farthest]


def _exchange(matrix: Matrix, group: Group) -> str:
    found = [f.estimate for pair in group.pairs if (f := exchange_of(matrix.cells[pair]))]
    return _ns(median(found)) if found else ""


def _ns(value: float) -> str:
    return figures.significant(value, 3)
