"""CXL-Bench's workload files: keys, values and defaults, and the cases of a matrix.

Sizes are whole numbers with k, m or g behind them (powers of 1024). Where branches have two names
for one thing, both are read.
"""

import itertools
import math
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tierscope.model.endpoint import whole_number
from tierscope.model.errors import UserError, did_you_mean, shown
from tierscope.model.spec import HUGETLB
from tierscope.plans.expand import MAX_MEASUREMENTS
from tierscope.plans.grammar import as_float
from tierscope.plans.machine import GIB, MIB
from tierscope.plans.yaml_file import Place, compose, read_text, scalar

_SIZE = re.compile(r"(\d{1,19})([kKmMgG]?)", re.ASCII)
_FACTORS = {"": 1, "k": 1 << 10, "m": MIB, "g": GIB}
_MOST = (1 << 64) - 1
_YES = ("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y")
_NO = ("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N")
_CHAIN_WORD = re.compile(r"(m\d_)?[rw]_\d{1,9}(_[a-z-]+(_[+-]?\d{1,12})?)?", re.ASCII)

MODES = (
    "sequential", "sequential_desc", "random", "custom", "dependent_reads", "sequential_latency",
    "random_latency", "latency",
)  # fmt: skip
_NAMES = (
    "read", "write", "stream-read", "stream-write", "compare-and-swap", "fetch-and-add",
    "memory-map-private", "memory-map-shared", "memory-unmap-private", "memory-unmap-shared",
)  # fmt: skip
_SHORT = {"r": "read", "w": "write", "sr": "stream-read", "sw": "stream-write"}
OPERATIONS = {**{name: name for name in _NAMES}, **_SHORT}
CACHE = ("none", "cache", "nocache", "write-back", "flush", "flush-opt", "stream")
PERCENTILES = {"avg": "mean", "median": "p50", "percentile_90": "p90", "percentile_99": "p99",
               "percentile_999": "p99.9", "percentile_9999": "p99.99", "max": "max"}  # fmt: skip
"""Keys of latencies in its results, and the ends of tierscope's metrics."""
CHASES = ("dependent_reads",)
TIMED = ("latency", "sequential_latency", "random_latency")
"""Modes of adms25 and vldb25 that time single accesses."""
PAGES = {size: name for name, size in HUGETLB.items()}
"""Kinds of pages by the bytes of explicit_hugepages_size."""
PIN_MODES = ("all-numa", "single-numa", "single-fixed")

Reader = Callable[[Place, Any, str], Any]
"""Parses the YAML node of a key; raises UserError with file and line."""
NEWER = frozenset(
    {"cache_instruction", "min_io_batch_size", "device_path", "region_offset", "replications",
     "generate_read_data", "secondary_device_path", "secondary_region_offset"}
)  # fmt: skip
"""Names that only the newer branches have, whose results use them, too."""
_SECTIONS = ("matrix", "args", "parallel_benchmark")
_SUFFIXES = (".yaml", ".yml")
_OURS = "measurements"
_PARTS = 2
_UNSET = (1 << 64) - 1
"""Unset numbers in its result files."""
_OLDER_CACHE = {"write-back": "cache", "stream": "nocache"}


@dataclass(frozen=True)
class Key:
    """One key."""

    name: str
    read: Reader
    default: Any
    aliases: tuple[str, ...] = ()


def _number(place: Place, node: Any, key: str) -> int:
    text = scalar(place, node, key)
    number = whole_number(text)
    if number is None or number > _MOST:
        raise place.error(node, f"key '{key}': '{text}' is not a whole number from 0 on")
    return number


def _size(place: Place, node: Any, key: str) -> int:
    text = scalar(place, node, key)
    match = _SIZE.fullmatch(text)
    value = int(match[1]) * _FACTORS[match[2].lower()] if match else -1
    if not 0 <= value <= _MOST:
        raise place.error(node, f"key '{key}': '{text}' is not a size such as 64, 4k, 16M or 10G")
    return value


def _fraction(place: Place, node: Any, key: str) -> float:
    text = scalar(place, node, key)
    value = as_float(text)
    if not 0 < value <= 10:
        raise place.error(node, f"key '{key}': '{text}' is not a number above 0, up to 10")
    return value


def _yes(place: Place, node: Any, key: str) -> bool:
    text = scalar(place, node, key)
    if text not in _YES and text not in _NO:
        raise place.error(node, f"key '{key}': '{text}' is neither true nor false")
    return text in _YES


def _numbers(place: Place, node: Any, key: str) -> tuple[int, ...]:
    from yaml import SequenceNode

    if not isinstance(node, SequenceNode):
        raise place.error(
            node, f"key '{key}' has to be a list, as in [0, 1]; in a matrix a list of lists"
        )
    return tuple(_number(place, item, key) for item in node.value)


def _word(*allowed: str) -> Reader:
    def read(place: Place, node: Any, key: str) -> str:
        text = scalar(place, node, key)
        if text not in allowed:
            raise place.error(
                node,
                f"key '{key}': '{text}' is not one of {', '.join(allowed)}"
                f"{did_you_mean(text, allowed)}",
            )
        return text

    return read


def _operation(place: Place, node: Any, key: str) -> str:
    return OPERATIONS[_word(*OPERATIONS)(place, node, key)]


def _chain(place: Place, node: Any, key: str) -> str:
    text = scalar(place, node, key)
    for word in text.split(","):
        if not _CHAIN_WORD.fullmatch(word.strip()):
            raise place.error(
                node,
                f"key '{key}': '{word.strip()}' is not an operation such as r_64, m1_r_1024, "
                "w_64_none or w_64_cache_-512",
            )
    return text


def _of_region(prefix: str, size: int) -> tuple[Key, ...]:
    """Return the keys that say where a region is, and of how many bytes by default."""
    return (
        Key(f"{prefix}memory_region_size", _size, size),
        Key(f"{prefix}numa_memory_nodes", _numbers, ()),
        Key(f"{prefix}numa_memory_node_weights", _numbers, ()),
        Key(f"{prefix}device_path", scalar, ""),
        Key(f"{prefix}region_offset", _size, 0),
        Key(f"{prefix}transparent_huge_pages", _yes, False),
        Key(f"{prefix}explicit_hugepages_size", _size, 0),
    )


_KEYS = (
    *_of_region("", 10 * GIB),
    *_of_region("secondary_", 0),
    Key("percentage_pages_first_partition", _number, None, ("percentage_pages_first_node",)),
    Key("node_count_first_partition", _number, None),
    Key("generate_read_data", _yes, True),
    Key("number_partitions", _number, 1),
    Key("access_size", _size, 256),
    Key("min_io_chunk_size", _size, 64 * MIB, ("min_io_batch_size",)),
    Key("number_operations", _number, 100_000_000),
    Key("run_time", _number, 0),
    Key("number_threads", _number, 1),
    Key("replications", _number, 1),
    Key("zipf_alpha", _fraction, 0.9),
    Key("latency_sample_frequency", _number, 0),
    Key("exec_mode", _word(*MODES), "sequential"),
    Key("operation", _operation, "read"),
    Key("random_distribution", _word("uniform", "zipf"), "uniform"),
    Key("cache_instruction", _word(*CACHE), "none", ("flush_instruction",)),
    Key("custom_operations", _chain, ""),
    Key("numa_task_nodes", _numbers, ()),
    Key("thread_pin_mode", _word(*PIN_MODES), "all-numa"),
    Key("thread_cores", _numbers, ()),
)
KEYS: dict[str, Key] = {name: key for key in _KEYS for name in (key.name, *key.aliases)}
"""Keys by every name."""
DEFAULTS: dict[str, Any] = {key.name: key.default for key in _KEYS}


@dataclass(frozen=True)
class Part:
    """A matrix and the values common to its cases."""

    name: str
    args: dict[str, Any]
    """Values by the key's name, without aliases."""
    matrix: dict[str, list[Any]]
    """In the file's order; the last one varies fastest. It goes before ``args``."""
    newer: bool
    """The file uses names of the newer branches."""


@dataclass(frozen=True)
class Benchmark:
    """A benchmark: one part, or two that run at the same time."""

    file: str
    line: int
    name: str
    parts: tuple[Part, ...]

    @property
    def parallel(self) -> bool:
        """Whether two parts run at the same time."""
        return len(self.parts) > 1


@dataclass
class Workload:
    """Benchmarks of one or several files."""

    benchmarks: list[Benchmark] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """Ambiguities and their reading, each with file and line."""


def is_workload(text: str | None, path: Path) -> bool:
    """Whether a plan's text is CXL-Bench's: None of a folder, or YAML whose top is a mapping
    without ``measurements``. Raises UserError for what is no YAML."""
    from yaml import MappingNode

    if text is None:
        return True
    root = compose(text, shown(path))
    return isinstance(root, MappingNode) and not _is_ours(root)


def read_folder(path: Path) -> Workload:
    """Read all ``*.yaml`` below a folder; raises UserError with file and line."""
    found = Workload()
    files = sorted(
        Path(folder) / name
        for folder, _, names in os.walk(path)
        for name in names
        if name.endswith(_SUFFIXES)
    )
    if not files:
        raise UserError(f"{shown(path)}: the folder has no *.yaml, which workloads are")
    for file in files:
        parse_workload(read_text(file, "workload"), shown(file), found)
    return found


def parse_workload(text: str, path: str, into: Workload | None = None) -> Workload:
    """Parse a file's text; ``path`` names it in errors and cases. Raises UserError."""
    from yaml import MappingNode

    found = Workload() if into is None else into
    root = compose(text, path)
    if root is None:
        raise UserError(f"{path}:1: the file is empty; a workload has benchmarks by name")
    place = Place(path)
    if not isinstance(root, MappingNode) or not root.value:
        raise place.error(root, "a workload has to be a mapping of benchmarks by name")
    if _is_ours(root):
        raise place.error(root, f"a plan of tierscope's ({_OURS}) stands among workloads")
    names: dict[str, int] = {}
    for key_node, body in root.value:
        name, line = scalar(place, key_node, "name of a benchmark"), _line(key_node)
        if name in names:
            found.remarks.append(
                f"{path}:{line}: benchmark '{name}' stands in line {names[name]}, too; both are run"
            )
        names[name] = line
        parts = _parts(place, name, body, found)
        found.benchmarks.append(Benchmark(path, line, name, parts))
    return found


def _is_ours(root: Any) -> bool:
    return any(getattr(key, "value", None) == _OURS for key, _ in root.value)


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1


def _parts(place: Place, name: str, body: Any, found: Workload) -> tuple[Part, ...]:
    what = f"benchmark '{name}'"
    sections = _sections(place, body, what, _SECTIONS, found)
    if "parallel_benchmark" not in sections:
        return (_part(place, name, sections, found),)
    if len(sections) > 1:
        raise place.error(body, f"{what}: matrix and args stand inside parallel_benchmark's parts")
    within = sections["parallel_benchmark"]
    pairs = _pairs(place, within, f"parallel_benchmark of {what}")
    names = [scalar(place, key, "name of a part") for key, _ in pairs]
    if len(pairs) != _PARTS or len(set(names)) != _PARTS:
        raise place.error(
            within, f"{what}: parallel_benchmark has {len(pairs)} parts; it takes two, named apart"
        )
    parts = []
    for part_name, (_, part_body) in zip(names, pairs, strict=True):
        of = f"part '{part_name}' of {what}"
        made = _sections(place, part_body, of, ("matrix", "args"), found)
        parts.append(_part(place, part_name, made, found))
    return tuple(parts)


def _sections(
    place: Place, body: Any, what: str, allowed: tuple[str, ...], found: Workload
) -> dict[str, Any]:
    from yaml import MappingNode

    if not isinstance(body, MappingNode) or not body.value:
        raise place.error(
            body,
            f"{what} has to be a mapping with {', '.join(allowed)}, as in CXL-Bench's workloads; "
            f"a plan of tierscope's has the key '{_OURS}'",
        )
    sections: dict[str, Any] = {}
    for key_node, value in body.value:
        key = scalar(place, key_node, "key")
        if key not in allowed:
            raise place.unknown_key(key_node, what, allowed)
        if key in sections:
            found.remarks.append(
                f"{place.path}:{_line(key_node)}: '{key}' of {what} is given twice; the first "
                "counts, as in CXL-Bench"
            )
            continue
        sections[key] = value
    return sections


def _pairs(place: Place, node: Any, what: str) -> list[tuple[Any, Any]]:
    """A mapping's keys and values; nothing of one that is empty."""
    from yaml import MappingNode, ScalarNode

    if isinstance(node, ScalarNode) and not node.value:
        return []
    if not isinstance(node, MappingNode):
        raise place.error(node, f"{what} has to be a mapping")
    return list(node.value)


def _part(place: Place, name: str, sections: dict[str, Any], found: Workload) -> Part:
    args: dict[str, Any] = {}
    matrix: dict[str, list[Any]] = {}
    written: set[str] = set()
    if "args" in sections:
        for key, word, node, first in _keys(place, sections["args"], "args"):
            if first is not None:
                raise place.error(
                    node[0], f"key '{word}' is given in line {first} already; CXL-Bench refuses it"
                )
            written.add(word)
            args[key] = KEYS[word].read(place, node[1], word)
    if "matrix" in sections:
        for key, word, node, first in _keys(place, sections["matrix"], "matrix"):
            if first is not None:
                found.remarks.append(
                    f"{place.path}:{_line(node[0])}: key '{word}' of the matrix is given in line "
                    f"{first}, too; the last one counts (CXL-Bench repeats its cases for each "
                    "value of the first)"
                )
            written.add(word)
            matrix[key] = _values(place, node[1], word)
    return Part(name, args, matrix, newer=bool(written & NEWER))


def _keys(place: Place, node: Any, section: str) -> Any:
    """Yield name, word, nodes and the line where the key stood before, if it did."""
    lines: dict[str, int] = {}
    for key_node, value in _pairs(place, node, f"'{section}'"):
        word = scalar(place, key_node, "key")
        if word not in KEYS:
            raise place.error(
                key_node,
                f"unknown key '{word}' in '{section}'{did_you_mean(word, tuple(KEYS))}; "
                "docs/cxl-bench.md lists the keys of CXL-Bench",
            )
        name = KEYS[word].name
        yield name, word, (key_node, value), lines.get(name)
        lines[name] = _line(key_node)


def _values(place: Place, node: Any, word: str) -> list[Any]:
    from yaml import SequenceNode

    if not isinstance(node, SequenceNode) or not node.value:
        raise place.error(
            node, f"key '{word}' of a matrix has to be a list with at least one value"
        )
    return [KEYS[word].read(place, item, word) for item in node.value]


@dataclass(frozen=True)
class Values:
    """All keys of one part of a case, by name."""

    name: str
    of: dict[str, Any]
    varied: dict[str, Any]
    """Those of them that the matrix gives."""
    newer: bool

    def __getitem__(self, key: str) -> Any:
        return self.of[key]

    def operation_writes(self) -> bool:
        """Whether it writes, as CXL-Bench asks it of parts that run together."""
        return self.of["operation"] == "write" or "w_" in self.of["custom_operations"]


@dataclass(frozen=True)
class RawCase:
    """One case as the file has it."""

    benchmark: Benchmark
    parts: tuple[Values, ...]
    """Where two run together and one of them writes, it comes last, as in CXL-Bench's results."""

    @property
    def matrix(self) -> dict[str, Any]:
        """Values of the matrix; by part where two run together."""
        if not self.benchmark.parallel:
            return _as_json(self.parts[0].varied)
        return {part.name: _as_json(part.varied) for part in self.parts}

    @property
    def config(self) -> dict[str, Any]:
        """All settings as CXL-Bench's own result files name them."""
        if not self.benchmark.parallel:
            return config_of(self.parts[0])
        return {part.name: config_of(part) for part in self.parts}


def count_cases(benchmark: Benchmark) -> int:
    """Return the number of cases of a benchmark: the product of its matrices' lengths."""
    return math.prod(len(values) for part in benchmark.parts for values in part.matrix.values())


def expand(benchmarks: list[Benchmark]) -> Iterator[RawCase]:
    """Yield all cases in the order of the files; raises UserError where they are too many."""
    total = 0
    for benchmark in benchmarks:
        total += count_cases(benchmark)
        if total > MAX_MEASUREMENTS:
            raise UserError(
                f"{benchmark.file}:{benchmark.line}: '{benchmark.name}' makes more than "
                f"{MAX_MEASUREMENTS} cases of it all; give fewer files or values"
            )
    for benchmark in benchmarks:
        for parts in itertools.product(*map(_cases_values, benchmark.parts)):
            writer_first = len(parts) > 1 and parts[0].operation_writes()
            swapped = writer_first and not parts[1].operation_writes()
            yield RawCase(benchmark, parts[::-1] if swapped else parts)


def _cases_values(part: Part) -> list[Values]:
    common = {**DEFAULTS, **part.args}
    found = []
    for chosen in itertools.product(*part.matrix.values()):
        varied = dict(zip(part.matrix, chosen, strict=True))
        found.append(Values(part.name, {**common, **varied}, varied, part.newer))
    return found


def _as_json(values: dict[str, Any]) -> dict[str, Any]:
    return {key: list(v) if isinstance(v, tuple) else v for key, v in values.items()}


def config_of(values: Values) -> dict[str, Any]:
    """Return the settings as CXL-Bench writes them into its results: names and types.

    The names are those of the branch that the file is written for.
    """
    found: dict[str, Any] = {}
    for number, prefix in enumerate(("", "secondary_")):
        found |= _region(values, prefix, f"m{number}_")
    mode, newer = values["exec_mode"], values.newer
    found["exec_mode"] = mode
    found["min_io_batch_size" if newer else "min_io_chunk_size"] = values["min_io_chunk_size"]
    for key in ("number_threads", "thread_pin_mode"):
        found[key] = values[key]
    for key in ("numa_task_nodes", "thread_cores"):
        found[key] = list(values[key])
    if newer:
        found["cache_instruction"] = values["cache_instruction"]
        found["generate_read_data"] = values["generate_read_data"]
    else:
        found["number_partitions"] = values["number_partitions"]
    if mode == "custom":
        found["number_operations"] = values["number_operations"]
        found["custom_operations"] = _chain_text(values["custom_operations"])
    else:
        found["access_size"] = values["access_size"]
        found["operation"] = values["operation"]
        if not newer and values["operation"] == "write":
            cache = values["cache_instruction"]
            found["flush_instruction"] = _OLDER_CACHE.get(cache, cache)
    if mode == "random":
        found["number_operations"] = values["number_operations"]
        found["random_distribution"] = values["random_distribution"]
        if values["random_distribution"] == "zipf":
            found["zipf_alpha"] = values["zipf_alpha"]
    if mode == "custom" or mode.endswith("latency"):
        found["latency_sample_frequency"] = values["latency_sample_frequency"]
    if values["run_time"]:
        found["run_time"] = values["run_time"]
    return found


def _region(values: Values, prefix: str, name: str) -> dict[str, Any]:
    found = {
        f"{name}explicit_hugepages_size": values[f"{prefix}explicit_hugepages_size"],
        f"{name}region_size": values[f"{prefix}memory_region_size"],
        f"{name}numa_nodes": list(values[f"{prefix}numa_memory_nodes"]),
        f"{name}transparent_huge_pages": values[f"{prefix}transparent_huge_pages"],
    }
    for key in ("percentage_pages_first_partition", "node_count_first_partition"):
        given = None if prefix else values[key]
        found[f"{name}{key}"] = _UNSET if given is None else given
    if values.newer:
        found[f"{name}device_path"] = values[f"{prefix}device_path"]
        found[f"{name}offset"] = values[f"{prefix}region_offset"]
    else:
        found[f"{name}numa_node_weights"] = list(values[f"{prefix}numa_memory_node_weights"])
    return found


def _chain_text(text: str) -> str:
    """Name the region of each operation, as its results do; a write's is that of the one before."""
    words, region = [], "m0"
    for word in (each.strip() for each in text.split(",")):
        if word.startswith("m"):
            region, _, word = word.partition("_")
        elif not word.startswith("w"):
            region = "m0"
        words.append(f"{region}_{word}")
    return ",".join(words)
