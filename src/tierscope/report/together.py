"""Runs of hosts that share a device, side by side: together and alone."""

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from tierscope.analysis.together import HostFigure, SharedFigure, SharedHost, Together
from tierscope.report import figures
from tierscope.report.pictures.picture import label_of
from tierscope.report.style import new_table, note, title

COHERENCE = (
    "Coherence is up to software: unless the device keeps caches coherent, a host sees what "
    "another one wrote only after that one has written its caches back and this one has dropped "
    "its own. These figures are of traffic and say nothing of it."
)
_FEW = 0.9
"""Overlap below which figures are not those of hosts at the same time."""


def show_together(console: Console, groups: list[Together]) -> None:
    """Print each group of runs that began together."""
    for group in groups:
        names = ", ".join(host.host for host in group.hosts)
        title(console, f"Hosts that began at {group.start_at}: {names}")
        table = new_table()
        for column in headings(group):
            table.add_column(column, justify="right" if column != "measurement" else "left")
        for row in rows(group):
            table.add_row(*map(Text, row))
        console.print(table)
        for line in lines(group):
            note(console, line)


def headings(group: Together) -> list[str]:
    """Return the names of the columns."""
    each = [f"{host.host}, {how}" for host in group.hosts for how in ("alone", "together")]
    return ["measurement", *each, "sum alone", "sum together", "at the same time"]


def rows(group: Together) -> Iterator[list[str]]:
    """Yield the cells of each measurement that all hosts made."""
    for figure in group.figures:
        unit, factor = figures.scale_of(figure.unit, [host.together for host in figure.hosts])
        cells = [cell for host in figure.hosts for cell in _cells(host, factor)]
        sums = [_number(value, factor) for value in (figure.total_alone, figure.total_together)]
        overlaps = [host.overlap for host in figure.hosts if host.overlap is not None]
        overlap = figures.share_text(min(overlaps)) if overlaps else "unknown"
        yield [f"{_name(figure)}, {unit}", *cells, *sums, overlap]


def lines(group: Together) -> list[str]:
    """Return what has to be known of the table: clocks, lateness, overlap, coherence."""
    found = [text for host in group.hosts if (text := _clock(host))]
    found += [
        f"{host.host} began {host.late_s:.3g} s late"
        for host in group.hosts
        if host.late_s is not None and host.late_s > 0.1
    ]
    if any(host.overlap is not None and host.overlap < _FEW
           for figure in group.figures for host in figure.hosts):  # fmt: skip
        found.append(
            "at the same time: the share of a host's visits in which the others visited the same; "
            "where it is low, ask each command for one measurement, with the same --budget"
        )
    return [*found, COHERENCE]


def _name(figure: SharedFigure) -> str:
    shown = ("operation", "mix", "order", "threads", "size")
    words = [
        label_of(key, figure.pattern[key])
        for key in shown
        if key in figure.pattern and figure.pattern[key] != "sequential"
    ]
    return ", ".join([f"{figure.kind} {figure.initiator} → {figure.target}", *words])


def _cells(host: HostFigure, factor: float) -> list[str]:
    change = f" ({host.together / host.alone - 1:+.1%})" if host.alone else ""
    return [_number(host.alone, factor), f"{_number(host.together, factor)}{change}"]


def _number(value: float | None, factor: float) -> str:
    return "–" if value is None else figures.significant(value / factor, 3)


def _clock(host: SharedHost) -> str:
    if host.clock is None:
        return f"{host.host}: nothing is known of its clock"
    if not host.clock.synchronized:
        return f"{host.host}: its clock is not synchronized, so the moment may be another one"
    return f"{host.host}: clock synchronized, off by at most {host.clock.max_error_s or 0:.2g} s"
