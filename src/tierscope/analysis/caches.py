"""Whether a figure is one of memory, or of caches on the way to it."""

from tierscope.model.run import Measurement, Run


def may_stay_in_caches(run: Run, measurement: Measurement) -> bool:
    """Whether the machine's largest caches, as the system names them, can hold what was walked."""
    caches = run.header.machine.get("caches", [])
    walked = measurement.evidence.region_bytes if measurement.evidence else None
    if measurement.kind not in ("bandwidth", "streams") or not caches or walked is None:
        return False
    last = max(int(cache["level"]) for cache in caches)
    held = sum(int(c["size_bytes"]) * int(c["count"]) for c in caches if c["level"] == last)
    return walked <= held
