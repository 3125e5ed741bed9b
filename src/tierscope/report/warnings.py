"""What may invalidate a run's figures, the worst first."""

from collections import Counter
from collections.abc import Sequence

from tierscope.model.errors import counted
from tierscope.model.limit import Limit
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.causes import missing_by_cause
from tierscope.report.naming import path_name
from tierscope.topology.nvidia import pci_address

_WIDE = 0.05
"""Half-width of an interval, as a share of its estimate, from which on a figure is imprecise."""


def warnings_sentence(run: Run) -> str:
    """Return all warnings in a sentence, or that there are none."""
    if text := warnings_line(run):
        return text
    measured = [m for m in run.measurements if m.has_figure]
    if not measured:
        return "No further warnings."
    text = "No warnings: everything was measured"
    short = sum(m.stop == "budget" for m in measured)
    if not short:
        return f"{text}, as precisely as asked."
    return (
        f"{text}, and no interval is wider than ±{_WIDE:.0%}; {short} of {len(measured)} figures "
        "ran out of time before they were as precise as asked."
    )


def warnings_line(run: Run) -> str:
    """Return all warnings in a sentence; empty where there are none."""
    found = warnings_of(run)
    return f"Warnings: {'; '.join(found)}." if found else ""


def warnings_of(run: Run) -> list[str]:
    """Return what may invalidate figures, each in a clause, the worst first."""
    found = _of_run(run)
    measured = [m for m in run.measurements if m.has_figure]
    found += [text for check in _CHECKS if (text := check(measured))]
    governor = run.header.environment.get("governor", "")
    if governor and governor != "performance":
        found.append(f"the frequency governor is {governor}, not performance")
    return found


def _of_run(run: Run) -> list[str]:
    found = []
    if run.header.emulated:
        found.append("the machine is emulated in software, so its figures mean nothing")
    if run.header.imported:
        found.append(
            f"these figures are imported: {run.header.imported.program} measured them, without "
            "intervals and without evidence"
        )
    planned = len(run.header.plan.get("measurements", []))
    done = f"{len(run.measurements)} of {counted(planned, 'measurement')}"
    if run.footer is None:
        found.append(f"the run was cut off after {done}")
    elif run.footer.interrupted:
        found.append(f"the run was interrupted after {done}")
    found += [
        f"{_counted(len(group.members), 'measurement')} failed ({group.why}), first "
        f"{group.members[0].id}"
        for group in missing_by_cause(run.measurements)
        if group.status == "failed"
    ]
    if text := _another_gpu(run):
        found.append(text)
    return found


def _another_gpu(run: Run) -> str:
    """Name a GPU that CUDA found at another PCI address than the topology."""
    topology = run.header.topology
    for m in run.measurements:
        for state in (m.evidence and m.evidence.gpus) or []:
            known = topology.gpu(state.gpu) if topology else None
            used = pci_address(state.address or "")
            if known is not None and known.address and used not in ("", known.address):
                return (
                    f"gpu:{state.gpu} was measured at {used}, but its paths and limits are those "
                    f"of {known.address}"
                )
    return ""


def _beyond(measured: Sequence[Measurement]) -> str:
    """Name what is faster than it can be."""
    beyond = [m for m in measured if m.limit and (m.ci_low or m.estimate or 0.0) > _most(m.limit)]
    if not beyond:
        return ""
    most = max(beyond, key=_efficiency)
    return (
        f"{path_name(most)} reaches {_efficiency(most):.1%} of its limit: a cache served part of "
        "it, or the limit is too low"
    )


def _most(limit: Limit) -> float:
    """Return the limit of a CPU that avoids write-allocate, as some do when the bus is busy."""
    return max(limit.value, limit.without_write_allocate or 0.0)


def _degraded_links(measured: Sequence[Measurement]) -> str:
    degraded = dict.fromkeys(m.limit.link for m in measured if m.limit and m.limit.degraded)
    return f"a link runs below its capability, {next(iter(degraded))}" if degraded else ""


def _throttled(measured: Sequence[Measurement]) -> str:
    why = Counter(
        f"gpu:{state.gpu} was throttled ({', '.join(state.throttle)})"
        for m in measured
        for state in (m.evidence and m.evidence.gpus) or []
        if state.throttle
    )
    if not why:
        return ""
    text, count = why.most_common(1)[0]
    return f"{text} during {count} of {counted(len(measured), 'measurement')}"


def _imprecise(measured: Sequence[Measurement]) -> str:
    wide = [m for m in measured if figures.relative_half(m) > _WIDE]
    if not wide:
        return ""
    worst = max(wide, key=figures.relative_half)
    return (
        f"intervals wider than ±{_WIDE:.0%} for {len(wide)} of {len(measured)} figures (the "
        f"widest {figures.width_text(figures.relative_half(worst))}, {worst.id})"
    )


def _without_interval(measured: Sequence[Measurement]) -> str:
    count = sum(
        (m.ci_low is None or m.ci_high is None) and m.no_interval not in ("observed", "imported")
        for m in measured
    )
    return f"no interval for {count} of {len(measured)} figures" if count else ""


def _disturbed(measured: Sequence[Measurement]) -> str:
    count = sum(bool(m.evidence and m.evidence.disturbed) for m in measured)
    if not count:
        return ""
    return f"other programs took CPU time during {count} of {counted(len(measured), 'measurement')}"


_CHECKS = (_beyond, _degraded_links, _throttled, _imprecise, _without_interval, _disturbed)
"""What may invalidate figures, the worst first."""


def _efficiency(measurement: Measurement) -> float:
    return measurement.efficiency or 0.0


def _counted(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"
