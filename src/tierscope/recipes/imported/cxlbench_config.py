"""A case's ``config`` in CXL-Bench's results, in the words of this program.

Its branches name keys differently: ``m0_region_size`` was ``memory_region_size`` until June 2024,
``flush_instruction`` became ``cache_instruction``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tierscope.kinds.chain.grammar import format_chain, parse_chains
from tierscope.model.errors import UserError
from tierscope.recipes.imported.build import UNKNOWN
from tierscope.recipes.imported.source import Entry

_UNSET = (18446744073709551615, -1)
"""What an optional number reads that is not set."""
_CACHES = {"cache": "clwb", "write-back": "clwb", "flush": "clflush", "flush-opt": "clflushopt",
           "nocache": "nt"}  # fmt: skip
"""Cache instructions as operations and mixes here name them."""
_OPERATIONS = {"stream-read": "read-nt", "stream-write": "write-nt"}
_ORDERS = {"sequential": "sequential", "sequential_desc": "reverse"}
_HUGETLB = {0: "base", 2 << 20: "2m", 512 << 20: "512m", 1 << 30: "1g"}
CHASES = ("dependent_reads",)
TIMED = ("latency", "sequential_latency", "random_latency")
"""Modes of adms25 and vldb25 that time single accesses."""


@dataclass(frozen=True)
class Region:
    """One of the two memory regions of a case."""

    target: str
    """As endpoints are written; ``unknown`` where no nodes are named."""
    size: int
    pages: str
    policy: str | None
    """None on one node."""
    split: str | None
    """Of a region in two partitions that are no two nodes: what the first one is."""


def region_of(config: Entry, number: int) -> Region:
    """Return region 0 or 1; raises UserError, with the key."""
    old = {0: "", 1: "secondary_"}[number]
    new = f"m{number}_"
    names = {
        "nodes": (f"{new}numa_nodes", f"{old}numa_memory_nodes"),
        "size": (f"{new}region_size", f"{old}memory_region_size"),
        "thp": (f"{new}transparent_huge_pages", f"{old}transparent_huge_pages"),
        "hugetlb": (f"{new}explicit_hugepages_size", f"{old}explicit_hugepages_size"),
        "share": (f"{new}percentage_pages_first_partition", f"{old}percentage_pages_first_node"),
        "first": (f"{new}node_count_first_partition", ""),
    }
    key = {word: next((n for n in known if n in config.values), known[0])
           for word, known in names.items()}  # fmt: skip
    nodes = config.counts(key["nodes"])
    weights = config.counts(f"{new}numa_node_weights")
    share = config.values.get(key["share"])
    device = config.values.get(f"{new}device_path")
    hugetlb = config.count(key["hugetlb"], 0)
    thp = config.values.get(key["thp"]) is True
    split = None
    policy = "weighted" if weights else "interleave" if len(nodes) > 1 else None
    if isinstance(share, int) and share not in _UNSET and len(nodes) > 1:
        policy = "partition"
        if len(nodes) == 2 and 0 < share < 100:
            weights = [share, 100 - share]
        else:
            first = config.values.get(key["first"])
            split = f"{share}% on the first {1 if first in (None, *_UNSET) else first} nodes"
    target = _target(nodes, weights if len(weights) == len(nodes) else [], device)
    pages = _HUGETLB.get(hugetlb, f"{hugetlb} bytes") if hugetlb else "thp" if thp else "base"
    return Region(target, config.count(key["size"], 0), pages, policy, split)


def _target(nodes: Sequence[int], weights: Sequence[int], device: Any) -> str:
    if not nodes:
        return f"dax:{device}" if isinstance(device, str) and device else UNKNOWN
    shares = f"@{':'.join(map(str, weights))}" if weights else ""
    return f"node:{','.join(map(str, nodes))}{shares}"


def initiator_of(config: Entry) -> str:
    """Return the CPUs: of nodes, or that they are listed.

    A sweep over threads lists other CPUs at each step, and is a sweep of one path all the same;
    the lists are the measurements' ``cpus``.
    """
    if nodes := config.counts("numa_task_nodes"):
        return f"node:{','.join(map(str, nodes))}"
    return "listed CPUs" if config.counts("thread_cores") else UNKNOWN


def operation_of(config: Entry) -> str:
    """Return ``read``, ``write``, ``write-nt``, ``write-clwb`` and so on, or CXL-Bench's word."""
    operation = config.text("operation")
    cache = cache_of(config)
    if cache in ("none", "") or operation not in ("read", "write"):
        return _OPERATIONS.get(operation, operation)
    return f"{operation}-{_CACHES.get(cache, cache)}"


def cache_of(config: Entry) -> str:
    """Return the cache instruction in CXL-Bench's words."""
    return config.text("flush_instruction", config.text("cache_instruction", "none"))


def mix_of(config: Entry) -> str:
    """Return the operation as streams name it: 100:0, 0:100nt."""
    operation = operation_of(config)
    plain, _, stores = operation.partition("-")
    if plain == "read":
        return f"100:0{stores}"
    return f"0:100{stores}" if plain == "write" else operation


def order_of(config: Entry) -> str:
    """Return the order of accesses as patterns name it."""
    mode = config.text("exec_mode")
    if mode == "random" and config.text("random_distribution", "uniform") == "zipf":
        return "zipf"
    return _ORDERS.get(mode, "random" if mode in ("random", *CHASES) else mode)


def chain_of(config: Entry) -> str:
    """Return the custom operations as chains are written here; theirs where it cannot."""
    text = config.text("custom_operations")
    try:
        return format_chain(parse_chains(text)[0])
    except UserError:
        return text


def access_pattern(config: Entry) -> dict[str, Any]:
    """Return the pattern of a case that moves data, without its operation or mix."""
    region = region_of(config, 0)
    partitions = config.count("number_partitions", 1)
    alpha = config.values.get("zipf_alpha")
    order = order_of(config)
    return {
        "order": order,
        "zipf_alpha": float(alpha) if order == "zipf" and isinstance(alpha, float) else None,
        "access_size": config.count("access_size"),
        "sharing": f"{partitions} partitions" if partitions != 1 else None,
        "size": region.size,
        "pages": region.pages,
        "threads": config.count("number_threads"),
        **placed(region),
    }


def placed(region: Region) -> dict[str, Any]:
    """Return what patterns say of a region on several nodes."""
    return {"policy": region.policy, "split": region.split}
