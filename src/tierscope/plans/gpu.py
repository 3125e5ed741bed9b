"""Shared parts of requests on GPUs: GPUs, places, transfers, CPUs."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tierscope.model.endpoint import Endpoint, EndpointKind, parse_initiator, parse_target
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.gpu import (
    CopyEngine,
    GpuPlace,
    GpuSpec,
    HostKind,
    HostPlace,
    MemoryPlace,
    Transfer,
    endpoint_of,
)
from tierscope.model.spec import NodeShare, Pages, Placement, Sampling
from tierscope.model.topology import Gpu, NodeKind, Topology
from tierscope.plans import grammar
from tierscope.plans.axes import checked, choices, sampling
from tierscope.plans.machine import memory_nodes
from tierscope.plans.options import Option
from tierscope.plans.pinning import one_per_core_first
from tierscope.plans.request import Request

HOST_KINDS: tuple[str, ...] = HostKind.__args__  # type: ignore[attr-defined]
PAGES: tuple[str, ...] = Pages.__args__  # type: ignore[attr-defined]
_EVERY = ("node:*", "gpu:*", "all")
SAMPLING = Sampling(budget_s=1.0, sample_s=0.005)
_MAX_CPUS = 8
SIDES = ("read", "write")
SIDE = Option("side", "LIST", "read (by the destination's GPU), write", "read")


def require_gpus(topology: Topology) -> list[Gpu]:
    """Return the machine's GPUs; raises UserError (exit code 3) where there is none."""
    if not topology.gpus:
        raise UserError(
            "no NVIDIA GPU was found on this machine; in a container, pass the GPU on",
            ExitCode.NOTHING_MEASURED,
        )
    return topology.gpus


def gpu_numbered(topology: Topology, index: int) -> Gpu:
    """Return one GPU; raises UserError that names those there are."""
    gpu = topology.gpu(index)
    if gpu is None:
        known = ", ".join(str(entry.index) for entry in require_gpus(topology))
        raise UserError(f"there is no GPU {index}; this machine's GPUs are {known}")
    return gpu


def home_node(topology: Topology, gpu: Gpu) -> int:
    """The node with host memory that a GPU is local to; the first one where that has none."""
    device, nodes = topology.pci_device(gpu.address), host_nodes(topology)
    return device.node if device is not None and device.node in nodes else nodes[0]


def host_nodes(topology: Topology) -> list[int]:
    """Usable nodes whose memory is the host's: CXL and CPU-less ones too, but no GPU's own."""
    nodes = [node.number for node in memory_nodes(topology) if node.kind is not NodeKind.GPU]
    allowed = topology.memory_nodes
    usable = [number for number in nodes if allowed is None or number in allowed]
    if not usable:
        raise UserError(
            "no node with memory that this process may use was found on this machine",
            ExitCode.NOTHING_MEASURED,
        )
    return usable


def gpu_cpus(topology: Topology, gpu: Gpu) -> list[int]:
    """CPUs for a GPU's host threads: usable ones of its own node, else any usable one."""
    node = topology.node(home_node(topology, gpu))
    near = [cpu for cpu in (node.cpus if node else []) if cpu in topology.cpus]
    return one_per_core_first(near or topology.cpus, topology.siblings)[:_MAX_CPUS]


def host_place(node: int, memory: HostKind = "pinned", pages: Pages = "base") -> HostPlace:
    """Host memory on one node."""
    placement = Placement(policy="bind", nodes=[NodeShare(node=node)])
    return HostPlace(memory=memory, placement=placement, pages=pages)


def gpu_place(index: int) -> GpuPlace:
    """A GPU's own memory."""
    return GpuPlace(gpu=index)


def transfer(
    source: MemoryPlace,
    destination: MemoryPlace,
    engine: CopyEngine,
    *,
    writes: bool = False,
    streams: int = 1,
    reported: bool = True,
) -> Transfer:
    """A transfer; between two GPUs the destination's engine reads, or the source's writes."""
    issuer = source if isinstance(source, GpuPlace) else destination
    if isinstance(source, GpuPlace) and isinstance(destination, GpuPlace) and not writes:
        issuer = destination
    assert isinstance(issuer, GpuPlace)
    return Transfer(
        name=f"{endpoint_of(source)} -> {endpoint_of(destination)}",
        source=source,
        destination=destination,
        gpu=issuer.gpu,
        engine=engine,
        streams=streams,
        reported=reported,
    )


def places(
    request: Request, topology: Topology, option: str, spec: type[GpuSpec], default: str
) -> list[MemoryPlace]:
    """Return the places of an option, host memory once for each kind and page size asked for.

    ``spec`` says which endpoints the kind accepts, as initiators in ``from``, else as targets.
    """
    kinds: list[Any] = choices(request, "memory", HOST_KINDS) or ["pinned"]
    pages: list[Any] = choices(request, "pages", PAGES) or ["base"]
    if pages != ["base"] and not {"pageable", "registered"} & set(kinds):
        raise request.wrong("pages", "only pageable and registered memory has a choice of pages")
    parse: Callable[[str, Sequence[EndpointKind], str], Endpoint] = parse_target
    accepted = spec.targets
    if option == "from":
        parse, accepted = parse_initiator, spec.initiators
    found: list[MemoryPlace] = []
    text = request.options.get(option, default)
    for word in checked(request, option, grammar.split_endpoints, text):
        if word in _EVERY:
            endpoints = _every(topology, word)
        else:
            endpoints = [checked(request, option, parse, word, accepted, spec.kind_name())]
        for endpoint in endpoints:
            gpus, nodes = checked(request, option, _held_by, topology, endpoint)
            found += [gpu_place(index) for index in gpus]
            found += [
                host_place(node, kind, page)
                for node, kind in itertools.product(nodes, kinds)
                for page in (pages if kind in ("pageable", "registered") else pages[:1])
            ]
    return list({place.model_dump_json(): place for place in found}.values())


def _every(topology: Topology, word: str) -> list[Endpoint]:
    """All GPUs, all nodes with host memory, or both."""
    found: list[Endpoint] = []
    if word in ("gpu:*", "all"):
        gpus = require_gpus(topology)
        found += [Endpoint(kind=EndpointKind.GPU, numbers=(gpu.index,)) for gpu in gpus]
    if word in ("node:*", "all"):
        nodes = host_nodes(topology)
        found += [Endpoint(kind=EndpointKind.NODE, numbers=(node,)) for node in nodes]
    return found


def _held_by(topology: Topology, endpoint: Endpoint) -> tuple[list[int], list[int]]:
    """GPUs and nodes with host memory that an endpoint is."""
    if endpoint.kind is EndpointKind.GPU:
        return [gpu_numbered(topology, endpoint.numbers[0]).index], []
    known = host_nodes(topology)
    if not set(endpoint.numbers) <= set(known):
        names = ", ".join(f"node:{node}" for node in known)
        raise UserError(f"'{endpoint}' is not among the nodes with host memory, {names}")
    if endpoint.weights:
        raise UserError(f"'{endpoint}' has weights, but host memory of a GPU's path is on one node")
    return [], list(endpoint.numbers)


def gpus_of(request: Request, topology: Topology, spec: type[GpuSpec]) -> list[int]:
    """Return the GPUs of a request's from, all where none is named."""
    require_gpus(topology)
    found = places(request, topology, "from", spec, "gpu:*")
    return [place.gpu for place in found if isinstance(place, GpuPlace)]


def of_gpu(request: Request, topology: Topology, gpu: int) -> dict[str, Any]:
    """Return the fields of a spec that is about one GPU."""
    return {
        "initiator": f"gpu:{gpu}",
        "cpus": gpu_cpus(topology, gpu_numbered(topology, gpu)),
        "sampling": sampling_of(request),
        "trace": flag(request, "trace"),
        "gpu": gpu,
    }


def writers(request: Request) -> list[bool]:
    """Return whether the source's GPU writes, of each side asked for; else the other one reads."""
    return [side == "write" for side in choices(request, "side", SIDES) or ["read"]]


def flag(request: Request, option: str) -> bool:
    """Return whether a request sets a flag."""
    words = choices(request, option, ("yes", "no")) or ["no"]
    if len(words) > 1:
        raise request.wrong(option, "is yes or no for the whole request")
    return words == ["yes"]


def sampling_of(request: Request) -> Sampling:
    """Return what a request says of sampling, GPUs' own defaults where it says nothing."""
    return SAMPLING.model_copy(update=sampling(request))
