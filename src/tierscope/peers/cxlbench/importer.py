"""Import CXL-Bench's results: an array of benchmarks, each case with its ``config``.

Its branches name keys differently: ``m0_region_size`` was ``memory_region_size`` until June 2024,
``flush_instruction`` became ``cache_instruction``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from tierscope.kinds.chain.spec import format_chain
from tierscope.model.errors import UserError
from tierscope.model.run import Case, Reported
from tierscope.peers.cxlbench.operations import custom_operations
from tierscope.peers.cxlbench.workload import CHASES, PAGES, PERCENTILES, TIMED
from tierscope.peers.importing import UNKNOWN, Entry, Found, Source
from tierscope.plans.machine import GIB

_UNSET = (18446744073709551615, -1)
"""Values of unset optional numbers."""
_CACHES = {"cache": "clwb", "write-back": "clwb", "flush": "clflush", "flush-opt": "clflushopt",
           "nocache": "nt"}  # fmt: skip
"""Cache instructions as operations and mixes here name them."""
_OPERATIONS = {"stream-read": "read-nt", "stream-write": "write-nt"}
_ORDERS = {"sequential": "sequential", "sequential_desc": "reverse"}
_RENAMED = {
    "memory_region_size": "m0_region_size",
    "numa_memory_nodes": "m0_numa_nodes",
    "numa_memory_node_weights": "m0_numa_node_weights",
    "secondary_memory_region_size": "m1_region_size",
    "secondary_numa_memory_nodes": "m1_numa_nodes",
    "secondary_numa_memory_node_weights": "m1_numa_node_weights",
}
"""Keys of workload files whose results have another name."""
_SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
_MAX_PROGRAMS = 3


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
    """The first of two partitions that are not one node each."""


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
    pages = PAGES.get(hugetlb, f"{hugetlb} bytes") if hugetlb else "thp" if thp else "base"
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
        return format_chain(custom_operations(text))
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
    """Return the pattern's keys for a region on several nodes."""
    return {"policy": region.policy, "split": region.split}


def recognises(source: Source) -> bool:
    """Whether a file is one of CXL-Bench's results."""
    found = source.document
    first = found[0] if isinstance(found, list) and found else None
    return isinstance(first, dict) and "bm_name" in first


def read(
    sources: Sequence[Source], _ends: tuple[str, str] | None = None, _clock: str | None = None
) -> Found:
    """Return the cases of the files; raises UserError, with file and key, for damaged ones."""
    found = Found("CXL-Bench", cases=[])
    hosts: dict[str, None] = {}
    programs: dict[str, None] = {}
    for source in sources:
        source.check("cxlbench")
        document = source.json
        if not isinstance(document, list):
            source.fail("not the array of benchmarks that CXL-Bench writes")
        for number, value in enumerate(document):
            entry = Entry.of(source, value, f"[{number}]")
            hosts[entry.text("hostname", "")] = None
            programs[_program(entry)] = None
            _add_entry(found, entry, number)
    named = [host for host in hosts if host]
    found.host = ", ".join(named) or found.host
    found.program = "; ".join(list(programs)[:_MAX_PROGRAMS]) or found.program
    return found


def _program(entry: Entry) -> str:
    commit = entry.text("git_hash", "")[:12]
    compiler = entry.text("compiler", "")
    return " ".join(filter(None, ("CXL-Bench", commit, f"({compiler})" if compiler else "")))


def _add_entry(found: Found, entry: Entry, number: int) -> None:
    name = entry.text("bm_name")
    cases = entry.values.get("benchmarks")
    if not isinstance(cases, list):
        entry.fail("benchmarks", "not a list of cases")
    about = {key: value for key, value in entry.values.items() if key != "benchmarks"}
    for place, value in enumerate(cases):
        case = Entry.of(entry.source, value, f"{entry.where}.benchmarks[{place}]")
        config, results = case.below("config"), case.below("results")
        parts = _parts(entry, config)
        ids, refused = _measured(found, name, config, results, parts)
        assert found.cases is not None
        found.cases.append(
            Case(
                file=entry.source.name,
                benchmark=name,
                matrix=_matrix(entry, config, parts),
                config=config.values,
                measurements=ids,
                refused=refused,
                notes=_notes(config, parts),
                reported=Reported(entry=number, about=about, results=results.values),
            )
        )


def _parts(entry: Entry, config: Entry) -> list[str]:
    """Return the names of concurrent parts; none for a single benchmark."""
    if entry.text("bm_type", "single") != "parallel":
        return []
    names = [str(name) for name in config.values]
    if len(names) != 2:
        config.fail("", f"a parallel benchmark has two parts, not {len(names)}")
    return names


def _matrix(entry: Entry, config: Entry, parts: list[str]) -> dict[str, Any]:
    """Return the varied values."""
    varied = entry.values.get("matrix_args", [])
    if parts:
        by_part = varied if isinstance(varied, dict) else {}
        return {
            part: _values(by_part.get(part), config.below(part))
            for part in by_part
            if part in parts
        }
    return _values(varied, config)


def _values(varied: Any, config: Entry) -> dict[str, Any]:
    names = [str(name) for name in varied] if isinstance(varied, list) else []
    return {
        name: config.values.get(name, config.values.get(_RENAMED.get(name, name))) for name in names
    }


def _notes(config: Entry, parts: list[str]) -> list[str]:
    return [
        f"{one.where.rpartition('.')[2]}: CXL-Bench chases within {chunk} bytes at a time, not "
        f"over the {size} of the region"
        for one in ([config.below(part) for part in parts] or [config])
        if one.values.get("exec_mode") in CHASES
        and (chunk := one.count("min_io_chunk_size", one.count("min_io_batch_size", 0)))
        < (size := region_of(one, 0).size)
        and chunk
    ]


def _measured(
    found: Found, name: str, config: Entry, results: Entry, parts: list[str]
) -> tuple[list[str], str]:
    """Add the measurements of a case; return their ids, or why there are none."""
    if not parts:
        return _single(found, name, config, results, "")
    configs = [config.below(part) for part in parts]
    reported = [results.below(part).below("results") for part in parts]
    chases = [one.values.get("exec_mode") in CHASES for one in configs]
    if chases.count(True) == 1:
        at = chases.index(True)
        return [_loaded(found, name, configs, reported, at)], ""
    ids: list[str] = []
    why = ""
    for number, part in enumerate(parts):
        other = f"{parts[1 - number]}: {_in_words(configs[1 - number])}"
        own = _single(found, f"{name}.{part}", configs[number], reported[number], other)
        ids, why = [*ids, *own[0]], why or own[1]
    return ids, "" if ids else why


def _in_words(config: Entry) -> str:
    """Describe the concurrent part: ``node:0 → node:1, write by 8, random``."""
    custom = config.values.get("exec_mode") == "custom"
    what = chain_of(config) if custom else mix_of(config)
    order = "" if custom else f", {order_of(config)}"
    path = f"{initiator_of(config)} → {region_of(config, 0).target}"
    return f"{path}, {what} by {config.count('number_threads')}{order}"


def _single(
    found: Found, name: str, config: Entry, results: Entry, beside: str
) -> tuple[list[str], str]:
    mode = config.text("exec_mode")
    path = (initiator_of(config), region_of(config, 0).target)
    cpus = config.counts("thread_cores")
    also = {"beside": beside} if beside else {}
    if mode == "custom":
        figures = list(_percentiles(results))
        rate = ("operations", results.number("ops_per_second"))
        pattern = {**_chain(config), **also}
        return [found.add("chain", name, path, pattern, rate, figures, cpus)], ""
    if config.text("operation").startswith("memory-"):
        return [], f"{config.text('operation')}: tierscope has no figure like it"
    if mode in CHASES or mode in TIMED:
        times = _times(results) if mode in TIMED else None
        latency = median(times) if times else results.number("thread_op_latency_avg")
        figures = list(_of_samples(times)) if times else []
        pattern = {**_chase(config), **also}
        return [found.add("latency", name, path, pattern, ("latency", latency), figures, cpus)], ""
    rate = ("bandwidth", results.number("bandwidth") * GIB)
    kind, what = ("traffic", {"mix": mix_of(config)}) if beside else (
        "bandwidth", {"operation": operation_of(config)}
    )  # fmt: skip
    pattern = {**what, **access_pattern(config), **also}
    return [found.add(kind, name, path, pattern, rate, (), cpus)], ""


def _chain(config: Entry) -> dict[str, Any]:
    region, second = region_of(config, 0), region_of(config, 1)
    several = "m1_" in config.text("custom_operations")
    return {
        "chain": chain_of(config),
        "linked": False,
        "size": region.size,
        "pages": region.pages,
        "second": second.target if several else None,
        "size_second": second.size if several and second.size != region.size else None,
        "threads": config.count("number_threads"),
        **placed(region),
    }


def _chase(config: Entry) -> dict[str, Any]:
    region = region_of(config, 0)
    threads = config.count("number_threads")
    operation = operation_of(config)
    mode = config.text("exec_mode")
    return {
        **_walk(config, region),
        "order": "random" if mode in CHASES else mode.removesuffix("_latency"),
        "operation": operation if operation != "read" else None,
        "threads": threads if threads != 1 else None,
        **placed(region),
    }


def _walk(config: Entry, region: Region) -> dict[str, Any]:
    stride = config.count("access_size")
    return {"order": "random", "stride": stride, "size": region.size, "pages": region.pages}


def _loaded(found: Found, name: str, configs: list[Entry], results: list[Entry], at: int) -> str:
    """Add a chase while the other part loads."""
    chase, load = configs[at], configs[1 - at]
    home, loaded = region_of(chase, 0), region_of(load, 0)
    path = (initiator_of(chase), home.target)
    pattern = {
        **_walk(chase, home),
        "load_from": initiator_of(load),
        "load_to": loaded.target,
        "mix": mix_of(load),
        "load_order": order_of(load),
        "load_access_size": load.count("access_size"),
        "load_size": loaded.size,
        "load_threads": load.count("number_threads"),
        "delay_ns": 0,
        **placed(home),
    }
    latency = ("latency", results[at].number("thread_op_latency_avg"))
    rate = ("bandwidth", results[1 - at].number("bandwidth") * GIB)
    cpus = [*chase.counts("thread_cores"), *load.counts("thread_cores")]
    return found.add("loaded-latency", name, path, pattern, latency, [rate], cpus)


def _percentiles(results: Entry) -> Iterator[tuple[str, float]]:
    if "latency" in results.values:
        latency = results.below("latency")
        for key, name in PERCENTILES.items():
            if latency.values.get(key):
                yield f"chain_latency_{name}", latency.number(key)


def _times(results: Entry) -> list[float]:
    """Return the times of single accesses of all threads, in ns."""
    threads = results.values.get("latencies")
    lists = threads if isinstance(threads, list) else []
    if not all(isinstance(times, list) for times in lists):
        results.fail("latencies", "not a list of times for each thread")
    times = [time for one in lists for time in one]
    if not times or not all(type(time) in (int, float) and 0 < time < GIB**3 for time in times):
        results.fail("latencies", "not times above 0, in ns")
    return sorted(map(float, times))


def _of_samples(times: list[float]) -> Iterator[tuple[str, float]]:
    for name, share in _SHARES.items():
        yield f"latency_{name}", times[min(len(times) - 1, int(share * len(times)))]
