"""Specs of streams: reads and writes in any mix, several at once; of atomics; of mapping."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from tierscope.model.base import Model
from tierscope.model.spec import CACHE_LINE, Bytes, Cpu, Isa, MemorySpec, Pages, Placement

Cpus = Annotated[list[Cpu], Field(min_length=1, max_length=4096)]


class StreamPattern(Model):
    """Reads and writes of whole lines of one array, evenly mixed, at a held-back rate."""

    writes: Annotated[int, Field(ge=0, le=100)] = 0
    """Of 100 lines, as the program asks for them; the others are read."""
    stores: Literal["ordinary", "nt", "clwb", "clflushopt"] = "ordinary"
    """nt: non-temporal stores, which fetch no line before they write it; clwb, clflushopt: ordinary
    ones whose lines are written back after each access, kept or dropped, and waited for."""
    order: Literal["sequential", "random", "zipf"] = "sequential"
    zipf_alpha: Annotated[float, Field(gt=0, le=10)] = 0.9
    """How much hot blocks are preferred; of order zipf."""
    prefetch: Annotated[int, Field(ge=0, le=1 << 20, multiple_of=CACHE_LINE)] = 0
    """Bytes from a line to the one that a software prefetch asks for meanwhile; 0: none."""
    access_size: Bytes = 1024
    """Bytes that are touched without a pause."""
    delay_ns: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0
    """Least time from one such access of a thread to its next; spent without touching memory."""
    size: Bytes
    """Bytes of the array, over all threads."""
    pages: Pages = "thp"
    isa: Isa = "auto"

    @model_validator(mode="after")
    def _check(self) -> "StreamPattern":
        if self.prefetch and self.order != "sequential":
            raise ValueError("a prefetch distance goes with order sequential only")
        return self


class Stream(Model):
    """CPUs that stream over an array of their own."""

    initiator: str
    """The endpoint as asked for; the engine goes by ``cpus``."""
    target: str
    """The endpoint as asked for; the engine goes by ``placement``."""
    cpus: Cpus
    placement: Placement
    pattern: StreamPattern

    @model_validator(mode="after")
    def _check(self) -> "Stream":
        if len(set(self.cpus)) != len(self.cpus):
            raise ValueError("a CPU is named twice")
        if self.pattern.size // self.pattern.access_size < len(self.cpus):
            raise ValueError("size has fewer accesses than there are threads")
        return self


class NamedStream(Stream):
    """One of several streams."""

    name: Annotated[str, Field(min_length=1, max_length=24, pattern=r"^[A-Za-z0-9_-]+$")]


class StreamsSpec(MemorySpec):
    """Bandwidth of one stream, with others beside it, started and stopped through one gate."""

    kind: Literal["streams"] = "streams"
    cpus: Cpus
    pattern: StreamPattern
    beside: Annotated[list[NamedStream], Field(max_length=15)] = []

    @model_validator(mode="after")
    def _check(self) -> "StreamsSpec":
        cpus = [*self.cpus, *(cpu for stream in self.beside for cpu in stream.cpus)]
        if len(set(cpus)) != len(cpus):
            raise ValueError("two threads are to run on one CPU")
        names = ["main", *(stream.name for stream in self.beside)]
        if len(set(names)) != len(names):
            raise ValueError("two streams have the same name, or one is called main")
        if self.pattern.size // self.pattern.access_size < len(self.cpus):
            raise ValueError("size has fewer accesses than there are threads")
        return self


class AtomicsPattern(Model):
    """Atomic updates of counters, one in each cache line, in random order."""

    operation: Literal["fetch-and-add", "compare-and-swap"]
    shared: bool = False
    """All threads update all counters, in place of each its own share; with a size of 64, all
    contend for one line."""
    size: Bytes
    pages: Pages = "thp"


class AtomicsSpec(MemorySpec):
    """Atomic updates a second."""

    kind: Literal["atomics"] = "atomics"
    cpus: Cpus
    pattern: AtomicsPattern

    @model_validator(mode="after")
    def _check(self) -> "AtomicsSpec":
        if len(set(self.cpus)) != len(self.cpus):
            raise ValueError("a CPU is named twice")
        if not self.pattern.shared and self.pattern.size // CACHE_LINE < len(self.cpus):
            raise ValueError("size has fewer lines than there are threads")
        return self


class MappingPattern(Model):
    """Anonymous memory that is mapped, touched page by page, and unmapped."""

    sharing: Literal["private", "shared"] = "private"
    size: Bytes
    """Whole pages."""
    pages: Pages = "thp"


class MappingSpec(MemorySpec):
    """Time to map, populate and unmap, by one thread; ``placement`` is bind or interleave."""

    kind: Literal["mapping"] = "mapping"
    cpu: Cpu
    pattern: MappingPattern

    @model_validator(mode="after")
    def _check(self) -> "MappingSpec":
        if self.placement.policy not in ("bind", "interleave"):
            raise ValueError("the placement of a mapping is bind or interleave")
        return self
