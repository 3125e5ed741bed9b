"""The tables of loaded latency: a curve for each path and load."""

from rich.console import Console
from rich.text import Text

from tierscope.analysis.curve import Summary, summarize
from tierscope.kinds.loaded_latency.points import curves_of, idle_latencies, loaded_points, sound
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.evidence import evidence_line, warnings
from tierscope.report.naming import described
from tierscope.report.style import new_table, note, title

_PERCENTILES = ("p50", "p90", "p99", "p99.9")
_DRIFT = 0.05
"""Spread of the idle controls from which on the machine has changed during a curve."""
_GB = 1e9


def show_table(console: Console, measured: list[Measurement], _run: Run) -> None:
    """Print a curve for each path, mix and load."""
    title(console, "Latency under load, GB/s and ns")
    for members in curves_of(measured):
        _show_curve(console, members)
    for line in filter(None, (*warnings(measured), evidence_line(measured))):
        note(console, line)
    timer = max((m.evidence.timer_ns or 0.0) for m in measured if m.evidence)
    note(
        console,
        "bandwidth: bytes that the load moved during the chase, as the program counts them; "
        f"percentiles: loads timed one by one, including the timer's own {timer:.0f} ns",
    )


def _show_curve(console: Console, members: list[Measurement]) -> None:
    first = next((m for m in members if m.pattern["load_threads"]), members[0])
    console.print(Text(_caption(first), style="bold"))
    points = loaded_points(members)
    summary = summarize(points, idle_latencies(members)) if points else None
    bus = any(_on_bus(m) != _bandwidth(m) for m in members)
    table = new_table()
    table.add_column("bandwidth", justify="right", no_wrap=True)
    if bus:
        table.add_column("on the bus", justify="right", no_wrap=True)
    table.add_column("latency", justify="right", no_wrap=True)
    for name in _PERCENTILES:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("delay", justify="right", no_wrap=True)
    table.add_column("")  # Gives way where the table is too wide.
    kept = {m.id for m in sound(members)}
    for measurement in _ordered(members):
        load = _bandwidth(measurement)
        cells = [Text("idle" if load is None else f"{load / _GB:.4g}")]
        if bus:
            moved = _on_bus(measurement)
            cells.append(Text("" if moved is None else f"{moved / _GB:.4g}", style="dim"))
        cells.append(Text(figures.with_interval(measurement, 1.0)))
        for name in _PERCENTILES:
            value = figures.figure_of(measurement, f"latency_{name}")
            cells.append(Text("" if value is None else f"{value:.0f}", style="dim"))
        delay = measurement.pattern.get("delay_ns")
        cells.append(Text("" if delay is None else str(delay), style="dim"))
        cells.append(_mark(measurement, summary if measurement.id in kept else None))
        table.add_row(*cells)
    console.print(table)
    if summary:
        fallen = falls(sound(members), summary.drift)
        for line in [*_sentences(summary), *fallen]:
            note(console, line)
        if fallen and summary.knee:
            note(console, "do not rely on the knee of such a curve")
        if left_out := _left_out(members):
            note(console, left_out)


def _left_out(members: list[Measurement]) -> str:
    kept = {m.id for m in sound(members)}
    dropped = [m for m in members if m.pattern.get("delay_ns") is not None and m.id not in kept]
    return f"{len(dropped)} disturbed points are left out of these lines" if dropped else ""


def _ordered(members: list[Measurement]) -> list[Measurement]:
    """Idle controls first, as they were measured, then the points from light to heavy load."""
    idle = [m for m in members if m.pattern.get("delay_ns") is None]
    loaded = [m for m in members if m.pattern.get("delay_ns") is not None]
    return idle + sorted(loaded, key=lambda m: -int(m.pattern["delay_ns"]))


def _mark(measurement: Measurement, summary: Summary | None) -> Text:
    marks = []
    delay = measurement.pattern.get("delay_ns")
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

    ``members`` are the points of one curve; ``drift`` is the spread of its idle controls.
    """
    lines = []
    highest: Measurement | None = None
    named: Measurement | None = None
    for m in _ordered(members):
        low, high = m.ci_low or 0.0, m.ci_high or 0.0
        if m.pattern.get("delay_ns") is None or m.estimate is None:
            continue
        if highest is not None and highest is not named and high < (highest.ci_low or 0.0):
            named = highest
            found = [
                f"the point at delay {point.pattern['delay_ns']} "
                + " and ".join(_DOUBTS[doubt] for doubt in doubts)
                for point in (highest, m)
                if (doubts := _doubts(point))
            ]
            if not found and drift > _DRIFT:
                found = [f"idle controls differ by {drift:.0%}: the machine changed meanwhile"]
            why = "; ".join(found) or "unexplained, measure again"
            lines.append(
                f"latency falls from {highest.estimate or 0.0:.0f} to {m.estimate:.0f} ns although "
                f"the load rises (delays {highest.pattern['delay_ns']} and "
                f"{m.pattern['delay_ns']} ns): {why}"
            )
        if highest is None or low > (highest.ci_low or 0.0):
            highest = m
    return lines


def _sentences(summary: Summary) -> list[str]:
    lines = [f"idle {summary.idle:.4g} ns"]
    if summary.knee:
        knee = summary.knee
        share = knee.bandwidth / summary.peak.bandwidth
        lines[0] += (
            f"; knee at {knee.bandwidth / _GB:.4g} GB/s ({share:.0%} of the highest), "
            f"{knee.latency:.4g} ns"
        )
    else:
        lines[0] += "; no knee: latency does not bend upwards beyond the intervals"
    peak = summary.peak
    name = "saturation" if summary.saturated else "highest reached"
    lines[0] += f"; {name} {peak.bandwidth / _GB:.4g} GB/s, {peak.latency:.4g} ns"
    if summary.doubled is not None:
        lines[0] += f"; twice the idle latency at {summary.doubled / _GB:.4g} GB/s"
    if not summary.saturated:
        lines.append(
            "not saturated, as far as the intervals show: no lighter load moved as much with less "
            "latency; add CPUs with --load-from"
        )
    if summary.drift > _DRIFT:
        lines.append(
            f"idle controls differ by {summary.drift:.0%}: the machine changed while this curve "
            "was measured"
        )
    return lines


def _caption(measurement: Measurement) -> str:
    pattern = measurement.pattern
    threads = pattern["load_threads"]
    load = f"{pattern['mix']} by {threads} thread{'s' if threads != 1 else ''}"
    if pattern["load_from"] != measurement.initiator:
        load += f" of {pattern['load_from']}"
    if pattern["load_to"] != measurement.target:
        load += f" on {pattern['load_to']}"
    if pattern["load_order"] != "sequential":
        load += f", {pattern['load_order']}"
    chase = f"{figures.size_text(int(pattern['size']))} chase"
    if pattern["order"] != "random":
        chase += ", within pages"
    path = f"{measurement.initiator} → {measurement.target}"
    return f"{path}, {chase}, {pattern['pages']} pages; load {load}"


def _on_bus(measurement: Measurement) -> float | None:
    return figures.figure_of(measurement, "bandwidth_with_write_allocate")


def _bandwidth(measurement: Measurement) -> float | None:
    return figures.figure_of(measurement, "bandwidth")


def summary(measured: list[Measurement]) -> str:
    """Return the range of latencies with the loads that they were measured under."""
    by = sorted(measured, key=lambda m: m.estimate or 0.0)
    return f"latency under load ranges from {_under_load(by[0])} to {_under_load(by[-1])}"


def _under_load(measurement: Measurement) -> str:
    rate = _bandwidth(measurement)
    return f"{described(measurement)} {'idle' if rate is None else f'at {rate / _GB:.3g} GB/s'}"
