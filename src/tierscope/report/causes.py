"""Why there is no figure, and why a figure has no interval, in words for people."""

from collections.abc import Sequence
from dataclasses import dataclass

from tierscope.model.cause import Cause
from tierscope.model.run import Measurement, NoInterval

_CAUSES = {
    Cause.INTERRUPTED: "interrupted before the first sample",
    Cause.CPU: "CPU missing, offline or not allowed",
    Cause.NODE: "NUMA node missing, without memory or not allowed",
    Cause.MEMORY: "not enough free memory",
    Cause.PAGES: "page size not available",
    Cause.KERNEL: "not supported by this kernel",
    Cause.ISA: "instruction set not available",
    Cause.GPU: "GPU not available",
    Cause.PEER: "no access between GPUs",
    Cause.GPU_FEATURE: "not supported by this GPU",
    Cause.TOOL: "library or program missing",
    Cause.PERMISSION: "permission missing",
    Cause.PREFETCHERS: "hardware prefetchers cannot be switched",
    Cause.VERIFICATION: "data verification failed",
    Cause.PLACEMENT: "pages not where they were asked for",
    Cause.WEIGHTS: "too few pages a thread for the weights",
    Cause.STORAGE: "refused or failed by a file or device",
    Cause.OWNERSHIP: "not ours to write or remove",
    Cause.PATH: "data took another way than required",
    Cause.PROGRAM: "the program failed",
    Cause.RANK: "a rank died, was silent, or its MPI failed",
    Cause.CRASH: "the engine crashed",
    Cause.TIMEOUT: "it took too long",
    Cause.PROTOCOL: "invalid output of the engine",
    Cause.GPU_ERROR: "CUDA error",
    Cause.OTHER: "other reasons",
}
_NO_INTERVAL: dict[NoInterval | None, str] = {
    "few-samples": "too few samples",
    "few-visits": "too few visits for autocorrelated samples",
    "autocorrelated": "autocorrelated visits",
    "maximum": "a maximum rises with the time measured",
    "observed": "the mean of all that was watched is no sample of more",
    "imported": "imported, and its source gives none",
    None: "not recorded",
}


@dataclass(frozen=True)
class Missing:
    """Measurements without a figure that share a status and a cause."""

    status: str
    cause: Cause
    members: Sequence[Measurement]

    @property
    def why(self) -> str:
        """The cause in words."""
        return _CAUSES[self.cause]


def missing_by_cause(measurements: Sequence[Measurement]) -> list[Missing]:
    """Group what was skipped or failed by its cause; what failed comes first."""
    groups: dict[tuple[str, Cause], list[Measurement]] = {}
    for m in measurements:
        if not m.has_figure:
            groups.setdefault((m.status, m.cause or Cause.OTHER), []).append(m)
    found = [Missing(status, cause, members) for (status, cause), members in groups.items()]
    return sorted(found, key=lambda group: group.status != "failed")


def no_interval_text(measurement: Measurement) -> str:
    """Say why a measured figure has no interval; empty where it has one."""
    if measurement.ci_low is not None and measurement.ci_high is not None:
        return ""
    return f"no interval: {_NO_INTERVAL[measurement.no_interval]}"
