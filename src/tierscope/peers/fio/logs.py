"""fio's logs of bandwidth, IOPS and latency: a line for each average."""

from collections.abc import Iterator
from itertools import accumulate, count
from pathlib import Path

from tierscope.model.event import Repetition
from tierscope.model.histogram import Histogram
from tierscope.peers.fio.jobs import LOGS, Job
from tierscope.peers.fio.output import DIRECTIONS, Seen, part_of, priority_part, times_of
from tierscope.peers.fio.plan import Clone, Stage
from tierscope.peers.totals import histograms, rates

_TIMES = {"slat": "submission_latency", "clat": "completion_latency", "lat": "io_latency"}
_KIB = 1 << 10


def log_paths(job: Job, number: int) -> dict[str, Path]:
    """Return the log files of a clone by what is in them; ``number``: among all clones, from 1."""
    suffix = f".{number}.log" if job.of("per_job_logs") else ".log"
    kinds = {"write_bw_log": ("bw",), "write_iops_log": ("iops",), "write_lat_log": tuple(_TIMES)}
    return {
        kind: Path(f"{name}_{kind}{suffix}")
        for option in LOGS
        if (name := job.log(option)) is not None
        for kind in kinds[option]
    }


def logs_of(stage: Stage, repetition: Repetition, first: int) -> Iterator[tuple[Path, str]]:
    """Yield log files and lines of the clones of a stage; ``first`` is the first one's number."""
    seen = Seen(stage, repetition)
    for number, clone in zip(count(first), stage.clones, strict=False):
        for kind, path in log_paths(clone.job, number).items():
            yield path, "".join(_lines(seen, clone, kind))


def _lines(seen: Seen, clone: Clone, kind: str) -> Iterator[str]:
    """Yield ``ms, value, direction, 0, priority``: averages are of no block size. Only completions
    are told apart by priority, where ``log_prio`` asks for it."""
    if kind == "clat" and clone.job.of("log_prio"):
        yield from _prioritised(seen, clone)
        return
    ends = [round(end * 1000) for end in accumulate(seen.series.durations)]
    columns = [
        (number, _values(seen, clone, kind, name))
        for number, name in enumerate(DIRECTIONS)
        if clone.job.does(name)
    ]
    for row, end in enumerate(ends):
        for number, values in columns:
            if row < len(values) and values[row] is not None:
                yield f"{end}, {round(values[row] or 0)}, {number}, 0, 0\n"


def _prioritised(seen: Seen, clone: Clone) -> Iterator[str]:
    value = _most if clone.job.of("log_max_value") else _mean
    job = clone.job
    for number, name in enumerate(DIRECTIONS):
        for io_class, level in job.priorities or [job.priority] if job.does(name) else ():
            part = (
                priority_part(seen.stage, clone, name, (io_class, level))
                if job.priorities
                else part_of(seen.stage, clone, name)
            )
            ends = accumulate(seen.series.durations)
            for end, times in zip(ends, _completions(seen, part), strict=False):
                if found := value(times):
                    priority = io_class << 13 | level
                    yield f"{round(end * 1000)}, {round(found)}, {number}, 0, 0x{priority:04x}\n"


def _completions(seen: Seen, part: str) -> list[Histogram]:
    """Return times of completion by sample; synchronous engines have whole times only."""
    found = [*histograms(seen.series, _TIMES["clat"], [part])]
    return found if any(found) else [*histograms(seen.series, _TIMES["lat"], [part])]


def _values(seen: Seen, clone: Clone, kind: str, direction: str) -> list[float | None]:
    """Return a value for each sample; None where nothing was done."""
    part = part_of(seen.stage, clone, direction)
    if kind in _TIMES:
        value = _most if clone.job.of("log_max_value") else _mean
        found = (
            _completions(seen, part)
            if kind == "clat"
            else [*histograms(seen.series, _TIMES[kind], [part])]
        )
        return [value(one) for one in found]
    metric, unit = ("bandwidth", _KIB) if kind == "bw" else ("iops", 1)
    return [rate / unit or None for rate in rates(seen.series, metric, part)]


def _mean(times: Histogram) -> float | None:
    return times_of([times]).mean if times else None


def _most(times: Histogram) -> float | None:
    return times_of([times]).most if times else None
