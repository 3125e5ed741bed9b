"""The tables of loaded latency: a curve for each path and load."""

from rich.console import Console
from rich.text import Text

from tierscope.analysis.curve import Summary
from tierscope.kinds.loaded_latency.by_threads import show_thread_tables
from tierscope.kinds.loaded_latency.metrics import summaries
from tierscope.kinds.loaded_latency.points import (
    by_load,
    curves_of,
    delay_of,
    load_threads,
    sound,
    summary_of_curve,
)
from tierscope.kinds.loaded_latency.words import DRIFT, chase_text, lines_of
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.evidence import evidence_line, warnings
from tierscope.report.style import new_table, note, title
from tierscope.report.summaries import show_summaries
from tierscope.report.view import Side

_PERCENTILES = ("p50", "p90", "p99", "p99.9")
_RATE, _ON_BUS = "bandwidth", "bandwidth_with_write_allocate"
_GB = 1e9


def show_table(console: Console, measured: list[Measurement], run: Run) -> None:
    """Print a curve for each path, mix and load."""
    title(console, "Latency under load, GB/s and ns")
    show_thread_tables(console, measured)
    for members in curves_of(measured):
        _show_curve(console, members)
    for line in filter(None, (*warnings(measured), evidence_line(measured))):
        note(console, line)
    timers = [m.evidence.timer_ns or 0.0 for m in measured if m.evidence]
    if timers:
        note(
            console,
            "bandwidth: bytes that the load moved during the chase, as the program counts them; "
            f"percentiles: loads timed one by one, including the timer's own {max(timers):.0f} ns",
        )
    show_summaries(console, summaries([Side(run.header.name, run, measured)]))


def _show_curve(console: Console, members: list[Measurement]) -> None:
    first = next((m for m in members if load_threads(m)), members[0])
    console.print(Text(_caption(first), style="bold"))
    summary = summary_of_curve(members)
    bus = any(
        figures.figure_of(m, _ON_BUS) not in (None, figures.figure_of(m, _RATE)) for m in members
    )
    table = new_table()
    table.add_column("bandwidth", justify="right", no_wrap=True)
    if bus:
        table.add_column("on the bus", justify="right", no_wrap=True)
    table.add_column("latency", justify="right", no_wrap=True)
    percentiles = [name for name in _PERCENTILES if any(_percentile(m, name) for m in members)]
    for name in percentiles:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(
        "inject" if "inject" in first.pattern else "delay", justify="right", no_wrap=True
    )
    table.add_column("")  # Gives way where the table is too wide.
    kept = {m.id for m in sound(members)}
    for measurement in by_load(members):
        cells = [Text(_side(measurement, _RATE, _GB) or "idle")]
        if bus:
            cells.append(Text(_side(measurement, _ON_BUS, _GB), style="dim"))
        cells.append(Text(figures.with_interval(measurement, 1.0)))
        for name in percentiles:
            cells.append(Text(_percentile(measurement, name), style="dim"))
        delay = delay_of(measurement)
        cells.append(Text("" if delay is None else str(delay), style="dim"))
        cells.append(_mark(measurement, summary if measurement.id in kept else None))
        table.add_row(*cells)
    console.print(table)
    if summary:
        fallen = falls(sound(members), summary.drift)
        for line in [*lines_of(members, summary), *fallen]:
            note(console, line)
        if fallen and summary.knee:
            note(console, "do not rely on the knee of such a curve")
        if left_out := _left_out(members):
            note(console, left_out)


def _percentile(measurement: Measurement, name: str) -> str:
    return _side(measurement, f"latency_{name}", 1.0)


def _side(measurement: Measurement, metric: str, factor: float) -> str:
    found = figures.side_figure(measurement, metric)
    return figures.plain(found, factor) if found else ""


def _left_out(members: list[Measurement]) -> str:
    kept = {m.id for m in sound(members)}
    dropped = [m for m in members if delay_of(m) is not None and m.id not in kept]
    return f"{len(dropped)} disturbed points are left out of these lines" if dropped else ""


def _mark(measurement: Measurement, summary: Summary | None) -> Text:
    marks = []
    delay = delay_of(measurement)
    if summary and delay is not None:
        if summary.knee and delay == summary.knee.delay_ns:
            marks.append("knee")
        if delay == summary.peak.delay_ns:
            marks.append("saturation" if summary.saturated else "highest")
    text = Text(", ".join(marks), style="bold green")
    if doubts := _doubts(measurement):
        text.append(", " if marks else "").append(", ".join(doubts), style="bold yellow")
    return text


_DOUBTS = {"unsettled": "did not settle", "disturbed": "was disturbed by other programs"}


def _doubts(measurement: Measurement) -> list[str]:
    """Return what a measurement's evidence says against its figure."""
    evidence = measurement.evidence
    found = {
        "unsettled": evidence is not None and evidence.settled is False,
        "disturbed": evidence is not None and bool(evidence.disturbed),
    }
    return [doubt for doubt, applies in found.items() if applies]


def falls(members: list[Measurement], drift: float) -> list[str]:
    """Say where latency falls although the load rises, beyond both intervals, and why.

    ``members`` are the points of one curve; ``drift`` is the spread of its idle controls. A point
    without an interval shows no fall.
    """
    lines = []
    highest: Measurement | None = None
    named: Measurement | None = None
    for m in by_load(members):
        if delay_of(m) is None or m.estimate is None or m.ci_low is None or m.ci_high is None:
            continue
        if highest is not None and highest is not named and m.ci_high < (highest.ci_low or 0.0):
            named = highest
            found = [
                f"the point at delay {delay_of(point)} "
                + " and ".join(_DOUBTS[doubt] for doubt in doubts)
                for point in (highest, m)
                if (doubts := _doubts(point))
            ]
            if not found and drift > DRIFT:
                found = [f"idle controls differ by {drift:.0%}: the machine changed meanwhile"]
            why = "; ".join(found) or "unexplained, measure again"
            lines.append(
                f"latency falls from {highest.estimate or 0.0:.0f} to {m.estimate:.0f} ns although "
                f"the load rises (delays {delay_of(highest)} and "
                f"{delay_of(m)} ns): {why}"
            )
        if highest is None or m.ci_low > (highest.ci_low or 0.0):
            highest = m
    return lines


def _caption(measurement: Measurement) -> str:
    """Say what all points of a curve have in common; other programs' figures lack some of it."""
    pattern = measurement.pattern
    threads = pattern.get("load_threads")
    load = str(pattern.get("mix", ""))
    if threads:
        load += f" by {threads} thread{'s' if threads != 1 else ''}"
    if pattern.get("load_from", measurement.initiator) != measurement.initiator:
        load += f" of {pattern['load_from']}"
    if pattern.get("load_to", measurement.target) != measurement.target:
        load += f" on {pattern['load_to']}"
    if pattern.get("load_order", "sequential") != "sequential":
        load += f", {pattern['load_order']}"
    path = f"{measurement.initiator} → {measurement.target}"
    chase = chase_text(pattern)
    return f"{path}, {chase}; load {load}" if chase else f"{path}, load {load}"
