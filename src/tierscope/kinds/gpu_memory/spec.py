"""The spec of a GPU's own memory under loads and stores."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from tierscope.model.base import Model
from tierscope.model.gpu import (
    GpuIndex,
    GpuSpec,
)
from tierscope.model.spec import Bytes

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

    kind: Literal["gpu-memory"] = "gpu-memory"
    gpu: GpuIndex
    pattern: GpuMemoryPattern
