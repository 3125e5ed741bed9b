"""Requests for the bandwidth of CPUs to memory."""

import itertools
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from tierscope.kinds.bandwidth.spec import LIBRARY, SHARED_RMW, BandwidthSpec, Operation
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine, options
from tierscope.plans.axes import (
    MemoryPath,
    blamed,
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

OPERATIONS: tuple[str, ...] = Operation.__args__  # type: ignore[attr-defined]
ORDERS = ("sequential", "reverse", "strided", "random")
SHARING = ("partitioned", "shared")


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[BandwidthSpec]:
    """Yield a measurement for each combination of options."""
    for path in memory_paths(request, topology, BandwidthSpec):
        for values, threads in _points(request, topology, path, thp):
            fields = {
                **of_path(request, path),
                "id": _identity(request, path, values, threads),
                "cpus": path.cpus[:threads],
                "pattern": values,
            }
            try:
                yield BandwidthSpec.model_validate(fields)
            except ValidationError as error:
                option = blamed(request, error, ("size", "access-size", "stride"))
                given = request.options.get(option, "default")
                raise request.wrong(option, f"'{given}': {reason(error)}") from None


def _points(
    request: Request, topology: Topology, path: MemoryPath, thp: bool
) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield each combination's pattern, without what is not asked for, and its threads."""
    threads = thread_counts(request, path)
    access_sizes = sizes(request, "access-size") or [64]
    sharing = choices(request, "sharing", SHARING) or [SHARING[0]]
    # Room for three arrays whatever the operation, so that a sweep over operations has one size.
    arrays = Arrays(
        path.placement,
        default=machine.default_size(topology, path.cpus, path.nodes, 3),
        count=3,
        shares=1 if sharing == ["shared"] else max(threads),
        access_size=max(access_sizes),
    )
    found_sizes, kinds = sizes_and_pages(request, topology, thp, arrays)
    axes: dict[str, list[Any]] = {
        "operation": choices(request, "op", OPERATIONS) or ["read"],
        "isa": choices(request, "isa", options.ISAS) or ["auto"],
        "access_size": access_sizes,
        "order": choices(request, "order", ORDERS) or ["sequential"],
        "stride": sizes(request, "stride") or [None],
        "sharing": sharing,
        "pages": kinds,
        "size": found_sizes,
        "threads": threads,
    }
    if axes["stride"] != [None] and "strided" not in axes["order"]:
        raise request.wrong("stride", "a stride goes with order strided only")
    if axes["stride"] == [None] and "strided" in axes["order"]:
        raise request.wrong("order", "order strided needs a stride, such as 4k")
    _check_library(request, axes)
    if "shared" in sharing and "rmw" in axes["operation"]:
        raise request.wrong("sharing", f"'{request.options['sharing']}': {SHARED_RMW}")
    seen = set()
    for combination in itertools.product(*axes.values()):
        values = dict(zip(axes, combination, strict=True))
        if values["order"] != "strided":
            del values["stride"]
        if tuple(values.items()) not in seen:
            seen.add(tuple(values.items()))
            yield values, values.pop("threads")


def _check_library(request: Request, axes: dict[str, list[Any]]) -> None:
    """Raise UserError where a function of the C library is to do what it cannot."""
    asked = [operation for operation in axes["operation"] if operation in LIBRARY]
    if not asked:
        return
    names, go = " and ".join(asked), "goes" if len(asked) == 1 else "go"
    if axes["order"] != ["sequential"]:
        raise request.wrong(
            "order", f"{names} {go} in order sequential only; ask for other orders without {names}"
        )
    if axes["isa"] != ["auto"]:
        raise request.wrong(
            "isa",
            f"the C library chooses the instructions of {names}; leave it auto, or ask for {names} "
            "in a command of its own",
        )


def _identity(request: Request, path: MemoryPath, values: dict[str, Any], threads: int) -> str:
    """Return a readable id that depends on nothing but the measurement itself."""
    parts = [request.name or "bandwidth", values["operation"], *path.names, f"t{threads}"]
    parts += [grammar.format_size(values["size"]), values["pages"]]
    parts += [values["order"]] if values["order"] != "sequential" else []
    if values["access_size"] != 64:
        parts.append(f"a{grammar.format_size(values['access_size'])}")
    parts += [f"s{grammar.format_size(values['stride'])}"] if "stride" in values else []
    parts += ["shared"] if values["sharing"] == "shared" else []
    parts += [values["isa"]] if values["isa"] != "auto" else []
    return identity([*parts, *path.placed_as(request)])


REQUEST = RequestForm(
    options=(
        options.FROM,
        options.TO,
        Option("op", "LIST", ", ".join(OPERATIONS), "read"),
        options.PIN,
        options.THREADS,
        options.ACCESS_SIZE,
        Option("order", "LIST", ", ".join(ORDERS), "sequential"),
        Option("stride", "SIZES", "Bytes between accesses of order strided, as in 4k"),
        Option(
            "sharing",
            "LIST",
            "partitioned: each thread has a share of the arrays; shared: each walks all of them",
            "partitioned",
        ),
        options.SIZE.but(help="Bytes of each array, over all threads, as in 64k..1g"),
        options.PAGES,
        options.ISA,
        *options.PLACEMENT,
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
        "bandwidth --to node:0,1@3:1,node:0,1 --op read,triad --json",
    ),
)
