"""The spec of copies among GPUs and host memory, and the limit of those that share links."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from tierscope.model.endpoint import EndpointKind, format_ranges, parse_ranges
from tierscope.model.errors import UserError
from tierscope.model.evidence import OwnEvidence
from tierscope.model.gpu import (
    COPY_SIZE,
    LARGE,
    PROPERTY_TYPES,
    SURELY_IN_MEMORY,
    GpuBytes,
    GpuPlace,
    GpuSpec,
    HostPlace,
    MemoryPlace,
    Transfer,
    between_gpus,
    endpoint_of,
    endpoints,
    host_places,
    host_regions,
    issuer_and_memory,
    properties,
)
from tierscope.model.path import ONE_WAY, HopRole, Limit, Paths, Traffic
from tierscope.model.property import MadeBy
from tierscope.model.rules import Below, Check, Given, Ruled, Ruling, Uneven, refuses
from tierscope.model.spec import Region, Sampling
from tierscope.model.topology import Topology
from tierscope.plans import grammar, options
from tierscope.plans.axes import checked, identity
from tierscope.plans.gpu import (
    SAMPLING,
    SIDE,
    SIDES,
    flag,
    gpu_cpus,
    gpu_numbered,
    places,
    require_gpus,
    sampling_of,
    transfer,
    writers,
)
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.sweep import combinations, id_parts, options_of, spec_of

if TYPE_CHECKING:
    from tierscope.model.topology import Cache


_INSIDE = Traffic("a copy inside", reads=1.0, writes=1.0)
"""Each byte that such a copy counts is read and written in the same memory."""
_SMALL = 1 << 20
"""Bytes of the largest copy of which the call takes a share worth measuring. Where a trace is asked
for, it is to show the copies alone."""


def limit_of_set(paths: Paths, transfers: Sequence[Transfer]) -> Limit | None:
    """The limit of transfers that run at once; None where no link's rate is known.

    Of transfers between GPUs it is the total that all sources can send or all destinations can
    take, whichever is less; of those with the host, what their links, the switches and the host
    memory that they share can carry.
    """
    limits = [transfer_limit(paths, entry) for entry in transfers]
    known = [limit for limit in limits if limit is not None]
    if not known or len(known) != len(limits):
        return None
    if len(known) == 1:
        return known[0]
    pairs = list(zip(transfers, known, strict=True))
    peers = [(e.source, e.destination, limit.value) for e, limit in pairs if _of_gpus(e)]
    out = _through(paths, peers)
    into = _through(paths, [(there, here, value) for here, there, value in peers])
    with_host, shared = _with_host(paths, [pair for pair in pairs if not _of_gpus(pair[0])])
    value = min(out, into) + with_host
    named = shared or known
    return Limit(
        value=value,
        unit="B/s",
        link=_names_of(named),
        formula=f"what {'shared links and memory' if shared else 'the links'} can carry "
        f"of {len(known)} concurrent transfers = {value / 1e9:.1f} GB/s; {named[0].formula}",
        source=named[0].source,
        degraded=any(limit.degraded for limit in named),
    )


def transfer_limit(paths: Paths, one: Transfer) -> Limit | None:
    """The limit of one transfer by itself: one direction of each link."""
    inside = one.source == one.destination
    return paths.limit(*issuer_and_memory(one), _INSIDE if inside else ONE_WAY)


def _names_of(limits: list[Limit]) -> str:
    """Name up to two links; of more, the first, or one that runs below what it is able to."""
    links = list(dict.fromkeys(limit.link for limit in limits))
    if len(links) <= 2:
        return ", ".join(links)
    degraded = [limit.link for limit in limits if limit.degraded]
    return f"{(degraded or links)[0]} and {len(links) - 1} more links"


def _of_gpus(one: Transfer) -> bool:
    return isinstance(one.source, GpuPlace) and isinstance(one.destination, GpuPlace)


def _through(paths: Paths, pairs: Iterable[tuple[MemoryPlace, MemoryPlace, float]]) -> float:
    """bytes/s that the first endpoints of transfers between GPUs send (or take) in total.

    A GPU's links to a switch, or its PCIe link, serve all of its peers, so they count once;
    straight NVLinks serve one peer, so they add up.
    """
    links: dict[tuple[int, int | None], float] = defaultdict(float)
    for end, other, value in pairs:
        assert isinstance(end, GpuPlace)
        assert isinstance(other, GpuPlace)
        gpu, peer = paths.topology.gpu(end.gpu), paths.topology.gpu(other.gpu)
        straight = gpu and peer and any(e.peer_address == peer.address for e in gpu.nvlinks)
        key = (end.gpu, other.gpu if straight else None)
        links[key] = max(links[key], value)
    return sum(links.values())


def _with_host(paths: Paths, pairs: list[tuple[Transfer, Limit]]) -> tuple[float, list[Limit]]:
    """bytes/s of all transfers with the host, and what they share that bounds them."""
    rates = [limit.value for _, limit in pairs]
    users: dict[tuple[str, str], list[int]] = defaultdict(list)
    bounds: dict[tuple[str, str], Limit] = {}
    for number, (one, _) in enumerate(pairs):
        for hop in paths.path(*issuer_and_memory(one)).hops:
            emulated = paths.topology.virtual and hop.role is HopRole.SWITCH
            if hop.limit is None or hop.parallel or emulated:
                continue
            way = "both" if hop.half_duplex else one.destination.where
            users[hop.name, way].append(number)
            bounds[hop.name, way] = hop.limit
    shared = []
    # Users of a GPU's link are among its switch's, and those among the memory's: fewest first.
    for key in sorted(users, key=lambda key: len(users[key])):
        wanted, carried = sum(rates[number] for number in users[key]), bounds[key].value
        if wanted > carried:
            shared.append(bounds[key])
            for number in users[key]:
                rates[number] *= carried / wanted
    return sum(rates), shared


class GpuCopyPattern(Ruled):
    """The bytes of one copy of each transfer."""

    size: Annotated[GpuBytes, COPY_SIZE]
    """Bytes of one copy; of 2D copies, of all rows."""
    offset: Annotated[int, Field(ge=0, le=1 << 42)] = 0
    """Bytes before the first one, in both memories."""
    row_bytes: Annotated[GpuBytes | None, MadeBy("rows")] = None
    """Strided (2D) copies: bytes of a row; engine ce only."""
    pitch: Annotated[GpuBytes | None, MadeBy("rows")] = None
    """Strided (2D) copies: bytes from one row to the next."""

    @property
    def buffer_bytes(self) -> int:
        """Bytes of memory at each endpoint of a transfer, padding of rows included."""
        if self.row_bytes is None or self.pitch is None:
            return self.offset + self.size
        return self.offset + self.size // self.row_bytes * self.pitch

    rules: ClassVar[tuple[Ruling, ...]] = (
        refuses({"row_bytes": Given(), "pitch": None}, because="goes with a pitch"),
        refuses({"pitch": Given(), "row_bytes": None}, because="goes with row_bytes"),
        refuses({"pitch": Below("row_bytes")}, because="is smaller than row_bytes"),
        refuses({"size": Uneven("row_bytes")}, because="is not a whole number of rows"),
    )


class GpuCopyEvidence(OwnEvidence):
    """Keys of evidence of copies."""

    fused: list[list[str]] | None = None
    """Pairs of transfers, by name, that one kernel makes together."""


class GpuCopySpec(GpuSpec):
    """Concurrent transfers, all of them under contention to the end."""

    metric: ClassVar[str] = "bandwidth"
    own_evidence: ClassVar[type[OwnEvidence]] = GpuCopyEvidence
    initiators: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.NODE, EndpointKind.GPU)
    extra_properties: ClassVar[dict[str, type]] = {**PROPERTY_TYPES, "pages": str}

    kind: Literal["gpu-copy"] = "gpu-copy"
    pattern: GpuCopyPattern
    verify: bool = True
    """Compare every destination with its source's pattern, on the GPU, after the clock stopped."""
    call_latency: bool = False
    """Also measure how long one call takes until its bytes are there; of single small copies."""
    transfers: Annotated[list[Transfer], Field(min_length=1, max_length=256), MadeBy("memory")]

    rules: ClassVar[tuple[Ruling, ...]] = (
        Check(
            "transfers",
            "of pageable and migrating memory are one transfer, one stream",
            lambda spec: (
                not any(one.alone for one in spec.transfers)
                or (len(spec.transfers) == 1 and spec.transfers[0].streams == 1)
            ),
            name="Alone",
        ),
        Check(
            "transfers",
            "of rows are copied by engine ce only",
            lambda spec: (
                spec.pattern.row_bytes is None or all(one.engine == "ce" for one in spec.transfers)
            ),
            ("pattern.row_bytes",),
            name="Rows",
        ),
        Check(
            "pattern.offset",
            "has to be a multiple of 16 for engine tma",
            lambda spec: (
                spec.pattern.offset % 16 == 0 or all(one.engine != "tma" for one in spec.transfers)
            ),
            ("transfers",),
        ),
        Check(
            "call_latency",
            "goes with one transfer, one stream, and memory that stays in place",
            lambda spec: not spec.call_latency or times_calls(spec.transfers),
            ("transfers",),
        ),
    )

    def regions(self) -> list[Region]:
        """Host memory that transfers read or write."""
        return host_regions(host_places(self.transfers), self.pattern.buffer_bytes)

    def identity(self) -> dict[str, Any]:
        """The pattern, and how the bytes are moved; the endpoints say from where to where."""
        pattern = self.pattern.model_dump(mode="json", exclude_none=True)
        return {**pattern, **properties(self.transfers)}

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:  # noqa: ARG002 - the CPUs'
        """Whether a copy inside a GPU may stay in its L2."""
        inside = any(one.source == one.destination for one in self.transfers)
        return inside and self.pattern.size < SURELY_IN_MEMORY

    def limit(self, paths: "Paths") -> "Limit | None":
        """The limit of the counted transfers by their links."""

        if self.fits_caches(paths.topology.caches):
            return None
        return limit_of_set(paths, [one for one in self.transfers if one.reported])


def times_calls(transfers: Sequence[Transfer]) -> bool:
    """Whether the call of a copy can be timed: of one transfer whose pages stay where they are."""
    managed = any(place.memory.startswith("managed") for place in host_places(transfers))
    return len(transfers) == 1 and transfers[0].streams == 1 and not managed


SPEC = GpuCopySpec


def expand(request: Request, topology: Topology, _thp: bool) -> Iterator[GpuCopySpec]:
    """Yield every copy between ``from`` and ``to``, over engines, memories, sizes and streams."""
    require_gpus(topology)
    rows = checked(request, "rows", _rows, request)
    both_ways, trace = flag(request, "both-ways"), flag(request, "trace")
    cpus = checked(request, "cpus", _cpus, request, topology)
    found: list[GpuCopySpec] = []
    for source, destination, writes, moved, values in itertools.product(
        places(request, topology, "from", GpuCopySpec, "node:*"),
        places(request, topology, "to", GpuCopySpec, "gpu:*"),
        writers(request),
        combinations(request, Transfer, {}),
        combinations(request, GpuCopyPattern, {}),
    ):
        if isinstance(source, HostPlace) and isinstance(destination, HostPlace):
            continue
        ways = [(source, destination)]
        if both_ways and source != destination:
            ways.append((destination, source))
        transfers = [
            checked(request, "from", partial(transfer, *pair, writes=writes, **moved))
            for pair in ways
        ]
        size = values["size"] // rows.get("row_bytes", 1) * rows.get("row_bytes", 1)
        fields = {
            **copy_fields(transfers, topology, size, trace),
            **({"cpus": cpus} if cpus else {}),
            "sampling": sampling_of(request),
            "pattern": {"size": size, **rows},
        }
        parts = [*_copy_parts(transfers[0], size), *_more_of(transfers, writes)]
        parts += [f"rows{'x'.join(map(str, rows.values()))}"] if rows else []
        parts += [f"cpu{cpus[0]}"] if cpus else []
        found.append(spec_of(request, GpuCopySpec, fields, parts))
    yield from distinct(
        found, "from these to those places there is no copy that a GPU takes part in"
    )


def _more_of(transfers: list[Transfer], writes: bool) -> list[str]:
    """Parts of a copy's id that only some copies have."""
    more = [SIDES[writes]] if between_gpus(transfers[0]) else []
    return more + (["both-ways"] if len(transfers) > 1 else [])


def copy_fields(
    transfers: Sequence[Transfer], topology: Topology, size: int, trace: bool
) -> dict[str, Any]:
    """Return the fields of a measurement of transfers that run at once."""
    first = next((entry for entry in transfers if entry.reported), transfers[0])
    initiator, target = endpoints(transfers)
    return {
        "initiator": initiator,
        "target": target,
        "cpus": gpu_cpus(topology, gpu_numbered(topology, first.gpu)),
        "trace": trace,
        "call_latency": not trace and size <= _SMALL and times_calls(transfers),
        "pattern": {"size": size},
        "transfers": list(transfers),
    }


def copy_spec(
    name: str,
    transfers: Sequence[Transfer],
    topology: Topology,
    *,
    size: int = LARGE,
    sampling: Sampling = SAMPLING,
    trace: bool = False,
    verify: bool = True,
    cpus: list[int] | None = None,
) -> GpuCopySpec:
    """Return a measurement of transfers that run at once."""
    made = copy_fields(transfers, topology, size, trace) | ({"cpus": cpus} if cpus else {})
    return GpuCopySpec.model_validate(
        {**made, "id": identity([name]), "sampling": sampling, "verify": verify}
    )


def _copy_parts(one: Transfer, size: int) -> list[str]:
    """Parts of a readable id of a single transfer."""
    way = (endpoint_of(one.source), "to", endpoint_of(one.destination))
    host = host_places([one])
    memory = [end.memory for end in host]
    pages = [end.pages for end in host if end.pages != "base"]
    moved = id_parts(Transfer, {"engine": one.engine, "streams": one.streams})
    return [*way, *moved, *memory, *pages, grammar.format_size(size)]


def distinct(found: list[GpuCopySpec], empty: str) -> Iterator[GpuCopySpec]:
    """Yield each of several specs once; raises UserError that says ``empty`` where none is."""
    if not found:
        raise UserError(empty)
    yield from {spec.id: spec for spec in found}.values()


def _cpus(request: Request, topology: Topology) -> list[int] | None:
    """Return the CPU that issues the copies and those that help it to populate, as asked for."""
    text = request.options.get("cpus")
    if text is None:
        return None
    try:
        cpus = list(dict.fromkeys(parse_ranges(text)))
    except ValueError:
        raise UserError(f"'{text}' is not a list of CPUs, as in 4 or 0-3,8") from None
    unusable = [cpu for cpu in cpus if cpu not in topology.cpus]
    if unusable or not cpus:
        usable = format_ranges(tuple(topology.cpus))
        raise UserError(
            f"'{text}' names CPUs that this process may not use; those it may are {usable}"
        )
    return cpus


def _rows(request: Request) -> dict[str, int]:
    """Return the fields of strided copies; none of others."""
    text = request.options.get("rows")
    if text is None:
        return {}
    row, colon, pitch = text.partition(":")
    if not colon:
        raise UserError(f"'{text}' is not ROW:PITCH, as in 4k:8k")
    sizes = {"row_bytes": grammar.parse_size(row), "pitch": grammar.parse_size(pitch)}
    if min(sizes.values()) < 1:
        raise UserError(f"'{text}': a row and its pitch have at least 1 byte")
    return sizes


REQUEST = RequestForm(
    options=(
        Option("from", "PLACES", "Sources: node:0, gpu:1, node:*, gpu:*, all", "node:*"),
        Option("to", "PLACES", "Destinations: node:0, gpu:1, node:*, gpu:*, all", "gpu:*"),
        *options_of(Transfer),
        options.HOST_MEMORY,
        options.HOST_PAGES,
        *options_of(GpuCopyPattern),
        SIDE.but(help=f"Between GPUs: {SIDE.help}"),
        Option("rows", "ROW:PITCH", "Strided (2D) copies, as in 4k:8k", essential=False),
        Option("both-ways", "", "Concurrent copies in both directions", flag=True),
        Option(
            "cpus",
            "CPUS",
            "CPU that issues the copies, as in 4; of several, as in 4-7, the first issues, and all "
            "populate host memory",
            "CPUs near the GPU",
            essential=False,
        ),
        options.TRACE,
        *options.GPU_SAMPLING,
    ),
    expand=expand,
    help="""\
Copies go between places: host memory of any kind on any node, and GPUs.""",
    examples=(
        "gpu copy",
        "gpu copy --from gpu:0 --to node:* --memory pinned,pageable",
        "gpu copy --from node:0 --to gpu:0 --size 4..4g*4 --engine ce,sm",
        "gpu copy --from gpu:0 --to gpu:1 --side read,write --both-ways",
        "gpu copy --from node:0 --to gpu:0 --size 4k --cpus 0",
    ),
)
