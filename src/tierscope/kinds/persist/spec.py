"""The spec of persist: blocks that are written, and what has each of them persist."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from tierscope.model.base import Model
from tierscope.model.spec import Bytes, Cpus, MemorySpec, Pages, Region

Method = Literal[
    "stores",
    "clwb",
    "clflushopt",
    "clflush",
    "dc-cvap",
    "dc-cvac",
    "nt-stores",
    "nt-drain",
    "msync",
    "fdatasync",
    "pool-persist",
    "transaction",
    "allocation",
]
"""stores, nt-stores: nothing persists; nt-drain: non-temporal stores and a fence; up to dc-cvac:
ordinary stores, that instruction for each line, and a fence; msync, fdatasync: stores to a mapped
file, and that system call; the last three: libpmemobj's, on a pool. The engine skips a method on a
target that has nothing for it."""
BY_FILE = ("msync", "fdatasync")
BY_POOL = ("pool-persist", "transaction", "allocation")
UNPERSISTED = {"nt-drain": "nt-stores"}
"""The method of the same stores without what has them persist; of others, ``stores``."""


class PersistPattern(Model):
    """Blocks that each thread writes, one operation each."""

    method: Method
    order: Literal["sequential", "random"] = "sequential"
    block_size: Bytes
    """Bytes of one operation."""
    ranges: Annotated[int, Field(ge=1, le=4096)] | None = None
    """Of a transaction: the block is as many ranges, each at a place of its own; 1 where absent.
    The engine skips what is not cut into multiples of 64 bytes."""
    size: Bytes
    """What all threads go over, each its own share."""
    pages: Pages = "thp"


class PersistSpec(MemorySpec):
    """The time that a block takes, with what has it persist, and the bandwidth."""

    metric: ClassVar[str] = "time_per_operation"
    recorded: ClassVar[tuple[str, ...]] = ("method", "order", "block_size", "size", "threads")
    extra_properties: ClassVar[dict[str, type]] = {**MemorySpec.extra_properties, "threads": int}

    kind: Literal["persist"] = "persist"
    cpus: Cpus
    pattern: PersistPattern

    @model_validator(mode="after")
    def _check(self) -> "PersistSpec":
        if len(set(self.cpus)) != len(self.cpus):
            raise ValueError("a CPU is named twice")
        if self.pattern.ranges is not None and self.pattern.method != "transaction":
            raise ValueError("ranges go with method transaction")
        if self.pattern.size // self.pattern.block_size < len(self.cpus):
            raise ValueError("size has fewer blocks than there are threads")
        return self

    def thread_cpus(self) -> list[int]:
        """One thread a CPU."""
        return self.cpus

    def regions(self) -> list[Region]:
        """What is written."""
        return [Region(self.placement, self.pattern.pages, self.pattern.size)]

    def identity(self) -> dict[str, Any]:
        """The pattern and the number of threads."""
        pattern = self.pattern.model_dump(mode="json", exclude_none=True)
        return {**pattern, **self.placed_as(), "threads": len(self.cpus)}


SPEC = PersistSpec
