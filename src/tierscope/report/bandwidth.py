"""The bandwidth tables."""

from rich.console import Console
from rich.text import Text

from tierscope.analysis.knee import SHARE, knee
from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.evidence import evidence_line, warnings
from tierscope.report.grid import Axis, Grid, make_grids
from tierscope.report.style import new_table, note, title

_PATH = Axis("path")
_OPERATION = Axis("operation")
_THREADS = Axis("threads", numeric=True)
_ACCESS = Axis("access_size", numeric=True)
_SIZE = Axis("size", numeric=True)
_STRIDE = Axis("stride", numeric=True)
_OTHERS = [Axis(key) for key in ("order", "pages", "isa", "policy", "mechanism")]
_SIZES = ("access_size", "size", "stride")
_BESIDE_CELLS = 30
"""Columns of the screen that row names, knee and bus figures take."""
_CELL = 7
_CELL_WITH_INTERVAL = 12


def show_bandwidth(console: Console, measurements: list[Measurement]) -> None:
    """Print one grid for each path and pattern."""
    measured = [m for m in measurements if m.status == "measured"]
    if not measured:
        return
    unit, factor = figures.scale_of("B/s", [m.estimate or 0.0 for m in measured])
    title(console, f"Bandwidth, {unit}")
    grids: list[Grid] = []
    for group in _groups(measured):
        rows, columns = _axes(group)
        grids += make_grids(group, rows, columns, (console.width - _BESIDE_CELLS) // _CELL)
    for grid in grids:
        _show_grid(console, grid, factor)
    for line in filter(None, (*warnings(measured), evidence_line(measured))):
        note(console, line)
    if any(_bus(m) for m in measured):
        note(
            console,
            "on the bus: with the lines that ordinary stores fetch before they write them",
        )
    if any(grid.column.key == "threads" and len(grid.columns) > 1 for grid in grids):
        note(console, f"knee: the fewest threads that reach {SHARE:.0%} of the best")


def _groups(measured: list[Measurement]) -> list[list[Measurement]]:
    """Keep each path's sweeps together, and gather paths that have none in a last group."""
    paths: dict[str, list[Measurement]] = {}
    for measurement in measured:
        order = str(measurement.pattern.get("order"))
        paths.setdefault(f"{_PATH.of(measurement)} {order}", []).append(measurement)
    sweeps = [group for group in paths.values() if _sweeps(group)]
    singles = [m for group in paths.values() if not _sweeps(group) for m in group]
    return [*sweeps, singles] if singles else sweeps


def _sweeps(group: list[Measurement]) -> bool:
    return any(_varies(axis, group) for axis in (_THREADS, _ACCESS, _SIZE, _STRIDE))


def _varies(axis: Axis, group: list[Measurement]) -> bool:
    return len({axis.of(measurement) for measurement in group}) > 1


def _axes(group: list[Measurement]) -> tuple[list[Axis], list[Axis]]:
    """Return what may become rows and columns of a group's grids, the likeliest first."""
    sizes = [_THREADS, _ACCESS, _SIZE, _STRIDE]
    if _varies(_PATH, group):
        return [_PATH, *sizes, *_OTHERS], [_OPERATION, *sizes, *_OTHERS]
    if _varies(_THREADS, group) and _varies(_ACCESS, group):
        # The field's heatmap, one for each operation.
        return [_ACCESS, _SIZE, _STRIDE, *_OTHERS, _OPERATION, _PATH], [_THREADS]
    return [_OPERATION, *_OTHERS, *sizes, _PATH], [*sizes, _PATH, *_OTHERS]


def _show_grid(console: Console, grid: Grid, factor: float) -> None:
    wide = len(grid.columns) > (console.width - _BESIDE_CELLS) // _CELL_WITH_INTERVAL
    console.print(Text(_caption(grid), style="bold"))
    table = new_table()
    table.add_column(grid.row.name, no_wrap=True)
    for column in grid.columns:
        table.add_column(_heading(grid, column), justify="right", no_wrap=True)
    with_knee = grid.column == _THREADS and len(grid.columns) > 1
    with_limit = any(m.efficiency is not None for m in grid.cells.values())
    with_bus = any(_bus(m) for m in grid.cells.values())
    if with_bus:
        table.add_column("best,\non bus", justify="right", no_wrap=True)
    if with_knee:
        table.add_column("knee", justify="right")
    if with_limit:
        table.add_column("of limit", justify="right")
    for row in grid.rows:
        cells = [grid.cells.get((row, column)) for column in grid.columns]
        present = [cell for cell in cells if cell]
        best = max(present, key=lambda cell: cell.estimate or 0.0)
        texts = [
            _cell(cell, factor, wide, best=cell is best and len(present) > 1) for cell in cells
        ]
        if with_bus:
            bus = _bus(best)
            texts.append(Text(f"{bus / factor:.3g}" if bus else "=", style="dim"))
        if with_knee:
            texts.append(Text(_knee(present)))
        if with_limit:
            texts.append(Text("" if best.efficiency is None else f"{best.efficiency:.0%}"))
        table.add_row(Text(_label(grid.row.key, row)), *texts)
    console.print(table)
    _after(console, grid, wide)


def _after(console: Console, grid: Grid, wide: bool) -> None:
    if wide:
        widest = max(map(figures.relative_half, grid.cells.values()))
        note(console, f"95% intervals are at most ±{100 * widest:.2g}% of each figure")
    for text in {
        f"limit: {m.limit.value / 1e9:.4g} GB/s, {m.limit.link} ({m.limit.formula})"
        for m in grid.cells.values()
        if m.limit
    }:
        note(console, text)


def _cell(cell: Measurement | None, factor: float, wide: bool, best: bool) -> Text:
    if cell is None:
        return Text("·", style="dim")
    text = figures.plain(cell, factor) if wide else figures.with_interval(cell, factor)
    return Text(text, style="bold green" if best else "")


def _knee(cells: list[Measurement]) -> str:
    found = knee({int(cell.pattern["threads"]): cell.estimate or 0.0 for cell in cells})
    return f"{found} thread{'s' if found > 1 else ''}"


def _bus(cell: Measurement) -> float | None:
    """Return bytes/s with the lines that stores fetch first, where hardware does that."""
    figures_of = {figure.metric: figure.estimate for figure in cell.figures}
    return figures_of.get("bandwidth_with_write_allocate")


def _heading(grid: Grid, value: str | int) -> str:
    text = _label(grid.column.key, value)
    if grid.column == _THREADS:
        return (
            f"{text} thread{'s' if value != 1 else ''}" if len(grid.columns) <= 4 else f"{text} t"
        )
    return text


def _label(key: str, value: str | int) -> str:
    if key in _SIZES and isinstance(value, int):
        return figures.size_text(value) if value > 0 else "-"
    return str(value)


def _caption(grid: Grid) -> str:
    """Say what is the same in the whole grid."""
    parts = []
    for axis, value in grid.constant.items():
        if value in ("", -1) or (axis, value) in (("order", "sequential"), ("isa", "auto")):
            continue
        if (
            axis == "access_size"
            and grid.constant.get("order", "sequential") == "sequential"
            and value == 64
        ):
            continue
        text = _label(axis, value)
        names = {"size": "{} an array", "access_size": "{} accesses", "stride": "stride {}"}
        words = {"threads": "{} thread" + ("s" if value != 1 else ""), "pages": "{} pages"}
        parts.append({**names, **words}.get(axis, "{}").format(text))
    return ", ".join(parts)
