"""Requests for the idle latency of dependent loads."""

import itertools
from collections.abc import Iterator

from pydantic import ValidationError

from tierscope.kinds.latency.spec import LatencySpec
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine, options
from tierscope.plans.axes import (
    blamed,
    choices,
    identity,
    memory_paths,
    of_path,
    pages,
    reason,
    sizes,
)
from tierscope.plans.options import CHASE_ORDERS
from tierscope.plans.request import Request, RequestForm


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[LatencySpec]:
    """Yield a measurement for each combination, by the first CPU of each initiator."""
    for path in memory_paths(request, topology, LatencySpec):
        default = machine.default_size(topology, path.cpus[:1], path.nodes, 1)
        for order, stride, kind, size in itertools.product(
            choices(request, "order", CHASE_ORDERS) or ["random"],
            sizes(request, "stride") or [0],
            pages(request, topology, thp),
            sizes(request, "size") or [default],
        ):
            parts = [request.name or "latency", *path.names, grammar.format_size(size), kind]
            parts += [order] if order != "random" else []
            parts += [f"s{grammar.format_size(stride)}"] if stride else []
            fields = {
                **of_path(request, path),
                "id": identity([*parts, *path.placed_as(request)]),
                "cpu": path.cpus[0],
                "pattern": {"order": order, "pages": kind, "size": size}
                | ({"stride": stride} if stride else {}),
            }
            try:
                yield LatencySpec.model_validate(fields)
            except ValidationError as error:
                option = blamed(request, error, ("size", "stride"))
                given = request.options.get(option, "default")
                raise request.wrong(option, f"'{given}': {reason(error)}") from None


REQUEST = RequestForm(
    options=(
        options.FROM,
        options.TO,
        options.SIZE,
        options.CHASE_ORDER,
        options.STRIDE,
        options.PAGES,
        *options.PLACEMENT,
        *options.SAMPLING,
    ),
    expand=expand,
    help="""\
The first CPU of each initiator measures. A range of sizes shows the caches' plateaus beside the
cache sizes that the system names.""",
    examples=(
        "latency --size 4k..1g",
        "latency --from node:0 --to node:* --size 1g --pages thp,base",
        "latency --from cpus:3 --order random,page-random --json",
    ),
)
