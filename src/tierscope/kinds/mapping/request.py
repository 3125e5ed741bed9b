"""Requests for mapping."""

import itertools
from collections.abc import Iterator

from pydantic import ValidationError

from tierscope.kinds.mapping.spec import MappingSpec
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine, options
from tierscope.plans.axes import choices, identity, memory_paths, of_path, pages, reason, sizes
from tierscope.plans.machine import MIB
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm

_SIZE = 64 * MIB


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[MappingSpec]:
    """Yield a measurement for each combination, by the first CPU of each initiator."""
    for path in memory_paths(request, topology, MappingSpec):
        for sharing, kind in itertools.product(
            choices(request, "sharing", ("private", "shared")) or ["private"],
            pages(request, topology, thp),
        ):
            page = machine.page_bytes(topology, kind)
            for size in sizes(request, "size") or [max(_SIZE, page)]:
                if size % page:
                    raise request.wrong(
                        "size", f"{grammar.format_size(size)} is no whole number of {kind} pages"
                    )
                parts = [request.name or "mapping", *path.names]
                parts += [sharing, grammar.format_size(size), kind]
                fields = {
                    **of_path(request, path),
                    "id": identity(parts),
                    "cpu": path.cpus[0],
                    "pattern": {"sharing": sharing, "size": size, "pages": kind},
                }
                try:
                    yield MappingSpec.model_validate(fields)
                except ValidationError as invalid:
                    raise request.wrong("policy", reason(invalid)) from None


REQUEST = RequestForm(
    options=(
        options.FROM,
        options.TO,
        Option("sharing", "LIST", "private, shared", "private"),
        options.SIZE.but(help="Bytes that are mapped, as in 64k..1g", default="64m"),
        options.PAGES,
        *options.PLACEMENT,
        *options.SAMPLING,
    ),
    expand=expand,
    examples=(
        "mapping --pages base,thp --sharing private,shared",
        "mapping --to node:* --pages base --size 1g",
    ),
)
