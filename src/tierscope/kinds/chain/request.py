"""Requests for chains."""

import itertools
from collections.abc import Iterator

from pydantic import ValidationError

from tierscope.kinds.chain.grammar import EACH, PRESETS, format_chain, parse_chains
from tierscope.kinds.chain.operation import Operation, reach
from tierscope.kinds.chain.spec import MAX_INTERLEAVE, MAX_SAMPLE_EVERY, ChainSpec
from tierscope.model.errors import UserError
from tierscope.model.spec import Placement
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

_BLAMED = {
    "size ": "size",
    "size_second ": "second-size",
    "linked ": "linked",
    "a second ": "second-to",
}
"""Options that an invalid spec is put down to, by what its reason begins with."""
Chain = tuple[Operation, ...]


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[ChainSpec]:
    """Yield a measurement for each combination; unasked, linked reads of a line by one thread."""
    chains = _chains(request)
    for path in memory_paths(request, topology, ChainSpec):
        second = _second(request, topology, path, chains)
        counts = thread_counts(request, path) if "threads" in request.options else [1]
        nodes = [*path.nodes, *([share.node for share in second.nodes] if second else [])]
        arrays = Arrays(
            path.placement,
            others=(second,) if second else (),
            default=machine.default_size(topology, path.cpus, nodes, 2 if second else 1),
            count=2 if second else 1,
        )
        found_sizes, kinds = sizes_and_pages(request, topology, thp, arrays)
        second_sizes = _second_sizes(request, second)
        for chain, linked, interleave, every, threads, size, apart, kind in itertools.product(
            chains,
            choices(request, "linked", ("yes", "no")) or ["yes"],
            _counts(request, "interleave", MAX_INTERLEAVE),
            _counts(request, "sample-every", MAX_SAMPLE_EVERY),
            counts,
            found_sizes,
            second_sizes,
            kinds,
        ):
            pattern = {
                "operations": list(chain),
                "linked": linked == "yes",
                "interleave": interleave,
                "sample_every": every,
                "size": size,
                "pages": kind,
            }
            placed = second if reach(chain, 1) else None
            if placed:
                pattern["size_second"] = apart
            elif apart != second_sizes[0]:
                continue  # Chains that stay in m0 are the same whatever the size of m1.
            yield _spec(request, path, threads, pattern, placed)


def _chains(request: Request) -> list[Chain]:
    found: list[Chain] = []
    for line in request.options.get("chain", "read").splitlines():
        found += checked(request, "chain", parse_chains, line)
    return list(dict.fromkeys(found))


def _counts(request: Request, option: str, most: int) -> list[int]:
    def parse() -> list[int]:
        found = grammar.expand_counts(request.options.get(option, "1"), most)
        if max(found) > most:
            raise UserError(f"{max(found)} is too many; the maximum is {most}")
        return found

    return checked(request, option, parse)


def _second(
    request: Request, topology: Topology, path: MemoryPath, chains: list[Chain]
) -> Placement | None:
    """Return where m1 is; UserError where it is named and not used, or the other way round."""
    using = next((chain for chain in chains if reach(chain, 1)), None)
    if "second-to" not in request.options:
        if using:
            said = f"'{format_chain(using)}' goes to m1: name the second target in --second-to"
            raise request.wrong("chain", said)
        return None
    if using is None:
        raise request.wrong("second-to", "no chain goes to m1, as m1_r_64 does; leave it out")
    found = targets(request, "second-to", ChainSpec)
    if len(found) != 1:
        raise request.wrong("second-to", "m1 is in one place; name one target")
    checked(request, "second-to", machine.check_target, topology, found[0])
    return placement_of_other(request, topology, path.cpus, found[0], "second-to")


def _second_sizes(request: Request, second: Placement | None) -> list[int | None]:
    """Return the sizes of m1, None alone for m0's; UserError where there is no m1."""
    if "second-size" not in request.options:
        return [None]
    if second is None:
        raise request.wrong("second-size", "no chain goes to m1, as m1_r_64 does; leave it out")
    return [*sizes(request, "second-size")]


def _spec(
    request: Request,
    path: MemoryPath,
    threads: int,
    pattern: dict[str, object],
    second: Placement | None,
) -> ChainSpec:
    chain: Chain = tuple(pattern["operations"])  # type: ignore[arg-type]
    parts = [request.name or "chain", format_chain(chain), *path.names]
    parts += [where_of(second)] if second else []
    parts += [f"t{threads}", grammar.format_size(int(str(pattern["size"]))), str(pattern["pages"])]
    apart = pattern.get("size_second")
    parts += [f"m1-{grammar.format_size(int(str(apart)))}"] if apart else []
    parts += [] if pattern["linked"] else ["unlinked"]
    parts += [f"i{pattern['interleave']}"] if pattern["interleave"] != 1 else []
    parts += [f"e{pattern['sample_every']}"] if pattern["sample_every"] != 1 else []
    fields = {
        **of_path(request, path),
        "id": identity([*parts, *path.placed_as(request)]),
        "cpus": path.cpus[:threads],
        "placement_second": second,
        "pattern": pattern,
    }
    try:
        return ChainSpec.model_validate(fields)
    except ValidationError as error:
        said = reason(error)
        option = next((name for word, name in _BLAMED.items() if said.startswith(word)), None)
        option = option or blamed(request, error, ("size", "chain", "threads"))
        given = request.options.get(option, "default")
        raise request.wrong(option, f"'{given}': {said}") from None


REQUEST = RequestForm(
    options=(
        options.FROM,
        options.TO,
        Option("second-to", "ENDPOINT", "Where m1 is, the region of operations such as m1_r_64"),
        Option(
            "chain",
            "CHAIN",
            "Operations, as in r_64,w_64_cache_+512, or presets, each by itself: "
            f"{', '.join(PRESETS)}; {EACH}: all of these. May be given again",
            "read",
            many=True,
        ),
        Option(
            "linked",
            "LIST",
            "yes: a chain's first address depends on the chain before; no: chains overlap",
            "yes",
        ),
        Option("interleave", "COUNTS", f"Walks in turn by each thread, 1 to {MAX_INTERLEAVE}", "1"),
        Option("sample-every", "COUNTS", "Time one of so many chains by itself", "1"),
        options.THREADS.but(default="1"),
        options.PIN,
        options.SIZE.but(help="Bytes of each region, as in 64k..1g"),
        Option("second-size", "SIZES", "Bytes of m1", "as --size"),
        options.PAGES,
        *options.PLACEMENT,
        *options.PERSISTENT,
        options.PREFETCHERS,
        *options.SAMPLING,
    ),
    expand=expand,
    help="""\
A chain is a list of operations, in CXL-Bench's grammar: r_SIZE[_CACHE] reads at an address that
the data read before decides; w_SIZE_CACHE[_OFFSET] writes, OFFSET bytes from the operation before;
cas and faa are atomics; sfence and mfence wait. m0_ and m1_ in front of what reads pick the region
(--to, --second-to). SIZE is 8 to 65536; CACHE is none, cache (clwb), flush (clflush), flush-opt
(clflushopt) or nocache (non-temporal). Linked chains have a latency; others a rate.""",
    examples=(
        "chain --size 256k,8m,1g",
        "chain --chain each --to node:*",
        "chain --chain r_2048,r_2048,r_1024,w_64_cache_+64 --linked yes,no",
        "chain --chain r_64,m1_r_64 --to node:0 --second-to node:2 --interleave 1..16*2",
        "chain --chain m0_r_64,m1_r_1024 --second-to node:0 --size 64m --second-size 256m",
        "chain --chain w+clwb,nt-store,cas,faa --sample-every 16",
    ),
)
