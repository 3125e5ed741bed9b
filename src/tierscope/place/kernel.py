"""The kernel's files below a root that tests replace: read as ``Files`` reads them, and written."""

import ctypes
import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

from tierscope.machine.files import Files
from tierscope.model.errors import ExitCode, UserError

MAX_NODES = 1024
"""The largest number of nodes that Linux can be configured for."""
_WORD = 8 * ctypes.sizeof(ctypes.c_ulong)
_MASK_BITS = MAX_NODES + 1  # the kernel ignores the last one
BALANCING = 1 << 13
"""MPOL_F_NUMA_BALANCING: a flag in the word of the mode."""
_MODE_FLAGS = 0b111 << 13
_NO_MODE = 0xFFF
"""A mode that no kernel accepts."""
_GENERIC = {"set_mempolicy": 237, "get_mempolicy": 236, "mbind": 235, "move_pages": 239}
_NUMBERS = {
    "x86_64": {"set_mempolicy": 238, "get_mempolicy": 239, "mbind": 237, "move_pages": 279},
    "ppc64le": {"set_mempolicy": 261, "get_mempolicy": 260, "mbind": 259, "move_pages": 301},
    "s390x": {"set_mempolicy": 270, "get_mempolicy": 269, "mbind": 268, "move_pages": 310},
}
_OTHERS = {"x86_64": {"io_uring_setup": 425, "perf_event_open": 298}}
_OTHERS_GENERIC = {"io_uring_setup": 425, "perf_event_open": 241}
"""Calls that others make, and that containers refuse."""
_libc = ctypes.CDLL(None, use_errno=True)


PAGE_BYTES = os.sysconf("SC_PAGESIZE")
"""The unit of the kernel's counters of pages."""


class KernelError(UserError):
    """The kernel refused a change; the text names file, value and reason."""

    def __init__(self, message: str, number: int = 0) -> None:
        super().__init__(message, ExitCode.SOMETHING_FAILED)
        self.errno = number


class Kernel(Files):
    """Files of /sys and /proc."""

    def write(self, path: str, value: str) -> None:
        """Write a value in one call, as sysfs wants it; raises KernelError."""
        try:
            descriptor = os.open(self.root + path, os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.write(descriptor, value.encode())
            finally:
                os.close(descriptor)
        except OSError as error:
            why = f"the kernel refuses '{value}' in {path}: {error.strerror}"
            if isinstance(error, PermissionError) and os.geteuid() != 0:
                why = f"cannot write {path}: needs root"
            raise KernelError(why, error.errno or 0) from None

    def make_folder(self, path: str) -> None:
        """Make a folder where there is none, as a cgroup is made; raises KernelError."""
        try:
            Path(self.root + path).mkdir(exist_ok=True)
        except OSError as error:
            raise KernelError(f"cannot make {path}: {error.strerror}", error.errno or 0) from None

    def remove_folder(self, path: str) -> None:
        """Remove a folder, as a cgroup is removed; raises KernelError."""
        try:
            Path(self.root + path).rmdir()
        except OSError as error:
            why = f"cannot remove {path}: {error.strerror}"
            raise KernelError(why, error.errno or 0) from None


DEFAULT, PREFERRED, BIND, INTERLEAVE, LOCAL, PREFERRED_MANY, WEIGHTED = range(7)
"""MPOL_*: modes of a policy."""
MOVE, MOVE_ALL = 1 << 1, 1 << 2
"""MPOL_MF_*: move pages that only this process maps, or those that others map, too."""

_libc.syscall.restype = ctypes.c_long


def set_mempolicy(mode: int, nodes: Iterable[int] = ()) -> None:
    """Set the calling thread's policy; raises OSError."""
    mask = _mask(nodes)
    _call("set_mempolicy", ctypes.c_long(mode), mask, ctypes.c_ulong(_MASK_BITS))


def get_mempolicy() -> tuple[int, int, tuple[int, ...]]:
    """Return the calling thread's mode, its flags and its nodes; raises OSError."""
    mode = ctypes.c_int()
    mask = _mask(())
    _call("get_mempolicy", ctypes.byref(mode), mask, ctypes.c_ulong(_MASK_BITS), None, None)
    return mode.value & ~_MODE_FLAGS, mode.value & _MODE_FLAGS, _nodes(mask)


def mbind(address: int, size: int, mode: int, nodes: Iterable[int], flags: int = 0) -> None:
    """Set the policy of a mapped range of this process; raises OSError."""
    where = (ctypes.c_ulong(address), ctypes.c_ulong(size))
    mask = _mask(nodes)
    _call("mbind", *where, ctypes.c_long(mode), mask, ctypes.c_ulong(_MASK_BITS),
          ctypes.c_uint(flags))  # fmt: skip


def move_pages(
    pid: int, addresses: Sequence[int], nodes: Sequence[int] | None, shared: bool = False
) -> list[int]:
    """Move pages of a process, one to each of ``nodes``; None only asks where they are.

    ``shared`` moves those, too, that several processes map (needs CAP_SYS_NICE).

    Returns for each page its node, or a negative errno. Where pages have been moved, the kernel
    leaves the status of some unwritten after a failure: those are -EINPROGRESS. Raises OSError.
    """
    import errno

    count = len(addresses)
    where = (ctypes.c_void_p * count)(*addresses)
    to = (ctypes.c_int * count)(*nodes) if nodes is not None else None
    status = (ctypes.c_int * count)(*[-errno.EINPROGRESS] * count)
    flags = ctypes.c_int((MOVE_ALL if shared else MOVE) if nodes is not None else 0)
    _call("move_pages", ctypes.c_int(pid), ctypes.c_ulong(count), where, to, status, flags)
    return list(status)


def _call(name: str, *arguments: object) -> int:
    number = _NUMBERS.get(platform.machine(), _GENERIC)[name]
    result = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return int(result)


def _mask(nodes: Iterable[int]) -> "ctypes.Array[ctypes.c_ulong]":
    mask = (ctypes.c_ulong * (MAX_NODES // _WORD))()
    for node in nodes:
        mask[node // _WORD] |= 1 << (node % _WORD)
    return mask


def _nodes(mask: "ctypes.Array[ctypes.c_ulong]") -> tuple[int, ...]:
    return tuple(
        word * _WORD + bit
        for word, value in enumerate(mask)
        for bit in range(_WORD)
        if value >> bit & 1
    )


def refused(name: str) -> bool:
    """Whether a call is refused to this process, as containers' filters do.

    The call is made with arguments that change nothing: they are wrong, or do nothing.
    """
    import errno

    machine = platform.machine()
    others = _OTHERS.get(machine, _OTHERS_GENERIC)
    number = {**_NUMBERS.get(machine, _GENERIC), **others}[name]
    no_mode = ctypes.c_long(_NO_MODE if name == "set_mempolicy" else 0)
    zero = ctypes.c_long(0)
    failed = _libc.syscall(ctypes.c_long(number), no_mode, *[zero] * 5) < 0
    return failed and ctypes.get_errno() in (errno.EPERM, errno.ENOSYS)
