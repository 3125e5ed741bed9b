"""fio's own text, with the lines that tierscope has figures for."""

import os
import time
from collections.abc import Iterator, Sequence

from tierscope.recipes.fio.figures import Direction, Result, spread
from tierscope.recipes.fio.histograms import Times, merged, shares
from tierscope.recipes.fio.jobs import Job
from tierscope.recipes.fio.stages import Stage

_KIB = 1 << 10
_A_LINE = 4
"""Percentiles in a line."""


def heading(stages: Sequence[Stage], like: str) -> str:
    """Return the lines before anything is measured."""
    lines = []
    for stage in stages:
        for job in stage.jobs:
            group = next(clone.group for clone in stage.clones if clone.job is job)
            lines.append(_job_line(job, group))
            lines += ["..."] if job.clones > 1 else []
    threads = sum(len(stage.clones) for stage in stages)
    return "\n".join(
        [*lines, like, f"Starting {threads} thread{'s' if threads > 1 else ''}", "", ""]
    )


def _job_line(job: Job, group: int) -> str:
    sizes = [size for size, _weight in job.blocks]
    span = f"{min(sizes)}B-{max(sizes)}B"
    return (
        f"{job.name}: (g={group}): rw={job.work.word}, bs=(R) {span}, (W) {span}, "
        f"ioengine={job.engine.name}, iodepth={job.depth}"
    )


def body(results: Sequence[Result]) -> str:
    """Return the results, and the sums of groups behind them."""
    lines = [line for result in results for line in (*_result(result), "")]
    groups = list(dict.fromkeys(result.group for result in results))
    for group in groups:
        lines += [*_group([one for one in results if one.group == group], group), ""]
    return "\n".join(lines)


def _result(result: Result) -> Iterator[str]:
    at = time.strftime("%a %b %d %H:%M:%S %Y", time.localtime(result.ended))
    yield (
        f"{result.name}: (groupid={result.group}, jobs={len(result.clones)}): err= 0: "
        f"pid={os.getpid()}: {at}"
    )
    for name, found in result.directions():
        yield from _direction(name, found, result)
    if result.sync.number:
        yield from ("  fsync/fdatasync:", _times("sync", result.sync))
    everything = merged(result.reads.latency, result.writes.latency)
    for unit, found_shares in zip(("nsec", "usec", "msec"), shares(everything), strict=True):
        seen = [f"{bound}={share:.2f}%" for bound, share in found_shares.items() if share >= 0.005]
        if seen:
            yield f"  lat ({unit})   : " + ", ".join(seen)
    yield (
        f"     issued rwts: total={result.reads.operations},{result.writes.operations},0,"
        f"{result.sync.number} short=0,0,0,0 dropped=0,0,0,0"
    )


def _direction(name: str, found: Direction, result: Result) -> Iterator[str]:
    moved = f"{_binary(found.bytes)}/{found.seconds * 1000:.0f}msec"
    yield (
        f"  {name}: IOPS={_count(found.rate)}, BW={_binary(found.bandwidth)}/s "
        f"({_decimal(found.bandwidth)}/s)({moved})"
    )
    if found.submission.number:
        yield _times("slat", found.submission)
    yield _times("clat", found.completion)
    yield _times(" lat", found.latency)
    values = result.clones[0].job.values
    if values.of("clat_percentiles", True):
        yield from _percentiles("clat", found.completion, result.clones[0].job.percentiles)
    if values.of("lat_percentiles", False):
        yield from _percentiles("lat", found.latency, result.clones[0].job.percentiles)
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
    """Return the unit that times are printed in, and its ns; by fio's own bounds."""
    if least > 2_000_000 and most > 99_999_999:
        return "msec", 1_000_000
    return ("usec", 1000) if least > 2000 and most > 99_999 else ("nsec", 1)


def _times(name: str, times: Times) -> str:
    unit, ns = _unit(times.least, times.most)
    return (
        f"    {name} ({unit}): min={times.least / ns:.0f}, max={times.most / ns:.0f}, "
        f"avg={times.mean / ns:.2f}, stdev={times.deviation / ns:.2f}"
    )


def _percentiles(name: str, times: Times, wanted: Sequence[float]) -> Iterator[str]:
    if not times.number:
        return
    found = [times.percentile(percent) for percent in wanted]
    unit, ns = _unit(found[0], found[-1])
    yield f"    {name} percentiles ({unit}):"
    cells = [
        f"{percent:5.2f}th=[{time / ns:6.0f}]" for percent, time in zip(wanted, found, strict=True)
    ]
    for first in range(0, len(cells), _A_LINE):
        line = ", ".join(cells[first : first + _A_LINE])
        yield f"     | {line}{',' if first + _A_LINE < len(cells) else ''}"


def _group(results: Sequence[Result], group: int) -> Iterator[str]:
    yield f"Run status group {group} (all jobs):"
    for name in ("read", "write"):
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
    """Return a value in the largest unit that it has 1 or more of, with three digits or more."""
    place = 0
    while value >= base and place < len(units) - 1:
        value /= base
        place += 1
    digits = 0 if value >= 100 or place == 0 else 1 if value >= 10 else 2
    return f"{value:.{digits}f}{units[place]}"
