"""The profiles quick, standard and full: what to measure on a machine that nobody described.

A profile is a list of requests in the same grammar as a plan of the user's own; only the nodes
and the largest working set come from the machine.
"""

from dataclasses import dataclass

from tierscope.model.errors import UserError
from tierscope.model.topology import Node, Topology
from tierscope.plans import machine
from tierscope.plans.expand import expand
from tierscope.plans.grammar import format_size
from tierscope.plans.request import Request
from tierscope.suites.gpu_sets import gpu_requests
from tierscope.suites.suite import Prepared


@dataclass(frozen=True)
class Profile:
    """How much of the machine to measure, and how long."""

    seconds: float | None
    """Time that the whole run is fitted into; None: as long as it takes."""
    operations: str
    threads: str
    """Thread counts of the path from a node's CPUs to the node's own memory, or the nearest."""
    other_operations: str
    """Operations of every further pair of initiator and target, with all threads."""
    bandwidth_budget: str
    latency_budget: str
    latency_steps: str
    """How the working sets of the latency sweep go up."""
    precision: str
    sample: str = "10ms"
    orders: str = ""
    """Random-order bandwidth's access sizes, where it is measured."""
    load_mixes: str = ""
    """Mixes of load that latency is measured under, of the main paths, where it is measured."""
    other_load_mixes: str = ""
    """The same of every further pair."""
    refined: bool = False
    """Those curves get further points where they bend, beyond their first ones."""
    stream_mixes: str = ""
    """Mixes of reads and writes, where streams, atomics and mapping are measured."""
    atomic_threads: str = "all"
    gpu_budget: str = ""
    """Seconds of each measurement of a GPU's paths, where they are measured."""


PROFILES = {
    "quick": Profile(
        seconds=50,
        operations="read,write,write-nt,copy,triad",
        threads="1..all*2",
        other_operations="read,write",
        bandwidth_budget="1.5",
        latency_budget="1",
        latency_steps="*2",
        precision="1%",
        sample="4ms",
    ),
    "standard": Profile(
        seconds=300,
        operations="read,write,write-nt,copy,copy-nt,scale,add,triad,rmw",
        threads="1..all*2",
        other_operations="read,write,copy,triad",
        bandwidth_budget="4",
        latency_budget="3",
        latency_steps="*2",
        precision="0.5%",
        orders="64,256,4k",
        load_mixes="100:0,67:33",
        stream_mixes="75:25,67:33,50:50,67:33nt",
        gpu_budget="0.6",
    ),
    "full": Profile(
        seconds=None,
        operations="read,write,write-nt,copy,copy-nt,scale,add,triad,rmw",
        threads="1..all",
        other_operations="read,write,write-nt,copy,triad",
        bandwidth_budget="10",
        latency_budget="10",
        latency_steps="*2",
        precision="0.5%",
        orders="64..64k",
        load_mixes="100:0,75:25,67:33,50:50,67:33nt",
        other_load_mixes="100:0,67:33",
        refined=True,
        stream_mixes="100:0,75:25,67:33,50:50,75:25nt,67:33nt,50:50nt,0:100nt",
        atomic_threads="1..all*2",
        gpu_budget="2",
    ),
}


def prepare(name: str, topology: Topology, thp: bool) -> Prepared:
    """Return what the profile of this name measures on this machine."""
    profile = PROFILES[name]
    requests = profile_requests(profile, topology)
    return Prepared(expand(requests, topology, thp), requests, profile.seconds, profile.refined)


def profile_requests(profile: Profile, topology: Topology) -> list[Request]:
    """Return what a profile measures on this machine, the main path first.

    Each node with memory is measured from the node with CPUs nearest to it and from every other;
    the sweeps over threads, operations and working sets are made once for each kind of memory,
    the other pairs get their bandwidth at all threads and their latency. GPUs come last.
    """
    targets = machine.memory_nodes(topology)
    if not topology.siblings:
        raise machine.no_initiator(topology)
    if not targets:
        raise UserError("no node with memory was found on this machine")
    requests: list[Request] = []
    others: list[Request] = []
    kinds = set()
    for target in targets:
        nearest = machine.best_initiator(topology, target)
        for initiator in machine.cpu_nodes(topology):
            in_full = initiator == nearest and target.kind not in kinds
            if in_full:
                kinds.add(target.kind)
                requests += _in_full(profile, topology, initiator, target)
            else:
                others += _in_short(profile, topology, initiator, target)
    if profile.gpu_budget:
        others += gpu_requests(topology, profile.gpu_budget, sweeps=profile.seconds is None)
    return requests + others


def _in_full(profile: Profile, topology: Topology, initiator: Node, target: Node) -> list[Request]:
    path = {"from": f"node:{initiator.number}", "to": f"node:{target.number}"}
    largest = _largest(topology, initiator, target)
    requests = [
        _bandwidth(profile, path, profile.operations, threads=profile.threads),
        _latency(profile, path, size=f"4k..{format_size(largest)}{profile.latency_steps}"),
        _latency(
            profile, path, size=format_size(largest), pages="base", order="random,page-random"
        ),
    ]
    if profile.orders:
        requests.append(
            _bandwidth(
                profile, path, "read,write", order="random", **{"access-size": profile.orders}
            )
        )
    return requests + _beyond_plain(profile, topology, initiator, target)


def _in_short(profile: Profile, topology: Topology, initiator: Node, target: Node) -> list[Request]:
    path = {"from": f"node:{initiator.number}", "to": f"node:{target.number}"}
    return [
        _bandwidth(profile, path, profile.other_operations, threads="all"),
        _latency(profile, path, size=format_size(_largest(topology, initiator, target))),
        *_under_load(profile, topology, initiator, target, profile.other_load_mixes),
    ]


def _beyond_plain(
    profile: Profile, topology: Topology, initiator: Node, target: Node
) -> list[Request]:
    """Latency under load, mixed streams, a tier and local memory at once, atomics, mapping."""
    requests = _under_load(profile, topology, initiator, target, profile.load_mixes)
    if not profile.stream_mixes:
        return requests
    path = {"from": f"node:{initiator.number}", "to": f"node:{target.number}"}
    swept: list[tuple[str, dict[str, str]]] = [
        ("traffic", {"mix": profile.stream_mixes}),
        (
            "atomics",
            {
                "op": "fetch-and-add,compare-and-swap",
                "shared": "no,yes",
                "threads": profile.atomic_threads,
            },
        ),
        ("mapping", {"sharing": "private,shared", "pages": "base,thp"}),
    ]
    has_memory = initiator in machine.memory_nodes(topology)
    if not target.cpus and has_memory and len(_usable(topology, initiator)) > 1:
        local = {"to": f"node:{initiator.number}", "beside": f"to=node:{target.number}"}
        swept.append(("traffic", {"mix": "100:0,67:33", **local}))
    return requests + [
        _request(kind, profile, profile.bandwidth_budget, {**path, **options})
        for kind, options in swept
    ]


def _under_load(
    profile: Profile, topology: Topology, initiator: Node, target: Node, mixes: str
) -> list[Request]:
    if not mixes or len(_usable(topology, initiator)) < 2:  # One CPU chases, the others load.
        return []
    options = {"from": f"node:{initiator.number}", "to": f"node:{target.number}", "mix": mixes}
    options["budget"] = profile.latency_budget  # Of each point; to the curve's usual precision.
    return [Request(kind="loaded-latency", options=options)]


def _usable(topology: Topology, node: Node) -> set[int]:
    return set(node.cpus) & set(topology.cpus)


def _bandwidth(profile: Profile, path: dict[str, str], op: str, **options: str) -> Request:
    return _request("bandwidth", profile, profile.bandwidth_budget, {**path, "op": op, **options})


def _latency(profile: Profile, path: dict[str, str], **options: str) -> Request:
    return _request("latency", profile, profile.latency_budget, {**path, **options})


def _request(kind: str, profile: Profile, budget: str, options: dict[str, str]) -> Request:
    common = {"budget": budget, "precision": profile.precision, "sample": profile.sample}
    return Request(kind=kind, options={**options, **common})


def _largest(topology: Topology, initiator: Node, target: Node) -> int:
    """Bytes of the largest chase: past every cache that the chasing CPU has."""
    first = [cpu for cpu in initiator.cpus if cpu in topology.cpus][:1]
    return machine.default_size(topology, first, [target.number], 1)
