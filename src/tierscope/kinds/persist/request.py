"""Requests for persist."""

import itertools
from collections.abc import Iterator

from pydantic import ValidationError

from tierscope.kinds.persist.spec import BY_FILE, BY_POOL, Method, PersistSpec
from tierscope.model.spec import Placement
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine, options
from tierscope.plans.axes import (
    MemoryPath,
    blamed,
    checked,
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

METHODS: tuple[str, ...] = Method.__args__  # type: ignore[attr-defined]
_OF_ARM = ("stores", "dc-cvap", "dc-cvac", "nt-stores", "nt-drain")
_OF_X86 = ("stores", "clwb", "clflushopt", "clflush", "nt-stores", "nt-drain")
_BLOCKS = [64, 4096]
_MOST_RANGES = 4096


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[PersistSpec]:
    """Yield a measurement for each combination; unasked, every method that the CPUs and the target
    have, by one thread."""
    for path in memory_paths(request, topology, PersistSpec):
        counts = thread_counts(request, path) if "threads" in request.options else [1]
        blocks = sizes(request, "block-size") or _BLOCKS
        ranges = checked(request, "ranges", grammar.expand_counts, _ranges(request), _MOST_RANGES)
        arrays = Arrays(
            path.placement,
            default=machine.default_size(topology, path.cpus, path.nodes, 1),
            shares=max(counts),
            access_size=max(blocks),
        )
        found_sizes, kinds = sizes_and_pages(request, topology, thp, arrays)
        for method, order, block, threads, size, kind in itertools.product(
            choices(request, "method", METHODS) or _methods(topology, path.placement),
            choices(request, "order", ("sequential", "random")) or ["sequential"],
            blocks,
            counts,
            found_sizes,
            kinds,
        ):
            pattern: dict[str, str | int] = {
                "method": method,
                "order": order,
                "block_size": block,
                "size": size,
                "pages": kind,
            }
            for parts in ranges if method == "transaction" else [None]:
                cut = {"ranges": parts} if parts else {}
                yield _spec(request, path, threads, {**pattern, **cut})


def _ranges(request: Request) -> str:
    return request.options.get("ranges", "1")


def _methods(topology: Topology, placement: Placement) -> tuple[str, ...]:
    by_cpu = _OF_ARM if topology.architecture == "aarch64" else _OF_X86
    persistent = placement.persistent
    if persistent is None or persistent.backing != "file":
        return by_cpu
    # Memory that stands in for a file's has no storage that the kernel could write to.
    return (*by_cpu, *(() if persistent.bound else BY_FILE), *BY_POOL)


def _placed(placement: Placement, method: str) -> Placement:
    """Return where a method's blocks are: those of libpmemobj take a pool in place of a file."""
    persistent = placement.persistent
    if persistent is None or persistent.backing != "file" or method not in BY_POOL:
        return placement
    return placement.model_copy(
        update={"persistent": persistent.model_copy(update={"backing": "pool"})}
    )


def _spec(
    request: Request, path: MemoryPath, threads: int, pattern: dict[str, str | int]
) -> PersistSpec:
    method, cut = str(pattern["method"]), pattern.get("ranges")
    parts = [request.name or method, *([f"r{cut}"] if cut else []), *path.names]
    parts += [grammar.format_size(int(pattern["block_size"])), str(pattern["order"])]
    parts += [f"t{threads}", grammar.format_size(int(pattern["size"])), str(pattern["pages"])]
    fields = {
        **of_path(request, path),
        "id": identity([*parts, *path.placed_as(request)]),
        "cpus": path.cpus[:threads],
        "placement": _placed(path.placement, method),
        "pattern": pattern,
    }
    try:
        return PersistSpec.model_validate(fields)
    except ValidationError as error:
        option = blamed(request, error, ("size", "block-size", "threads"))
        given = request.options.get(option, "default")
        raise request.wrong(option, f"'{given}': {reason(error)}") from None


REQUEST = RequestForm(
    options=(
        options.FROM,
        options.TO,
        Option("method", "LIST", ", ".join(METHODS), "all that the CPUs and the target have"),
        Option("block-size", "SIZES", "Bytes that one operation persists, as in 64..1m*4", "64,4k"),
        Option(
            "ranges",
            "COUNTS",
            "Of method transaction: ranges that the block is cut into, each at its own place",
            "1",
        ),
        Option("order", "LIST", "sequential, random", "sequential"),
        options.THREADS.but(default="1"),
        options.PIN,
        options.SIZE.but(help="Bytes that all threads go over, as in 64k..1g"),
        options.PAGES,
        *options.PLACEMENT,
        options.BACKED_BY,
        options.DAX_OFFSET,
        options.DESTROY_DAX,
        options.PREFETCHERS,
        *options.SAMPLING,
    ),
    expand=expand,
    help="""\
Each thread writes one block after the other and waits until it persists: ordinary stores, an
instruction that writes each cache line back, and a fence; or non-temporal stores and a fence.
stores and nt-stores are the same stores without anything of that. msync and fdatasync go with
pmem:DIR; so do pool-persist, transaction (with its undo log) and allocation, by libpmemobj on a
pool. Where targets are mixed, a method is skipped on those that it does not go with. On node:
targets the memory forgets its contents without power; the figures are what flushing costs.""",
    examples=(
        "persist --block-size 64..1m*4",
        "persist --to node:* --method stores,clwb,nt-drain --order random",
        "persist --to pmem:node:0 --method stores,clwb,transaction --ranges 1,4 --block-size 1k",
        "persist --method nt-drain --block-size 256 --threads 1..all*2",
    ),
)
