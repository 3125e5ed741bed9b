"""The three sentences that matter first: best and worst, what is left over, what looks wrong."""

from collections import Counter

from tierscope.analysis.caches import may_stay_in_caches
from tierscope.analysis.flat import shared
from tierscope.analysis.knee import SHARE
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.view import Views, view_of
from tierscope.topology.nvidia import pci_address

_GOOD = 0.85
"""Share of its limit from which on a path leaves little on the table."""
_ALIKE = 1.01
"""Fastest over slowest path up to which neither is worth a name."""
_WIDE = 0.05
"""Half-width of an interval, as a share of its estimate, from which on a figure is a rough one."""


def sentences(run: Run, views: Views) -> list[str]:
    """Return three sentences, in this order; each says so where it has nothing to say.

    ``run`` is flat, see ``analysis.flat``.
    """
    measured = [m for m in run.measurements if m.status == "measured"]
    alone = [m for m in measured if not shared(m)]
    if not measured:
        nothing = "So nothing can be said about what is left on the table."
        return ["Nothing was measured.", nothing, looks_wrong(run)]
    if alone:
        first = best_and_worst(run, alone, views)
    else:
        most = max(measured, key=lambda m: m.estimate or 0.0)
        first = f"No path was measured by itself; of what ran at once the most is {said(most)}."
    return [first, left_over(run, measured), looks_wrong(run)]


def best_and_worst(run: Run, measured: list[Measurement], views: Views) -> str:
    """Name the fastest and the slowest path."""
    moved = [m for m in measured if m.unit == "B/s"]
    rates = _best_by_path([m for m in moved if not may_stay_in_caches(run, m)] or moved)
    times = _memory_latencies(run, [m for m in measured if view_of(views, m.kind).represents_path])
    parts = []
    if len(rates) > 1:
        by = sorted(rates, key=lambda m: m.estimate or 0.0)
        if (by[-1].estimate or 0.0) <= _ALIKE * (by[0].estimate or 0.0):
            paths = "both paths" if len(by) == 2 else f"all {len(by)} paths"
            parts.append(f"{paths} are within 1% of each other, as {said(by[-1])}")
        else:
            parts.append(f"the fastest path is {said(by[-1])}; the slowest is {said(by[0])}")
    elif rates:
        parts.append(f"the most that {_path(rates[0])} gives is {said(rates[0], path=False)}")
    if rates and all(may_stay_in_caches(run, m) for m in rates):
        parts[-1] += ", of working sets that the caches can hold"
    if times:
        by = sorted(times, key=lambda m: m.estimate or 0.0)
        if len(by) > 1:
            parts.append(f"latency goes from {said(by[0])} to {said(by[-1])}")
        else:
            where = said(by[0], path=not rates or _path(by[0]) != _path(rates[0]))
            parts.append(f"its latency is {where}" if len(rates) == 1 else f"latency is {where}")
    else:
        parts += _summaries(measured, views)
    if not parts:
        parts.append(f"{measured[0].kind} of {said(measured[0])}")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _memory_latencies(run: Run, measured: list[Measurement]) -> list[Measurement]:
    """Return one latency a path: of the largest working set, chased in the same way for all.

    What fits a CPU's caches is no latency of memory and left out.
    """
    caches = [int(cache["size_bytes"]) for cache in run.header.machine.get("caches", [])]
    idle = [
        m
        for m in measured
        if m.metric == "latency"
        and (m.kind != "latency" or float(m.pattern.get("size", 0)) > max(caches, default=0))
    ]
    paths: dict[str, dict[tuple[str, str], Measurement]] = {}
    for m in sorted(idle, key=lambda m: float(m.pattern.get("size", 0))):
        way = (str(m.pattern.get("order", "")), str(m.pattern.get("pages", "")))
        known = paths.setdefault(_path(m), {}).get(way)
        larger = known is None or known.pattern.get("size") != m.pattern.get("size")
        if known is None or larger or figures.sure_rank(m) > figures.sure_rank(known):
            paths[_path(m)][way] = m
    ways = [set(found) for found in paths.values()]
    common = set.intersection(*ways) if ways else set()
    chosen = []
    for found in paths.values():
        alike = [m for way, m in found.items() if way in common] or list(found.values())
        largest = max(float(m.pattern.get("size", 0)) for m in alike)
        alike = [m for m in alike if float(m.pattern.get("size", 0)) == largest]
        # A chase that stays within pages leaves out what looking addresses up costs.
        usual = [m for m in alike if m.pattern.get("order") != "page-random"] or alike
        chosen.append(max(usual, key=figures.sure_rank))
    return chosen


def left_over(run: Run, measured: list[Measurement]) -> str:
    """Say how far the best figure of each path is from its limit, the furthest first."""
    if run.header.emulated:
        return "What is left on the table cannot be said: an emulated machine has no limits."
    alone = [m for m in measured if not shared(m)]
    limited = _best_by_path([m for m in alone if m.efficiency is not None and m.limit])
    crowded = [m for m in measured if shared(m) and m.efficiency is not None and m.limit]
    slowed = min(crowded, key=_efficiency, default=None)
    if not alone and slowed is not None:
        return f"Furthest below its limit is {_reached(slowed)}."
    if alone and all(m.metric == "latency" for m in alone):
        return "What is left on the table cannot be said: latencies have no theoretical limit here."
    if not limited:
        hidden = " in this virtual machine" if run.header.machine.get("hypervisor") else ""
        return (
            f"What is left on the table cannot be said: no link's rate is known{hidden}"
            f"{_still_scaling(alone)}."
        )
    worst = min(limited, key=_efficiency)
    low = [m for m in limited if _efficiency(m) < _GOOD]
    if not low:
        text = f"Little is left on the table: the least, {_reached(worst)}"
    else:
        assert worst.limit is not None
        unit, factor = figures.scale_of("B/s", [worst.limit.value])
        left = (worst.limit.value - (worst.estimate or 0.0)) / factor
        text = f"Most is left on the table on {_reached(worst)}, so {left:.3g} {unit} are unused"
        if len(low) > 1:
            text += f"; {len(low)} of {len(limited)} paths stay below {_GOOD:.0%} of their limits"
    if slowed is not None and _efficiency(slowed) < min(_GOOD, _efficiency(worst)):
        share = figures.share_text(_efficiency(slowed))
        text += f"; beside other copies {said(slowed)} is {share} of its limit"
    return f"{text}."


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


def _efficiency(measurement: Measurement) -> float:
    return measurement.efficiency or 0.0


def _reached(measurement: Measurement) -> str:
    assert measurement.limit is not None
    unit, factor = figures.scale_of("B/s", [measurement.limit.value])
    return (
        f"{said(measurement)}, {figures.share_text(_efficiency(measurement))} of the "
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
        if (before.ci_high or 0.0) < SHARE * (last.ci_low or 0.0):
            return (
                f"; {_path(last)} still got faster with its {last.pattern['threads']} threads, "
                "the most that were measured"
            )
    return ""


def looks_wrong(run: Run) -> str:
    """Say what spoils the run's figures, the worst first, or that nothing does."""
    if text := what_is_wrong(run):
        return text
    if any(m.status == "measured" for m in run.measurements):
        return "Nothing looks wrong: all was measured, and every interval is narrow."
    return "Nothing else looks wrong."


def what_is_wrong(run: Run) -> str:
    """Say what spoils the run's figures, the worst first; empty where nothing does."""
    found = []
    if run.header.emulated:
        found.append("the machine is emulated in software, so its figures mean nothing")
    planned = len(run.header.plan.get("measurements", []))
    if run.footer is None:
        found.append(f"the run was cut after {len(run.measurements)} of {planned} measurements")
    elif run.footer.interrupted:
        found.append(f"the run was interrupted at {len(run.measurements)} of {planned}")
    failed = [m for m in run.measurements if m.status == "failed"]
    if failed:
        found.append(f"{_counted(len(failed), 'measurement')} failed, {failed[0].id} first")
    measured = [m for m in run.measurements if m.status == "measured"]
    if text := _another_gpu(run, measured):
        found.append(text)
    found += [text for check in _CHECKS if (text := check(measured))]
    governor = run.header.environment.get("governor", "")
    if governor and governor != "performance":
        found.append(f"the frequency governor is {governor}, not performance")
    return f"What looks wrong: {'; '.join(found)}." if found else ""


def _another_gpu(run: Run, measured: list[Measurement]) -> str:
    """Name a GPU that CUDA found at another place on the bus than the topology."""
    topology = run.header.topology
    for m in measured:
        for state in (m.evidence and m.evidence.gpus) or []:
            known = topology.gpu(state.gpu) if topology else None
            used = pci_address(state.address or "")
            if known is not None and known.address and used not in ("", known.address):
                return (
                    f"gpu:{state.gpu} was measured at {used}, but paths and limits are those of "
                    f"{known.address}"
                )
    return ""


def _beyond(measured: list[Measurement]) -> str:
    """Name what is faster than it can be."""
    beyond = [m for m in measured if m.limit and (m.ci_low or 0.0) > m.limit.value]
    if not beyond:
        return ""
    most = max(beyond, key=_efficiency)
    return (
        f"{_path(most)} reaches {_efficiency(most):.1%} of its limit, so a cache answered or the "
        "limit is not what it is taken for"
    )


def _short_links(measured: list[Measurement]) -> str:
    """Name a link that runs below what it is able to; its name says so behind a colon."""
    short = dict.fromkeys(m.limit.link for m in measured if m.limit and ": " in m.limit.link)
    return f"a link runs below what it is able to, {next(iter(short))}" if short else ""


def _throttled(measured: list[Measurement]) -> str:
    why = Counter(
        f"gpu:{state.gpu} was throttled ({', '.join(state.throttle)})"
        for m in measured
        for state in (m.evidence and m.evidence.gpus) or []
        if state.throttle
    )
    if not why:
        return ""
    text, count = why.most_common(1)[0]
    return f"{text} during {count} of {len(measured)} measurements"


def _rough(measured: list[Measurement]) -> str:
    wide = [m for m in measured if figures.relative_half(m) > _WIDE]
    if not wide:
        return ""
    worst = max(wide, key=figures.relative_half)
    be, intervals = ("is", "an interval") if len(wide) == 1 else ("are", "intervals")
    return (
        f"{len(wide)} of {len(measured)} figures {be} rough, with {intervals} wider than "
        f"±{_WIDE:.0%} (the widest, {worst.id}, ±{figures.relative_half(worst):.0%})"
    )


def _disturbed(measured: list[Measurement]) -> str:
    disturbed = [m for m in measured if m.evidence and m.evidence.disturbed]
    if not disturbed:
        return ""
    return f"neighbours took CPU time during {len(disturbed)} of {len(measured)} measurements"


_CHECKS = (_beyond, _short_links, _throttled, _rough, _disturbed)
"""What may spoil figures, the worst first."""


def _counted(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"


def _best_by_path(measured: list[Measurement]) -> list[Measurement]:
    """Return the best rate of each path."""
    paths: dict[str, Measurement] = {}
    for m in measured:
        known = paths.get(_path(m))
        if known is None or figures.sure_rank(m) > figures.sure_rank(known):
            paths[_path(m)] = m
    return list(paths.values())


def _path(measurement: Measurement) -> str:
    start, end = measurement.initiator, measurement.target
    if measurement.pattern.get("way") == "both ways summed":
        return f"{start} ↔ {end}, both ways"
    if start == end and "gpu" in start:
        return f"among {start}" if shared(measurement) else f"{start}'s own memory"
    return f"{start} → {end}"


def said(measurement: Measurement, path: bool = True) -> str:
    """Return a figure with its path and what tells it from others of its path."""
    unit, factor = figures.scale_of(measurement.unit or "count", [measurement.estimate or 0.0])
    pattern = measurement.pattern
    threads = pattern.get("threads")
    order = pattern.get("order")
    parts = [
        str(order) if order not in (None, "sequential") else "",
        str(pattern.get("operation", "")),
        f"by {threads} thread{'s' if threads != 1 else ''}" if threads else "",
    ]
    if measurement.unit == "ns" and pattern.get("size"):
        parts.append(f"over {figures.size_text(pattern['size'])}")
    elif order not in (None, "sequential") and pattern.get("access_size"):
        parts.append(f"in accesses of {figures.size_text(pattern['access_size'])}")
    detail = " ".join(filter(None, parts))
    value = f"{figures.with_interval(measurement, factor)} {unit}"
    ends = f"{_path(measurement)}, " if path else ""
    return f"{ends}{value}{f' ({detail})' if detail else ''}"
