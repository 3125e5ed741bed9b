"""The spec of bandwidth: CPUs that read and write memory as fast as they can."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field

from tierscope.model.endpoint import EndpointKind
from tierscope.model.errors import UserError
from tierscope.model.path import Traffic, of_operation
from tierscope.model.persistent import OBJECTS, SHARED
from tierscope.model.property import (
    ACCESS_SIZE,
    IN_BYTES,
    ISA,
    OPERATION,
    ORDER,
    PAGES,
    SIZE,
    SKEW,
    STRIDE,
    ZIPF_ALPHA,
    MadeBy,
    Property,
    declared,
)
from tierscope.model.rules import Below, Check, Given, Prunes, Rule, Ruled, Ruling, needs, refuses
from tierscope.model.spec import (
    CACHE_LINE,
    ArrayPlacement,
    BoundBy,
    Bytes,
    Isa,
    MemorySpec,
    NodeShare,
    Pages,
    Placement,
    Region,
)
from tierscope.model.threads import Threads
from tierscope.model.topology import Topology
from tierscope.model.where import where_of
from tierscope.plans import machine, options
from tierscope.plans.axes import (
    MemoryPath,
    checked,
    common_fields,
    memory_paths,
    placement_of_other,
    targets,
    thread_counts,
)
from tierscope.plans.options import FIRST_TOUCH, Option
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.rounds import Arrays, sizes_and_pages
from tierscope.plans.sweep import combinations, id_parts, options_of, spec_of, values_of

if TYPE_CHECKING:
    from tierscope.model.event import Evidence
    from tierscope.model.path import Limit, Paths


ARRAYS = {"copy": 2, "scale": 2, "add": 3, "triad": 3, "memcpy": 2}
"""Arrays that an operation goes over, by its name without "-nt"; one where it is not named."""
_NARROW_SIZES = (8, 16, 32)


LIBRARY = ("memset", "memcpy")
"""Operations that are the C library's, which chooses instructions and kinds of stores."""

Operation = Literal[
    "read", "write", "write-nt", "copy", "copy-nt", "scale", "scale-nt", "add", "add-nt", "triad",
    "triad-nt", "rmw", "memset", "memcpy",
]  # fmt: skip
"""-nt: with non-temporal stores. rmw reads each element and writes a new value back to the same
place. memset and memcpy are the C library's."""


_LOOP_FACTOR = 1.5
"""Time of an access, in multiples of what its loop takes without it, up to which the loop bounds
the figure."""
_ARRAYS = {"b": 2, "c": 3}
"""Options that place an array, and how many arrays the operations have that use it."""


def arrays_of(operation: str) -> int:
    """Return how many arrays an operation goes over."""
    return ARRAYS.get(operation.removesuffix("-nt"), 1)


_WITH_B, _WITH_C = (
    tuple(name for name in get_args(Operation) if arrays_of(name) >= arrays) for arrays in (2, 3)
)
"""Operations that have these arrays."""


class BandwidthPattern(Ruled):
    """Access pattern of a bandwidth measurement."""

    operation: Annotated[Operation, OPERATION.but(default="read")]
    size: Annotated[Bytes, SIZE.but(help="Bytes of each array, over all threads, as in 64k..1g")]
    """Bytes of each array that the operation uses (read 1, copy 2, triad 3), over all threads."""
    pages: Annotated[Pages, PAGES] = "thp"
    order: Annotated[Literal["sequential", "reverse", "strided", "random", "zipf"], ORDER] = (
        "sequential"
    )
    access_size: Annotated[
        int,
        IN_BYTES,
        Field(ge=8, le=1 << 50),
        ACCESS_SIZE.but(help=f"{ACCESS_SIZE.help}; in sequential order also 8, 16, 32"),
    ] = CACHE_LINE
    """Bytes that one access touches contiguously; matters where order is not sequential. In order
    sequential, 8, 16 and 32 are bytes of one instruction of read or write, which else are as wide
    as registers."""
    stride: Annotated[
        Bytes | None, STRIDE.but(help="Bytes between accesses of order strided, as in 4k")
    ] = None
    """Bytes from one access to the next; with order strided, and only there."""
    zipf_alpha: Annotated[float, Field(gt=0, le=10), SKEW] = ZIPF_ALPHA
    """How much hot blocks are preferred; of order zipf."""
    sharing: Annotated[
        Literal["partitioned", "shared"],
        Property(
            "partitioned: each thread has a share of the arrays; shared: each walks all of them",
            words="arrays {} by all threads",
            identity=False,
            essential=False,
        ),
    ] = "partitioned"
    """partitioned: each thread walks a share of its own; shared: each walks all of the arrays, each
    from another start."""
    isa: Annotated[Isa, ISA] = "auto"

    rules: ClassVar[tuple[Ruling, ...]] = (
        Prunes("stride", unless={"order": "strided"}),
        needs("stride", when={"order": "strided"}, because="strided needs a stride, such as 4k"),
        Prunes("zipf_alpha", unless={"order": "zipf"}),
        refuses(
            {"access_size": Below(CACHE_LINE)},
            unless={"operation": ("read", "write"), "order": "sequential"},
            because="8, 16 and 32 bytes go with operations read and write in order sequential",
        ),
        Check(
            "access_size",
            "has to be 8, 16, 32 or a multiple of 64",
            lambda pattern: (
                pattern.access_size in _NARROW_SIZES or pattern.access_size % CACHE_LINE == 0
            ),
        ),
        refuses({"stride": Below("access_size")}, because="is smaller than access_size"),
        refuses(
            {"operation": LIBRARY},
            unless={"order": "sequential"},
            because="memset and memcpy go in order sequential only",
        ),
        refuses(
            {"operation": LIBRARY},
            unless={"isa": "auto"},
            because="memset and memcpy go with isa auto: the C library chooses their instructions",
        ),
        refuses(
            {"sharing": "shared", "operation": "rmw"},
            because="shared does not go with rmw: where two threads update an element at once, one "
            "update is lost, so that none could be verified",
        ),
    )


class BandwidthSpec(Threads, MemorySpec):
    """Bandwidth of CPUs to memory."""

    metric: ClassVar[str] = "bandwidth"
    never_sleeps: ClassVar[bool] = True
    recorded: ClassVar[tuple[str, ...]] = ("operation", "access_size", "size", "threads")
    extra_properties: ClassVar[dict[str, type]] = {"array_b": str, "array_c": str}

    takes_objects: ClassVar[bool] = True
    takes_any_cpu: ClassVar[bool] = True
    rules: ClassVar[tuple[Ruling, ...]] = (
        *(
            refuses(
                {array: Given()},
                unless={"pattern.operation": operations},
                because="is of an array that the operation does not have",
            )
            for array, operations in (("placement_b", _WITH_B), ("placement_c", _WITH_C))
        ),
        *(
            Rule(
                "cpu_sets",
                {"cpu_sets": Given(), f"{array}.policy": "first-touch"},
                "goes with memory that the plan places: which node a thread of a set touches from "
                "is up to the scheduler",
            )
            for array in ("placement", "placement_b", "placement_c")
        ),
        refuses(
            {"placement.persistent.backing": "pool-objects"},
            unless={
                "placement_b": None,
                "placement_c": None,
                "pattern.operation": ("copy", "scale", "add", "triad"),
                "pattern.order": "sequential",
                "pattern.sharing": "partitioned",
                "pattern.isa": "auto",
            },
            because=OBJECTS,
        ),
        refuses({"placement.persistent.backing": "shared-file"}, because=SHARED),
        Check(
            "pattern.size",
            "has fewer accesses than there are threads",
            lambda spec: spec.accesses >= spec.thread_count,
            ("pattern.access_size", "pattern.stride", "cpus"),
        ),
    )

    kind: Literal["bandwidth"] = "bandwidth"
    placement: Annotated[Placement, MadeBy("to")]
    """Placement of the written or only array; source arrays follow it by default."""
    placement_b: Annotated[ArrayPlacement | None, MadeBy("b")] = None
    """Placement of source array b, of operations with two arrays or three."""
    placement_c: Annotated[ArrayPlacement | None, MadeBy("c")] = None
    """Placement of source array c, of operations with three arrays."""
    pattern: BandwidthPattern

    @property
    def accesses(self) -> int:
        """Accesses that an array has place for."""
        pattern = self.pattern
        return pattern.size // (pattern.stride or max(pattern.access_size, CACHE_LINE))

    def placements(self) -> list[Placement]:
        """Placements of the operation's arrays: a, b, c."""
        found = [self.placement, self.placement_b or self.placement]
        return [*found, self.placement_c or self.placement][: arrays_of(self.pattern.operation)]

    def regions(self) -> list[Region]:
        """The arrays of the operation, those that are placed alike together."""
        size, kind = self.pattern.size, self.pattern.pages
        return [Region(where, kind, size, len(which)) for where, which in self._alike()]

    def files(self) -> list[str]:
        """The directories and devices that hold its arrays."""
        found = [each.persistent.path for each in self.placements() if each.persistent]
        return list(dict.fromkeys(found))

    def _alike(self) -> list[tuple[Placement, list[int]]]:
        """Placements and the numbers of the arrays that have them."""
        found: list[tuple[Placement, list[int]]] = []
        for number, placement in enumerate(self.placements()):
            alike = next((which for where, which in found if where == placement), None)
            if alike is None:
                found.append((placement, [number]))
            else:
                alike.append(number)
        return found

    def identity(self) -> dict[str, Any]:
        """The pattern and the number of threads; sharing only where it is not the usual one."""
        others = {"array_b": self.placement_b, "array_c": self.placement_c}
        apart = {name: where_of(placed) for name, placed in others.items() if placed}
        threads = {"threads": self.thread_count, **self.pinned_as()}
        return {**self.pattern.as_recorded(), **threads, **self.placed_as(), **apart}

    def placed_as(self) -> dict[str, str]:
        """As other kinds' memory; first touch is said of a single node, too."""
        placed = super().placed_as()
        backings = {each.persistent.backing for each in self.placements() if each.persistent}
        if backings:
            placed["backing"] = ", ".join(sorted(backings))
        if self.placement.policy == "first-touch":
            return {"policy": "first-touch", "mechanism": "user", **placed}
        return placed

    def limit(self, paths: "Paths") -> "Limit | None":
        """The operation's limit by the paths to its arrays; none of shared arrays, of which one
        thread may find in a cache what another one fetched."""
        if self.pattern.sharing == "shared" or self.fits_caches(paths.topology.caches):
            return None
        known = [
            paths.limit(
                self.initiator,
                where_of(placed) if 0 not in which else self.target,
                self._traffic_of(which),
            )
            for placed, which in self._alike()
        ]
        return min(filter(None, known), key=lambda limit: limit.value, default=None)

    def _traffic_of(self, arrays: list[int]) -> Traffic:
        """The share of the operation's traffic of some arrays; the first array is written."""
        whole = self.traffic()
        if len(arrays) == arrays_of(self.pattern.operation):
            return whole
        share = 1 / arrays_of(self.pattern.operation)
        written = 0 in arrays
        fetched = whole.fetched if written else 0.0
        reads = share * (len(arrays) - written) + fetched
        return Traffic(whole.name, reads, share * written, fetched)

    def traffic(self) -> Traffic:
        """The operation's traffic.

        rmw has read what it writes, so that it fetches nothing. The C library's operations may
        fetch or not: the limit is that of the least that they can move.
        """
        operation = self.pattern.operation
        if operation == "rmw":
            return of_operation(operation, read=1, written=1, fetches=False)
        written = 0 if operation == "read" else 1
        ordinary = written == 1 and not operation.endswith("-nt") and operation not in LIBRARY
        least = " (at least: the C library may fetch lines first)" if operation in LIBRARY else ""
        read = arrays_of(operation) - written
        return of_operation(operation + least, read, written, ordinary)

    def bound_by(self, estimate: float, evidence: "Evidence") -> BoundBy | None:
        """The loop, where it takes most of an access's time without the access."""
        if evidence.address_ns is None:
            return None
        traffic = arrays_of(self.pattern.operation) + (self.pattern.operation == "rmw")
        access_ns = self.pattern.access_size * traffic * self.thread_count / estimate * 1e9
        return "address-generation" if access_ns < _LOOP_FACTOR * evidence.address_ns else None

    def overwrites(self) -> bool:
        """Reads leave the array as it was."""
        return self.pattern.operation != "read"


SPEC = BandwidthSpec


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[BandwidthSpec]:
    """Yield a measurement for each combination of options."""
    touched = request.options.get("policy") == FIRST_TOUCH
    for path in memory_paths(_bound(request), topology, BandwidthSpec):
        placed = {name: _placed(request, topology, path, name) for name in _ARRAYS}
        axes = _axes(request, topology, path, thp, placed)
        for values in combinations(request, BandwidthPattern, axes):
            threads = values.pop("threads")
            used = {
                name: where
                for name, where in placed.items()
                if where and arrays_of(values["operation"]) >= _ARRAYS[name]
            }
            fields = {
                **common_fields(request, path),
                **path.threads(threads),
                "pattern": values,
                **{f"placement_{name}": where for name, where in used.items()},
                **(_touched(topology, path.cpus[:threads]) if touched else {}),
            }
            names = (str(path.initiator), FIRST_TOUCH) if touched else path.names
            parts = [values["operation"], *names, f"t{threads}"]
            parts += id_parts(BandwidthPattern, values, "operation")
            parts += [f"{name}-{where_of(where)}" for name, where in used.items()]
            parts += path.placed_as(_bound(request))
            yield spec_of(request, BandwidthSpec, fields, parts)


def _bound(request: Request) -> Request:
    """Return a request for memory that the plan places; UserError where first touch does and the
    plan, too."""
    if FIRST_TOUCH not in request.options.get("policy", ""):
        return request
    if request.options["policy"] != FIRST_TOUCH:
        raise request.wrong("policy", "first-touch goes with no other policy; measure it apart")
    for name in ("to", *_ARRAYS, "mechanism"):
        if name in request.options:
            why = "with --policy first-touch the threads place the pages where they run"
            raise request.wrong(name, f"{why}; leave it out")
    options = {name: text for name, text in request.options.items() if name != "policy"}
    return request.model_copy(update={"options": options})


def _touched(topology: Topology, cpus: list[int]) -> dict[str, Any]:
    """Return the fields of memory that threads on these CPUs touch first."""
    nodes = [
        NodeShare(node=node.number, weight=len(threads))
        for node in machine.memory_nodes(topology)
        if (threads := set(cpus).intersection(node.cpus))
    ]
    whole = math.gcd(*(share.weight for share in nodes)) if nodes else 1
    nodes = [NodeShare(node=share.node, weight=share.weight // whole) for share in nodes]
    if sum(share.weight for share in nodes) * whole != len(cpus):
        raise UserError("first touch: a CPU's own node has no memory; name nodes in --to")
    placement = Placement(policy=FIRST_TOUCH, nodes=nodes)
    return {"placement": placement, "target": where_of(placement)}


def _placed(
    request: Request, topology: Topology, path: MemoryPath, option: str
) -> Placement | None:
    """Return where the array of an option goes; None where it goes with the written one."""
    if option not in request.options:
        return None
    found = targets(request, option, BandwidthSpec)
    if len(found) != 1:
        raise request.wrong(option, "an array is in one place; name one target")
    checked(request, option, machine.check_target, topology, found[0])
    if found[0].kind is not EndpointKind.NODE:
        placement = checked(
            request, option, placement_of_other, request, topology, path.cpus, found[0]
        )
        return None if placement == path.placement else placement
    several = len(found[0].numbers) > 1
    policy = path.placement.policy if several and "policy" in request.options else None
    mechanism = path.placement.mechanism if several else "user"
    placement = checked(request, option, machine.placement, found[0], policy, mechanism)
    return None if placement == path.placement else placement


def _axes(
    request: Request,
    topology: Topology,
    path: MemoryPath,
    thp: bool,
    placed: dict[str, Placement | None],
) -> dict[str, list[Any]]:
    """Return sizes, pages and thread counts, which depend on each other and on the machine."""
    properties = declared(BandwidthPattern)
    threads = thread_counts(request, path)
    # Room for three arrays whatever the operation, so that a sweep over operations has one size.
    others = tuple(filter(None, placed.values()))
    nodes = [*path.nodes, *(share.node for each in others for share in each.nodes)]
    shared = values_of(request, properties["sharing"]) == ["shared"]
    arrays = Arrays(
        path.placement,
        others=others,
        default=machine.default_size(topology, path.cpus, nodes, 3),
        count=3,
        shares=1 if shared else max(threads),
        access_size=max(CACHE_LINE, *values_of(request, properties["access_size"])),
    )
    found, kinds = sizes_and_pages(request, topology, thp, arrays)
    return {"size": found, "pages": kinds, "threads": threads}


REQUEST = RequestForm(
    options=(
        options.FROM,
        options.to_of(BandwidthSpec),
        Option(
            "b", "ENDPOINT", "Placement of source array b (copy: a = b)", "as --to", essential=False
        ),
        Option(
            "c",
            "ENDPOINT",
            "Placement of source array c (add: a = b + c)",
            "as --to",
            essential=False,
        ),
        options.PIN_OR_ANY,
        options.THREADS,
        *options_of(BandwidthPattern),
        options.POLICY.but(help=f"{options.POLICY.help}, {FIRST_TOUCH} (where each thread runs)"),
        options.MECHANISM,
        *options.PERSISTENT,
        options.PREFETCHERS,
        *options.SAMPLING,
    ),
    expand=expand,
    help="""\
Every option takes a value, a list or a range, so that one command is a sweep: sizes double
(64..64k), counts go up by one (1..8), and *N or +N sets another step (1..64*2).""",
    examples=(
        "bandwidth --op read,write,copy,triad --threads 1..all",
        "bandwidth --from node:0 --to node:1 --op read",
        "bandwidth --order random --access-size 64..64k --threads 1..8",
        "bandwidth --order random,zipf --zipf-alpha 0.5,0.9,1.2",
        "bandwidth --to node:0,1@3:1,node:0,1 --op read,triad --json",
        "bandwidth --op copy --to node:1 --b node:0",
    ),
)
