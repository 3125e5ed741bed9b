"""The tables of messages: a few pairs one by one, many as a matrix or by the slowest."""

from collections.abc import Sequence
from statistics import median

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tierscope.model.errors import counted
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.evidence import warnings
from tierscope.report.style import fits, new_table, note, title

_FEW = 12
"""Pairs up to which each has a row."""
_SLOWEST = 8
"""Rows of more pairs whose matrix is too wide."""
_LIBRARY_LENGTH = 60


def show_table(console: Console, measured: list[Measurement], _run: Run) -> None:
    """Print a table for each operation, size, window, memory and number of pairs at once."""
    groups: dict[str, list[Measurement]] = {}
    for m in measured:
        groups.setdefault(_what(m), []).append(m)
    for what, members in groups.items():
        values = [m.estimate or 0.0 for m in members]
        unit, factor = figures.scale_of(members[0].unit or "count", values)
        title(console, f"Messages: {what}, {unit}")
        _show(console, members, factor)
    for line in (*warnings(measured), *_limits(measured), *observed(measured)):
        note(console, line)


def _what(m: Measurement) -> str:
    pattern = m.pattern
    memory = pattern.get("memory", "host")
    pairs = pattern.get("pairs", 1)
    parts = [
        f"{pattern.get('operation')} of {figures.size_text(pattern['size'])}",
        f"{pattern['window']} at once" if pattern.get("window") else "",
        "" if memory == "host" else f"in memory of {memory}",
        f"{pairs} pairs at the same time" if pairs > 1 else "",
    ]
    return ", ".join(filter(None, parts))


def _show(console: Console, members: list[Measurement], factor: float) -> None:
    if len(members) <= _FEW:
        console.print(_rows(members, factor))
        return
    matrix = _matrix(members, factor)
    if fits(console, matrix):
        console.print(matrix)
    else:
        slow_first = sorted(members, key=_slowness)
        console.print(_rows(slow_first[:_SLOWEST], factor))
    values = [m.estimate for m in members if m.estimate]
    low, middle, high = (
        figures.significant(value / factor, 3)
        for value in (min(values), median(values), max(values))
    )
    note(console, f"{counted(len(members), 'pair')}: least {low}, median {middle}, most {high}")


def _slowness(m: Measurement) -> float:
    return -(m.estimate or 0.0) if m.unit == "ns" else m.estimate or 0.0


def _rows(members: Sequence[Measurement], factor: float) -> Table:
    limited = any(m.limit for m in members)
    table = new_table()
    for heading in ("source", "destination"):
        table.add_column(heading, overflow="fold")
    table.add_column(str(members[0].metric), justify="right", no_wrap=True)
    if limited:
        table.add_column("of limit", justify="right", no_wrap=True)
    for m in members:
        cells = [m.initiator, m.target, figures.with_interval(m, factor)]
        table.add_row(*map(Text, [*cells, figures.of_limit(m)] if limited else cells))
        for figure in m.figures:
            if figure.part and figure.metric == m.metric:
                source, _, destination = figure.part.partition(">")
                ends = [f"  host:{source}", f"host:{destination}"]
                part = [*ends, figures.with_interval(figure, factor)]
                table.add_row(*map(Text, [*part, ""] if limited else part), style="dim")
    return table


def _matrix(members: Sequence[Measurement], factor: float) -> Table:
    """Return sources down and destinations across."""
    cells = {(m.initiator, m.target): m for m in members}
    sources = list(dict.fromkeys(m.initiator for m in members))
    destinations = list(dict.fromkeys(m.target for m in members))
    table = new_table()
    table.add_column("source", no_wrap=True)
    for name in destinations:
        table.add_column(name.removeprefix("host:"), justify="right", no_wrap=True)
    for source in sources:
        row = [cells.get((source, name)) for name in destinations]
        shown = (Text(figures.plain(m, factor, 3)) if m else Text("·", style="dim") for m in row)
        table.add_row(Text(source.removeprefix("host:")), *shown)
    return table


def _limits(measured: Sequence[Measurement]) -> list[str]:
    found = dict.fromkeys(f"{m.limit.link}: {m.limit.formula}" for m in measured if m.limit)
    return [f"limit: {next(iter(found))}"] if len(found) == 1 else []


def observed(measured: Sequence[Measurement]) -> list[str]:
    """Say which MPI carried the messages, and whether their bytes went over network ports."""
    found = [m.evidence.messages for m in measured if m.evidence and m.evidence.messages]
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
