"""The spec of handover: two sides, the memory that both map, and who keeps it coherent."""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from tierscope.model.base import Count, Model
from tierscope.model.endpoint import EndpointKind, Target
from tierscope.model.evidence import OwnEvidence
from tierscope.model.property import IN_BYTES, MadeBy, Property
from tierscope.model.rules import Given, Rule, Ruled, Ruling, Same, refuses
from tierscope.model.spec import Cpu, MemorySpec, Placement, Region
from tierscope.model.topology import Topology
from tierscope.plans import machine, options
from tierscope.plans.axes import (
    checked,
    initiators,
    initiators_of,
    placement_of_other,
    sampling,
    targets,
)
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.sweep import asked, combinations, id_parts, options_of, spec_of

if TYPE_CHECKING:
    from tierscope.model.topology import Cache

LARGEST = 16 << 20
"""Bytes of the largest block."""
SHARED_BYTES = (64 << 10) + 2 * LARGEST
"""Bytes of the memory: lines that control the sides, and a block of each side."""
OTHER_HOST = "host"


class HandoverPattern(Ruled):
    """Blocks that both sides fill, and what they do about their caches."""

    block_size: Annotated[
        int,
        IN_BYTES,
        Field(ge=64, le=LARGEST, multiple_of=64),
        Property(
            "Bytes of a block that is handed over, up to 16m",
            default="64,4k,64k,1m",
            words="blocks of {}",
            id="b{}",
            id_always=True,
        ),
    ]
    coherence: Annotated[
        Literal["software", "hardware", "flags-only"],
        Property(
            "software (lines written back and dropped), hardware (no cache instruction), "
            "flags-only (blocks left to the hardware)",
            default="software,hardware",
            default_help="software,hardware on one host, software on two",
            words="{}",
            id_always=True,
        ),
    ] = "software"
    """software: flags and blocks are written back after stores and dropped before loads;
    hardware: neither; flags-only: flags are. Where the hardware does not keep the sides' caches
    coherent, the last two fail."""


class Handovers(Model):
    """Rounds of a repetition: a block to the responder, and one back."""

    rounds: Count
    responder: str
    """Process and host."""
    instructions: str
    """What the initiator's CPU did about its caches."""


class HandoverEvidence(OwnEvidence):
    """Keys of evidence of hand-overs."""

    handover: Handovers | None = None


class HandoverSpec(MemorySpec):
    """Half the time of a round trip of a block, and the block's bytes over it."""

    metric: ClassVar[str] = "handover_time"
    own_evidence: ClassVar[type[OwnEvidence]] = HandoverEvidence
    targets: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.PMEM, EndpointKind.DAX)
    recorded: ClassVar[tuple[str, ...]] = ("block_size", "coherence", "responder")
    extra_properties: ClassVar[dict[str, type]] = {"responder": str, "backing": str}

    kind: Literal["handover"] = "handover"
    cpu: Cpu
    """The initiator, which measures."""
    responder: Annotated[Cpu | None, MadeBy("responder")] = None
    """The CPU of the other process; absent, it runs on another host."""
    pattern: HandoverPattern

    placement: Annotated[Placement, MadeBy("to")]

    rules: ClassVar[tuple[Ruling, ...]] = (
        refuses(
            {"placement.persistent": None},
            because="is needed: what processes share is a file or a device",
        ),
        refuses(
            {"placement.persistent.backing": ("pool", "pool-objects")},
            because="is file, shared-file or device here",
        ),
        Rule(
            "responder",
            {"placement.persistent.backing": "file", "placement.persistent": Given()},
            "is needed with backing file, which no other host sees",
            {"responder": Given()},
        ),
        refuses({"responder": Same("cpu")}, because="is the CPU of the initiator"),
    )

    def thread_cpus(self) -> list[int]:
        """The initiator's, and the responder's where it is on this host."""
        return [self.cpu] if self.responder is None else [self.cpu, self.responder]

    def regions(self) -> list[Region]:
        """The shared memory."""
        return [Region(self.placement, "base", SHARED_BYTES)]

    def identity(self) -> dict[str, Any]:
        """The pattern and the responder."""
        responder = OTHER_HOST if self.responder is None else f"cpus:{self.responder}"
        return {**self.pattern.as_recorded(), "responder": responder, **self.placed_as()}

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:  # noqa: ARG002
        """Never: what goes through caches is measured."""
        return False

    def fits_memory_side_cache(self, nodes: Sequence[Any]) -> bool:  # noqa: ARG002
        """Never, likewise."""
        return False


SPEC = HandoverSpec


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[HandoverSpec]:  # noqa: ARG001
    """Yield a measurement for each initiator, target, responder and pattern."""
    for initiator in initiators_of(request, topology, HandoverSpec):
        cpu = checked(request, "from", machine.initiator_cpus, topology, initiator)[0]
        for target, responder in itertools.product(
            _targets(request, topology, cpu), _responders(request, topology, cpu)
        ):
            placement = _placement(request, topology, cpu, target, responder)
            unasked = ["software"] if responder is None else ["software", "hardware"]
            axes = {"coherence": asked(request, HandoverPattern, "coherence") or unasked}
            for values in combinations(request, HandoverPattern, axes):
                fields = {
                    "sampling": sampling(request),
                    "initiator": str(initiator),
                    "target": str(target),
                    "placement": placement,
                    "cpu": cpu,
                    "responder": responder,
                    "pattern": values,
                }
                other = OTHER_HOST if responder is None else f"cpus:{responder}"
                parts = [values["coherence"], str(initiator), other, str(target)]
                parts += id_parts(HandoverPattern, values, "coherence")
                yield spec_of(request, HandoverSpec, fields, parts)


def _targets(request: Request, topology: Topology, cpu: int) -> list[Target]:
    """Return the targets that were asked for, else memory of the initiator's node."""
    if "to" in request.options:
        found = targets(request, "to", HandoverSpec)
        for target in found:
            checked(request, "to", machine.check_target, topology, target)
        return found
    nodes = machine.memory_nodes(topology)
    own = [node.number for node in nodes if cpu in node.cpus]
    number = (own or [node.number for node in nodes] or [0])[0]
    return [Target(kind=EndpointKind.PMEM, numbers=(number,))]


def _responders(request: Request, topology: Topology, cpu: int) -> list[int | None]:
    """Return the responders' CPUs, one of each endpoint; None: on another host."""
    asked_for = request.options.get("responder")
    if asked_for == OTHER_HOST:
        return [None]
    if asked_for is None:
        return [machine.other_core(topology, cpu, request.kind)]
    every = [node.number for node in machine.cpu_nodes(topology)]
    found: list[int | None] = []
    for endpoint in initiators(request, "responder", HandoverSpec, every):
        cpus = checked(request, "responder", machine.initiator_cpus, topology, endpoint)
        found += [one for one in cpus if one != cpu][:1]
    if not found:
        raise request.wrong("responder", f"CPU {cpu} is the initiator; name another one")
    return list(dict.fromkeys(found))


def _placement(
    request: Request, topology: Topology, cpu: int, target: Target, responder: int | None
) -> Placement:
    """Return what holds the memory; what two hosts share is a device or a file that exists."""
    placement = placement_of_other(request, topology, [cpu], target)
    persistent = placement.persistent
    if persistent is None or target.kind is EndpointKind.DAX:
        return placement
    if responder is None and target.numbers:
        raise request.wrong("to", f"no other host shares {target}; name dax:DEVICE or pmem:FILE")
    if responder is not None and not Path(persistent.path).is_file():
        return placement
    shared = persistent.model_copy(update={"backing": "shared-file"})
    return placement.model_copy(update={"persistent": shared})


REQUEST = RequestForm(
    options=(
        options.FROM.but(help="Initiators, the first CPU of each: cpus:0, node:0 or node:*"),
        Option(
            "responder",
            "ENDPOINTS",
            "CPUs of the responder, the first of each endpoint; host: it runs on another host, by "
            "`tierscope handover-responder`",
            "another core of the initiator's node",
        ),
        options.to_of(HandoverSpec).but(
            help="Memory that both map: dax:/dev/dax0.0, pmem:DIR, pmem:node:0, or a file: "
            "pmem:/mnt/famfs/f",
            default="pmem:node: of the initiator's node",
        ),
        *options_of(HandoverPattern),
        options.BACKED_BY,
        options.DAX_OFFSET,
        options.DESTROY_DAX,
        *options.SAMPLING,
    ),
    expand=expand,
    help="""\
The initiator fills a block, writes its cache lines back and publishes a flag in the same way. The
responder polls the flag past its cache, drops its lines of the block, compares every byte with the
pattern of the round, and hands a block of its own back, which the initiator compares. The figure is
half a round trip. --coherence hardware does the same without cache instructions; flags-only shows
that the comparison finds stale lines: it fails where hosts are not coherent, and only there.""",
    examples=(
        "handover",
        "handover --to dax:/dev/dax0.0 --destroy-data dax0.0 --from node:0 --responder node:1",
        "handover --to dax:/dev/dax0.0 --destroy-data dax0.0 --responder host --block-size 64,1m",
    ),
)
