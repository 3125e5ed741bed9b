"""Memory of a program, with pages of its shared memory that no living process has touched."""

import contextlib
import ctypes
import mmap
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tierscope.machine.files import Files
from tierscope.place.kernel import PAGE_BYTES
from tierscope.place.pages import Mapping as Mapped
from tierscope.place.pages import mappings, mappings_if_readable

_libc = ctypes.CDLL(None, use_errno=True)


def own_memory(pids: Sequence[int], files: Files | None = None) -> dict[int, int]:
    """Return the bytes by node of anonymous and shared memory of processes.

    Processes that this user may not look at are left out.
    """
    files = files or Files()
    return memory_of({pid: mappings_if_readable(pid, files) for pid in pids}, files)


def memory_of(found: Mapping[int, Sequence[Mapped]], files: Files) -> dict[int, int]:
    """Return the same of processes whose mappings are known, by their ids.

    What they share counts once, where it is at the same address, as after ``fork``. A page of it
    that no living process has touched counts where /proc/PID/map_files may be opened
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
            shared[key] = (
                shared.get(key, Counter()) | one.bytes_by_node
            )  # each maps what it touched
            owners.setdefault(key, pid)
    for key, touched in shared.items():
        with contextlib.suppress(OSError, ValueError):
            touched |= _all_pages(owners[key], key[1], sum(touched.values()), files)
        whole += touched
    return dict(sorted(whole.items()))


def resident(start: int, size: int) -> bytes:
    """Return a byte for each page of mapped memory: 1 where the page is in memory (mincore(2)).

    Raises OSError.
    """
    found = ctypes.create_string_buffer(-(-size // PAGE_BYTES))
    if _libc.mincore(ctypes.c_void_p(start), ctypes.c_size_t(size), found):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return bytes(page & 1 for page in found.raw)


def _all_pages(pid: int, start: int, touched: int, files: Files) -> Counter[int]:
    """Return the bytes by node of a mapping's pages, those in the page tables of no process, too.

    Nothing where there are no more than the ``touched`` bytes. Raises OSError.
    """
    end, offset = _range(pid, start, files)
    path = f"{files.root}/proc/{pid}/map_files/{start:x}-{end:x}"
    if Path(path).stat().st_blocks * 512 <= touched:
        return Counter()
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        with mmap.mmap(descriptor, end - start, offset=offset) as area:
            # Else the kernel took pages for used when they are unmapped again.
            area.madvise(mmap.MADV_SEQUENTIAL)
            own = ctypes.addressof(ctypes.c_char.from_buffer(area))
            for run in re.finditer(b"\x01+", resident(own, len(area))):
                # A read maps the page; a hole would get one by it.
                area[run.start() * PAGE_BYTES : run.end() * PAGE_BYTES : PAGE_BYTES]
            (mapped,) = (one for one in mappings(os.getpid()) if one.start == own)
            return mapped.bytes_by_node
    finally:
        os.close(descriptor)


def _range(pid: int, start: int, files: Files) -> tuple[int, int]:
    """Return the end of a mapping, and its offset in its file; raises ValueError where there is
    none."""
    for line in (files.text(f"/proc/{pid}/maps") or "").splitlines():
        addresses, _, offset, *_ = line.split()
        first, _, end = addresses.partition("-")
        if int(first, 16) == start:
            return int(end, 16), int(offset, 16)
    raise ValueError(f"nothing is mapped at {start:#x}")
