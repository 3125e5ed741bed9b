"""The spec of loaded latency: a chase while others stream."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from tierscope.model.base import Model
from tierscope.model.spec import Bytes, Cpu, Isa, LatencyPattern, MemorySpec, Pages, Placement


class StreamPattern(Model):
    """Reads and writes of whole lines of one array, evenly mixed, at a held-back rate."""

    writes: Annotated[int, Field(ge=0, le=100)] = 0
    """Of 100 lines, as the program asks for them; the others are read."""
    stores: Literal["ordinary", "nt"] = "ordinary"
    """nt: non-temporal stores, which fetch no line before they write it."""
    order: Literal["sequential", "random"] = "sequential"
    access_size: Bytes = 512
    """Bytes that are touched without a pause."""
    delay_ns: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0
    """Least time from one such access of a thread to its next; spent without touching memory."""
    size: Bytes
    """Bytes of the array, over all threads."""
    pages: Pages = "thp"
    isa: Isa = "auto"


class Stream(Model):
    """CPUs that stream over an array of their own."""

    initiator: str
    """The endpoint as asked for; the engine goes by ``cpus``."""
    target: str
    """The endpoint as asked for; the engine goes by ``placement``."""
    cpus: Annotated[list[Cpu], Field(min_length=1, max_length=4096)]
    placement: Placement
    pattern: StreamPattern

    @model_validator(mode="after")
    def _check(self) -> "Stream":
        if len(set(self.cpus)) != len(self.cpus):
            raise ValueError("a CPU is named twice")
        if self.pattern.size // self.pattern.access_size < len(self.cpus):
            raise ValueError("size has fewer accesses than there are threads")
        return self


class Load(Stream):
    """What loads the memory while the chase runs."""

    idle: bool = False
    """It stands still: a control between loaded points."""


class LoadedLatencySpec(MemorySpec):
    """Latency of one CPU's dependent loads under load: one point of a curve."""

    kind: Literal["loaded-latency"] = "loaded-latency"
    cpu: Cpu
    pattern: LatencyPattern
    load: Load

    @model_validator(mode="after")
    def _check(self) -> "LoadedLatencySpec":
        if self.cpu in self.load.cpus:
            raise ValueError("the chase's own CPU is among the load's")
        return self
