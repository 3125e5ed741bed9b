"""The tables of a watch: means and peaks, by source of counters."""

from rich.console import Console

from tierscope.analysis.watched import mean_of
from tierscope.model.event import Series
from tierscope.model.run import Measurement, Run
from tierscope.report.figures import seconds_text
from tierscope.report.style import note, title
from tierscope.report.watched import Values, lacking_lines, watched_table


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
    """Return the means over time of what a source told."""
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
