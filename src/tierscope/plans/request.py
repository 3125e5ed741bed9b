"""A request: measurements as a person asks for them, before they are held against a machine.

Flags, YAML plans and profiles all become requests; ``expand`` makes specs of them.
"""

from typing import Literal

from tierscope.kinds.bandwidth.spec import Operation
from tierscope.model.base import Model
from tierscope.model.errors import UserError
from tierscope.model.spec import Isa

Kind = Literal[
    "bandwidth",
    "latency",
    "loaded-latency",
    "streams",
    "atomics",
    "mapping",
    "gpu-copy",
    "gpu-together",
    "gpu-memory",
    "gpu-latency",
]

_COMMON = {
    "from": "initiators: node:0, cpus:0-7,16 or node:*, every node with CPUs",
    "to": "targets: node:0, node:0,2 interleaved, node:0,2@3:1 weighted, or node:*",
    "size": "working set; of bandwidth, each array's bytes over all threads",
    "pages": "base (or 4k), thp, 2m, 1g",
    "stride": "bytes from one access to the next",
    "policy": "bind, preferred, interleave, weighted, partition",
    "mechanism": "user (the engine places each page) or kernel (the kernel's policy does)",
    "precision": "half-width of the 95% confidence interval to reach, such as 1%",
    "budget": "seconds after which a measurement stops whatever its interval",
    "sample": "seconds that one sample lasts",
}
_ON_GPU = {
    "trace": "yes: record calls, copies and kernels with CUPTI",
    "precision": _COMMON["precision"],
    "budget": _COMMON["budget"],
    "sample": _COMMON["sample"],
}
_HOST_MEMORY = (
    "pinned, write-combined, registered, pageable, managed, managed-prefetch, managed-advised"
)
_GPU_ENGINES = "ce (copy engine), sm (kernel), tma (bulk copy unit)"
OPTIONS: dict[str, dict[str, str]] = {
    "bandwidth": {
        **_COMMON,
        "pin": "cores (siblings last), one-a-core (none), compact, spread over sockets",
        "op": "read, write, write-nt, copy, copy-nt, scale, add, triad, rmw",
        "order": "sequential, reverse, strided, random",
        "access-size": "bytes that one access touches contiguously",
        "threads": "number of threads; all is every CPU of the initiator",
        "isa": "auto, sse4, avx2, avx512, neon, sve",
    },
    "latency": {**_COMMON, "order": "random, page-random"},
    "loaded-latency": {
        **_COMMON,
        "order": "of the chase: random, page-random",
        "mix": "reads to writes of the load: 100:0, 67:33, 50:50nt (non-temporal stores)",
        "load-from": "CPUs that load the memory; those of from, less the chase's core",
        "load-to": "memory that they load; that of to",
        "load-threads": "number of CPUs that load the memory",
        "load-order": "sequential, random",
        "load-size": "bytes of the load's array, over all its threads",
        "points": "loaded points of each curve",
    },
    "streams": {
        **{name: text for name, text in _COMMON.items() if name != "stride"},
        "pin": "cores (siblings last), one-a-core (none), compact, spread over sockets",
        "mix": "reads to writes: 100:0, 67:33, 50:50nt, 0:100clwb, 0:100clflushopt",
        "order": "sequential, random, zipf",
        "zipf-alpha": "how much hot blocks are preferred, of order zipf",
        "access-size": "bytes that one access touches contiguously",
        "prefetch": "bytes that a software prefetch runs ahead",
        "delay": "least nanoseconds from one access of a thread to its next",
        "threads": "number of threads; all is every CPU of the initiator that nobody else takes",
        "isa": "auto, sse4, avx2, avx512, neon, sve",
        "beside": "other streams at the same time: 'from=node:0 to=node:2 mix=0:100nt threads=4'",
    },
    "atomics": {
        **{name: text for name, text in _COMMON.items() if name != "stride"},
        "pin": "cores (siblings last), one-a-core (none), compact, spread over sockets",
        "op": "fetch-and-add, compare-and-swap",
        "shared": "no: each thread its own counters; yes: all the same ones",
        "threads": "number of threads; all is every CPU of the initiator",
    },
    "mapping": {
        **{name: text for name, text in _COMMON.items() if name != "stride"},
        "sharing": "private, shared",
    },
    "gpu-copy": {
        "from": "sources: node:0, gpu:1, node:*, gpu:*, all",
        "to": "destinations: the same",
        "engine": _GPU_ENGINES,
        "memory": f"of the host: {_HOST_MEMORY}",
        "pages": "of pageable and registered memory: base, thp, 2m, 1g",
        "size": "bytes of one copy",
        "streams": "CUDA streams that share a copy",
        "side": "between GPUs: read (by the destination's GPU), write",
        "rows": "strided (2D) copies: bytes of a row and from row to row, 4k:8k",
        "both-ways": "yes: with the opposite direction at the same time",
        **_ON_GPU,
    },
    "gpu-together": {
        "set": "host-to-all, all-to-host, all-and-host, one-to-all, all-to-one, all-to-all",
        "engine": _GPU_ENGINES,
        "size": "bytes of one copy",
        **_ON_GPU,
    },
    "gpu-memory": {
        "from": "GPUs: gpu:0, gpu:*",
        "op": "read, write, copy, scale, add, triad, random",
        "size": "bytes of each array",
        "access-size": "bytes that one random access reads",
        **_ON_GPU,
    },
    "gpu-latency": {
        "from": "GPUs: gpu:0, gpu:*",
        "to": "memory: node:0, gpu:1, node:*, gpu:*, all",
        "engine": "sm (loads), tma (bulk copies)",
        "memory": f"of the host: {_HOST_MEMORY}",
        "pages": "of pageable and registered memory: base, thp, 2m, 1g",
        "size": "working set",
        "stride": "bytes from one chased slot to the next",
        "order": "random, linear",
        "per-sm": "yes: percentiles over the GPU's multiprocessors, too",
        "every-sm": "yes: each sample is the mean over all multiprocessors",
        **_ON_GPU,
    },
}
"""Options of each kind of measurement and what they take; keys of a plan and flags alike."""

OPERATIONS: tuple[str, ...] = Operation.__args__  # type: ignore[attr-defined]
ISAS: tuple[str, ...] = Isa.__args__  # type: ignore[attr-defined]
PINS = ("cores", "one-a-core", "compact", "spread")
PAGES = ("base", "4k", "thp", "2m", "1g")
POLICIES = ("bind", "preferred", "interleave", "weighted", "partition")
MECHANISMS = ("user", "kernel")
ORDERS = {
    "bandwidth": ("sequential", "reverse", "strided", "random"),
    "latency": ("random", "page-random"),
    "loaded-latency": ("random", "page-random"),
    "streams": ("sequential", "random", "zipf"),
}


class Request(Model):
    """One cartesian product of option values."""

    kind: Kind
    name: str = ""
    """Names the request in its measurements' ids."""
    options: dict[str, str]
    """Text in the grammar of ``plans.grammar``, by option; an absent one has its default."""
    origins: dict[str, str] = {}  # noqa: RUF012 - pydantic copies it
    """Where each option was written ("plan.yaml:7: key 'size'"), else it is a flag."""

    def origin(self, option: str) -> str:
        """Say where an option was given, to begin an error line with."""
        return self.origins.get(option, f"--{option}")

    def wrong(self, option: str, what: object) -> UserError:
        """Return the error that says what is wrong with an option, and where it stands."""
        return UserError(f"{self.origin(option)}: {what}")
