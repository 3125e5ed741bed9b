"""The tables of bandwidth."""

from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tierscope.analysis.knee import SHARE, knee_of
from tierscope.kinds.bandwidth.spec import LIBRARY
from tierscope.kinds.bandwidth.working_set import side_cache_lines
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.evidence import evidence_line, warnings
from tierscope.report.grid import Axis, Grid, make_grids
from tierscope.report.style import fits, new_table, note, title

_PATH = Axis("path")
_OPERATION = Axis("operation")
_THREADS = Axis("threads", numeric=True)
_ACCESS = Axis("access_size", numeric=True)
_SIZE = Axis("size", numeric=True)
_STRIDE = Axis("stride", numeric=True)
_OTHERS = [
    Axis(key)
    for key in (
        "order", "zipf_alpha", "sharing", "cpu_sets", "pages", "isa", "policy", "mechanism",
        "backing",
    )
]  # fmt: skip
_SIZES = ("access_size", "size", "stride")
_CROWDED = 8
"""Columns from which on rows and columns change places where that makes fewer."""
_MIN_COUNTS = 3
"""Thread counts from which on the table says where more of them stop to help."""


def show_table(console: Console, measured: list[Measurement], run: Run) -> None:
    """Print one grid for each path and pattern."""
    unit, factor = figures.scale_of("B/s", [m.estimate or 0.0 for m in measured])
    title(console, f"Bandwidth, {unit}")
    grids: list[Grid] = []
    for group in _groups(measured):
        rows, columns = _axes(group)
        grids += make_grids(group, rows, columns, _CROWDED)
    for grid in grids:
        _show_grid(console, grid, factor)
    for line in side_cache_lines(run, measured):
        note(console, line)
    for line in filter(None, (*warnings(measured), evidence_line(measured))):
        note(console, line)
    if any(_bus(m) for m in measured):
        note(
            console,
            "on the bus: the best with the lines that ordinary stores fetch before they write them",
        )
    if any(map(_bends, grids)):
        note(
            console,
            f"{SHARE:.0%} by: the fewest threads that reach {SHARE:.0%} of the best; 4–8 where "
            "intervals overlap",
        )


def _bends(grid: Grid) -> bool:
    """Whether a grid has enough thread counts to say where more of them stop to help."""
    return grid.column == _THREADS and len(grid.columns) >= _MIN_COUNTS


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
    """Return candidates for rows and columns of a group's grids, in order of preference."""
    sizes = [_THREADS, _ACCESS, _SIZE, _STRIDE]
    if _varies(_PATH, group):
        return [_PATH, *sizes, *_OTHERS], [_OPERATION, *sizes, *_OTHERS]
    if _varies(_THREADS, group) and _varies(_ACCESS, group):
        # The usual heat map, one for each operation.
        return [_ACCESS, _SIZE, _STRIDE, *_OTHERS, _OPERATION, _PATH], [_THREADS]
    if _varies(_THREADS, group) and _varies(_SIZE, group):
        return [_SIZE, _STRIDE, *_OTHERS, _OPERATION, _PATH], [_THREADS]
    return [_OPERATION, *_OTHERS, *sizes, _PATH], [*sizes, _PATH, *_OTHERS]


def _show_grid(console: Console, grid: Grid, factor: float) -> None:
    """Print a grid with intervals where they fit, else without, else in pieces."""
    console.print(Text(_caption(grid), style="bold"))
    table = _table(grid, grid.columns, factor, with_intervals=True)
    with_intervals = fits(console, table)
    columns = grid.columns
    while not with_intervals and columns:
        for count in range(len(columns), 0, -1):
            table = _table(grid, columns[:count], factor, with_intervals=False)
            if fits(console, table) or count == 1:
                break
        columns = columns[count:]
        if columns:
            console.print(table)
    console.print(table)
    _after(console, grid, with_intervals)


def _table(grid: Grid, columns: list[str | int], factor: float, with_intervals: bool) -> Table:
    table = new_table()
    table.add_column(grid.row.name, no_wrap=True)
    for column in columns:
        table.add_column(_heading(grid, column), justify="right", no_wrap=True)
    whole = columns == grid.columns
    extras = [extra for extra in _EXTRAS if whole and extra.applies(grid)]
    for extra in extras:
        table.add_column(extra.heading, justify="right", no_wrap=True)
    for row in grid.rows:
        in_row = [cell for cell in (grid.cells.get((row, c)) for c in grid.columns) if cell]
        best = max(in_row, key=lambda cell: cell.estimate or 0.0)
        cells = [grid.cells.get((row, column)) for column in columns]
        mark = best if len(in_row) > 1 else None
        table.add_row(
            Text(_label(grid.row.key, row)),
            *(_cell(cell, factor, with_intervals, cell is mark) for cell in cells),
            *(Text(extra.text(best, in_row, factor), style="dim") for extra in extras),
        )
    return table


def _after(console: Console, grid: Grid, with_intervals: bool) -> None:
    if not with_intervals:
        widths = sorted(map(figures.relative_half, grid.cells.values()))
        note(
            console,
            f"95% intervals: half of the figures within "
            f"{figures.width_text(widths[len(widths) // 2])}, the widest "
            f"{figures.width_text(widths[-1])}",
        )
    limits = [m.limit for m in grid.cells.values() if m.limit]
    lines = [f"limit: {one.value / 1e9:.4g} GB/s, {one.link} ({one.formula})" for one in limits]
    for line in dict.fromkeys(lines):
        note(console, line)


def _cell(cell: Measurement | None, factor: float, with_interval: bool, best: bool) -> Text:
    if cell is None:
        return Text("·", style="dim")
    text = figures.with_interval(cell, factor) if with_interval else figures.plain(cell, factor, 3)
    return Text(text + figures.mark(cell), style="bold green" if best else "")


@dataclass(frozen=True)
class _Extra:
    """A further column of a grid, about each row's best figure."""

    heading: str
    applies: Callable[[Grid], bool]
    text: Callable[[Measurement, list[Measurement], float], str]
    """Of the row's best, all of the row, and the unit's factor."""


_ON_BUS = "bandwidth_with_write_allocate"
"""bytes/s with the lines that stores fetch first, where hardware does that."""


def _bus(cell: Measurement) -> bool:
    return figures.side_figure(cell, _ON_BUS) is not None


_FETCH_FIRST = ("write", "copy", "scale", "add", "triad")
_UNKNOWN = "unknown"
"""On the bus: the C library may use non-temporal stores or not."""


def _bus_text(best: Measurement, factor: float) -> str:
    bus = figures.side_figure(best, _ON_BUS)
    if bus is None and best.pattern.get("operation") in LIBRARY:
        return _UNKNOWN
    if bus is None and best.pattern.get("operation") in _FETCH_FIRST:
        return "in cache"
    return figures.plain(bus or best, factor, 3)


_EXTRAS = (
    _Extra(
        "best, on\nthe bus",
        lambda grid: any(map(_bus, grid.cells.values())),
        lambda best, _row, factor: _bus_text(best, factor),
    ),
    _Extra(
        f"{SHARE:.0%} by",
        _bends,
        lambda _best, row, _factor: str(knee_of(row)),
    ),
    _Extra(
        "of limit",
        lambda grid: any(m.efficiency is not None for m in grid.cells.values()),
        lambda best, _row, _factor: "" if best.efficiency is None else figures.of_limit(best),
    ),
)


def _heading(grid: Grid, value: str | int) -> str:
    text = _label(grid.column.key, value)
    if grid.column == _THREADS:
        return f"{text} thr."
    return text.replace(" ", "\n") if len(grid.columns) > _CROWDED else text


def _label(key: str, value: str | int) -> str:
    if key in _SIZES and isinstance(value, int):
        return figures.size_text(value) if value > 0 else "-"
    return str(value) or ("partitioned" if key == "sharing" else "")


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
        words["sharing"] = "arrays {} by all threads"
        words |= {"zipf_alpha": "alpha {}", "cpu_sets": "threads on any of CPUs {}"}
        parts.append({**names, **words}.get(axis, "{}").format(text))
    return ", ".join(parts)
