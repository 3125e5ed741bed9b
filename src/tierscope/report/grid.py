"""Turn measurements of one kind into grids: which two things vary becomes rows and columns."""

from collections.abc import Callable
from dataclasses import dataclass

from tierscope.model.run import Measurement

_NAMES = {
    "access_size": "access size",
    "size": "working set",
    "isa": "instructions",
}


@dataclass(frozen=True)
class Axis:
    """One thing that measurements may differ in."""

    key: str
    numeric: bool = False

    def of(self, measurement: Measurement) -> str | int:
        """Return the measurement's value on this axis."""
        if self.key == "path":
            return f"{measurement.initiator} → {measurement.target}"
        value = measurement.pattern.get(self.key)
        if value is None:
            return -1 if self.numeric else ""
        return int(value) if self.numeric else str(value)

    @property
    def name(self) -> str:
        """Return what people call it."""
        return _NAMES.get(self.key, self.key)


@dataclass(frozen=True)
class Grid:
    """Measurements in rows and columns; what is the same in all of them stands apart."""

    constant: dict[str, str | int]
    """Value of each axis that does not vary here."""
    row: Axis
    column: Axis
    rows: list[str | int]
    columns: list[str | int]
    cells: dict[tuple[str | int, str | int], Measurement]


def make_grids(
    measurements: list[Measurement], rows: list[Axis], columns: list[Axis], most_columns: int
) -> list[Grid]:
    """Split measurements into grids.

    Of ``rows`` and of ``columns``, each in order of preference and together all the axes there
    are, the first that varies is the grid's; whatever else varies splits into several grids.
    """
    axes = list(dict.fromkeys([*rows, *columns]))
    varying = [axis for axis in axes if len({axis.of(m) for m in measurements}) > 1]
    column = next((axis for axis in columns if axis in varying), columns[0])
    row = next((axis for axis in rows if axis in varying and axis != column), None)
    if row is None:
        row = next(axis for axis in rows if axis != column)
    if most_columns < _count(column, measurements) > _count(row, measurements):
        row, column = column, row
    rest = [axis for axis in axes if axis not in (row, column)]
    grids: dict[tuple[str | int, ...], list[Measurement]] = {}
    for measurement in measurements:
        key = tuple(axis.of(measurement) for axis in rest)
        grids.setdefault(key, []).append(measurement)
    return [
        _grid(
            members, row, column, {axis.key: value for axis, value in zip(rest, key, strict=True)}
        )
        for key, members in grids.items()
    ]


def _count(axis: Axis, measurements: list[Measurement]) -> int:
    return len({axis.of(measurement) for measurement in measurements})


def _grid(
    members: list[Measurement], row: Axis, column: Axis, constant: dict[str, str | int]
) -> Grid:
    cells: dict[tuple[str | int, str | int], Measurement] = {}
    for measurement in members:
        cells.setdefault((row.of(measurement), column.of(measurement)), measurement)
    return Grid(
        constant=constant,
        row=row,
        column=column,
        rows=_ordered(row, members),
        columns=_ordered(column, members),
        cells=cells,
    )


def _ordered(axis: Axis, members: list[Measurement]) -> list[str | int]:
    values = list(dict.fromkeys(axis.of(member) for member in members))
    order: Callable[[str | int], int] = lambda value: value if isinstance(value, int) else 0  # noqa: E731
    return sorted(values, key=order) if axis.numeric else values
