"""What a curve says, in words. Each figure is that of one measurement, as the table has it."""

from collections.abc import Mapping, Sequence
from typing import Any

from tierscope.analysis.curve import Summary
from tierscope.kinds.loaded_latency.points import (
    curves_of,
    idle_of,
    is_disturbed,
    load_threads,
    measured_at,
    summary_of_curve,
    thread_curves,
)
from tierscope.model.run import Measurement
from tierscope.report import figures
from tierscope.report.naming import path_name
from tierscope.report.view import KeyFigure

DRIFT = 0.05
"""Spread of the idle controls from which on the machine has changed during a curve."""
_GB = 1e9
_LOADS = {"100:0": "reads", "0:100": "writes", "0:100nt": "non-temporal writes"}


def rate_text(measurement: Measurement) -> str:
    """Return the bandwidth of a loaded point: "24.4 GB/s"."""
    rate = figures.side_figure(measurement, "bandwidth")
    return f"{figures.plain(rate, _GB)} GB/s" if rate else "idle"


def latency_text(measurement: Measurement) -> str:
    """Return the latency of a point: "145 ns"."""
    return f"{figures.plain(measurement, 1.0)} ns"


def curve_text(members: Sequence[Measurement], summary: Summary) -> str:
    """Return a curve's idle latency, knee and highest bandwidth in a line."""
    peak = measured_at(members, summary.peak)
    parts = [f"idle {latency_text(idle_of(members, summary))}"]
    if summary.knee:
        knee = measured_at(members, summary.knee)
        share = summary.knee.bandwidth / summary.peak.bandwidth
        parts.append(
            f"knee at {rate_text(knee)} ({share:.0%} of the highest), {latency_text(knee)}"
        )
    elif summary.peak.timed:
        parts.append("no knee: latency does not bend upwards beyond the intervals")
    name = "saturation" if summary.saturated else "highest reached"
    parts.append(f"{name} {rate_text(peak)}, {latency_text(peak)}")
    return "; ".join(parts)


def lines_of(members: Sequence[Measurement], summary: Summary) -> list[str]:
    """Return what to say below a curve's table."""
    lines = [curve_text(members, summary)]
    if not summary.saturated and summary.peak.timed:
        lines.append(
            "not saturated, as far as the intervals show: no lighter load moved as much with less "
            "latency; add CPUs with --load-from"
        )
    if summary.drift > DRIFT:
        lines.append(
            f"idle controls differ by {summary.drift:.0%}: the machine changed while this curve "
            "was measured"
        )
    return lines


def chase_text(pattern: Mapping[str, Any]) -> str:
    """Return what a chase goes through, as far as that is known: "1 GiB chase, thp pages"."""
    size, pages = pattern.get("size"), pattern.get("pages")
    parts = [f"{figures.size_text(int(size))} chase"] if size else []
    parts += ["within pages"] if pattern.get("order") == "page-random" else []
    return ", ".join([*parts, *([f"{pages} pages"] if pages else [])])


def load_of(measurement: Measurement) -> str:
    """Return the kind of load: "random reads"; the mix where it is one."""
    mix = str(measurement.pattern.get("mix", ""))
    what = _LOADS.get(mix, f"{mix} read:write")
    return f"{measurement.pattern.get('load_order', '')} {what}".strip()


def thread_words(curve: Sequence[Measurement]) -> str:
    """Return a curve's latency when idle and with most threads, and their ratio, in a line."""
    idle = [m for m in curve if load_threads(m) == 0 and m.estimate]
    last = curve[-1]
    end = f"{latency_text(last)} at {rate_text(last)} with {threads_text(load_threads(last))}"
    if not idle or not last.estimate or not idle[0].estimate:
        return end
    ratio = figures.significant(last.estimate / idle[0].estimate, 2)
    return f"{latency_text(idle[0])} idle, {end}: {ratio} times"


def threads_text(count: int) -> str:
    """Return "4 load threads"."""
    return f"{count} load thread{'s' if count != 1 else ''}"


def key_figure(measured: list[Measurement]) -> KeyFigure | None:
    """Return the latency at the highest bandwidth of all curves."""
    if (found := _highest(measured)) is None:
        return _thread_figure(measured)
    members, best, _ = found
    peak = measured_at(members, best.peak)
    idle = latency_text(idle_of(members, best))
    return KeyFigure(
        "Loaded latency",
        figures.plain(peak, 1.0),
        "ns",
        f"{path_name(peak)} at {rate_text(peak)}; {idle} idle",
        is_disturbed(peak),
    )


def _highest(measured: list[Measurement]) -> tuple[list[Measurement], Summary, int] | None:
    """Return the curve that reaches the highest bandwidth, what it says, and how many there are."""
    found = [
        (members, summary)
        for members in curves_of(measured)
        if (summary := summary_of_curve(members))
    ]
    if not found:
        return None
    members, best = max(found, key=lambda curve: curve[1].peak.bandwidth)
    return members, best, len(found)


def _thread_figure(measured: list[Measurement]) -> KeyFigure | None:
    """Return the highest latency over load threads; None where none were swept."""
    if (curve := _slowest(measured)) is None:
        return None
    last = curve[-1]
    return KeyFigure(
        "Loaded latency",
        figures.plain(last, 1.0),
        "ns",
        f"{path_name(last)}, {threads_text(load_threads(last))} of {load_of(last)}",
        is_disturbed(last),
    )


def _slowest(measured: Sequence[Measurement]) -> list[Measurement] | None:
    """Return the curve over load threads that ends at the highest latency."""
    curves = thread_curves(measured)
    return max(curves, key=lambda curve: curve[-1].estimate or 0.0, default=None)


def summary_of(measured: list[Measurement]) -> str:
    """Return a clause on the curve that reaches the highest bandwidth."""
    if (found := _highest(measured)) is None and (curve := _slowest(measured)):
        return f"latency of {path_name(curve[-1])} under {load_of(curve[-1])} is " + thread_words(
            curve
        )
    if found is None:
        idle = min(measured, key=lambda m: m.estimate or 0.0)
        return f"latency of {path_name(idle)} is {figures.with_interval(idle, 1.0)} ns, idle"
    members, best, count = found
    idle, peak = idle_of(members, best), measured_at(members, best.peak)
    of = f" of {count} curves" if count > 1 else ""
    disturbed = is_disturbed(idle) or is_disturbed(peak)
    return (
        f"latency of {path_name(peak)} is {figures.with_interval(idle, 1.0)} ns idle and "
        f"{figures.with_interval(peak, 1.0)} ns at {rate_text(peak)}, the "
        f"{'saturation' if best.saturated else 'highest bandwidth reached'}{of}"
        f"{' (disturbed by other programs)' if disturbed else ''}"
    )
