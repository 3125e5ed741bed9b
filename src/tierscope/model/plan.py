"""The plan: what ``tierscope-engine`` reads, an ordered list of measurement specs.

Everything is decided before it crosses the door: CPUs are numbers, placements are nodes, sizes
are bytes. The engine adds nothing but what only it can know (the instruction set that ``auto``
picks, for one, which it reports as evidence). A kind of measurement is one spec class here.
"""

from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from tierscope.model.base import Model
from tierscope.model.gpu import GpuCopySpec, GpuLatencySpec, GpuMemorySpec
from tierscope.model.loaded_latency import LoadedLatencySpec
from tierscope.model.spec import (
    CACHE_LINE,
    Bytes,
    Cpu,
    Id,
    Isa,
    LatencyPattern,
    MemorySpec,
    NodeShare,
    Pages,
    Placement,
    Sampling,
)
from tierscope.model.streams import AtomicsSpec, MappingSpec, StreamsSpec

__all__ = [
    "CACHE_LINE",
    "PLAN_VERSION",
    "AtomicsSpec",
    "BandwidthPattern",
    "BandwidthSpec",
    "Bytes",
    "Cpu",
    "Id",
    "Isa",
    "LatencyPattern",
    "LatencySpec",
    "LoadedLatencySpec",
    "MappingSpec",
    "MemorySpec",
    "NodeShare",
    "Operation",
    "Pages",
    "Placement",
    "Plan",
    "Sampling",
    "Spec",
    "StreamsSpec",
]

PLAN_VERSION: Final = 1
Operation = Literal["read", "write", "write-nt", "copy", "copy-nt", "scale", "add", "triad", "rmw"]
"""rmw reads each element and writes a new value back to the same place."""


class BandwidthPattern(Model):
    """Access pattern of a bandwidth measurement."""

    operation: Operation
    order: Literal["sequential", "reverse", "strided", "random"] = "sequential"
    access_size: Bytes = CACHE_LINE
    """Bytes that one access touches contiguously; matters where order is not sequential."""
    stride: Bytes | None = None
    """Bytes from one access to the next; with order strided, and only there."""
    size: Bytes
    """Bytes of each array that the operation uses (read 1, copy 2, triad 3), over all threads."""
    pages: Pages = "thp"
    isa: Isa = "auto"

    @model_validator(mode="after")
    def _check(self) -> "BandwidthPattern":
        if (self.order == "strided") != (self.stride is not None):
            raise ValueError("stride goes with order strided, and only with it")
        if self.stride is not None and self.stride < self.access_size:
            raise ValueError("stride is smaller than access_size")
        return self


class BandwidthSpec(MemorySpec):
    """Bandwidth of CPUs to memory."""

    kind: Literal["bandwidth"] = "bandwidth"
    cpus: Annotated[list[Cpu], Field(min_length=1, max_length=4096)]
    """One thread is pinned to each entry."""
    pattern: BandwidthPattern

    @model_validator(mode="after")
    def _check(self) -> "BandwidthSpec":
        if len(set(self.cpus)) != len(self.cpus):
            raise ValueError("a CPU is named twice")
        if self.pattern.size // (self.pattern.stride or self.pattern.access_size) < len(self.cpus):
            raise ValueError("size has fewer accesses than there are threads")
        return self


class LatencySpec(MemorySpec):
    """Idle latency of one CPU's dependent loads."""

    kind: Literal["latency"] = "latency"
    cpu: Cpu
    pattern: LatencyPattern


Spec = Annotated[
    BandwidthSpec
    | LatencySpec
    | LoadedLatencySpec
    | StreamsSpec
    | AtomicsSpec
    | MappingSpec
    | GpuCopySpec
    | GpuMemorySpec
    | GpuLatencySpec,
    Field(discriminator="kind"),
]


class Plan(Model):
    """What the engine reads on stdin."""

    version: Annotated[int, Field(ge=PLAN_VERSION, le=PLAN_VERSION)]
    """Never assumed; a number and not a Literal, which would take ``true`` for 1."""
    measurements: Annotated[list[Spec], Field(min_length=1, max_length=100_000)]

    @model_validator(mode="after")
    def _check(self) -> "Plan":
        ids = [spec.id for spec in self.measurements]
        if len(set(ids)) != len(ids):
            raise ValueError("two measurements have the same id")
        return self
