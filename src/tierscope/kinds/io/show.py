"""How measurements of storage are shown: their table, findings, remarks and pictures."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from rich.console import Console
from rich.text import Text

from tierscope.analysis.best import best_of
from tierscope.analysis.change import Traits, change_of
from tierscope.analysis.curve import LEVEL, z_of
from tierscope.analysis.knee import knee_of
from tierscope.analysis.time_series import Steady, steady_state
from tierscope.machine.storage_paths import reach
from tierscope.model.errors import counted
from tierscope.model.event import IoEvidence
from tierscope.model.evidence import NfsCounts, PortCounts
from tierscope.model.run import Figure, Measurement, Round, Run
from tierscope.model.storage import BlockCounts, DriveFacts, StorageFacts
from tierscope.model.text import brief
from tierscope.report import figures
from tierscope.report.figures import share_text, size_text
from tierscope.report.naming import path_name, path_of
from tierscope.report.pictures import generic, shapes
from tierscope.report.pictures.generic import Axes, best_of_each, curves_over, heat_over, matrix_of
from tierscope.report.pictures.percentiles import percentiles
from tierscope.report.pictures.picture import (
    Picture,
    PictureInput,
    Spec,
    distinct,
    groups_by,
    metric_name,
    row_of,
    scale_of,
    slug,
    varying,
    words_of,
)
from tierscope.report.style import new_table, title
from tierscope.report.table import show_notes, show_rows
from tierscope.report.view import KeyFigure, View

LATENCY = "io_latency"
_US = 1e3
_IDLE = {"operation": "read", "order": "random", "block_size": 4096, "depth": 1, "threads": 1,
         "direct": True}  # fmt: skip
"""Reads made one at a time."""
_ALIKE = 1.05
"""Ratio of two rates up to which neither is faster."""
_NOISY = "the intervals are too wide to compare"
_NOTHING_KNOWN = Traits(private_bytes=0.0, shared_caches={})
"""Traits of CPU caches, which have no part in storage."""
_WARM = 0.99
"""Share of the files in the page cache from which on it holds them all."""
_IN_CACHE = 0.01
"""Share of the files in the page cache from which on a direct read found some there."""
_AGREE = 0.02
"""Share by which an array's members together may differ from what the array counts itself."""
_OUTLIER = 0.9
"""Share of the median of at least three targets below which one of them is an outlier."""
_TOGETHER = ("together", "jobs", "threads", "memory")
"""Properties in which several targets together differ from each of them alone."""
_CURVE_ROWS = 12
"""Most rounds of a curve that the table shows."""
_MIN_POINTS = 3
_MIN_PATHS = 3
"""Paths from which on a matrix shows more than two bars would."""
_MATRIX = ("operation", "read_percent", "order", "block_size", "depth", "threads")
"""Properties that are alike in all cells of a matrix."""
_MAX_LINES = 5
"""Lines up to which all of a path's measurements are in the picture of percentiles."""

Sweep = list[Measurement]


def estimate(measurement: Measurement, metric: str, part: str = "") -> float:
    """Return the estimate of a figure; 0 where the measurement has none."""
    return figures.figure_of(measurement, metric, part) or 0.0


def latency(measurement: Measurement, percentile: str = "p50") -> Figure | None:
    """Return a percentile of the latency of operations, in ns; None where too few were made."""
    return figures.side_figure(measurement, f"{LATENCY}_{percentile}")


def cached(measurement: Measurement) -> bool:
    """Whether the page cache takes part."""
    return not measurement.pattern.get("direct")


def observed(measurement: Measurement) -> IoEvidence | None:
    """Return what was observed of a measurement's input and output."""
    return measurement.evidence.storage_io if measurement.evidence else None


def on(measurement: Measurement) -> list[StorageFacts]:
    """Return the facts about a measurement's targets, read before its repetitions."""
    return (measurement.evidence and measurement.evidence.storage) or []


def operation(measurement: Measurement) -> str:
    """Return order and operation: "random read", or with the shares of a mix "random 70:30"."""
    share = measurement.pattern.get("read_percent")
    what = f"{share}:{100 - int(share)}" if share else measurement.pattern.get("operation", "")
    return f"{measurement.pattern.get('order', '')} {what}".strip()


def plural(measurement: Measurement) -> str:
    """Return the same in the plural: "random reads", "random 70:30 reads and writes"."""
    mixed = measurement.pattern.get("read_percent")
    return f"{operation(measurement)} reads and writes" if mixed else f"{operation(measurement)}s"


def _blocks(measurement: Measurement) -> str:
    """Return operations and their size: "random reads of 4 KiB"."""
    return f"{plural(measurement)} of {size_text(measurement.pattern['block_size'])}"


def rate_text(measurement: Measurement, metric: str = "") -> str:
    """Return the headline, or the figure of another metric: "12300 IOPS", "1.21 GB/s"."""
    metric = metric or str(measurement.metric)
    found = figures.side_figure(measurement, metric)
    if found is None:
        return f"unknown {metric_name(metric)}"
    unit, factor = ("IOPS", 1.0) if metric == "iops" else figures.common_scale([found])
    return f"{figures.plain(found, factor, 3)} {unit}"


def latency_text(measurement: Measurement, percentile: str = "p50") -> str:
    """Return "84 µs"; empty where it is not known."""
    found = latency(measurement, percentile)
    return f"{figures.plain(found, _US, 3)} µs" if found else ""


def in_sentences(lines: Sequence[str]) -> str:
    """Return these lines as sentences of a paragraph."""
    return " ".join(f"{line[0].upper()}{line[1:]}." for line in lines)


def same_but(first: Measurement, second: Measurement, *keys: str) -> bool:
    """Whether two measurements differ in these keys of their patterns only, and in no other."""
    return _rest(first, keys) == _rest(second, keys)


def _rest(measurement: Measurement, keys: Collection[str]) -> tuple[str, str, str]:
    rest = sorted((k, str(value)) for k, value in measurement.pattern.items() if k not in keys)
    return measurement.initiator, measurement.target, str(rest)


def _alike(measured: Sequence[Measurement], *keys: str) -> Iterable[Sweep]:
    """Return groups of measurements that differ in these keys of their patterns only."""
    groups: dict[tuple[str, str, str], Sweep] = {}
    for m in measured:
        groups.setdefault(_rest(m, keys), []).append(m)
    return groups.values()


def sweeps(measured: Sequence[Measurement], *keys: str) -> list[Sweep]:
    """Return groups that differ in nothing but these keys of their patterns, in the order of the
    first key's values; groups of one value are left out."""

    def by(m: Measurement) -> list[int]:
        return [int(m.pattern.get(key) or 0) for key in keys]

    return [
        sorted(group, key=by)
        for group in _alike(measured, *keys)
        if len({str(m.pattern.get(keys[0])) for m in group}) > 1
    ]


def over_both(measured: Sequence[Measurement], *keys: str) -> list[Sweep]:
    """Return groups that differ in nothing but two keys of their patterns, of which each value
    comes with at least two of the other's."""
    found = []
    for members in _alike(measured, *keys):
        for _ in range(2):  # leaving one out may leave another without two values of the other key
            members = [m for m in members if all(_company(m, members, k, keys) for k in keys)]
        if members:
            found.append(sorted(members, key=lambda m: [int(m.pattern[key]) for key in keys]))
    return found


def _company(m: Measurement, members: Sweep, key: str, keys: Sequence[str]) -> bool:
    """Whether a measurement's value of a key comes with two values of the other one."""
    others = [o for o in members if o.pattern[key] == m.pattern[key]]
    return all(len({o.pattern[k] for o in others}) > 1 for k in keys if k != key)


def depth_lines(measured: Sequence[Measurement]) -> list[str]:
    """Say at which depth the rate of each sweep over depths saturates, and what more costs."""
    return [_depth_line(sweep) for sweep in sweeps(measured, "depth") if len(sweep) > 2]


def _depth_line(sweep: Sweep) -> str:
    depths = {int(m.pattern["depth"]): m for m in sweep}
    found = knee_of(sweep, "depth")
    best, deepest = best_of(sweep), max(depths)
    last, what = depths[deepest], _blocks(sweep[0])
    if found.first == deepest:
        return f"{what}: still rising at depth {deepest}, {rate_text(last)}"
    if found.last == deepest:
        return (
            f"{what}: saturated from depth {found.first} on at the earliest, {rate_text(best)}; "
            "the intervals are too wide to say more"
        )
    depth = found.first if found.first == found.last else f"{found.first} to {found.last}"
    text = f"{what}: saturated from depth {depth} on, at {rate_text(best)}"
    low, high = latency(depths[found.last]), latency(last)
    if low and high and high.estimate > _ALIKE * low.estimate and last is not best:
        text += (
            f"; depth {deepest} only adds latency, {figures.plain(high, _US, 3)} "
            f"after {figures.plain(low, _US, 3)} µs (p50)"
        )
    return text


def thread_lines(measured: Sequence[Measurement]) -> list[str]:
    """Say what more threads give."""
    lines = []
    for sweep in sweeps(measured, "threads", "size"):
        first, best = sweep[0], best_of(sweep)
        gain = (best.estimate or 0.0) / (first.estimate or 1.0)
        one = counted(int(first.pattern["threads"]), "thread")
        if figures.is_vague(first) or figures.is_vague(best):
            words = _NOISY
        elif best is first or gain < _ALIKE:
            words = f"more threads add nothing to the {rate_text(first)} of {one}"
        else:
            reached = f"{best.pattern['threads']} threads reach {rate_text(best)}"
            words = f"{reached}, {brief(gain, 2)} times {one}"
        lines.append(f"{plural(first)}: {words}")
    return lines


def block_lines(measured: Sequence[Measurement]) -> list[str]:
    """Say from which block size on bandwidth is near its best, for each sweep over block sizes."""
    lines = []
    for sweep in sweeps(measured, "block_size"):
        if len(sweep) < 4 or any(figures.side_figure(m, "bandwidth") is None for m in sweep):
            continue
        best = max(sweep, key=lambda m: estimate(m, "bandwidth"))
        most = estimate(best, "bandwidth")
        enough = next(m for m in sweep if estimate(m, "bandwidth") >= 0.9 * most)
        lines.append(
            f"{plural(best)}: {rate_text(best, 'bandwidth')} at best; blocks of "
            f"{size_text(enough.pattern['block_size'])} and more reach 90% of it"
        )
    return lines


def cache_lines(measured: Sequence[Measurement]) -> list[str]:
    """Compare the page cache with direct accesses of the same backend and pattern."""
    lines = []
    for m in measured:
        other = next((o for o in measured if not cached(o) and same_but(m, o, "direct")), None)
        if not cached(m) or other is None or not other.estimate:
            continue
        if figures.is_vague(m) or figures.is_vague(other):
            lines.append(f"{_blocks(m)}, {m.pattern['backend']}: {_NOISY}")
            continue
        ratio = (m.estimate or 0.0) / other.estimate
        lines.append(
            f"{_blocks(m)}: {rate_text(m)} through the page cache, {brief(ratio, 2)} times the "
            f"drive's {rate_text(other)}"
        )
    return lines


def headroom(measured: Sequence[Measurement]) -> str:
    """Say what limits the best direct accesses, and how far they are from it; empty without any."""
    direct = [m for m in measured if not cached(m)]
    if not direct:
        return ""
    limited = [(m.efficiency, m, m.limit) for m in direct if m.limit and m.efficiency]
    if not limited:
        if any("lo" in facts.interfaces for m in direct for facts in on(m)):
            return "No limit is known: the server is this machine, and lo has no rate."
        return (
            "No limit is known: no link of this drive shows its rate. --rated FILE compares with "
            "its data sheet."
        )
    share, best, limit = max(limited, key=lambda found: found[0])
    return (
        f"The best, {_blocks(best)}, reaches {rate_text(best)}: {share_text(share)} of what "
        f"{limit.link} allows ({limit.formula}); {share_text(max(0.0, 1 - share))} is left."
    )


def _steady(measurement: Measurement) -> Steady | None:
    """Return the steady state of a measurement's samples; None where they are too few."""
    sample_ns = (measurement.evidence.sample_ns if measurement.evidence else None) or 0.0
    return steady_state(measurement.samples, sample_ns / 1e9)


def steady_text(found: Steady | None) -> str:
    """Say whether it came to a steady state by the five-round rule, and how long a round was."""
    if found is None:
        return "too few samples to tell a steady state"
    rule = f"by the five-round rule, rounds of {found.round_s * 1e3:.3g} ms"
    if not found.reached:
        return f"not steady {rule}"
    after = f" from round {found.first + 1} on" if found.first else ""
    return f"steady{after} {rule}"


def used_bytes(measurement: Measurement) -> int:
    """Return the bytes that a measurement goes over; 0 where that is not recorded."""
    io = observed(measurement)
    return (io.used_bytes if io else None) or 0


def passes(measurement: Measurement, one: Round) -> float:
    """Return how many times what it goes over was written at the end of a round."""
    return one.bytes_written / used_bytes(measurement) if used_bytes(measurement) else 0.0


def series_lines(measured: Sequence[Measurement]) -> list[str]:
    """Say what preconditioning wrote, and whether and where a write-saturation curve was steady."""
    return [_series_line(m, m.rounds) for m in measured if m.rounds]


def _series_line(m: Measurement, rounds: Sequence[Round]) -> str:
    end_s = figures.seconds_text(rounds[-1].end_s)
    written = f"{passes(m, rounds[-1]):.3g} times the {size_text(used_bytes(m))} written in {end_s}"
    purged = "purged by discard, then " if m.pattern.get("purged") else ""
    if not m.pattern.get("write_saturation"):
        how = "cut short" if m.stop == "interrupted" else "at"
        return f"preconditioning: {purged}{written}, {how} {rate_text(m, 'bandwidth')}"
    unit, factor = _curve_unit(m)
    state = "steady" if m.stop == "steady" else "not steady"
    when = "when it was interrupted after" if m.stop == "interrupted" else "after"
    return (
        f"write saturation, {_blocks(m)}: {purged}{state} by the five-round rule, rounds of "
        f"{figures.seconds_text(rounds[0].end_s)}, {when} {written}: {rate_text(m)} over the last "
        f"five rounds, {figures.significant(rounds[0].value / factor, 3)} {unit} in the first one"
    )


def _curve_unit(m: Measurement) -> tuple[str, float]:
    return ("IOPS", 1.0) if m.metric == "iops" else ("GB/s", 1e9)


def is_idle(measurement: Measurement) -> bool:
    """Whether it stands for its path's idle latency: direct random reads of 4 KiB, one at a time,
    over the whole file."""
    pattern = measurement.pattern
    usual = all(pattern.get(key) == value for key, value in _IDLE.items())
    return usual and not pattern.get("range") and not pattern.get("rate")


def idle(measured: Sequence[Measurement]) -> Measurement | None:
    """Return what stands for the idle latency; the shortest, where several do."""
    known = [m for m in measured if is_idle(m) and latency(m)]
    return min(known, key=lambda m: estimate(m, f"{LATENCY}_p50"), default=None)


def idle_latency(measurement: Measurement) -> Measurement | None:
    """Return the median latency that a measurement stands for, as a measurement of its own."""
    found = latency(measurement)
    if found is None or not is_idle(measurement):
        return None
    return measurement.model_copy(
        update={"figures": [found.model_copy(update={"metric": "latency"})]}
    )


def _target(measurement: Measurement) -> str:
    """Return its target: "file:/a", or "2 targets together"."""
    if "together" in measurement.pattern:
        return f"{measurement.pattern['jobs']} targets together"
    return measurement.target


def summary_of(measured: list[Measurement]) -> str:
    """Return a clause on the most IOPS and the lowest latency of direct accesses, else of any."""
    measured = [m for m in measured if not m.pattern.get("preconditioning")] or measured
    direct = [m for m in measured if not cached(m)] or measured
    small = [m for m in direct if m.metric == "iops"]
    if not small:
        best = best_of(direct)
        return f"{plural(best)} of {_target(best)} reach {rate_text(best, 'bandwidth')}"
    best = best_of(small)
    text = f"{_blocks(best)} reach {rate_text(best)} on {_target(best)}"
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
    detail = f"{_target(best)}, {operation(best)}, depth {best.pattern['depth']}"
    if text := latency_text(best, "p99"):
        detail += f"; p99 {text}"
    value = figures.plain(best, 1.0)
    return KeyFigure("Storage", value, "IOPS", detail, figures.is_doubtful(best))


def busiest_devices(measured: Sequence[Measurement]) -> Measurement | None:
    """Return the measurement whose devices moved most; None where none had several devices."""
    found = [m for m in measured if len(_devices(m)) > 1]
    return max(
        found, key=lambda m: sum(one.bytes / one.seconds for one in _devices(m)), default=None
    )


def _devices(measurement: Measurement) -> list[BlockCounts]:
    found = (measurement.evidence and measurement.evidence.devices) or []
    return [one for one in found if one.seconds > 0]


def show_devices(console: Console, measurement: Measurement) -> None:
    """Print a row for each array and drive of a measurement."""
    devices = _devices(measurement)
    size = size_text(measurement.pattern["block_size"])
    console.print(
        Text(f"Devices, {operation(measurement)} of {size}, {path_name(measurement)}:"),
    )
    unit, factor = figures.scale_of("B/s", [one.bytes / one.seconds for one in devices])
    drives = _drives([measurement]).values()
    about = {
        "firmware": {one.name: one.firmware for one in drives if one.firmware},
        "wear": {one.name: f"{one.wear.used_percent}%" for one in drives if one.wear},
    }
    known = {heading: cells for heading, cells in about.items() if cells}
    counts = ("requests/s", "mean size", unit, "await ms", "in flight", "busy")
    table = new_table("device", *counts, *known, words=("device", "firmware"))
    for one in devices:
        table.add_row(
            one.name,
            f"{one.requests_per_s:.0f}",
            f"{one.mean_bytes / 1024:.4g} KiB",
            brief(one.bytes / one.seconds / factor, 3),
            brief(one.await_ms, 3),
            brief(one.in_flight, 3),
            f"{one.utilization:.0%}",
            *(cells.get(one.name, "") for cells in known.values()),
        )
    console.print(table)
    for line in array_lines(measurement):
        console.print(Text(line))


def array_lines(measurement: Measurement) -> list[str]:
    """Say of each array how its members' counts compare with its own."""
    counts = {one.name: one for one in _devices(measurement)}
    lines: list[str] = []
    for facts in on(measurement):
        members = [counts[d.name] for d in facts.drives if d.name in counts]
        array = next((counts[name] for name in facts.chain if name in counts), None)
        if array is None or array in members or len(members) < len(facts.drives):
            continue
        lines += filter(None, (_sums(facts, array, members), _split(array, members)))
    return list(dict.fromkeys(lines))


def _sums(facts: StorageFacts, array: BlockCounts, members: Sequence[BlockCounts]) -> str:
    """ "md0 (raid1) wrote 1 GiB, its 2 members together 2 times as much"."""
    parts = []
    for word, name in (("read", "bytes_read"), ("wrote", "bytes_written")):
        own, theirs = getattr(array, name), sum(getattr(one, name) for one in members)
        if not own:
            continue
        same = abs(theirs - own) <= _AGREE * own
        times = "as much" if same else f"{brief(theirs / own, 3)} times as much"
        parts.append(f"{word} {size_text(own)}, its {len(members)} members together {times}")
    level = f" ({facts.level})" if facts.level else ""
    return f"{array.name}{level} {'; '.join(parts)}." if parts else ""


def _split(array: BlockCounts, members: Sequence[BlockCounts]) -> str:
    """Say where an array's requests came to its members in smaller pieces."""
    requests = sum(one.requests for one in members)
    mean = sum(one.bytes for one in members) / requests if requests else 0.0
    if not mean or mean >= (1 - _AGREE) * array.mean_bytes:
        return ""
    return (
        f"{array.name} splits requests of {array.mean_bytes / 1024:.4g} KiB into "
        f"{mean / 1024:.4g} KiB for its members."
    )


def network_lines(measured: Sequence[Measurement]) -> list[str]:
    """Return a line for each mount and port, of all these measurements with their set-up."""
    mounts = defaultdict[str, list[NfsCounts]](list)
    ports = defaultdict[str, list[PortCounts]](list)
    for evidence in (m.evidence for m in measured if m.evidence):
        for mount in evidence.nfs or []:
            mounts[mount.name].append(mount)
        for port in evidence.ports or []:
            ports[port.name].append(port)
    lines = [_mount(name, counts) for name, counts in mounts.items()]
    return [*lines, *(_port(name, counts) for name, counts in ports.items())]


def _mount(name: str, counts: Sequence[NfsCounts]) -> str:
    parts = []
    for word, operations, data, waited in (
        ("READ", "reads", "read_bytes", "read_rtt_ms"),
        ("WRITE", "writes", "write_bytes", "write_rtt_ms"),
    ):
        number = sum(getattr(one, operations) for one in counts)
        if number:
            mean = sum(getattr(one, data) for one in counts) / number
            rtt = sum(getattr(one, waited) for one in counts) / number
            parts.append(f"{number} {word}s of {size_text(mean)}, round trip {rtt:.3g} ms")
    again = sum(one.retransmissions for one in counts)
    return f"NFS at {name}, set-up included: " + "; ".join([*parts, f"{again} sent again"]) + "."


def _port(name: str, counts: Sequence[PortCounts]) -> str:
    received = size_text(sum(one.received_bytes for one in counts))
    sent = size_text(sum(one.sent_bytes for one in counts))
    return f"{name}, set-up included: {received} received, {sent} sent."


def io_remarks(measured: Sequence[Measurement]) -> list[str]:
    """Return remarks on caches, steady states and settings, with how many each is about."""
    found = [
        f"{count} of {len(measured)}: {text}"
        for applies, text in _CHECKS
        if (count := sum(map(applies, measured)))
    ]
    return [*found, *_partly_warm(measured), *_unsteady(measured), *setting_lines(measured)]


def _reads(m: Measurement) -> IoEvidence | None:
    """Return what was observed of a measurement that read."""
    io = observed(m)
    return io if io is not None and io.bytes_read > 0 else None


def _was_cached(m: Measurement) -> bool:
    io = _reads(m)
    return io is not None and not cached(m) and (io.cached_before or 0.0) >= _IN_CACHE


def _has_holes(m: Measurement) -> bool:
    io = _reads(m)
    return io is not None and bool(io.unwritten_bytes)


def _not_proven(m: Measurement) -> bool:
    cufile = m.evidence.cufile if m.evidence else None
    return cufile is not None and cufile.proof is None


_CHECKS = (
    (_not_proven, "the way between storage and GPU is not proven; -v says what would prove it"),
    (_was_cached, "direct reads of files that were partly in the page cache before"),
    (_has_holes, "reads of files with holes or unwritten parts, which no drive has to read"),
)


def _partly_warm(measured: Sequence[Measurement]) -> Iterator[str]:
    """Say which reads through the page cache began with files that it held a part of."""
    held = [
        io.cached_before
        for m in measured
        if (io := _reads(m)) is not None
        and cached(m)
        and m.pattern.get("cache") in (None, "warm")
        and io.cached_before is not None
        and io.cached_before < _WARM
        and not any(facts.path.dax for facts in on(m))
    ]
    if held:
        shares = " to ".join(dict.fromkeys(share_text(part) for part in (min(held), max(held))))
        yield (
            f"{len(held)} of {len(measured)}: the page cache held {shares} of what is read as a "
            "repetition began: memory has no room for more, or reading it took too long"
        )


def _unsteady(measured: Sequence[Measurement]) -> Iterator[str]:
    """Say how many did not come to a steady state, and how long rounds were."""
    known = [state for m in measured if not m.rounds and (state := _steady(m))]
    left = [1e3 * state.round_s for state in known if not state.reached]
    if left:
        yield (
            f"{len(left)} of {len(known)}: no steady state by the five-round rule, rounds of "
            f"{brief(min(left), 3)} to {brief(max(left), 3)} ms"
        )


def together_remarks(measured: Sequence[Measurement]) -> list[str]:
    """Return remarks on several targets, together and each alone, and on their firmware."""
    together = [m for m in measured if "together" in m.pattern]
    names = varying(together, "path", "operation", "order", "read_percent", *_TOGETHER)
    lines = [line for m in together for line in _of_one(m, measured, words_of(m, names))]
    lines += [line for peers in _alone(measured) for line in _outliers(peers, "alone")]
    return list(dict.fromkeys([*lines, *_firmware(measured)]))


def _of_one(m: Measurement, measured: Sequence[Measurement], apart: str) -> Iterator[str]:
    """``apart``: what tells it from others of several targets together."""
    io = observed(m)
    targets = (io.targets if io else None) or []
    names = [one.name for one in targets]
    alone = [
        other
        for other in measured
        if other.target in names and "together" not in other.pattern and same_alone(other, m)
    ]
    if len({other.target for other in alone}) == len(names):
        total = sum(estimate(other, str(m.metric)) for other in alone)
        if total:
            what = f"{plural(m)}, {apart}" if apart else plural(m)
            yield (
                f"{what}: {len(names)} targets together reach {rate_text(m)}, "
                f"{share_text((m.estimate or 0.0) / total)} of the sum of each alone"
            )
    else:
        yield from _outliers({n: estimate(m, str(m.metric), n) for n in names}, "together")
    ended = sorted((one.last_finisher_s, one.name) for one in targets if one.last_finisher_s)
    if len(ended) > 1:
        (first, name), (last, other_name) = ended[0], ended[-1]
        times = [f"after {brief(seconds, 3)} s" for seconds in (first, last)]
        yield f"{name} finished first, {times[0]}; {other_name} last, {times[1]}"


def same_alone(alone: Measurement, together: Measurement) -> bool:
    """Whether one target was measured alone as it was together with others."""
    return same_but(alone.model_copy(update={"target": together.target}), together, *_TOGETHER)


def _alone(measured: Sequence[Measurement]) -> Iterable[dict[str, float]]:
    """Return the figures of targets that were measured alike, each alone."""
    groups: dict[str, dict[str, float]] = {}
    for m in measured:
        if "together" not in m.pattern and m.estimate:
            key = str(sorted((k, str(value)) for k, value in m.pattern.items()))
            groups.setdefault(f"{m.metric} {key}", {})[m.target] = m.estimate
    return groups.values()


def _outliers(by_target: Mapping[str, float], how: str) -> Iterator[str]:
    if len(by_target) < 3:
        return
    middle = median(by_target.values())
    for target, value in by_target.items():
        if value < _OUTLIER * middle:
            share = share_text(value / middle)
            yield f"{how}, {target} has {share} of the median of the {len(by_target)} targets"


def _firmware(measured: Sequence[Measurement]) -> Iterator[str]:
    """Say where drives of one model differ in their firmware."""
    models: dict[str, dict[str, list[str]]] = {}
    for drive in _drives(measured).values():
        if drive.firmware:
            models.setdefault(drive.model, {}).setdefault(drive.firmware, []).append(drive.name)
    for model, by_firmware in models.items():
        if len(by_firmware) > 1:
            parts = [f"{name} on {', '.join(drives)}" for name, drives in by_firmware.items()]
            yield f"drives of model {model} differ in firmware: {'; '.join(parts)}"


def _drives(measured: Sequence[Measurement]) -> dict[str, DriveFacts]:
    return {drive.name: drive for m in measured for facts in on(m) for drive in facts.drives}


@dataclass(frozen=True)
class _Side:
    """A setting beside cufile.json as it is, as natural logarithms of the rates' ratio."""

    setting: str
    size: float
    half: float
    """Half of the interval: of 95% over all settings of a comparison (Bonferroni)."""

    @property
    def better(self) -> bool:
        return self.size > self.half

    @property
    def worse(self) -> bool:
        return self.size < -self.half

    def __str__(self) -> str:
        middle, low, high = (
            f"{math.exp(value):.4g}"
            for value in (self.size, self.size - self.half, self.size + self.half)
        )
        return f"{middle} times the rate ({low} to {high})"


def setting_lines(measured: Sequence[Measurement]) -> list[str]:
    """Say what each setting changes beside cufile.json as it is, and which to set.

    A change is recommended only where the interval of the ratio of the two rates leaves out 1. The
    intervals contain the variation between repetitions; both sides are measured in the same rounds.
    """
    lines = []
    for base in measured:
        if base.pattern.get("cufile") or not base.estimate:
            continue
        others = [
            m
            for m in measured
            if m.pattern.get("cufile") and m.estimate and same_but(base, m, "cufile")
        ]
        if others:
            z = z_of(LEVEL / 2 / len(others))
            changes = [change_of(base, other, _NOTHING_KNOWN) for other in others]
            sides = [_Side(str(c.new.pattern["cufile"]), c.size, z * c.error) for c in changes]
            lines.append(_setting_line(_blocks(base), sides))
    return lines


def _setting_line(what: str, sides: Sequence[_Side]) -> str:
    key = sides[0].setting.partition("=")[0]
    slower = _listed([side for side in sides if side.worse])
    also = f"; slower: {slower}" if slower else ""
    better = [side for side in sides if side.better]
    if not better:
        seen = max(side.half for side in sides)
        hidden = (
            f"changes of less than {100 * math.expm1(seen):.2g}% would not be seen"
            if seen < 1
            else "the intervals are too wide to tell more"
        )
        return (
            f"{what}: leave {key} as it is: nothing is faster beyond the intervals; {hidden}{also}"
        )
    best = max(better, key=lambda side: side.size)
    alike = [
        side
        for side in better
        if side is not best and best.size - side.size <= math.hypot(best.half, side.half)
    ]
    same = f"; {_listed(alike)} may be as good" if alike else ""
    return f"{what}: set {best.setting}: {best} of cufile.json as it is{same}{also}"


def _listed(sides: Sequence[_Side]) -> str:
    return ", ".join(side.setting.partition("=")[2] for side in sides)


def show_table(console: Console, measured: list[Measurement], _run: Run) -> None:
    """Print the measured results of storage, then time series and what drives counted."""
    title(console, VIEW.title)
    show_rows(console, measured, VIEW)
    for m in measured:
        if m.rounds and m.pattern.get("write_saturation"):
            _show_curve(console, m, m.rounds)
    if (busiest := busiest_devices(measured)) is not None:
        show_devices(console, busiest)
    for line in network_lines(measured):
        console.print(Text(line))
    own = (*series_lines(measured), *io_remarks(measured), *together_remarks(measured))
    show_notes(console, measured, own)


def _show_curve(console: Console, m: Measurement, rounds: list[Round]) -> None:
    """Print a write-saturation curve: the first round, the last one, and some of those between."""
    unit, factor = _curve_unit(m)
    table = new_table("round", "time", "written / size", unit, "of the first")
    step = max(1.0, (len(rounds) - 1) / (_CURVE_ROWS - 1))
    numbers = {round(step * row) for row in range(_CURVE_ROWS)} & set(range(len(rounds)))
    for number in sorted(numbers):
        one = rounds[number]
        share = one.value / rounds[0].value if rounds[0].value else 0.0
        table.add_row(
            str(number + 1),
            figures.seconds_text(one.end_s),
            f"{passes(m, one):.2f}",
            figures.significant(one.value / factor, 3),
            share_text(share),
        )
    console.print(table)


def across(given: PictureInput) -> Iterator[Picture]:
    """Initiator by target, a picture for each access pattern; the best backend counts."""

    def level(m: Measurement) -> str:
        targets, topology = on(m), given.run.header.topology
        if topology is None or not any(one.drives or one.nfs for one in targets):
            return ""
        return str(reach(topology, m.initiator, targets))

    direct = [m for m in given.measured if not cached(m) and m.pattern.get("jobs", 1) == 1]
    for group in groups_by(direct, *_MATRIX).values():
        best = best_of_each(group, "path")
        if len(best) >= _MIN_PATHS and len({m.initiator for m in best}) > 1:
            first = best[0].pattern
            what = f"{operation(best[0])}, {size_text(first['block_size'])}, depth {first['depth']}"
            picture = matrix_of(best, what, given.endpoints, level)
            yield replace(picture, subtitle=f"{picture.subtitle}; beside each figure its affinity")


def over_depth(given: PictureInput) -> Iterator[Picture]:
    """IOPS over queue depth, a curve for each operation, and latency over those IOPS."""
    for group in _by_path(_swept(given.measured, "depth")):
        members = [m for sweep in group for m in sweep]
        yield _rates_over_depth(members)
        for sweep in group:
            if sum(bool(latency(m)) for m in sweep) >= _MIN_POINTS:
                yield _latency_over_rate(sweep)


def _rates_over_depth(members: Sweep) -> Picture:
    unit, _ = scale_of(members)
    first, depths = members[0], distinct(members, "depth")
    return curves_over(
        members,
        "depth",
        [],
        key=f"depth {path_of(first)} {first.pattern['block_size']}",
        title=f"{_metric(first)} over queue depth, {path_of(first)}",
        called=lambda m, _names: operation(m),
        subtitle=_common(members),
        alt=in_sentences(depth_lines(members)),
        axes=Axes(
            x=shapes.log_axis(
                "x", "queue depth", (depths[0], depths[-1]), values=depths, format="d"
            ),
            y=shapes.from_zero("IOPS" if unit == "1/s" else unit),
        ),
    )


def _latency_over_rate(sweep: Sweep) -> Picture:
    unit, factor = _scale(sweep)
    rows = []
    for percentile in ("p50", "p99", "p99.9"):
        for m in sweep:
            found = latency(m, percentile)
            if found is not None:
                depth, rate = m.pattern["depth"], (m.estimate or 0.0) / factor
                rows.append(
                    row_of(m.of_figure(found), _US, "µs", x=rate, series=percentile,
                           what=percentile, depth=depth, order=depth)
                )  # fmt: skip
    x = {**shapes.from_zero(unit), "field": "x"}
    y = {**shapes.axis("value", "latency, µs"), "scale": {"type": "log"}}
    spec = shapes.curves(rows, x, y)
    spec["layer"].append(_labels([row for row in rows if row["series"] == "p50"], y))
    best = best_of(sweep)
    name, path = operation(best), path_of(best)
    return Picture(
        key=slug(f"latency {path} {name} {best.pattern['block_size']}"),
        title=f"Latency over {_metric(best, within=True)}, {name}, {path}",
        subtitle=f"{_common(sweep)}; numbers are queue depths",
        alt=f"The most is {rate_text(best)} at depth {best.pattern['depth']}, where half of all "
        f"operations take {latency_text(best) or 'an unknown time'} or less.",
        spec=spec,
        measurements=sweep,
    )


def _labels(rows: list[dict[str, Any]], y: Spec) -> Spec:
    """The depth beside each point."""
    return {
        "data": {"values": rows},
        "mark": {"type": "text", "dy": 12, "dx": 6, "align": "left", "fontSize": 12,
                 "aria": False, "color": "role:soft"},
        "encoding": {"x": {"field": "x", "type": "quantitative"}, "y": y,
                     "text": {"field": "depth"}},
    }  # fmt: skip


def over_blocks(given: PictureInput) -> Iterator[Picture]:
    """Bandwidth over block size, a curve for each operation."""
    for group in _by_path(_swept(given.measured, "block_size")):
        members = _rates([m for sweep in group for m in sweep])
        if members:
            yield curves_over(
                members,
                "block_size",
                [],
                key=f"blocks {path_of(members[0])}",
                title=f"Bandwidth over block size, {path_of(members[0])}",
                called=lambda m, _names: operation(m),
                subtitle=_common(members),
                alt=in_sentences(block_lines(members)),
                axes=Axes(x=shapes.size_axis("block size", distinct(members, "block_size"))),
            )


def _rates(members: Sweep) -> Sweep:
    """Return those that have a bandwidth, with it as their only figure."""
    found = [(m, figures.side_figure(m, "bandwidth")) for m in members]
    return [m.model_copy(update={"figures": [figure]}) for m, figure in found if figure]


def maps(given: PictureInput) -> Iterator[Picture]:
    """Bandwidth by block size and depth."""
    for members in over_both(given.measured, "block_size", "depth"):
        best = max(members, key=lambda m: estimate(m, "bandwidth"))
        yield heat_over(
            _rates(members),
            "block_size",
            "depth",
            key=f"map {path_of(best)} {operation(best)}",
            title=f"Block size by queue depth, {operation(best)}, {path_of(best)}",
            subtitle=_common(members),
            alt=f"The best is {size_text(best.pattern['block_size'])} at depth "
            f"{best.pattern['depth']}.",
        )


def over_time(given: PictureInput) -> Iterator[Picture]:
    """The samples of the best measurement of each operation, in the order they were taken in."""
    short = [m for m in given.measured if not m.rounds]
    direct = [m for m in short if not cached(m)] or short
    for group in groups_by(direct, "path", "metric").values():
        shown = [m for m in best_of_each(group, "operation") if len(m.samples) >= 2 * _MIN_POINTS]
        if shown:
            yield _over_time(shown)


def _over_time(shown: Sweep) -> Picture:
    unit, factor = _scale(shown)
    rows = []
    for m in shown:
        sample_s = ((m.evidence.sample_ns if m.evidence else None) or 0.0) / 1e9
        rows += [
            _point(number * sample_s, sample / factor, unit, operation(m), f"sample {number + 1}")
            for number, sample in enumerate(m.samples)
        ]
    x = shapes.axis("x", "seconds of measuring, repetitions joined")
    path = path_of(shown[0])
    return Picture(
        key=slug(f"time {path} {shown[0].metric}"),
        title=f"{_metric(shown[0])} over time, {path}",
        subtitle="the best of each operation",
        alt=in_sentences([f"{operation(m)}: {steady_text(_steady(m))}" for m in shown]),
        spec=shapes.curves(rows, x, shapes.from_zero(unit)),
        measurements=shown,
    )


def over_written(given: PictureInput) -> Iterator[Picture]:
    """Time series over what was written: preconditioning and write-saturation curves."""
    for m in given.measured:
        if not m.rounds or len(m.rounds) < _MIN_POINTS or not used_bytes(m):
            continue
        what = "Write saturation" if m.pattern.get("write_saturation") else "Preconditioning"
        unit, factor = _scale([m])
        rows = []
        for number, one in enumerate(m.rounds):
            x = passes(m, one)
            where = f"round {number + 1}, {x:.3g} times written"
            rows.append(_point(x, one.value / factor, unit, what, where))
        x_axis = shapes.axis("x", f"bytes written / {size_text(used_bytes(m))}")
        yield Picture(
            key=slug(f"{what} {path_of(m)}"),
            title=f"{what}: {_metric(m, within=True)}, {path_of(m)}",
            subtitle=f"{plural(m)}, {_common([m])}",
            alt=in_sentences(series_lines([m])),
            spec=shapes.curves(rows, x_axis, shapes.from_zero(unit)),
            measurements=[m],
        )


def _point(x: float, value: float, unit: str, series: str, where: str) -> dict[str, Any]:
    """Return a row of a time series, whose values have no intervals."""
    tip = f"{series}, {where}: {brief(value, 4)} {unit}"
    return {"x": x, "value": value, "low": value, "high": value, "series": series, "tip": tip,
            "doubtful": False}  # fmt: skip


def tails(given: PictureInput) -> Iterator[Picture]:
    """Latency over percentile: one read at a time, and the best of each operation."""
    for group in groups_by(given.measured, "path").values():
        direct = [m for m in group if not cached(m) and m.metric == "iops"]
        best = best_of_each(direct, "operation")
        one = idle(direct)
        lines = [d for m in group for d in m.distributions or () if d.metric == LATENCY]
        few = group if len(lines) <= _MAX_LINES else [*([one] if one else []), *best]
        shown = list({m.id: m for m in few}.values())
        yield from percentiles(replace(given, measured=shown))


def otherwise(given: PictureInput) -> list[Picture]:
    """Bars, where nothing was swept and nothing is a time series."""
    drawn = any(m.rounds for m in given.measured) or any(
        _swept(given.measured, key) for key in ("depth", "block_size")
    )
    return [] if drawn else generic.bars(given)


def _swept(measured: Sweep, key: str) -> list[Sweep]:
    """Return sweeps over a key that no map shows whole."""
    mapped = {m.id for group in over_both(measured, "block_size", "depth") for m in group}
    return [
        sweep
        for sweep in sweeps(measured, key)
        if len(sweep) >= _MIN_POINTS and not all(m.id in mapped for m in sweep)
    ]


def _by_path(found: list[Sweep]) -> Iterable[list[Sweep]]:
    """Return sweeps that one picture shows: of one path, order, metric and use of the cache."""
    groups: dict[tuple[object, ...], list[Sweep]] = {}
    for sweep in found:
        first = sweep[0]
        key = (path_of(first), first.pattern.get("order"), cached(first), first.metric)
        groups.setdefault(key, []).append(sweep)
    return groups.values()


def _common(members: Sweep) -> str:
    """Say what all of these have in common."""
    keys = ("block_size", "backend", "direct", "depth", "threads")
    return words_of(members[0], [key for key in keys if len(distinct(members, key)) == 1])


def _metric(m: Measurement, within: bool = False) -> str:
    """Return the headline's metric: "IOPS", "Bandwidth", or "bandwidth" within a title."""
    return "IOPS" if m.metric == "iops" else "bandwidth" if within else "Bandwidth"


def _scale(members: Sweep) -> tuple[str, float]:
    """Return the unit to draw headlines in, and what to divide them by."""
    if members[0].metric == "iops":
        most = max(estimate(m, "iops") for m in members)
        return ("thousand IOPS", 1e3) if most >= 1e4 else ("IOPS", 1.0)
    return figures.scale_of("B/s", [estimate(m, "bandwidth") for m in members])


VIEW = View(
    title="Storage",
    method="Pinned threads keep operations in flight without a pause; a sample is what completes "
    "in an interval of time. Latency runs from just before submission, or with --rate from the "
    "time an operation was due, to its completion. Medians of samples and their 95% intervals.",
    table=show_table,
    pictures=(across, over_written, over_depth, over_blocks, maps, tails, over_time, otherwise),
    summary=summary_of,
    access=lambda m: None if cached(m) or "together" in m.pattern else (m.initiator, m.target),
    latency=idle_latency,
    key_figure=key_figure,
)
