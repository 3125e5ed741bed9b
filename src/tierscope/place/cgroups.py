"""Memory cgroups (version 2): one of our own for a program, and who is in one."""

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from tierscope.machine.files import Files
from tierscope.model.errors import ExitCode, UserError
from tierscope.place.kernel import Kernel, KernelError

_ATTEMPTS, _PAUSE_S = 20, 0.05
"""At removing: the kernel takes its time to let go of a process that has ended."""


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
    for line in (kernel.text("/proc/self/mounts") or "").splitlines():
        _, place, kind, *_ = [*line.split(), "", "", ""]
        if kind == "cgroup2":
            controllers = (kernel.text(f"{place}/cgroup.controllers") or "").split()
            if "memory" in controllers:
                return place
    raise UserError(
        "no cgroup of version 2 has the memory controller on this machine; "
        "boot with cgroup_no_v1=memory, or leave --cgroup and -- CMD out",
        ExitCode.NOTHING_MEASURED,
    )


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
    for line in (kernel.text("/proc/self/cgroup") or "").splitlines():
        if line.startswith("0::"):
            return Cgroup(mount_point(kernel), line[3:])
    return Cgroup(mount_point(kernel), "/")


def make(kernel: Kernel, cgroup: Cgroup) -> None:
    """Make a cgroup; raises UserError."""
    try:
        Path(kernel.root + cgroup.folder).mkdir(exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make cgroup {cgroup.folder}: {error.strerror}") from None


def pids(kernel: Kernel, cgroup: Cgroup) -> list[int]:
    """Return the processes in a cgroup."""
    return [int(word) for word in (kernel.text(f"{cgroup.folder}/cgroup.procs") or "").split()]


def enter(kernel: Kernel, cgroup: Cgroup) -> None:
    """Move this process into a cgroup; raises KernelError."""
    kernel.write(f"{cgroup.folder}/cgroup.procs", str(os.getpid()))


def remove(kernel: Kernel, cgroup: Cgroup, to: Cgroup) -> None:
    """Move a cgroup's processes to another one, and remove it if it is there; raises UserError."""
    if not kernel.exists(cgroup.folder):
        return
    for attempt in range(_ATTEMPTS):
        for pid in pids(kernel, cgroup):
            with contextlib.suppress(KernelError):  # it may end at any time
                kernel.write(f"{to.folder}/cgroup.procs", str(pid))
        try:
            Path(kernel.root + cgroup.folder).rmdir()
        except OSError as error:
            if attempt == _ATTEMPTS - 1:
                raise UserError(
                    f"cannot remove cgroup {cgroup.folder}: {error.strerror}",
                    ExitCode.SOMETHING_FAILED,
                ) from None
            time.sleep(_PAUSE_S)
        else:
            return


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
