"""CXL-Bench's keys: the union of what its branches call them, their values and defaults.

Sizes are whole numbers with k, m or g behind them (powers of 1024). Where branches have two names
for one thing, both are read.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tierscope.model.errors import did_you_mean
from tierscope.plans.machine import GIB, MIB
from tierscope.plans.yaml_file import Place, scalar

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
OPERATIONS = {
    "read": "read",
    "r": "read",
    "write": "write",
    "w": "write",
    "stream-read": "stream-read",
    "sr": "stream-read",
    "stream-write": "stream-write",
    "sw": "stream-write",
    "compare-and-swap": "compare-and-swap",
    "fetch-and-add": "fetch-and-add",
    "memory-map-private": "memory-map-private",
    "memory-map-shared": "memory-map-shared",
    "memory-unmap-private": "memory-unmap-private",
    "memory-unmap-shared": "memory-unmap-shared",
}
CACHE = ("none", "cache", "nocache", "write-back", "flush", "flush-opt", "stream")
PIN_MODES = ("all-numa", "single-numa", "single-fixed")

Reader = Callable[[Place, Any, str], Any]
"""From a node and its key to a value; raises UserError with file and line."""


@dataclass(frozen=True)
class Key:
    """One key."""

    name: str
    read: Reader
    default: Any
    aliases: tuple[str, ...] = ()


def _number(place: Place, node: Any, key: str) -> int:
    text = scalar(place, node, key)
    if not (text.isascii() and text.isdigit() and len(text) <= 20 and int(text) <= _MOST):
        raise place.error(node, f"key '{key}': '{text}' is no whole number from 0 on")
    return int(text)


def _size(place: Place, node: Any, key: str) -> int:
    text = scalar(place, node, key)
    match = _SIZE.fullmatch(text)
    value = int(match[1]) * _FACTORS[match[2].lower()] if match else -1
    if not 0 <= value <= _MOST:
        raise place.error(node, f"key '{key}': '{text}' is no size such as 64, 4k, 16M or 10G")
    return value


def _fraction(place: Place, node: Any, key: str) -> float:
    text = scalar(place, node, key)
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 10:
        raise place.error(node, f"key '{key}': '{text}' is no number above 0, up to 10")
    return value


def _yes(place: Place, node: Any, key: str) -> bool:
    text = scalar(place, node, key)
    if text not in _YES and text not in _NO:
        raise place.error(node, f"key '{key}': '{text}' is neither true nor false")
    return text in _YES


def _numbers(place: Place, node: Any, key: str) -> tuple[int, ...]:
    from ruamel.yaml.nodes import SequenceNode

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
                f"key '{key}': '{word.strip()}' is no operation such as r_64, m1_r_1024, "
                "w_64_none or w_64_cache_-512",
            )
    return text


_KEYS = (
    Key("memory_region_size", _size, 10 * GIB),
    Key("secondary_memory_region_size", _size, 0),
    Key("numa_memory_nodes", _numbers, ()),
    Key("secondary_numa_memory_nodes", _numbers, ()),
    Key("numa_memory_node_weights", _numbers, ()),
    Key("secondary_numa_memory_node_weights", _numbers, ()),
    Key("device_path", scalar, ""),
    Key("secondary_device_path", scalar, ""),
    Key("region_offset", _size, 0),
    Key("secondary_region_offset", _size, 0),
    Key("transparent_huge_pages", _yes, False),
    Key("secondary_transparent_huge_pages", _yes, False),
    Key("explicit_hugepages_size", _size, 0),
    Key("secondary_explicit_hugepages_size", _size, 0),
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
"""By every name."""
DEFAULTS: dict[str, Any] = {key.name: key.default for key in _KEYS}
NEWER = frozenset(
    {"cache_instruction", "min_io_batch_size", "device_path", "region_offset", "replications",
     "generate_read_data", "secondary_device_path", "secondary_region_offset"}
)  # fmt: skip
"""Names that only the newer branches have, whose results use them, too."""
