"""Documents in slow memory, found by an index in Python's own memory.

    python3 document_store.py [NODES [MIB]]          e.g. python3 document_store.py 2 64

Each document is compressed into a block of the arena; looking one up reads it there, without a copy
of the block.
"""

import sys
import zlib

from tierscope.alloc import Arena


class DocumentStore:
    """Texts by name."""

    def __init__(self, nodes: str, capacity: int) -> None:
        self.arena = Arena("documents", nodes, capacity)
        self._blocks = {}

    def __setitem__(self, name: str, text: str) -> None:
        packed = zlib.compress(text.encode())
        block = self.arena.allocate(len(packed))
        block[:] = packed
        self._blocks[name] = block  # An earlier block of that name is freed.

    def __getitem__(self, name: str) -> str:
        return zlib.decompress(self._blocks[name]).decode()

    def __len__(self) -> int:
        return len(self._blocks)


def main() -> None:
    """Fill a store, read from it, and show where it lies."""
    nodes = sys.argv[1] if len(sys.argv) > 1 else "0"
    capacity = (int(sys.argv[2]) if len(sys.argv) > 2 else 16) << 20
    store = DocumentStore(nodes, capacity)
    for number in range(2000):
        store[f"document {number}"] = " ".join(str(number * word) for word in range(500))
    assert store["document 7"].split()[499] == str(7 * 499)
    print(f"{len(store)} documents")
    for node, size in store.arena.bytes_per_node().items():
        print(f"node {node}: {size >> 10} KiB")
    print(store.arena.statistics())


main()
