"""What operations of databases wait for: loads and lines of each part of a structure.

Both are upper bounds that follow from how a structure is made (docs/database-operations.md). Loads
that need what another one returns wait for it; those of a node's keys do not wait for each other.
"""

import math
from collections.abc import Iterator

from tierscope.analysis.whatif import Level, Range, Work, range_of, small_id, visits_of
from tierscope.kinds.ops.spec import (
    AGED_FILL,
    STRUCTURES,
    OpsPattern,
    OpsSpec,
    inner_levels,
    is_shared,
    level_keys,
)
from tierscope.model.errors import counted
from tierscope.model.run import Measurement
from tierscope.model.spec import CACHE_LINE, MeasurementSpec
from tierscope.plans.grammar import format_size

_ENTRY = 16
_ROW = _ENTRY / CACHE_LINE
"""Lines that a key with its value takes, of those gone over in order."""
_WRITTEN = 2
"""Lines moved for one that is written: it is fetched, and written back."""
_BLOCK = 4096
_WRITES = ("filter", "join", "merge", "sort")
_CHANGED: dict[str, tuple[float, float]] = {
    "update": (1.0, 0.0),
    "insert": (0.0, 1.0),
    "churn": (0.0, 0.5),
    "ycsb-a": (0.5, 0.0),
    "ycsb-b": (0.05, 0.0),
    "ycsb-d": (0.0, 0.05),
    "ycsb-e": (0.0, 0.05),
    "ycsb-f": (0.5, 0.0),
}
"""Of operations on indexes, the share that changes a value, and that inserts or deletes a key."""


def work_of(measurement: Measurement) -> Work | None:
    """Return the work of one; None where parts are on several nodes, or nodes are interleaved."""
    pattern = measurement.pattern
    parts = STRUCTURES[pattern["structure"]].parts
    if len({pattern[f"on_{part}"] for part in parts}) > 1 or "," in measurement.target:
        return None
    threads = int(pattern["threads"])
    fields = {key: pattern[key] for key in OpsPattern.model_fields if key in pattern}
    given = OpsPattern.model_validate(fields)
    return Work(
        measurement=measurement,
        name=_name(given, threads),
        streams=threads,
        time=range_of(measurement).map(lambda rate: threads * 1e9 / rate),
        visits=visits_of([*_LEVELS[given.structure](given, threads)]),
        size=sum(_part_bytes(given, threads)),
        pages=given.pages,
        writes=given.operation in (*_WRITES, *_CHANGED),
        skewed=given.distribution != "uniform",
    )


def _name(pattern: OpsPattern, threads: int) -> str:
    words = [
        f"{pattern.structure} {pattern.operation}",
        f"{format_size(pattern.keys)} keys",
        "" if pattern.distribution == "uniform" else str(pattern.distribution),
        "shared" if pattern.sharing == "shared" else "",
        "aged" if pattern.build == "aged" else "",
        f"{pattern.interleave} interleaved" if pattern.interleave > 1 else "",
        f"{pattern.partitions} partitions" if (pattern.partitions or 1) > 1 else "",
        counted(threads, "thread"),
    ]
    return ", ".join(filter(None, words))


def in_caches(spec: MeasurementSpec, size: int) -> MeasurementSpec | None:
    """Return the same operation on as many keys, a power of two, as fit so many bytes."""
    assert isinstance(spec, OpsSpec)
    if spec.pattern.keys_file:
        return None
    keys = 1 << (spec.pattern.keys.bit_length() - 1)
    while keys >= spec.fewest_keys:
        pattern = spec.pattern.model_copy(update={"keys": keys})
        fits = sum(_part_bytes(pattern, len(spec.cpus))) <= size
        if fits:
            small = spec.model_copy(update={"pattern": pattern, "id": small_id(spec.id)})
            return OpsSpec.model_validate(small.model_dump()) if _enough(pattern) else None
        keys //= 2
    return None


def _enough(pattern: OpsPattern) -> bool:
    return pattern.structure != "lsm" or all(level_keys(pattern))


def cached_time(work: Work, small: Work | None) -> Range | None:
    """Return the time in caches; of a tree of more levels, longer by as many loads as it has."""
    if small is None:
        return None
    longer = _loads(work) / _loads(small)
    return small.time.map(lambda ns: ns * longer)


def _loads(work: Work) -> float:
    return sum(one.loads for one in work.visits)


def _part_bytes(pattern: OpsPattern, threads: int) -> tuple[int, ...]:
    return STRUCTURES[pattern.structure].part_bytes(pattern, threads)


def _btree(pattern: OpsPattern, threads: int) -> Iterator[Level]:
    """Of a node the keys are compared, then a child or a value is read."""
    assert pattern.inner_node
    assert pattern.leaf_node
    leaves = _part_bytes(pattern, threads)[1]
    for nodes in inner_levels(pattern, threads):
        lines = pattern.inner_node / CACHE_LINE
        yield Level("inner", 2, lines, nodes * pattern.inner_node)
    lines = pattern.leaf_node / CACHE_LINE
    aged = pattern.build == "aged"
    further = _scanned(pattern) * _ENTRY / pattern.leaf_node / (AGED_FILL if aged else 1)
    changed, moved = _CHANGED.get(pattern.operation, (0.0, 0.0))
    yield Level("leaves", 2, lines + changed + moved * lines, leaves)
    yield Level("leaves", further, lines * 2 * further, leaves, in_order=not aged)


def _scanned(pattern: OpsPattern) -> float:
    """Return the entries that an operation goes over in order, of many operations the mean."""
    length = pattern.scan_length or 0
    return 0.95 * (1 + length) / 2 if pattern.operation == "ycsb-e" else length


def _hash(pattern: OpsPattern, threads: int) -> Iterator[Level]:
    """A group's tags, and an entry; of a group's entries the first line is prefetched, too. Of an
    index that is shared, a group's version is beside its tags."""
    tags, entries = _part_bytes(pattern, threads)[:2]
    changed, moved = _CHANGED.get(pattern.operation, (0.0, 0.0))
    locked = changed + moved if is_shared(pattern) else moved
    yield Level("tags", 1, 1 + locked, tags)
    yield Level("entries", 1, 2 + changed + moved, entries)


def _string_btree(pattern: OpsPattern, threads: int) -> Iterator[Level]:
    yield from _btree(pattern, threads)
    yield _string(pattern, threads)


def _string_hash(pattern: OpsPattern, threads: int) -> Iterator[Level]:
    yield from _hash(pattern, threads)
    yield _string(pattern, threads)


def _string(pattern: OpsPattern, threads: int) -> Level:
    """The key's own, which may lie on two lines; few others have the same tag or head."""
    return Level("strings", 1, 2, _part_bytes(pattern, threads)[-1])


def _column(pattern: OpsPattern, threads: int) -> Iterator[Level]:
    column, positions = _part_bytes(pattern, threads)
    lines = (pattern.key_bytes or 8) / CACHE_LINE
    yield Level("column", lines, lines, column, in_order=True)
    found = lines * (pattern.selectivity or 0.0) if pattern.found == "positions" else 0.0
    yield Level("positions", found, _WRITTEN * found, positions, in_order=True)


def _relations(pattern: OpsPattern, threads: int) -> Iterator[Level]:
    """Of a row of either relation; each is read once more where it is copied by partition."""
    build, probe, table, copies, output = _part_bytes(pattern, threads)
    ratio = pattern.probe_ratio or 1
    built, probed = 1 / (1 + ratio), ratio / (1 + ratio)
    matched = probed * (1 - (pattern.misses or 0.0))
    passes = 2 if (pattern.partitions or 1) > 1 else 1
    yield Level("build", passes * built * _ROW, passes * built * _ROW, build, in_order=True)
    yield Level("probe", passes * probed * _ROW, passes * probed * _ROW, probe, in_order=True)
    yield Level("table", 2, 2 * _WRITTEN * built + 3 * probed, table / (pattern.partitions or 1))
    if passes > 1:
        yield Level("copies", _ROW, _WRITTEN * _ROW, copies, in_order=True)
    yield Level("output", matched * _ROW, _WRITTEN * matched * _ROW, output, in_order=True)


def _runs(pattern: OpsPattern, threads: int) -> Iterator[Level]:
    runs, output = _part_bytes(pattern, threads)
    if pattern.operation == "sort":
        yield from _quicksort(runs / max(pattern.runs or 1, threads), threads)
    yield Level("runs", _ROW, _ROW, runs, in_order=True)
    yield Level("output", _ROW, _WRITTEN * _ROW, output, in_order=True)


def _quicksort(run: float, threads: int) -> Iterator[Level]:
    """Each thread goes over a run, then over each half of it, over each half of these..."""
    while run > _BLOCK:
        yield Level("runs", _ROW, _WRITTEN * _ROW, run * threads, in_order=True)
        run /= 2


def _lsm(pattern: OpsPattern, threads: int) -> Iterator[Level]:
    """A line of each level's filter down to the key's; there, fences and a block by halves."""
    filters, fences, *blocks = _part_bytes(pattern, threads)
    keys = level_keys(pattern)
    missing = pattern.misses or 0.0
    for level, here in enumerate(keys):
        deeper = sum(keys[level:]) / sum(keys)
        share = (1 - missing) * here / sum(keys)
        asked = missing + (1 - missing) * deeper
        yield Level("filters", asked, asked, filters * here / sum(keys))
        for half in range(_halves(fences * here / sum(keys))):
            yield Level("fences", share, share, CACHE_LINE * 2**half)
        steps = _halves(_BLOCK)
        yield Level(f"level{level}", share * steps, share * steps, blocks[level])


def _halves(size: float) -> int:
    """Return the lines that a binary search of so many bytes reads."""
    return max(1, 1 + math.ceil(math.log2(max(1.0, size / CACHE_LINE))))


_LEVELS = {
    "btree": _btree,
    "hash": _hash,
    "string-btree": _string_btree,
    "string-hash": _string_hash,
    "column": _column,
    "relations": _relations,
    "runs": _runs,
    "lsm": _lsm,
}
