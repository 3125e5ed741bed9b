"""The spec of core-to-core latency: loads of lines that another core's caches hold."""

import itertools
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from tierscope.model.base import Count, Model
from tierscope.model.endpoint import EndpointKind, Initiator, Target
from tierscope.model.evidence import OwnEvidence
from tierscope.model.property import IN_BYTES, PAGES, SIZE, MadeBy, Property
from tierscope.model.rules import Differs, Ruled, Ruling, Same, refuses
from tierscope.model.spec import Cpu, MemorySpec, NodePlacement, Pages, Placement, Region
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine, options
from tierscope.plans.axes import (
    checked,
    choices,
    initiators,
    pages,
    sampling,
    targets,
)
from tierscope.plans.options import PREFETCHER_STATES, Option
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.sweep import combinations, id_parts, options_of, spec_of

if TYPE_CHECKING:
    from tierscope.model.topology import Cache


SLOT = 256
"""Bytes of which one line is handed over, so that no line's neighbour is prefetched."""
DEFAULT_SIZE = 256 << 10
"""Bytes: 1024 lines, which the L2 cache of any server's core holds."""


class CoreLatencyPattern(Ruled):
    """Lines that the writer's caches hold when the reader loads them."""

    state: Annotated[
        Literal["modified", "clean"],
        Property(
            "modified (stored by the writer: HITM), clean (loaded by the writer: HIT)",
            default="modified,clean",
            default_help="both",
            words="{}",
            id_always=True,
        ),
    ] = "modified"
    """modified: the writer stored to them last (a load is a HITM); clean: the writer loaded them
    last, after all caches had written them back and dropped them (a HIT, where it is forwarded)."""
    size: Annotated[
        int,
        IN_BYTES,
        Field(ge=SLOT, le=1 << 30, multiple_of=SLOT),
        SIZE.but(
            help="Bytes that the lines are spread over, one line in each 256",
            default_help="",
            id_always=True,
        ),
    ] = DEFAULT_SIZE
    """Bytes that the lines are spread over, one line in each 256 bytes."""
    pages: Annotated[Pages, PAGES] = "thp"


class Handovers(Model):
    """Lines that one CPU left in its caches and another one loaded, over all samples."""

    lines: Count
    """Lines of each round."""
    rounds: Count
    exchanges: Count | None = None
    """Round trips of one line that both updated in turn, where they did."""


class CoreLatencyEvidence(OwnEvidence):
    """Keys of evidence of core-to-core latency."""

    handovers: Handovers | None = None


class CoreLatencySpec(MemorySpec):
    """Latency of one CPU's dependent loads of lines that another CPU touched last."""

    metric: ClassVar[str] = "latency"
    own_evidence: ClassVar[type[OwnEvidence]] = CoreLatencyEvidence
    compared: ClassVar[tuple[str, ...]] = ("exchange_latency",)
    targets: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.NODE,)
    recorded: ClassVar[tuple[str, ...]] = ("size", "state", "writer")
    extra_properties: ClassVar[dict[str, type]] = {"writer": int}

    kind: Literal["core-latency"] = "core-latency"
    cpu: Cpu
    """The reader."""
    writer: Cpu
    pattern: CoreLatencyPattern

    placement: Annotated[NodePlacement, MadeBy("to")]

    rules: ClassVar[tuple[Ruling, ...]] = (
        refuses(
            {"placement.policy": Differs("bind")}, because="has to be bind: lines have one home"
        ),
        refuses({"writer": Same("cpu")}, because="is the CPU that reads"),
    )

    def thread_cpus(self) -> list[int]:
        """The reader, then the writer."""
        return [self.cpu, self.writer]

    def regions(self) -> list[Region]:
        """The region that holds the lines."""
        return [Region(self.placement, self.pattern.pages, self.pattern.size)]

    def identity(self) -> dict[str, Any]:
        """The pattern and the writer."""
        return {**self.pattern.as_recorded(), "writer": self.writer, **self.placed_as()}

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:  # noqa: ARG002
        """Never: it is the caches that are measured."""
        return False

    def fits_memory_side_cache(self, nodes: Sequence[Any]) -> bool:  # noqa: ARG002
        """Never: caches are measured."""
        return False


SPEC = CoreLatencySpec


READER, WRITER = "reader", "writer"
"""Homes that are named by who reads or writes: the node of that CPU."""


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[CoreLatencySpec]:
    """Yield a measurement for each reader, writer, home, state, size and kind of pages."""
    homes = _homes(request, topology)
    axes = {"pages": pages(request, topology, thp)}
    switches = choices(request, "prefetchers", PREFETCHER_STATES) or ["as-found"]

    # The same for all pairs, of which a machine may have tens of thousands.
    @cache
    def patterns() -> list[dict[str, Any]]:
        return list(combinations(request, CoreLatencyPattern, axes))

    @cache
    def placement(home: Target) -> Placement:
        return checked(request, "to", machine.placement, home, "bind", "user")

    for reader, writer in _pairs(request, topology):
        for home, switch in itertools.product(
            _nodes(request, topology, homes, reader, writer), switches
        ):
            for values in patterns():
                fields = {
                    "sampling": sampling(request),
                    "initiator": f"cpus:{reader}",
                    "target": str(home),
                    "placement": placement(home),
                    "prefetchers": switch,
                    "cpu": reader,
                    "writer": writer,
                    "pattern": values,
                }
                parts = [values["state"], f"cpus:{reader}", f"cpus:{writer}", str(home)]
                parts += id_parts(CoreLatencyPattern, values, "state")
                parts += [f"pf-{switch}"] if "prefetchers" in request.options else []
                yield spec_of(request, CoreLatencySpec, fields, parts)


def _pairs(request: Request, topology: Topology) -> list[tuple[int, int]]:
    """Return readers and writers; what is both is left out, unless that leaves nothing."""
    readers = _cpus(request, topology, "from") or _any_cpu(topology)
    writers = _cpus(request, topology, "writer")
    if writers:
        found = [(reader, writer) for reader in readers for writer in writers if reader != writer]
        if not found:
            raise request.wrong(
                "writer", f"CPU {writers[0]} is the reader; name another one as the writer"
            )
        return found
    return [(reader, machine.other_core(topology, reader, request.kind)) for reader in readers]


def _cpus(request: Request, topology: Topology, option: str) -> list[int]:
    """Return the first CPU of each endpoint of an option; none where it is not given."""
    if option not in request.options:
        return []
    every = [node.number for node in machine.cpu_nodes(topology)]
    found = [
        checked(request, option, machine.initiator_cpus, topology, endpoint)[0]
        for endpoint in initiators(request, option, CoreLatencySpec, every)
    ]
    return list(dict.fromkeys(found))


def _any_cpu(topology: Topology) -> list[int]:
    nodes = machine.cpu_nodes(topology)
    if not nodes:
        raise machine.no_initiator(topology)
    node = Initiator(kind=EndpointKind.NODE, numbers=(nodes[0].number,))
    return machine.initiator_cpus(topology, node)[:1]


def _homes(request: Request, topology: Topology) -> list[str | Target]:
    """Return the homes asked for: words, and nodes."""
    if "to" not in request.options:
        return [READER]
    words = grammar.split_endpoints(request.options["to"])
    every = [node.number for node in machine.memory_nodes(topology)]
    found: list[str | Target] = []
    for word in words:
        if word in (READER, WRITER):
            found.append(word)
            continue
        alone = request.model_copy(update={"options": {**request.options, "to": word}})
        found += targets(alone, "to", CoreLatencySpec, every)
    return found


def _nodes(
    request: Request,
    topology: Topology,
    homes: Sequence[str | Target],
    reader: int,
    writer: int,
) -> list[Target]:
    """Return the nodes that the homes are for a pair, each once."""
    found: dict[str, Target] = {}
    for home in homes:
        target = home
        if isinstance(target, str):
            cpu = reader if home == READER else writer
            target = Target(kind=EndpointKind.NODE, numbers=(_node_of(request, topology, cpu),))
        checked(request, "to", machine.check_target, topology, target)
        found[str(target)] = target
    return list(found.values())


def _node_of(request: Request, topology: Topology, cpu: int) -> int:
    """Return the node of a CPU, or the nearest one with memory where that has none."""
    own = next((node for node in topology.nodes if cpu in node.cpus), None)
    nodes = machine.memory_nodes(topology)
    if not nodes:
        raise request.wrong("to", "no node has memory")
    if own is None:
        return nodes[0].number
    if own in nodes:
        return own.number
    return min(nodes, key=lambda n: (own.distances.get(n.number, 1 << 30), n.number)).number


REQUEST = RequestForm(
    options=(
        options.FROM.but(
            help="Readers, the first CPU of each: cpus:0, node:0 or node:*",
        ),
        Option(
            "writer",
            "ENDPOINTS",
            "CPUs whose caches hold the lines, the first of each endpoint: cpus:1,cpus:8",
            "another core of the reader's node",
        ),
        options.to_of(CoreLatencySpec).but(
            help="Homes of the lines: reader, writer (those CPUs' nodes), node:1, node:*",
            default="reader",
        ),
        *options_of(CoreLatencyPattern),
        options.PREFETCHERS,
        *options.SAMPLING,
    ),
    expand=expand,
    help="""\
The writer stores to lines that its L2 cache can hold (modified), or has all caches drop them and
loads them (clean); then the reader loads them by dependent loads in a random order, which is timed.
Beside it, an exchange: half the round trip of one line that both update in turn, the figure of
public core-to-core tools. `tierscope matrix --cores` measures all pairs of cores.""",
    examples=(
        "core-latency --from cpus:0 --writer cpus:1",
        "core-latency --from node:0 --writer node:1 --to reader,writer",
        "core-latency --from cpus:0 --writer cpus:1,cpus:5 --state modified --json",
    ),
)
