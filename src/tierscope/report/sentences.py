"""The three sentences that matter first: best and worst, what is left over, what looks wrong."""

from tierscope.analysis.flat import shared
from tierscope.analysis.knee import SHARE
from tierscope.model.run import Measurement, Run
from tierscope.report import figures

_GOOD = 0.85
"""Share of its limit from which on a path leaves little on the table."""
_WIDE = 0.05
"""Half-width of an interval, as a share of its estimate, from which on a figure is a rough one."""


def sentences(run: Run) -> list[str]:
    """Return three sentences, in this order; each says so where it has nothing to say."""
    measured = [m for m in run.measurements if m.status == "measured" and not shared(m)]
    if not measured:
        return [
            "Nothing was measured.",
            "So nothing can be said about what is left on the table.",
            looks_wrong(run),
        ]
    return [best_and_worst(measured), left_over(measured), looks_wrong(run)]


def best_and_worst(measured: list[Measurement]) -> str:
    """Name the fastest and the slowest path, by efficiency where limits are known."""
    rates = _best_by_path([m for m in measured if m.unit == "B/s"])
    times = _best_by_path([m for m in measured if m.metric == "latency"], furthest=True)
    parts = []
    if rates:
        by = sorted(rates, key=lambda m: m.estimate or 0.0)
        parts.append(f"The fastest path is {_said(by[-1])}")
        if len(by) > 1:
            parts.append(f"the slowest is {_said(by[0])}")
    if times:
        by = sorted(times, key=lambda m: m.estimate or 0.0)
        if len(by) > 1:
            parts.append(f"latency goes from {_said(by[0])} to {_said(by[-1])}")
        else:
            parts.append(f"latency is {_said(by[0])}")
    if not parts:
        best = measured[0]
        parts.append(f"{best.kind} of {_said(best)}")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def left_over(measured: list[Measurement]) -> str:
    """Say how far the best figure of each path with a limit is from it, worst first."""
    limited = _best_by_path([m for m in measured if m.efficiency is not None and m.limit])
    if not limited:
        scaling = _still_scaling(measured)
        return (
            "What is left on the table cannot be said: no link's rate is known for these paths"
            f"{scaling}."
        )
    worst = min(limited, key=lambda m: m.efficiency or 0.0)
    assert worst.limit is not None
    assert worst.efficiency is not None
    unit, factor = figures.scale_of("B/s", [worst.limit.value])
    left = (worst.limit.value - (worst.estimate or 0.0)) / factor
    limit = f"{worst.limit.value / factor:.4g} {unit} of {worst.limit.link}"
    if worst.efficiency >= _GOOD:
        return (
            f"Little is left on the table: every path with a known limit reaches {_GOOD:.0%} of "
            f"it, the least {worst.initiator} → {worst.target} with {worst.efficiency:.0%} of "
            f"{limit}."
        )
    return (
        f"Most is left on the table from {worst.initiator} to {worst.target}: its best, "
        f"{_said(worst, path=False)}, is {worst.efficiency:.0%} of the {limit}, so {left:.3g} "
        f"{unit} are unused."
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
        if (before.estimate or 0.0) < SHARE * (last.estimate or 0.0):
            return (
                f"; {last.initiator} → {last.target} still got faster with its "
                f"{last.pattern['threads']} threads, all that were measured"
            )
    return ""


def looks_wrong(run: Run) -> str:
    """Say what spoils the run's figures, the worst first, or that nothing does."""
    found = []
    if run.header.emulated:
        found.append("the machine is emulated in software, so its figures mean nothing")
    planned = len(run.header.plan.get("measurements", []))
    if run.footer is None:
        found.append(f"the run was cut after {len(run.measurements)} of {planned} measurements")
    elif run.footer.interrupted:
        found.append(f"the run was interrupted at {len(run.measurements)} of {planned}")
    statuses = [m.status for m in run.measurements]
    if "failed" in statuses:
        number = statuses.count("failed")
        found.append(f"{number} measurement{'s' if number > 1 else ''} failed")
    measured = [m for m in run.measurements if m.status == "measured"]
    wide = [m for m in measured if figures.relative_half(m) > _WIDE]
    if wide:
        found.append(
            f"{len(wide)} of {len(measured)} figures are rough, with intervals wider than "
            f"±{_WIDE:.0%}"
        )
    disturbed = [m for m in measured if m.evidence and m.evidence.disturbed]
    if disturbed:
        found.append(f"neighbours took CPU time during {len(disturbed)} of {len(measured)}")
    governor = run.header.environment.get("governor", "")
    if governor and governor != "performance":
        found.append(f"the frequency governor is {governor}, not performance")
    if not found:
        return "Nothing looks wrong: all was measured, and every interval is narrow."
    text = "; ".join(found)
    return f"What looks wrong: {text}."


def _best_by_path(measured: list[Measurement], furthest: bool = False) -> list[Measurement]:
    """Return one measurement a path: the best rate, or the latency of the largest working set."""
    paths: dict[tuple[str, str], Measurement] = {}
    for m in measured:
        key = (m.initiator, m.target)
        known = paths.get(key)
        if known is None or _rank(m, furthest) > _rank(known, furthest):
            paths[key] = m
    return list(paths.values())


def _rank(measurement: Measurement, furthest: bool) -> tuple[float, float]:
    if furthest:
        # Of the chases of the largest working set, the one that gets to memory soonest.
        return float(measurement.pattern.get("size", 0)), -(measurement.estimate or 0.0)
    return measurement.estimate or 0.0, 0.0


def _said(measurement: Measurement, path: bool = True) -> str:
    unit, factor = figures.scale_of(measurement.unit or "count", [measurement.estimate or 0.0])
    what = str(measurement.pattern.get("operation", ""))
    threads = measurement.pattern.get("threads")
    parts = [what, f"by {threads} thread{'s' if threads != 1 else ''}" if threads else ""]
    size = measurement.pattern.get("size")
    if measurement.unit == "ns" and size:
        parts.append(f"over {figures.size_text(size)}")
    detail = " ".join(filter(None, parts))
    value = f"{figures.with_interval(measurement, factor)} {unit}"
    ends = f"{measurement.initiator} → {measurement.target}, " if path else ""
    return f"{ends}{value}{f' ({detail})' if detail else ''}"
