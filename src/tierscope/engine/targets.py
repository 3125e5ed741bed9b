"""What is known of the files and devices of a measurement, before and after a visit."""

from dataclasses import dataclass
from typing import TypeVar

from tierscope.engine.paths import PathError, PathSilentError, forget_path, known_path
from tierscope.engine.wear import with_wear
from tierscope.model.event import Visit
from tierscope.model.network import NfsCounts, PortCounts
from tierscope.model.spec import MeasurementSpec
from tierscope.model.storage import StorageFacts
from tierscope.topology.files import Files
from tierscope.topology.nfs import nfs_counts, nvidia_fs_errors, port_counts
from tierscope.topology.storage_facts import storage_facts, with_state


@dataclass(frozen=True)
class Before:
    """What was known of a measurement's targets before a visit."""

    facts: list[StorageFacts]
    """Of each path once."""
    nfs: list[NfsCounts]
    ports: list[PortCounts]
    nvidia_fs_errors: dict[str, int]


def targets_before(spec: MeasurementSpec) -> Before:
    """Return what is known of a measurement's targets.

    Raises PathSilentError where one does not answer. Of what cannot be looked at for another reason
    nothing is said here: the engine says it of its own try.
    """
    found = []
    for path in dict.fromkeys(spec.files()):
        try:
            found.append(with_wear(storage_facts(known_path(path))))
        except PathSilentError:
            raise
        except PathError:
            continue
    return counted(found, Files())


def counted(facts: list[StorageFacts], files: Files) -> Before:
    """Return targets with what mounts, ports and nvidia-fs have counted so far."""
    mounts = {one.path.mount.point for one in facts if one.nfs is not None and one.path.mount}
    ports = [name for one in facts for name in one.interfaces]
    return Before(
        facts=facts,
        nfs=nfs_counts(files, mounts) if mounts else [],
        ports=port_counts(files, ports) if ports else [],
        nvidia_fs_errors=nvidia_fs_errors(files) if facts else {},
    )


def with_targets(visit: Visit, before: Before, files: Files | None = None) -> Visit:
    """Add the targets' facts to a visit's evidence, with the state that their drives are in now,
    and what was counted meanwhile."""
    files = files or Files()
    after = counted(before.facts, files)
    errors = {
        name: number - before.nvidia_fs_errors.get(name, 0)
        for name, number in after.nvidia_fs_errors.items()
        if number > before.nvidia_fs_errors.get(name, 0)
    }
    evidence = visit.evidence.model_copy(
        update={
            "storage": [with_state(facts, files) for facts in before.facts],
            "nfs": _meanwhile(before.nfs, after.nfs) or None,
            "ports": _meanwhile(before.ports, after.ports) or None,
            "nvidia_fs_errors": errors or None,
        }
    )
    return visit.model_copy(update={"evidence": evidence})


Counts = TypeVar("Counts", NfsCounts, PortCounts)


def _meanwhile(before: list[Counts], after: list[Counts]) -> list[Counts]:
    """Return the differences; what counts anew since then (a new mount) is left out."""
    known = {one.name: one for one in before}
    found = []
    for now in after:
        then = known.get(now.name)
        fields = [name for name in type(now).model_fields if name != "name"]
        if then is None or any(getattr(now, name) < getattr(then, name) for name in fields):
            continue
        moved = {name: getattr(now, name) - getattr(then, name) for name in fields}
        found.append(now.model_copy(update=moved))
    return found


def forget_targets(spec: MeasurementSpec) -> None:
    """Look at a measurement's targets anew before its next visit."""
    for path in spec.files():
        forget_path(path)


def silent_target(spec: MeasurementSpec) -> str:
    """Say which target does not answer any more; empty where all do."""
    forget_targets(spec)
    for path in dict.fromkeys(spec.files()):
        try:
            known_path(path)
        except PathSilentError as error:
            return str(error)
        except PathError:
            continue
    return ""
