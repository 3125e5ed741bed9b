"""Families of bandwidth-latency curves over the mixes of the bus's traffic, as Mess draws them.

After Esmaili-Dokht et al., "A Mess of Memory System Benchmarking, Simulation and Application
Profiling", MICRO 2024: a curve for each share of reads among the lines on the bus. Ordinary stores
fetch their line first, so at least half of what they move is reads; below that, stores are
non-temporal.
"""

from collections.abc import Iterator

from tierscope.kinds.loaded_latency import spec as loaded_latency
from tierscope.kinds.loaded_latency.refine import further_seconds
from tierscope.kinds.loaded_latency.spec import LoadedLatencySpec
from tierscope.model.errors import UserError
from tierscope.model.run import Refinement
from tierscope.model.topology import Topology
from tierscope.plans import machine
from tierscope.plans.axes import checked
from tierscope.plans.grammar import split_words
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm

READS = "100,90,80,70,60,50,25,0"
"""Percent of reads on the bus, of each curve."""
_POINTS = "10"
_SECONDS = 600.0
"""Time of all main paths together, without set-up, as long as each point gets its minimum."""
_MOST_S, _LEAST_S = 1.0, 0.3
"""Seconds of a point: the first suffices for most, and below the second few have an interval."""
LOADED = loaded_latency.REQUEST
_DEFAULTS = {
    "from": "the first node with CPUs, and those nearest to each memory",
    "to": "all nodes with memory",
    "points": _POINTS,
    "budget": f"{_MOST_S:g}s, less where all would take over ten minutes",
}
_OWN = ("mix", "load-threads", "at")
"""Options of loaded latency that the family sets itself."""


def _option(option: Option) -> Option:
    """Return an option of loaded latency with this suite's own default."""
    return option.but(default=_DEFAULTS[option.name]) if option.name in _DEFAULTS else option


def mix_of(word: str) -> str:
    """Return the program's mix that puts this percentage of reads on the bus: "75" is 67:33.

    Ordinary stores of w lines beside 100 - w that are read bring 100 reads and w writes. ``nt``
    behind it asks for non-temporal stores, which bring what the program asks for; below 50% there
    are no others. Mixes are whole percents, so that the bus's share is within half a percent of
    the one asked for. Raises UserError of what is not a percentage.
    """
    digits = word.removesuffix("nt")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 3 and int(digits) <= 100):
        raise UserError(f"'{word}' is not a percentage of reads such as 75 or 75nt, from 0 to 100")
    reads = int(digits)
    if reads == 100 and digits != word:
        raise UserError(f"'{word}': without writes, none can be non-temporal")
    if digits != word or reads < 50:
        return f"{reads}:{100 - reads}nt"
    writes = round(100 * (100 - reads) / reads)
    return f"{100 - writes}:{writes}"


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[LoadedLatencySpec]:
    """Yield the first points of every curve of every path."""
    words = split_words(request.options.get("reads", READS))
    mixes = checked(request, "reads", lambda: [mix_of(word) for word in words])
    specs = [
        spec
        for path in main_paths(request, topology)
        for spec in loaded_latency.expand(
            _request(request, {**path, "mix": ",".join(mixes)}), topology, thp
        )
    ]
    yield from specs if "budget" in request.options else _within_time(specs, refinement(request))


def _request(request: Request, more: dict[str, str]) -> Request:
    """Return a request for loaded latency with the options that this one has of it."""
    passed = {key: value for key, value in request.options.items() if key != "reads"}
    named = {"kind": "loaded-latency", "name": request.name or request.kind}
    return request.model_copy(
        update={**named, "options": {"points": _POINTS, "budget": f"{_MOST_S}s", **passed, **more}}
    )


def main_paths(request: Request, topology: Topology) -> list[dict[str, str]]:
    """Return the endpoints of each path: those asked for, else those of the main ones.

    These go from the first node with CPUs to every node with memory, and to every node with memory
    from the CPUs nearest to it.
    """
    every = machine.memory_nodes(topology)
    if "from" in request.options or "to" in request.options:
        nodes = ",".join(f"node:{node.number}" for node in every)
        return [{"to": request.options.get("to", nodes)}]
    starts = machine.cpu_nodes(topology)[:1]
    if not starts or not every:
        raise UserError("this machine has no node with CPUs and memory that this process may use")
    pairs = [(starts[0], node) for node in every]
    pairs += [(machine.best_initiator(topology, node), node) for node in every]
    found = dict.fromkeys((start.number, node.number) for start, node in pairs)
    return [{"from": f"node:{start}", "to": f"node:{node}"} for start, node in found]


def _within_time(specs: list[LoadedLatencySpec], how: Refinement) -> Iterator[LoadedLatencySpec]:
    """Yield points of less time each where all of them would take more than ten minutes."""
    longest = _MOST_S * len(specs) + further_seconds(specs, how)
    budget = max(_LEAST_S, min(_MOST_S, round(_MOST_S * _SECONDS / longest, 2)))
    for spec in specs:
        sampling = spec.sampling.model_copy(update={"budget_s": budget})
        yield spec.model_copy(update={"sampling": sampling})


def refinement(request: Request) -> Refinement:
    """Return how many points each curve gets."""
    return loaded_latency.refinement(_request(request, {}))


REQUEST = RequestForm(
    options=(
        Option(
            "reads",
            "LIST",
            "Percent of reads on the bus, a curve for each; 75nt, and all below 50, by "
            "non-temporal stores",
            READS,
        ),
        *(_option(option) for option in LOADED.options if option.name not in _OWN),
    ),
    expand=expand,
    refinement=refinement,
    help="""\
Latency of a pointer chase over what other CPUs move meanwhile, from idle to saturated: a curve for
each share of reads on the bus, as the Mess benchmark draws them, and its metrics: unloaded and
maximum latency, and the saturated range. Without --from and --to: from the first node with CPUs to
all memory, and to all memory from the CPUs nearest to it, in about ten minutes.""",
    examples=(
        "mess",
        "mess --to node:0 --reads 100,75,50,67nt",
        "mess --from node:0 --to node:0,node:2 --points 20 --budget 2s",
        "mess --from node:0 --to node:2 --load-from node:1",
    ),
)
