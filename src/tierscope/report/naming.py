"""Names of paths, causes and remarks in tables and pages; text that XML can hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tierscope.model.cause import Cause
from tierscope.model.comparison import Difference
from tierscope.model.errors import counted
from tierscope.model.run import Measurement, shared
from tierscope.model.text import printable
from tierscope.report import figures

_CAUSES: dict[str, str] = {
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
    Cause.PLACEMENT: "pages not placed as requested",
    Cause.WEIGHTS: "too few pages a thread for the weights",
    Cause.STORAGE: "refused or failed by a file or device",
    Cause.OWNERSHIP: "not owned by tierscope, so not written or removed",
    Cause.PATH: "data took a different path than required",
    Cause.PROGRAM: "the program failed",
    Cause.RANK: "a rank died, was silent, or its MPI failed",
    Cause.CRASH: "the engine crashed",
    Cause.TIMEOUT: "it took too long",
    Cause.PROTOCOL: "invalid output of the engine",
    Cause.GPU_ERROR: "CUDA error",
    Cause.OTHER: "other reasons",
}
_NO_INTERVAL: dict[str | None, str] = {
    "few-samples": "too few samples",
    "few-repetitions": "too few repetitions for autocorrelated samples",
    "autocorrelated": "autocorrelated repetitions",
    "disturbed": "other programs disturbed every sample",
    "unsettled": "samples still change where repetitions end",
    "idle-samples": "no operation ended in many samples, which are too short",
    "maximum": "a maximum, which grows with the time measured",
    "observed": "the mean of everything observed, not of a sample",
    "imported": "imported, and its source gives none",
    None: "not recorded",
}
_MOST = 2
"""Targets together that are named; of more, the first one."""


def legal_text(text: str) -> str:
    """Return text with every character replaced that XML 1.0 forbids or that reorders the rest."""
    return printable(text, keep="\t\n\r")


def legal_values(value: Any) -> Any:
    """Return a structure of dicts and lists with all its text, keys too, made legal."""
    if isinstance(value, str):
        return legal_text(value)
    if isinstance(value, dict):
        return {legal_values(key): legal_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [legal_values(item) for item in value]
    return value


@dataclass(frozen=True)
class Missing:
    """Measurements without a figure that share a status and a cause."""

    status: str
    cause: str
    members: Sequence[Measurement]

    @property
    def why(self) -> str:
        """The cause in words."""
        return _CAUSES.get(self.cause, self.cause)


def missing_by_cause(measurements: Sequence[Measurement]) -> list[Missing]:
    """Group what was skipped or failed by its cause; what failed comes first."""
    groups: dict[tuple[str, str], list[Measurement]] = {}
    for m in measurements:
        if not m.has_figure or m.reason:  # a figure with a reason is of a later version
            groups.setdefault((m.status, m.cause or Cause.OTHER), []).append(m)
    found = [Missing(status, cause, members) for (status, cause), members in groups.items()]
    return sorted(found, key=lambda group: group.status != "failed")


def no_interval_text(measurement: Measurement) -> str:
    """Say why a measured figure has no interval; empty where it has one."""
    if figures.has_interval(measurement):
        return ""
    why = measurement.no_interval
    return f"no interval: {_NO_INTERVAL.get(why, why)}"


def path_name(measurement: Measurement) -> str:
    """Return a path as sentences name it."""
    start, end = measurement.initiator, measurement.target
    if measurement.pattern.get("way") == "both ways summed":
        return f"{start} ↔ {end}, both ways"
    if start == end and start.startswith("gpu"):
        return f"among {start}" if shared(measurement) else f"{start}'s own memory"
    return path_of(measurement)


def path_of(one: Measurement | Difference) -> str:
    """Return a path as people write it; of many targets together the first and how many more."""
    names = str(one.pattern.get("together", "")).split(", ")
    if names == [""]:
        return f"{one.initiator} → {one.target}"
    listed = ", ".join(names) if len(names) <= _MOST else f"{names[0]} and {len(names) - 1} more"
    return f"{listed if '→' in listed else f'{one.initiator} → {listed}'} together"


def described(measurement: Measurement, path: bool = True) -> str:
    """Return a figure with its unit and pattern, and with its path unless told otherwise."""
    unit, factor = figures.common_scale([measurement])
    value = figures.text(measurement, factor, unit)
    start = f"{path_name(measurement)}, " if path else ""
    total = figures.side_figure(measurement, "total_bandwidth")
    end = f", all streams {figures.plain(total, factor)} {unit}" if total else ""
    return start + bracketed(value + end, details(measurement.pattern, measurement.unit))


def bracketed(text: str, *more: str) -> str:
    """Return text with more in the brackets at its end: in those it has, or in its own."""
    said = "; ".join(filter(None, more))
    if not said:
        return text
    return f"{text[:-1]}; {said})" if text.endswith(")") else f"{text} ({said})"


def described_as(measurement: Measurement) -> str:
    """Return what was measured: its path and pattern, without the figure."""
    detail = details(measurement.pattern, measurement.unit)
    return f"{path_name(measurement)}, {detail}" if detail else path_name(measurement)


def details(pattern: Mapping[str, Any], unit: str | None) -> str:
    """Return a pattern in short, of a headline with this unit: ``random read by 2 threads``."""
    threads, order = pattern.get("threads"), pattern.get("order")
    sequential = order in (None, "sequential")
    parts = [
        "" if sequential else str(order),
        str(pattern.get("operation", "")),
        f"by {counted(threads, 'thread')}" if threads else "",
    ]
    if unit == "ns" and pattern.get("size"):
        pages = f" of {pattern['pages']} pages" if pattern.get("pages") else ""
        parts.append(f"over {figures.size_text(pattern['size'])}{pages}")
    elif not sequential and pattern.get("access_size"):
        parts.append(f"in accesses of {figures.size_text(pattern['access_size'])}")
    return " ".join(filter(None, parts))
