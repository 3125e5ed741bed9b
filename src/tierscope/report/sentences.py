"""The three sentences that matter first: best and worst, headroom, warnings."""

from tierscope.analysis.concurrent import shared
from tierscope.analysis.knee import SHARE
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.naming import described, path_name
from tierscope.report.view import Views, view_of
from tierscope.report.warnings import warnings_sentence

_GOOD = 0.85
"""Share of its limit from which on a path has little headroom."""
_ALIKE = 1.01
"""Fastest over slowest path up to which neither is worth a name."""


def sentences(run: Run, views: Views) -> list[str]:
    """Return three sentences, in this order; each says so where it has nothing to say."""
    measured = [m for m in run.measurements if m.status == "measured"]
    alone = [m for m in measured if not shared(m)]
    if not measured:
        nothing = "The headroom is unknown."
        return ["Nothing was measured.", nothing, warnings_sentence(run)]
    if alone:
        first = best_and_worst(alone, views)
    else:
        most = max(measured, key=lambda m: m.estimate or 0.0)
        first = f"No path was measured alone; the highest concurrent figure is {described(most)}."
    return [first, headroom(run, measured), warnings_sentence(run)]


def best_and_worst(measured: list[Measurement], views: Views) -> str:
    """Name the fastest and the slowest path."""
    moved = [m for m in measured if m.unit == "B/s"]
    rates = _best_by_path([m for m in moved if not m.fits_caches] or moved)
    times = _memory_latencies([m for m in measured if view_of(views, m.kind).represents_path])
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


def _memory_latencies(measured: list[Measurement]) -> list[Measurement]:
    """Return one latency a path: of the largest working set, chased in the same way for all.

    What fits the caches is no latency of memory and left out.
    """
    idle = [m for m in measured if m.metric == "latency" and not m.fits_caches]
    paths: dict[str, dict[tuple[str, str], Measurement]] = {}
    for m in sorted(idle, key=_size):
        way = (str(m.pattern.get("order", "")), str(m.pattern.get("pages", "")))
        known = paths.setdefault(path_name(m), {}).get(way)
        if (
            known is None
            or _size(known) != _size(m)
            or figures.conservative_rank(m) > figures.conservative_rank(known)
        ):
            paths[path_name(m)][way] = m
    ways = [set(found) for found in paths.values()]
    common = set.intersection(*ways) if ways else set()
    chosen = []
    for found in paths.values():
        alike = [m for way, m in found.items() if way in common] or list(found.values())
        largest = max(map(_size, alike))
        alike = [m for m in alike if _size(m) == largest]
        # A chase that stays within pages leaves out what translating addresses costs.
        usual = [m for m in alike if m.pattern.get("order") != "page-random"] or alike
        chosen.append(max(usual, key=figures.conservative_rank))
    return chosen


def _size(measurement: Measurement) -> float:
    return float(measurement.pattern.get("size") or 0)


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


def headroom(run: Run, measured: list[Measurement]) -> str:
    """Say how far the best figure of each path is from its limit, the furthest first."""
    if run.header.emulated:
        return "The headroom is unknown: an emulated machine has no limits."
    alone = [m for m in measured if not shared(m)]
    limited = _best_by_path([m for m in alone if m.efficiency is not None and m.limit])
    crowded = [m for m in measured if shared(m) and m.efficiency is not None and m.limit]
    slowed = min(crowded, key=_efficiency, default=None)
    if not alone and slowed is not None:
        return f"Furthest below its limit is {_reached(slowed)}."
    if alone and all(m.unit != "B/s" for m in alone):
        return "The headroom is unknown: only bandwidths have a theoretical limit here."
    if not limited:
        hidden = " in this virtual machine" if run.header.machine.get("hypervisor") else ""
        return f"The headroom is unknown: no link's rate is known{hidden}{_still_scaling(alone)}."
    return f"{_of_limited(limited, slowed)}."


def _of_limited(limited: list[Measurement], slowed: Measurement | None) -> str:
    worst = min(limited, key=_efficiency)
    assert worst.limit is not None
    low = [m for m in limited if _efficiency(m) < _GOOD]
    if not low:
        text = f"There is little headroom: furthest below its limit is {_reached(worst)}"
    else:
        unit, factor = figures.scale_of("B/s", [worst.limit.value])
        left = (worst.limit.value - (worst.estimate or 0.0)) / factor
        text = f"The most headroom is on {_reached(worst)}: {left:.3g} {unit} are unused"
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
    unit, factor = figures.scale_of("B/s", [measurement.limit.value])
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


def _best_by_path(measured: list[Measurement]) -> list[Measurement]:
    """Return the best rate of each path."""
    paths: dict[str, Measurement] = {}
    for m in measured:
        known = paths.get(path_name(m))
        if known is None or figures.conservative_rank(m) > figures.conservative_rank(known):
            paths[path_name(m)] = m
    return list(paths.values())
