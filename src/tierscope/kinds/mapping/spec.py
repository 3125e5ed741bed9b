"""The spec of mapping: what it costs to map, populate and unmap memory."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import model_validator

from tierscope.model.base import Model
from tierscope.model.endpoint import EndpointKind
from tierscope.model.spec import Bytes, Cpu, MemorySpec, Pages, Region

if TYPE_CHECKING:
    from tierscope.model.topology import Cache


class MappingPattern(Model):
    """Anonymous memory that is mapped, touched page by page, and unmapped."""

    sharing: Literal["private", "shared"] = "private"
    size: Bytes
    """Whole pages."""
    pages: Pages = "thp"


class MappingSpec(MemorySpec):
    """Time to map, populate and unmap, by one thread; ``placement`` is bind or interleave."""

    metric: ClassVar[str] = "time_per_page"
    targets: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.NODE,)
    """Nothing else: the kernel's work on anonymous memory is measured."""

    kind: Literal["mapping"] = "mapping"
    cpu: Cpu
    pattern: MappingPattern

    @model_validator(mode="after")
    def _check(self) -> "MappingSpec":
        if self.placement.policy not in ("bind", "interleave"):
            raise ValueError("the placement of a mapping is bind or interleave")
        return self

    def thread_cpus(self) -> list[int]:
        """The CPU that maps."""
        return [self.cpu]

    def regions(self) -> list[Region]:
        """What is mapped."""
        return [Region(self.placement, self.pattern.pages, self.pattern.size)]

    def identity(self) -> dict[str, Any]:
        """The pattern."""
        return {**self.pattern.model_dump(mode="json", exclude_none=True), **self.placed_as()}

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:  # noqa: ARG002
        """Never: the kernel's work is measured, and each page is new."""
        return False


SPEC = MappingSpec
