"""The structures of kind ops: their parts, their operations, and how many bytes each part takes.

A row of ``STRUCTURES`` is a structure. The engine has the same rows, in
engine/kinds/ops_structures.cpp, and the same sizes: a test compares them by what was placed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tierscope.kinds.ops.spec import OpsPattern

_ENTRY = 16
"""Bytes of a key and its value."""
_FILL_PERCENT = 90
"""How full bulk loading leaves the nodes of a B+-tree."""
_MAX_DEPTH = 40
_GROUP = 16
"""Slots of a hash table that one comparison sees."""
_MAX_LOAD = 0.7


@dataclass(frozen=True)
class Structure:
    """One data structure."""

    parts: tuple[str, ...]
    """What is placed by itself."""
    operations: tuple[str, ...]
    own: tuple[str, ...]
    """Fields of the pattern that only some structures have, and this one needs."""
    part_bytes: "Callable[[OpsPattern, int], tuple[int, ...]]"
    """Bytes of each part for a pattern and a number of threads."""


def tables_of(pattern: "OpsPattern", threads: int) -> list[int]:
    """Return the keys of each table: threads that write have one of their own each."""
    if pattern.operation not in ("insert", "update"):
        return [pattern.keys]
    each = pattern.keys // threads
    return [*[each] * (threads - 1), pattern.keys - each * (threads - 1)]


def _btree(pattern: "OpsPattern", threads: int) -> tuple[int, int]:
    assert pattern.inner_node
    assert pattern.leaf_node
    children = (pattern.inner_node - 12) // 12 + 1
    entries = (pattern.leaf_node - 8) // _ENTRY
    nodes = [_nodes(keys, children, entries, pattern) for keys in tables_of(pattern, threads)]
    inner = sum(inner for inner, _ in nodes) * pattern.inner_node
    return inner, sum(leaves for _, leaves in nodes) * pattern.leaf_node


def _nodes(keys: int, children: int, entries: int, pattern: "OpsPattern") -> tuple[int, int]:
    """Return inner nodes and leaves: as bulk loading makes them, or half full, as insertions may
    leave them."""
    grows = pattern.operation == "insert"
    least = children // 2 if grows else max(children * _FILL_PERCENT // 100, 2)
    leaves = (
        keys // (entries // 2) + 2 if grows else -(-keys // max(entries * _FILL_PERCENT // 100, 1))
    )
    inner, level = (_MAX_DEPTH if grows else 1), leaves
    while level > 1:
        level = level // least + 1 if grows else -(-level // least)
        inner += level
    return inner, leaves


def _hash(pattern: "OpsPattern", threads: int) -> tuple[int, int]:
    slots = 0
    for keys in tables_of(pattern, threads):
        groups = int(keys / (_MAX_LOAD * _GROUP)) + 1
        slots += -(-groups // 4) * 4 * _GROUP
    return slots, slots * _ENTRY


STRUCTURES: dict[str, Structure] = {
    "btree": Structure(
        parts=("inner", "leaves"),
        operations=("lookup", "insert", "update", "scan"),
        own=("inner_node", "leaf_node"),
        part_bytes=_btree,
    ),
    "hash": Structure(
        parts=("tags", "entries"),
        operations=("lookup", "insert", "update"),
        own=(),
        part_bytes=_hash,
    ),
}
OF_STRUCTURES = tuple(dict.fromkeys(name for one in STRUCTURES.values() for name in one.own))
"""Fields of the pattern that only some structures have."""
PARTS = tuple(dict.fromkeys(part for one in STRUCTURES.values() for part in one.parts))
