"""fio's output as text and JSON, with times in fio's layout.

fio counts times below 128 ns one by one, and those above in 64 buckets of equal width for each
power of two; the time of a bucket is its middle (fio's stat.h describes it). Each bucket of
tierscope's own histograms (``model.histogram``) lies within one of those, so that counts are exact.
"""

import json
import math
import os
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, zip_longest
from statistics import mean, stdev
from typing import Any

from tierscope.analysis.distribution import merged
from tierscope.model.errors import UserError
from tierscope.model.event import IoEvidence, Repetition, Series
from tierscope.model.histogram import Histogram, values_of
from tierscope.model.io import MAPPED
from tierscope.model.storage import BlockCounts, IoThreads, SteadyIo, TargetIo
from tierscope.peers.fio.file_engines import part_of_thread, work_of
from tierscope.peers.fio.jobs import Job
from tierscope.peers.fio.plan import Clone, Stage
from tierscope.peers.fio.values import Steadiness
from tierscope.peers.totals import histograms, rates
from tierscope.report.figures import bound_words
from tierscope.runs.record import version

_BITS = 6
"""fio's buckets of a power of two, as bits."""
_NS = (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)
_BOUNDS = {"ns": (1, _NS), "us": (1000, _NS), "ms": (1_000_000, (*_NS, 2000))}
"""Units of the shares of times that fio prints: their ns, and the bounds in them."""
_KIB = 1 << 10
_NO_ESTIMATE = 2147483647
"""fio's eta of a job that has ended."""
_MAPPINGS = {"dax": "DAX (MAP_SYNC)", "page-cache": "page cache"}
_CALLS = ("0", "4", "8", "16", "32", "64", ">=64")
_DEPTHS = {
    "iodepth_level": ("in_flight", ("1", "2", "4", "8", "16", "32", ">=64")),
    "iodepth_submit": ("submitted", _CALLS),
    "iodepth_complete": ("completed", _CALLS),
}
"""Where they are counted, and fio's names of the levels."""
DIRECTIONS = ("read", "write", "trim")
"""In the order of fio's numbers."""
_JUDGED = 10
"""Operations at a job's rate, of which fewer do not say whether it holds its ``rate_min``."""
LIKE = "fio-3.33"
"""The version of fio whose options and output these are."""
_PER_LINE = 4
"""Percentiles in a line of text."""
_WHEN = "%a %b %d %H:%M:%S %Y"


@dataclass(frozen=True)
class Times:
    """Times of operations."""

    histogram: Histogram

    @cached_property
    def counts(self) -> tuple[tuple[float, int], ...]:
        """The middle of each bucket in ns with its count, ascending."""
        pairs = zip(self.histogram[::2], self.histogram[1::2], strict=True)
        return tuple((sum(values_of(bucket)) / 2, count) for bucket, count in pairs)

    @cached_property
    def bins(self) -> dict[int, int]:
        """Counts by the time of fio's bucket in ns, ascending."""
        found: Counter[int] = Counter()
        for ns, count in self.counts:
            found[bucket_time(int(ns))] += count
        return found

    @property
    def number(self) -> int:
        """Number of times."""
        return sum(self.histogram[1::2])

    @property
    def least(self) -> int:
        """The shortest time in ns; 0 of none."""
        return round(self.counts[0][0]) if self.counts else 0

    @property
    def most(self) -> int:
        """The longest time in ns; 0 of none."""
        return round(self.counts[-1][0]) if self.counts else 0

    @property
    def mean(self) -> float:
        """Their mean in ns; 0 of none."""
        return sum(ns * count for ns, count in self.counts) / self.number if self.counts else 0.0

    @property
    def deviation(self) -> float:
        """Their standard deviation in ns; 0 of fewer than two."""
        if self.number < 2:
            return 0.0
        mean = self.mean
        squares = sum(count * (ns - mean) ** 2 for ns, count in self.counts)
        return math.sqrt(squares / (self.number - 1))

    def percentile(self, percent: float) -> int:
        """Return the time in ns of the bucket that a percentile falls in; 0 of none."""
        wanted = self.number * percent / 100
        ends = zip(self.bins, accumulate(self.bins.values()), strict=True)
        return next((ns for ns, found in ends if found >= wanted), 0)


def bucket_time(ns: int) -> int:
    """Return the representative time of fio's bucket for a time."""
    shift = max(0, ns.bit_length() - 1 - _BITS)
    return ns if shift == 0 else ((ns >> shift) << shift) + (1 << (shift - 1))


def times_of(histograms: Iterable[Histogram]) -> Times:
    """Add histograms up."""
    return Times(merged([[*histograms]]))


def shares(times: Times) -> dict[str, dict[str, float]]:
    """Return percentages of times up to bounds, each above the one before, by unit and bound.

    A time in the middle of its bucket is at most 0.4% off, so that one next to a bound may count
    on its other side.
    """
    limits = [bound * ns for ns, bounds in _BOUNDS.values() for bound in bounds]
    counts = [0] * (len(limits) + 1)
    for ns, count in times.counts:
        counts[bisect_left(limits, ns)] += count
    percent = iter(100 * count / max(1, times.number) for count in counts)
    found = {
        unit: {str(bound): next(percent) for bound in bounds}
        for unit, (_ns, bounds) in _BOUNDS.items()
    }
    found["ms"][">=2000"] = next(percent)
    return found


@dataclass(frozen=True)
class Direction:
    """Reads or writes of a result."""

    bytes: int
    operations: int
    seconds: float
    """The longest time of a thread."""
    bandwidths: tuple[float, ...]
    """bytes/s of each sample."""
    iops: tuple[float, ...]
    submission: Times
    completion: Times
    latency: Times
    priorities: dict[tuple[int, int], Times]
    """Completions by class and level, of those that any operation had; empty where all had one."""

    @property
    def bandwidth(self) -> float:
        """bytes/s."""
        return self.bytes / self.seconds if self.seconds else 0.0

    @property
    def rate(self) -> float:
        """Operations a second."""
        return self.operations / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Spread:
    """Statistics of values over samples; all 0 without samples."""

    least: float
    most: float
    mean: float
    deviation: float
    number: int


def spread(values: Sequence[float]) -> Spread:
    """Return the statistics of values."""
    if not values:
        return Spread(0.0, 0.0, 0.0, 0.0, 0)
    apart = stdev(values) if len(values) > 1 else 0.0
    return Spread(min(values), max(values), mean(values), apart, len(values))


@dataclass(frozen=True)
class Result:
    """The result that fio prints for a job or a group."""

    clones: list[Clone]
    reads: Direction
    writes: Direction
    trims: Direction
    sync: Times
    threads: list[IoThreads]
    """One for each clone."""
    steady: SteadyIo | None
    seconds: float
    elapsed: float
    """Seconds since the command began."""
    ended: float
    """Seconds since 1970."""
    mapping: str
    """What mapped files go through: DAX or the page cache; empty: none was mapped."""
    bound_by: str | None
    """What its figures are of, other than the device."""

    @property
    def name(self) -> str:
        """Name of its first job."""
        return self.clones[0].job.name

    @property
    def group(self) -> int:
        """fio's groupid."""
        return self.clones[0].group

    def depths(self, name: str) -> dict[str, float]:
        """Return percentages of operations in flight, or of calls, by their number."""
        fields, keys = _DEPTHS[name]
        rows = [getattr(one, fields) for one in self.threads]
        counts = [sum(column) for column in zip(*rows, strict=True)]
        whole = sum(counts)
        return {
            key: 100 * count / whole if whole else 0.0
            for key, count in zip(keys, counts, strict=True)
        }

    @property
    def latency(self) -> Times:
        """Latencies of all operations."""
        each = (self.reads, self.writes, self.trims)
        return times_of(one.latency.histogram for one in each)

    def directions(self) -> list[tuple[str, Direction]]:
        """The directions of its jobs, by name."""
        each = zip(DIRECTIONS, (self.reads, self.writes, self.trims), strict=True)
        return [one for one in each if any(clone.job.does(one[0]) for clone in self.clones)]


def results(
    stage: Stage, repetition: Repetition, bound_by: str | None, elapsed: float, ended: float
) -> Iterator[Result]:
    """Yield the results of jobs that ran together."""
    seen = Seen(stage, repetition)
    for entry in stage.entries():
        threads = [seen.threads(clone) for clone in entry]
        seconds = max(one.worked_s for one in threads)
        yield Result(
            clones=entry,
            reads=_direction("read", seen, entry, seconds),
            writes=_direction("write", seen, entry, seconds),
            trims=_direction("trim", seen, entry, seconds),
            sync=times_of(
                seen.times("sync_latency", clone, part_of(stage, clone)) for clone in entry
            ),
            threads=threads,
            steady=seen.steady,
            mapping=seen.mapping(entry),
            seconds=seconds,
            elapsed=elapsed,
            ended=ended,
            bound_by=bound_by,
        )


def part_of(stage: Stage, clone: Clone, direction: str = "") -> str:
    """Return the part of a clone's figures: of all its operations, or of one direction of a mix."""
    alone, mixed = len(stage.clones) == 1, direction and clone.job.operation == "mix"
    part = part_of_thread(stage.clones, clone) if stage.of_files else clone.part
    return " ".join(filter(None, ("" if alone else part, direction if mixed else "")))


@dataclass(frozen=True)
class Seen:
    """What a stage's repetition says of its clones."""

    stage: Stage
    repetition: Repetition

    @property
    def series(self) -> Series:
        """The only series."""
        return self.repetition.series[0]

    def io(self, clone: Clone) -> IoEvidence | TargetIo:
        """Return the work of a clone."""
        if self.stage.of_files:
            return work_of(self.stage, clone, self.repetition)
        found = self.repetition.evidence.storage_io
        if found is None:
            raise UserError("the engine says nothing of the jobs; it is older than tierscope")
        return found.targets[self.stage.clones.index(clone)] if found.targets else found

    @property
    def steady(self) -> SteadyIo | None:
        """Whether figures were steady, where a job was to end by that."""
        found = self.repetition.evidence.storage_io
        return found.steady if found else None

    def mapping(self, entry: Sequence[Clone]) -> str:
        """Return what mapped files of clones go through."""
        found = self.repetition.evidence.storage_io
        mapped = any(clone.job.backend in MAPPED for clone in entry)
        return _MAPPINGS.get(found.mapping or "", "") if found and mapped else ""

    def threads(self, clone: Clone) -> IoThreads:
        """Return what was counted of a clone's thread."""
        found = self.io(clone).threads
        if found is None:
            raise UserError("the engine says nothing of the threads; it is older than tierscope")
        return found

    def counted(self, clone: Clone) -> slice:
        """Return the samples of a clone that count: those before its depth was found do not."""
        return slice(self.threads(clone).counted_from, None)

    def times(self, metric: str, clone: Clone, part: str) -> Histogram:
        """Return the times of a part over all samples that count."""
        own = [*histograms(self.series, metric, [part])]
        return merged([own[self.counted(clone)]])

    def rates(self, metric: str, clone: Clone, part: str) -> list[float]:
        """Return the rates of a part in all samples that count, and in which the clone worked."""
        if self.stage.of_files:
            unit = clone.job.largest if metric == "bandwidth" else 1
            return [unit * rate for rate in rates(self.series, "operations", part)]
        delay, counts = clone.job.of("startdelay"), self.counted(clone)
        if counts.start:
            return rates(self.series, metric, part)[counts]
        starts = self.series.starts
        first = starts[0] + delay
        last = first + clone.job.of("ramp_time") + self.threads(clone).worked_s
        found = rates(self.series, metric, part)[counts]
        pairs = zip(starts[counts], self.series.durations[counts], found, strict=True)
        return [
            rate if start < last and start + length > first else math.nan
            for start, length, rate in pairs
        ]


def _direction(name: str, seen: Seen, entry: list[Clone], seconds: float) -> Direction:
    mine = [clone for clone in entry if clone.job.does(name)]
    parts = [(clone, part_of(seen.stage, clone, name)) for clone in mine]

    def times(metric: str) -> Times:
        return times_of(seen.times(metric, clone, part) for clone, part in parts)

    def sums(metric: str) -> tuple[float, ...]:
        """Return the sums over parts, by sample in which any of them worked."""
        rows = zip_longest(*(seen.rates(metric, *one) for one in parts), fillvalue=math.nan)
        kept = ([rate for rate in row if not math.isnan(rate)] for row in rows)
        return tuple(sum(row) for row in kept if row)

    completions: list[Histogram] = []
    for clone, part in parts:  # Synchronous engines have whole times only.
        own = seen.times("completion_latency", clone, part)
        completions.append(own or seen.times("io_latency", clone, part))
    works = [(seen.io(clone), name == "read" and not clone.job.changes_space) for clone in mine]
    moved = [one.bytes_read if reads else one.bytes_written for one, reads in works]
    return Direction(
        bytes=sum(moved),
        operations=sum(one.reads if reads else one.writes for one, reads in works),
        seconds=seconds if mine else 0.0,
        bandwidths=sums("bandwidth"),
        iops=sums("iops"),
        submission=times("submission_latency"),
        completion=times_of(completions),
        latency=times("io_latency"),
        priorities=_by_priority(name, seen, parts),
    )


def _by_priority(
    name: str, seen: Seen, parts: Sequence[tuple[Clone, str]]
) -> dict[tuple[int, int], Times]:
    """Return completions by priority, as fio has them only where there are two or more."""
    found: dict[tuple[int, int], list[Histogram]] = {}
    for clone, _part in parts:
        for priority in clone.job.priorities:
            own = seen.times(
                "completion_latency", clone, priority_part(seen.stage, clone, name, priority)
            )
            found.setdefault(priority, []).append(own)
    times = {priority: times_of(each) for priority, each in found.items()}
    kept = {priority: one for priority, one in times.items() if one.number}
    return kept if len(kept) > 1 else {}


def priority_part(stage: Stage, clone: Clone, name: str, priority: tuple[int, int]) -> str:
    """Return the part of the completions of a clone that are of one direction and priority."""
    before = "" if len(stage.clones) == 1 else f"{clone.part} "
    return f"{before}{name} prio {priority[0]}/{priority[1]}"


def too_slow(stage: Stage, repetition: Repetition) -> Iterator[str]:
    """Yield a line for each clone that moved less than its ``rate_min`` in some second."""
    seen = Seen(stage, repetition)
    for clone in stage.clones:
        for name, metric in (("rate_min", "bandwidth"), ("rate_iops_min", "iops")):
            limits = dict(zip(DIRECTIONS, clone.job.of(name) or (0, 0, 0), strict=True))
            for direction, limit in limits.items():
                if not limit or not clone.job.does(direction):
                    continue
                found = seen.rates(metric, clone, part_of(stage, clone, direction))
                cycle = max(1.0, _JUDGED / clone.job.rate if clone.job.rate else 0.0)
                cycles = _by_cycles(seen.series.durations, found, cycle)
                least = min(cycles, default=math.inf)
                if least < limit:
                    yield (
                        f"{clone.job.where(name)}: {clone.part} had {direction}s of {least:.0f} in "
                        f"a second, fewer than {name}={limit}"
                    )


def _by_cycles(
    durations: Sequence[float], found: Sequence[float], cycle_s: float
) -> Iterator[float]:
    """Yield means over samples that last a cycle together."""
    seconds = amount = 0.0
    for length, rate in zip(durations[len(durations) - len(found) :], found, strict=True):
        if math.isnan(rate):
            continue
        seconds, amount = seconds + length, amount + rate * length
        if seconds > cycle_s - 1e-3:
            yield amount / seconds
            seconds = amount = 0.0


def program() -> str:
    """Return fio's version and tierscope's."""
    return f"{LIKE} (tierscope {version()})"


def document(
    found: Sequence[Result],
    common: dict[str, str],
    bins: bool,
    drives: Sequence[BlockCounts] = (),
) -> dict[str, Any]:
    """Return the whole document. ``common`` are the options of [global]; ``bins``: json+."""
    now = time.time()
    return {
        "fio version": program(),
        "timestamp": int(now),
        "timestamp_ms": int(now * 1000),
        "time": time.strftime(_WHEN, time.localtime(now)),
        **({"global options": common} if common else {}),
        "jobs": [_job(one, found, bins) for one in found],
        "disk_util": [_drive(one) for one in drives],
    }


def drives_of(repetitions: Sequence[Repetition]) -> list[BlockCounts]:
    """Return what each drive did while jobs ran."""
    found: dict[str, BlockCounts] = {}
    for repetition in repetitions:
        for one in repetition.evidence.devices or ():
            before = found.get(one.name)
            found[one.name] = one if before is None else _summed(before, one)
    return [*found.values()]


def _summed(before: BlockCounts, after: BlockCounts) -> BlockCounts:
    names = [name for name in BlockCounts.model_fields if name != "name"]
    sums = {name: getattr(before, name) + getattr(after, name) for name in names}
    return after.model_copy(update=sums)


def _drive(one: BlockCounts) -> dict[str, Any]:
    return {
        "name": one.name,
        "read_ios": one.reads,
        "write_ios": one.writes,
        "read_merges": one.reads_merged,
        "write_merges": one.writes_merged,
        "read_ticks": one.read_ms,
        "write_ticks": one.write_ms,
        "in_queue": one.in_flight_ms,
        "util": min(100.0, 100 * one.busy_ms / (1000 * one.seconds)) if one.seconds else 0.0,
    }


def text(content: dict[str, Any]) -> str:
    """Return the document as fio prints it."""
    return json.dumps(content, indent=2) + "\n"


def _job(result: Result, everyone: Sequence[Result], bins: bool) -> dict[str, Any]:
    own = result.clones[0].job.own
    group = [one for one in everyone if one.group == result.group]
    return {
        "jobname": result.name,
        "groupid": result.group,
        "error": 0,
        **({"bound_by": result.bound_by} if result.bound_by else {}),
        **({"mapping": result.mapping} if result.mapping else {}),
        "eta": _NO_ESTIMATE,
        "elapsed": round(result.elapsed),
        "job options": {"name": result.name, **own},
        "read": _direction_json(result.reads, [one.reads for one in group], result, bins),
        "write": _direction_json(result.writes, [one.writes for one in group], result, bins),
        "trim": _direction_json(result.trims, [one.trims for one in group], result, bins),
        "sync": {"total_ios": result.sync.number, "lat_ns": _summary(result.sync)},
        "job_runtime": round(result.seconds * 1000),
        **_usage(result),
        **{name: result.depths(name) for name in _DEPTHS},
        **{f"latency_{unit}": found for unit, found in shares(result.latency).items()},
        **_latency_target(result),
        **_steadiness(result),
    }


def _latency_target(result: Result) -> dict[str, Any]:
    """Return the depth, found by search or given, and the target; times in us."""
    job = result.clones[0].job
    return {
        "latency_depth": result.threads[0].depth,
        "latency_target": round(job.of("latency_target") * 1e6),
        "latency_percentile": job.of("latency_percentile"),
        "latency_window": round(job.of("latency_window") * 1e6),
    }


def _steadiness(result: Result) -> dict[str, Any]:
    job, steady = result.clones[0].job, result.steady
    if steady is None:
        return {}
    asked: Steadiness = job.of("steadystate")
    name = {"bandwidth": "bw", "latency": "lat"}.get(asked.figure, asked.figure)
    return {
        "steadystate": {
            "ss": f"{name}{'_slope' if asked.slope else ''}:{asked.limit:f}"
            + ("%" if asked.of_the_mean else ""),
            "duration": round(job.of("steadystate_duration")),
            "attained": int(steady.attained),
            "criterion": f"{steady.criterion:f}{'%' if asked.of_the_mean else ''}",
            "max_deviation": steady.deviation,
            "slope": steady.slope,
            "data": {f"{name}_mean": steady.mean, name: steady.figures},
        }
    }


def _usage(result: Result) -> dict[str, float]:
    """Return shares of CPU time in percent of the threads' time, and counts of the kernel."""
    threads = result.threads
    whole = sum(one.worked_s for one in threads)
    user, system = (
        100 * sum(getattr(one, name) for one in threads) / whole if whole else 0.0
        for name in ("user_s", "system_s")
    )
    return {
        "usr_cpu": user,
        "sys_cpu": system,
        "ctx": sum(one.switches for one in threads),
        "majf": sum(one.major_faults for one in threads),
        "minf": sum(one.minor_faults for one in threads),
    }


def _direction_json(
    found: Direction, group: Sequence[Direction], result: Result, bins: bool
) -> dict[str, Any]:
    """Return reads, writes or trims; ``group``: the same of all jobs of its group."""
    job = result.clones[0].job
    bandwidth, rates = spread(found.bandwidths), spread(found.iops)
    whole = sum(spread(one.bandwidths).mean for one in group)
    times = (
        ("slat_ns", found.submission, job.of("slat_percentiles")),
        ("clat_ns", found.completion, job.of("clat_percentiles")),
        ("lat_ns", found.latency, job.of("lat_percentiles")),
    )
    percentiles = job.of("percentile_list")
    prios = [
        {
            "prioclass": one[0],
            "prio": one[1],
            "clat_ns": {**_summary(each), **_percentiles(each, percentiles, bins)},
        }
        for one, each in found.priorities.items()
    ]
    return {
        "io_bytes": found.bytes,
        "io_kbytes": found.bytes // _KIB,
        "bw_bytes": round(found.bandwidth),
        "bw": round(found.bandwidth / _KIB),
        "iops": found.rate,
        "runtime": round(found.seconds * 1000),
        "total_ios": found.operations,
        "short_ios": 0,
        "drop_ios": 0,
        **{
            name: {**_summary(one), **(_percentiles(one, percentiles, bins) if wanted else {})}
            for name, one, wanted in times
        },
        **({"prios": prios} if prios else {}),
        "bw_min": round(bandwidth.least / _KIB),
        "bw_max": round(bandwidth.most / _KIB),
        "bw_agg": 100 * bandwidth.mean / whole if whole else 0.0,
        "bw_mean": bandwidth.mean / _KIB,
        "bw_dev": bandwidth.deviation / _KIB,
        "bw_samples": bandwidth.number,
        "iops_min": round(rates.least),
        "iops_max": round(rates.most),
        "iops_mean": rates.mean,
        "iops_stddev": rates.deviation,
        "iops_samples": rates.number,
    }


def _summary(times: Times) -> dict[str, float]:
    return {
        "min": times.least,
        "max": times.most,
        "mean": times.mean,
        "stddev": times.deviation,
        "N": times.number,
    }


def _percentiles(times: Times, wanted: Sequence[float], bins: bool) -> dict[str, Any]:
    if not times.number:
        return {}
    found = {f"{percent:.6f}": times.percentile(percent) for percent in wanted}
    layout = {str(time): count for time, count in times.bins.items()}
    return {"percentile": found, **({"bins": layout} if bins else {})}


def heading(stages: Sequence[Stage]) -> str:
    """Return the lines before anything is measured."""
    lines = []
    for stage in stages:
        for job in stage.jobs:
            group = next(clone.group for clone in stage.clones if clone.job is job)
            lines.append(_job_line(job, group))
            lines += ["..."] if job.of("numjobs") > 1 else []
    threads = sum(len(stage.clones) for stage in stages)
    starting = f"Starting {threads} thread{'s' if threads > 1 else ''}"
    return "\n".join([*lines, program(), starting, "", ""])


def _job_line(job: Job, group: int) -> str:
    sizes = [size for size, _weight in job.blocks]
    span = f"{min(sizes)}B-{max(sizes)}B"
    return (
        f"{job.name}: (g={group}): rw={job.work.word}, bs=(R) {span}, (W) {span}, "
        f"ioengine={job.engine.name}, iodepth={job.depth}"
    )


def body(results: Sequence[Result], drives: Sequence[BlockCounts] = ()) -> str:
    """Return the results, the sums of groups behind them, and what drives did."""
    lines = [line for result in results for line in (*_result(result), "")]
    groups = list(dict.fromkeys(result.group for result in results))
    for group in groups:
        lines += [*_group([one for one in results if one.group == group], group), ""]
    if drives:
        lines += ["Disk stats (read/write):", *map(_drive_line, drives), ""]
    return "\n".join(lines)


def _drive_line(one: BlockCounts) -> str:
    did = _drive(one)
    pairs = (
        f"{name}={did[f'read_{key}']}/{did[f'write_{key}']}"
        for name, key in (("ios", "ios"), ("merge", "merges"), ("ticks", "ticks"))
    )
    return f"  {one.name}: {', '.join(pairs)}, in_queue={did['in_queue']}, util={did['util']:.2f}%"


def _result(result: Result) -> Iterator[str]:
    at = time.strftime(_WHEN, time.localtime(result.ended))
    yield (
        f"{result.name}: (groupid={result.group}, jobs={len(result.clones)}): err= 0: "
        f"pid={os.getpid()}: {at}"
    )
    for name, found in result.directions():
        yield from _direction_lines(name, found, result)
    if result.sync.number:
        yield from ("  fsync/fdatasync:", _times("sync", result.sync))
    for unit, bounds in shares(result.latency).items():
        seen = [f"{bound}={share:.2f}%" for bound, share in bounds.items() if share >= 0.005]
        if seen:
            yield f"  lat ({unit[0]}sec)   : " + ", ".join(seen)
    if result.mapping:
        yield f"  mapping      : {result.mapping}"
    used = _usage(result)
    counts = ", ".join(f"{name}={used[name]}" for name in ("ctx", "majf", "minf"))
    yield f"  cpu          : usr={used['usr_cpu']:.2f}%, sys={used['sys_cpu']:.2f}%, {counts}"
    headings = ("  IO depths    ", "     submit    ", "     complete  ")
    for label, name in zip(headings, _DEPTHS, strict=True):
        levels = result.depths(name).items()
        yield f"{label}: " + ", ".join(f"{level}={share:.1f}%" for level, share in levels)
    yield (
        f"     issued rwts: total={result.reads.operations},{result.writes.operations},"
        f"{result.trims.operations},{result.sync.number} short=0,0,0,0 dropped=0,0,0,0"
    )


def _direction_lines(name: str, found: Direction, result: Result) -> Iterator[str]:
    moved = f"{_binary(found.bytes)}/{found.seconds * 1000:.0f}msec"
    of = f" ({bound_words(result.bound_by)})" if result.bound_by else ""
    yield (
        f"  {name}: IOPS={_count(found.rate)}, BW={_binary(found.bandwidth)}/s "
        f"({_decimal(found.bandwidth)}/s)({moved}){of}"
    )
    if found.submission.number:
        yield _times("slat", found.submission)
    yield _times("clat", found.completion)
    yield _times(" lat", found.latency)
    for (io_class, level), times in found.priorities.items():
        yield _times(f"clat prio {io_class}/{level}", times)
    job = result.clones[0].job
    if job.of("clat_percentiles"):
        yield from _percentile_lines("clat", found.completion, job.of("percentile_list"))
        for (io_class, level), times in found.priorities.items():
            share = 100 * times.number / found.completion.number
            name = f"clat prio {io_class}/{level} ({share:.2f}% of IOs)"
            yield from _percentile_lines(name, times, job.of("percentile_list"))
    if job.of("lat_percentiles"):
        yield from _percentile_lines("lat", found.latency, job.of("percentile_list"))
    bandwidth, rates = spread(found.bandwidths), spread(found.iops)
    yield (
        f"   bw (  KiB/s): min={bandwidth.least / _KIB:.0f}, max={bandwidth.most / _KIB:.0f}, "
        f"avg={bandwidth.mean / _KIB:.2f}, stdev={bandwidth.deviation / _KIB:.2f}, "
        f"samples={bandwidth.number}"
    )
    yield (
        f"   iops        : min={rates.least:.0f}, max={rates.most:.0f}, avg={rates.mean:.2f}, "
        f"stdev={rates.deviation:.2f}, samples={rates.number}"
    )


def _unit(least: float, most: float) -> tuple[str, int]:
    """Return the unit of printed times and its ns, by fio's bounds."""
    if least > 2_000_000 and most > 99_999_999:
        return "msec", 1_000_000
    return ("usec", 1000) if least > 2000 and most > 99_999 else ("nsec", 1)


def _times(name: str, times: Times) -> str:
    unit, ns = _unit(times.least, times.most)
    return (
        f"    {name} ({unit}): min={times.least / ns:.0f}, max={times.most / ns:.0f}, "
        f"avg={times.mean / ns:.2f}, stdev={times.deviation / ns:.2f}"
    )


def _percentile_lines(name: str, times: Times, wanted: Sequence[float]) -> Iterator[str]:
    if not times.number:
        return
    found = [times.percentile(percent) for percent in wanted]
    unit, ns = _unit(found[0], found[-1])
    yield f"    {name} percentiles ({unit}):"
    cells = [
        f"{percent:5.2f}th=[{time / ns:6.0f}]" for percent, time in zip(wanted, found, strict=True)
    ]
    for first in range(0, len(cells), _PER_LINE):
        line = ", ".join(cells[first : first + _PER_LINE])
        yield f"     | {line}{',' if first + _PER_LINE < len(cells) else ''}"


def _group(results: Sequence[Result], group: int) -> Iterator[str]:
    yield f"Run status group {group} (all jobs):"
    for name in DIRECTIONS:
        found = [one for result in results for n, one in result.directions() if n == name]
        if not found:
            continue
        rates = sorted(one.bandwidth for one in found)
        times = sorted(one.seconds * 1000 for one in found)
        moved = sum(one.bytes for one in found)
        total = moved / (times[-1] / 1000) if times[-1] else 0.0
        yield (
            f"{name.upper():>7}: bw={_binary(total)}/s ({_decimal(total)}/s), "
            f"{_binary(rates[0])}/s-{_binary(rates[-1])}/s "
            f"({_decimal(rates[0])}/s-{_decimal(rates[-1])}/s), "
            f"io={_binary(moved)} ({_decimal(moved)}), run={times[0]:.0f}-{times[-1]:.0f}msec"
        )


def _binary(value: float) -> str:
    return _scaled(value, 1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB"))


def _decimal(value: float) -> str:
    return _scaled(value, 1000, ("B", "kB", "MB", "GB", "TB", "PB"))


def _count(value: float) -> str:
    return _scaled(value, 1000, ("", "k", "M", "G"))


def _scaled(value: float, base: int, units: tuple[str, ...]) -> str:
    """Return a value in the largest unit of which it has at least 1, with three digits or more."""
    place = 0
    while value >= base and place < len(units) - 1:
        value /= base
        place += 1
    digits = 0 if value >= 100 or place == 0 else 1 if value >= 10 else 2
    return f"{value:.{digits}f}{units[place]}"
