"""The structures of kind ops: their parts, their operations, and how many bytes each part takes.

A row of ``STRUCTURES`` is a structure. The engine has the same rows, in
engine/kinds/ops_structures.cpp, and the same sizes: a test compares them by what was placed.
"""

import math
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
_MAX_LOAD = 0.55


_LINE = 64
_BLOCK = 4096
"""Bytes of a column, or of an LSM tree's level, that are gone over as one."""
_LEVELS = 4
_FILTER_BITS = 10
"""Of a Bloom filter, for each key."""


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


def _lines(size: int) -> int:
    """Return bytes rounded up to whole cache lines."""
    return -(-size // _LINE) * _LINE


def _column(pattern: "OpsPattern", _threads: int) -> tuple[int, int]:
    assert pattern.key_bytes
    column = pattern.keys * pattern.key_bytes // _BLOCK * _BLOCK
    return column, column if pattern.found == "positions" else _LINE


def _relations(pattern: "OpsPattern", threads: int) -> tuple[int, ...]:
    """Threads have a table and copies of their rows each, of the last one's share."""
    assert pattern.partitions
    assert pattern.probe_ratio
    relations = (pattern.keys, pattern.keys * pattern.probe_ratio)
    build, probe = relations
    most, most_probe = (rows - rows // threads * (threads - 1) for rows in relations)
    mean = most / pattern.partitions
    if pattern.partitions > 1:
        most_here = int(mean + 8 * math.sqrt(mean)) + 8
        ends = _lines(pattern.partitions * 8)
        copies = _lines(most * _ENTRY) + _lines(most_probe * _ENTRY)
        copies += pattern.partitions * _LINE + 2 * ends
    else:
        most_here, copies = most, _LINE
    slots = -(-(int(most_here / (_MAX_LOAD * _GROUP)) + 1) // 4) * 4 * _GROUP
    output = _lines(probe * _ENTRY)
    return (
        _lines(build * _ENTRY),
        output,
        threads * slots * (1 + _ENTRY),
        threads * copies,
        output,
    )


def _runs(pattern: "OpsPattern", _threads: int) -> tuple[int, int]:
    size = _lines(pattern.keys * _ENTRY)
    return size, size


def cycle_of(ratio: int) -> int:
    """Return the keys of an LSM tree's smallest set of levels, after which they repeat."""
    return sum(ratio**level for level in range(_LEVELS))


def _lsm(pattern: "OpsPattern", _threads: int) -> tuple[int, ...]:
    assert pattern.ratio
    whole, rest = divmod(pattern.keys, cycle_of(pattern.ratio))
    levels = []
    for level in range(_LEVELS):
        here = min(rest, pattern.ratio**level)
        levels.append(whole * pattern.ratio**level + here)
        rest -= here
    filters = sum(-(-keys * _FILTER_BITS // 512) * _LINE for keys in levels)
    fences = sum(_lines(-(-keys // (_BLOCK // _ENTRY)) * 8) for keys in levels)
    return filters, fences, *(_lines(keys * _ENTRY) for keys in levels)


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
    "column": Structure(
        parts=("column", "positions"),
        operations=("filter",),
        own=("key_bytes", "selectivity", "found"),
        part_bytes=_column,
    ),
    "relations": Structure(
        parts=("build", "probe", "table", "copies", "output"),
        operations=("join",),
        own=("probe_ratio", "misses", "partitions"),
        part_bytes=_relations,
    ),
    "runs": Structure(
        parts=("runs", "output"),
        operations=("merge",),
        own=("runs",),
        part_bytes=_runs,
    ),
    "lsm": Structure(
        parts=("filters", "fences", *(f"level{level}" for level in range(_LEVELS))),
        operations=("lookup",),
        own=("ratio", "misses"),
        part_bytes=_lsm,
    ),
}
SKEWED = ("btree", "hash", "lsm")
"""Structures that some keys of are asked for more often than others."""
OF_FILES = ("btree", "hash")
"""Structures that take their keys from a file."""
INTERLEAVED = (("btree", "lookup"), ("hash", "lookup"), ("relations", "join"))
"""Structures and operations that have several keys under way in a thread."""
OF_STRUCTURES = tuple(dict.fromkeys(name for one in STRUCTURES.values() for name in one.own))
"""Fields of the pattern that only some structures have."""
PARTS = tuple(dict.fromkeys(part for one in STRUCTURES.values() for part in one.parts))
