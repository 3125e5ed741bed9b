"""The study of bandwidth expansion: pages spread over several nodes, by their shares.

Each node is measured by itself over threads, then pages are spread: in fixed ratios from nearly all
on the initiator's node to nearly none, in the shares that the nodes' own figures let expect, and
about the best of them.
"""

from collections.abc import Iterator

from tierscope.kinds.traffic.show import Weights, normal, target_of
from tierscope.kinds.traffic.spec import REQUEST as STREAMS
from tierscope.kinds.traffic.spec import TrafficSpec
from tierscope.model.endpoint import MAX_WEIGHT, EndpointKind, Initiator, parse_target, whole_number
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.run import Refinement
from tierscope.model.stream import StreamPattern
from tierscope.model.topology import Topology
from tierscope.plans import machine, options
from tierscope.plans.axes import checked, initiators
from tierscope.plans.grammar import (
    expand_counts,
    format_size,
    parse_number,
    split_endpoints,
    split_words,
)
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.sweep import options_for

RATIOS = "80:1,20:1,8:1,4:1,2:1,1:1,1:2,1:4,1:8,1:20,1:80"
"""Pages on the initiator's node to pages on another one."""
_FURTHER = "6"
_MOST_FURTHER = 100
_ALONE = "1..all*2"
_PASSED = ("mix", "order", "access-size", "isa", "prefetchers", "precision", "budget", "sample",
           "pin", "mechanism")  # fmt: skip
_DEFAULTS = {"mix": "100:0,67:33,0:100", "pages": "base", "budget": "1s"}


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[TrafficSpec]:
    """Yield each node by itself, then pages spread over them; raises UserError of one node."""
    _refinement(request)  # refuses what is wrong with it before anything is planned
    for initiator, nodes in studied(request, topology):
        cpus = checked(request, "from", machine.initiator_cpus, topology, initiator)
        given = request.options
        shared = {name: given[name] for name in _PASSED if name in given}
        shared = {**_DEFAULTS, **shared, "from": str(initiator)}
        shared["pages"] = given.get("pages", _DEFAULTS["pages"])
        default = format_size(machine.default_size(topology, cpus, nodes, 1))
        shared["size"] = given.get("size", default)
        threads = given.get("threads", "all")
        alone = _alone(request, len(cpus), threads)
        singles = ",".join(f"node:{node}" for node in nodes)
        yield from _streams(request, topology, thp, {**shared, "to": singles, "threads": alone})
        spread = ",".join(map(target_of, ratios(request, nodes)))
        rest = {"to": spread, "threads": threads, "policy": "weighted"}
        yield from _streams(request, topology, thp, {**shared, **rest})


def _alone(request: Request, usable: int, threads: str) -> str:
    """Return the thread counts of nodes by themselves, those of spread pages among them."""
    text = request.options.get("alone", _ALONE)
    counts = checked(request, "alone", expand_counts, text, usable)
    return ",".join([*(str(count) for count in counts if count <= usable), threads])


def _streams(
    request: Request, topology: Topology, thp: bool, given: dict[str, str]
) -> Iterator[TrafficSpec]:
    made = request.model_copy(update={"options": given, "name": request.name or "expand"})
    yield from STREAMS.expand(made, topology, thp)  # type: ignore[misc]


def studied(request: Request, topology: Topology) -> list[tuple[Initiator, list[int]]]:
    """Return each initiator with the nodes that its pages are spread over, its own one first."""
    nodes = [node.number for node in machine.memory_nodes(topology)]
    if "to" in request.options:
        nodes = checked(request, "to", _nodes, request.options["to"], nodes, topology)
    if len(nodes) < 2:
        named = f"--to names node {nodes[0]} only" if nodes else "this machine has none"
        raise UserError(
            "spreading pages takes two nodes with memory or more: "
            f"{machine.one_node(topology) or named}",
            ExitCode.NOTHING_MEASURED,
        )
    with_cpus = [node.number for node in machine.cpu_nodes(topology)]
    if "from" in request.options:
        sources = initiators(request, "from", TrafficSpec, with_cpus)
    else:
        sources = [Initiator(kind=EndpointKind.NODE, numbers=tuple(with_cpus[:1]))]
    return [(one, _own_first(one, nodes, topology)) for one in sources]


def _nodes(text: str, every: list[int], topology: Topology) -> list[int]:
    if text.strip() == "node:*":
        return every
    target = parse_target(text, (EndpointKind.NODE,), "expand")
    if target.weights:
        raise UserError(f"'{text}' has weights, which are what is looked for; name the nodes only")
    machine.check_target(topology, target)
    return list(target.numbers)


def _own_first(initiator: Initiator, nodes: list[int], topology: Topology) -> list[int]:
    cpus = set(machine.initiator_cpus(topology, initiator))
    own = [node.number for node in topology.nodes if cpus.intersection(node.cpus)]
    return sorted(nodes, key=lambda node: (node not in own, nodes.index(node)))


def ratios(request: Request, nodes: list[int]) -> list[Weights]:
    """Return the shares that are measured whatever the others come to."""
    pairs = checked(request, "ratios", _ratios, request.options.get("ratios", RATIOS))
    found = [normal([(nodes[0], near), (other, far)]) for other in nodes[1:] for near, far in pairs]
    asked = checked(request, "shares", _shares, request.options.get("shares", ""), nodes)
    return list(dict.fromkeys([*found, normal((node, 1) for node in nodes), *asked]))


def _shares(text: str, nodes: list[int]) -> list[Weights]:
    found = [shares(word, nodes) for word in split_endpoints(text)] if text else []
    return [weights for weights in found if len(weights) > 1]


def shares(text: str, nodes: list[int]) -> Weights:
    """Return the shares that ``node:0,2@3:1`` stands for; raises UserError of other nodes."""
    target = parse_target(text, (EndpointKind.NODE,), "expand")
    strange = [node for node in target.numbers if node not in nodes]
    if strange:
        known = ",".join(map(str, nodes))
        raise UserError(f"'{text}': node {strange[0]} is none of the nodes spread over, {known}")
    weights = target.weights or (1,) * len(target.numbers)
    return normal(zip(target.numbers, weights, strict=True))


def _ratios(text: str) -> list[tuple[int, int]]:
    if text.strip() == "none":
        return []
    found = []
    for word in split_words(text):
        first, _, second = word.partition(":")
        near, far = whole_number(first), whole_number(second)
        if near is None or far is None:
            raise UserError(f"'{word}' is not two numbers of pages such as 3:1")
        if not (1 <= near <= MAX_WEIGHT and 1 <= far <= MAX_WEIGHT):
            raise UserError(f"'{word}': numbers of pages go from 1 to {MAX_WEIGHT}")
        found.append((near, far))
    return found


def _further(text: str) -> int:
    return 0 if text.strip() == "0" else int(parse_number(text, 0, _MOST_FURTHER))


def _refinement(request: Request) -> Refinement:
    asked = request.options.get("further", _FURTHER)
    return Refinement(points=0, ratios=checked(request, "further", _further, asked))


REQUEST = RequestForm(
    options=(
        options.FROM,
        Option("to", "NODES", "Nodes to spread pages over, as in node:0,2", "all with memory"),
        options.MIX.but(default=_DEFAULTS["mix"]),
        *options_for(StreamPattern, "order", "access_size"),
        options.THREADS.but(help="Thread counts at which pages are spread, as in 8,all"),
        Option(
            "alone",
            "COUNTS",
            "Thread counts at which each node is measured alone",
            _ALONE,
            essential=False,
        ),
        Option(
            "ratios",
            "LIST",
            "Pages on the own node to pages on another one, or none",
            RATIOS,
            essential=False,
        ),
        Option(
            "shares",
            "LIST",
            "Also these shares of pages, as in node:0,2,3@8:3:1",
            "none",
            essential=False,
        ),
        Option("further", "COUNT", "Ratios added about the best one", _FURTHER, essential=False),
        options.PIN,
        options.SIZE.but(help="Bytes of the array, over all threads, as in 64m..4g"),
        options.PAGES.but(default="base, so that short shares hold long rounds"),
        options.MECHANISM,
        *options_for(StreamPattern, "isa"),
        options.PREFETCHERS,
        options.PRECISION,
        options.BUDGET.but(default="1s"),
        options.SAMPLE,
    ),
    expand=expand,
    help="""\
Pages are spread from 80:1 to 1:80, in the shares that the nodes' own bandwidths predict, and about
the best of them. Gains are over the own node only, at the same threads and at those that are best
for it, and over 1:1.""",
    examples=(
        "expand",
        "expand --to node:0,2 --mix 100:0,0:100nt --order sequential,random --access-size 64",
        "expand --threads 8,all --size 64m..4g*8 --further 10",
    ),
    refinement=_refinement,
)
