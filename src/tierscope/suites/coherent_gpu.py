"""The published study of Grace Hopper, CPUs on the memory of a coherent GPU, for any machine.

After Werner, Weisgut, Rabl: *Towards Memory Disaggregation via NVLink C2C: Benchmarking
CPU-Requested GPU Memory Access* (HCDS 2025), and the workload files and results that they published
with it. A CPU-less node of another kind stands in where no node is a GPU's memory, and regions are
smaller where the nodes are; the run says both. ``study`` is what they measured; what else is of use
to its readers is planned behind it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tierscope.machine.affinity import home
from tierscope.machine.gpu_paths import is_memory_of
from tierscope.model.endpoint import MAX_WEIGHT
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.topology import Gpu, Node, NodeKind, Topology
from tierscope.plans import machine
from tierscope.plans.expand import expand
from tierscope.plans.grammar import format_size
from tierscope.plans.request import Request
from tierscope.report.figures import size_text
from tierscope.suites.suite import Prepared

ACCESS_SIZES = "64..64k"
"""Rows of the study's maps of threads by access size."""
MAP, INNER, LEAVES, FOOTPRINTS = 7, 5, 8, range(10, 91, 10)
"""GiB of the study's regions: of those maps, of a tree's inner nodes and leaves, and of the maps of
threads by footprint, the last of which its pages are spread over, too."""
LOOKUP = "r_2048,r_2048,m1_r_1024"
"""Two inner nodes of 2 KiB, whose upper levels are thought to be cached, then a leaf of 1 KiB."""
UPDATE = f"{LOOKUP},w_64_none_512,w_64_none_-512,w_64_none"
"""A lookup, then a record in the middle of the leaf and two lines of its head."""
_FEWER = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 16, 20, 40, 80)
RATIOS = [*((1, far) for far in reversed(_FEWER)), *((near, 1) for near in _FEWER[1:])]
"""Pages in the CPU's memory to pages in the GPU's."""
_OPERATIONS, _MIXES = "read,write", "100:0,0:100"
_FEW = 8
"""CPUs up to which latency is measured idle and under all load threads only."""
_GIB = 1 << 30
_GRAIN = 64 << 10
"""The largest base page and the largest access; regions are whole ones."""
_SHARES = range(10, 100, 10)
"""Percent of the array in the first of two partitions."""
_BUDGET = "1s"
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
    requests = [*study(topology, pairs[0]), *_latencies(topology, pairs[0])]
    for pair in pairs[1:]:
        requests += _in_short(topology, pair)
    requests += _beyond(topology, pairs, thp)
    # Where no GPU is found, the first one's figures are planned, and skipped with the reason.
    with_gpu = topology if topology.gpus else topology.model_copy(update={"gpus": [_NO_GPU]})
    plan = expand(requests, with_gpu, thp)
    return Prepared(plan, requests, notes=_notes(topology, pairs))


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
            f"no node is a GPU's memory here: node {far.number} ({far.kind}) stands in for it"
        )
    unit = gib_here(topology, pairs[0].both)
    if unit < _GIB:
        notes.append(
            f"regions are smaller than the study's 5 to 90 GiB: {size_text(unit)} stand for each "
            f"GiB, {size_text(FOOTPRINTS[-1] * unit)} at most"
        )
    if not topology.gpus:
        notes.append("no GPU was found: what GPUs initiate is planned for gpu:0 and skipped")
    return tuple(notes)


def study(topology: Topology, pair: Pair) -> Iterator[Request]:
    """Yield what the published workload files and results measure, of one GPU's memory and of its
    CPUs' own: threads by access size, threads by footprint, pages spread over both, and a tree."""
    unit, cpus = gib_here(topology, pair.both), _usable(topology, pair)
    every, fewer = _threads(cpus, 4), _threads(cpus, 8)
    path = {"from": _node(pair.near), "to": ",".join(map(_node, pair.both))}
    footprints = ",".join(format_size(number * unit) for number in FOOTPRINTS)
    largest = format_size(FOOTPRINTS[-1] * unit)
    yield from _bandwidth(
        {**path, "access-size": ACCESS_SIZES, "size": format_size(MAP * unit)}, every
    )
    yield from _bandwidth({**path, "size": footprints}, fewer)
    spread = ",".join(_divided([(pair.near, near), (pair.far, far)]) for near, far in RATIOS)
    yield from _bandwidth({**path, "to": spread, "policy": "weighted", "size": largest}, [cpus])
    sizes = {"size": format_size(INNER * unit), "second-size": format_size(LEAVES * unit)}
    for inner in pair.both:
        for leaves in pair.both:
            placed = {"from": path["from"], "to": _node(inner), "second-to": _node(leaves)}
            chains = {"chain": f"{LOOKUP}\n{UPDATE}", "linked": "no", "pages": "base"}
            threads = {"threads": _counts(every), "pin": "any"}
            yield _request("chain", {**placed, **chains, **sizes, **threads})


def _bandwidth(options: dict[str, str], threads: Sequence[int]) -> Iterator[Request]:
    """Yield reads and writes in both orders; at random all threads go over all of the region. As
    the study's, threads run on any CPU of their node."""
    usual = {"op": _OPERATIONS, "access-size": "64", "pages": "base", "pin": "any", **options}
    yield _request("bandwidth", {**usual, "order": "sequential", "threads": _counts(threads)})
    several = [count for count in threads if count > 1]
    for counts, sharing in (([1], "partitioned"), (several, "shared")):
        if set(counts) <= set(threads) and counts:
            how = {"order": "random", "sharing": sharing, "threads": _counts(counts)}
            yield _request("bandwidth", {**usual, **how})


def _latencies(topology: Topology, pair: Pair) -> Iterator[Request]:
    """Yield idle latency, and latency over load threads of each memory: the study shows them, but
    has no files of them."""
    path = {"from": _node(pair.near), "to": ",".join(map(_node, pair.both))}
    yield _request("latency", {**path, **_chase(topology, pair)})
    loads = "0,4..all+4" if _usable(topology, pair) > _FEW else "0,all"
    for node in pair.both:
        yield from _under_load(topology, pair, node, loads)


def _in_short(topology: Topology, pair: Pair) -> Iterator[Request]:
    """Yield what tells another pair of CPUs and GPU from the first one."""
    path, chase = {"from": _node(pair.near), "to": _node(pair.far)}, _chase(topology, pair)
    yield from _bandwidth({**path, "size": chase["size"]}, _threads(_usable(topology, pair), 4))
    yield _request("latency", {**path, **chase})
    yield from _under_load(topology, pair, pair.far, "0,all")


def _chase(topology: Topology, pair: Pair) -> dict[str, str]:
    """Return the options of the study's dependent reads: each line of a region, in base pages."""
    size = format_size(MAP * gib_here(topology, pair.both))
    return {"size": size, "stride": "64", "pages": "base"}


def _under_load(topology: Topology, pair: Pair, node: Node, threads: str) -> Iterator[Request]:
    """Yield latency of a memory that other threads load; all of them are all but the chase's."""
    if _usable(topology, pair) > 1:
        load = {"mix": _MIXES, "load-order": "sequential,random", "load-access-size": "64"}
        path = {"from": _node(pair.near), "to": _node(node), "load-threads": threads}
        chase = _chase(topology, pair)
        sizes = {**chase, "load-size": chase["size"]}
        yield _request("loaded-latency", {**path, **sizes, **load})


def _beyond(topology: Topology, pairs: Sequence[Pair], thp: bool) -> Iterator[Request]:
    """Yield what the study has not: larger pages, partitions, a real tree, what GPUs initiate."""
    pair = pairs[0]
    unit, cpus = gib_here(topology, pair.both), _usable(topology, pair)
    path = {"from": _node(pair.near), "to": ",".join(map(_node, pair.both))}
    if thp:
        sizes = ",".join(format_size(number * unit) for number in (MAP, FOOTPRINTS[-1]))
        yield from _bandwidth({**path, "size": sizes, "pages": "thp"}, [cpus])
        yield _request("latency", {**path, **_chase(topology, pair), "pages": "thp"})
    yield from _sets(topology, pairs)
    yield _request("ops", {**path, "op": "lookup,update", "threads": "all"})
    yield from _by_gpu(topology, pair)


def _sets(topology: Topology, pairs: Sequence[Pair]) -> Iterator[Request]:
    """Yield arrays in two partitions: the first over all CPUs' nodes, the other over all GPUs'."""
    near = _distinct([pair.near for pair in pairs])
    far = _distinct([pair.far for pair in pairs])
    size = FOOTPRINTS[-1] * gib_here(topology, [*near, *far])
    alone = [_divided([(node, 1) for node in nodes]) for nodes in (near, far) if len(nodes) > 1]
    split = [_divided(_shares(near, far, percent)) for percent in _SHARES]
    options = {"from": _node(pairs[0].near), "to": ",".join([*alone, *split])}
    options |= {"policy": "partition", "size": format_size(size)}
    yield from _bandwidth(options, [_usable(topology, pairs[0])])


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


def _divided(shares: Sequence[tuple[Node, int]]) -> str:
    """Write nodes with their weights as a target."""
    numbers = ",".join(str(node.number) for node, _ in shares)
    weights = ":".join(str(weight) for _, weight in shares)
    return f"node:{numbers}@{weights}"


def _usable(topology: Topology, pair: Pair) -> int:
    return len(set(pair.near.cpus) & set(topology.cpus))


def _threads(cpus: int, step: int) -> list[int]:
    """Return thread counts: 1, 4, 8, on in these steps, and all CPUs."""
    counts = [1, *(count for count in (4, 8, *range(8 + step, cpus, step)) if count < cpus), cpus]
    return list(dict.fromkeys(counts))


def _counts(counts: Sequence[int]) -> str:
    return ",".join(map(str, dict.fromkeys(counts)))


def _by_gpu(topology: Topology, pair: Pair) -> Iterator[Request]:
    """Yield what the GPU itself initiates: on its CPU's memory, and on its own beside that."""
    own = next((gpu for gpu in topology.gpus if is_memory_of(pair.far, gpu)), None)
    gpu = f"gpu:{own.index if own else (topology.gpus[0].index if topology.gpus else 0)}"
    near = _node(pair.near)
    for source, destination in ((gpu, near), (near, gpu)):
        copies = {"from": source, "to": destination, "engine": "ce,sm", "memory": "pinned,pageable"}
        yield _request("gpu-copy", copies)
    yield _request("gpu-latency", {"from": gpu, "to": f"{gpu},{near}", "memory": "pinned,pageable"})
    yield _request("gpu-memory", {"from": gpu, "op": _OPERATIONS})


def gib_here(topology: Topology, nodes: Sequence[Node]) -> int:
    """Return the bytes that stand for a GiB of the study: a GiB, less where 90 of them have no room
    on one of the nodes or in what the cgroup leaves; on emulated memory, which moves a few MB/s, as
    few as give each thread an access."""
    threads = max(len(set(node.cpus) & set(topology.cpus)) for node in nodes)
    least = -(-threads // MAP) * _GRAIN
    if topology.emulated:
        return least
    room = [_room(node) for node in nodes]
    if topology.memory_left_bytes is not None:
        room.append(topology.memory_left_bytes // 2)
    return min(_GIB, max(least, min(room) // FOOTPRINTS[-1] // _GRAIN * _GRAIN))


def _room(node: Node) -> int:
    """Bytes of a node that an array may take; others use the memory of nodes with CPUs."""
    free = node.total_bytes if node.free_bytes is None else node.free_bytes
    return free // 2 if node.cpus else int(0.96 * free)


def _node(node: Node) -> str:
    return f"node:{node.number}"


def _distinct(nodes: Sequence[Node]) -> list[Node]:
    return list({node.number: node for node in nodes}.values())


def _request(kind: str, options: dict[str, str]) -> Request:
    return Request(kind=kind, options={**options, "budget": _BUDGET})
