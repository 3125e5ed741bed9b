"""Caches in front of nodes' memory: what the kernel shows of them, and what they are made of."""

from typing import Literal

from tierscope.model.topology import MemorySideCache
from tierscope.topology.files import Files

_INDEXING: dict[int | None, Literal["direct-mapped", "indexed", "other"]] = {
    0: "direct-mapped",
    1: "indexed",
    2: "other",
}
_WRITE_POLICY: dict[int | None, Literal["write-back", "write-through", "other"]] = {
    0: "write-back",
    1: "write-through",
    2: "other",
}


def read_memory_side_caches(files: Files, node_directory: str) -> list[MemorySideCache]:
    """A node's caches from sysfs (Linux, admin-guide/mm/numaperf), nearest to the CPUs first."""
    found: list[MemorySideCache] = []
    for level, index in files.numbered(f"{node_directory}/memory_side_cache", "index"):
        size = files.number(f"{index}/size")
        if size is None or size <= 0:
            continue
        found.append(
            MemorySideCache(
                level=level,
                size_bytes=size,
                line_bytes=files.number(f"{index}/line_size") or None,
                indexing=_INDEXING.get(files.number(f"{index}/indexing"), ""),
                write_policy=_WRITE_POLICY.get(files.number(f"{index}/write_policy"), ""),
            )
        )
    return found[::-1]
