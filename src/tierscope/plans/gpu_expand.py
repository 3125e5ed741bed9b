"""Expand the options of ``tierscope gpu``'s commands into plans.

Options are text in the grammar of ``plans.grammar``: a value, a list, a range.
"""

import itertools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from tierscope.model.endpoint import EndpointKind, parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.gpu import (
    GpuLatencySpec,
    GpuMemorySpec,
    GpuPlace,
    HostPlace,
    MemoryPlace,
    Transfer,
)
from tierscope.model.plan import PLAN_VERSION, Plan, Spec
from tierscope.model.spec import Sampling
from tierscope.model.topology import Topology
from tierscope.plans import gpu_sets, grammar
from tierscope.plans.gpu_specs import (
    LARGE,
    SAMPLING,
    copy_id,
    copy_spec,
    endpoint_of,
    gpu_cpus,
    gpu_numbered,
    gpu_place,
    host_nodes,
    host_place,
    identity,
    require_gpus,
    transfer,
)
from tierscope.plans.machine import GIB, MIB

ENGINES = ("ce", "sm", "tma")
MEMORIES = (
    "pinned",
    "write-combined",
    "registered",
    "pageable",
    "managed",
    "managed-prefetch",
    "managed-advised",
)
OPERATIONS = ("read", "write", "copy", "scale", "add", "triad", "random")
PAGES = ("base", "thp", "2m", "1g")
SIDES = ("read", "write")
MOST_STREAMS = 64

Given = Mapping[str, str | None]
Value = TypeVar("Value")


def copies(topology: Topology, given: Given, *, both_ways: bool, trace: bool) -> Plan:
    """Every copy between ``from`` and ``to``, over engines, memories, sizes and streams."""
    require_gpus(topology)
    sampling, rows = _sampling(given), _rows(given)
    axes = itertools.product(
        _places(topology, given, "from", "node:*"),
        _places(topology, given, "to", "gpu:*"),
        _choices(given, "side", SIDES) or ["read"],
        _choices(given, "engine", ENGINES) or ["ce"],
        _counts(given, "streams"),
        _sizes(given, "size", LARGE),
    )
    specs: list[Spec] = []
    for source, destination, side, engine, streams, size in axes:
        if isinstance(source, HostPlace) and isinstance(destination, HostPlace):
            continue
        ends = [(source, destination)]
        if both_ways and source != destination:
            ends.append((destination, source))
        options: dict[str, Any] = {"writes": side == "write", "streams": streams}
        transfers = [_checked("from", transfer, *pair, engine, **options) for pair in ends]
        whole = size // rows[0] * rows[0] if rows else size
        specs.append(
            _checked(
                "size",
                copy_spec,
                copy_id(transfers[0], size, *_more_of(transfers, side, rows)),
                transfers,
                topology,
                size=whole,
                sampling=sampling,
                trace=trace,
                rows=rows,
            )
        )
    return _plan(specs, "from these to those places there is no copy that a GPU takes part in")


def _more_of(transfers: list[Transfer], side: str, rows: tuple[int, int] | None) -> list[str]:
    """Parts of a copy's id that only some copies have."""
    first = transfers[0]
    peers = isinstance(first.source, GpuPlace) and isinstance(first.destination, GpuPlace)
    more = [side] if peers and first.source != first.destination else []
    more += ["both-ways"] if len(transfers) > 1 else []
    return more + ([f"rows{rows[0]}x{rows[1]}"] if rows else [])


def together(topology: Topology, given: Given, *, trace: bool) -> Plan:
    """Sets of transfers that run at once, all of them counted."""
    sampling = _sampling(given)
    names = _choices(given, "set", tuple(gpu_sets.SETS)) or list(gpu_sets.SETS)
    specs: list[Spec] = []
    for name, engine, size in itertools.product(
        names, _choices(given, "engine", ENGINES) or ["ce"], _sizes(given, "size", LARGE)
    ):
        for label, transfers in gpu_sets.SETS[name](topology, engine):
            text = f"{label}.{engine}.{grammar.format_size(size)}"
            specs.append(
                copy_spec(text, transfers, topology, size=size, sampling=sampling, trace=trace)
            )
    return _plan(specs, "these sets take two GPUs or more")


def memory(topology: Topology, given: Given, *, trace: bool) -> Plan:
    """Bandwidth of the GPUs' own memory, over operations and working sets."""
    sampling = _sampling(given)
    specs: list[Spec] = []
    for gpu, operation, access, size in itertools.product(
        _gpus(topology, given, "from"),
        _choices(given, "op", OPERATIONS) or ["read", "write", "copy", "scale", "add", "triad"],
        _sizes(given, "access-size", 32),
        _sizes(given, "size", GIB),
    ):
        random = operation == "random"
        if not random and access != _sizes(given, "access-size", 32)[0]:
            continue
        name = f"gpu:{gpu}"
        text = f"gpu{gpu}.{operation}.{grammar.format_size(size)}"
        fields = {
            "id": identity(text + (f".a{access}" if random else "")),
            "initiator": name,
            "target": name,
            "cpus": gpu_cpus(topology, gpu_numbered(topology, gpu)),
            "sampling": sampling,
            "trace": trace,
            "gpu": gpu,
        }
        pattern = {"operation": operation, "size": size, "access_size": access}
        specs.append(_checked("size", GpuMemorySpec.model_validate, {**fields, "pattern": pattern}))
    return _plan(specs, "nothing to measure")


def latency(topology: Topology, given: Given, *, per_sm: bool, trace: bool) -> Plan:
    """Latency from GPUs to memory, over places and working sets."""
    sampling = _sampling(given)
    specs: list[Spec] = []
    for gpu, place, engine, stride, size in itertools.product(
        _gpus(topology, given, "from"),
        _places(topology, given, "to", "gpu:*,node:*"),
        _choices(given, "engine", ("sm", "tma")) or ["sm"],
        _sizes(given, "stride", 128),
        _sizes(given, "size", 0),
    ):
        # Where no size is asked for: past every L2, and small beside what a host can spare.
        size = size or (64 * MIB if isinstance(place, HostPlace) else GIB)
        target = endpoint_of(place)
        fields = {
            "id": identity(f"gpu{gpu}.{engine}.{target}.{grammar.format_size(size)}.s{stride}"),
            "initiator": f"gpu:{gpu}",
            "target": target,
            "cpus": gpu_cpus(topology, gpu_numbered(topology, gpu)),
            "sampling": sampling,
            "trace": trace,
            "gpu": gpu,
            "memory": place,
            "engine": engine,
            "per_sm": per_sm and engine == "sm",
        }
        pattern = {"size": size, "stride": stride}
        specs.append(
            _checked("size", GpuLatencySpec.model_validate, {**fields, "pattern": pattern})
        )
    return _plan(specs, "nothing to measure")


def _plan(specs: list[Spec], empty: str) -> Plan:
    if not specs:
        raise UserError(empty)
    unique = {spec.id: spec for spec in specs}
    return Plan(version=PLAN_VERSION, measurements=list(unique.values()))


def _places(topology: Topology, given: Given, option: str, default: str) -> list[MemoryPlace]:
    """Places of an option, host memory once for each kind and page size asked for."""
    kinds = _choices(given, "memory", MEMORIES) or ["pinned"]
    pages: list[Any] = _choices(given, "pages", PAGES) or ["base"]
    if pages != ["base"] and not {"pageable", "registered"} & set(kinds):
        raise UserError("--pages: only pageable and registered --memory has a choice of pages")
    found: list[MemoryPlace] = []
    for text in _checked(option, grammar.split_endpoints, given.get(option) or default):
        if text in ("gpu:*", "all"):
            found += [gpu_place(gpu.index) for gpu in require_gpus(topology)]
        if text in ("node:*", "all"):
            nodes = host_nodes(topology)
        elif text == "gpu:*":
            continue
        else:
            end = _checked(option, parse_endpoint, text)
            if end.kind is EndpointKind.GPU:
                found.append(gpu_place(_checked_gpu(topology, option, end.numbers[0])))
                continue
            nodes = _checked_nodes(topology, option, text, end.kind, end.numbers)
        found += [
            host_place(node, kind, page)
            for node, kind in itertools.product(nodes, kinds)
            for page in (pages if kind in ("pageable", "registered") else pages[:1])
        ]
    return list({place.model_dump_json(): place for place in found}.values())


def _checked_gpu(topology: Topology, option: str, index: int) -> int:
    return _checked(option, gpu_numbered, topology, index).index


def _checked_nodes(
    topology: Topology, option: str, text: str, kind: EndpointKind, numbers: tuple[int, ...]
) -> list[int]:
    known = host_nodes(topology)
    if kind is not EndpointKind.NODE or not set(numbers) <= set(known):
        raise UserError(
            f"--{option}: '{text}' is neither a GPU nor one of the nodes with host memory, "
            f"{', '.join(f'node:{node}' for node in known)}"
        )
    return list(numbers)


def _gpus(topology: Topology, given: Given, option: str) -> list[int]:
    places = _places(topology, given, option, "gpu:*")
    found = [place for place in places if not isinstance(place, HostPlace)]
    if not found:
        raise UserError(f"--{option}: name GPUs, as in gpu:0 or gpu:*")
    return [place.gpu for place in found]


def _choices(given: Given, option: str, allowed: tuple[str, ...]) -> list[Any]:
    text = given.get(option)
    if text is None:
        return []
    words = _checked(option, grammar.split_words, text)
    return [_checked(option, grammar.parse_choice, word, allowed) for word in words]


def _sizes(given: Given, option: str, default: int) -> list[int]:
    text = given.get(option)
    return [default] if text is None else _checked(option, grammar.expand_sizes, text)


def _counts(given: Given, option: str) -> list[int]:
    text = given.get(option)
    counts = [1] if text is None else _checked(option, grammar.expand_counts, text, MOST_STREAMS)
    if max(counts) > MOST_STREAMS:
        raise UserError(f"--{option}: {max(counts)} is too many; the most is {MOST_STREAMS}")
    return counts


def _rows(given: Given) -> tuple[int, int] | None:
    text = given.get("rows")
    if text is None:
        return None
    row, colon, pitch = text.partition(":")
    if not colon:
        raise UserError(f"--rows: '{text}' is not ROW:PITCH, as in 4k:8k")
    return _checked("rows", grammar.parse_size, row), _checked("rows", grammar.parse_size, pitch)


def _sampling(given: Given) -> Sampling:
    limits = {"precision": (0, 0.5), "budget": (0, 86400), "sample": (0, 60)}
    names = {"precision": "precision", "budget": "budget_s", "sample": "sample_s"}
    values = {
        names[option]: _checked(option, grammar.parse_number, given[option], *bounds)
        for option, bounds in limits.items()
        if given.get(option) is not None
    }
    return SAMPLING.model_copy(update=values)


def _checked(option: str, make: Callable[..., Value], *given: Any, **more: Any) -> Value:
    """Call ``make``; an error gets the option in front."""
    try:
        return make(*given, **more)
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise UserError(f"--{option}: {reason}") from None
    except UserError as error:
        text = str(error)
        prefix = "" if text.startswith("--") else f"--{option}: "
        raise UserError(f"{prefix}{text}", error.exit_code) from None
