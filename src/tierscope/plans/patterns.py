"""Expand requests for atomics and for mapping."""

import itertools
from collections.abc import Iterator

from pydantic import ValidationError

from tierscope.kinds.atomics.spec import AtomicsSpec
from tierscope.kinds.mapping.spec import MappingSpec
from tierscope.model.errors import UserError
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine
from tierscope.plans.axes import (
    checked,
    choices,
    identity,
    memory_paths,
    pages,
    reason,
    sampling,
    sizes,
)
from tierscope.plans.request import Request

_OPERATIONS = ("fetch-and-add", "compare-and-swap")
_CONTENDED_SIZE = 64
_MAPPING_SIZE = 64 << 20
_GIB = 1 << 30


def atomics_specs(request: Request, topology: Topology, thp: bool) -> Iterator[AtomicsSpec]:
    """Yield a measurement for each combination; unasked, shared counters lie in one line."""
    operations = choices(request, "op", _OPERATIONS) or [_OPERATIONS[0]]
    sharing = choices(request, "shared", ("no", "yes")) or ["no"]
    for path in memory_paths(request, topology):
        text = request.options.get("threads", "all")
        counts = checked(request, "threads", grammar.expand_counts, text, len(path.cpus))
        if max(counts) > len(path.cpus):
            raise request.wrong(
                "threads", f"{max(counts)}, but {path.initiator} has {len(path.cpus)} usable CPUs"
            )
        nodes = [share.node for share in path.placement.nodes]
        for operation, shared, kind, threads in itertools.product(
            operations, sharing, pages(request, topology, thp), counts
        ):
            default = machine.default_size(topology, path.cpus, nodes, 1)
            unasked = [_CONTENDED_SIZE if shared == "yes" else default]
            for size in sizes(request, "size") or unasked:
                parts = [request.name or operation, str(path.initiator), str(path.target)]
                parts += ["shared"] if shared == "yes" else []
                parts += [request.options["pin"]] if "pin" in request.options else []
                parts += [f"t{threads}", grammar.format_size(size), kind]
                try:
                    yield AtomicsSpec.model_validate(
                        {
                            "id": identity(parts),
                            "initiator": str(path.initiator),
                            "target": str(path.target),
                            "placement": path.placement,
                            "sampling": sampling(request),
                            "cpus": path.cpus[:threads],
                            "pattern": {
                                "operation": operation,
                                "shared": shared == "yes",
                                "size": size,
                                "pages": kind,
                            },
                        }
                    )
                except ValidationError as error:
                    raise request.wrong("size", reason(error)) from None


def mapping_specs(request: Request, topology: Topology, thp: bool) -> Iterator[MappingSpec]:
    """Yield a measurement for each combination, by the first CPU of each initiator."""
    sharing = choices(request, "sharing", ("private", "shared")) or ["private"]
    for path in memory_paths(request, topology):
        for shared, kind in itertools.product(sharing, pages(request, topology, thp)):
            page = {"2m": 2 << 20, "thp": 2 << 20, "1g": _GIB}.get(kind, topology.base_page_bytes)
            for size in sizes(request, "size") or [max(_MAPPING_SIZE, page)]:
                if size % page:
                    error = UserError(
                        f"{grammar.format_size(size)} is no whole number of {kind} pages"
                    )
                    raise request.wrong("size", error)
                parts = [request.name or "mapping", str(path.initiator), str(path.target)]
                parts += [shared, grammar.format_size(size), kind]
                try:
                    yield MappingSpec.model_validate(
                        {
                            "id": identity(parts),
                            "initiator": str(path.initiator),
                            "target": str(path.target),
                            "placement": path.placement,
                            "sampling": sampling(request),
                            "cpu": path.cpus[0],
                            "pattern": {"sharing": shared, "size": size, "pages": kind},
                        }
                    )
                except ValidationError as invalid:
                    raise request.wrong("policy", reason(invalid)) from None
