"""One operation of a chain, and how far a chain reaches."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator

from tierscope.model.base import Model
from tierscope.model.spec import CACHE_LINE

WORD = 8
LARGEST = 65536
MAX_OFFSET = 1 << 30
MAX_OPERATIONS = 64

Access = Literal["read", "write", "compare-and-swap", "fetch-and-add"]
CacheUse = Literal["none", "write-back", "flush", "flush-opt", "non-temporal"]
"""write-back: CLWB; flush: CLFLUSH; flush-opt: CLFLUSHOPT; each of every line, after a write, or
before a read and with a full fence between. non-temporal: the loads or stores themselves."""
Fence = Literal["none", "stores", "all"]
"""After the operation. stores: SFENCE; all: MFENCE."""


class Operation(Model):
    """One operation of a chain."""

    access: Access
    size: Annotated[int, Field(ge=WORD, le=LARGEST)]
    """Bytes, a power of two; 8 of atomics."""
    region: Annotated[int, Field(ge=0, le=1)] = 0
    """Of what reads; a write goes where the operation before it went."""
    cache: CacheUse = "none"
    fence: Fence = "none"
    offset: Annotated[int, Field(ge=-MAX_OFFSET, le=MAX_OFFSET)] = 0
    """Of a write: bytes from the address of the operation before it."""

    @property
    def reads(self) -> bool:
        """Whether it returns data, and so takes an address of its own."""
        return self.access != "write"

    @model_validator(mode="after")
    def _check(self) -> "Operation":
        if self.size & (self.size - 1):
            raise ValueError(f"size {self.size} is no power of two")
        if self.access in ("compare-and-swap", "fetch-and-add"):
            if self.size != WORD:
                raise ValueError(f"size {self.size} is not 8, as atomics have it")
            if self.cache != "none":
                raise ValueError("atomics take no cache instruction")
        if self.access == "read" and self.cache == "non-temporal" and self.size == WORD:
            raise ValueError("size 8 is too little: non-temporal loads have 16 bytes at least")
        if self.offset % CACHE_LINE:
            raise ValueError(f"offset {self.offset} is no multiple of 64")
        if self.reads and self.offset:
            raise ValueError("an offset goes with writes: what reads takes an address of its own")
        if not self.reads and self.region:
            raise ValueError("a write goes where the operation before it went, m0 or m1")
        return self


def groups(operations: Sequence[Operation]) -> Iterator[list[Operation]]:
    """Yield each operation that takes an address with the writes behind it."""
    group: list[Operation] = []
    for operation in operations:
        if operation.reads and group:
            yield group
            group = []
        group.append(operation)
    yield group


def reach(operations: Sequence[Operation], region: int) -> int:
    """Return the bytes that a region has to have; 0 where no operation goes there."""
    return max(
        (_reach(group) for group in groups(operations) if group[0].region == region), default=0
    )


def _reach(group: list[Operation]) -> int:
    slot = max(CACHE_LINE, group[0].size)
    at = low = 0
    high = slot
    for write in group[1:]:
        at += write.offset
        low, high = min(low, at), max(high, at + write.size)
    return -(low // slot) * slot + high


def lines_moved(operations: Sequence[Operation], region: int) -> tuple[int, int, int]:
    """Return the lines that a chain reads, fetches to write to, and writes in a region, each line
    once for each address taken; what non-temporal stores write whole is not fetched."""
    read = fetched = written = 0
    for group in groups(operations):
        if group[0].region != region:
            continue
        found: set[int] = set()
        stored: set[int] = set()
        streamed: set[int] = set()
        at = 0
        for operation in group:
            at += operation.offset
            touched = range(at // CACHE_LINE, -(-(at + operation.size) // CACHE_LINE))
            if operation.reads:
                found.update(touched)
            if operation.access == "read":
                continue
            whole = operation.cache == "non-temporal" and operation.size >= CACHE_LINE
            (streamed if whole else stored).update(touched)
        read += len(found)
        fetched += len(stored - found)
        written += len(stored | streamed)
    return read, fetched, written
