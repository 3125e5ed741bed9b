"""The cases of workload files: matrix by arguments, and both parts of those that run together."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tierscope.model.errors import UserError
from tierscope.plans.expand import MAX_MEASUREMENTS
from tierscope.recipes.cxlbench.keys import DEFAULTS
from tierscope.recipes.cxlbench.workload import Benchmark, Part

_UNSET = (1 << 64) - 1
"""What its result files have for numbers that were not set."""
_OLDER_CACHE = {"write-back": "cache", "stream": "nocache"}


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

    def both(self, key: str) -> tuple[Any, Any]:
        """A key's values of the primary and of the secondary region."""
        return self.of[key], self.of[f"secondary_{key}"]

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
        """What the matrix gives; by part where two run together."""
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
    """How many cases a benchmark has: the product of its matrices' lengths."""
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
        for parts in itertools.product(*map(_values, benchmark.parts)):
            writer_first = len(parts) > 1 and parts[0].operation_writes()
            swapped = writer_first and not parts[1].operation_writes()
            yield RawCase(benchmark, parts[::-1] if swapped else parts)


def _values(part: Part) -> list[Values]:
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
