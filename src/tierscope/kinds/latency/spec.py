"""The spec of idle latency: one CPU's dependent loads."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from tierscope.model.chase import LatencyPattern
from tierscope.model.property import Property, declared
from tierscope.model.rules import Check, Ruling
from tierscope.model.spec import CACHE_LINE, Cpu, MemorySpec, Region
from tierscope.model.topology import Topology
from tierscope.plans import machine, options
from tierscope.plans.axes import common_fields, memory_paths
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.rounds import Arrays, sizes_and_pages
from tierscope.plans.sweep import combinations, id_parts, options_of, spec_of, values_of

MAX_CHASES = 32


class LatencySpec(MemorySpec):
    """Idle latency of one CPU's dependent loads, by one chase or by several at once."""

    metric: ClassVar[str] = "latency"
    never_sleeps: ClassVar[bool] = True
    recorded: ClassVar[tuple[str, ...]] = ("order", "stride", "size", "pages")
    extra_properties: ClassVar[dict[str, type]] = {"chases": int}

    kind: Literal["latency"] = "latency"
    cpu: Cpu
    pattern: LatencyPattern
    chases: Annotated[
        int,
        Field(ge=1, le=MAX_CHASES),
        Property(
            f"Independent chases at once, 1 to {MAX_CHASES}, as in 1..32*2: how many loads overlap",
            words="{} chases",
            id="c{}",
        ),
    ] = 1
    """Independent chases that the CPU follows at once through the same region; each load depends
    on the one before it in its own chase, so that this many loads can be in flight."""

    rules: ClassVar[tuple[Ruling, ...]] = (
        Check(
            "pattern.size",
            "has fewer lines than there are chases",
            lambda spec: spec.lines >= spec.chases,
            ("pattern.stride", "chases"),
        ),
    )

    @property
    def lines(self) -> int:
        """Lines that the chases go through."""
        return self.pattern.size // self.pattern.stride * (self.pattern.stride // CACHE_LINE)

    def thread_cpus(self) -> list[int]:
        """The CPU that chases."""
        return [self.cpu]

    def regions(self) -> list[Region]:
        """The chased region."""
        return [Region(self.placement, self.pattern.pages, self.pattern.size)]

    def identity(self) -> dict[str, Any]:
        """The pattern, and the chases where there are several."""
        chases = {"chases": self.chases} if self.chases > 1 else {}
        return {**self.pattern.as_recorded(), **chases, **self.placed_as()}


SPEC = LatencySpec


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[LatencySpec]:
    """Yield a measurement for each combination, by the first CPU of each initiator."""
    for path in memory_paths(request, topology, LatencySpec):
        arrays = Arrays(
            path.placement, default=machine.default_size(topology, path.cpus[:1], path.nodes, 1)
        )
        found, kinds = sizes_and_pages(request, topology, thp, arrays)
        axes: dict[str, list[Any]] = {"size": found, "pages": kinds}
        for chases in values_of(request, declared(LatencySpec)["chases"], MAX_CHASES):
            for values in combinations(request, LatencyPattern, axes):
                fields = {
                    **common_fields(request, path),
                    "cpu": path.cpus[0],
                    "chases": chases,
                    "pattern": values,
                }
                parts = [*path.names, *id_parts(LatencyPattern, values)]
                parts += [*id_parts(LatencySpec, {"chases": chases}), *path.placed_as(request)]
                yield spec_of(request, LatencySpec, fields, parts)


REQUEST = RequestForm(
    options=(
        options.FROM,
        options.to_of(LatencySpec),
        *options_of(LatencyPattern),
        *options_of(LatencySpec),
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
