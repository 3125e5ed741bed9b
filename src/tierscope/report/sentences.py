"""The three sentences that matter first: best and worst, furthest below its limit, warnings."""

from tierscope.analysis.concurrent import shared
from tierscope.analysis.knee import SHARE
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.best import best_rates, memory_latencies
from tierscope.report.naming import described, path_name
from tierscope.report.view import Views, view_of
from tierscope.report.warnings import warnings_sentence

_GOOD = 0.85
"""Share of its limit from which on a path is near it."""
_ALIKE = 1.01
"""Fastest over slowest path up to which neither is worth a name."""


def sentences(run: Run, views: Views) -> list[str]:
    """Return three sentences, in this order; each says so where it has nothing to say."""
    measured = [m for m in run.measurements if m.has_figure]
    alone = [m for m in measured if not shared(m)]
    if not measured:
        nothing = "No limit is reached."
        return ["Nothing was measured.", nothing, warnings_sentence(run)]
    if alone:
        first = best_and_worst(alone, views)
    else:
        most = max(measured, key=lambda m: m.estimate or 0.0)
        first = f"No path was measured alone; the highest concurrent figure is {described(most)}."
    return [first, below_limit(run, measured), warnings_sentence(run)]


def best_and_worst(measured: list[Measurement], views: Views) -> str:
    """Name the fastest and the slowest path."""
    moved = [m for m in measured if m.unit == "B/s"]
    rates = best_rates([m for m in moved if not m.fits_caches] or moved)
    times = memory_latencies([m for m in measured if view_of(views, m.kind).represents_path])
    parts = _of_rates(rates)
    if times:
        by = sorted(times, key=lambda m: m.estimate or 0.0)
        if len(by) > 1:
            parts.append(f"latency ranges from {described(by[0])} to {described(by[-1])}")
        else:
            where = described(by[0], path=not rates or path_name(by[0]) != path_name(rates[0]))
            parts.append(f"its latency is {where}" if len(rates) == 1 else f"latency is {where}")
    else:
        parts += _summaries(measured, views)
    if not parts:
        title = view_of(views, measured[0].kind).title
        parts.append(f"{title}: {described(measured[0])}")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _of_rates(rates: list[Measurement]) -> list[str]:
    if not rates:
        return []
    by = sorted(rates, key=lambda m: m.estimate or 0.0)
    if len(by) == 1:
        value = described(by[0], path=False)
        text = f"the highest bandwidth of {path_name(by[0])} is {value}"
    elif (by[-1].estimate or 0.0) <= _ALIKE * (by[0].estimate or 0.0):
        paths = "both paths" if len(by) == 2 else f"all {len(by)} paths"
        text = f"{paths} are within 1% of each other; the fastest is {described(by[-1])}"
    else:
        text = f"the fastest path is {described(by[-1])}; the slowest is {described(by[0])}"
    if all(m.fits_caches for m in rates):
        text += ", with working sets that the caches can hold"
    return [text]


def _summaries(measured: list[Measurement], views: Views) -> list[str]:
    """Return what kinds say of themselves whose figures do not stand for their paths."""
    kinds: dict[str, list[Measurement]] = {}
    for m in measured:
        kinds.setdefault(m.kind, []).append(m)
    found = []
    for kind, members in kinds.items():
        summary = view_of(views, kind).summary
        if summary:
            found.append(summary(members))
    return found


def below_limit(run: Run, measured: list[Measurement]) -> str:
    """Say how far the best figure of each path is from its limit, the furthest first."""
    if run.header.emulated:
        return "No path has a limit: this machine is emulated."
    if run.header.imported:
        return "No limit is known: imported files tell nothing of links."
    alone = [m for m in measured if not shared(m)]
    limited = best_rates([m for m in alone if m.efficiency is not None and m.limit])
    crowded = [m for m in measured if shared(m) and m.efficiency is not None and m.limit]
    slowed = min(crowded, key=_efficiency, default=None)
    if not alone and slowed is not None:
        return f"Furthest below its limit is {_reached(slowed)}."
    if alone and all(m.unit != "B/s" and m.limit is None for m in alone):
        return "No figure here has a theoretical limit: only bandwidths have one."
    if not limited:
        hidden = " in this virtual machine" if run.header.machine.get("hypervisor") else ""
        return f"No limit is known: no link tells its rate{hidden}{_still_scaling(alone)}."
    return f"{_of_limited(limited, slowed)}."


def _of_limited(limited: list[Measurement], slowed: Measurement | None) -> str:
    worst = min(limited, key=_efficiency)
    assert worst.limit is not None
    low = [m for m in limited if _efficiency(m) < _GOOD]
    if not low:
        text = f"Every path is near its limit; furthest below it is {_reached(worst)}"
    else:
        unit, factor = figures.scale_of(worst.limit.unit, [worst.limit.value])
        left = (worst.limit.value - (worst.estimate or 0.0)) / factor
        unused = f"{figures.significant(left, 2)} {unit} are unused"
        text = f"Furthest below its limit is {_reached(worst)}: {unused}"
        if len(low) > 1:
            text += f"; {len(low)} of {len(limited)} paths are below {_GOOD:.0%} of their limits"
    if slowed is not None and _efficiency(slowed) < min(_GOOD, _efficiency(worst)):
        share = figures.share_text(_efficiency(slowed))
        text += f"; with concurrent copies, {described(slowed)} is {share} of its limit"
    return text


def _efficiency(measurement: Measurement) -> float:
    return measurement.efficiency or 0.0


def _reached(measurement: Measurement) -> str:
    assert measurement.limit is not None
    unit, factor = figures.scale_of(measurement.limit.unit, [measurement.limit.value])
    return (
        f"{described(measurement)}, {figures.share_text(_efficiency(measurement))} of the "
        f"{measurement.limit.value / factor:.4g} {unit} of {measurement.limit.link}"
    )


def _still_scaling(measured: list[Measurement]) -> str:
    """Say which path was still getting faster at its largest thread count."""
    curves: dict[tuple[str, ...], list[Measurement]] = {}
    for m in measured:
        if m.unit == "B/s" and "threads" in m.pattern:
            rest = {key: value for key, value in m.pattern.items() if key != "threads"}
            curves.setdefault((m.initiator, m.target, str(rest)), []).append(m)
    for curve in curves.values():
        if len(curve) < 2:
            continue
        *_, before, last = sorted(curve, key=lambda m: int(m.pattern["threads"]))
        highest_before = before.ci_high or before.estimate or 0.0
        if highest_before < SHARE * (last.ci_low or last.estimate or 0.0):
            return (
                f"; {path_name(last)} was still getting faster at {last.pattern['threads']} "
                "threads, the most that were measured"
            )
    return ""
