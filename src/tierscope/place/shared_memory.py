"""Memory of a program, with pages of its shared memory that no living process has touched."""

import contextlib
import ctypes
import mmap
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tierscope.machine.files import Files
from tierscope.place.kernel import PAGE_BYTES
from tierscope.place.pages import Mapping as Mapped
from tierscope.place.pages import extents, mappings, mappings_if_readable

_libc = ctypes.CDLL(None, use_errno=True)
_MADV_POPULATE_READ = 22
_LOWEST_BIT = bytes(value & 1 for value in range(256))


def own_memory(pids: Sequence[int], files: Files | None = None) -> dict[int, int]:
    """Return the bytes by node of anonymous and shared memory of processes.

    Processes that this user may not look at are left out.
    """
    files = files or Files()
    return memory_of({pid: mappings_if_readable(pid, files) for pid in pids}, files)


def memory_of(found: Mapping[int, Sequence[Mapped]], files: Files) -> dict[int, int]:
    """Return the same of processes whose mappings are known, by their ids.

    What they share counts once. So that pages count that no living process has touched, and those
    once that are mapped at several addresses, /proc/PID/map_files has to be readable
    (CAP_SYS_ADMIN, or CAP_CHECKPOINT_RESTORE from Linux 5.9 on).
    """
    whole: Counter[int] = Counter()
    shared: dict[tuple[str, int], Counter[int]] = {}
    owners: dict[tuple[str, int], int] = {}
    for pid, one in ((pid, one) for pid, mapped in found.items() for one in mapped):
        if not one.file:
            whole += one.bytes_by_node
        elif one.shared_memory:
            key = (one.file, one.start)
            # Each of them maps what it touched itself.
            shared[key] = shared.get(key, Counter()) | one.bytes_by_node
            owners.setdefault(key, pid)
    for part in _objects(owners, files).values():
        pages = sum((shared[key] for key in part.mappings), Counter[int]())
        with contextlib.suppress(OSError):
            pages = _all_pages(part, pages)
        whole += pages
    return dict(sorted(whole.items()))


@dataclass
class _Object:
    """Shared memory that was made by one call, as far as it is mapped.

    A program that lays a policy on every few pages has thousands of mappings of it.
    """

    mappings: list[tuple[str, int]] = field(default_factory=list)
    path: str = ""
    """Of its entry in /proc/PID/map_files; empty where it is not mapped any more."""
    first: int = sys.maxsize
    last: int = 0
    """Where it begins and ends in its file, in bytes."""


def _objects(owners: Mapping[tuple[str, int], int], files: Files) -> dict[tuple[str, str], _Object]:
    """Return shared memory by the device and the inode of its file."""
    found: dict[tuple[str, str], _Object] = defaultdict(_Object)
    mapped = {pid: extents(pid, files) for pid in set(owners.values())}
    for key, pid in owners.items():
        file, start = key
        extent = mapped[pid].get(start)
        if extent is None:  # unmapped meanwhile
            found[file, str(start)].mappings.append(key)
            continue
        one = found[extent.identity]
        one.mappings.append(key)
        one.path = one.path or f"{files.root}/proc/{pid}/map_files/{start:x}-{extent.end:x}"
        one.first = min(one.first, extent.offset)
        one.last = max(one.last, extent.offset + extent.end - start)
    return found


def resident(start: int, size: int) -> bytes:
    """Return a byte for each page of mapped memory: 1 where the page is in memory (mincore(2)).

    Raises OSError.
    """
    found = ctypes.create_string_buffer(-(-size // PAGE_BYTES))
    if _libc.mincore(ctypes.c_void_p(start), ctypes.c_size_t(size), found):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return found.raw.translate(_LOWEST_BIT)


def _all_pages(part: _Object, touched: Counter[int]) -> Counter[int]:
    """Return the bytes by node of all pages, those in the page tables of no process, too.

    What processes have ``touched`` where the file has as much: none is missing, and none is mapped
    twice, as ZGC's heap is. Raises OSError, also before Linux 5.14.
    """
    held = Path(part.path).stat().st_blocks * 512 if part.path else 0
    if held in (0, sum(touched.values())):
        return touched
    descriptor = os.open(part.path, os.O_RDWR | os.O_CLOEXEC)
    try:
        size = min(part.last, os.fstat(descriptor).st_size) - part.first
        if size <= 0:
            return touched
        with mmap.mmap(descriptor, size, offset=part.first) as area:
            # Else the kernel took pages for used when they are unmapped again.
            area.madvise(mmap.MADV_SEQUENTIAL)
            own = ctypes.addressof(ctypes.c_char.from_buffer(area))
            for run in re.finditer(b"\x01+", resident(own, len(area))):
                # Holes would get pages by it. A read of our own would end in SIGBUS where the file
                # has become shorter meanwhile.
                first, last = (at * PAGE_BYTES for at in run.span())
                area.madvise(_MADV_POPULATE_READ, first, last - first)
            return next(one.bytes_by_node for one in mappings(os.getpid()) if one.start == own)
    finally:
        os.close(descriptor)
