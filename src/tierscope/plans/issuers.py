"""Who issues operations on storage, and the files and devices that a request names."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tierscope.model.endpoint import EndpointKind, Initiator, Target
from tierscope.model.spec import MeasurementSpec
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine
from tierscope.plans.axes import checked, initiators_of, pinned_cpus, targets
from tierscope.plans.gpu import gpu_cpus, gpu_numbered, home_node
from tierscope.plans.request import Request

_MAX_THREADS = 4096


@dataclass(frozen=True)
class Issuer:
    """CPUs that issue operations, with buffers on a node or on a GPU near them."""

    initiator: Initiator
    cpus: list[int]
    node: int
    gpu: int | None = None


def issuers(request: Request, topology: Topology, spec: type[MeasurementSpec]) -> Iterator[Issuer]:
    """Yield who issues operations by a request's from and pin."""
    for initiator in initiators_of(request, topology, spec):
        if initiator.kind is EndpointKind.GPU:
            gpu = checked(request, "from", gpu_numbered, topology, initiator.numbers[0])
            yield Issuer(initiator, gpu_cpus(topology, gpu), home_node(topology, gpu), gpu.index)
            continue
        cpus = pinned_cpus(request, topology, initiator)
        own = [node.number for node in machine.memory_nodes(topology) if cpus[0] in node.cpus]
        nodes = own or [node.number for node in machine.cpu_nodes(topology)]
        yield Issuer(initiator, cpus, nodes[0])


def storage_targets(request: Request, spec: type[MeasurementSpec]) -> list[Target]:
    """Return the targets of a request, the current directory where none is named."""
    if "to" not in request.options:
        return [Target(kind=EndpointKind.FILE, path=str(Path.cwd()))]
    return targets(request, "to", spec)


def storage_threads(request: Request, issuer: Issuer) -> list[int]:
    """Return a request's numbers of threads, 1 where none is given; more than CPUs are allowed."""
    text = request.options.get("threads", "1")
    found: list[int] = checked(request, "threads", grammar.expand_counts, text, len(issuer.cpus))
    if max(found) > _MAX_THREADS:
        raise request.wrong("threads", f"{max(found)} is too many; the maximum is {_MAX_THREADS}")
    return found
