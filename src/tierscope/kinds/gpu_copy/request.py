"""Requests for copies among host memory and GPUs."""

import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from tierscope.kinds.gpu_copy.spec import GpuCopyPattern, GpuCopySpec, times_calls
from tierscope.model.endpoint import format_ranges, parse_ranges
from tierscope.model.errors import UserError
from tierscope.model.gpu import CopyEngine, GpuPlace, HostPlace, Transfer
from tierscope.model.spec import Sampling
from tierscope.model.topology import Topology
from tierscope.model.transfers import endpoint_of, endpoints, host_places
from tierscope.plans import grammar, options
from tierscope.plans.axes import checked, choices, identity, sizes
from tierscope.plans.gpu import (
    SAMPLING,
    flag,
    gpu_cpus,
    gpu_numbered,
    named,
    places,
    require_gpus,
    sampling_of,
    transfer,
)
from tierscope.plans.machine import MIB
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm

LARGE = 512 * MIB
"""Bytes of one copy where no size is asked for; starting it costs next to nothing."""
ENGINES: tuple[str, ...] = CopyEngine.__args__  # type: ignore[attr-defined]
SIDES = ("read", "write")
MAX_STREAMS = 64
_SMALL = 1 << 20
"""Bytes of the largest copy of which the call takes a share worth measuring. Where a trace is asked
for, it is to show the copies alone."""


def expand(request: Request, topology: Topology, _thp: bool) -> Iterator[GpuCopySpec]:
    """Yield every copy between ``from`` and ``to``, over engines, memories, sizes and streams."""
    require_gpus(topology)
    rows = checked(request, "rows", _rows, request)
    both_ways = flag(request, "both-ways")
    cpus = checked(request, "cpus", _cpus, request, topology)
    engines: list[Any] = choices(request, "engine", ENGINES) or ["ce"]
    points = itertools.product(
        places(request, topology, "from", GpuCopySpec, "node:*"),
        places(request, topology, "to", GpuCopySpec, "gpu:*"),
        choices(request, "side", SIDES) or ["read"],
        engines,
        _stream_counts(request),
        sizes(request, "size") or [LARGE],
    )
    found: list[GpuCopySpec] = []
    for source, destination, side, engine, streams, size in points:
        if isinstance(source, HostPlace) and isinstance(destination, HostPlace):
            continue
        ways = [(source, destination)]
        if both_ways and source != destination:
            ways.append((destination, source))
        options: dict[str, Any] = {"writes": side == "write", "streams": streams}
        transfers = [
            checked(request, "from", partial(transfer, *pair, engine, **options)) for pair in ways
        ]
        make = partial(
            copy_spec,
            named(
                request,
                *copy_parts(transfers[0], size),
                *_more_of(transfers, side, rows),
                *([f"cpu{cpus[0]}"] if cpus else []),
            ),
            transfers,
            topology,
            size=size // rows[0] * rows[0] if rows else size,
            sampling=sampling_of(request),
            trace=flag(request, "trace"),
            rows=rows,
            cpus=cpus,
        )
        found.append(checked(request, "size", make))
    yield from distinct(
        found, "from these to those places there is no copy that a GPU takes part in"
    )


def _more_of(transfers: list[Transfer], side: str, rows: tuple[int, int] | None) -> list[str]:
    """Parts of a copy's id that only some copies have."""
    first = transfers[0]
    peers = isinstance(first.source, GpuPlace) and isinstance(first.destination, GpuPlace)
    more = [side] if peers and first.source != first.destination else []
    more += ["both-ways"] if len(transfers) > 1 else []
    return more + ([f"rows{rows[0]}x{rows[1]}"] if rows else [])


def copy_spec(
    name: str,
    transfers: Sequence[Transfer],
    topology: Topology,
    *,
    size: int = LARGE,
    sampling: Sampling = SAMPLING,
    trace: bool = False,
    verify: bool = True,
    rows: tuple[int, int] | None = None,
    cpus: list[int] | None = None,
) -> GpuCopySpec:
    """Return a measurement of transfers that run at once.

    ``rows`` is (bytes of a row, bytes from row to row) of strided copies.
    """
    first = next((entry for entry in transfers if entry.reported), transfers[0])
    initiator, target = endpoints(transfers)
    row_bytes, pitch = rows or (None, None)
    return GpuCopySpec(
        id=identity([name]),
        initiator=initiator,
        target=target,
        cpus=cpus or gpu_cpus(topology, gpu_numbered(topology, first.gpu)),
        sampling=sampling,
        trace=trace,
        verify=verify,
        call_latency=not trace and size <= _SMALL and times_calls(transfers),
        pattern=GpuCopyPattern(size=size, row_bytes=row_bytes, pitch=pitch),
        transfers=list(transfers),
    )


def copy_parts(one: Transfer, size: int) -> list[str]:
    """Parts of a readable id of a single transfer."""
    way = (endpoint_of(one.source), "to", endpoint_of(one.destination))
    host = host_places([one])
    memory = [end.memory for end in host]
    pages = [end.pages for end in host if end.pages != "base"]
    streams = [f"{one.streams}streams"] if one.streams > 1 else []
    return [*way, one.engine, *memory, *pages, *streams, grammar.format_size(size)]


def distinct(found: list[GpuCopySpec], empty: str) -> Iterator[GpuCopySpec]:
    """Yield each of several specs once; raises UserError that says ``empty`` where none is."""
    if not found:
        raise UserError(empty)
    yield from {spec.id: spec for spec in found}.values()


def _stream_counts(request: Request) -> list[int]:
    text = request.options.get("streams", "1")
    counts = checked(request, "streams", grammar.expand_counts, text, MAX_STREAMS)
    if max(counts) > MAX_STREAMS:
        raise request.wrong("streams", f"{max(counts)} is too many; the maximum is {MAX_STREAMS}")
    return counts


def _cpus(request: Request, topology: Topology) -> list[int] | None:
    """Return the CPU that issues the copies and those that help it to populate, as asked for."""
    text = request.options.get("cpus")
    if text is None:
        return None
    try:
        cpus = list(dict.fromkeys(parse_ranges(text)))
    except ValueError:
        raise UserError(f"'{text}' is no list of CPUs, as in 4 or 0-3,8") from None
    unusable = [cpu for cpu in cpus if cpu not in topology.cpus]
    if unusable or not cpus:
        usable = format_ranges(tuple(topology.cpus))
        raise UserError(
            f"'{text}' names CPUs that this process may not use; those it may are {usable}"
        )
    return cpus


def _rows(request: Request) -> tuple[int, int] | None:
    text = request.options.get("rows")
    if text is None:
        return None
    row, colon, pitch = text.partition(":")
    if not colon:
        raise UserError(f"'{text}' is not ROW:PITCH, as in 4k:8k")
    sizes = grammar.parse_size(row), grammar.parse_size(pitch)
    if min(sizes) < 1:
        raise UserError(f"'{text}': a row and its pitch have at least 1 byte")
    return sizes


REQUEST = RequestForm(
    options=(
        Option("from", "PLACES", "Sources: node:0, gpu:1, node:*, gpu:*, all", "node:*"),
        Option("to", "PLACES", "Destinations, likewise", "gpu:*"),
        options.ENGINE,
        options.HOST_MEMORY,
        options.HOST_PAGES,
        options.COPY_SIZE,
        Option("streams", "COUNTS", "CUDA streams that share a copy, as in 1..8", "1"),
        Option("side", "LIST", "Between GPUs: read (by the destination's GPU), write", "read"),
        Option("rows", "ROW:PITCH", "Strided (2D) copies, as in 4k:8k"),
        Option("both-ways", "", "Concurrent copies in both directions", flag=True),
        Option(
            "cpus",
            "CPUS",
            "CPU that issues the copies, as in 4; of several, as in 4-7, the first issues, and all "
            "populate host memory",
            "CPUs near the GPU",
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
