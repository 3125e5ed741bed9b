"""The table of measurements.

What all have in common is said once, above the table; each property that differs has a column, and
so has each figure. A kind adds columns and sentences of its own (``View.columns``, ``View.notes``).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from textwrap import wrap
from typing import Any, Literal

from rich.console import Console
from rich.text import Text

from tierscope.analysis.best import conservative_rank
from tierscope.model.metric import (
    DISTRIBUTIONS,
    OF_ENERGY,
    WHOLE_OPERATIONS,
    heading_of,
)
from tierscope.model.property import properties_of
from tierscope.model.run import Figure, Measurement, Run
from tierscope.report import figures
from tierscope.report.evidence import remarks, show_traces
from tierscope.report.pictures.picture import (
    OF_PATH,
    distinct,
    groups_by,
    is_usual,
    label_of,
    name_of,
    value_of,
    value_text,
    written,
)
from tierscope.report.style import SafeTable, fits, new_table, note, title, whole_words
from tierscope.report.view import Column, View

_WIDE_RANGE = 1e5
"""Ratio of the largest to the least value of a unit from which on each has a unit of its own."""
_HEADING = 12
"""Characters of a line of a figure's heading."""
_LONG = 1e4
"""Times in ns from which on they are shown in µs."""
_NARROW = 16
"""Characters that columns of words have at least where they are wrapped."""
_COLUMNS = 8
"""Columns of a grid from which on rows and columns change places where that makes fewer."""

Intervals = Literal["all", "headline", "none"]
"""Which figures have their interval beside them."""


def show_table(console: Console, measured: list[Measurement], run: Run, view: View) -> None:
    """Print the measured results of one kind, a table for each set of its separate properties."""
    title(console, view.title)
    columns = view.columns(measured, run)
    for members in groups_by(measured, "metric", *view.separate).values():
        show_rows(console, members, view, columns)
    show_notes(console, measured, view.notes(measured, run))


def show_notes(console: Console, measured: list[Measurement], own: Iterable[str]) -> None:
    """Print the sentences of a kind, then what a reader has to know of its figures, each once."""
    for line in dict.fromkeys((*own, *remarks(measured))):
        note(console, line)
    show_traces(console, measured)


def show_rows(
    console: Console,
    members: list[Measurement],
    view: View,
    columns: Sequence[Column] = (),
    told: Sequence[str] = (),
    caption: str = "",
) -> None:
    """Print what measurements of one kind have in common, and a row for each of them.

    ``told`` are properties that are said already; ``caption`` begins the line. Intervals of further
    figures give way where the table is too wide for the console, then the property with the fewest
    values is said above tables of their own.
    """
    same = common(members, view)
    varying = [key for key in properties(members, view) if key not in same]
    words = common_words(members[0], [key for key in same if key not in told])
    if text := ", ".join(filter(None, (caption, words))):
        console.print(Text(text, style="bold" if caption else ""))
    table = _table(members, varying, view, columns, "all")
    if not whole_words(console, table):
        table = _table(members, varying, view, columns, "headline")
    if not whole_words(console, table):
        apart = _apart(members, varying)
        if apart:
            for (value,), group in groups_by(members, apart).items():
                here = label_of(apart, value, group[0].kind)
                show_rows(console, group, view, columns, [*told, *same, apart], here)
            return
        table = _table(members, varying, view, columns, "none")
    console.print(table)


def properties(members: Sequence[Measurement], view: View) -> list[str]:
    """Return the properties that are shown of measurements: their path first, of several targets
    of one initiator those; then their patterns' in order."""
    keys = dict.fromkeys(key for m in members for key in m.pattern)
    fan = len({m.initiator for m in members}) == 1 < len({m.target for m in members})
    path = ["initiator", "target"] if fan and "together" not in keys else ["path"]
    return [*path, *(key for key in keys if key not in (*OF_PATH, *view.hidden))]


def common(members: Sequence[Measurement], view: View) -> list[str]:
    """Return the properties that all of these have in common."""
    keys = properties(members, view)
    return [key for key in keys if len({value_text(m, key) for m in members}) == 1]


def common_words(measurement: Measurement, keys: Sequence[str]) -> str:
    """Say these properties of a measurement, but for values that are usual."""
    return ", ".join(
        label_of(key, value, measurement.kind)
        for key in keys
        for value in [value_of(measurement, key)]
        if value not in (None, "") and not is_usual(key, value, measurement.kind)
    )


def _apart(members: list[Measurement], varying: Sequence[str]) -> str | None:
    """Return the property with the fewest values that leaves several measurements to each."""
    counts = {key: len({value_text(m, key) for m in members}) for key in varying}
    few = [key for key, count in counts.items() if 2 * count <= len(members)]
    return min(few, key=lambda key: counts[key], default=None)


def _table(
    members: Sequence[Measurement],
    varying: Sequence[str],
    view: View,
    columns: Sequence[Column],
    intervals: Intervals,
) -> SafeTable:
    in_rows = _parts_in_rows(members, view)
    shown = _shown(members, view, in_rows)
    own = [column for column in columns if any(column.cell(m) for m in members)]
    table = new_table()
    for key in varying:
        number = any(type(m.pattern.get(key)) in (int, float) for m in members)
        name = name_of(members[0].kind, key)
        _add_column(table, Column(name, lambda m, key=key: value_text(m, key), number), members)  # type: ignore[misc]
    if in_rows:
        table.add_column("of", no_wrap=True)
    for one in shown:
        table.add_column(one.heading, justify="right", no_wrap=True)
        if one.limited:
            table.add_column("of\nlimit", justify="right", no_wrap=True)
    for column in own:
        _add_column(table, column, members)
    for m in members:
        cells = [value_text(m, key) for key in varying]
        parts = list(dict.fromkeys(f.part for f in m.figures if _is_shown(f, view)))
        parts = parts if in_rows else [""]
        for part in parts:
            first = part == parts[0]
            table.add_row(
                *(Text(cell) for cell in (cells if first else [""] * len(cells))),
                *([Text(part or view.whole)] if in_rows else []),
                *(cell for one in shown for cell in _cells(m, one, part, intervals)),
                *(Text(column.cell(m) if first else "", column.style) for column in own),
                style="" if first else "dim",
            )
    return table


def _add_column(table: SafeTable, column: Column, members: Sequence[Measurement]) -> None:
    """Add the heading of a column; long words of these measurements may be wrapped."""
    if column.number:
        table.add_column(column.heading, justify="right", no_wrap=True)
        return
    longest = max(len(column.cell(m)) for m in members)
    table.add_column(column.heading, overflow="fold", min_width=min(longest, _NARROW))


def _parts_in_rows(members: Sequence[Measurement], view: View) -> bool:
    """Whether parts of a whole have rows below it; parts without a whole have columns."""
    return any(
        f.part and f.metric == m.metric and not m.figures[0].part and _is_shown(f, view)
        for m in members
        for f in m.figures
    )


@dataclass(frozen=True)
class _Shown:
    """A column of figures."""

    metric: str
    part: str
    heading: str
    factor: float | None
    """What to divide values by; None: each has a unit of its own."""
    limited: bool
    """Whether limits are known."""


def _shown(members: Sequence[Measurement], view: View, in_rows: bool) -> list[_Shown]:
    found: dict[tuple[str, str], list[Figure]] = {}
    by_unit: dict[str, list[float]] = {}
    headlines = [m.figures[0] for m in members]
    for f in (f for m in members for f in m.figures if _is_shown(f, view)):
        found.setdefault((f.metric, "" if in_rows else f.part), []).append(f)
        if f.metric == headlines[0].metric or f.unit != headlines[0].unit:
            by_unit.setdefault(f.unit, []).append(f.estimate)
    return [
        _column(metric, part, same, by_unit[same[0].unit]) for (metric, part), same in found.items()
    ]


def _is_shown(f: Figure, view: View) -> bool:
    """Whether a figure has a column; energy has a table of its own, times of single operations
    have those percentiles that the kind shows."""
    if f.metric in (*OF_ENERGY, *view.hidden) or f.part in view.hidden:
        return False
    distribution = next((one for one in DISTRIBUTIONS if f.metric.startswith(f"{one}_")), "")
    percentile = f.metric.removeprefix(f"{distribution}_")
    return not distribution or (distribution in WHOLE_OPERATIONS and percentile in view.percentiles)


def _column(metric: str, part: str, same: list[Figure], values: list[float]) -> _Shown:
    heading = "\n".join(wrap(f"{part} {heading_of(metric)}", _HEADING))
    limited = any(f.efficiency is not None for f in same)
    if max(values) > _WIDE_RANGE * max(min(values), 1e-30):
        return _Shown(metric, part, heading, None, limited)
    unit, factor = _scale(same[0].unit, values)
    if unit not in ("count", "ratio", "1/s"):
        heading = f"{heading}\n{unit}"
    elif unit == "1/s" and metric != "iops":
        heading = f"{heading}/s"
    return _Shown(metric, part, heading, factor, limited)


def _scale(unit: str, values: Sequence[float]) -> tuple[str, float]:
    """Return the unit to show values in, and what to divide them by; times from 10 µs on in µs."""
    name, factor = figures.scale_of(unit, list(values))
    return ("µs", 1e3) if name == "ns" and median(values) >= _LONG else (name, factor)


def _cells(m: Measurement, one: _Shown, part: str, intervals: Intervals) -> list[Text]:
    """Return the figure, and its share of the limit where the column has limits."""
    figure = figures.side_figure(m, one.metric, part or one.part)
    limit = figures.of_limit(figure) if figure and figure.efficiency is not None else ""
    return [
        Text(_figure(m, figure, one.factor, intervals)),
        *([Text(limit)] if one.limited else []),
    ]


def _figure(
    m: Measurement, figure: Figure | None, factor: float | None, intervals: Intervals
) -> str:
    if figure is None:
        return ""
    headline = figure is m.headline
    unit = ""
    if factor is None:
        unit, factor = _scale(figure.unit, [figure.estimate])
    beside = intervals == "all" or (headline and intervals == "headline")
    imported = headline and figure.no_interval == "imported"  # which its reader is always told
    if beside and (imported or figures.has_interval(figure)):
        text = figures.with_interval(figure, factor)
    else:
        text = figures.plain(figure, factor, 4 if headline else 3)
    return f"{text} {unit}".rstrip() + figures.mark(m, figure)


@dataclass(frozen=True)
class Grid:
    """Measurements by two properties, in rows and columns; all else is the same."""

    row: str
    column: str
    rows: list[Any]
    columns: list[Any]
    cells: dict[tuple[Any, Any], Measurement]
    same: dict[str, Any]
    """Values of the other properties."""

    @property
    def members(self) -> list[Measurement]:
        """Its measurements."""
        return [*self.cells.values()]

    @property
    def kind(self) -> str:
        """The kind that was measured."""
        return self.members[0].kind


def grids_of(
    measured: list[Measurement], rows: Sequence[str], columns: Sequence[str]
) -> list[Grid]:
    """Split measurements into grids.

    Of ``rows`` and of ``columns``, each in order of preference and together all the properties
    there are, the first that varies is the grid's; whatever else varies splits into several grids.
    """
    keys = list(dict.fromkeys([*rows, *columns]))
    varying = [key for key in keys if len(distinct(measured, key)) > 1]
    column = next((key for key in columns if key in varying), columns[0])
    others = [key for key in rows if key != column]
    row = next((key for key in others if key in varying), others[0])
    if _COLUMNS < len(distinct(measured, column)) > len(distinct(measured, row)):
        row, column = column, row
    rest = [key for key in keys if key not in (row, column)]
    return [
        _grid(members, row, column, dict(zip(rest, values, strict=True)))
        for values, members in groups_by(measured, *rest).items()
    ]


def _grid(members: list[Measurement], row: str, column: str, same: dict[str, Any]) -> Grid:
    cells: dict[tuple[Any, Any], Measurement] = {}
    for m in members:
        cells.setdefault((value_of(m, row), value_of(m, column)), m)
    return Grid(row, column, distinct(members, row), distinct(members, column), cells, same)


@dataclass(frozen=True)
class RowColumn:
    """A further column of a grid: what a row's best figure, and all of the row, come to."""

    heading: str
    text: Callable[[Measurement, list[Measurement], float], str]
    """Of the best, all of the row, and what values are divided by."""
    applies: Callable[[Grid], bool] = lambda _grid: True


OF_LIMIT = RowColumn(
    "of limit",
    lambda best, _row, _factor: "" if best.efficiency is None else figures.of_limit(best),
    lambda grid: any(m.efficiency is not None for m in grid.members),
)


def show_grid(
    console: Console, grid: Grid, caption: str, factor: float, more: Sequence[RowColumn] = ()
) -> None:
    """Print a grid with intervals where they fit, else without, else in pieces."""
    console.print(Text(caption, style="bold"))
    more = [one for one in more if one.applies(grid)]
    table = grid_table(grid, grid.columns, factor, more, intervals=True)
    with_intervals = fits(console, table)
    columns = grid.columns
    while not with_intervals and columns:
        for count in range(len(columns), 0, -1):
            whole = count == len(grid.columns)
            table = grid_table(grid, columns[:count], factor, more if whole else ())
            if fits(console, table) or count == 1:
                break
        columns = columns[count:]
        if columns:
            console.print(table)
    console.print(table)
    if not with_intervals:
        note(console, _widths_text(grid.members))
    limits = [m.limit for m in grid.members if m.limit]
    lines = [f"limit: {figures.limit_text(one)}, {one.link} ({one.formula})" for one in limits]
    for line in dict.fromkeys(lines):
        note(console, line)


def _widths_text(members: Sequence[Measurement]) -> str:
    """Say how wide the intervals of these figures are, of those that have one."""
    widths = sorted(figures.relative_half(m) for m in members if figures.has_interval(m))
    if not widths:
        causes = dict.fromkeys(m.no_interval.replace("-", " ") for m in members if m.no_interval)
        return f"no intervals: {', '.join(causes)}" if causes else "no intervals"
    without = len(members) - len(widths)
    return (
        "95% intervals: half of the figures within "
        f"{figures.width_text(widths[len(widths) // 2])}, "
        f"the widest {figures.width_text(widths[-1])}"
        + (f"; {without} without an interval" if without else "")
    )


def grid_table(
    grid: Grid,
    columns: Sequence[Any],
    factor: float,
    more: Sequence[RowColumn] = (),
    intervals: bool = False,
) -> SafeTable:
    """Return some columns of a grid as a table; the best of each row stands out."""
    table = new_table()
    ends = (grid.row, grid.column) == ("initiator", "target")
    table.add_column("from \\ to" if ends else name_of(grid.kind, grid.row), no_wrap=True)
    for column in columns:
        text = _label(grid.column, column, grid.kind)
        if grid.column == "threads":
            text += " thr."
        elif len(grid.columns) > _COLUMNS:
            text = text.replace(" ", "\n")
        table.add_column(text, justify="right", no_wrap=True)
    for one in more:
        table.add_column(one.heading, justify="right", no_wrap=True)
    for row in grid.rows:
        in_row = [cell for c in grid.columns if (cell := grid.cells.get((row, c)))]
        best = max(in_row, key=conservative_rank)
        marked = best if len(in_row) > 1 else None
        cells = [grid.cells.get((row, column)) for column in columns]
        table.add_row(
            Text(_label(grid.row, row, grid.kind)),
            *(_grid_cell(cell, factor, intervals, cell is marked) for cell in cells),
            *(Text(one.text(best, in_row, factor), style="dim") for one in more),
        )
    return table


def _grid_cell(cell: Measurement | None, factor: float, interval: bool, best: bool) -> Text:
    if cell is None:
        return Text("·", style="dim")
    text = figures.with_interval(cell, factor) if interval else figures.plain(cell, factor, 3)
    return Text(text + figures.mark(cell), style="bold green" if best else "")


def _label(key: str, value: Any, kind: str) -> str:
    return "-" if value in (None, "") else written(properties_of(kind).get(key), value)
