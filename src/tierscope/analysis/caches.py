"""Whether a figure is one of memory, or of caches on the way to it."""

from tierscope.analysis.flat import shared
from tierscope.model.gpu import SURELY_IN_MEMORY
from tierscope.model.run import Measurement, Run


def may_stay_in_caches(run: Run, measurement: Measurement) -> bool:
    """Whether caches can hold what was walked: the CPUs' largest ones, or the L2 of a GPU.

    CPUs' caches are as large as the system says; nothing says how large a GPU's is.
    """
    if measurement.kind in ("gpu-copy", "gpu-memory"):
        inside = measurement.initiator == measurement.target and not shared(measurement)
        return inside and int(measurement.pattern.get("size", 0)) < SURELY_IN_MEMORY
    caches = run.header.machine.get("caches", [])
    walked = measurement.evidence.region_bytes if measurement.evidence else None
    if measurement.kind not in ("bandwidth", "streams") or not caches or walked is None:
        return False
    last = max(int(cache["level"]) for cache in caches)
    held = sum(int(c["size_bytes"]) * int(c["count"]) for c in caches if c["level"] == last)
    return walked <= held
