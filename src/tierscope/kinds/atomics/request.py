"""Requests for atomic updates."""

import itertools
from collections.abc import Iterator

from pydantic import ValidationError

from tierscope.kinds.atomics.spec import AtomicsSpec
from tierscope.model.spec import CACHE_LINE
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine, options
from tierscope.plans.axes import (
    choices,
    identity,
    memory_paths,
    of_path,
    reason,
    sizes,
    thread_counts,
)
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.rounds import Arrays, sizes_and_pages

OPERATIONS = ("fetch-and-add", "compare-and-swap")


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[AtomicsSpec]:
    """Yield a measurement for each combination; unasked, shared counters lie in one line."""
    for path in memory_paths(request, topology, AtomicsSpec):
        counts = thread_counts(request, path)
        arrays = Arrays(
            path.placement,
            default=machine.default_size(topology, path.cpus, path.nodes, 1),
            shares=max(counts),
        )
        (own_size, *_), kinds = sizes_and_pages(request, topology, thp, arrays)
        for operation, shared, kind, threads in itertools.product(
            choices(request, "op", OPERATIONS) or [OPERATIONS[0]],
            choices(request, "shared", ("no", "yes")) or ["no"],
            kinds,
            counts,
        ):
            default = CACHE_LINE if shared == "yes" else own_size
            for size in sizes(request, "size") or [default]:
                parts = [request.name or operation, *path.names]
                parts += ["shared"] if shared == "yes" else []
                parts += [request.options["pin"]] if "pin" in request.options else []
                parts += [f"t{threads}", grammar.format_size(size), kind]
                fields = {
                    **of_path(request, path),
                    "id": identity(parts),
                    "cpus": path.cpus[:threads],
                    "pattern": {
                        "operation": operation,
                        "shared": shared == "yes",
                        "size": size,
                        "pages": kind,
                    },
                }
                try:
                    yield AtomicsSpec.model_validate(fields)
                except ValidationError as error:
                    raise request.wrong("size", reason(error)) from None


REQUEST = RequestForm(
    options=(
        options.FROM,
        options.TO,
        Option("op", "LIST", ", ".join(OPERATIONS), OPERATIONS[0]),
        Option(
            "shared", "LIST", "no: each thread updates its own counters; yes: all the same", "no"
        ),
        options.THREADS,
        options.PIN,
        options.SIZE.but(default="past the caches; 64 where shared"),
        options.PAGES,
        *options.PLACEMENT,
        *options.PERSISTENT,
        *options.SAMPLING,
    ),
    expand=expand,
    examples=(
        "atomics --op fetch-and-add,compare-and-swap --shared no,yes",
        "atomics --shared yes --threads 1..all*2",
        "atomics --to node:2 --size 64m",
    ),
)
