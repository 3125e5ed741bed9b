"""A program with memory that it keeps accessing on one node, and memory that it leaves alone.

Usage: hot_and_cold.py MIB COLD_NODE HOT_NODE; it says "ready" once its pages are there.
"""

import ctypes
import mmap
import sys
import time

_SET_MEMPOLICY = 238
_DEFAULT, _BIND = 0, 2
_PAGE = 4096
_PAUSE_S = 0.005
"""Leaves the CPU to others; far less than DAMON's sampling interval."""


def on_node(node: int, size: int) -> mmap.mmap:
    """Memory whose pages are on a node."""
    libc = ctypes.CDLL(None, use_errno=True)
    mask = ctypes.c_ulong(1 << node)
    if libc.syscall(_SET_MEMPOLICY, _BIND, ctypes.byref(mask), 64):
        raise OSError(ctypes.get_errno(), "set_mempolicy")
    memory = mmap.mmap(-1, size)
    memory[::_PAGE] = bytes([1]) * (size // _PAGE)
    libc.syscall(_SET_MEMPOLICY, _DEFAULT, None, 0)
    return memory


def main() -> None:
    """Keep accessing one part."""
    size = int(sys.argv[1]) << 20
    cold, hot = (on_node(int(node), size) for node in sys.argv[2:])
    print("ready", flush=True)
    ones = bytes([2]) * (size // _PAGE)
    while cold:
        hot[::_PAGE] = ones
        time.sleep(_PAUSE_S)


if __name__ == "__main__":
    main()
