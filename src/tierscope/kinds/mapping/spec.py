"""The spec of mapping, populating and unmapping memory."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from tierscope.model.endpoint import EndpointKind
from tierscope.model.property import PAGES, SIZE, MadeBy, Property
from tierscope.model.rules import Given, Ruled, Ruling, refuses
from tierscope.model.spec import Bytes, Cpu, MemorySpec, NodePlacement, Pages, Region
from tierscope.model.topology import Topology
from tierscope.plans import grammar, machine, options
from tierscope.plans.axes import common_fields, memory_paths, pages
from tierscope.plans.machine import MIB
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.sweep import asked, combinations, id_parts, options_of, spec_of

if TYPE_CHECKING:
    from tierscope.model.topology import Cache

_SIZE = 64 * MIB


class MappingPattern(Ruled):
    """Anonymous memory that is mapped, touched page by page, and unmapped."""

    size: Annotated[
        Bytes, SIZE.but(help="Bytes that are mapped, as in 64k..1g", default_help="64m")
    ]
    """Whole pages."""
    pages: Annotated[Pages, PAGES] = "thp"
    sharing: Annotated[Literal["private", "shared"], Property(words="{} mappings")] = "private"
    populate: Annotated[
        Literal["touch", "call"],
        Property(
            "touch: a write to each page, timed apart; call: within the mapping, as MAP_POPULATE",
            words="populated by {}",
            id="by-{}",
            identity=False,
            essential=False,
        ),
    ] = "touch"


class MappingSpec(MemorySpec):
    """Time to map, populate and unmap, by one thread; ``placement`` is bind or interleave."""

    metric: ClassVar[str] = "time_per_page"
    compared: ClassVar[tuple[str, ...]] = ("map", "populate_per_page", "unmap_per_page")
    targets: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.NODE,)
    """Nothing else: the kernel's work on anonymous memory is measured."""

    kind: Literal["mapping"] = "mapping"
    cpu: Cpu
    placement: Annotated[NodePlacement, MadeBy("to")]
    pattern: MappingPattern

    rules: ClassVar[tuple[Ruling, ...]] = (
        refuses(
            {"placement.policy": Given()},
            unless={"placement.policy": ("bind", "interleave")},
            because="a mapping is placed by bind or interleave",
        ),
    )

    def thread_cpus(self) -> list[int]:
        """The CPU that maps."""
        return [self.cpu]

    def regions(self) -> list[Region]:
        """The mapped memory."""
        return [Region(self.placement, self.pattern.pages, self.pattern.size)]

    def identity(self) -> dict[str, Any]:
        """The pattern."""
        return {**self.pattern.as_recorded(), **self.placed_as()}

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:  # noqa: ARG002
        """Never: the kernel's work is measured, and each page is new."""
        return False


SPEC = MappingSpec


def expand(request: Request, topology: Topology, thp: bool) -> Iterator[MappingSpec]:
    """Yield a measurement for each combination, by the first CPU of each initiator."""
    for path in memory_paths(request, topology, MappingSpec):
        for kind in pages(request, topology, thp):
            page = machine.page_bytes(topology, kind)
            sizes = asked(request, MappingPattern, "size") or [max(_SIZE, page)]
            for values in combinations(request, MappingPattern, {"size": sizes, "pages": [kind]}):
                if values["size"] % page:
                    whole = f"is not a whole number of {kind} pages"
                    raise request.wrong("size", f"{grammar.format_size(values['size'])} {whole}")
                fields = {**common_fields(request, path), "cpu": path.cpus[0], "pattern": values}
                parts = [*path.names, *id_parts(MappingPattern, values)]
                yield spec_of(request, MappingSpec, fields, [*parts, *path.placed_as(request)])


REQUEST = RequestForm(
    options=(
        options.FROM,
        options.to_of(MappingSpec),
        *options_of(MappingPattern),
        *options.PLACEMENT,
        *options.SAMPLING,
    ),
    expand=expand,
    examples=(
        "mapping --pages base,thp --sharing private,shared",
        "mapping --to node:* --pages base --size 1g",
    ),
)
