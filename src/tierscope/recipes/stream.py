"""STREAM: Copy, Scale, Add and Triad by the rules of McCalpin's benchmark.

The arrays are those of stream.c: Copy is c = a, Scale b = s * c, Add c = a + b, Triad
a = b + s * c. Each of them can be in another place, and is there whatever function goes over it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tierscope.kinds.bandwidth.request import FIRST_TOUCH
from tierscope.kinds.bandwidth.request import expand as expand_bandwidth
from tierscope.kinds.bandwidth.spec import BandwidthSpec
from tierscope.model.topology import Topology
from tierscope.plans import options
from tierscope.plans.axes import choices
from tierscope.plans.expand import expand
from tierscope.plans.grammar import format_size
from tierscope.plans.machine import MIB
from tierscope.plans.options import Option
from tierscope.plans.request import Request
from tierscope.recipes.registry import Prepared
from tierscope.recipes.stream_rules import rule_bytes

_LEAST = 256 * MIB
_STEP = 64 * MIB
_ROOM = 0.75
"""Of a node's free memory, the share that a default may take."""
_BUDGET = "5s"
"""Large arrays take a while to fill and to compare."""
ARRAYS = ("a", "b", "c")
NON_TEMPORAL, ORDINARY, MEMCPY = "non-temporal", "ordinary", "memcpy"
STORES = (ORDINARY, MEMCPY, NON_TEMPORAL)


@dataclass(frozen=True)
class Function:
    """One of STREAM's four."""

    name: str
    operation: str
    """With ordinary stores, as kind bandwidth names it."""
    written: str
    read: tuple[str, ...]

    def operation_with(self, stores: str) -> str:
        """The operation that such stores make of it; compilers make memcpy of Copy alone."""
        if stores == MEMCPY and self.operation == "copy":
            return "memcpy"
        return f"{self.operation}-nt" if stores == NON_TEMPORAL else self.operation


FUNCTIONS = (
    Function("Copy", "copy", "c", ("a",)),
    Function("Scale", "scale", "b", ("c",)),
    Function("Add", "add", "c", ("a", "b")),
    Function("Triad", "triad", "a", ("b", "c")),
)

OPTIONS = (
    options.FROM,
    options.TO.but(help="Where all three arrays are: node:1, node:0,2@3:1 (interleaved by weight)"),
    *(Option(name, "ENDPOINT", f"Where array {name} is", "as --to") for name in ARRAYS),
    Option("first-touch", "", "Pages go where the threads run, not where --to says", flag=True),
    options.PIN,
    options.THREADS,
    Option(
        "stores",
        "LIST",
        "ordinary, memcpy (Copy by the C library, as gcc -O3 makes it), non-temporal",
        "all; memcpy for --format stream",
    ),
    options.SIZE.but(help="Bytes of each array", default="4 x the last-level caches used"),
    options.PAGES,
    options.ISA,
    options.POLICY,
    options.MECHANISM,
    *options.PERSISTENT,
    options.PREFETCHERS,
    options.PRECISION,
    options.BUDGET.but(default=_BUDGET),
    options.SAMPLE,
)
_OWN = (*ARRAYS, "to", "first-touch", "stores")
"""Options that bandwidth has not, or not in this meaning."""


def requests(given: dict[str, str], stores: Sequence[str] = STORES) -> list[Request]:
    """Return a request of bandwidth for each function, with the kinds of stores asked for, else
    ``stores``; raises UserError where options contradict each other."""
    asked = Request(kind="bandwidth", options=given)
    chosen = choices(asked, "stores", STORES) or _possible(given, stores)
    _check(asked)
    passed = {"budget": _BUDGET}
    passed |= {name: text for name, text in given.items() if name not in _OWN}
    if "first-touch" in given:
        passed["policy"] = FIRST_TOUCH
    found = []
    for function in FUNCTIONS:
        operations = dict.fromkeys(function.operation_with(one) for one in chosen)
        places, origins = _places(asked, function)
        made = {**passed, **places, "op": ",".join(operations)}
        found.append(Request(kind="bandwidth", name="stream", options=made, origins=origins))
    return found


def _possible(given: dict[str, str], stores: Sequence[str]) -> list[str]:
    """Return the kinds of stores that go with what else was asked for.

    The C library chooses its own instructions, and object ids are translated in ordinary loops.
    """
    if "pool-objects" in given.get("backing", ""):
        return [ORDINARY]
    possible = [one for one in stores if one != MEMCPY or "isa" not in given]
    return possible or [ORDINARY]


def _check(asked: Request) -> None:
    given = asked.options
    named = [name for name in ARRAYS if name in given]
    if "first-touch" in given:
        for name in ("to", *ARRAYS, "policy", "mechanism"):
            if name in given:
                raise asked.wrong(name, "goes not with --first-touch, by which threads place pages")
    if named and len(named) < len(ARRAYS) and "to" not in given:
        missing = " and ".join(f"--{name}" for name in ARRAYS if name not in given)
        raise asked.wrong(named[0], f"name the other arrays' place in --to, or in {missing}")


def _places(asked: Request, function: Function) -> tuple[dict[str, str], dict[str, str]]:
    """Return where bandwidth's arrays are, by its options, and the options that said so."""
    roles = dict(zip(("to", *ARRAYS[1:]), (function.written, *function.read), strict=False))
    places, origins = {}, {}
    for option, array in roles.items():
        source = array if array in asked.options else "to"
        if source in asked.options and (option == "to" or any(n in asked.options for n in ARRAYS)):
            places[option] = asked.options[source]
            origins[option] = f"--{source}"
    return places, origins


def with_size(made: list[Request], topology: Topology, thp: bool) -> list[Request]:
    """Return the requests with arrays as large as STREAM's rule asks, where no size was given."""
    if any("size" in request.options for request in made) or topology.emulated:
        return made
    specs = [spec for request in made for spec in expand_bandwidth(request, topology, thp)]
    size = default_size(specs, topology)
    rounds = max((each.round_pages for spec in specs for each in spec.placements()), default=1)
    if rounds > 1:  # of which each thread's share holds at least one
        size = max(size, *(spec.pattern.size for spec in specs))
    text = format_size(size)
    return [r.model_copy(update={"options": {**r.options, "size": text}}) for r in made]


def default_size(specs: Iterable[BandwidthSpec], topology: Topology) -> int:
    """Bytes of an array by STREAM's rule, rounded up to 64 MiB and from 256 MiB on; less where the
    nodes have not so much free."""
    size, room = _LEAST, None
    for spec in specs:
        wanted = rule_bytes(topology, spec.cpus)
        size = max(size, -(-wanted // _STEP) * _STEP)
        found = _room(spec, topology)
        room = found if room is None else min(room, found or room)
    if room is None or size <= room:
        return size
    return max(MIB, room // MIB * MIB)


def _room(spec: BandwidthSpec, topology: Topology) -> int | None:
    """Bytes that each array of a measurement may have, by what is free; None: nobody knows."""
    needed: Counter[int] = Counter()
    for region in spec.regions():
        needed.update(region.bytes_by_node())
    per_node = [
        node.free_bytes * spec.pattern.size / needed[node.number]
        for node in topology.nodes
        if node.free_bytes is not None and needed[node.number]
    ]
    if topology.memory_left_bytes is not None:
        per_node.append(topology.memory_left_bytes * spec.pattern.size / needed.total())
    return int(_ROOM * min(per_node)) if per_node else None


def prepare(_name: str, topology: Topology, thp: bool) -> Prepared:
    """Return STREAM as ``tierscope stream`` makes it without options."""
    made = with_size(requests({}), topology, thp)
    return Prepared(expand(made, topology, thp), made)
