"""Read what version 1 wrote: figures, limits and causes as text, which version 2 has typed.

The only place that knows the names of version 1.
"""

from collections.abc import Mapping
from typing import Any

from tierscope.analysis.concurrent import shared
from tierscope.model.cause import Cause
from tierscope.model.gpu import SURELY_IN_MEMORY
from tierscope.model.limit import Limit
from tierscope.model.run import Figure, Measurement
from tierscope.runs.version1_copies import flat

_PREFIX = "bandwidth "
"""Of a transfer: "bandwidth node:0 -> gpu:1"."""
_SUFFIX = ".bandwidth"
"""Of a stream: "stream2.bandwidth"."""
_NAMES = {
    "latency of one call": "call_latency",
    "latency of the fastest SM": "sm_latency_min",
    "latency of SMs, 5th percentile": "sm_latency_p5",
    "latency of SMs, median": "sm_latency_p50",
    "latency of SMs, 95th percentile": "sm_latency_p95",
    "latency of the slowest SM": "sm_latency_max",
}
_DEGRADED = ": "
"""A link's name had the reason after it where the link ran below what it is able to."""


def upgraded(measurement: Measurement, machine: Mapping[str, Any]) -> Measurement:
    """Return a measurement of version 1 as version 2 has it; ``machine`` is its run's."""
    measurement = flat(measurement)
    limit = measurement.limit
    changes: dict[str, object] = {
        "figures": [_figure(one) for one in measurement.figures],
        "fits_caches": _fits_caches(measurement, machine),
    }
    if limit is not None:
        changes["limit"] = _limit(limit)
    if measurement.status == "measured":
        changes["visits"] = 1
    else:
        changes["cause"] = Cause.OTHER
    return measurement.model_copy(update=changes)


def _figure(figure: Figure) -> Figure:
    metric, part = figure.metric, ""
    if metric.startswith(_PREFIX):
        metric, part = "bandwidth", metric.removeprefix(_PREFIX)
    elif metric.endswith(_SUFFIX):
        metric, part = "bandwidth", metric.removesuffix(_SUFFIX)
    return figure.model_copy(update={"metric": _NAMES.get(metric, metric), "part": part})


def _limit(limit: Limit) -> Limit:
    return limit.model_copy(update={"degraded": _DEGRADED in limit.link})


def _fits_caches(measurement: Measurement, machine: Mapping[str, Any]) -> bool:
    """Whether caches can hold what was walked: the CPUs' largest ones, or the L2 of a GPU."""
    if measurement.kind in ("gpu-copy", "gpu-memory"):
        inside = measurement.initiator == measurement.target and not shared(measurement)
        return inside and int(measurement.pattern.get("size", 0)) < SURELY_IN_MEMORY
    caches = machine.get("caches", [])
    walked = measurement.evidence.region_bytes if measurement.evidence else None
    if measurement.kind not in ("bandwidth", "streams") or not caches or walked is None:
        return False
    last = max(int(cache["level"]) for cache in caches)
    held = sum(int(c["size_bytes"]) * int(c["count"]) for c in caches if c["level"] == last)
    return walked <= held
