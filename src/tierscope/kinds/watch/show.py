"""The tables of a watch: means and peaks, by source of counters."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console

from tierscope.analysis.watched import mean_of
from tierscope.model.event import Column, Series
from tierscope.model.metric import METRICS, heading_of
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.figures import seconds_text
from tierscope.report.pictures import generic, shapes
from tierscope.report.pictures.picture import Picture, PictureInput, slug
from tierscope.report.style import note, title
from tierscope.report.view import View
from tierscope.report.watch import (
    Values,
    lacking_lines,
    places_of,
    title_of,
    value_text,
    watched_table,
)

_MAX_POINTS = 200
"""Points of a line; longer series show means of several intervals."""
_MOST_MARKED = 60
"""Points of a line up to which they are marked; more would touch each other."""
_MAX_LINES = 6
_UNDRAWN = ("memory_free",)
"""Metrics that another one shows already."""


def show_table(console: Console, measured: list[Measurement], _run: Run) -> None:
    """Print what was watched, and which counters could not be read."""
    for m in measured:
        every = f"read every {m.pattern['interval_s']:g} s"
        title(console, f"Watched: {m.pattern['watched']} ({m.initiator}, {m.target}), {every}")
        for series in m.series or []:
            console.print(
                watched_table(series.name, {"mean": means(series), "peak": peaks(series)})
            )
        for line in lacking_lines((m.evidence and m.evidence.lacking) or []):
            note(console, line)


def means(series: Series) -> Values:
    """Return the means over time of a source."""
    found = {(c.metric, c.part): mean_of(series, c) for c in series.columns}
    return {key: value for key, value in found.items() if value is not None}


def peaks(series: Series) -> Values:
    """Return the largest values, each of one interval."""
    found = {(c.metric, c.part): [v for v in c.values if v is not None] for c in series.columns}
    return {key: max(values) for key, values in found.items() if values}


def seconds_of(measurement: Measurement) -> float:
    """Return how long a measurement watched, without gaps."""
    first = (measurement.series or [])[:1]
    return sum(duration for series in first for duration in series.durations)


def summary_of(measured: list[Measurement]) -> str:
    """Return what was watched and for how long."""
    m = measured[0]
    seconds = seconds_text(seconds_of(m))
    return f"{m.pattern['watched']} watched for {seconds}, every {m.pattern['interval_s']:g} s"


def over_time(given: PictureInput) -> Iterator[Picture]:
    """Yield a picture for each metric, with a line for each place that is not all zero."""
    for m in given.measured:
        for series in m.series or []:
            for metric in dict.fromkeys(column.metric for column in series.columns):
                columns = _drawn(series, metric)
                if columns and metric not in _UNDRAWN:
                    yield _picture(m, series, metric, columns)


def _drawn(series: Series, metric: str) -> list[Column]:
    """Return the columns with the largest sums, in the order of the table."""
    places = places_of((c.metric, c.part) for c in series.columns if c.metric == metric)
    found = [
        column
        for column in series.columns
        if column.metric == metric and column.part in places and any(column.values)
    ]
    most = sorted(found, key=lambda column: -sum(v or 0 for v in column.values))[:_MAX_LINES]
    return [column for column in found if column in most]


def without_rows(given: PictureInput) -> list[Picture]:
    """Return generic bars of records without time series, such as imported ones."""
    without = [m for m in given.measured if not m.series]
    return generic.bars(replace(given, measured=without))


def _picture(m: Measurement, series: Series, metric: str, columns: Sequence[Column]) -> Picture:
    unit, factor = _scale(metric, [max(v for v in c.values if v is not None) for c in columns])
    rows = [row for column in columns for row in _rows(series, column, unit, factor)]
    end = series.starts[-1] + series.durations[-1]
    spec = shapes.curves(rows, shapes.axis("x", "time, s", (0, end)), shapes.from_zero(unit))
    where = f", {columns[0].part}" if len(columns) == 1 and columns[0].part else ""
    mean, peak = means(series), peaks(series)
    said = [
        f"{column.part or 'all'}: mean {value_text(metric, mean[key])}, "
        f"peak {value_text(metric, peak[key])}"
        for column in columns[:4]
        if (key := (metric, column.part)) in mean
    ]
    return Picture(
        key=slug(f"watch {series.name} {metric}"),
        title=f"{title_of(series.name)}: {heading_of(metric)}",
        subtitle=f"{m.pattern['watched']}{where}, every {m.pattern['interval_s']:g} s",
        alt=f"{'; '.join(said)}.",
        spec=shapes.without_points(spec) if len(rows) / len(columns) > _MOST_MARKED else spec,
        measurements=[m],
    )


def _rows(series: Series, column: Column, unit: str, factor: float) -> Iterator[dict[str, Any]]:
    """Yield points in the middle of their intervals, or of as many as make one point."""
    bunch = -(-len(series.starts) // _MAX_POINTS)
    for at in range(0, len(series.starts), bunch):
        found = [
            (start, length, value)
            for start, length, value in zip(
                series.starts[at : at + bunch],
                series.durations[at : at + bunch],
                column.values[at : at + bunch],
                strict=True,
            )
            if value is not None
        ]
        total = sum(length for _, length, _ in found)
        if total <= 0:
            continue
        value = sum(length * value for _, length, value in found) / total / factor
        name = column.part or "all"
        middle = (found[0][0] + found[-1][0] + found[-1][1]) / 2
        yield {
            "x": round(middle, 3),
            "value": value,
            "low": value,
            "high": value,
            "series": name,
            "doubtful": False,
            "tip": f"{name}, {middle:.1f} s: {figures.significant(value, 3)} {unit}",
        }


def _scale(metric: str, values: list[float]) -> tuple[str, float]:
    unit = METRICS[metric].unit
    if unit == "ratio":
        return "%", 0.01
    return figures.scale_of(unit, [max(values)])


VIEW = View(
    title="Watch",
    method="Counters of the kernel and of drivers are read at intervals; rates are differences "
    "over the counters' own time. Means over the time and the largest interval, of the machine "
    "and whatever ran on it.",
    table=show_table,
    pictures=(over_time, without_rows),
    represents_path=False,
    summary=summary_of,
    more_by="--duration",
)
