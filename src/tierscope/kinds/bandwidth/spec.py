"""The spec of bandwidth: CPUs that read and write memory as fast as they can."""

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import model_validator

from tierscope.model.base import Model
from tierscope.model.spec import CACHE_LINE, BoundBy, Bytes, Cpus, Isa, MemorySpec, Pages, Region
from tierscope.model.traffic import Traffic, of_operation

if TYPE_CHECKING:
    from tierscope.model.event import Evidence
    from tierscope.model.limit import Limit
    from tierscope.model.path import Paths

ARRAYS = {"copy": 2, "scale": 2, "add": 3, "triad": 3, "memcpy": 2}
"""Arrays that an operation goes over, by its name without "-nt"; one where it is not named."""

SHARED_RMW = (
    "rmw goes with sharing partitioned only: where two threads update an element at once, one "
    "update is lost, so that none could be verified"
)

LIBRARY = ("memset", "memcpy")
"""Operations that are the C library's, which chooses instructions and kinds of stores."""

Operation = Literal[
    "read", "write", "write-nt", "copy", "copy-nt", "scale", "scale-nt", "add", "add-nt", "triad",
    "triad-nt", "rmw", "memset", "memcpy",
]  # fmt: skip
"""-nt: with non-temporal stores. rmw reads each element and writes a new value back to the same
place. memset and memcpy are the C library's."""


_LOOP_FACTOR = 1.5
"""Time of an access, in multiples of what its loop takes without it, up to which the loop bounds
the figure."""


def arrays_of(operation: str) -> int:
    """Return how many arrays an operation goes over."""
    return ARRAYS.get(operation.removesuffix("-nt"), 1)


class BandwidthPattern(Model):
    """Access pattern of a bandwidth measurement."""

    operation: Operation
    order: Literal["sequential", "reverse", "strided", "random"] = "sequential"
    access_size: Bytes = CACHE_LINE
    """Bytes that one access touches contiguously; matters where order is not sequential."""
    stride: Bytes | None = None
    """Bytes from one access to the next; with order strided, and only there."""
    sharing: Literal["partitioned", "shared"] = "partitioned"
    """partitioned: each thread walks a share of its own; shared: each walks all of the arrays, each
    from another start."""
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
        if self.operation in LIBRARY and self.order != "sequential":
            raise ValueError("order is not sequential, the only one of memset and memcpy")
        if self.operation in LIBRARY and self.isa != "auto":
            raise ValueError("isa is not auto: the C library chooses that of memset and memcpy")
        if self.sharing == "shared" and self.operation == "rmw":
            raise ValueError(SHARED_RMW)
        return self


class BandwidthSpec(MemorySpec):
    """Bandwidth of CPUs to memory."""

    metric: ClassVar[str] = "bandwidth"
    recorded: ClassVar[tuple[str, ...]] = ("operation", "access_size", "size", "threads")
    extra_properties: ClassVar[dict[str, type]] = {**MemorySpec.extra_properties, "threads": int}

    kind: Literal["bandwidth"] = "bandwidth"
    cpus: Cpus
    """One thread is pinned to each entry."""
    pattern: BandwidthPattern

    @model_validator(mode="after")
    def _check(self) -> "BandwidthSpec":
        if len(set(self.cpus)) != len(self.cpus):
            raise ValueError("a CPU is named twice")
        if self.pattern.size // (self.pattern.stride or self.pattern.access_size) < len(self.cpus):
            raise ValueError("size has fewer accesses than there are threads")
        return self

    def thread_cpus(self) -> list[int]:
        """One thread a CPU."""
        return self.cpus

    def regions(self) -> list[Region]:
        """The arrays of the operation."""
        arrays = arrays_of(self.pattern.operation)
        return [Region(self.placement, self.pattern.pages, self.pattern.size, arrays)]

    def identity(self) -> dict[str, Any]:
        """The pattern and the number of threads; sharing only where it is not the usual one."""
        pattern = self.pattern.model_dump(mode="json", exclude_none=True)
        if self.pattern.sharing == "partitioned":
            del pattern["sharing"]
        return {**pattern, "threads": len(self.cpus), **self.placed_as()}

    def limit(self, paths: "Paths") -> "Limit | None":
        """What the path allows of the operation; none of shared arrays, of which one thread may
        find in a cache what another one fetched."""
        if self.pattern.sharing == "shared":
            return None
        return self.path_limit(paths, self.traffic())

    def traffic(self) -> Traffic:
        """What the operation moves.

        rmw has read what it writes, so that it fetches nothing. The C library's operations may
        fetch or not: the limit is that of the least that they can move.
        """
        operation = self.pattern.operation
        if operation == "rmw":
            return of_operation(operation, read=1, written=1, fetches=False)
        written = 0 if operation == "read" else 1
        ordinary = written == 1 and not operation.endswith("-nt") and operation not in LIBRARY
        least = " (at least: the C library may fetch lines first)" if operation in LIBRARY else ""
        read = arrays_of(operation) - written
        return of_operation(operation + least, read, written, ordinary)

    def bound_by(self, estimate: float, evidence: "Evidence") -> BoundBy | None:
        """The loop, where it takes most of an access's time without the access."""
        if evidence.address_ns is None:
            return None
        traffic = arrays_of(self.pattern.operation) + (self.pattern.operation == "rmw")
        access_ns = self.pattern.access_size * traffic * len(self.cpus) / estimate * 1e9
        return "address-generation" if access_ns < _LOOP_FACTOR * evidence.address_ns else None

    def overwrites(self) -> bool:
        """Reads leave the array as it was."""
        return self.pattern.operation != "read"


SPEC = BandwidthSpec
