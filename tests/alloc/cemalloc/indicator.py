"""A program as cemalloc documents them for Python: a thread says where its memory goes."""

import ctypes
import os
import threading
from collections import Counter

import cemalloc

from tierscope.place.pages import mappings, nodes_of_pages

PAGE, SIZE = 4096, 4 << 20


def address(block: bytearray) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(block))


def print_pages(what: str, block: bytearray) -> None:
    """Print "WHAT NODE:PAGES ..." of a block's whole pages."""
    start = -(-address(block) // PAGE) * PAGE
    pages = range(start, (address(block) + len(block)) // PAGE * PAGE, PAGE)
    found = Counter(nodes_of_pages(0, list(pages)))
    print(what, *(f"{node}:{count}" for node, count in found.items()))


def is_placed(block: bytearray) -> bool:
    """Whether a block lies in a mapping that has a policy."""
    before = [one for one in mappings(os.getpid()) if one.start <= address(block)]
    return before[-1].policy != "default"


def filled() -> bytearray:
    return bytearray(b"x") * SIZE


assert cemalloc.GetMemoryMode().name == "HOST"
host = filled()
assert cemalloc.SetCxlMemory() == 0
assert cemalloc.GetMemoryMode().name == "CXL"
cxl = filled()
of_thread = []
thread = threading.Thread(target=lambda: of_thread.extend([cemalloc.GetMemoryMode(), filled()]))
thread.start()
thread.join()
assert cemalloc.SetHostMemory() == 0
assert cemalloc.GetMemoryMode().name == "HOST"
later = filled()
assert of_thread[0].name == "HOST", "each thread has an indicator of its own"
assert is_placed(cxl)
assert not any(is_placed(block) for block in (host, later, of_thread[1]))
print_pages("host", host)
print_pages("cxl", cxl)
print_pages("later", later)
grown = cxl
grown.extend(host)  # Resized under the other indicator: it moves.
assert not is_placed(grown)
assert grown == b"x" * (2 * SIZE)
