"""Requests for core-to-core latency."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from tierscope.kinds.core_latency.spec import DEFAULT_SIZE, CoreLatencySpec
from tierscope.model.endpoint import EndpointKind, Initiator, Target
from tierscope.model.errors import UserError
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine, options
from tierscope.plans.axes import (
    blamed,
    checked,
    choices,
    identity,
    initiators,
    pages,
    reason,
    sampling,
    sizes,
    targets,
)
from tierscope.plans.options import PREFETCHER_STATES, Option
from tierscope.plans.request import Request, RequestForm

STATES = ("modified", "clean")
READER, WRITER = "reader", "writer"
"""Homes that are named by who reads or writes: the node of that CPU."""


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[CoreLatencySpec]:
    """Yield a measurement for each reader, writer, home, state, size and kind of pages."""
    homes = _homes(request, topology)
    found_sizes = sizes(request, "size") or [DEFAULT_SIZE]
    kinds = pages(request, topology, thp)
    states = choices(request, "state", STATES) or list(STATES)
    switches = choices(request, "prefetchers", PREFETCHER_STATES) or ["as-found"]
    common = {"sampling": sampling(request)}
    for reader, writer in _pairs(request, topology):
        for home in _nodes(request, topology, homes, reader, writer):
            for state, size, kind, switch in itertools.product(
                states, found_sizes, kinds, switches
            ):
                parts = [request.name or "core-latency", state, f"cpus:{reader}", f"cpus:{writer}"]
                parts += [str(home), grammar.format_size(size), kind]
                parts += [f"pf-{switch}"] if "prefetchers" in request.options else []
                yield _spec(
                    request,
                    {
                        **common,
                        "id": identity(parts),
                        "initiator": f"cpus:{reader}",
                        "target": str(home),
                        "placement": checked(
                            request, "to", machine.placement, home, "bind", "user"
                        ),
                        "prefetchers": switch,
                        "cpu": reader,
                        "writer": writer,
                        "pattern": {"size": size, "state": state, "pages": kind},
                    },
                )


def _spec(request: Request, fields: dict[str, Any]) -> CoreLatencySpec:
    try:
        return CoreLatencySpec.model_validate(fields)
    except ValidationError as error:
        option = blamed(request, error, ("size",))
        given = request.options.get(option, "default")
        raise request.wrong(option, f"'{given}': {reason(error)}") from None


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
    return [(reader, _nearest(topology, reader)) for reader in readers]


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


def _nearest(topology: Topology, reader: int) -> int:
    """Return the writer that is taken unasked: another core of the reader's node, else any."""
    own = next((node for node in topology.nodes if reader in node.cpus), None)
    near = own.cpus if own else []
    core = next((core for core in topology.siblings if reader in core), [reader])
    usable = [cpu for cpu in topology.cpus if cpu != reader]
    if not usable:
        raise UserError(
            f"core-latency takes two CPUs, and this process may use CPU {reader} only "
            "(cgroup or CPU affinity)"
        )
    return min(usable, key=lambda cpu: (cpu in core, cpu not in near, cpu))


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
            "Whose caches hold the lines, the first CPU of each: cpus:1,cpus:8",
            "another core of the reader's node",
        ),
        options.TO.but(
            help="Homes of the lines: reader, writer (those CPUs' nodes), node:1, node:*",
            default="reader",
        ),
        Option(
            "state",
            "LIST",
            "modified (stored by the writer: HITM), clean (loaded by the writer: HIT)",
            "both",
        ),
        options.SIZE.but(
            help="Bytes that the lines are spread over, one line in each 256", default="256k"
        ),
        options.PAGES,
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
