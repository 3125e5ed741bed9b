"""Pairs of a reader and a target that read at the same time, beside each of them alone.

Nodes read the targets that are near them. GPUs read the drives that they are assigned, so that the
fewest uplinks are shared.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tierscope.kinds.io.spec import IoJob, IoSpec
from tierscope.model.endpoint import EndpointKind, Initiator, Target, parse_initiator
from tierscope.model.errors import UserError
from tierscope.model.topology import Topology
from tierscope.plans.gpu import gpu_cpus, gpu_numbered
from tierscope.plans.machine import initiator_cpus
from tierscope.plans.pinning import pinned
from tierscope.topology.assignment import assign
from tierscope.topology.near_far import near_and_far
from tierscope.topology.storage_paths import drives_of, locate

Pair = tuple[str, str]
"""Initiator and target."""


@dataclass(frozen=True)
class Together:
    """A measurement of several pairs at once."""

    id: str
    reads: str
    alone: dict[str, str]
    """By the part of the figures that is a pair's, the id of the pair's measurement alone."""


def pairs_of(
    topology: Topology, initiators: Sequence[str], targets: Sequence[Target]
) -> list[list[Pair]]:
    """Return the pairs that read together: those of nodes, then those of GPUs.

    Of targets with a drive in common, such as an array and its members, the first one takes part.
    """
    apart = _apart(topology, targets)
    of_nodes = list(_near(topology, [i for i in initiators if i.startswith("node:")], apart))
    of_gpus = list(_assigned(topology, initiators, apart)) if topology.gpus else []
    return [pairs for pairs in (of_nodes, of_gpus) if len(pairs) > 1]


def _apart(topology: Topology, targets: Sequence[Target]) -> list[tuple[Target, set[str]]]:
    """Targets with no drive in common, and their drives by the names that affinity has."""
    found: list[tuple[Target, set[str]]] = []
    for target in targets:
        below = {drive.controller or drive.name for drive in drives_of(locate(topology, target))}
        if not any(below & others for _, others in found):
            found.append((target, below))
    return found


def _near(
    topology: Topology, nodes: Sequence[str], targets: Sequence[tuple[Target, set[str]]]
) -> Iterator[Pair]:
    for target, _ in targets if nodes else []:
        try:
            near = [f"node:{number}" for number in near_and_far(topology, target).near]
        except UserError:  # nobody knows where its drives are
            near = []
        yield next((node for node in near if node in nodes), nodes[0]), str(target)


def _assigned(
    topology: Topology, initiators: Sequence[str], targets: Sequence[tuple[Target, set[str]]]
) -> Iterator[Pair]:
    for stream in assign(topology).drives:
        for target, below in targets:
            if below == {stream.device} and stream.gpu in initiators:
                yield stream.gpu, str(target)


def combined(
    topology: Topology, name: str, reads: str, alone: Sequence[IoSpec]
) -> tuple[IoSpec, Together]:
    """Return the measurement of all of these at once; each has threads on CPUs of its own."""
    used: dict[tuple[int, ...], int] = {}
    jobs: list[IoJob] = []
    for spec in alone:
        (job,) = spec.jobs
        cpus = _cpus(topology, parse_initiator(spec.initiator))
        first = used.get(tuple(cpus), 0)
        used[tuple(cpus)] = first + len(job.cpus)
        own = [cpus[(first + at) % len(cpus)] for at in range(len(job.cpus))]
        jobs.append(job.model_copy(update={"name": spec.target, "cpus": own}))
    made = alone[0].model_copy(update={"id": name, "jobs": jobs})
    ids = {job.name: spec.id for job, spec in zip(jobs, alone, strict=True)}
    return made, Together(name, reads, ids)


def _cpus(topology: Topology, initiator: Initiator) -> list[int]:
    """CPUs that an initiator's threads run on, in the order in which they take them."""
    if initiator.kind is EndpointKind.GPU:
        return gpu_cpus(topology, gpu_numbered(topology, initiator.numbers[0]))
    return pinned(topology, initiator_cpus(topology, initiator), "cores")
