"""Of persistent targets, how they were reached, and whether data would have survived power loss."""

from collections.abc import Sequence

from tierscope.model.event import Evidence
from tierscope.model.persistent import PersistentEvidence
from tierscope.model.run import Measurement

_ANSWERS = {
    "yes": "data written would have survived power loss",
    "no": "data written would not have survived power loss",
    "unknown": "nobody can tell whether data written would have survived power loss",
}


def survival_lines(measurements: Sequence[Measurement]) -> list[str]:
    """One sentence for each target and answer, in the order of targets."""
    found = {
        (m.target, m.evidence.persistent.survives_power_loss, m.evidence.persistent.why): None
        for m in measurements
        if m.evidence and m.evidence.persistent
    }
    return [f"{target}: {_ANSWERS[answer]}. {why}" for target, answer, why in found]


def mapped_text(_measurement: Measurement, evidence: Evidence) -> str:
    """How a persistent target was reached: "a pool of objects, taken for persistent memory"."""
    found = evidence.persistent
    if found is None:
        return ""
    parts = [_kept_in(found)]
    if found.is_pmem is not None:
        parts.append(
            "libpmemobj pool, made durable by flushes"
            if found.is_pmem
            else "libpmemobj pool, made durable by msync"
        )
    if found.namespace_mode:
        parts.append(f"namespace of mode {found.namespace_mode}")
    if found.mount_policy:
        parts.append(f"mounted with mpol={found.mount_policy}")
    if found.bad_blocks:
        parts.append(f"{found.bad_blocks} bad blocks")
    if found.backed_by:
        parts.append(f"backed by a {found.backed_by}, by the user's word")
    return ", ".join(parts)


def _kept_in(found: PersistentEvidence) -> str:
    if found.mapping == "MAP_SYNC":
        return f"mapped with MAP_SYNC on {found.device or 'DAX'}"
    if found.mapping == "device":
        return (
            f"bytes {found.offset} to {(found.offset or 0) + (found.bytes or 0)} of {found.device}"
        )
    if found.emulated:
        return "persistent memory emulated by tmpfs"
    return f"not persistent memory ({found.file_system or 'a file system'})"
