"""fio's JSON, key by key: what tierscope does not measure is null."""

import json
import time
from collections.abc import Sequence
from typing import Any

from tierscope.recipes.fio.figures import NOTHING, Direction, Result, spread
from tierscope.recipes.fio.histograms import Times, merged, shares
from tierscope.runs.record import version

_KIB = 1 << 10
_NO_ESTIMATE = 2147483647
"""What fio writes of a job that has ended."""
NOT_MEASURED = (
    "null in JSON: usr_cpu, sys_cpu, ctx, majf, minf, iodepth_level, iodepth_submit, "
    "iodepth_complete, which tierscope does not measure by job"
)
_DEPTHS = {
    "iodepth_level": ("1", "2", "4", "8", "16", "32", ">=64"),
    "iodepth_submit": ("0", "4", "8", "16", "32", "64", ">=64"),
    "iodepth_complete": ("0", "4", "8", "16", "32", "64", ">=64"),
}


def document(
    found: Sequence[Result], common: dict[str, str], like: str, bins: bool
) -> dict[str, Any]:
    """Return the whole document. ``common`` are the options of [global]; ``bins``: json+."""
    now = time.time()
    return {
        "fio version": f"{like} (tierscope {version()})",
        "timestamp": int(now),
        "timestamp_ms": int(now * 1000),
        "time": time.strftime("%a %b %d %H:%M:%S %Y", time.localtime(now)),
        **({"global options": common} if common else {}),
        "jobs": [_job(one, found, bins) for one in found],
        "disk_util": [],
    }


def text(content: dict[str, Any]) -> str:
    """Return the document as fio prints it."""
    return json.dumps(content, indent=2) + "\n"


def _job(result: Result, everyone: Sequence[Result], bins: bool) -> dict[str, Any]:
    own = result.clones[0].job.own
    in_ns, in_us, in_ms = shares(merged(result.reads.latency, result.writes.latency))
    group = [one for one in everyone if one.group == result.group]
    return {
        "jobname": result.name,
        "groupid": result.group,
        "error": 0,
        "eta": _NO_ESTIMATE,
        "elapsed": round(result.elapsed),
        "job options": {"name": result.name, **own},
        "read": _direction(result.reads, [one.reads for one in group], result, bins),
        "write": _direction(result.writes, [one.writes for one in group], result, bins),
        "trim": _direction(NOTHING, [], result, bins=False),
        "sync": {"total_ios": result.sync.number, "lat_ns": _summary(result.sync)},
        "job_runtime": round(result.seconds * 1000),
        **dict.fromkeys(("usr_cpu", "sys_cpu", "ctx", "majf", "minf")),
        **{name: dict.fromkeys(keys) for name, keys in _DEPTHS.items()},
        "latency_ns": in_ns,
        "latency_us": in_us,
        "latency_ms": in_ms,
        "latency_depth": result.clones[0].job.depth,
        "latency_target": 0,
        "latency_percentile": 100.0,
        "latency_window": 0,
    }


def _direction(
    found: Direction, group: Sequence[Direction], result: Result, bins: bool
) -> dict[str, Any]:
    """Return reads, writes or trims; ``group``: the same of all jobs of its group."""
    values = result.clones[0].job.values
    bandwidth, rates = spread(found.bandwidths), spread(found.iops)
    whole = sum(spread(one.bandwidths).mean for one in group)
    times = (
        ("slat_ns", found.submission, values.of("slat_percentiles", False)),
        ("clat_ns", found.completion, values.of("clat_percentiles", True)),
        ("lat_ns", found.latency, values.of("lat_percentiles", False)),
    )
    percentiles = result.clones[0].job.percentiles
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
