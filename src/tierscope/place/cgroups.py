"""Memory cgroups (version 2): one of our own for a program, and who is in one.

Source: Linux, Documentation/admin-guide/cgroup-v2.rst.
"""

import errno
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tierscope.machine.files import Files
from tierscope.model.errors import ExitCode, UserError
from tierscope.place.kernel import Kernel, KernelError

_ATTEMPTS, _PAUSE_S = 20, 0.05
"""At removing: the kernel takes its time to let go of a process that has ended."""
_LIMITS = {"memory.max": "max", "memory.high": "max", "memory.low": "0", "memory.min": "0"}
"""What a cgroup has without a limit."""


@dataclass(frozen=True)
class Cgroup:
    """A cgroup, named as DAMON's filter names it: from the mount point on."""

    mount: str
    path: str

    @property
    def folder(self) -> str:
        """Where its files are."""
        return f"{self.mount}{self.path}".rstrip("/")


def mount_point(kernel: Kernel) -> str:
    """Return where version 2 with its memory controller is mounted; raises UserError."""
    for place in _mounts(kernel):
        if "memory" in (kernel.text(f"{place}/cgroup.controllers") or "").split():
            return place
    raise UserError(
        "no cgroup of version 2 has the memory controller on this machine; "
        "boot with cgroup_no_v1=memory, or leave --cgroup and -- CMD out",
        ExitCode.NOTHING_MEASURED,
    )


def _mounts(kernel: Kernel) -> list[str]:
    lines = (kernel.text("/proc/self/mounts") or "").splitlines()
    return [words[1] for line in lines if (words := line.split())[2:3] == ["cgroup2"]]


def find(kernel: Kernel, path: str) -> Cgroup:
    """Return a cgroup by its path from the mount point, or by its folder; raises UserError."""
    mount = mount_point(kernel)
    found = Cgroup(mount, "/" + path.removeprefix(mount).strip("/"))
    if not kernel.exists(f"{found.folder}/cgroup.procs"):
        raise UserError(f"there is no cgroup '{found.path}' below {mount}")
    if found.path != "/" and not kernel.exists(f"{found.folder}/memory.current"):
        raise UserError(
            f"cgroup '{found.path}' has no memory controller; "
            f"echo +memory > {Path(found.folder).parent}/cgroup.subtree_control"
        )
    return found


def own(kernel: Kernel) -> Cgroup:
    """Return the cgroup that this process is in."""
    return Cgroup(mount_point(kernel), _own_path(kernel))


def _own_path(kernel: Kernel) -> str:
    lines = (kernel.text("/proc/self/cgroup") or "").splitlines()
    return next((line[3:] for line in lines if line.startswith("0::")), "/")


def pids(kernel: Kernel, cgroup: Cgroup) -> list[int]:
    """Return the processes in a cgroup."""
    return _pids(kernel, cgroup.folder)


def _pids(kernel: Kernel, folder: str) -> list[int]:
    """Those of another PID namespace read as 0, which a write takes for the writer itself."""
    words = (kernel.text(f"{folder}/cgroup.procs") or "").split()
    return [int(word) for word in words if word != "0"]


def enter(kernel: Kernel, cgroup: Cgroup) -> None:
    """Move this process into a cgroup; raises KernelError."""
    kernel.write(f"{cgroup.folder}/cgroup.procs", str(os.getpid()))


def leave(kernel: Kernel) -> None:
    """Move this process as far up as it is let, so that the end of its login session or its service
    does not end it; it stays where there is no cgroup of version 2."""
    for mount in _mounts(kernel):
        _move(kernel, os.getpid(), above(kernel, Cgroup(mount, _own_path(kernel)))[::-1])


def above(kernel: Kernel, cgroup: Cgroup) -> list[Cgroup]:
    """Return a cgroup and all above it, as far as they are there; the mount's root is last."""
    path = Path(cgroup.path)
    found = [] if ".." in path.parts else [path, *path.parents][:-1]  # outside of its namespace
    there = [Cgroup(cgroup.mount, str(one)) for one in found]
    there = [one for one in there if kernel.exists(f"{one.folder}/cgroup.procs")]
    return [*there, Cgroup(cgroup.mount, "/")]


def _move(kernel: Kernel, pid: int, to: Sequence[Cgroup]) -> str:
    """Move a process to the first cgroup that takes it; return why none does, empty if one did.

    The kernel refuses cgroups whose controllers are for cgroups below them, and full ones.
    """
    refused = ""
    for one in to:
        try:
            kernel.write(f"{one.folder}/cgroup.procs", str(pid))
        except KernelError as error:
            if error.errno == errno.ESRCH:  # it has ended
                return ""
            refused = str(error)
        else:
            return ""
    return refused


def remove(kernel: Kernel, cgroup: Cgroup, to: Cgroup) -> None:
    """Remove a cgroup and those that its processes made below it, if they are there.

    The processes move to ``to``, or to the next cgroup above it that is there and takes them.
    Raises UserError, with what a person does about it, where some do not.
    """
    for attempt in range(_ATTEMPTS):
        if not kernel.exists(cgroup.folder):
            return
        if attempt:
            time.sleep(_PAUSE_S)
        folders = [*_lowest_first(kernel, cgroup.folder)]
        inside = {pid for folder in folders for pid in _pids(kernel, folder)}
        stay = {pid: why for pid in inside if (why := _move(kernel, pid, above(kernel, to)))}
        why = ""
        for folder in folders:
            try:
                kernel.remove_folder(folder)
            except KernelError as error:
                why = why or str(error)
    if not kernel.exists(cgroup.folder):
        return
    if stay:
        pid, why = next(iter(stay.items()))
        raise UserError(
            f"cgroup {cgroup.path} stays, since process {pid} cannot leave it ({why}): "
            f"kill {' '.join(map(str, stay))}",
            ExitCode.SOMETHING_FAILED,
        )
    raise UserError(
        f"{why}: end the processes in it, which 'cat {cgroup.folder}/cgroup.procs' lists",
        ExitCode.SOMETHING_FAILED,
    )


def _lowest_first(kernel: Kernel, folder: str) -> Iterator[str]:
    for name in kernel.names(folder):
        below = f"{folder}/{name}"
        if kernel.is_folder(below):
            yield from _lowest_first(kernel, below)
    yield folder


def disable_memory(kernel: Kernel, control: str) -> str:
    """Have a ``cgroup.subtree_control`` without the memory controller; return who needs it.

    It stays then: the kernel refuses where a cgroup hands it on, and would drop the limits of one
    that has some. Raises KernelError.
    """
    if "memory" not in (kernel.text(control) or "").split():
        return ""
    folder = str(Path(control).parent)
    for name in kernel.names(folder):
        for limit, without in _LIMITS.items():
            if (kernel.text(f"{folder}/{name}/{limit}") or without) != without:
                return f"cgroup /{name} has a {limit}"
    try:
        kernel.write(control, "-memory")
    except KernelError as error:
        if error.errno != errno.EBUSY:
            raise
        return "a cgroup below hands it on"
    return ""


def bytes_by_node(files: Files, folder: str) -> dict[int, int]:
    """Return the bytes of anonymous and file pages on each node of the cgroup in a folder."""
    found: dict[int, int] = {}
    for line in (files.text(f"{folder}/memory.numa_stat") or "").splitlines():
        name, *nodes = line.split()
        if name not in ("anon", "file"):
            continue
        for word in nodes:
            node, _, size = word.partition("=")
            found[int(node[1:])] = found.get(int(node[1:]), 0) + int(size)
    return found
