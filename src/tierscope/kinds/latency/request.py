"""Requests for the idle latency of dependent loads."""

import itertools
from collections.abc import Iterator

from pydantic import ValidationError

from tierscope.kinds.latency.spec import MAX_CHASES, LatencySpec
from tierscope.model.errors import UserError
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine, options
from tierscope.plans.axes import (
    blamed,
    checked,
    choices,
    identity,
    memory_paths,
    of_path,
    reason,
    sizes,
)
from tierscope.plans.options import CHASE_ORDERS, Option
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.rounds import Arrays, sizes_and_pages


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[LatencySpec]:
    """Yield a measurement for each combination, by the first CPU of each initiator."""
    for path in memory_paths(request, topology, LatencySpec):
        default = machine.default_size(topology, path.cpus[:1], path.nodes, 1)
        found_sizes, kinds = sizes_and_pages(
            request, topology, thp, Arrays(path.placement, default=default)
        )
        for order, stride, kind, size, chases in itertools.product(
            choices(request, "order", CHASE_ORDERS) or ["random"],
            sizes(request, "stride") or [0],
            kinds,
            found_sizes,
            checked(request, "chases", _chases, request),
        ):
            parts = [request.name or "latency", *path.names, grammar.format_size(size), kind]
            parts += [order] if order != "random" else []
            parts += [f"s{grammar.format_size(stride)}"] if stride else []
            parts += [f"c{chases}"] if chases > 1 else []
            fields = {
                **of_path(request, path),
                "id": identity([*parts, *path.placed_as(request)]),
                "cpu": path.cpus[0],
                "chases": chases,
                "pattern": {"order": order, "pages": kind, "size": size}
                | ({"stride": stride} if stride else {}),
            }
            try:
                yield LatencySpec.model_validate(fields)
            except ValidationError as error:
                option = blamed(request, error, ("chases", "size", "stride"))
                given = request.options.get(option, "default")
                raise request.wrong(option, f"'{given}': {reason(error)}") from None


def _chases(request: Request) -> list[int]:
    counts = grammar.expand_counts(request.options.get("chases", "1"), MAX_CHASES)
    if max(counts) > MAX_CHASES:
        raise UserError(f"{max(counts)} is too many; the maximum is {MAX_CHASES} chases")
    return counts


REQUEST = RequestForm(
    options=(
        options.FROM,
        options.TO,
        options.SIZE,
        options.CHASE_ORDER,
        options.STRIDE,
        Option(
            "chases",
            "COUNTS",
            f"Independent chases at once, 1 to {MAX_CHASES}, as in 1..32*2: how many loads overlap",
            "1",
        ),
        options.PAGES,
        *options.PLACEMENT,
        *options.PERSISTENT,
        options.PREFETCHERS,
        *options.SAMPLING,
    ),
    expand=expand,
    help="""\
The first CPU of each initiator measures. A range of sizes shows the caches as plateaus, next to
the sizes that the system reports. Several numbers of chases show memory-level parallelism: how
many loads of one core overlap, and what bandwidth they reach.""",
    examples=(
        "latency --size 4k..1g",
        "latency --from node:0 --to node:* --size 1g --pages thp,base",
        "latency --from cpus:3 --order random,page-random --json",
        "latency --chases 1..32*2",
    ),
)
