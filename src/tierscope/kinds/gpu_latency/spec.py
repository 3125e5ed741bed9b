"""The spec of a GPU's dependent loads."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from tierscope.model.base import Model
from tierscope.model.gpu import (
    SURELY_IN_MEMORY,
    GpuIndex,
    GpuSpec,
    HostPlace,
    MemoryPlace,
    host_regions,
)
from tierscope.model.spec import Bytes, Region

if TYPE_CHECKING:
    from tierscope.model.limit import Limit
    from tierscope.model.path import Paths
    from tierscope.model.topology import Cache


class GpuLatencyPattern(Model):
    """What a GPU's pointer chase goes through."""

    size: Bytes
    stride: Annotated[int, Field(ge=8, le=1 << 20, multiple_of=8)] = 128
    """Bytes from one chased slot to the next."""
    order: Literal["random", "linear"] = "random"
    """random: a single cycle through all slots; linear: slot after slot, which spares the GPU's
    address translation, laid by the CPU where it is host memory."""

    @model_validator(mode="after")
    def _check(self) -> "GpuLatencyPattern":
        if not 2 <= self.size // self.stride <= 1 << 28:
            raise ValueError("size has to hold 2 to 2^28 strides")
        return self


class GpuLatencySpec(GpuSpec):
    """Latency of dependent loads by one thread of a GPU."""

    metric: ClassVar[str] = "latency"
    extra_properties: ClassVar[dict[str, type]] = {"memory": str}

    kind: Literal["gpu-latency"] = "gpu-latency"
    gpu: GpuIndex
    memory: MemoryPlace
    engine: Literal["sm", "tma"] = "sm"
    """sm: plain loads; tma: bulk copies of 16 bytes, each waited for."""
    per_sm: bool = False
    """Chase on each multiprocessor in turn, too, and report percentiles over them."""
    every_sm: bool = False
    """Each sample is the mean over all multiprocessors, not the latency of one."""
    pattern: GpuLatencyPattern

    @model_validator(mode="after")
    def _check(self) -> "GpuLatencySpec":
        if isinstance(self.memory, HostPlace) and self.memory.memory.startswith("managed"):
            raise ValueError("a chase goes through memory that stays where it is")
        if self.engine == "tma" and (self.per_sm or self.every_sm):
            raise ValueError("per_sm and every_sm go with engine sm")
        if self.engine == "tma" and self.pattern.stride % 16:
            raise ValueError("engine tma takes strides that are multiples of 16")
        return self

    def regions(self) -> list[Region]:
        """What the chase goes through, where that is host memory."""
        return host_regions([self.memory], self.pattern.size)

    def identity(self) -> dict[str, Any]:
        """The pattern, and the kind of host memory."""
        pattern = self.pattern.model_dump(mode="json", exclude_none=True)
        kind = self.memory.memory if isinstance(self.memory, HostPlace) else ""
        return {**pattern, "memory": kind}

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:  # noqa: ARG002 - the CPUs'
        """Whether a GPU's L2 may hold what the chase goes through."""
        return not self.regions() and self.pattern.size < SURELY_IN_MEMORY

    def limit(self, paths: "Paths") -> "Limit | None":  # noqa: ARG002
        """None: links have rates, not latencies."""
        return None


SPEC = GpuLatencySpec
