"""What the specs of all kinds of measurement share."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from tierscope.model.base import Model

CACHE_LINE = 64

Id = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9._:-]+$")]
Cpu = Annotated[int, Field(ge=0, le=65535)]
Bytes = Annotated[int, Field(ge=CACHE_LINE, le=1 << 50, multiple_of=CACHE_LINE)]
Pages = Literal["base", "thp", "2m", "1g"]
"""base: the kernel's ordinary page; thp: transparent huge pages; 2m, 1g: hugetlb pages."""

Isa = Literal["auto", "sse4", "avx2", "avx512", "neon", "sve"]


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
