"""Results in nvbandwidth's text and JSON, so that what reads its output reads ours."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tierscope.model.cause import Cause
from tierscope.model.gpu import MemoryPlace
from tierscope.model.run import Measurement
from tierscope.peers.drop_in import reason_of
from tierscope.peers.nvbandwidth.cells import Cell, Test

Matrix = list[list[float | None]]
_HARDWARE = (Cause.PEER, Cause.GPU_FEATURE)
"""Why cells are skipped that the hardware cannot do: no peer access, no bulk copies."""
_ROW_WIDTH = 2
_CELL_WIDTH = 10


@dataclass
class Outcome:
    """One test case while it runs: its cells and their measurements so far."""

    test: Test
    size: int
    """Number of GPUs: columns of the matrix, and rows where it is square."""
    cells: list[Cell]
    waived: str = ""
    found: dict[str, Measurement] = field(default_factory=dict)
    cut: str = "interrupted"
    """Why some cells have no outcome after the run ended."""

    @property
    def complete(self) -> bool:
        """Whether every cell has an outcome."""
        return all(cell.spec.id in self.found for cell in self.cells)

    @property
    def error(self) -> str:
        """Why a cell that the hardware can measure has no value, or the run ended; else empty."""
        for entry in self.found.values():
            if entry.status == "failed" or (
                entry.status == "skipped" and entry.cause not in _HARDWARE
            ):
                return reason_of(entry) or "failed"
        cut = any(entry.stop == "interrupted" for entry in self.found.values())
        return self.cut if cut or not self.complete else ""

    @property
    def measured(self) -> bool:
        """Whether at least one cell has a value."""
        return any(entry.status == "measured" for entry in self.found.values())

    @property
    def status(self) -> Literal["Passed", "Waived", "Error"]:
        """As nvbandwidth says it: a test case is waived where the hardware can do no cell of it."""
        if self.error:
            return "Error"
        return "Passed" if self.measured else "Waived"

    @property
    def reason(self) -> str:
        """Why it was waived."""
        skipped = [entry for entry in self.found.values() if entry.status == "skipped"]
        return self.waived or (skipped[0].reason if skipped else "")

    def matrices(self, mean: bool) -> list[tuple[str, str, Matrix]]:
        """Key, title and values of each matrix."""
        if self.test.row_a_transfer:
            return [(self.test.name, self.test.title, self._column())]
        found = []
        for number, part in enumerate(self.test.parts or ("",)):
            key = self.test.name + (f"_{part.lower()}" if part else "")
            which = number if part and part != "Total" else None
            found.append((key, self.test.title.format(part), self._matrix(which, mean)))
        return found

    @property
    def labels(self) -> list[str]:
        """Row labels."""
        if self.test.row_a_transfer:
            copies = self.cells[0].transfers
            return [f"{_gpu_of(one.source)}->{_gpu_of(one.destination)}" for one in copies]
        return [str(number) for number in range(self.size if self.test.square else 1)]

    def value(self, cell: Cell) -> Measurement | None:
        """Return the measurement of a cell; None without a value."""
        entry = self.found.get(cell.spec.id)
        return entry if entry is not None and entry.status == "measured" else None

    def _column(self) -> Matrix:
        """Return a row for each transfer of the only cell."""
        entry, copies = self.value(self.cells[0]), self.cells[0].transfers
        return [[None if entry is None else _of_part(entry, one.name) / 1e9] for one in copies]

    def _matrix(self, number: int | None, mean: bool) -> Matrix:
        """Return the values of all cells, or of their transfers of this number."""
        matrix: Matrix = [[None] * self.size for _ in self.labels]
        for cell in self.cells:
            entry = self.value(cell)
            if entry is None:
                continue
            value = entry.estimate or 0.0
            if number is not None:
                value = _of_part(entry, cell.transfers[number].name)
            elif mean and not self.test.parts:  # Parts have medians only, and no samples.
                value = statistics.fmean(entry.samples)
            matrix[cell.row][cell.column] = value if self.test.latency else value / 1e9
        return matrix


def _gpu_of(place: MemoryPlace | int) -> int | None:
    """Return the number of a GPU or rank; None for the host."""
    return place if isinstance(place, int) else getattr(place, "gpu", None)


def _of_part(entry: Measurement, name: str) -> float:
    """bytes/s of one transfer of several."""
    return next(figure.estimate for figure in entry.figures if figure.part == name)


def values_of(matrix: Matrix) -> list[float]:
    """Return the values of a matrix without its gaps."""
    return [value for row in matrix for value in row if value is not None]


def text_of(outcome: Outcome, verbose: bool, mean: bool, perf: bool = False) -> str:
    """Return a test case as text, from ``Running`` to its sum; waived and failed ones say why.

    ``perf`` replaces ``SUM`` by ``&&&& PERF``, as v0.8's ``--perfFormatter`` does.
    """
    name = outcome.test.name
    if outcome.status == "Waived":
        return f"Waived: {name}: {outcome.reason}\n"
    if not outcome.measured:
        return f"Error: {name}: {outcome.error}\n"
    lines = [f"Running {name}."]
    if verbose:
        lines += [line for cell in outcome.cells for line in _samples(outcome, cell)]
    matrices = outcome.matrices(mean)
    for number, (key, title, matrix) in enumerate(matrices, start=1):
        values = values_of(matrix)
        total = f"{sum(values):.2f}"
        head = f"&&&& PERF {key} {total} {_unit(outcome)}" if perf else f"SUM {key} {total}"
        # Of several matrices the last one is that of the totals.
        varies = len(values) > 1 and number == len(matrices) and not outcome.test.latency
        more = _statistics(key, values, verbose, varies) if values else []
        lines += [title, *_table(matrix, outcome.labels), "", head, *more, ""]
    if outcome.error:
        lines += [f"Error: {name}: {outcome.error}", ""]
    return "\n".join(lines) + "\n"


def _table(matrix: Matrix, labels: Sequence[str]) -> list[str]:
    columns = len(matrix[0])
    width = max(_ROW_WIDTH, *map(len, labels))
    head = " " * width + "".join(f"{number:>{_CELL_WIDTH}}" for number in range(columns))
    return [
        head,
        *(
            f"{label:>{width}}" + "".join(f"{_shown(value, '.2f'):>{_CELL_WIDTH}}" for value in row)
            for label, row in zip(labels, matrix, strict=True)
        ),
    ]


def _shown(value: float | None, form: str) -> str:
    return "N/A" if value is None else f"{value:{form}}"


def _statistics(key: str, values: Sequence[float], verbose: bool, variation: bool) -> list[str]:
    """Lines below the sum; of bandwidths, two at least, the coefficient of variation."""
    lines = [f"COEFFICIENT_OF_VARIATION {key} {_variation(values):.2f}"] if variation else []
    if verbose:
        lines += [
            f"MIN {key} {min(values):.2f}",
            f"MAX {key} {max(values):.2f}",
            f"AVG {key} {statistics.fmean(values):.2f}",
        ]
    return lines


def _samples(outcome: Outcome, cell: Cell) -> list[str]:
    """``\\tSample 0: Host -> Device 0: 55.59 GB/s``: each sample of a cell of copies."""
    entry = outcome.value(cell)
    if entry is None or not cell.transfers:
        return []
    first, *others = (transfer for transfer in cell.transfers if transfer.reported)
    ends = (_gpu_of(first.source), _gpu_of(first.destination))
    names = ("Host" if gpu is None else f"Device {gpu}" for gpu in ends)
    way = "Total Bandwidth" if others else " -> ".join(names)
    return [f"\tSample {i}: {way}: {value / 1e9:.2f} GB/s" for i, value in enumerate(entry.samples)]


def _unit(outcome: Outcome) -> str:
    """Return the unit as perf lines write it: a minus where less is better."""
    return "-ns" if outcome.test.latency else "+GB/s"


def _variation(values: Sequence[float]) -> float:
    """Standard deviation over the mean, both of all values, as nvbandwidth v0.9 calculates it."""
    mean = statistics.fmean(values)
    return statistics.pstdev(values) / mean if mean else 0.0


def perf_of(outcome: Outcome, mean: bool) -> str:
    """Return a line a matrix: ``&&&& PERF KEY_sum VALUE +GB/s``; a minus where less is better.

    It is empty where cells are missing that could be measured: a sum of the others would mislead.
    """
    if outcome.status != "Passed":
        return ""
    lines = [
        f"&&&& PERF {key}_sum {sum(values_of(matrix)):.2f} {_unit(outcome)}\n"
        for key, _title, matrix in outcome.matrices(mean)
    ]
    return "".join(lines)


def json_of(outcome: Outcome, verbose: bool, mean: bool) -> dict[str, Any]:
    """Return the entry of ``testcases``; of several matrices the sum is the last one's.

    Without any value it has no matrix and no sum. Beside nvbandwidth's own keys it has ``unit``,
    ``reason`` where there is no value, and ``cells`` with sizes, samples and intervals.
    """
    head: dict[str, Any] = {"name": outcome.test.name, "status": outcome.status}
    if outcome.status == "Waived":
        return {**head, "reason": outcome.reason}
    cells = [_cell_json(outcome, cell) for cell in outcome.cells]
    if not outcome.measured:
        return {**head, "error": outcome.error, "cells": cells}
    matrices = outcome.matrices(mean)
    _key, title, last = matrices[-1]
    values = values_of(last)
    entry = {
        **head,
        "bandwidth_description": title,
        "bandwidth_matrix": [
            [_shown(value, ".6g") for value in row] for _, _, matrix in matrices for row in matrix
        ],
        "sum": sum(values),
        "unit": "ns" if outcome.test.latency else "GB/s",
        "cells": cells,
    }
    if verbose:
        entry |= {"min": min(values), "max": max(values), "average": statistics.fmean(values)}
    if outcome.error:
        entry["error"] = outcome.error
    return entry


def _cell_json(outcome: Outcome, cell: Cell) -> dict[str, Any]:
    entry = outcome.found.get(cell.spec.id)
    place: dict[str, Any] = {"row": cell.row, "column": cell.column}
    if entry is None or entry.status != "measured":
        reason = entry.reason if entry else outcome.cut
        return {**place, "status": entry.status if entry else "skipped", "reason": reason}
    return {
        **place,
        "status": "measured",
        "size_bytes": entry.pattern["size"],
        "estimate": entry.estimate,
        "ci_low": entry.ci_low,
        "ci_high": entry.ci_high,
        "unit": entry.unit,
        "samples": entry.n,
    }
