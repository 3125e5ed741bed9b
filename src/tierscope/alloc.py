"""Memory on NUMA nodes of a Python program's choice: arenas of libtierscope-alloc.so.

    from tierscope.alloc import Arena

    archive = Arena("archive", "2", capacity=8 << 30)
    prices = archive.allocate(8 << 20).cast("d")        # or numpy.frombuffer(archive.allocate(...))

Memory is freed when no view of it is left, and an arena when nothing refers to it or to its memory.
Python's own objects stay where Python allocates them.
"""

import ctypes
import os
import weakref
from functools import cache
from typing import Any, Literal, get_args

from tierscope.place.launch import find_library

WhenFull = Literal["fail", "spill", "reclaim"]
"""What ``allocate`` does on a full arena; in the order of ``enum ts_when_full``."""
_MOST_NODES = 1024


class _Statistics(ctypes.Structure):
    """``struct ts_statistics``."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "capacity",
            "committed",
            "allocated",
            "mapped",
            "spilled",
            "spilled_count",
            "failed_count",
            "reclaimed",
        )
    ]


class Arena:
    """A heap on named nodes; see ``ts_arena_create`` in tierscope_alloc.h for the arguments."""

    def __init__(
        self, name: str, nodes: str, capacity: int = 0, when_full: WhenFull = "fail"
    ) -> None:
        """Raise OSError with the errno of ``ts_arena_create``; ValueError for another word."""
        words = get_args(WhenFull)
        if when_full not in words:
            raise ValueError(f"when_full is '{when_full}'; it takes fail, spill or reclaim")
        arena = _library().ts_arena_create(
            name.encode(), nodes.encode(), capacity, words.index(when_full)
        )
        if not arena:
            raise _error(f"arena {name} on nodes {nodes}")
        self._arena = ctypes.c_void_p(arena)
        weakref.finalize(self, _library().ts_arena_destroy, self._arena).atexit = False

    def allocate(self, size: int) -> memoryview:
        """Return ``size`` bytes, zeroed; raises MemoryError where the arena is full."""
        address = _library().ts_calloc(self._arena, 1, size)
        if not address:
            raise MemoryError(f"no room for {size} bytes in the arena")
        block = (ctypes.c_char * size).from_address(address)
        weakref.finalize(block, self._free, ctypes.c_void_p(address)).atexit = False
        return memoryview(block).cast("B")

    def move_to(self, nodes: str) -> None:
        """Move its pages, and place further ones there; raises OSError (EBUSY: some stayed)."""
        if _library().ts_arena_move(self._arena, nodes.encode()):
            raise _error(f"moving to nodes {nodes}")

    def statistics(self) -> dict[str, int]:
        """Return the fields of ``struct ts_statistics``."""
        found = _Statistics()
        if _library().ts_arena_statistics(self._arena, ctypes.byref(found)):
            raise _error("statistics")
        return {name: getattr(found, name) for name, *_ in _Statistics._fields_}

    def bytes_per_node(self) -> dict[int, int]:
        """Return how much of it is on each node now; asks the kernel about each page."""
        found = (ctypes.c_size_t * _MOST_NODES)()
        if _library().ts_arena_pages(self._arena, found, _MOST_NODES):
            raise _error("reading the nodes of pages")
        return {node: size for node, size in enumerate(found) if size}

    def _free(self, address: ctypes.c_void_p) -> None:
        """Free a block; as a bound method it keeps the arena as long as there are blocks."""
        _library().ts_free(address)


@cache
def _library() -> Any:
    """Return the library; raises UserError where it is not installed."""
    path = find_library().with_name("libtierscope-alloc.so")
    library = ctypes.CDLL(str(path), use_errno=True)
    size, pointer = ctypes.c_size_t, ctypes.c_void_p
    library.ts_arena_create.argtypes = [ctypes.c_char_p, ctypes.c_char_p, size, ctypes.c_int]
    library.ts_arena_create.restype = pointer
    library.ts_calloc.argtypes = [pointer, size, size]
    library.ts_calloc.restype = pointer
    library.ts_arena_move.argtypes = [pointer, ctypes.c_char_p]
    library.ts_arena_pages.argtypes = [pointer, pointer, size]
    library.ts_free.restype = None
    return library


def _error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")
