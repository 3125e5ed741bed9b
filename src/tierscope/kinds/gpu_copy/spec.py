"""The spec of copies among host memory and GPUs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from tierscope.model.base import Model
from tierscope.model.endpoint import EndpointKind
from tierscope.model.gpu import (
    SURELY_IN_MEMORY,
    GpuBytes,
    GpuSpec,
    Transfer,
    host_regions,
)
from tierscope.model.spec import Region
from tierscope.model.transfers import host_places, properties

if TYPE_CHECKING:
    from tierscope.model.limit import Limit
    from tierscope.model.path import Paths
    from tierscope.model.topology import Cache


class GpuCopyPattern(Model):
    """What one copy of each transfer moves."""

    size: GpuBytes
    """Bytes of one copy; of 2D copies, of all rows."""
    offset: Annotated[int, Field(ge=0, le=1 << 42)] = 0
    """Bytes before the first one, in both memories."""
    row_bytes: GpuBytes | None = None
    """Strided (2D) copies: bytes of a row; engine ce only."""
    pitch: GpuBytes | None = None
    """Strided (2D) copies: bytes from one row to the next."""

    @property
    def buffer_bytes(self) -> int:
        """Bytes of memory at each endpoint of a transfer, padding of rows included."""
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
    """Concurrent transfers, all of them under contention to the end."""

    metric: ClassVar[str] = "bandwidth"
    initiators: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.NODE, EndpointKind.GPU)
    extra_properties: ClassVar[dict[str, type]] = {
        "engine": str,
        "memory": str,
        "pages": str,
        "streams": int,
        "way": str,
        "transfers": str,
        "issued": str,
    }

    kind: Literal["gpu-copy"] = "gpu-copy"
    pattern: GpuCopyPattern
    verify: bool = True
    """Compare every destination with its source's pattern, on the GPU, after the clock stopped."""
    call_latency: bool = False
    """Also measure how long one call takes until its bytes are there; of single small copies."""
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
        if self.call_latency and not times_calls(self.transfers):
            raise ValueError(
                "call_latency goes with one transfer, one stream, and memory that stays in place"
            )
        return self

    def regions(self) -> list[Region]:
        """Host memory that transfers read or write."""
        return host_regions(host_places(self.transfers), self.pattern.buffer_bytes)

    def identity(self) -> dict[str, Any]:
        """The pattern, and how the bytes are moved; the endpoints say from where to where."""
        pattern = self.pattern.model_dump(mode="json", exclude_none=True)
        return {**pattern, **properties(self.transfers)}

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:  # noqa: ARG002 - the CPUs'
        """Whether a copy inside a GPU may stay in its L2."""
        inside = any(one.source == one.destination for one in self.transfers)
        return inside and self.pattern.size < SURELY_IN_MEMORY

    def limit(self, paths: "Paths") -> "Limit | None":
        """What the links of the counted transfers can carry."""
        from tierscope.kinds.gpu_copy.limit import limit_of_set

        if self.fits_caches(paths.topology.caches):
            return None
        return limit_of_set(paths, [one for one in self.transfers if one.reported])


def times_calls(transfers: Sequence[Transfer]) -> bool:
    """Whether the call of a copy can be timed: of one transfer whose pages stay where they are."""
    managed = any(place.memory.startswith("managed") for place in host_places(transfers))
    return len(transfers) == 1 and transfers[0].streams == 1 and not managed


SPEC = GpuCopySpec
