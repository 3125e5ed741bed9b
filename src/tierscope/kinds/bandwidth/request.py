"""Requests for the bandwidth of CPUs to memory."""

import itertools
import math
from collections.abc import Iterator
from typing import Any, Final

from pydantic import ValidationError

from tierscope.kinds.bandwidth.spec import (
    LIBRARY,
    SHARED_RMW,
    BandwidthSpec,
    Operation,
    arrays_of,
)
from tierscope.model.endpoint import EndpointKind
from tierscope.model.errors import UserError
from tierscope.model.spec import NodeShare, Placement
from tierscope.model.topology import Topology
from tierscope.model.where import where_of
from tierscope.plans import grammar, machine, options
from tierscope.plans.axes import (
    MemoryPath,
    blamed,
    checked,
    choices,
    identity,
    memory_paths,
    of_path,
    placement_of_other,
    reason,
    sizes,
    targets,
    thread_counts,
)
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.rounds import Arrays, sizes_and_pages
from tierscope.plans.zipf import ZIPF_ALPHA, zipf_alphas

OPERATIONS: tuple[str, ...] = Operation.__args__  # type: ignore[attr-defined]
ORDERS = ("sequential", "reverse", "strided", "random", "zipf")
SHARING = ("partitioned", "shared")
FIRST_TOUCH: Final = "first-touch"
_ARRAYS = {"b": 2, "c": 3}
"""Options that place an array, and how many arrays the operations have that use it."""


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[BandwidthSpec]:
    """Yield a measurement for each combination of options."""
    for path in memory_paths(_bound(request), topology, BandwidthSpec):
        placed = {name: _placed(request, topology, path, name) for name in _ARRAYS}
        for values, threads in _points(request, topology, path, thp, placed):
            fields = {
                **of_path(request, path),
                "id": _identity(request, path, values, threads, placed),
                "cpus": path.cpus[:threads],
                "pattern": values,
            }
            for name, arrays in _ARRAYS.items():
                if arrays_of(values["operation"]) >= arrays:
                    fields[f"placement_{name}"] = placed[name]
            if request.options.get("policy") == FIRST_TOUCH:
                fields |= _touched(topology, path.cpus[:threads])
            try:
                yield BandwidthSpec.model_validate(fields)
            except ValidationError as error:
                option = blamed(request, error, ("size", "access-size", "stride"))
                given = request.options.get(option, "default")
                raise request.wrong(option, f"'{given}': {reason(error)}") from None


def _bound(request: Request) -> Request:
    """Return a request for memory that the plan places; UserError where first touch does and the
    plan, too."""
    if FIRST_TOUCH not in request.options.get("policy", ""):
        return request
    if request.options["policy"] != FIRST_TOUCH:
        raise request.wrong("policy", "first-touch goes with no other policy; measure it apart")
    for name in ("to", *_ARRAYS, "mechanism"):
        if name in request.options:
            why = "with --policy first-touch the threads place the pages where they run"
            raise request.wrong(name, f"{why}; leave it out")
    options = {name: text for name, text in request.options.items() if name != "policy"}
    return request.model_copy(update={"options": options})


def _touched(topology: Topology, cpus: list[int]) -> dict[str, Any]:
    """Return the fields of memory that threads on these CPUs touch first."""
    nodes = [
        NodeShare(node=node.number, weight=len(threads))
        for node in machine.memory_nodes(topology)
        if (threads := set(cpus).intersection(node.cpus))
    ]
    whole = math.gcd(*(share.weight for share in nodes)) if nodes else 1
    nodes = [NodeShare(node=share.node, weight=share.weight // whole) for share in nodes]
    if sum(share.weight for share in nodes) * whole != len(cpus):
        raise UserError("first touch: a CPU's own node has no memory; name nodes in --to")
    placement = Placement(policy=FIRST_TOUCH, nodes=nodes)
    return {"placement": placement, "target": where_of(placement)}


def _placed(
    request: Request, topology: Topology, path: MemoryPath, option: str
) -> Placement | None:
    """Return where the array of an option goes; None where it goes with the written one."""
    if option not in request.options:
        return None
    found = targets(request, option, BandwidthSpec)
    if len(found) != 1:
        raise request.wrong(option, "an array is in one place; name one target")
    checked(request, option, machine.check_target, topology, found[0])
    if found[0].kind is not EndpointKind.NODE:
        placement = checked(
            request, option, placement_of_other, request, topology, path.cpus, found[0]
        )
        return None if placement == path.placement else placement
    several = len(found[0].numbers) > 1
    policy = path.placement.policy if several and "policy" in request.options else None
    mechanism = path.placement.mechanism if several else "user"
    placement = checked(request, option, machine.placement, found[0], policy, mechanism)
    return None if placement == path.placement else placement


def _points(
    request: Request,
    topology: Topology,
    path: MemoryPath,
    thp: bool,
    placed: dict[str, Placement | None],
) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield each combination's pattern, without what is not asked for, and its threads."""
    threads = thread_counts(request, path)
    access_sizes = sizes(request, "access-size") or [64]
    sharing = choices(request, "sharing", SHARING) or [SHARING[0]]
    # Room for three arrays whatever the operation, so that a sweep over operations has one size.
    others = tuple(filter(None, placed.values()))
    nodes = [*path.nodes, *(share.node for each in others for share in each.nodes)]
    arrays = Arrays(
        path.placement,
        others=others,
        default=machine.default_size(topology, path.cpus, nodes, 3),
        count=3,
        shares=1 if sharing == ["shared"] else max(threads),
        access_size=max(access_sizes),
    )
    found_sizes, kinds = sizes_and_pages(request, topology, thp, arrays)
    orders = choices(request, "order", ORDERS) or ["sequential"]
    axes: dict[str, list[Any]] = {
        "operation": choices(request, "op", OPERATIONS) or ["read"],
        "isa": choices(request, "isa", options.ISAS) or ["auto"],
        "access_size": access_sizes,
        "order": orders,
        "stride": sizes(request, "stride") or [None],
        "zipf_alpha": zipf_alphas(request, orders),
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
        if values["order"] != "zipf" or values["zipf_alpha"] is None:
            del values["zipf_alpha"]
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


def _identity(
    request: Request,
    path: MemoryPath,
    values: dict[str, Any],
    threads: int,
    placed: dict[str, Placement | None],
) -> str:
    """Return a readable id that depends on nothing but the measurement itself."""
    touched = request.options.get("policy") == FIRST_TOUCH
    names = (str(path.initiator), FIRST_TOUCH) if touched else path.names
    parts = [request.name or "bandwidth", values["operation"], *names, f"t{threads}"]
    parts += [grammar.format_size(values["size"]), values["pages"]]
    parts += [values["order"]] if values["order"] != "sequential" else []
    if values["access_size"] != 64:
        parts.append(f"a{grammar.format_size(values['access_size'])}")
    parts += [f"s{grammar.format_size(values['stride'])}"] if "stride" in values else []
    parts += [f"z{values['zipf_alpha']:g}"] if "zipf_alpha" in values else []
    parts += ["shared"] if values["sharing"] == "shared" else []
    parts += [values["isa"]] if values["isa"] != "auto" else []
    for name, arrays in _ARRAYS.items():
        if (where := placed[name]) and arrays_of(values["operation"]) >= arrays:
            parts.append(f"{name}-{where_of(where)}")
    return identity([*parts, *path.placed_as(_bound(request))])


REQUEST = RequestForm(
    options=(
        options.FROM,
        options.TO,
        Option("b", "ENDPOINT", "Where the array is that is read first (copy: a = b)", "as --to"),
        Option(
            "c", "ENDPOINT", "Where the array is that is read second (add: a = b + c)", "as --to"
        ),
        Option("op", "LIST", ", ".join(OPERATIONS), "read"),
        options.PIN,
        options.THREADS,
        options.ACCESS_SIZE,
        Option("order", "LIST", ", ".join(ORDERS), "sequential"),
        Option("stride", "SIZES", "Bytes between accesses of order strided, as in 4k"),
        ZIPF_ALPHA,
        Option(
            "sharing",
            "LIST",
            "partitioned: each thread has a share of the arrays; shared: each walks all of them",
            "partitioned",
        ),
        options.SIZE.but(help="Bytes of each array, over all threads, as in 64k..1g"),
        options.PAGES,
        options.ISA,
        options.POLICY.but(help=f"{options.POLICY.help}, {FIRST_TOUCH} (where each thread runs)"),
        options.MECHANISM,
        *options.PERSISTENT,
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
        "bandwidth --order random,zipf --zipf-alpha 0.5,0.9,1.2",
        "bandwidth --to node:0,1@3:1,node:0,1 --op read,triad --json",
        "bandwidth --op copy --to node:1 --b node:0",
    ),
)
