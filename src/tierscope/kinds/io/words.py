"""What the figures of storage say, in words. Each figure is that of one measurement."""

from collections.abc import Mapping, Sequence

from tierscope.analysis.knee import Knee, knee
from tierscope.analysis.steady_state import Steady
from tierscope.kinds.io.points import (
    cached,
    estimate,
    latency,
    observed,
    on,
    operation,
    plural,
    rate,
    same_but,
    sweeps,
    target,
)
from tierscope.model.run import Measurement, Round, is_unreliable
from tierscope.report import figures
from tierscope.report.best import best_of
from tierscope.report.view import KeyFigure

SMALL = 4096
"""Block size of the figures that stand for IOPS and latency."""
_US = 1e3
_NOISY = "the intervals are too wide to compare"
_ALIKE = 1.05
"""Ratio of two rates up to which neither is faster."""


def iops_text(measurement: Measurement) -> str:
    """Return "12300 IOPS"."""
    found = rate(measurement, "iops")
    return f"{figures.plain(found, 1.0, 3)} IOPS" if found else "unknown IOPS"


def bandwidth_text(measurement: Measurement) -> str:
    """Return "1.21 GB/s"."""
    found = rate(measurement, "bandwidth")
    if found is None:
        return "unknown bandwidth"
    unit, factor = figures.scale_of("B/s", [found.estimate or 0.0])
    return f"{figures.plain(found, factor, 3)} {unit}"


def rate_text(measurement: Measurement) -> str:
    """Return the headline with its unit."""
    return iops_text(measurement) if measurement.metric == "iops" else bandwidth_text(measurement)


def latency_text(measurement: Measurement, percentile: str = "p50") -> str:
    """Return "84 µs"; empty where it is not known."""
    found = latency(measurement, percentile)
    return f"{figures.plain(found, _US, 3)} µs" if found else ""


def in_sentences(lines: Sequence[str]) -> str:
    """Return these lines as sentences of a paragraph."""
    return " ".join(f"{line[0].upper()}{line[1:]}." for line in lines)


def depth_lines(measured: Sequence[Measurement]) -> list[str]:
    """Say at which depth the rate of each sweep over depths saturates, and what more costs."""
    return [_depth_line(sweep) for sweep in sweeps(measured, "depth") if len(sweep) > 2]


def _depth_line(sweep: list[Measurement]) -> str:
    depths = {int(m.pattern["depth"]): m for m in sweep}
    found = _knee(depths)
    best, last = best_of(sweep), depths[max(depths)]
    what = f"{plural(sweep[0])} of {figures.size_text(sweep[0].pattern['block_size'])}"
    if found.first == max(depths):
        return f"{what}: still rising at depth {max(depths)}, {rate_text(last)}"
    if found.last == max(depths):
        return (
            f"{what}: saturated from depth {found.first} on at the earliest, {rate_text(best)}; "
            "the intervals are too wide to say more"
        )
    depth = _between(found)
    text = f"{what}: saturated from depth {depth} on, at {rate_text(best)}"
    low, high = latency(depths[found.last]), latency(last)
    if low and high and high.estimate > _ALIKE * low.estimate and last is not best:
        text += (
            f"; depth {max(depths)} only adds latency, {figures.plain(high, _US, 3)} "
            f"after {figures.plain(low, _US, 3)} µs (p50)"
        )
    return text


def _knee(by: Mapping[int, Measurement]) -> Knee:
    def interval(m: Measurement) -> tuple[float, float]:
        value = m.estimate or 0.0
        return value if m.ci_low is None else m.ci_low, value if m.ci_high is None else m.ci_high

    return knee({key: interval(m) for key, m in by.items()})


def _between(found: Knee) -> str:
    return str(found.last) if found.first == found.last else f"{found.first} to {found.last}"


def thread_lines(measured: Sequence[Measurement]) -> list[str]:
    """Say what more threads give."""
    lines = []
    for sweep in sweeps(measured, "threads", "size"):
        counts = {int(m.pattern["threads"]): m for m in sweep}
        first, best = counts[min(counts)], best_of(sweep)
        if is_unreliable(first) or is_unreliable(best):
            lines.append(f"{plural(first)}: {_NOISY}")
            continue
        gain = (best.estimate or 0.0) / (first.estimate or 1.0)
        one = f"{min(counts)} thread{'s' if min(counts) > 1 else ''}"
        words = f"{best.pattern['threads']} threads reach {rate_text(best)}, {gain:.2g} times {one}"
        if best is first or gain < _ALIKE:
            words = f"more threads add nothing to the {rate_text(first)} of {one}"
        lines.append(f"{plural(first)}: {words}")
    return lines


def block_lines(measured: Sequence[Measurement]) -> list[str]:
    """Say from which block size on bandwidth is near its best, for each sweep over block sizes."""
    lines = []
    for sweep in sweeps(measured, "block_size"):
        if len(sweep) < 4 or any(rate(m, "bandwidth") is None for m in sweep):
            continue
        best = max(sweep, key=lambda m: estimate(m, "bandwidth"))
        enough = next(
            m for m in sweep if estimate(m, "bandwidth") >= 0.9 * estimate(best, "bandwidth")
        )
        lines.append(
            f"{plural(best)}: {bandwidth_text(best)} at best; blocks of "
            f"{figures.size_text(enough.pattern['block_size'])} and more reach 90% of it"
        )
    return lines


def cache_lines(measured: Sequence[Measurement]) -> list[str]:
    """Compare the page cache with direct accesses of the same backend and pattern."""
    lines = []
    for m in measured:
        other = next((o for o in measured if not cached(o) and same_but(m, o, "direct")), None)
        if cached(m) and other is not None and other.estimate:
            ratio = (m.estimate or 0.0) / other.estimate
            if is_unreliable(m) or is_unreliable(other):
                size = figures.size_text(m.pattern["block_size"])
                lines.append(f"{plural(m)} of {size}, {m.pattern['backend']}: {_NOISY}")
                continue
            lines.append(
                f"{plural(m)} of {figures.size_text(m.pattern['block_size'])}: "
                f"{rate_text(m)} through the page cache, {ratio:.2g} times the drive's "
                f"{rate_text(other)}"
            )
    return lines


def headroom(measured: Sequence[Measurement]) -> str:
    """Say what limits the best direct accesses, and how far they are from it; empty without any."""
    direct = [m for m in measured if not cached(m)]
    if not direct:
        return ""
    limited = [m for m in direct if m.limit and m.efficiency]
    if not limited:
        if any("lo" in facts.interfaces for m in direct for facts in on(m)):
            return "No limit is known: the server is this machine, and lo has no rate."
        return (
            "No limit is known: no link of this drive shows its rate. --rated FILE compares with "
            "its data sheet."
        )
    best = max(limited, key=lambda m: m.efficiency or 0.0)
    assert best.limit is not None
    assert best.efficiency is not None
    return (
        f"The best, {plural(best)} of {figures.size_text(best.pattern['block_size'])}, reaches "
        f"{rate_text(best)}: {figures.share_text(best.efficiency)} of what {best.limit.link} "
        f"allows ({best.limit.formula}); {figures.share_text(max(0.0, 1 - best.efficiency))} "
        "is left."
    )


def steady_text(found: Steady | None) -> str:
    """Say whether it came to a steady state by the five-round rule, and how long a round was."""
    if found is None:
        return "too few rows to tell a steady state"
    rule = f"by the five-round rule, rounds of {found.round_s * 1e3:.3g} ms"
    if not found.reached:
        return f"not steady {rule}"
    after = f" from round {found.first + 1} on" if found.first else ""
    return f"steady{after} {rule}"


def used_bytes(measurement: Measurement) -> int:
    """Return the bytes that it goes over; 0 where nobody knows."""
    io = observed(measurement)
    return (io.used_bytes if io else None) or 0


def passes(measurement: Measurement, one: Round) -> float:
    """Return how many times what it goes over was written at the end of a round."""
    return one.bytes_written / used_bytes(measurement) if used_bytes(measurement) else 0.0


def series_lines(measured: Sequence[Measurement]) -> list[str]:
    """Say what preconditioning wrote, and whether and where a write-saturation curve was steady."""
    return [
        _curve_line(m) if m.pattern.get("write_saturation") else _fill_line(m)
        for m in measured
        if m.rounds
    ]


def _fill_line(m: Measurement) -> str:
    assert m.rounds
    how = "cut short" if m.stop == "interrupted" else "at"
    return f"preconditioning: {_purged(m)}{_written(m)}, {how} {bandwidth_text(m)}"


def _curve_line(m: Measurement) -> str:
    assert m.rounds
    size = figures.size_text(m.pattern["block_size"])
    first = figures.significant(m.rounds[0].value / (1.0 if m.metric == "iops" else 1e9), 3)
    state = "steady" if m.stop == "steady" else "not steady"
    when = "when it was interrupted after" if m.stop == "interrupted" else "after"
    round_s = figures.seconds_text(m.rounds[0].end_s)
    return (
        f"write saturation, {plural(m)} of {size}: {_purged(m)}{state} by the five-round rule, "
        f"rounds of {round_s}, {when} {_written(m)}: {rate_text(m)} over the last five rounds, "
        f"{first} {'IOPS' if m.metric == 'iops' else 'GB/s'} in the first one"
    )


def _purged(m: Measurement) -> str:
    return "purged by discard, then " if m.pattern.get("purged") else ""


def _written(m: Measurement) -> str:
    assert m.rounds
    last = m.rounds[-1]
    size = figures.size_text(used_bytes(m))
    return f"{passes(m, last):.3g} times the {size} written in {figures.seconds_text(last.end_s)}"


_IDLE = {"operation": "read", "order": "random", "block_size": SMALL, "depth": 1, "threads": 1,
         "direct": True}  # fmt: skip
"""Of reads one at a time."""


def is_idle(measurement: Measurement) -> bool:
    """Whether it stands for its path's idle latency: direct random reads of 4 KiB, one at a time,
    over the whole file."""
    pattern = measurement.pattern
    usual = all(pattern.get(key) == value for key, value in _IDLE.items())
    return usual and not pattern.get("range") and not pattern.get("rate")


def idle(measured: Sequence[Measurement]) -> Measurement | None:
    """Return what stands for the idle latency; the shortest, where several do."""
    known = [m for m in measured if is_idle(m) and latency(m)]
    return min(known, key=_p50, default=None)


def idle_latency(measurement: Measurement) -> Measurement | None:
    """Return the median latency that a measurement stands for, as a measurement of its own."""
    found = latency(measurement)
    if found is None or not is_idle(measurement):
        return None
    return measurement.model_copy(
        update={
            "metric": "latency",
            "unit": "ns",
            "estimate": found.estimate,
            "ci_low": found.ci_low,
            "ci_high": found.ci_high,
            "no_interval": found.no_interval,
            "limit": None,
            "efficiency": None,
        }
    )


def _p50(measurement: Measurement) -> float:
    found = latency(measurement)
    return found.estimate if found else 0.0


def summary_of(measured: list[Measurement]) -> str:
    """Return a clause on the most IOPS and the lowest latency of direct accesses, else of any."""
    measured = [m for m in measured if not m.pattern.get("preconditioning")] or measured
    direct = [m for m in measured if not cached(m)] or measured
    small = [m for m in direct if m.metric == "iops"]
    if not small:
        best = best_of(direct)
        return f"{plural(best)} of {target(best)} reach {bandwidth_text(best)}"
    best = best_of(small)
    size = figures.size_text(best.pattern["block_size"])
    text = f"{plural(best)} of {size} reach {iops_text(best)} on {target(best)}"
    one = idle(direct)
    return f"{text}; one read at a time takes {latency_text(one)}" if one else text


def key_figure(measured: list[Measurement]) -> KeyFigure | None:
    """Return the most IOPS of direct accesses."""
    small = [
        m
        for m in measured
        if m.metric == "iops" and not cached(m) and not m.pattern.get("preconditioning")
    ]
    if not small:
        return None
    best = best_of(small)
    detail = f"{target(best)}, {operation(best)}, depth {best.pattern['depth']}"
    if text := latency_text(best, "p99"):
        detail += f"; p99 {text}"
    value = figures.plain(best, 1.0)
    return KeyFigure("Storage", value, "IOPS", detail, figures.is_doubtful(best))
