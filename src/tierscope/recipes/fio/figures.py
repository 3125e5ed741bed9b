"""What a result is made of, from the rows of a visit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from tierscope.model.event import IoEvidence, Series, Visit
from tierscope.model.histogram import Histogram
from tierscope.recipes.fio.histograms import Times, times_of
from tierscope.recipes.fio.stages import Clone, Stage


@dataclass(frozen=True)
class Direction:
    """Reads or writes of a result."""

    bytes: int
    operations: int
    seconds: float
    """The longest time of a thread."""
    bandwidths: tuple[float, ...]
    """bytes/s of each row."""
    iops: tuple[float, ...]
    submission: Times
    completion: Times
    latency: Times

    @property
    def bandwidth(self) -> float:
        """bytes/s."""
        return self.bytes / self.seconds if self.seconds else 0.0

    @property
    def rate(self) -> float:
        """Operations a second."""
        return self.operations / self.seconds if self.seconds else 0.0


NOTHING = Direction(0, 0, 0.0, (), (), times_of(()), times_of(()), times_of(()))
"""A direction in which nothing was moved."""


@dataclass(frozen=True)
class Spread:
    """How values lie over rows; all 0 where there are none."""

    least: float
    most: float
    mean: float
    deviation: float
    number: int


def spread(values: Sequence[float]) -> Spread:
    """Return it."""
    if not values:
        return Spread(0.0, 0.0, 0.0, 0.0, 0)
    apart = stdev(values) if len(values) > 1 else 0.0
    return Spread(min(values), max(values), mean(values), apart, len(values))


@dataclass(frozen=True)
class Result:
    """What fio prints of one job, or of a group."""

    clones: list[Clone]
    reads: Direction
    writes: Direction
    sync: Times
    seconds: float
    elapsed: float
    """Seconds since the command began."""
    ended: float
    """Seconds since 1970."""

    @property
    def name(self) -> str:
        """Of its first job."""
        return self.clones[0].job.name

    @property
    def group(self) -> int:
        """fio's groupid."""
        return self.clones[0].group

    def directions(self) -> list[tuple[str, Direction]]:
        """Those that its jobs have, by name."""
        jobs = [clone.job for clone in self.clones]
        found = [("read", self.reads)] if any(j.operation != "write" for j in jobs) else []
        return [*found, *([("write", self.writes)] if any(j.writes for j in jobs) else [])]


class _Rows:
    """The rows of a visit, by part."""

    def __init__(self, visit: Visit, stage: Stage) -> None:
        self._series: Series = visit.series[0]
        self._alone = len(stage.clones) == 1
        self.durations = self._series.durations

    def name(self, clone: Clone, direction: str) -> str:
        """Return the part that a clone's operations of a direction are in."""
        mixed = direction and clone.job.operation == "mix"
        words = ["" if self._alone else clone.part, direction if mixed else ""]
        return " ".join(filter(None, words))

    def rates(self, metric: str, part: str) -> list[float]:
        """Return a part's values of all rows."""
        for column in self._series.columns:
            if (column.metric, column.part) == (metric, part):
                return [value or 0.0 for value in column.values]
        return [0.0] * len(self.durations)

    def times(self, metric: str, part: str) -> Sequence[Histogram]:
        """Return a part's histograms of all rows."""
        for distribution in self._series.distributions or []:
            if (distribution.metric, distribution.part) == (metric, part):
                return distribution.rows
        return []


def results(stage: Stage, visit: Visit, elapsed: float, ended: float) -> Iterator[Result]:
    """Yield the results of jobs that ran together."""
    rows = _Rows(visit, stage)
    io = visit.evidence.storage_io
    for entry in stage.entries():
        seconds = _seconds(stage, entry, rows, io)
        syncs = [h for clone in entry for h in rows.times("sync_latency", rows.name(clone, ""))]
        yield Result(
            clones=entry,
            reads=_direction("read", entry, rows, seconds),
            writes=_direction("write", entry, rows, seconds),
            sync=times_of(syncs),
            seconds=seconds,
            elapsed=elapsed,
            ended=ended,
        )


def _seconds(stage: Stage, entry: list[Clone], rows: _Rows, io: IoEvidence | None) -> float:
    """Return the time of a result: of amounts, until its last thread had moved its own."""
    if io is not None and io.last_finisher_s and not stage.jobs[0].timing.time_based:
        if not io.targets:
            return io.last_finisher_s
        return max(io.targets[stage.clones.index(clone)].last_finisher_s or 0 for clone in entry)
    return sum(rows.durations)


def _direction(name: str, entry: list[Clone], rows: _Rows, seconds: float) -> Direction:
    mine = [clone for clone in entry if clone.job.operation in (name, "mix")]
    parts = [rows.name(clone, name) for clone in mine]
    latency = times_of(h for part in parts for h in rows.times("io_latency", part))
    return Direction(
        bytes=sum(_bytes(clone, part, rows) for clone, part in zip(mine, parts, strict=True)),
        operations=latency.number,
        seconds=seconds if mine else 0.0,
        bandwidths=_sums(rows, "bandwidth", parts),
        iops=_sums(rows, "iops", parts),
        submission=times_of(h for part in parts for h in rows.times("submission_latency", part)),
        completion=times_of(h for part in parts for h in _completions(rows, part)),
        latency=latency,
    )


def _sums(rows: _Rows, metric: str, parts: Sequence[str]) -> tuple[float, ...]:
    """Return the sums over parts, by row."""
    if not parts:
        return ()
    return tuple(map(sum, zip(*(rows.rates(metric, part) for part in parts), strict=True)))


def _completions(rows: _Rows, part: str) -> Sequence[Histogram]:
    """Return times from submission on; of a synchronous engine, which has no other, all times."""
    found = rows.times("completion_latency", part)
    return found if any(found) else rows.times("io_latency", part)


def _bytes(clone: Clone, part: str, rows: _Rows) -> int:
    """Return the bytes that a clone moved: exactly where its operations are of one size."""
    if len(clone.job.blocks) == 1:
        return clone.job.largest * times_of(rows.times("io_latency", part)).number
    pairs = zip(rows.rates("bandwidth", part), rows.durations, strict=True)
    return round(sum(rate * seconds for rate, seconds in pairs))
