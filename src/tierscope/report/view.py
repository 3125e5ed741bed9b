"""How a kind of measurement is shown: data where that is enough, functions where it is not.

A kind's ``show.py`` makes one. ``report/`` knows no kind: its callers hand it the views by name.
A kind without a view, as in a file of a later version, is shown in the generic way.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from tierscope.model.run import Measurement, Run
from tierscope.report.pictures import generic
from tierscope.report.pictures.picture import Picture, PictureInput

Table = Callable[[Console, list[Measurement], Run], None]
"""Prints the measured results of one kind, at least one, with a title above them."""
Draw = Callable[[PictureInput], Iterable[Picture]]

GENERIC_PICTURES: tuple[Draw, ...] = (generic.matrices, generic.size_sweeps, generic.bars)
_METHOD = "Median of all samples and its 95% interval; see docs/method.md for how each is made."


@dataclass(frozen=True)
class KeyFigure:
    """One of the few figures that a report shows large."""

    label: str
    """What it is: "Peak bandwidth"."""
    value: str
    unit: str
    detail: str
    """Where it was measured, and with what."""
    alarming: bool = False


@dataclass(frozen=True)
class Side:
    """One of several runs that are shown beside each other, or the only one."""

    name: str
    """What to call the run."""
    run: Run
    measured: list[Measurement]
    """Its results of one kind that have a figure."""


@dataclass(frozen=True)
class Summary:
    """A table of what many figures come to, as text."""

    title: str
    columns: list[str]
    """Headings; columns but the first are numbers."""
    rows: list[list[str]]
    notes: list[str]
    words: Sequence[str] = ()
    """Headings of further columns that are no numbers."""


@dataclass(frozen=True)
class Column:
    """A column of a table of measurements."""

    heading: str
    cell: Callable[[Measurement], str]
    number: bool = True
    """Numbers stand at the right end of their column and are never wrapped."""
    style: str = ""


@dataclass(frozen=True)
class View:
    """What tables, pictures and reports know of one kind."""

    title: str
    """Heads the kind's table, pictures and section: "GPU copies"."""
    method: str = _METHOD
    """How the figures are made, in one line."""
    hidden: tuple[str, ...] = ()
    """Properties that others of the same measurement already say; metrics and parts that have no
    column."""
    separate: tuple[str, ...] = ()
    """Properties whose values have tables of their own."""
    endpoints: tuple[str, str] = ("initiator", "target")
    """What the two ends of its paths are called."""
    percentiles: tuple[str, ...] = ("p50", "p99", "p99.9")
    """Of the times of single operations, those that have a column."""
    whole: str = "all"
    """What a figure is of that has parts: all of them together, or the first of several."""
    columns: Callable[[list[Measurement], Run], list[Column]] = lambda _measured, _run: []
    """Returns columns of its table beside those of properties and figures."""
    notes: Callable[[list[Measurement], Run], Iterable[str]] = lambda _measured, _run: ()
    """Returns sentences below its table."""
    table: Table | None = None
    """Prints its results where a row a measurement does not do."""
    pictures: tuple[Draw, ...] = GENERIC_PICTURES
    """Draw its pictures, in this order."""
    more: Callable[[Run], Mapping[str, object]] | None = None
    """Returns what a run's JSON has beside ``run`` and ``results``, where that is anything."""
    summaries: Callable[[Sequence[Side]], list[Summary]] | None = None
    """Returns tables of what its figures come to together, of one run or of several beside each
    other."""
    beside: Callable[[Sequence[Side]], list[Picture]] | None = None
    """Draws several runs beside each other, on the same axes."""
    more_by: str = "--budget"
    """Option of its command by which its figures get more samples."""
    represents_path: bool = True
    """Its figures stand for their paths in the summary and in the table of paths. Where False,
    ``summary`` speaks for the kind."""
    summary: Callable[[list[Measurement]], str] | None = None
    """A clause for the first sentence of the summary, from the kind's measured results."""
    access: Callable[[Measurement], tuple[str, str] | None] | None = None
    """Returns who accesses which memory, where that is not the path as it is named; None: nobody.
    Tells tiers apart."""
    latency: Callable[[Measurement], Measurement | None] | None = None
    """Returns the idle latency of its path that a measurement with another headline stands for, as
    a measurement of the metric latency; None of one that stands for none."""
    key_figure: Callable[[list[Measurement]], KeyFigure | None] | None = None
    """What a report shows large of the kind's measured results, beside the best bandwidth and
    latency of all kinds."""

    def accesses(self, measurement: Measurement) -> tuple[str, str] | None:
        """Return who accesses which memory in one of the kind's measurements."""
        if self.access is not None:
            return self.access(measurement)
        return (measurement.initiator, measurement.target) if self.represents_path else None


Views = Mapping[str, View]
"""By the kinds' names, in the order shown."""


def more_of(run: Run, views: Views) -> dict[str, Any]:
    """Return what a run's JSON has beside ``run`` and ``results``, of all its kinds."""
    found: dict[str, Any] = {}
    for kind in kinds_in(run, views):
        more = view_of(views, kind).more
        found |= more(run) if more else {}
    return found


def sides_of(runs: Sequence[tuple[str, Run]], kind: str) -> list[Side]:
    """Return the results of a kind of those runs that have any, each with the run's name."""
    found = []
    for name, run in runs:
        measured = [m for m in run.measurements if m.kind == kind and m.estimate is not None]
        if measured:
            found.append(Side(name, run, measured))
    return found


def summaries_of(runs: Sequence[tuple[str, Run]], views: Views) -> dict[str, list[Summary]]:
    """Return the tables of what the figures of these runs come to together, by kind."""
    found: dict[str, list[Summary]] = {}
    for kind, view in views.items():
        sides = sides_of(runs, kind)
        if view.summaries and sides and (tables := view.summaries(sides)):
            found[kind] = tables
    return found


def view_of(views: Views, kind: str) -> View:
    """Return a kind's view, or one that suits any kind."""
    return views.get(kind) or View(kind.replace("-", " ").capitalize())


def kinds_in(run: Run, views: Views) -> list[str]:
    """Return the kinds that a run has, those with a view first and in the views' order."""
    present = dict.fromkeys(measurement.kind for measurement in run.measurements)
    known = [kind for kind in views if kind in present]
    return known + [kind for kind in present if kind not in views]
