"""The structures of kind ops: their parts, their operations, and how many bytes each part takes.

A row of ``STRUCTURES`` is a structure. The engine has the same rows, in
engine/kinds/ops_structures.cpp, and lays them out by the numbers of ``ENGINE_CONSTANTS``: a test
compares sizes by what was placed.
"""

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from tierscope.model.endpoint import Endpoint, EndpointKind, parse_target
from tierscope.model.errors import UserError
from tierscope.model.property import IN_BYTES, OPERATION, PAGES, SKEW, MadeBy, Property, declared
from tierscope.model.rules import (
    Below,
    Check,
    Differs,
    PowerOfTwo,
    Prunes,
    Rule,
    Ruled,
    Ruling,
    needs,
    refuses,
)
from tierscope.model.spec import (
    EachCpu,
    MemorySpec,
    NodePlacement,
    Pages,
    Placement,
    Region,
)
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine, options
from tierscope.plans.axes import (
    MemoryPath,
    checked,
    common_fields,
    memory_paths,
    pages,
    targets,
    thread_counts,
)
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.sweep import (
    combinations,
    id_parts,
    options_for,
    options_of,
    spec_of,
    values_of,
)

_ENTRY = 16
"""Bytes of a key and its value."""
STRING = 24
"""Bytes of a key that is a string."""
_LEAF_HEAD = 16
_FILL_PERCENT = 90
"""How full bulk loading leaves the nodes of a B+-tree."""
_AGED_PERCENT = 69
"""The same of insertions in random order: ln 2 (Yao, "On random 2-3 trees", 1978)."""
AGED_FILL = _AGED_PERCENT / 2 / 100
"""How full deletion of half of the keys leaves the leaves then."""
_MAX_DEPTH = 40
_GROUP = 16
"""Slots of a hash table that one comparison sees."""
_MAX_LOAD = 0.55
_SHARED_SLOTS = 12
"""Slots of a group of a hash table that threads share: the others' bytes are its version."""
YCSB = ("ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f")
"""The core workloads of Cooper et al., "Benchmarking cloud serving systems with YCSB", 2010."""
SCANNING = ("scan", "ycsb-e")
INSERTING = ("insert", "churn", "ycsb-d", "ycsb-e")
"""Operations that find an eighth of the keys, or half of that, not inserted yet."""
ALWAYS_SHARED = ("churn", *YCSB)
_OF_AGED = ("lookup", "update", "scan", "churn", "ycsb-a", "ycsb-b", "ycsb-c", "ycsb-f")
"""Operations that leave a tree as old as it is: others have it built anew as keys run out."""
_OF_EITHER = ("insert", "update")
"""Operations of threads that have a structure of their own each, or share one."""

_LINE = 64
_BLOCK = 4096
"""Bytes of a column, or of an LSM tree's level, that are gone over as one."""
_LEVELS = 4
_FILTER_BITS = 10
"""Bits of a Bloom filter for each key."""
SKEWED = ("btree", "hash", "string-btree", "string-hash", "lsm")
"""Structures that some keys of are asked for more often than others."""
SHARED = ("btree", "hash")
"""Structures that threads which write can share."""
OF_FILES = ("btree", "hash")
"""Structures that take their keys from a file."""
INTERLEAVED = (("btree", "lookup"), ("hash", "lookup"), ("relations", "join"))
"""Structures and operations that have several keys under way in a thread."""
MAX_KEYS = 1 << 36
_FEWEST_TO_INSERT = 1 << 15
_FEWEST_ROWS = 1024
_USUAL_FEWEST = 64
_FEWEST_KEYS = {
    **dict.fromkeys(INSERTING, _FEWEST_TO_INSERT),
    **dict.fromkeys(("filter", "merge", "sort"), _FEWEST_ROWS),
}
"""Of each thread: an eighth of what is inserted lasts for a row; a block of others."""
_AGED_PER_S = 1e6
_SORTED_PER_S = 1e7
"""Insertions or deletions, and keys, a second that a thread does at least in local memory."""
_SLOWER = 20
"""Times as long as that the same may take elsewhere."""
_MAX_INTERLEAVE = 64
_MAX_PARTITIONS = 4096
_MAX_RUNS = 256
ENGINE_CONSTANTS: dict[str, int | float] = {
    "fill_percent": _FILL_PERCENT,
    "max_depth": _MAX_DEPTH,
    "max_load": _MAX_LOAD,
    "block": _BLOCK,
    "levels": _LEVELS,
    "filter_bits": _FILTER_BITS,
    "fewest_keys": _USUAL_FEWEST,
    "fewest_rows": _FEWEST_ROWS,
    "fewest_to_insert": _FEWEST_TO_INSERT,
    "max_interleave": _MAX_INTERLEAVE,
    "max_partitions": _MAX_PARTITIONS,
    "max_runs": _MAX_RUNS,
    "shared_slots": _SHARED_SLOTS,
}
"""Layout constants of the engine; ``make schema`` writes them for it."""
Node = Annotated[int, IN_BYTES, Field(ge=128, le=1 << 16, multiple_of=64)]
_BYTES_OF_KEY = {"column": 16}
_USUAL_BYTES_OF_KEY = 64
"""Of a default working set, for each key: about twice what a key takes, so that structures of all
kinds come out past the caches and fit beside each other."""
_PART = re.compile(r",(?=\s*\w+\s*=)")
Placed = Mapping[str, Placement]
"""The placement of each part of a structure."""


@dataclass(frozen=True)
class Structure:
    """One data structure."""

    parts: tuple[str, ...]
    """A part of a structure that is placed by itself."""
    operations: tuple[str, ...]
    own: tuple[str, ...]
    """Fields of the pattern that only some structures have, and this one needs."""
    part_bytes: "Callable[[OpsPattern, int], tuple[int, ...]]"
    """Bytes of each part for a pattern and a number of threads."""


def is_shared(pattern: "OpsPattern") -> bool:
    """Whether threads that write share one index."""
    return pattern.operation in ALWAYS_SHARED or pattern.sharing == "shared"


def tables_of(pattern: "OpsPattern", threads: int) -> list[int]:
    """Return the keys of each table: threads that write may have one of their own each."""
    if pattern.operation not in _OF_EITHER or pattern.sharing == "shared":
        return [pattern.keys]
    each = pattern.keys // threads
    return [*[each] * (threads - 1), pattern.keys - each * (threads - 1)]


def _capacities(pattern: "OpsPattern") -> tuple[int, int]:
    """Return the children of an inner node and the entries of a leaf, at most."""
    assert pattern.inner_node
    assert pattern.leaf_node
    if pattern.structure == "string-btree":
        return (pattern.inner_node - 12) // 16 + 1, (pattern.leaf_node - 8) // 20
    return (pattern.inner_node - 12) // 12 + 1, (pattern.leaf_node - _LEAF_HEAD) // _ENTRY


def _btree(pattern: "OpsPattern", threads: int) -> tuple[int, int]:
    assert pattern.inner_node
    assert pattern.leaf_node
    children, entries = _capacities(pattern)
    nodes = [_nodes(keys, children, entries, pattern) for keys in tables_of(pattern, threads)]
    inner = sum(inner for inner, _ in nodes) * pattern.inner_node
    return inner, sum(leaves for _, leaves in nodes) * pattern.leaf_node


def _nodes(keys: int, children: int, entries: int, pattern: "OpsPattern") -> tuple[int, int]:
    """Return inner nodes and leaves: as bulk loading makes them, or half full, as insertions may
    leave them. An aged tree had twice as many keys."""
    aged = pattern.build == "aged"
    grows = aged or pattern.operation in INSERTING
    keys *= 2 if aged else 1
    least = children // 2 if grows else max(children * _FILL_PERCENT // 100, 2)
    leaves = (
        keys // (entries // 2) + 2 if grows else -(-keys // max(entries * _FILL_PERCENT // 100, 1))
    )
    inner, level = (_MAX_DEPTH if grows else 1), leaves
    while level > 1:
        level = level // least + 1 if grows else -(-level // least)
        inner += level
    return inner, leaves


def inner_levels(pattern: "OpsPattern", threads: int) -> list[int]:
    """Return the inner nodes of each level of a B+-tree as bulk loading makes them, or as a tree
    that was aged has them on average, of all threads' trees together, the largest level first."""
    most_children, most_entries = _capacities(pattern)
    times, full = (2, _AGED_PERCENT) if pattern.build == "aged" else (1, _FILL_PERCENT)
    children = max(most_children * full // 100, 2)
    entries = max(most_entries * full // 100, 1)
    tables = tables_of(pattern, threads)
    nodes, found = -(-times * tables[0] // entries), []
    while nodes > 1:
        nodes = -(-nodes // children)
        found.append(nodes * len(tables))
    return found


def _hash(pattern: "OpsPattern", threads: int) -> tuple[int, int]:
    slots = _SHARED_SLOTS if is_shared(pattern) else _GROUP
    groups = 0
    for keys in tables_of(pattern, threads):
        groups += -(-(int(keys / (_MAX_LOAD * slots)) + 1) // 4) * 4
    return groups * _GROUP, groups * slots * _ENTRY


def _strings(pattern: "OpsPattern", threads: int) -> int:
    return sum(_lines(keys * STRING) for keys in tables_of(pattern, threads))


def _string_btree(pattern: "OpsPattern", threads: int) -> tuple[int, int, int]:
    return (*_btree(pattern, threads), _strings(pattern, threads))


def _string_hash(pattern: "OpsPattern", threads: int) -> tuple[int, int, int]:
    return (*_hash(pattern, threads), _strings(pattern, threads))


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


def level_keys(pattern: "OpsPattern") -> list[int]:
    """Return the keys of each level of an LSM tree."""
    assert pattern.ratio
    whole, rest = divmod(pattern.keys, cycle_of(pattern.ratio))
    levels = []
    for level in range(_LEVELS):
        here = min(rest, pattern.ratio**level)
        levels.append(whole * pattern.ratio**level + here)
        rest -= here
    return levels


def _lsm(pattern: "OpsPattern", _threads: int) -> tuple[int, ...]:
    levels = level_keys(pattern)
    filters = sum(-(-keys * _FILTER_BITS // 512) * _LINE for keys in levels)
    fences = sum(_lines(-(-keys // (_BLOCK // _ENTRY)) * 8) for keys in levels)
    return filters, fences, *(_lines(keys * _ENTRY) for keys in levels)


STRUCTURES: dict[str, Structure] = {
    "btree": Structure(
        parts=("inner", "leaves"),
        operations=("lookup", "insert", "update", "scan", "churn", *YCSB),
        own=("inner_node", "leaf_node"),
        part_bytes=_btree,
    ),
    "hash": Structure(
        parts=("tags", "entries"),
        operations=("lookup", "insert", "update", "churn", *(o for o in YCSB if o != "ycsb-e")),
        own=(),
        part_bytes=_hash,
    ),
    "string-btree": Structure(
        parts=("inner", "leaves", "strings"),
        operations=("lookup", "update"),
        own=("inner_node", "leaf_node"),
        part_bytes=_string_btree,
    ),
    "string-hash": Structure(
        parts=("tags", "entries", "strings"),
        operations=("lookup", "update"),
        own=(),
        part_bytes=_string_hash,
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
        operations=("merge", "sort"),
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
OF_STRUCTURES = tuple(dict.fromkeys(name for one in STRUCTURES.values() for name in one.own))
"""Fields of the pattern that only some structures have."""


def having(field: str) -> tuple[str, ...]:
    """Return the structures that have such a field."""
    return tuple(name for name, one in STRUCTURES.items() if field in one.own)


PARTS = tuple(dict.fromkeys(part for one in STRUCTURES.values() for part in one.parts))


class OpsPattern(Ruled):
    """Operations on one data structure."""

    structure: Annotated[
        Literal[
            "btree", "hash", "string-btree", "string-hash", "column", "relations", "runs", "lsm",
        ],
        Property(default="btree", words="{}", id_always=True),
    ]  # fmt: skip
    operation: Annotated[
        Literal[
            "lookup", "insert", "update", "scan", "churn", "ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d",
            "ycsb-e", "ycsb-f", "filter", "join", "merge", "sort",
        ],
        OPERATION.but(default_help="the structure's first"),
    ]  # fmt: skip
    keys: Annotated[
        int,
        Field(ge=1, le=MAX_KEYS),
        Property(
            "Number of keys, as in 1m..64m; file:PATH: 64-bit keys, looked up in their order",
            default_help="larger than the last-level cache",
            metavar="SIZES",
            words="{} keys",
        ),
    ]
    """Keys of 8 bytes, strings of 24, each with a value of 8 bytes; of a file, its numbers, some of
    which may be the same key."""
    pages: Annotated[Pages, PAGES] = "thp"
    sharing: Annotated[
        Literal["partitioned", "shared"],
        Property(
            "Threads that insert or update; partitioned: an index of their own each; shared: one",
            words="index {}",
            essential=False,
        ),
    ] = "partitioned"
    """Whether threads that insert or update share an index; those of other operations do."""
    build: Annotated[
        Literal["bulk", "aged"],
        Property(
            "How a btree is made; bulk: bulk loading; aged: random insertions and deletions",
            words="{} tree",
            essential=False,
        ),
    ] = "bulk"
    """How a B+-tree is made; aged: its keys are inserted in random order among as many others that
    are then deleted."""
    distribution: Annotated[
        Literal["uniform", "zipf", "latest", "file"],
        Property(
            "How often each key is asked for: uniform, zipf, latest (of ycsb-d)",
            default_help="of ycsb zipf, of ycsb-d latest, else uniform",
            words="{}",
        ),
    ] = "uniform"
    """How often each key is asked for; latest: by Zipf's law, those inserted last most; file: its
    numbers are the keys, asked for in its order."""
    zipf_alpha: Annotated[
        Annotated[float, Field(gt=0, le=10)] | None,
        SKEW.but(help="Skew of distributions zipf and latest, above 0, at most 10"),
    ] = None
    keys_file: str | None = None
    """Numbers of 64 bits, little-endian."""
    interleave: Annotated[
        int,
        Field(ge=1, le=_MAX_INTERLEAVE),
        Property(
            "Lookups that a thread has in flight, as in 1..32*2, at most 64",
            id="w{}",
            words="{} keys interleaved",
            essential=False,
        ),
    ] = 1
    """Lookups that a thread has under way at once."""
    scan_length: Annotated[
        Annotated[int, Field(ge=1, le=1 << 20)] | None,
        Property(
            "Entries that a range scan reads; of ycsb-e at most",
            default="100",
            id="l{}",
            words="{} entries a scan",
            essential=False,
        ),
    ] = None
    """Entries that a range scan reads; of ycsb-e as many at most, one at least."""
    inner_node: Annotated[
        Node | None,
        Property(
            "Bytes of an inner node of a btree",
            default="256",
            id="{}",
            words="inner node {}",
            essential=False,
        ),
    ] = None
    """Bytes of an inner node."""
    leaf_node: Annotated[
        Node | None,
        Property(
            "Bytes of a leaf of a btree",
            default="512",
            id="{}",
            words="leaf node {}",
            essential=False,
        ),
    ] = None
    key_bytes: Annotated[
        Literal[4, 8] | None,
        Property(
            "Bytes of a column's key: 4, 8", default="8", words="keys of {} bytes", essential=False
        ),
    ] = None
    """Bytes of a column's key; keys of other structures have 8."""
    selectivity: Annotated[
        Annotated[float, Field(ge=0, le=1)] | None,
        Property(
            "Share of a column's rows that are found, 0 to 100%",
            default="1%",
            id="{}",
            words="selectivity {}",
            essential=False,
        ),
    ] = None
    """Share of a column's rows that the filter finds."""
    found: Annotated[
        Literal["positions", "count"] | None,
        Property(
            "Result of a column's filter: positions, count", default="positions", essential=False
        ),
    ] = None
    """Result of a filter: the positions of the rows found, or only their count."""
    probe_ratio: Annotated[
        Annotated[int, Field(ge=1, le=64)] | None,
        Property(
            "Probe rows for each build row of relations",
            default="1",
            id="{}",
            words="probe rows: {} for each build row",
            essential=False,
        ),
    ] = None
    """Rows of the probe relation for each of the build relation, which has ``keys``."""
    misses: Annotated[
        Annotated[float, Field(ge=0, le=1)] | None,
        Property(
            "Share of keys that relations or an lsm lack, 0 to 100%",
            default="0",
            id="{}",
            words="{} misses",
            essential=False,
        ),
    ] = None
    """Share of the keys that are asked for and are not there."""
    partitions: Annotated[
        Annotated[int, Field(ge=1, le=_MAX_PARTITIONS), PowerOfTwo()] | None,
        Property(
            "Partitions of relations, a power of two; 1: none",
            default="1",
            id="{}",
            words="{} partitions",
            essential=False,
        ),
    ] = None
    """Partitions that a join copies both relations into first, a power of two; 1: no copy."""
    runs: Annotated[
        Annotated[int, Field(ge=2, le=_MAX_RUNS)] | None,
        Property(
            "Sorted runs that are merged, 2 to 256; sort makes one at least for each thread",
            default="8",
            id="{}",
            words="{} runs",
            essential=False,
        ),
    ] = None
    """Runs that are merged; a sort makes as many first, the same number for each thread."""
    ratio: Annotated[
        Annotated[int, Field(ge=2, le=32)] | None,
        Property(
            "Keys of an lsm's level for each of the level above",
            default="10",
            id="{}",
            words="levels that grow by {}",
            essential=False,
        ),
    ] = None
    """Ratio of a level's keys to those of the level above."""
    sample_every: Annotated[
        int,
        Field(ge=2, le=4096),
        Property("Time one operation in N", single=True, identity=True, essential=False),
    ] = 64
    """One in this many operations (groups of interleaved ones) is timed."""

    rules: ClassVar[tuple[Ruling, ...]] = (
        *(
            Rule(
                "operation",
                {"structure": name},
                f"of {name} is {' or '.join(one.operations)}",
                unless={"operation": one.operations},
            )
            for name, one in STRUCTURES.items()
        ),
        *(Prunes(name, unless={"structure": having(name)}) for name in OF_STRUCTURES),
        *(
            Rule(name, {name: None, "structure": having(name)}, "is what this structure needs")
            for name in OF_STRUCTURES
        ),
        Prunes("distribution", unless={"structure": SKEWED}),
        Prunes("sharing", unless={"structure": SHARED, "operation": _OF_EITHER}),
        Prunes("build", unless={"structure": "btree", "operation": _OF_AGED}),
        Prunes("scan_length", unless={"operation": SCANNING}),
        needs("scan_length", when={"operation": SCANNING}, because="scans need a scan_length"),
        Prunes("zipf_alpha", unless={"distribution": ("zipf", "latest")}),
        needs(
            "zipf_alpha",
            when={"distribution": ("zipf", "latest")},
            because="zipf and latest need a zipf_alpha",
        ),
        refuses(
            {"distribution": "latest"},
            unless={"operation": "ycsb-d"},
            because="latest goes with operation ycsb-d",
        ),
        refuses(
            {"distribution": "file", "operation": ALWAYS_SHARED},
            because=f"keys of a file do not go with {', '.join(ALWAYS_SHARED)}",
        ),
        Prunes("keys_file", unless={"distribution": "file"}),
        needs("keys_file", when={"distribution": "file"}, because="file needs a keys_file"),
        refuses(
            {"distribution": "file"},
            unless={"structure": OF_FILES},
            because=f"file goes with structure {' or '.join(OF_FILES)}",
        ),
        Prunes(
            "interleave",
            unless={
                "structure": tuple(one for one, _ in INTERLEAVED),
                "operation": tuple(dict.fromkeys(operation for _, operation in INTERLEAVED)),
            },
        ),
        refuses(
            {"interleave": Differs(1), "partitions": Differs(1)},
            because="goes with one partition: tables of several are cached",
        ),
        Rule(
            "keys",
            {"key_bytes": 4},
            "of 4 bytes are 4g at most, as positions of 4 bytes number them",
            unless={"keys": Below((1 << 32) + 1)},
        ),
        Rule(
            "keys",
            {"structure": "string-btree"},
            "of a string-btree are 4g at most, as numbers of 4 bytes stand for them",
            unless={"keys": Below((1 << 32) + 1)},
        ),
        Check(
            "keys",
            "are less than {}, which levels of ratio {} need",
            lambda pattern: pattern.ratio is None or pattern.keys >= cycle_of(pattern.ratio),
            ("ratio",),
            lambda pattern: (cycle_of(pattern.ratio), pattern.ratio),
        ),
    )


class OpsSpec(MemorySpec):
    """Operations a second."""

    metric: ClassVar[str] = "operations"
    targets: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.NODE,)
    never_sleeps: ClassVar[bool] = True
    recorded: ClassVar[tuple[str, ...]] = ("structure", "operation", "threads")
    extra_properties: ClassVar[dict[str, type]] = {
        "threads": int,
        **{f"on_{part}": str for part in PARTS},
    }

    kind: Literal["ops"] = "ops"
    cpus: Annotated[EachCpu, MadeBy("threads")]
    placement: Annotated[NodePlacement, MadeBy("to")]
    parts: dict[str, NodePlacement] = {}
    """Placements of parts that differ from ``placement``."""
    pattern: OpsPattern

    rules: ClassVar[tuple[Ruling, ...]] = (
        Check(
            "parts",
            "name one that {} does not have",
            lambda spec: set(spec.parts) <= set(spec.part_names()),
            ("pattern.structure",),
            lambda spec: (spec.pattern.structure,),
        ),
        Check(
            "pattern.keys",
            "are fewer than the {} that {} threads need",
            lambda spec: spec.pattern.keys >= spec.fewest_keys,
            ("pattern.operation", "cpus"),
            lambda spec: (spec.fewest_keys, len(spec.cpus)),
        ),
    )

    @property
    def fewest_keys(self) -> int:
        """Keys that its threads need."""
        return _FEWEST_KEYS.get(self.pattern.operation, _USUAL_FEWEST) * len(self.cpus)

    def part_names(self) -> tuple[str, ...]:
        """The parts of the structure."""
        return STRUCTURES[self.pattern.structure].parts

    def placement_of(self, part: str) -> Placement:
        """The placement of a part."""
        return self.parts.get(part, self.placement)

    def thread_cpus(self) -> list[int]:
        """One thread a CPU."""
        return self.cpus

    def regions(self) -> list[Region]:
        """One for each part."""
        sizes = STRUCTURES[self.pattern.structure].part_bytes(self.pattern, len(self.cpus))
        return [
            Region(self.placement_of(part), self.pattern.pages, size)
            for part, size in zip(self.part_names(), sizes, strict=True)
        ]

    def build_s(self) -> float:
        """Of an aged tree, two insertions and a deletion for each key."""
        if self.pattern.build == "bulk":
            return 0.0
        return 3 * self.pattern.keys / len(self.cpus) / _AGED_PER_S

    def set_up_s(self) -> float:
        """The same on slow memory, and the sort that may go on when the time is over."""
        sort = self.pattern.keys if self.pattern.operation == "sort" else 0
        return super().set_up_s() + _SLOWER * (self.build_s() + sort / _SORTED_PER_S)

    def files(self) -> list[str]:
        """The file that the keys come from."""
        return [self.pattern.keys_file] if self.pattern.keys_file else []

    def identity(self) -> dict[str, Any]:
        """The pattern, the number of threads, and where each part is."""
        pattern = self.pattern.as_recorded()
        where = {f"on_{part}": where_of(self.placement_of(part)) for part in self.part_names()}
        switched = {"prefetchers": self.prefetchers} if self.prefetchers != "as-found" else {}
        return {**pattern, **switched, "threads": len(self.cpus), **where}


def where_of(placement: Placement) -> str:
    """Write a placement on nodes as an endpoint."""
    several = len(placement.nodes) > 1
    weights = tuple(share.weight for share in placement.nodes)
    weighted = several and placement.policy == "weighted"
    return str(
        Endpoint(
            kind=EndpointKind.NODE,
            numbers=tuple(share.node for share in placement.nodes),
            weights=weights if weighted else (),
        )
    )


SPEC = OpsSpec


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[OpsSpec]:
    """Yield a measurement for each combination, the placements of all parts innermost."""
    without = {name: text for name, text in request.options.items() if name != "to"}
    for path in memory_paths(request.model_copy(update={"options": without}), topology, OpsSpec):
        for values in _points(request, topology, path, thp):
            for placed in _placements(request, topology, path, values["structure"]):
                yield _spec(request, path, values, placed)


_DISTRIBUTION = {**dict.fromkeys(YCSB, "zipf"), "ycsb-d": "latest"}
"""Of operations that have one of their own, unless another is asked for."""


def _points(
    request: Request, topology: Topology, path: MemoryPath, thp: bool
) -> Iterator[dict[str, Any]]:
    """Yield each combination's pattern, with its threads."""
    properties = declared(OpsPattern)
    structures = values_of(request, properties["structure"])
    every = properties["operation"].choices
    operations = values_of(request, properties["operation"]) if "op" in request.options else every
    if not any(set(STRUCTURES[one].operations) & set(operations) for one in structures):
        names = ", ".join(structures)
        raise request.wrong("op", f"'{request.options['op']}' goes with none of {names}")
    axes: dict[str, Sequence[Any]] = {
        "structure": structures,
        "operation": operations,
        "keys": [None],  # which depend on the structure
        "pages": pages(request, topology, thp),
        "threads": thread_counts(request, path),
    }
    asked = "distribution" in request.options
    if not asked:
        axes["distribution"] = ["uniform", "zipf", "latest"]
    if file := _keys_file(request):
        for name in ("distribution", "zipf-alpha"):
            if name in request.options:
                raise request.wrong(name, "keys of a file are asked for in its order")
        axes |= {"distribution": ["file"], "keys_file": [str(file)]}

    def goes(values: dict[str, Any]) -> bool:
        own = STRUCTURES[values["structure"]].operations
        if values["operation"] not in (own if "op" in request.options else own[:1]):
            return False
        usual = _DISTRIBUTION.get(values["operation"], "uniform")
        return asked or values["distribution"] in (usual, "file")

    for values in combinations(request, OpsPattern, axes, goes):
        for keys in _keys(request, topology, path, values["structure"]):
            yield {**values, "keys": keys}


def _keys(request: Request, topology: Topology, path: MemoryPath, structure: str) -> list[int]:
    file = _keys_file(request)
    if file:
        return [file.stat().st_size // 8]
    if "keys" in request.options:
        return checked(request, "keys", grammar.expand_sizes, request.options["keys"])
    nodes = [node.number for node in machine.memory_nodes(topology)]
    size = machine.default_size(topology, path.cpus, nodes, 1)
    each = _BYTES_OF_KEY.get(structure, _USUAL_BYTES_OF_KEY)
    return [min(max(size // each, 1), MAX_KEYS)]


def _keys_file(request: Request) -> Path | None:
    """Return the file that holds the keys; UserError where it is none of 64-bit numbers."""
    text = request.options.get("keys", "")
    if not text.startswith("file:"):
        return None
    path = Path(text.removeprefix("file:")).absolute()
    try:
        size = path.stat().st_size if path.is_file() else None
    except OSError as error:
        raise request.wrong("keys", f"{path}: {error.strerror}") from None
    if size is None:
        raise request.wrong("keys", f"{path} is not a file; name one of 64-bit numbers")
    if size == 0 or size % 8:
        raise request.wrong(
            "keys",
            f"{path} has {size} bytes, which are no 64-bit numbers; write each key in 8 bytes, "
            "little-endian",
        )
    return path


def _placements(
    request: Request, topology: Topology, path: MemoryPath, structure: str
) -> Iterator[Placed]:
    """Yield where the parts are: each on each target, or as --place says."""
    parts = STRUCTURES[structure].parts
    asked = request.options.get("place", "all")
    if asked != "all":
        for one in asked.split(";"):
            yield checked(request, "place", _assigned, topology, path, structure, one)
        return
    where = [path.placement]
    nodes = [node.number for node in machine.memory_nodes(topology)]
    if "to" in request.options:
        found = targets(request, "to", OpsSpec, nodes)
    else:
        found = [parse_target(f"node:{number}", OpsSpec.targets, "ops") for number in nodes]
    for target in found:
        checked(request, "to", machine.check_target, topology, target)
    given = [machine.placement(target, None, "user") for target in found]
    where = [*(one for one in where if one in given), *(one for one in given if one not in where)]
    for chosen in itertools.product(where, repeat=len(parts)):
        yield dict(zip(parts, chosen, strict=True))


def _assigned(topology: Topology, path: MemoryPath, structure: str, text: str) -> Placed:
    """Parse ``inner=node:0,leaves=node:2``; parts that are not named stay with the threads."""
    parts = STRUCTURES[structure].parts
    placed = dict.fromkeys(parts, path.placement)
    for word in _PART.split(text):
        name, equals, where = (piece.strip() for piece in word.partition("="))
        if not equals:
            raise UserError(f"'{word}' is neither 'all' nor such as {parts[0]}=node:0")
        grammar.parse_choice(name, parts)
        target = parse_target(where, OpsSpec.targets, OpsSpec.kind_name())
        machine.check_target(topology, target)
        placed[name] = machine.placement(target, None, "user")
    return placed


def _spec(request: Request, path: MemoryPath, values: dict[str, Any], placed: Placed) -> OpsSpec:
    pattern = {name: value for name, value in values.items() if name != "threads"}
    nodes = sorted({share.node for one in placed.values() for share in one.nodes})
    common, *_ = placed.values()
    fields = {
        **common_fields(request, path),
        "target": "node:" + ",".join(map(str, nodes)),
        "cpus": path.cpus[: values["threads"]],
        "placement": common,
        "parts": {part: where for part, where in placed.items() if where != common},
        "pattern": pattern,
    }
    parts = [pattern["structure"], pattern["operation"], path.names[0]]
    parts += [f"{part}-{where_of(where)}" for part, where in placed.items()]
    parts += [f"t{values['threads']}", grammar.format_size(pattern["keys"])]
    parts += id_parts(OpsPattern, pattern, "structure", "operation", "keys")
    return spec_of(request, OpsSpec, fields, [*parts, *path.placed_as(request)])


REQUEST = RequestForm(
    options=(
        *options_of(OpsPattern, "pages", "sample_every"),
        options.FROM,
        Option(
            "place",
            "PLACEMENTS",
            "all: each part on each node of --to; or inner=node:0,leaves=node:2; several with ;",
            "all",
        ),
        options.to_of(OpsSpec).but(
            help="Nodes for --place all: node:0, node:0,2@3:1 (interleaved), node:*",
            default="node:*",
        ),
        options.THREADS,
        options.PIN,
        *options_for(OpsPattern, "pages", "sample_every"),
        options.PREFETCHERS,
        *options.SAMPLING,
    ),
    expand=expand,
    help="""\
A data structure is built with each of its parts on a node (btree: inner, leaves; hash: tags,
entries; string-btree and string-hash: the same and strings; column: column, positions; relations:
build, probe, table, copies, output; runs: runs, output; lsm: filters, fences, level0 to level3),
and threads look up, insert, update, scan, filter, join, merge or sort. Without --place, every
placement of every part over the nodes with memory is measured and shown as one table.

Threads that insert or update have an index of their own each, with their share of the keys, or
share one (--sharing shared). Those of churn (half lookups, a quarter each insertions and deletions)
and of YCSB's core workloads (ycsb-a to ycsb-f) always share one.

Without options, ops measures structures and operations beside each other, in about a minute, and
says which of them tolerate slower memory.""",
    examples=(
        "ops",
        "ops --structure btree,hash --keys 4m",
        "ops --op ycsb-a,ycsb-b,ycsb-e --keys 32m --threads 1..all*2",
        "ops --keys 32m --place inner=node:0,leaves=node:2 --threads 1..all*2",
        "ops --op lookup,scan --distribution uniform,zipf --interleave 1..32*2",
        "ops --structure hash --op lookup,insert --to node:0,node:2",
        "ops --keys file:keys.bin",
        "ops --structure column --keys 256m --selectivity 0,1%,50%,100% --found positions,count",
        "ops --structure relations --keys 16m --partitions 1,256 --place table=node:2",
        "ops --structure runs,lsm --keys 16m",
        "ops --structure runs --op sort --keys 16m --runs 8,64",
        "ops --op lookup,scan --build bulk,aged --keys 4m",
    ),
)
