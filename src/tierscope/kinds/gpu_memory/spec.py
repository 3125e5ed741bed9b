"""The spec of a GPU's own memory under loads and stores."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from tierscope.model.base import Model
from tierscope.model.endpoint import EndpointKind
from tierscope.model.gpu import SURELY_IN_MEMORY, GpuIndex, GpuSpec
from tierscope.model.spec import Bytes, Region

if TYPE_CHECKING:
    from tierscope.model.limit import Limit
    from tierscope.model.path import Paths
    from tierscope.model.topology import Cache

GpuOperation = Literal["read", "write", "copy", "scale", "add", "triad", "random"]


class GpuMemoryPattern(Model):
    """Access pattern on a GPU's own memory."""

    operation: GpuOperation
    size: Bytes
    """Bytes of each array that the operation uses (read 1, copy 2, triad 3)."""
    access_size: Annotated[int, Field(ge=16, le=512)] = 32
    """Bytes that one random access reads; a power of two."""

    @model_validator(mode="after")
    def _check(self) -> "GpuMemoryPattern":
        if self.access_size & (self.access_size - 1):
            raise ValueError("access_size is not a power of two")
        if self.size < self.access_size or (self.operation == "random" and self.size >= 1 << 36):
            raise ValueError("size is smaller than access_size, or 64 GiB and more")
        return self


class GpuMemorySpec(GpuSpec):
    """Bandwidth of a GPU's own memory, or of its L2 where the arrays fit there."""

    metric: ClassVar[str] = "bandwidth"
    recorded: ClassVar[tuple[str, ...]] = ("operation", "size")
    targets: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.GPU,)

    kind: Literal["gpu-memory"] = "gpu-memory"
    gpu: GpuIndex
    pattern: GpuMemoryPattern

    def regions(self) -> list[Region]:
        """None on the host."""
        return []

    def identity(self) -> dict[str, Any]:
        """The pattern."""
        return self.pattern.model_dump(mode="json", exclude_none=True)

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:  # noqa: ARG002 - the CPUs'
        """Whether a GPU's L2 may hold the arrays."""
        return self.pattern.size < SURELY_IN_MEMORY

    def limit(self, paths: "Paths") -> "Limit | None":
        """The memory's; the L2's rate is nowhere told."""
        if self.fits_caches(paths.topology.caches):
            return None
        return paths.limit(self.initiator, self.target)


SPEC = GpuMemorySpec
