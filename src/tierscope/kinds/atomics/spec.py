"""The spec of atomic updates, contended or not."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from tierscope.model.property import OPERATION, PAGES, SIZE, MadeBy, Property
from tierscope.model.rules import Check, Ruled, Ruling
from tierscope.model.spec import CACHE_LINE, Bytes, EachCpu, MemorySpec, Pages, Region
from tierscope.model.topology import Topology
from tierscope.plans import machine, options
from tierscope.plans.axes import common_fields, memory_paths, thread_counts
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.rounds import Arrays, sizes_and_pages
from tierscope.plans.sweep import asked, combinations, id_parts, options_of, spec_of


class AtomicsPattern(Ruled):
    """Atomic updates of counters, one in each cache line, in random order."""

    operation: Annotated[
        Literal["fetch-and-add", "compare-and-swap"], OPERATION.but(default="fetch-and-add")
    ]
    size: Annotated[
        Bytes, SIZE.but(default_help="larger than the last-level cache; 64 where shared")
    ]
    pages: Annotated[Pages, PAGES] = "thp"
    shared: Annotated[
        bool,
        Property("no: each thread updates its own counters; yes: all the same", id="shared"),
    ] = False
    """All threads update all counters, in place of each its own share; with a size of 64, all
    contend for one line."""


class AtomicsSpec(MemorySpec):
    """Atomic updates a second."""

    metric: ClassVar[str] = "updates"
    never_sleeps: ClassVar[bool] = True
    recorded: ClassVar[tuple[str, ...]] = ("operation", "size", "threads")
    extra_properties: ClassVar[dict[str, type]] = {"threads": int}

    kind: Literal["atomics"] = "atomics"
    cpus: Annotated[EachCpu, MadeBy("threads")]
    pattern: AtomicsPattern

    rules: ClassVar[tuple[Ruling, ...]] = (
        Check(
            "pattern.size",
            "has fewer lines than there are threads",
            lambda spec: spec.pattern.shared or spec.pattern.size // CACHE_LINE >= len(spec.cpus),
            ("cpus", "pattern.shared"),
        ),
    )

    def thread_cpus(self) -> list[int]:
        """One thread a CPU."""
        return self.cpus

    def regions(self) -> list[Region]:
        """The counters."""
        return [Region(self.placement, self.pattern.pages, self.pattern.size)]

    def identity(self) -> dict[str, Any]:
        """The pattern and the number of threads."""
        return {**self.pattern.as_recorded(), **self.placed_as(), "threads": len(self.cpus)}


SPEC = AtomicsSpec


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[AtomicsSpec]:
    """Yield a measurement for each combination; unasked, shared counters lie in one line."""
    for path in memory_paths(request, topology, AtomicsSpec):
        counts = thread_counts(request, path)
        arrays = Arrays(
            path.placement,
            default=machine.default_size(topology, path.cpus, path.nodes, 1),
            shares=max(counts),
        )
        sizes, kinds = sizes_and_pages(request, topology, thp, arrays)
        for shared in asked(request, AtomicsPattern, "shared") or [False]:
            one_line = shared and "size" not in request.options
            axes: dict[str, list[Any]] = {
                "size": [CACHE_LINE] if one_line else sizes,
                "pages": kinds,
                "shared": [shared],
                "threads": counts,
            }
            for values in combinations(request, AtomicsPattern, axes):
                threads = values.pop("threads")
                fields = {
                    **common_fields(request, path),
                    "cpus": path.cpus[:threads],
                    "pattern": values,
                }
                parts = [values["operation"], *path.names, f"t{threads}"]
                parts += id_parts(AtomicsPattern, values, "operation")
                yield spec_of(request, AtomicsSpec, fields, [*parts, *path.placed_as(request)])


REQUEST = RequestForm(
    options=(
        options.FROM,
        options.to_of(AtomicsSpec),
        options.THREADS,
        options.PIN,
        *options_of(AtomicsPattern),
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
