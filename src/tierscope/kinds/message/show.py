"""The tables of messages: a few pairs one by one, many as a matrix or by the slowest."""

from collections.abc import Sequence
from statistics import median

from rich.console import Console

from tierscope.analysis.best import conservative_rank
from tierscope.kinds.message.spec import MessageEvidence
from tierscope.model.errors import counted
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.pictures.picture import groups_by, scale_of
from tierscope.report.style import fits, note, title
from tierscope.report.table import (
    common_words,
    grid_table,
    grids_of,
    properties,
    show_grid,
    show_notes,
    show_rows,
)
from tierscope.report.view import View

_FEW = 12
"""Pairs up to which each has a row."""
_SLOWEST = 8
"""Rows of more pairs whose matrix is too wide."""
_LIBRARY_LENGTH = 60


def show_table(console: Console, measured: list[Measurement], _run: Run) -> None:
    """Print a table for each operation, size, window, memory and number of pairs at once."""
    title(console, VIEW.title)
    apart = [key for key in properties(measured, VIEW) if key != "path"]
    for members in groups_by(measured, "metric", *apart).values():
        if len(members) <= _FEW:
            show_rows(console, members, VIEW)
        else:
            _show_many(console, members, common_words(members[0], apart))
    show_notes(console, measured, (*_limits(measured), *observed(measured)))


def _show_many(console: Console, members: list[Measurement], what: str) -> None:
    """Print the matrix of many pairs; the slowest ones where that is too wide."""
    unit, factor = scale_of(members)
    (grid,) = grids_of(members, ["initiator"], ["target"])
    if fits(console, grid_table(grid, grid.columns, factor)):
        show_grid(console, grid, f"{what}, {unit}", factor)
    else:
        show_rows(console, sorted(members, key=conservative_rank)[:_SLOWEST], VIEW)
    values = [m.estimate for m in members if m.estimate]
    low, middle, high = (
        figures.significant(value / factor, 3)
        for value in (min(values), median(values), max(values))
    )
    note(
        console,
        f"{counted(len(members), 'pair')}, {unit}: least {low}, median {middle}, most {high}",
    )


def _limits(measured: Sequence[Measurement]) -> list[str]:
    found = dict.fromkeys(f"{m.limit.link}: {m.limit.formula}" for m in measured if m.limit)
    return [f"limit: {next(iter(found))}"] if len(found) == 1 else []


def observed(measured: Sequence[Measurement]) -> list[str]:
    """Say which MPI carried the messages, and whether their bytes went over network ports."""
    each = [m.evidence.own(MessageEvidence).messages for m in measured if m.evidence]
    found = [one for one in each if one]
    if not found:
        return []
    library = found[0].mpi
    if len(library) > _LIBRARY_LENGTH:
        library = library[:_LIBRARY_LENGTH].rpartition(",")[0] or library[:_LIBRARY_LENGTH]
    shares = [
        one.wire_bytes / one.bytes for one in found if one.wire_bytes is not None and one.bytes
    ]
    if not shares:
        way = "no network port tells what it sent"
    elif min(shares) >= 1:
        way = f"the hosts' ports sent {_range(shares)} bytes for each byte of a message"
    elif max(shares) < 1:
        way = (
            "the hosts' ports sent less than the messages: they took another way, as shared memory"
        )
    else:
        way = (
            f"the ports sent less than the messages in {sum(share < 1 for share in shares)} of "
            f"{len(shares)}: those took another way, as shared memory"
        )
    return [f"observed: {library}; {way}; contents verified"]


def _range(shares: Sequence[float]) -> str:
    low, high = (figures.significant(value, 3) for value in (min(shares), max(shares)))
    return low if low == high else f"{low} to {high}"


def summary_of(measured: list[Measurement]) -> str:
    """Return what was measured, and the best figure of each metric."""
    parts = []
    for metric, best in (("latency", min), ("bandwidth", max)):
        values = [m.estimate for m in measured if m.metric == metric and m.estimate]
        if values:
            unit, factor = figures.scale_of("ns" if metric == "latency" else "B/s", values)
            figure = figures.significant(best(values) / factor, 3)
            parts.append(f"{'least' if best is min else 'most'} {metric} {figure} {unit}")
    return f"messages: {', '.join(parts)}"


VIEW = View(
    title="Messages",
    method="Two ranks of an MPI program exchange messages. Latency: half the time from sending a "
    "message to its answer of the same size. Bandwidth: a window of messages is under way at once, "
    "and the destination answers each window with one byte. Medians and their 95% intervals.",
    endpoints=("source", "destination"),
    table=show_table,
    represents_path=False,
    summary=summary_of,
)
