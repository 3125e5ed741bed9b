"""Segments of System V shared memory (shmget(2)): found by key or id, and attached."""

import contextlib
import ctypes
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from tierscope.model.errors import ExitCode, UserError
from tierscope.placement.pages import mappings
from tierscope.topology.files import Files

_NAME = re.compile(r"shm(key|id):(0x[0-9a-f]{1,8}|\d{1,10})", re.I)
_LIST = "/proc/sysvipc/shm"
_libc = ctypes.CDLL(None, use_errno=True)
_libc.shmat.restype = ctypes.c_void_p
_NOT_ATTACHED = ctypes.c_void_p(-1).value


class Attached(NamedTuple):
    """A segment in this process's memory."""

    start: int
    size: int
    page_bytes: int

    def pages_with_data(self) -> list[int]:
        """Return the offsets of pages that are in memory."""
        base = os.sysconf("SC_PAGESIZE")
        found = (ctypes.c_ubyte * -(-self.size // base))()
        if _libc.mincore(ctypes.c_void_p(self.start), ctypes.c_size_t(self.size), found):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        step = self.page_bytes // base
        return [at * base for at in range(0, len(found), step) if found[at] & 1]


def is_segment(name: str) -> bool:
    """Whether a name is that of a segment: ``shmkey:0x4d2``, ``shmid:5``."""
    return _NAME.fullmatch(name) is not None


@contextlib.contextmanager
def attached(name: str, files: Files | None = None) -> Iterator[Attached]:
    """Attach a segment by its name; raises UserError."""
    number, size = _find(name, files or Files())
    start = _libc.shmat(ctypes.c_int(number), None, ctypes.c_int(0))
    if start in (None, _NOT_ATTACHED):
        why = os.strerror(ctypes.get_errno())
        raise UserError(f"'{name}' cannot be attached: {why}", ExitCode.SOMETHING_FAILED)
    try:
        own = [one.page_bytes for one in mappings(os.getpid()) if one.start == start]
        yield Attached(start, size, own[0] if own else os.sysconf("SC_PAGESIZE"))
    finally:
        _libc.shmdt(ctypes.c_void_p(start))


def _find(name: str, files: Files) -> tuple[int, int]:
    """Return the id and the size of a segment."""
    match = _NAME.fullmatch(name)
    assert match is not None
    wanted = int(match[2], 0)
    for line in (files.text(_LIST) or "").splitlines()[1:]:
        key, number, _, size, *_ = line.split()
        # The kernel writes keys as signed numbers, ipcs as hexadecimal ones.
        is_it = int(key) % 2**32 == wanted if match[1].lower() == "key" else int(number) == wanted
        if is_it:
            return int(number), int(size)
    raise UserError(f"'{name}': there is no such segment; ipcs -m lists keys and ids")
