"""CPUs on the memory of a coherent GPU: all figures of a study of Grace Hopper, for any machine.

After Werner, Weisgut, Rabl: *Towards Memory Disaggregation via NVLink C2C: Benchmarking
CPU-Requested GPU Memory Access*. A CPU-less node of another kind stands in where no node is a GPU's
memory, and the run says so.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tierscope.machine.affinity import home
from tierscope.machine.gpu_paths import is_memory_of
from tierscope.model.endpoint import MAX_WEIGHT
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.spec import HUGETLB
from tierscope.model.topology import Gpu, Node, NodeKind, Topology
from tierscope.plans import machine
from tierscope.plans.expand import expand
from tierscope.plans.grammar import format_size
from tierscope.plans.request import Request
from tierscope.suites.expand import RATIOS
from tierscope.suites.suite import Prepared

_THREAD_STEP = 4
_ACCESS_SIZES = "64..64k"
_ORDERS, _OPERATIONS, _MIXES = "sequential,random", "read,write", "100:0,0:100"
_SIZES = 9
"""Sizes of the region over which threads are swept, in even steps."""
_STEP = 10 << 30
_GRAIN = 256 << 10
_SHARES = range(10, 100, 10)
"""Percent of the array in the first of two partitions; 0 and 100% are a set by itself."""
_LONGEST_ROUND = 81
"""Pages of one round of the most uneven of ``RATIOS``."""
_BUDGET = "1s"
_TREE = {"structure": "btree", "op": "lookup,update", "inner-node": "2k", "leaf-node": "1k"}
"""As in the study: two inner nodes of 2 KiB are read, then a leaf of 1 KiB."""
_NO_GPU = Gpu(index=0, name="", address="")


@dataclass(frozen=True)
class Pair:
    """CPUs with memory of their own, and the GPU's memory that they reach."""

    near: Node
    far: Node

    @property
    def both(self) -> list[Node]:
        """Near memory first."""
        return [self.near, self.far]


def prepare(_name: str, topology: Topology, thp: bool) -> Prepared:
    """Return the study of this machine; UserError where it has no CPU-less node at all."""
    pairs = pairs_of(topology)
    requests = list(_in_full(topology, pairs[0], thp))
    for pair in pairs[1:]:
        requests += _in_short(topology, pair)
    requests += _sets(topology, pairs)
    requests += _by_gpu(topology, pairs[0])
    # Where no GPU is found, the first one's figures are planned, and skipped with the reason.
    with_gpu = topology if topology.gpus else topology.model_copy(update={"gpus": [_NO_GPU]})
    return Prepared(expand(requests, with_gpu, thp), requests, notes=_notes(topology, pairs))


def pairs_of(topology: Topology) -> list[Pair]:
    """Return each node of GPU memory with the CPUs that are local to it, then with the others."""
    nodes = machine.memory_nodes(topology)
    far = [node for node in nodes if node.kind is NodeKind.GPU and not node.cpus]
    far = far or [node for node in nodes if not node.cpus]
    near = [node for node in machine.cpu_nodes(topology) if node in nodes]
    if not far or not near:
        what = "no CPU-less node, which a coherent GPU's memory is" if near else "no node with CPUs"
        raise UserError(
            f"coherent-gpu measures the memory of a GPU from CPUs; this machine has {what}",
            ExitCode.NOTHING_MEASURED,
        )
    local = [Pair(_home(topology, node, near), node) for node in far]
    return local + [Pair(one, node) for one in near for node in far if Pair(one, node) not in local]


def _home(topology: Topology, node: Node, near: Sequence[Node]) -> Node:
    number = home(topology, node)
    found = next((one for one in near if one.number == number), None)
    return found or min(near, key=lambda one: (node.distances.get(one.number, 1 << 30), one.number))


def _notes(topology: Topology, pairs: Sequence[Pair]) -> tuple[str, ...]:
    notes = []
    far = pairs[0].far
    if far.kind is not NodeKind.GPU:
        notes.append(
            f"no node is a GPU's memory here: node {far.number} ({far.kind.value}) stands in for it"
        )
    if not topology.gpus:
        notes.append("no GPU was found: what GPUs initiate is planned for gpu:0 and skipped")
    return tuple(notes)


def _in_full(topology: Topology, pair: Pair, thp: bool) -> Iterator[Request]:
    """Yield every figure of the study, of one GPU's memory and of its CPUs' own."""
    steps = region_sizes(topology, pair.both)
    path = {"from": f"node:{pair.near.number}", "to": _nodes(pair.both)}
    first, last = format_size(steps[0]), format_size(steps[-1])
    sweep = {"op": _OPERATIONS, "order": _ORDERS, "threads": _threads(topology, pair)}
    yield _request("bandwidth", {**path, **sweep, "access-size": _ACCESS_SIZES, "size": first})
    yield _request("bandwidth", {**path, **sweep, "size": ",".join(map(format_size, steps))})
    kinds = "base,thp" if thp else "base"
    yield _request("latency", {**path, "size": first, "pages": kinds})
    yield from _under_load(topology, pair, "0..all")
    yield _request(
        "expand",
        {
            "from": path["from"],
            "to": f"node:{pair.near.number},{pair.far.number}",
            "mix": _MIXES,
            "order": _ORDERS,
            "access-size": "64",
            "size": last,
            "ratios": RATIOS,
            "pages": ",".join(_pages(topology, thp, pair, steps[-1])),
        },
    )
    yield from _operations(topology, pair)


def _in_short(topology: Topology, pair: Pair) -> Iterator[Request]:
    """Yield what tells another pair of CPUs and GPU from the first one."""
    path = {"from": f"node:{pair.near.number}", "to": f"node:{pair.far.number}"}
    size = format_size(region_sizes(topology, pair.both)[0])
    sweep = {"op": _OPERATIONS, "order": _ORDERS, "threads": _threads(topology, pair)}
    yield _request("bandwidth", {**path, **sweep, "size": size})
    yield _request("latency", {**path, "size": size})
    yield from _under_load(topology, Pair(pair.near, pair.far), "0,all", only_far=True)


def _under_load(
    topology: Topology, pair: Pair, threads: str, only_far: bool = False
) -> Iterator[Request]:
    """Yield latency over load threads of each memory, loaded by its own kind of load."""
    if len(set(pair.near.cpus) & set(topology.cpus)) < 2:  # One CPU chases, the others load.
        return
    load = {"mix": _MIXES, "load-order": _ORDERS, "load-access-size": "64"}
    for node in pair.both[only_far:]:
        path = {"from": f"node:{pair.near.number}", "to": f"node:{node.number}"}
        yield _request("loaded-latency", {**path, **load, "load-threads": threads})


def _sets(topology: Topology, pairs: Sequence[Pair]) -> Iterator[Request]:
    """Yield arrays in two partitions: the first over all CPUs' nodes, the other over all GPUs'."""
    near = _distinct([pair.near for pair in pairs])
    far = _distinct([pair.far for pair in pairs])
    size = region_sizes(topology, [*near, *far])[-1]
    pages = ["base", *_huge(topology)]
    asked = {
        "from": f"node:{pairs[0].near.number}",
        "op": _OPERATIONS,
        "order": _ORDERS,
        "size": format_size(size),
        "pages": ",".join(pages),
    }
    alone = [_partition([(node, 1) for node in nodes]) for nodes in (near, far)]
    split = [_partition(_shares(near, far, percent)) for percent in _SHARES]
    several = [target for target, nodes in zip(alone, (near, far), strict=True) if len(nodes) > 1]
    singles = [target for target in alone if target not in several]
    if singles:
        yield _request("bandwidth", {**asked, "to": ",".join(singles)})
    yield _request("bandwidth", {**asked, "to": ",".join([*several, *split]),
                                 "policy": "partition"})  # fmt: skip


def _shares(near: Sequence[Node], far: Sequence[Node], percent: int) -> list[tuple[Node, int]]:
    """Return weights that give the first set this percentage, evenly over the nodes of each."""
    shares = [(node, percent * len(far)) for node in near]
    shares += [(node, (100 - percent) * len(near)) for node in far]
    divisor = math.gcd(*(weight for _, weight in shares))
    shares = [(node, weight // divisor) for node, weight in shares]
    most = max(weight for _, weight in shares)
    if most > MAX_WEIGHT:  # beyond what a weight may be, the nearest that is
        shares = [(node, max(1, round(weight * MAX_WEIGHT / most))) for node, weight in shares]
    return shares


def _partition(shares: Sequence[tuple[Node, int]]) -> str:
    numbers = ",".join(str(node.number) for node, _ in shares)
    weights = ":".join(str(weight) for _, weight in shares)
    return f"node:{numbers}" + (f"@{weights}" if len(shares) > 1 else "")


def _operations(topology: Topology, pair: Pair) -> Iterator[Request]:
    """Yield the database operations with their parts on both memories."""
    path = {"from": f"node:{pair.near.number}", "to": _nodes(pair.both)}
    yield _request("ops", {**path, "threads": _threads(topology, pair), **_TREE})


def _threads(topology: Topology, pair: Pair) -> str:
    """Return thread counts: 1, 4, 8, ... and all CPUs of a pair."""
    usable = len(set(pair.near.cpus) & set(topology.cpus))
    counts = [1, *range(_THREAD_STEP, usable, _THREAD_STEP), usable]
    return ",".join(map(str, dict.fromkeys(counts)))


def _by_gpu(topology: Topology, pair: Pair) -> Iterator[Request]:
    """Yield what the GPU itself initiates: on its CPU's memory, and on its own beside that."""
    own = next((gpu for gpu in topology.gpus if is_memory_of(pair.far, gpu)), None)
    gpu = f"gpu:{own.index if own else (topology.gpus[0].index if topology.gpus else 0)}"
    near = f"node:{pair.near.number}"
    for source, destination in ((gpu, near), (near, gpu)):
        copies = {"from": source, "to": destination, "engine": "ce,sm", "memory": "pinned,pageable"}
        yield _request("gpu-copy", copies)
    yield _request("gpu-latency", {"from": gpu, "to": f"{gpu},{near}", "memory": "pinned,pageable"})
    yield _request("gpu-memory", {"from": gpu, "op": _OPERATIONS})


def region_sizes(topology: Topology, nodes: Sequence[Node]) -> list[int]:
    """Return sizes of an array that each of the nodes can hold: 10 to 90 GiB, less of small nodes.

    On emulated memory, which moves a few MB/s, 256 KiB to 2.25 MiB.
    """
    room = [_room(node) for node in nodes]
    if topology.memory_left_bytes is not None:
        room.append(topology.memory_left_bytes // 2)
    step = _GRAIN if topology.emulated else _STEP
    step = min(step, max(_GRAIN, min(room) // _SIZES // _GRAIN * _GRAIN))
    return [step * number for number in range(1, _SIZES + 1)]


def _room(node: Node) -> int:
    """Bytes of a node that an array may take; others use the memory of nodes with CPUs."""
    free = node.total_bytes if node.free_bytes is None else node.free_bytes
    return free // 2 if node.cpus else int(0.96 * free)


def _pages(topology: Topology, thp: bool, pair: Pair, size: int) -> list[str]:
    """Return the kinds of pages of which each thread's share holds the longest round."""
    threads = len(set(pair.near.cpus) & set(topology.cpus))
    kinds = ["base", *(["thp"] if thp else []), *_huge(topology)]
    share = size // max(1, threads)
    fitting = [kind for kind in kinds
               if machine.page_bytes(topology, kind) * _LONGEST_ROUND <= share]  # fmt: skip
    return fitting or ["base"]


def _huge(topology: Topology) -> list[str]:
    return [name for name, size in HUGETLB.items() if size in topology.huge_page_bytes]


def _nodes(nodes: Sequence[Node]) -> str:
    return ",".join(f"node:{node.number}" for node in nodes)


def _distinct(nodes: Sequence[Node]) -> list[Node]:
    return list({node.number: node for node in nodes}.values())


def _request(kind: str, options: dict[str, str]) -> Request:
    return Request(kind=kind, options={**options, "budget": _BUDGET})
