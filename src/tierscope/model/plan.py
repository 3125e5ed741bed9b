"""The plan: what ``tierscope-engine`` reads, an ordered list of measurement specs.

Everything is decided before it crosses the door: CPUs are numbers, placements are nodes, sizes
are bytes. The engine adds nothing but what only it can know (the instruction set that ``auto``
picks, for one, which it reports as evidence). A kind of measurement is one spec class here.
"""

from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from tierscope.model.base import Model

PLAN_VERSION: Final = 1
CACHE_LINE = 64

Id = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9._:-]+$")]
Cpu = Annotated[int, Field(ge=0, le=65535)]
Bytes = Annotated[int, Field(ge=CACHE_LINE, le=1 << 50, multiple_of=CACHE_LINE)]

Operation = Literal[
    "read", "write", "write-nt", "copy", "copy-nt", "scale", "add", "triad", "rmw"
]
"""rmw reads each element and writes a new value back to the same place."""
Isa = Literal["auto", "sse4", "avx2", "avx512", "neon", "sve"]
Pages = Literal["base", "thp", "2m", "1g"]
"""base: the kernel's ordinary page; thp: transparent huge pages; 2m, 1g: hugetlb pages."""


class Sampling(Model):
    """When a measurement has enough samples; see docs/method.md."""

    precision: Annotated[float, Field(gt=0, le=0.5)] = 0.01
    """Asked half-width of the 95% confidence interval, as a share of the estimate."""
    budget_s: Annotated[float, Field(gt=0, le=86400)] = 2.0
    """Wall-clock seconds after which sampling stops whatever the interval."""
    sample_s: Annotated[float, Field(gt=0, le=60)] = 0.01
    """Seconds that one sample lasts (bandwidth), or at least lasts (latency)."""


class NodeShare(Model):
    """One node of a placement and its weight."""

    node: Annotated[int, Field(ge=0, le=1023)]
    weight: Annotated[int, Field(ge=1, le=255)] = 1


class Placement(Model):
    """Where the pages of a memory region go."""

    policy: Literal["bind", "preferred", "interleave", "weighted", "partition"]
    """interleave: pages round robin; weighted: ``weight`` pages a node in turn; partition: one
    contiguous range a node, sized by weight; bind and preferred: one node."""
    nodes: Annotated[list[NodeShare], Field(min_length=1, max_length=1024)]
    mechanism: Literal["user", "kernel"] = "user"
    """user: the engine touches each page under a policy of one node; kernel: the kernel's own
    policy (interleave since 2.6, weighted since 6.9)."""

    @model_validator(mode="after")
    def _check(self) -> "Placement":
        numbers = [share.node for share in self.nodes]
        if len(set(numbers)) != len(numbers):
            raise ValueError("a node is named twice")
        if self.policy in ("bind", "preferred") and len(numbers) != 1:
            raise ValueError(f"policy {self.policy} takes exactly one node")
        if self.policy == "partition" and self.mechanism == "kernel":
            raise ValueError("policy partition is done in user space only")
        return self


class MemorySpec(Model):
    """What the measurements of CPU-reached memory share."""

    id: Id
    """Names the measurement in events; unique in its plan."""
    initiator: str
    """The endpoint as asked for; the engine goes by ``cpus``."""
    target: str
    """The endpoint as asked for; the engine goes by ``placement``."""
    placement: Placement
    sampling: Sampling = Sampling()


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


class LatencyPattern(Model):
    """Access pattern of a pointer chase."""

    order: Literal["random", "page-random"] = "random"
    """random: one cycle through the whole region in random order; page-random: random inside a
    group of pages, one group after the other, so that each TLB fill serves many loads."""
    stride: Bytes = 256
    """Bytes from one chased line's slot to the next; 256 keeps adjacent-line prefetchers out."""
    size: Bytes
    """Bytes of the region that the cycle goes through."""
    pages: Pages = "thp"

    @model_validator(mode="after")
    def _check(self) -> "LatencyPattern":
        if self.size < 2 * self.stride:
            raise ValueError("size has to hold at least two strides")
        return self


class LatencySpec(MemorySpec):
    """Idle latency of one CPU's dependent loads."""

    kind: Literal["latency"] = "latency"
    cpu: Cpu
    pattern: LatencyPattern


Spec = Annotated[BandwidthSpec | LatencySpec, Field(discriminator="kind")]


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
