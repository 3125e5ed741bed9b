"""Read what version 1 wrote: figures, limits and causes as text, which version 2 has typed.

The only place that knows the names of version 1.
"""

from tierscope.model.cause import Cause
from tierscope.model.run import Figure, Limit, Measurement

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


def upgraded(measurement: Measurement) -> Measurement:
    """Return a measurement of version 1 as version 2 has it."""
    limit = measurement.limit
    changes: dict[str, object] = {"figures": [_figure(one) for one in measurement.figures]}
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
