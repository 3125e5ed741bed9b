"""What measurements of storage have: rates, latencies, and the sweeps that they make up."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from rich.console import Console
from rich.text import Text

from tierscope.analysis.change import Traits, change_of
from tierscope.analysis.curve import LEVEL, z_of
from tierscope.analysis.knee import Knee, knee
from tierscope.analysis.time_series import Steady, steady_state
from tierscope.machine.storage_paths import reach
from tierscope.model.errors import counted
from tierscope.model.event import IoEvidence
from tierscope.model.evidence import NfsCounts, PortCounts
from tierscope.model.run import Figure, Measurement, Round, Run, is_unreliable
from tierscope.model.storage import BlockCounts, DriveFacts, StorageFacts
from tierscope.report import figures
from tierscope.report.best import best_of
from tierscope.report.figures import Figured, share_text, size_text
from tierscope.report.naming import path_name, path_of
from tierscope.report.pictures import generic, shapes
from tierscope.report.pictures.generic import Axes, curves_over, heat_over, matrix_of
from tierscope.report.pictures.percentiles import percentiles
from tierscope.report.pictures.picture import (
    Picture,
    PictureInput,
    Spec,
    distinct,
    groups_by,
    scale_of,
    slug,
    varying,
    words_of,
)
from tierscope.report.style import new_table, title
from tierscope.report.table import show_notes, show_rows
from tierscope.report.view import KeyFigure, View

LATENCY = "io_latency"


def estimate(measurement: Measurement, metric: str) -> float:
    """Return the estimate of ``iops`` or ``bandwidth``; 0 where it has none."""
    return figures.figure_of(measurement, metric) or 0.0


def latency(measurement: Measurement, percentile: str = "p50") -> Figure | None:
    """Return a percentile of the latency of operations, in ns; None where too few were made."""
    return figures.side_figure(measurement, f"{LATENCY}_{percentile}")


def cached(measurement: Measurement) -> bool:
    """Whether the page cache takes part."""
    return not measurement.pattern.get("direct")


def target(measurement: Measurement) -> str:
    """Return its target: "file:/a", or "2 targets together"."""
    if "together" in measurement.pattern:
        return f"{measurement.pattern['jobs']} targets together"
    return measurement.target


def way(measurement: Measurement) -> str:
    """Return the backend, and whether it goes past the page cache: "io_uring, page cache"."""
    where = "page cache" if cached(measurement) else "direct"
    return f"{measurement.pattern.get('backend', '')}, {where}"


def action(measurement: Measurement) -> str:
    """Return "read", "write", or a mix by its shares: "70:30"."""
    share = measurement.pattern.get("read_percent")
    return f"{share}:{100 - int(share)}" if share else str(measurement.pattern.get("operation", ""))


def operation(measurement: Measurement) -> str:
    """Return order and operation in words: "random read", "random 70:30"."""
    return f"{measurement.pattern.get('order', '')} {action(measurement)}".strip()


def plural(measurement: Measurement) -> str:
    """Return the same of many: "random reads", "random 70:30 reads and writes"."""
    mixed = measurement.pattern.get("read_percent")
    return f"{operation(measurement)} reads and writes" if mixed else f"{operation(measurement)}s"


def observed(measurement: Measurement) -> IoEvidence | None:
    """Return what was observed of its input and output."""
    return measurement.evidence.storage_io if measurement.evidence else None


def on(measurement: Measurement) -> list[StorageFacts]:
    """Return what its targets were on, as it was looked at before the repetitions."""
    return (measurement.evidence.storage if measurement.evidence else None) or []


def row_seconds(measurement: Measurement) -> float:
    """Return how long a row lasted; 0 where nobody knows."""
    return ((measurement.evidence.sample_ns if measurement.evidence else None) or 0.0) / 1e9


def same_but(first: Measurement, second: Measurement, *keys: str) -> bool:
    """Whether two measurements differ in these keys of their patterns only, and in no other."""
    return _rest(first, keys) == _rest(second, keys)


def _rest(measurement: Measurement, keys: Sequence[str]) -> tuple[str, str, str]:
    rest = sorted((k, str(value)) for k, value in measurement.pattern.items() if k not in keys)
    return measurement.initiator, measurement.target, str(rest)


def over_both(measured: Sequence[Measurement], *keys: str) -> list[list[Measurement]]:
    """Return groups that differ in nothing but two keys of their patterns, of which each value
    comes with at least two of the other's."""
    found = []
    groups: dict[tuple[str, str, str], list[Measurement]] = {}
    for m in measured:
        groups.setdefault(_rest(m, keys), []).append(m)
    for members in groups.values():
        for _ in range(2):  # what is left out may take others' company
            members = [m for m in members if all(_company(m, members, k, keys) for k in keys)]
        if members:
            found.append(sorted(members, key=lambda m: [int(m.pattern[key]) for key in keys]))
    return found


def _company(m: Measurement, members: list[Measurement], key: str, keys: Sequence[str]) -> bool:
    """Whether a measurement's value of a key comes with two values of the other one."""
    others = [o for o in members if o.pattern[key] == m.pattern[key]]
    return all(len({o.pattern[k] for o in others}) > 1 for k in keys if k != key)


def sweeps(measured: Sequence[Measurement], *keys: str) -> list[list[Measurement]]:
    """Return groups that differ in nothing but these keys of their patterns, in the order of the
    first key's values; groups of one value are left out."""
    groups: dict[tuple[str, ...], list[Measurement]] = {}
    for m in measured:
        groups.setdefault(_rest(m, keys), []).append(m)

    def by(m: Measurement) -> list[int]:
        return [int(m.pattern.get(key) or 0) for key in keys]

    return [
        sorted(group, key=by)
        for group in groups.values()
        if len({str(m.pattern.get(keys[0])) for m in group}) > 1
    ]


SMALL = 4096
"""Block size of the figures that stand for IOPS and latency."""
_US = 1e3
_NOISY = "the intervals are too wide to compare"
_ALIKE = 1.05
"""Ratio of two rates up to which neither is faster."""


def iops_text(measurement: Measurement) -> str:
    """Return "12300 IOPS"."""
    found = figures.side_figure(measurement, "iops")
    return f"{figures.plain(found, 1.0, 3)} IOPS" if found else "unknown IOPS"


def bandwidth_text(measurement: Measurement) -> str:
    """Return "1.21 GB/s"."""
    found = figures.side_figure(measurement, "bandwidth")
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
        one = counted(min(counts), "thread")
        words = f"{best.pattern['threads']} threads reach {rate_text(best)}, {gain:.2g} times {one}"
        if best is first or gain < _ALIKE:
            words = f"more threads add nothing to the {rate_text(first)} of {one}"
        lines.append(f"{plural(first)}: {words}")
    return lines


def block_lines(measured: Sequence[Measurement]) -> list[str]:
    """Say from which block size on bandwidth is near its best, for each sweep over block sizes."""
    lines = []
    for sweep in sweeps(measured, "block_size"):
        if len(sweep) < 4 or any(figures.side_figure(m, "bandwidth") is None for m in sweep):
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
    median = found.model_copy(update={"metric": "latency"})
    return measurement.model_copy(update={"figures": [median]})


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


_AGREE = 0.02
"""Share by which an array's members together may differ from what the array counts itself."""


def busiest_devices(measured: Sequence[Measurement]) -> Measurement | None:
    """Return the measurement whose devices moved most; None where none had several devices."""
    found = [m for m in measured if len(_devices(m)) > 1]
    return max(found, key=_rate, default=None)


def show_devices(console: Console, measurement: Measurement) -> None:
    """Print a row for each array and drive of a measurement."""
    devices = _devices(measurement)
    size = figures.size_text(measurement.pattern["block_size"])
    console.print(
        Text(f"Devices, {operation(measurement)} of {size}, {path_name(measurement)}:"),
    )
    unit, factor = figures.scale_of("B/s", [one.bytes / one.seconds for one in devices])
    table = new_table()
    table.add_column("device", no_wrap=True)
    for name in ("requests/s", "mean size", unit, "await ms", "in flight", "busy"):
        table.add_column(name, justify="right", no_wrap=True)
    about = {drive.name: drive for facts in on(measurement) for drive in facts.drives}
    if any(drive.firmware for drive in about.values()):
        table.add_column("firmware", no_wrap=True)
    if any(drive.wear for drive in about.values()):
        table.add_column("wear", justify="right", no_wrap=True)
    for one in devices:
        table.add_row(
            one.name,
            f"{one.requests_per_s:.0f}",
            f"{one.mean_bytes / 1024:.4g} KiB",
            f"{one.bytes / one.seconds / factor:.3g}",
            f"{one.await_ms:.3g}",
            f"{one.in_flight:.3g}",
            f"{one.utilization:.0%}",
            *_about(about.get(one.name), list(about.values())),
        )
    console.print(table)
    for line in array_lines(measurement):
        console.print(Text(line))


def _about(drive: DriveFacts | None, drives: Sequence[DriveFacts]) -> list[str]:
    """Return firmware and wear, where a drive of the table has them."""
    cells = []
    if any(other.firmware for other in drives):
        cells.append(drive.firmware if drive else "")
    if any(other.wear for other in drives):
        cells.append(f"{drive.wear.used_percent}%" if drive and drive.wear else "")
    return cells


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
        times = "as much" if same else f"{theirs / own:.3g} times as much"
        parts.append(
            f"{word} {figures.size_text(own)}, its {len(members)} members together {times}"
        )
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


def _devices(measurement: Measurement) -> list[BlockCounts]:
    found = measurement.evidence.devices if measurement.evidence else None
    return [one for one in found or [] if one.seconds > 0]


def _rate(measurement: Measurement) -> float:
    return sum(one.bytes / one.seconds for one in _devices(measurement))


def network_lines(measured: Sequence[Measurement]) -> list[str]:
    """Return a line for each mount and port, of all these measurements with their set-up."""
    observed = [m.evidence for m in measured if m.evidence]
    mounts: dict[str, list[NfsCounts]] = {}
    ports: dict[str, list[PortCounts]] = {}
    for evidence in observed:
        for mount in evidence.nfs or []:
            mounts.setdefault(mount.name, []).append(mount)
        for port in evidence.ports or []:
            ports.setdefault(port.name, []).append(port)
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


_MOVED = 0.5
"""Share of the bytes asked for below which the drives moved far less: a cache served the rest."""
_WARM = 0.99
"""Share of the files in the page cache from which on it holds them all."""
_IN_CACHE = 0.01
"""Share of the files in the page cache from which on a direct read found some there."""


def io_remarks(measured: Sequence[Measurement]) -> list[str]:
    """Return these, each once, with how many measurements it is about."""
    found = [
        f"{count} of {len(measured)}: {text}"
        for applies, text in _CHECKS
        if (count := sum(map(applies, measured)))
    ]
    return [
        *found,
        *_partly_warm(measured),
        *_unsteady(measured),
        *setting_lines(measured),
    ]


def _partly_warm(measured: Sequence[Measurement]) -> list[str]:
    """Say which reads through the page cache began with files that it held a part of."""
    held = [
        io.cached_before
        for m in measured
        if (io := observed(m)) is not None
        and io.bytes_read > 0
        and cached(m)
        and m.pattern.get("cache") in (None, "warm")
        and io.cached_before is not None
        and io.cached_before < _WARM
        and not _is_dax(m)
    ]
    if not held:
        return []
    shares = " to ".join(dict.fromkeys(share_text(part) for part in (min(held), max(held))))
    text = (
        f"the page cache held {shares} of what is read as a repetition began: memory has no room "
        "for more, or reading it took too long"
    )
    return [f"{len(held)} of {len(measured)}: {text}"]


def _unsteady(measured: Sequence[Measurement]) -> list[str]:
    """Say how many did not come to a steady state, and how long rounds were."""
    short = [m for m in measured if not m.rounds]
    known = [state for m in short if (state := steady_state(m.samples, row_seconds(m)))]
    left = [state.round_s for state in known if not state.reached]
    if not left:
        return []
    rounds = f"{1e3 * min(left):.3g} to {1e3 * max(left):.3g} ms"
    return [
        f"{len(left)} of {len(known)}: no steady state by the five-round rule, rounds of {rounds}"
    ]


def _is_dax(m: Measurement) -> bool:
    return any(facts.path.dax for facts in (m.evidence and m.evidence.storage) or [])


def _moved_less(m: Measurement) -> bool:
    io, moved = observed(m), m.evidence.device_bytes_read if m.evidence else None
    return io is not None and moved is not None and not cached(m) and moved < _MOVED * io.bytes_read


def _was_cached(m: Measurement) -> bool:
    io = observed(m)
    reads = io is not None and io.bytes_read > 0
    return reads and not cached(m) and bool(io and (io.cached_before or 0.0) >= _IN_CACHE)


def _has_holes(m: Measurement) -> bool:
    io = observed(m)
    return io is not None and io.bytes_read > 0 and bool(io.unwritten_bytes)


_CHECKS = (
    (
        _moved_less,
        "direct reads of which the drive moved less than half: a cache in between served the rest",
    ),
    (_was_cached, "direct reads of files that were partly in the page cache before"),
    (_has_holes, "reads of files with holes or unwritten parts, which no drive has to read"),
)


_ACROSS_ALIKE = ("operation", "read_percent", "order", "block_size", "depth", "threads")
_MIN_PATHS = 3
"""Paths from which on a matrix shows more than two bars would."""


def across(given: PictureInput) -> Iterator[Picture]:
    """Initiator by target, a picture for each access pattern; the best backend counts."""

    def level(m: Measurement) -> str:
        targets, topology = on(m), given.run.header.topology
        if topology is None or not any(one.drives or one.nfs for one in targets):
            return ""
        return str(reach(topology, m.initiator, targets))

    direct = [m for m in given.measured if not cached(m) and m.pattern.get("jobs", 1) == 1]
    for group in groups_by(direct, *_ACROSS_ALIKE).values():
        best = [best_of(path) for path in groups_by(group, "path").values()]
        if len(best) >= _MIN_PATHS and len({m.initiator for m in best}) > 1:
            first = best[0].pattern
            size = figures.size_text(first["block_size"])
            what = f"{operation(best[0])}, {size}, depth {first['depth']}"
            picture = matrix_of(best, what, given.endpoints, level)
            yield replace(picture, subtitle=f"{picture.subtitle}; beside each figure its affinity")


_OUTLIER = 0.9
"""Share of the median of its peers below which a target is an outlier; its peers are two at least.
"""
_KEYS = ("together", "jobs", "threads", "memory")
"""In which targets together differ from each of them alone."""


def together_remarks(measured: Sequence[Measurement]) -> list[str]:
    """Return a line for each thing worth saying, the most telling first."""
    together = [m for m in measured if "together" in m.pattern]
    names = varying(together, "path", "operation", "order", "read_percent", *_KEYS)
    lines = [line for m in together for line in _of_one(m, measured, words_of(m, names))]
    lines += [line for peers in _alone(measured) for line in _outliers(peers)]
    return list(dict.fromkeys([*lines, *_firmware(measured)]))


def _of_one(m: Measurement, measured: Sequence[Measurement], apart: str) -> Iterator[str]:
    """``apart``: what tells it from others of several targets together."""
    names = _names(m)
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
                f"{figures.share_text((m.estimate or 0.0) / total)} of the sum of each alone"
            )
    else:
        yield from _outliers({name: _part(m, name) for name in names}, "together, ")
    yield from _finishers(m)


def same_alone(alone: Measurement, together: Measurement) -> bool:
    """Whether one target was measured alone as it was together with others."""
    return same_but(alone.model_copy(update={"target": together.target}), together, *_KEYS)


def _alone(measured: Sequence[Measurement]) -> Iterator[dict[str, float]]:
    """Yield the figures of targets that were measured alike, each alone."""
    groups: dict[str, dict[str, float]] = {}
    for m in measured:
        if "together" not in m.pattern and m.estimate:
            key = str(sorted((k, str(value)) for k, value in m.pattern.items()))
            groups.setdefault(f"{m.metric} {key}", {})[m.target] = m.estimate
    yield from groups.values()


def _outliers(by_target: Mapping[str, float], how: str = "alone, ") -> Iterator[str]:
    if len(by_target) < 3:
        return
    middle = median(by_target.values())
    for target, value in by_target.items():
        if value < _OUTLIER * middle:
            share = figures.share_text(value / middle)
            yield f"{how}{target} has {share} of the median of the {len(by_target)} targets"


def _finishers(m: Measurement) -> Iterator[str]:
    """Say which target was done first, and which last, where each had an amount to move."""
    io = observed(m)
    ended = [(one.last_finisher_s, one.name) for one in (io.targets if io else None) or []]
    known = sorted((seconds, name) for seconds, name in ended if seconds)
    if len(known) > 1:
        (first, name), (last, other) = known[0], known[-1]
        yield f"{name} was done first, after {first:.3g} s; {other} last, after {last:.3g} s"


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


def _names(m: Measurement) -> list[str]:
    io = observed(m)
    return [one.name for one in (io.targets if io else None) or []]


def _part(m: Measurement, name: str) -> float:
    found = figures.side_figure(m, str(m.metric), name)
    return (found.estimate if found else None) or 0.0


_NOTHING_KNOWN = Traits(private_bytes=0.0, shared_caches={})
"""Of caches, which have no part in this."""


@dataclass(frozen=True)
class _Side:
    """A setting beside cufile.json as it is, as natural logarithms of the rates' ratio."""

    measurement: Measurement
    size: float
    half: float
    """Half of the interval: of 95% over all settings of a comparison (Bonferroni)."""

    @property
    def setting(self) -> str:
        return str(self.measurement.pattern["cufile"])

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
            lines.append(_line(base, _sides(base, others)))
    return lines


def _sides(base: Measurement, others: Sequence[Measurement]) -> list[_Side]:
    z = z_of(LEVEL / 2 / len(others))
    changes = [change_of(base, other, _NOTHING_KNOWN) for other in others]
    return [_Side(change.new, change.size, z * change.error) for change in changes]


def _line(base: Measurement, sides: Sequence[_Side]) -> str:
    what = f"{plural(base)} of {figures.size_text(base.pattern['block_size'])}"
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


_CURVE_ROWS = 12
"""Most rounds of a curve that the table shows."""


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
    unit, factor = ("IOPS", 1.0) if m.metric == "iops" else ("GB/s", 1e9)
    table = new_table()
    for name in ("round", "time", "written / size", unit, "of the first"):
        table.add_column(name, justify="right", no_wrap=True)
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
            figures.share_text(share),
        )
    console.print(table)


_MIN_POINTS = 3
_MAX_LINES = 5
"""Lines up to which all of a path's measurements are in the picture of percentiles."""
Sweep = list[Measurement]


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
    first = members[0]
    what = "IOPS" if first.metric == "iops" else "Bandwidth"
    return curves_over(
        members,
        "depth",
        [],
        key=f"depth {path_of(first)} {first.pattern['block_size']}",
        title=f"{what} over queue depth, {path_of(first)}",
        called=lambda m, _names: operation(m),
        subtitle=_common(members),
        alt=in_sentences(depth_lines(members)),
        axes=Axes(
            x=_doubling("queue depth", distinct(members, "depth")),
            y=shapes.from_zero("IOPS" if unit == "1/s" else unit),
        ),
    )


def _latency_over_rate(sweep: Sweep) -> Picture:
    metric, name = str(sweep[0].metric), operation(sweep[0])
    unit, factor = _scale(sweep, metric)
    rows = []
    for percentile in ("p50", "p99", "p99.9"):
        for m in sweep:
            found = latency(m, percentile)
            if found is not None:
                depth = m.pattern["depth"]
                more = {"x": (m.estimate or 0.0) / factor, "depth": depth, "order": depth}
                rows.append(_side_row(m, found, percentile, more))
    x = {**shapes.from_zero(unit), "field": "x"}
    y = {"field": "value", "type": "quantitative", "title": "latency, µs", "scale": {"type": "log"}}
    spec = shapes.curves(rows, x, y)
    spec["layer"].append(_labels([row for row in rows if row["series"] == "p50"], y))
    best = best_of(sweep)
    return Picture(
        key=slug(f"latency {path_of(best)} {name} {best.pattern['block_size']}"),
        title=f"Latency over {'IOPS' if metric == 'iops' else 'bandwidth'}, {name}, "
        f"{path_of(best)}",
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
            alt=f"The best is {figures.size_text(best.pattern['block_size'])} at depth "
            f"{best.pattern['depth']}.",
        )


def over_time(given: PictureInput) -> Iterator[Picture]:
    """The rows of the best measurement of each operation, in the order in which they were taken."""
    short = [m for m in given.measured if not m.rounds]
    direct = [m for m in short if not cached(m)] or short
    for (_, metric), group in groups_by(direct, "path", "metric").items():
        best = [best_of(alike) for alike in groups_by(group, "operation").values()]
        shown = [m for m in best if len(m.samples) >= 2 * _MIN_POINTS]
        if shown:
            yield _over_time(shown, str(metric))


def _over_time(shown: Sweep, metric: str) -> Picture:
    unit, factor = _scale(shown, metric)
    rows = []
    for m in shown:
        row_s = row_seconds(m)
        for number, sample in enumerate(m.samples):
            value = sample / factor
            tip = f"{operation(m)}, row {number + 1}: {value:.4g} {unit}"
            rows.append({"x": number * row_s, "value": value, "low": value, "high": value,
                         "series": operation(m), "tip": tip, "doubtful": False})  # fmt: skip
    x = {"field": "x", "type": "quantitative", "title": "seconds of measuring, repetitions joined"}
    spec = shapes.curves(rows, x, shapes.from_zero(unit))
    said = [
        f"{operation(m)}: {steady_text(steady_state(m.samples, row_seconds(m)))}" for m in shown
    ]
    return Picture(
        key=slug(f"time {path_of(shown[0])} {metric}"),
        title=f"{'IOPS' if metric == 'iops' else 'Bandwidth'} over time, {path_of(shown[0])}",
        subtitle="the best of each operation",
        alt=in_sentences(said),
        spec=spec,
        measurements=shown,
    )


def over_written(given: PictureInput) -> Iterator[Picture]:
    """Time series over what was written: preconditioning and write-saturation curves."""
    for m in given.measured:
        if not m.rounds or len(m.rounds) < _MIN_POINTS or not used_bytes(m):
            continue
        metric, what = str(m.metric), _series_name(m)
        unit, factor = _scale([m], metric)
        rows = []
        for number, one in enumerate(m.rounds):
            value, x = one.value / factor, passes(m, one)
            tip = f"round {number + 1}, {x:.3g} times written: {value:.4g} {unit}"
            rows.append({"x": x, "value": value, "low": value, "high": value,
                         "series": what, "tip": tip, "doubtful": False})  # fmt: skip
        size = figures.size_text(used_bytes(m))
        x_axis = {"field": "x", "type": "quantitative", "title": f"bytes written / {size}"}
        yield Picture(
            key=slug(f"{what} {path_of(m)}"),
            title=f"{what}: {'IOPS' if metric == 'iops' else 'bandwidth'}, {path_of(m)}",
            subtitle=f"{plural(m)}, {_common([m])}",
            alt=in_sentences(series_lines([m])),
            spec=shapes.curves(rows, x_axis, shapes.from_zero(unit)),
            measurements=[m],
        )


def _series_name(m: Measurement) -> str:
    return "Write saturation" if m.pattern.get("write_saturation") else "Preconditioning"


def tails(given: PictureInput) -> Iterator[Picture]:
    """Latency over percentile: one read at a time, and the best of each operation."""
    for group in groups_by(given.measured, "path").values():
        direct = [m for m in group if not cached(m) and m.metric == "iops"]
        best = [best_of(alike) for alike in groups_by(direct, "operation").values()]
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


def _by_path(found: list[Sweep]) -> list[list[Sweep]]:
    """Return sweeps that one picture shows: of one path, order, metric at first, and cache."""
    groups: dict[tuple[str, ...], list[Sweep]] = {}
    for sweep in found:
        first = sweep[0]
        key = (path_of(first), str(first.pattern.get("order")), str(cached(first)))
        groups.setdefault((*key, str(first.metric)), []).append(sweep)
    return list(groups.values())


def _common(members: Sweep) -> str:
    """Say what all of these have in common."""
    keys = ("block_size", "backend", "direct", "depth", "threads")
    return words_of(members[0], [key for key in keys if len(distinct(members, key)) == 1])


def _scale(members: Sweep, metric: str) -> tuple[str, float]:
    if metric == "iops":
        most = max(estimate(m, "iops") for m in members)
        return ("thousand IOPS", 1e3) if most >= 1e4 else ("IOPS", 1.0)
    return figures.scale_of("B/s", [estimate(m, "bandwidth") for m in members])


def _side_row(
    m: Measurement, found: Figured, name: str, more: dict[str, Any],
    factor: float = _US, unit: str = "µs",
) -> dict[str, Any]:  # fmt: skip
    """Return a row of a figure that need not be the headline."""
    low = found.estimate if found.ci_low is None else found.ci_low
    high = found.estimate if found.ci_high is None else found.ci_high
    return {
        "value": (found.estimate or 0.0) / factor,
        "low": (low or 0.0) / factor,
        "high": (high or 0.0) / factor,
        "doubtful": figures.is_doubtful(m),
        "series": name,
        "tip": f"{name}: {figures.with_interval(found, factor)} {unit}",
        **more,
    }


def _doubling(title: str, counts: list[float]) -> Spec:
    """An axis of counts that doubles."""
    return {
        "field": "x",
        "type": "quantitative",
        "title": title,
        "scale": {"type": "log", "base": 2, "nice": False, "domain": [counts[0], counts[-1]]},
        "axis": {"values": counts, "format": "d"},
    }


PICTURES = (across, over_written, over_depth, over_blocks, maps, tails, over_time, otherwise)


VIEW = View(
    title="Storage",
    method="Pinned threads keep operations in flight without a pause; rows are cut out of them by "
    "time. Latency counts from before an operation is submitted, at a given rate from when it was "
    "due, to when its end is seen. Medians of rows and their 95% intervals.",
    table=show_table,
    pictures=PICTURES,
    summary=summary_of,
    access=lambda m: None if cached(m) or "together" in m.pattern else (m.initiator, m.target),
    latency=idle_latency,
    key_figure=key_figure,
)
