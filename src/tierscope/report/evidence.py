"""What measurements observed, in words: targets, GPUs, pages, and doubts about figures."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Literal

from rich.console import Console

from tierscope.machine.links import pcie_name, pcie_rate
from tierscope.model.endpoint import format_ranges, parse_endpoint
from tierscope.model.errors import counted
from tierscope.model.event import Evidence, GpuState
from tierscope.model.evidence import CopiesOverlap, NfsFacts, TraceRow
from tierscope.model.persistent import PersistentEvidence
from tierscope.model.run import Measurement
from tierscope.model.spec import HUGETLB
from tierscope.model.storage import DriveFacts, StorageFacts
from tierscope.report import figures
from tierscope.report.figures import BOUND, bound_words, size_text
from tierscope.report.naming import described_as, no_interval_text
from tierscope.report.style import is_detailed, new_table, note, title

Doubt = Literal["interrupted", "disturbed", "unsteady", "no-interval", "whole", "short", "wide"]
"""What makes a figure less sure; ``whole``: it has no interval because it is of no sample."""
WIDE = 0.05
"""Half-width of an interval, as a share of its estimate, from which on a figure is imprecise."""
_DISTURBED = "disturbed by other programs"
_SHORT = "short of the precision asked for when the time was over"
_VERDICTS: dict[Doubt, str] = {
    "interrupted": "interrupted",
    "disturbed": _DISTURBED,
    "unsteady": "without a steady state when the time was over",
    "short": _SHORT,
}
_MAX_TRACE_ROWS = 8
_TRACE_GROUPS = (
    ("call", "calls of the CUDA driver, on the host"),
    ("operation", "copies and memsets, on the device"),
    ("kernel", "kernels"),
)
_ANSWERS = {
    "yes": "data written would have survived power loss",
    "no": "data written would not have survived power loss",
    "unknown": "whether data written would have survived power loss is unknown",
}
_BOUND_AS = {
    "address-generation": ": it alone takes two thirds of the time or more",
    "not-the-device": ": they have less than half of the bytes; a cache or holes in between had "
    "the rest",
}
_MAX_NOTES = 4
_OTHERS = 1 << 20
"""Bytes from which on what drives moved for other programs is worth a word."""


def targets_text(evidence: Evidence) -> str:
    """``xfs at /data on nvme0n1 (MODEL, scheduler none)``; empty where there is no target."""
    return " and ".join(dict.fromkeys(_target(facts) for facts in evidence.storage or []))


def _target(facts: StorageFacts) -> str:
    mount = facts.path.mount
    file_system = f"{mount.type} at {mount.point}" if mount is not None else ""
    if facts.path.dax:
        file_system += ", DAX"
    if facts.nfs is not None:
        return f"{file_system} ({nfs_text(facts.nfs)})"
    if not facts.drives:
        return f"{file_system or facts.path.real} ({facts.note})"
    names = ", ".join(drive.name for drive in facts.drives)
    if facts.level:
        names = f"{facts.level} of {names}"
    about = [*_distinct(drive.model for drive in facts.drives)]
    about += [f"NVMe over {drive.transport} from {drive.server}" for drive in facts.drives
              if drive.server]  # fmt: skip
    about += [f"scheduler {name}" for name in _distinct(_schedulers(facts.drives))]
    about += [f"backed by {drive.backing_file}" for drive in facts.drives if drive.backing_file]
    described = f"{names} ({', '.join(about)})" if about else names
    return f"{file_system} on {described}" if file_system else described


def nfs_text(nfs: NfsFacts) -> str:
    """``NFS 4.2 by tcp from 10.0.0.1 over eth0, MTU 9000, nconnect 4, rsize 1 MiB, ...``."""
    members = "" if nfs.ports in ([], [nfs.interface]) else f" ({' and '.join(nfs.ports)})"
    parts = [
        f"NFS {nfs.version} by {nfs.transport} from {nfs.server}"
        + (f" over {nfs.interface}{members}" if nfs.interface else ", no route to it known"),
        *([f"MTU {nfs.mtu}"] if nfs.mtu else []),
        f"nconnect {nfs.connections}",
        *([f"rsize {size_text(nfs.rsize)}"] if nfs.rsize else []),
        *([f"wsize {size_text(nfs.wsize)}"] if nfs.wsize else []),
    ]
    return ", ".join(parts)


def _schedulers(drives: Iterable[DriveFacts]) -> Iterator[str]:
    return (drive.queue.get("scheduler", "") for drive in drives)


def _distinct(words: Iterable[str]) -> list[str]:
    return [word for word in dict.fromkeys(words) if word]


def drives_text(evidence: Evidence) -> str:
    """``nvme0n1 read 1 GiB of 1 GiB asked (of this program, by /proc/self/io)``, and the same of
    writes; empty where nobody counts."""
    names = _distinct(drive.name for one in evidence.storage or [] for drive in one.drives)
    who = ", ".join(names) or "the drives"
    said = []
    for verb, written in (("read", False), ("wrote", True)):
        found = evidence.drive_bytes(written)
        if found is None:
            continue
        more = found.everybody - found.moved >= _OTHERS
        in_all = f"; for all programs {size_text(found.everybody)}" if more else ""
        why = ", so a cache or holes had the rest" if found.missing else ""
        said.append(
            f"{who} {verb} {size_text(found.moved)} of {size_text(found.asked)} asked "
            f"({found.counter}{in_all}){why}"
        )
    return "; ".join(said)


def temperatures(observed: Iterable[Evidence]) -> str:
    """``drives at 41 to 45 °C``; empty where none can be read."""
    seen = [
        state.temperature_c
        for drive in _drives(observed)
        for state in drive.states
        if state.temperature_c is not None
    ]
    if not seen:
        return ""
    low, high = f"{min(seen):.0f}", f"{max(seen):.0f}"
    return f"drives at {low} °C" if low == high else f"drives at {low} to {high} °C"


def storage_warnings(observed: Iterable[Evidence]) -> list[str]:
    """Return warnings about drives and the network, each once."""
    observed, lines = list(observed), []
    for drive in _drives(observed):
        if drive.note:
            lines.append(f"{drive.name}: {drive.note}")
        if any(state.hot for state in drive.states):
            lines.append(f"{drive.name} was above its warning temperature, where it may throttle")
        lines += [*_slow_link(drive), *_worn(drive)]
    return _distinct([*lines, *(line for one in observed for line in _network(one))])


def _network(evidence: Evidence) -> Iterator[str]:
    """Say what went wrong on the way to servers."""
    for mount in evidence.nfs or []:
        for count, what in (
            (mount.retransmissions, "requests were sent again"),
            (mount.timeouts, "major timeouts"),
            (mount.errors, "operations failed"),
        ):
            if count:
                yield f"NFS at {mount.name}: {count} {what}"
    for port in evidence.ports or []:
        if port.errors:
            yield f"{port.name}: {port.errors} packets in error or dropped"
    for name, count in (evidence.nvidia_fs_errors or {}).items():
        yield f"nvidia-fs: {name} grew by {count}"


def _worn(drive: DriveFacts) -> list[str]:
    """Return a drive's own warnings."""
    wear = drive.wear
    if wear is None:
        return []
    found = []
    if wear.used_percent >= 100:
        found.append(f"{drive.name} is worn: {wear.used_percent}% of its expected life is used")
    if wear.spare_percent < wear.spare_threshold_percent:
        found.append(f"{drive.name} has {wear.spare_percent}% of its spare blocks left")
    if wear.media_errors:
        found.append(f"{drive.name} counts {wear.media_errors:.0f} media errors")
    if wear.warnings & 0b1100:
        found.append(f"{drive.name} reports that it is unreliable or read-only")
    return found


def _slow_link(drive: DriveFacts) -> list[str]:
    links = [state.link for state in drive.states if state.link is not None]
    best = drive.link_best
    if not links or best is None:
        return []
    slowest = min(links, key=lambda link: pcie_rate(link) or 0.0)
    if (pcie_rate(slowest) or 0.0) >= (pcie_rate(best) or 0.0):
        return []
    now = pcie_name(slowest)
    return [f"{drive.name}'s link ran at {now}; it and its slot support {pcie_name(best)}"]


def _drives(observed: Iterable[Evidence]) -> Iterator[DriveFacts]:
    return (
        drive for evidence in observed for facts in evidence.storage or [] for drive in facts.drives
    )


def states_of(measurement: Measurement) -> list[GpuState]:
    """Return what NVML saw of each GPU that took part."""
    return (measurement.evidence and measurement.evidence.gpus) or []


def throttled(measurement: Measurement) -> str:
    """Say what throttled a GPU's clocks while it was measured; empty where nothing did."""
    reasons = {reason for state in states_of(measurement) for reason in state.throttle or []}
    return f"the GPU's clocks were throttled: {', '.join(sorted(reasons))}" if reasons else ""


def _gpus(observed: Iterable[Evidence]) -> list[str]:
    """Say what NVML saw of each GPU while the measurements ran."""
    seen: dict[int, str] = {}
    for evidence in observed:
        for state in evidence.gpus or []:
            parts = [f"gpu:{state.gpu}"]
            if state.pcie_generation and state.pcie_width:
                parts.append(f"PCIe Gen{state.pcie_generation[-1]:g} x{state.pcie_width[-1]:g}")
            if state.sm_clock_hz and state.memory_clock_hz:
                parts.append(
                    f"{state.sm_clock_hz[-1] / 1e6:.0f} MHz, memory "
                    f"{state.memory_clock_hz[-1] / 1e6:.0f} MHz"
                )
            parts.append(", ".join(state.throttle) if state.throttle else "not throttled")
            seen[state.gpu] = " ".join(parts[:2]) + "".join(f", {part}" for part in parts[2:])
    return [*seen.values()]


def show_traces(console: Console, measurements: list[Measurement]) -> None:
    """Print where the time went, for each measurement that was traced."""
    for entry in measurements:
        rows = (entry.evidence and entry.evidence.trace) or []
        if rows:
            title(console, f"Trace of {entry.id}: where the time went")
            for group, heading in _TRACE_GROUPS:
                _show_trace(console, heading, [row for row in rows if row.group == group])
            if entry.evidence and entry.evidence.copies_overlap:
                note(console, overlap_text(entry.evidence.copies_overlap))


def overlap_text(found: CopiesOverlap) -> str:
    """Say whether copies were under way at the same time."""
    if found.copies < 2 or not found.busy_ns:
        return "Fewer than two copies were traced, so none could overlap."
    if found.most < 2:
        return (
            f"No two of {found.copies} copies overlapped: one engine made them one after the "
            "other, and more streams would not change that."
        )
    share = figures.share_text(found.overlapped_ns / found.busy_ns)
    return (
        f"{found.copies} copies overlapped for {share} of the time in which any was under way, "
        f"up to {found.most} at once."
    )


def _show_trace(console: Console, heading: str, rows: list[TraceRow]) -> None:
    if not rows:
        return
    total = sum(row.total_ns for row in rows)
    times = ("mean µs", "median µs", "min µs", "max µs", "stddev µs")
    table = new_table("share", "total ms", "count", *times, heading, words=(heading,))
    for row in rows[:_MAX_TRACE_ROWS]:
        values = (row.mean_ns, row.median_ns, row.min_ns, row.max_ns, row.stddev_ns)
        table.add_row(
            f"{row.total_ns / total:.1%}" if total else "",
            f"{row.total_ns / 1e6:.2f}",
            str(row.count),
            *(f"{value / 1e3:.1f}" for value in values),
            _moved(row),
        )
    console.print(table)


def _moved(row: TraceRow) -> str:
    """``memcpy host to GPU, 48 x 64 MiB, 3221 MB``."""
    each = f", {row.count} x {size_text(row.each_bytes)}" if row.each_bytes else ""
    return row.name + each + (f", {row.bytes / 1e6:.0f} MB" if row.bytes else "")


def survival_lines(measurements: Sequence[Measurement]) -> list[str]:
    """One sentence for each target and answer, in the order of targets."""
    found = {
        (m.target, m.evidence.persistent.survives_power_loss, m.evidence.persistent.why): None
        for m in measurements
        if m.evidence and m.evidence.persistent
    }
    return [f"{target}: {_ANSWERS.get(answer, answer)}. {why}" for target, answer, why in found]


def mapped_text(_measurement: Measurement, evidence: Evidence) -> str:
    """How a persistent target was reached: "a pool of objects, taken for persistent memory"."""
    found = evidence.persistent
    if found is None:
        return ""
    parts = [_kept_in(found)]
    if found.is_pmem is not None:
        way = "flushes" if found.is_pmem else "msync"
        parts.append(f"libpmemobj pool, made durable by {way}")
    if found.namespace_mode:
        parts.append(f"namespace of mode {found.namespace_mode}")
    if found.mount_policy:
        parts.append(f"mounted with mpol={found.mount_policy}")
    if found.bad_blocks:
        parts.append(f"{found.bad_blocks} bad blocks")
    if found.backed_by:
        parts.append(f"backed by a {found.backed_by}, as the user declared")
    return ", ".join(parts)


def _kept_in(found: PersistentEvidence) -> str:
    if found.mapping == "MAP_SYNC":
        return f"mapped with MAP_SYNC on {found.device or 'DAX'}"
    if found.mapping == "device":
        return (
            f"bytes {found.offset} to {(found.offset or 0) + (found.bytes or 0)} of {found.device}"
        )
    if found.emulated:
        return "persistent memory emulated by tmpfs"
    return f"not persistent memory ({found.file_system or 'a file system'})"


def evidence_line(measurements: list[Measurement]) -> str:
    """Return what was observed in a group, each thing once, with counts where it differs."""
    observed = [m for m in measurements if m.evidence]
    parts = []
    for facet in _FACETS:
        counts = Counter(text for m in observed if m.evidence and (text := facet(m, m.evidence)))
        if len(counts) == 1 and counts.total() == len(observed):
            parts.append(next(iter(counts)))
        elif counts:
            parts.append(", ".join(f"{text} ({count})" for text, count in counts.items()))
    evidence = [m.evidence for m in observed if m.evidence]
    parts += [*filter(None, [temperatures(evidence)]), *with_counts(evidence), *_gpus(evidence)]
    return f"observed: {'; '.join(parts)}" if parts else ""


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


def _prefetchers(_measurement: Measurement, evidence: Evidence) -> str:
    state = evidence.prefetchers or ""
    return "" if not state or state.startswith("unknown") else f"prefetchers {state}"


_FACETS: tuple[Callable[[Measurement, Evidence], str], ...] = (
    lambda _m, evidence: targets_text(evidence),
    mapped_text,
    _pages,
    _elsewhere,
    _traffic,
    _huge,
    _cpus,
    lambda _m, evidence: evidence.isa or evidence.library or "",
    _prefetchers,
    lambda _m, evidence: "data verified" if evidence.verified else "",
)
"""What is said of each measurement's evidence; empty where it has nothing of it."""


def with_counts(observed: list[Evidence]) -> list[str]:
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


def remarks(measurements: list[Measurement]) -> list[str]:
    """Return what changes what a reader does with a group's figures; in detail, all of their
    doubts and what was observed, too."""
    if not is_detailed():
        return cautions(measurements)
    return [line for line in (*warnings(measurements), evidence_line(measurements)) if line]


def doubts(m: Measurement) -> Iterator[Doubt]:
    """Yield what makes a figure less sure, the most important first."""
    if m.stop == "interrupted":
        yield "interrupted"
    if m.evidence and m.evidence.disturbed:
        yield "disturbed"
    if m.stop == "budget" and m.rounds:
        yield "unsteady"
    if not figures.has_interval(m):
        yield "whole" if m.no_interval in ("observed", "imported") else "no-interval"
    if m.stop == "budget" and not m.rounds:
        yield "short"
    if figures.relative_half(m) > WIDE:
        yield "wide"


def verdict(m: Measurement) -> str:
    """Return the first doubt about a figure in words; empty where there is none."""
    return next((_VERDICTS.get(doubt) or no_interval_text(m) for doubt in doubts(m)), "")


def sure_line(measured: Sequence[Measurement]) -> str:
    """Return the verdicts of these figures in one line; empty where all are sure."""
    by_verdict: dict[str, list[Measurement]] = {}
    for m in measured:
        by_verdict.setdefault(verdict(m), []).append(m)
    said = [
        f"{len(members)} of {len(measured)}: {text}"
        + (_median_width(members) if text == _SHORT else "")
        + (_cpu_share(members) if text == _DISTURBED else "")
        for text, members in by_verdict.items()
        if text
    ]
    if again := sum(m.evidence.replaced or 0 for m in measured if m.evidence):
        said.append(f"{counted(again, 'sample')} left out, for other programs took CPU time")
    return "; ".join(said)


def _median_width(members: Sequence[Measurement]) -> str:
    return f" (median {figures.width_text(median(map(figures.relative_half, members)))})"


def _cpu_share(members: Sequence[Measurement]) -> str:
    """Say how much CPU time the threads of disturbed figures had, and whether these count by it."""
    known = [m.evidence for m in members if m.evidence and m.evidence.cpu_share is not None]
    if not known:
        return ""
    by_it = sum(bool(evidence.by_cpu_time) for evidence in known)
    after = "; times and rates are by it" if by_it == len(members) else ""
    after = after or (f"; {by_it} count by it" if by_it else "")
    return f", with {_span([one.cpu_share or 0.0 for one in known])} of their CPU time{after}"


def warnings(measurements: list[Measurement]) -> list[str]:
    """Return all doubts about a group's figures, with how many each line touches."""
    measured = [m for m in measurements if m.has_figure]
    own = [remark for m in measured if m.evidence for remark in m.evidence.notes or []]
    lines = (sure_line(measured), *cautions(measurements), "; ".join(_alike(own)))
    return [line for line in lines if line]


def cautions(measurements: list[Measurement]) -> list[str]:
    """Return what of a group's figures is not what it seems, or asks for something to be done."""
    measured = [m for m in measurements if m.has_figure]
    held = sum(bool(m.fits_memory_side_cache) and not m.fits_caches for m in measured)
    each = ({figures.bound_of(m, figure) for figure in m.figures} for m in measured)
    bounds = Counter(bound for found in each for bound in found if bound)
    throttles = Counter(filter(None, map(throttled, measured)))
    lines = [
        f"{held} of {len(measured)}: the node's memory-side cache may hold all of it; a larger "
        "--size goes beyond"
        if held
        else "",
        *(
            f"{count} of {len(measured)}: {bound_words(bound)} ({BOUND}){_BOUND_AS.get(bound, '')}"
            for bound, count in bounds.items()
        ),
        *(f"{count} of {len(measured)}: {text}" for text, count in throttles.items()),
        *survival_lines(measured),
        *storage_warnings(m.evidence for m in measured if m.evidence),
    ]
    return [line for line in (*lines, _modes(measured)) if line]


def _modes(measured: Sequence[Measurement]) -> str:
    """Say between which values figures changed; empty where none did."""
    found = [m for m in measured if m.evidence and m.evidence.modes]
    said = [f"{described_as(m)}: {_modes_of(m)}" for m in found[:_MAX_NOTES]]
    if len(found) > _MAX_NOTES:
        said.append(f"and {len(found) - _MAX_NOTES} more in the run file")
    return f"two modes: {'; '.join(said)}" if said else ""


def _modes_of(m: Measurement) -> str:
    unit, factor = figures.common_scale([m])
    modes = (m.evidence and m.evidence.modes) or []
    return ", ".join(
        f"{mode.share:.0%} of samples at {figures.significant(mode.value / factor, 3)} {unit}"
        for mode in modes
    )


def _alike(notes: list[str]) -> list[str]:
    """Return the remarks of measurements; those that differ in numbers only are one."""
    alike: dict[str, list[str]] = {}
    for remark in notes:
        alike.setdefault(re.sub(r"\d+", "0", remark), []).append(remark)
    groups = sorted(alike.values(), key=len, reverse=True)
    lines = [
        f"{group[0]} ({len(group)}{'' if len(set(group)) == 1 else ', for example'})"
        for group in groups[:_MAX_NOTES]
    ]
    if len(groups) > _MAX_NOTES:
        lines.append(f"and {len(groups) - _MAX_NOTES} more in the run file")
    return lines
