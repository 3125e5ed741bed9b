"""The spec of chains: operations on memory, one after the other, their grammar and their reach."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, ValidationError

from tierscope.model.errors import UserError, did_you_mean
from tierscope.model.path import Traffic
from tierscope.model.property import PAGES, SIZE, MadeBy, Property
from tierscope.model.rules import Check, Differs, PowerOfTwo, Prunes, Ruled, Ruling, refuses
from tierscope.model.spec import (
    CACHE_LINE,
    Bytes,
    ChosenPlacement,
    MemorySpec,
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
    reason,
    targets,
    thread_counts,
)
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.rounds import Arrays, sizes_and_pages
from tierscope.plans.sweep import asked, combinations, id_parts, options_of, spec_of

if TYPE_CHECKING:
    from tierscope.model.path import Limit, Paths


WORD = 8
LARGEST = 65536
MAX_OFFSET = 1 << 30
MAX_OPERATIONS = 64

Access = Literal["read", "write", "compare-and-swap", "fetch-and-add"]
CacheUse = Literal["none", "write-back", "flush", "flush-opt", "non-temporal"]
"""write-back: CLWB; flush: CLFLUSH; flush-opt: CLFLUSHOPT; each of every line, after a write, or
before a read and with a full fence between. non-temporal: the loads or stores themselves."""
Fence = Literal["none", "stores", "all"]
"""After the operation. stores: SFENCE; all: MFENCE."""


ATOMICS = ("compare-and-swap", "fetch-and-add")
_CACHES: dict[str, CacheUse] = {
    "none": "none",
    "cache": "write-back",
    "write-back": "write-back",
    "clwb": "write-back",
    "flush": "flush",
    "clflush": "flush",
    "flush-opt": "flush-opt",
    "clflushopt": "flush-opt",
    "nocache": "non-temporal",
    "non-temporal": "non-temporal",
    "stream": "non-temporal",
    "nt": "non-temporal",
}
_WRITTEN: dict[CacheUse, str] = {
    "none": "none",
    "write-back": "cache",
    "flush": "flush",
    "flush-opt": "flush-opt",
    "non-temporal": "nocache",
}
_ATOMICS: dict[str, Access] = {"cas": "compare-and-swap", "faa": "fetch-and-add"}
_FENCES: dict[str, Fence] = {"sfence": "stores", "mfence": "all"}
_OPERATION = re.compile(
    r"(?:m(?P<region>\d+)_)?(?:(?P<atomic>cas|faa)|(?P<access>[rw])_(?P<size>\d{1,9})"
    r"(?:_(?P<cache>[a-z][a-z-]*))?(?:_(?P<offset>[+-]?\d{1,12}))?)",
    re.ASCII,
)
_FORMS = "r_64, m1_r_64_flush, w_64_none, w_64_cache_-512, cas, faa, sfence or mfence"
EACH = "each"
"""All of the presets, one after the other."""
MAX_SAMPLE_EVERY = 1_000_000
_NO_SECOND = "no chain goes to m1, as m1_r_64 does; leave it out"


class Operation(Ruled):
    """One operation of a chain."""

    access: Access
    size: Annotated[int, Field(ge=WORD, le=LARGEST), PowerOfTwo()]
    """Bytes, a power of two; 8 of atomics."""
    region: Annotated[int, Field(ge=0, le=1)] = 0
    """Region of an operation that reads; a write goes where the operation before it went."""
    cache: CacheUse = "none"
    fence: Fence = "none"
    offset: Annotated[int, Field(ge=-MAX_OFFSET, le=MAX_OFFSET, multiple_of=CACHE_LINE)] = 0
    """Bytes from the address of the operation before; of writes."""

    @property
    def reads(self) -> bool:
        """Whether it returns data, and so takes an address of its own."""
        return self.access != "write"

    rules: ClassVar[tuple[Ruling, ...]] = (
        refuses({"size": Differs(WORD), "access": ATOMICS}, because="is not 8, as atomics have it"),
        refuses(
            {"cache": Differs("none"), "access": ATOMICS},
            because="does not go with atomics, which take no cache instruction",
        ),
        refuses(
            {"size": WORD, "access": "read", "cache": "non-temporal"},
            because="8 is too little: non-temporal loads have 16 bytes at least",
        ),
        refuses(
            {"offset": Differs(0)},
            unless={"access": "write"},
            because="goes with writes: what reads takes an address of its own",
        ),
        refuses(
            {"region": Differs(0), "access": "write"},
            because="goes with what reads: a write goes where the operation before it went",
        ),
    )


def groups(operations: Sequence[Operation]) -> Iterator[list[Operation]]:
    """Yield each operation that takes an address with the writes behind it."""
    group: list[Operation] = []
    for operation in operations:
        if operation.reads and group:
            yield group
            group = []
        group.append(operation)
    yield group


def reach(operations: Sequence[Operation], region: int) -> int:
    """Return the bytes that a region has to have; 0 where no operation goes there."""
    return max(
        (_reach(group) for group in groups(operations) if group[0].region == region), default=0
    )


def _reach(group: list[Operation]) -> int:
    slot = max(CACHE_LINE, group[0].size)
    at = low = 0
    high = slot
    for write in group[1:]:
        at += write.offset
        low, high = min(low, at), max(high, at + write.size)
    return -(low // slot) * slot + high


def lines_moved(operations: Sequence[Operation], region: int) -> tuple[int, int, int]:
    """Return the lines that a chain reads, fetches to write to, and writes in a region, each line
    once for each address taken; what non-temporal stores write whole is not fetched."""
    read = fetched = written = 0
    for group in groups(operations):
        if group[0].region != region:
            continue
        found: set[int] = set()
        stored: set[int] = set()
        streamed: set[int] = set()
        at = 0
        for operation in group:
            at += operation.offset
            touched = range(at // CACHE_LINE, -(-(at + operation.size) // CACHE_LINE))
            if operation.reads:
                found.update(touched)
            if operation.access == "read":
                continue
            whole = operation.cache == "non-temporal" and operation.size >= CACHE_LINE
            (streamed if whole else stored).update(touched)
        read += len(found)
        fetched += len(stored - found)
        written += len(stored | streamed)
    return read, fetched, written


def _write(cache: CacheUse) -> tuple[Operation, ...]:
    return (Operation(access="write", size=64, cache=cache, fence="all"),)


PRESETS: dict[str, tuple[Operation, ...]] = {
    "read": (Operation(access="read", size=64),),
    "nt-load": (Operation(access="read", size=64, cache="non-temporal"),),
    "write": _write("none"),
    "w+clwb": _write("write-back"),
    "w+clflushopt": _write("flush-opt"),
    "w+clflush": _write("flush"),
    "nt-store": _write("non-temporal"),
    "cas": (Operation(access="compare-and-swap", size=8),),
    "faa": (Operation(access="fetch-and-add", size=8),),
}
"""Single operations of a line or a word, each at an address of its own; writes end with a full
fence, so that each is over before the next begins."""


def parse_chains(text: str) -> list[tuple[Operation, ...]]:
    """Parse one chain, or several that are presets. Raises UserError, naming the position."""
    words = [word.strip() for word in text.split(",")]
    if words == [EACH]:
        return list(PRESETS.values())
    if set(words) <= set(PRESETS):
        return [PRESETS[word] for word in dict.fromkeys(words)]
    return [tuple(_parse(text))]


def _parse(text: str) -> list[Operation]:
    found: list[Operation] = []
    at = 0
    for word in text.split(","):
        place = at + len(word) - len(word.lstrip()) + 1
        at += len(word) + 1
        try:
            _add(found, word.strip())
        except ValidationError as error:
            said = error.errors()[0]
            name = f"{said['loc'][-1]}: " if said["loc"] else ""
            raise _wrong(text, place, word, name + reason(error)) from None
        except UserError as error:
            raise _wrong(text, place, word, str(error)) from None
    return found


def _wrong(text: str, place: int, word: str, said: str) -> UserError:
    return UserError(f"'{text}', character {place}, '{word.strip()}': {said}")


def _add(found: list[Operation], word: str) -> None:
    """Add what a word says to the operations before it."""
    if word in _FENCES:
        if not found:
            raise UserError("a fence stands behind an operation; begin with a read such as r_64")
        if found[-1].fence != "none":
            raise UserError("there is a fence already")
        found[-1] = found[-1].model_copy(update={"fence": _FENCES[word]})
        return
    operation = _operation(word, _region(found))
    if not found and not operation.reads:
        raise UserError(
            "a chain begins with a read, which takes its address; the latency of a write by itself "
            "is a preset: write, w+clwb, nt-store"
        )
    if len(found) == MAX_OPERATIONS:
        raise UserError(f"a chain has at most {MAX_OPERATIONS} operations")
    found.append(operation)


def _region(found: list[Operation]) -> int:
    """The region that the last operation was in."""
    return next((one.region for one in reversed(found) if one.reads), 0)


def _operation(word: str, before: int) -> Operation:
    """Return what a word says; ``before`` is the region of the operation before it."""
    match = _OPERATION.fullmatch(word)
    if not match:
        if word in PRESETS or word == EACH:
            raise UserError("a preset is a whole chain; it goes with other presets only")
        hint = did_you_mean(word, (*PRESETS, *_FENCES))
        raise UserError(f"is not an operation such as {_FORMS}{hint}")
    given = match.groupdict()
    if given["region"] not in (None, "0", "1"):
        raise UserError(
            f"m{given['region']} is not a region; there are m0 (--to) and m1 (--second-to)"
        )
    region = int(given["region"] or 0)
    if given["atomic"]:
        return Operation(access=_ATOMICS[given["atomic"]], size=8, region=region)
    write = given["access"] == "w"
    if write and given["region"] and region != before:
        raise UserError(
            f"a write goes where the operation before it went, which is m{before}; leave out "
            f"m{region}_"
        )
    if write and not given["cache"]:
        raise UserError(f"a write says what it does with the cache: one of {', '.join(_CACHES)}")
    cache = given["cache"] or "none"
    if cache not in _CACHES:
        hint = did_you_mean(cache, tuple(_CACHES))
        raise UserError(f"'{cache}' is none of {', '.join(_CACHES)}{hint}")
    return Operation(
        access="write" if write else "read",
        size=int(given["size"]),
        region=0 if write else region,
        cache=_CACHES[cache],
        offset=int(given["offset"] or 0),
    )


def format_chain(operations: tuple[Operation, ...]) -> str:
    """Write a chain so that ``parse_chains`` gives it back; a preset by its word."""
    preset = next((name for name, chain in PRESETS.items() if chain == operations), None)
    if preset:
        return preset
    words = [_format(operation) for operation in operations]
    # Atomics alone would be presets, each by itself.
    return ("m0_" if set(words) <= set(PRESETS) else "") + ",".join(words)


def _format(operation: Operation) -> str:
    region = "m1_" if operation.region else ""
    fence = next((f",{word}" for word, known in _FENCES.items() if known == operation.fence), "")
    atomic = next((word for word, known in _ATOMICS.items() if known == operation.access), None)
    if atomic:
        return f"{region}{atomic}{fence}"
    if operation.access == "read":
        cache = "" if operation.cache == "none" else f"_{_WRITTEN[operation.cache]}"
        return f"{region}r_{operation.size}{cache}{fence}"
    offset = f"_{operation.offset}" if operation.offset else ""
    return f"w_{operation.size}_{_WRITTEN[operation.cache]}{offset}{fence}"


class ChainPattern(Ruled):
    """The operations that each thread repeats."""

    operations: Annotated[
        list[Operation], Field(min_length=1, max_length=MAX_OPERATIONS), MadeBy("chain")
    ]
    size: Annotated[Bytes, SIZE.but(help="Bytes of each region, as in 64k..1g")]
    """Bytes of each region; all threads go over the whole of it."""
    pages: Annotated[Pages, PAGES] = "thp"
    size_second: Annotated[
        Bytes | None,
        Property(
            "Bytes of m1",
            flag="second-size",
            default_help="as --size",
            label="m1 size",
            words="m1 over {}",
            id="m1-{}",
            essential=False,
        ),
    ] = None
    """Bytes of region m1, where it has another size."""
    linked: Annotated[
        bool,
        Property(
            "yes: a chain's first address depends on the chain before; no: chains overlap",
            words="linked|overlapping",
            id="unlinked",
            essential=False,
        ),
    ] = True
    """The first address depends on what the chain before has read, so that chains wait for each
    other; else they overlap."""
    interleave: Annotated[
        int,
        Field(ge=1, le=32),
        Property(
            "Walks in turn by each thread, 1 to 32",
            label="walks",
            words="{} walks a thread",
            id="i{}",
            identity=False,
            essential=False,
        ),
    ] = 1
    """Walks of one thread: all make their first operation, then all the second, and so on."""
    sample_every: Annotated[
        int,
        Field(ge=1, le=MAX_SAMPLE_EVERY),
        Property(
            "Time one chain in N by itself",
            label="timed 1 in",
            words="one chain in {} timed by itself",
            id="e{}",
            identity=False,
            essential=False,
        ),
    ] = 1
    """One of this many rounds over the interleaved walks is timed by itself."""
    timed_from: Annotated[
        int,
        Field(ge=1, le=MAX_OPERATIONS),
        Property(
            "First operation of the latency: those before it only find the address",
            label="timed from",
            words="timed from operation {} on",
            id="from{}",
            identity=False,
            essential=False,
        ),
    ] = 1
    """Number of the operation that the latency begins with; above 1 it comes from the chains that
    are timed by themselves, less the timer's own time."""

    @property
    def chain(self) -> str:
        """The operations as text, a preset by its word."""
        return format_chain(tuple(self.operations))

    rules: ClassVar[tuple[Ruling, ...]] = (
        Check(
            "operations",
            "begin with an offset, but no operation is before it",
            lambda pattern: pattern.operations[0].offset == 0,
        ),
        Check(
            "linked",
            "goes with an operation that reads or has a full fence",
            lambda pattern: (
                not pattern.linked
                or any(one.reads or one.fence == "all" for one in pattern.operations)
            ),
            ("operations",),
        ),
        Check(
            "size",
            "is less than the {} bytes that operations reach over",
            lambda pattern: pattern.size >= pattern.least(0),
            ("operations",),
            lambda pattern: (pattern.least(0),),
        ),
        Check(
            "size_second",
            "is less than the {} bytes that operations reach over",
            lambda pattern: pattern.second >= pattern.least(1),
            ("size", "operations"),
            lambda pattern: (pattern.least(1),),
        ),
        Check(
            "size_second",
            "goes with operations of m1",
            lambda pattern: pattern.size_second is None or pattern.least(1) > 0,
            ("operations",),
            name="OnlySecond",
        ),
        Check(
            "timed_from",
            "is beyond the last operation, number {}",
            lambda pattern: pattern.timed_from <= len(pattern.operations),
            ("operations",),
            lambda pattern: (len(pattern.operations),),
        ),
        Prunes("timed_from", unless={"linked": True}),
    )

    def least(self, region: int) -> int:
        """Bytes of a region that operations reach over."""
        return reach(self.operations, region)

    @property
    def second(self) -> int:
        """Bytes of region m1."""
        return self.size_second or self.size


class ChainSpec(Threads, MemorySpec):
    """The time of a chain where chains are linked, and how many end a second where they are not."""

    metric: ClassVar[str] = "latency"
    never_sleeps: ClassVar[bool] = True
    recorded: ClassVar[tuple[str, ...]] = ("chain", "linked", "size", "threads")
    takes_any_cpu: ClassVar[bool] = True
    extra_properties: ClassVar[dict[str, type]] = {"chain": str, "second": str}

    kind: Literal["chain"] = "chain"
    placement_second: Annotated[ChosenPlacement | None, MadeBy("second-to")] = None
    """Placement of region m1, where operations go there."""
    pattern: ChainPattern

    rules: ClassVar[tuple[Ruling, ...]] = (
        Check(
            "placement_second",
            "goes with operations of m1, and only with them",
            lambda spec: (spec.placement_second is not None) == (spec.pattern.least(1) > 0),
            ("pattern.operations",),
        ),
    )

    def headline(self) -> str:
        """Chains that overlap have no latency of their own."""
        return "latency" if self.pattern.linked else "operations"

    def regions(self) -> list[Region]:
        """m0, and m1 where there is one."""
        pattern = self.pattern
        sizes = (pattern.size, pattern.second)
        return [
            Region(placement, pattern.pages, size)
            for placement, size in zip(self._placements(), sizes, strict=False)
        ]

    def _placements(self) -> list[ChosenPlacement]:
        return [self.placement, *([self.placement_second] if self.placement_second else [])]

    def files(self) -> list[str]:
        """The directories or devices that hold its regions."""
        found = [each.persistent.path for each in self._placements() if each.persistent]
        return list(dict.fromkeys(found))

    def identity(self) -> dict[str, Any]:
        """The chain as text, and how it is run."""
        pattern = self.pattern.as_recorded()
        del pattern["operations"]
        second = self.placement_second
        apart = {"second": where_of(second)} if second else {}
        return {
            "chain": self.pattern.chain,
            **pattern,
            **apart,
            **self.placed_as(),
            "threads": self.thread_count,
            **self.pinned_as(),
        }

    def limit(self, paths: "Paths") -> "Limit | None":
        """Chains a second that the lines which they move leave room for; none of linked chains,
        whose figure is a time, and no link states one."""
        if self.pattern.linked or self.fits_caches(paths.topology.caches):
            return None
        known = [self._limit_of(paths, region) for region in range(len(self._placements()))]
        return min(filter(None, known), key=lambda limit: limit.value, default=None)

    def _limit_of(self, paths: "Paths", region: int) -> "Limit | None":
        read, fetched, written = lines_moved(self.pattern.operations, region)
        lines = read + fetched + written
        if not lines:
            return None
        where = where_of(self.placement_second) if self.placement_second and region else self.target
        traffic = Traffic("chain", (read + fetched) / lines, written / lines, fetched / lines)
        found = paths.limit(self.initiator, where, traffic)
        if found is None:
            return None
        moved = lines * CACHE_LINE
        return found.model_copy(
            update={
                "value": found.value / moved,
                "unit": "1/s",
                "formula": f"{found.formula} / {moved} B of lines a chain",
                "without_write_allocate": None,
            }
        )


SPEC = ChainSpec


Chain = tuple[Operation, ...]


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[ChainSpec]:
    """Yield a measurement for each combination; unasked, linked reads of a line by one thread."""
    chains = _chains(request)
    for path in memory_paths(request, topology, ChainSpec):
        second = _second(request, topology, path, chains)
        counts = thread_counts(request, path) if "threads" in request.options else [1]
        nodes = [*path.nodes, *([share.node for share in second.nodes] if second else [])]
        arrays = Arrays(
            path.placement,
            others=(second,) if second else (),
            default=machine.default_size(topology, path.cpus, nodes, 2 if second else 1),
            count=2 if second else 1,
        )
        found_sizes, kinds = sizes_and_pages(request, topology, thp, arrays)
        second_sizes = asked(request, ChainPattern, "size_second")
        if second_sizes and not second:
            raise request.wrong("second-size", _NO_SECOND)
        for chain in chains:
            placed = second if reach(chain, 1) else None
            axes: dict[str, Sequence[Any]] = {
                "size": found_sizes,
                "pages": kinds,
                "size_second": (second_sizes if placed else []) or [None],
                "threads": counts,
            }
            for values in combinations(request, ChainPattern, axes):
                threads = values.pop("threads")
                fields = {
                    **common_fields(request, path),
                    **path.threads(threads),
                    "placement_second": placed,
                    "pattern": {**values, "operations": list(chain)},
                }
                parts = [format_chain(chain), *path.names, *([where_of(placed)] if placed else [])]
                parts += [f"t{threads}", *id_parts(ChainPattern, values), *path.placed_as(request)]
                yield spec_of(request, ChainSpec, fields, parts)


def _chains(request: Request) -> list[Chain]:
    found: list[Chain] = []
    for line in request.options.get("chain", "read").splitlines():
        found += checked(request, "chain", parse_chains, line)
    return list(dict.fromkeys(found))


def _second(
    request: Request, topology: Topology, path: MemoryPath, chains: list[Chain]
) -> Placement | None:
    """Return where m1 is; UserError where it is named and not used, or the other way round."""
    using = next((chain for chain in chains if reach(chain, 1)), None)
    if "second-to" not in request.options:
        if using:
            said = f"'{format_chain(using)}' goes to m1: name the second target in --second-to"
            raise request.wrong("chain", said)
        return None
    if using is None:
        raise request.wrong("second-to", _NO_SECOND)
    found = targets(request, "second-to", ChainSpec)
    if len(found) != 1:
        raise request.wrong("second-to", "m1 is in one place; name one target")
    checked(request, "second-to", machine.check_target, topology, found[0])
    return placement_of_other(request, topology, path.cpus, found[0], "second-to")


REQUEST = RequestForm(
    options=(
        options.FROM,
        options.to_of(ChainSpec),
        Option(
            "second-to", "ENDPOINT", "Placement of m1, the region of operations such as m1_r_64"
        ),
        Option(
            "chain",
            "CHAIN",
            "Operations, as in r_64,w_64_cache_+512, or presets, each by itself: "
            f"{', '.join(PRESETS)}; {EACH}: all of these. May be given again",
            "read",
            many=True,
        ),
        options.THREADS.but(default="1"),
        options.PIN_OR_ANY,
        *options_of(ChainPattern),
        *options.PLACEMENT,
        *options.PERSISTENT,
        options.PREFETCHERS,
        *options.SAMPLING,
    ),
    expand=expand,
    help="""\
A chain is a list of operations, in CXL-Bench's grammar: r_SIZE[_CACHE] reads at an address that
the data read before decides; w_SIZE_CACHE[_OFFSET] writes, OFFSET bytes from the operation before;
cas and faa are atomics; sfence and mfence wait. m0_ and m1_ in front of what reads pick the region
(--to, --second-to). SIZE is 8 to 65536; CACHE is none, cache (clwb), flush (clflush), flush-opt
(clflushopt) or nocache (non-temporal). Linked chains have a latency; others a rate.""",
    examples=(
        "chain --size 256k,8m,1g",
        "chain --chain each --to node:*",
        "chain --chain r_2048,r_2048,r_1024,w_64_cache_+64 --linked yes,no",
        "chain --chain r_64,m1_r_64 --to node:0 --second-to node:2 --interleave 1..16*2",
        "chain --chain m0_r_64,m1_r_1024 --second-to node:0 --size 64m --second-size 256m",
        "chain --chain w+clwb,nt-store,cas,faa --sample-every 16",
    ),
)
