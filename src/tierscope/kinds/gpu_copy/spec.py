"""The spec of copies among host memory and GPUs."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from tierscope.model.base import Model
from tierscope.model.gpu import (
    GpuBytes,
    GpuSpec,
    Transfer,
)


class GpuCopyPattern(Model):
    """What one copy of each transfer moves."""

    size: GpuBytes
    """Bytes of one copy; of rows together."""
    offset: Annotated[int, Field(ge=0, le=1 << 42)] = 0
    """Bytes before the first one, in both memories."""
    row_bytes: GpuBytes | None = None
    """Strided (2D) copies: bytes of a row; engine ce only."""
    pitch: GpuBytes | None = None
    """Strided (2D) copies: bytes from one row to the next."""

    @property
    def buffer_bytes(self) -> int:
        """Bytes of memory at each end of a transfer, padding of rows included."""
        if self.row_bytes is None or self.pitch is None:
            return self.offset + self.size
        return self.offset + self.size // self.row_bytes * self.pitch

    @model_validator(mode="after")
    def _check(self) -> "GpuCopyPattern":
        if (self.row_bytes is None) != (self.pitch is None):
            raise ValueError("row_bytes and pitch go together")
        if self.row_bytes is not None and self.pitch is not None:
            if self.pitch < self.row_bytes:
                raise ValueError("pitch is smaller than row_bytes")
            if self.size % self.row_bytes:
                raise ValueError("size is not a whole number of rows")
        return self


class GpuCopySpec(GpuSpec):
    """Transfers that run at once, all of them contested to the end."""

    kind: Literal["gpu-copy"] = "gpu-copy"
    pattern: GpuCopyPattern
    verify: bool = True
    """Compare every destination with its source's pattern, on the GPU, after the clock stopped."""
    transfers: Annotated[list[Transfer], Field(min_length=1, max_length=256)]

    @model_validator(mode="after")
    def _check(self) -> "GpuCopySpec":
        for transfer in self.transfers:
            if transfer.alone and (len(self.transfers) > 1 or transfer.streams > 1):
                raise ValueError("pageable and migrating memory goes with one transfer, one stream")
            if self.pattern.row_bytes is not None and transfer.engine != "ce":
                raise ValueError("rows are copied by engine ce only")
            if transfer.engine == "tma" and self.pattern.offset % 16:
                raise ValueError("engine tma needs an offset that is a multiple of 16")
        return self
