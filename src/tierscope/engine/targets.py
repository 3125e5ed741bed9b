"""Storage targets, looked at by child processes: a dead server hangs only those.

A file system that does not answer holds every process that asks it for anything, so the child has a
deadline, and is left behind where it waits in the kernel.
"""

import subprocess
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from pydantic import ValidationError

from tierscope.engine.process import (
    HOST,
    VARIABLE,
    end_or_abandon,
    ending,
    engine_environment,
    find_engine,
    last_line,
)
from tierscope.machine.files import Files
from tierscope.machine.network import nfs_counts, nvidia_fs_errors, port_counts
from tierscope.machine.storage import read_block
from tierscope.machine.storage_facts import storage_facts, with_state
from tierscope.model.base import Model
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.event import Repetition
from tierscope.model.evidence import NfsCounts, PortCounts
from tierscope.model.spec import MeasurementSpec
from tierscope.model.storage import DriveWear, OwnFiles, PathFacts, StorageFacts

DEADLINE_S = 5.0
"""Time that a path gets to answer."""
Answer = TypeVar("Answer", bound=Model)
_REMOVING_S = 60.0
"""Time that removing gets: file systems free large files slowly."""
_SLOWEST_CHECK_BYTES_PER_S = 10e6
"""Storage that reads files slower, which are checked before they are removed, hangs."""
Counts = TypeVar("Counts", NfsCounts, PortCounts)


class PathError(UserError):
    """A path cannot be looked at; str() says why, in one line."""


class PathSilentError(PathError):
    """A path does not answer."""


def path_facts(path: str, deadline_s: float | None = None) -> PathFacts:
    """Look at a path, for ``DEADLINE_S`` at most unless told otherwise; raises as ``ask_of``."""
    return ask_of(path, "path", PathFacts, deadline_s or DEADLINE_S)


def ask_of(path: str, command: str, answer: type[Answer], deadline_s: float) -> Answer:
    """Return what a command of the engine answers about a path.

    Raises PathError where it has none, PathSilentError where the path does not answer, and
    UserError where there is no engine to ask.
    """
    engine = find_engine()
    try:
        process = subprocess.Popen(
            [engine, command, path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise UserError(f"{engine} does not start: {error.strerror}") from None
    except ValueError as error:  # a NUL in the path
        raise PathError(f"{path!r} is no path: {error}") from None
    try:
        output, said = process.communicate(timeout=deadline_s)
    except subprocess.TimeoutExpired:
        raise _silent(path, deadline_s, end_or_abandon(process)) from None
    except BaseException:
        end_or_abandon(process)
        raise
    if process.returncode != 0:
        why = last_line(said).removeprefix("tierscope-engine: ")
        raise PathError(why or f"{path}: the engine ended with {ending(process.returncode)}")
    try:
        return answer.model_validate_json(output)
    except ValidationError:
        raise UserError(
            f"'{engine} {command}' does not answer like an engine of this tierscope; rebuild it "
            f"with 'make build' or check {VARIABLE}"
        ) from None


def _silent(path: str, deadline_s: float, waits: str) -> PathSilentError:
    where = f": {waits}" if waits else ""
    return PathSilentError(
        f"{path} does not answer in {deadline_s:g} s{where}; "
        "its file system or drive hangs: see `dmesg`, or name another path",
        ExitCode.NOTHING_MEASURED,
    )


_kept: dict[str, PathFacts | PathError] = {}
"""Facts of each path, from its first look."""


def known_path(path: str) -> PathFacts:
    """Return what ``path_facts`` said of a path the first time, so that a dead one is asked once.

    What changes (sizes, space) may be out of date. Raises as ``path_facts`` does.
    """
    if path not in _kept:
        try:
            _kept[path] = path_facts(path)
        except PathError as error:
            _kept[path] = error
    found = _kept[path]
    if isinstance(found, PathError):
        raise found
    return found


def forget_path(path: str) -> None:
    """Look at a path anew next time: it may have died since."""
    _kept.pop(path, None)


@cache
def known_wear(controller: str) -> DriveWear | None:
    """Return what the drive of an NVMe controller ("nvme0") says; None where it does not.

    It is asked once: each answer costs the drive a command.
    """
    try:
        return ask_of(f"/dev/{controller}", "wear", DriveWear, DEADLINE_S)
    except PathError:
        return None


def with_wear(facts: StorageFacts) -> StorageFacts:
    """Return the same facts with the wear of each NVMe drive."""
    files, drives = Files(), []
    for drive in facts.drives:
        nvme = drive.name.startswith("nvme")
        controller = read_block(files, drive.name).controller if nvme else ""
        wear = known_wear(controller) if controller else None
        drives.append(drive.model_copy(update={"wear": wear}))
    return facts.model_copy(update={"drives": drives})


def leftovers(directory: str) -> OwnFiles:
    """Return the files of earlier runs in a directory; raises as ``engine.paths.ask_of``."""
    return ask_of(directory, "leftovers", OwnFiles, DEADLINE_S)


def start_cleaning(directory: str, host: str) -> "subprocess.Popen[bytes]":
    """Start to remove what a host of a fleet left in a directory, of its own files only."""
    return subprocess.Popen(
        [find_engine(), "clean", directory],
        env={**engine_environment(), HOST: host},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def clean(directory: str) -> OwnFiles:
    """Remove those that no process uses; raises as ``engine.paths.ask_of``."""
    checked = sum(file.bytes for file in leftovers(directory).files)
    deadline_s = _REMOVING_S + checked / _SLOWEST_CHECK_BYTES_PER_S
    return ask_of(directory, "clean", OwnFiles, deadline_s)


@dataclass(frozen=True)
class Before:
    """State of a measurement's targets before a repetition."""

    facts: list[StorageFacts]
    """Facts of each path, once."""
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


def with_targets(repetition: Repetition, before: Before, files: Files | None = None) -> Repetition:
    """Add the targets' facts to a repetition's evidence, with the state that their drives are in
    now, and what was counted meanwhile."""
    files = files or Files()
    after = counted(before.facts, files)
    errors = {
        name: number - before.nvidia_fs_errors.get(name, 0)
        for name, number in after.nvidia_fs_errors.items()
        if number > before.nvidia_fs_errors.get(name, 0)
    }
    evidence = repetition.evidence.model_copy(
        update={
            "storage": [with_state(facts, files) for facts in before.facts],
            "nfs": _meanwhile(before.nfs, after.nfs) or None,
            "ports": _meanwhile(before.ports, after.ports) or None,
            "nvidia_fs_errors": errors or None,
        }
    )
    return repetition.model_copy(update={"evidence": evidence})


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
    """Look at a measurement's targets anew before its next repetition."""
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
