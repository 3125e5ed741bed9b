"""Evidence in a few lines: where the pages were, which CPUs ran, what else proves a figure."""

import re
from collections import Counter
from collections.abc import Callable, Mapping

from tierscope.model.endpoint import format_ranges, parse_endpoint
from tierscope.model.errors import counted as number_of
from tierscope.model.event import Evidence
from tierscope.model.run import Measurement
from tierscope.model.spec import HUGETLB
from tierscope.report.causes import no_interval_text
from tierscope.report.figures import BOUND
from tierscope.report.storage_text import storage_warnings, targets_text, temperatures
from tierscope.report.survival import mapped_text, survival_lines

_MAX_NOTES = 4


def evidence_line(measurements: list[Measurement]) -> str:
    """Return what was observed in a group, each thing once, with counts where it differs."""
    observed = [m for m in measurements if m.evidence]
    parts = []
    for facet in (
        _targets,
        mapped_text,
        _pages,
        _elsewhere,
        _traffic,
        _huge,
        _cpus,
        _instructions,
        _prefetchers,
        _verified,
    ):
        counts = Counter(text for m in observed if m.evidence and (text := facet(m, m.evidence)))
        if len(counts) == 1 and counts.total() == len(observed):
            parts.append(next(iter(counts)))
        elif counts:
            parts.append(", ".join(f"{text} ({count})" for text, count in counts.items()))
    evidence = [m.evidence for m in observed if m.evidence]
    parts += [*filter(None, [temperatures(evidence)]), *counted(evidence)]
    return f"observed: {'; '.join(parts)}" if parts else ""


def _targets(_measurement: Measurement, evidence: Evidence) -> str:
    return targets_text(evidence)


def _pages(_measurement: Measurement, evidence: Evidence) -> str:
    shares = by_node(evidence.pages)
    return f"pages {shares}" if shares else ""


def by_node(amounts: Mapping[str, float] | None) -> str:
    """Write amounts by node as shares: ``75% on node 0, 25% on node 2``; empty where all are 0."""
    total = sum((amounts or {}).values())
    if not amounts or not total:
        return ""
    return ", ".join(f"{100 * part / total:.3g}% on node {node}" for node, part in amounts.items())


def _elsewhere(measurement: Measurement, evidence: Evidence) -> str:
    """Say where concurrent workloads had their pages, if not where the main one's were."""
    return ", ".join(
        f"of {name} {where.removeprefix('pages ')}"
        for name, workload in (evidence.workloads or {}).items()
        if (where := _pages(measurement, workload)) and where != _pages(measurement, evidence)
    )


def _traffic(measurement: Measurement, evidence: Evidence) -> str:
    """Say which nodes the threads' bytes went to, and in which proportion they were asked to."""
    parts = []
    if evidence.traffic:
        parts.append(by_node(evidence.traffic) + _asked(measurement, list(evidence.traffic)))
    parts += [
        f"of {name} {by_node(workload.traffic)}"
        for name, workload in (evidence.workloads or {}).items()
        if workload.traffic
    ]
    return f"traffic {'; '.join(parts)}" if parts else ""


def _asked(measurement: Measurement, nodes: list[str]) -> str:
    """Of interleaved pages: "; asked 95.2:4.76", in the order of ``nodes``."""
    if measurement.pattern.get("policy") not in ("interleave", "weighted"):
        return ""
    target = parse_endpoint(measurement.target)
    weights = dict(
        zip(map(str, target.numbers), target.weights or [1] * len(target.numbers), strict=True)
    )
    whole = sum(weights.values())
    return ", asked " + ":".join(f"{100 * weights.get(node, 0) / whole:.3g}" for node in nodes)


def _huge(measurement: Measurement, evidence: Evidence) -> str:
    if measurement.pattern.get("pages") in HUGETLB:
        return "hugetlb pages" if evidence.pages else ""
    if evidence.huge_bytes is None or not evidence.region_bytes:
        return ""
    # A small region lies in one huge page that is larger than it.
    share = min(1.0, evidence.huge_bytes / evidence.region_bytes)
    return "huge pages" if share == 1 else "base pages" if share == 0 else f"{share:.0%} huge pages"


def _cpus(measurement: Measurement, evidence: Evidence) -> str:
    if not evidence.cpus:
        return ""
    if evidence.cpus_seen:
        seen = {cpu for cpus in evidence.cpus_seen for cpu in cpus}
        return f"threads on their sets of CPUs, seen on {format_ranges(tuple(sorted(seen)))}"
    if evidence.cpus == measurement.cpus:
        return "each thread on its CPU"
    return f"threads on other CPUs, {format_ranges(tuple(sorted(set(evidence.cpus))))}"


def _instructions(_measurement: Measurement, evidence: Evidence) -> str:
    return evidence.isa or evidence.library or ""


def _prefetchers(_measurement: Measurement, evidence: Evidence) -> str:
    state = evidence.prefetchers or ""
    return "" if not state or state.startswith("unknown") else f"prefetchers {state}"


def _verified(_measurement: Measurement, evidence: Evidence) -> str:
    return "written data verified" if evidence.verified else ""


def counted(observed: list[Evidence]) -> list[str]:
    """Compare what each hardware counter saw with what the bus should have carried."""
    ratios: dict[str, list[float]] = {}
    for evidence in observed:
        for counter in evidence.counters or []:
            if counter.bus_bytes:
                ratio = counter.bytes / counter.bus_bytes
                ratios.setdefault(counter.source, []).append(ratio)
    return [
        f"{source} counted {_span(found)} of the bytes expected on the bus"
        for source, found in ratios.items()
    ]


def _span(values: list[float]) -> str:
    low, high = f"{min(values):.0%}", f"{max(values):.0%}"
    return low if low == high else f"{low} to {high}"


def warnings(measurements: list[Measurement]) -> list[str]:
    """Return what a reader must know of a group's figures, with how many each line touches."""
    measured = [m for m in measurements if m.status == "measured"]
    checks: tuple[tuple[Callable[[Measurement], bool], str], ...] = (
        (
            lambda m: m.stop == "budget" and not m.rounds,
            "stopped at the time budget before the asked precision; raise --budget",
        ),
        (lambda m: m.stop == "interrupted", "interrupted"),
        (
            lambda m: m.stop == "budget" and bool(m.rounds),
            "no steady state when the time was over; raise --budget",
        ),
        (
            lambda m: bool(m.fits_memory_side_cache) and not m.fits_caches,
            "the node's memory-side cache may hold all of it; a larger --size goes beyond",
        ),
        (
            lambda m: bool(m.evidence and m.evidence.disturbed),
            "other programs took CPU time during some samples",
        ),
        (
            lambda m: m.bound_by == "address-generation",
            f"bound by address generation ({BOUND}): it alone takes two thirds of the time or more",
        ),
    )
    gaps = Counter(filter(None, map(no_interval_text, measured)))
    lines = [f"{count} of {len(measured)}: {text}" for text, count in gaps.items()]
    lines += [
        f"{sum(map(applies, measured))} of {len(measured)}: {text}"
        for applies, text in checks
        if any(map(applies, measured))
    ]
    lines += survival_lines(measured)
    lines += storage_warnings(m.evidence for m in measured if m.evidence)
    again = sum(m.evidence.replaced or 0 for m in measured if m.evidence)
    if again:
        lines.append(f"{number_of(again, 'sample')} left out, for other programs took CPU time")
    return lines + _remarks(
        [note for m in measured if m.evidence for note in m.evidence.notes or []]
    )


def _remarks(notes: list[str]) -> list[str]:
    """Return the remarks of measurements; those that differ in numbers only are one."""
    alike: dict[str, list[str]] = {}
    for note in notes:
        alike.setdefault(re.sub(r"\d+", "0", note), []).append(note)
    groups = sorted(alike.values(), key=len, reverse=True)
    lines = [
        f"{group[0]} ({len(group)}{'' if len(set(group)) == 1 else ', for example'})"
        for group in groups[:_MAX_NOTES]
    ]
    if len(groups) > _MAX_NOTES:
        lines.append(f"and {len(groups) - _MAX_NOTES} more in the run file")
    return lines
