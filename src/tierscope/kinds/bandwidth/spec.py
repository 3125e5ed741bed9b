"""The spec of bandwidth: CPUs that read and write memory as fast as they can."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from tierscope.model.base import Model
from tierscope.model.persistent import OBJECTS
from tierscope.model.spec import (
    CACHE_LINE,
    BoundBy,
    Bytes,
    Isa,
    MemorySpec,
    Pages,
    Placement,
    Region,
)
from tierscope.model.threads import Threads
from tierscope.model.traffic import Traffic, of_operation
from tierscope.model.where import where_of

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

FIRST_TOUCH_SETS = (
    "policy first-touch goes with one CPU a thread: where a thread of cpu_sets runs, and so which "
    "node it touches from, is up to the scheduler"
)

NARROW = "accesses of 8, 16 and 32 bytes go with read and write in order sequential"

_NARROW_SIZES = (8, 16, 32)


def _check_access_size(size: int) -> int:
    if size % CACHE_LINE and size not in _NARROW_SIZES:
        raise ValueError("an access has 8, 16, 32 or a multiple of 64 bytes")
    return size


AccessSize = Annotated[int, Field(ge=8, le=1 << 50), AfterValidator(_check_access_size)]

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
    order: Literal["sequential", "reverse", "strided", "random", "zipf"] = "sequential"
    zipf_alpha: Annotated[float, Field(gt=0, le=10)] = 0.9
    """How much hot blocks are preferred; of order zipf."""
    access_size: AccessSize = CACHE_LINE
    """Bytes that one access touches contiguously; matters where order is not sequential. In order
    sequential, 8, 16 and 32 are bytes of one instruction of read or write, which else are as wide
    as registers."""
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
        plain = self.order == "sequential" and self.operation in ("read", "write")
        if self.access_size < CACHE_LINE and not plain:
            raise PydanticCustomError("access-size", NARROW)
        if self.stride is not None and self.stride < self.access_size:
            raise ValueError("stride is smaller than access_size")
        if self.operation in LIBRARY and self.order != "sequential":
            raise ValueError("order is not sequential, the only one of memset and memcpy")
        if self.operation in LIBRARY and self.isa != "auto":
            raise ValueError("isa is not auto: the C library chooses that of memset and memcpy")
        if self.sharing == "shared" and self.operation == "rmw":
            raise ValueError(SHARED_RMW)
        return self


class BandwidthSpec(Threads, MemorySpec):
    """Bandwidth of CPUs to memory."""

    metric: ClassVar[str] = "bandwidth"
    recorded: ClassVar[tuple[str, ...]] = ("operation", "access_size", "size", "threads")
    extra_properties: ClassVar[dict[str, type]] = {
        **MemorySpec.extra_properties,
        "threads": int,
        "cpu_sets": str,
        "array_b": str,
        "array_c": str,
    }

    takes_objects: ClassVar[bool] = True

    kind: Literal["bandwidth"] = "bandwidth"
    placement: Placement
    """Of the array that is written, or only read where none is; of the others, too, unless:"""
    placement_b: Placement | None = None
    """Where the array is that is read first, of operations with two arrays or three."""
    placement_c: Placement | None = None
    """Where the array is that is read second."""
    pattern: BandwidthPattern

    @model_validator(mode="after")
    def _check(self) -> "BandwidthSpec":
        pattern = self.pattern
        accesses = pattern.size // (pattern.stride or max(pattern.access_size, CACHE_LINE))
        if accesses < self.thread_count:
            raise ValueError("size has fewer accesses than there are threads")
        given = (self.placement, self.placement_b, self.placement_c)
        if any(given[arrays_of(self.pattern.operation) :]):
            raise ValueError(f"{self.pattern.operation} has no such array to place")
        touched = any(where.policy == "first-touch" for where in given if where)
        if touched and self.cpu_sets:
            raise ValueError(FIRST_TOUCH_SETS)
        apart = [where.persistent for where in given[1:] if where and where.persistent]
        if any(one.backing == "pool-objects" for one in apart):
            raise PydanticCustomError("backing", OBJECTS)
        return self

    def walks_objects(self) -> bool:
        """STREAM's operations as STREAM makes them, of arrays in one place."""
        pattern = self.pattern
        together = self.placement_b is None and self.placement_c is None
        as_in_stream = (pattern.order, pattern.sharing, pattern.isa)
        return (
            together
            and pattern.operation in ("copy", "scale", "add", "triad")
            and as_in_stream == ("sequential", "partitioned", "auto")
        )

    def placements(self) -> list[Placement]:
        """Where each of the operation's arrays is: a, b, c."""
        found = [self.placement, self.placement_b or self.placement]
        return [*found, self.placement_c or self.placement][: arrays_of(self.pattern.operation)]

    def thread_cpus(self) -> list[int]:
        """One thread a CPU, or all CPUs of their sets."""
        return self.cpus

    def regions(self) -> list[Region]:
        """The arrays of the operation, those that are placed alike together."""
        size, kind = self.pattern.size, self.pattern.pages
        return [Region(where, kind, size, len(which)) for where, which in self._alike()]

    def files(self) -> list[str]:
        """The directories and devices that hold its arrays."""
        found = [each.persistent.path for each in self.placements() if each.persistent]
        return list(dict.fromkeys(found))

    def _alike(self) -> list[tuple[Placement, list[int]]]:
        """Placements and the numbers of the arrays that have them."""
        found: list[tuple[Placement, list[int]]] = []
        for number, placement in enumerate(self.placements()):
            alike = next((which for where, which in found if where == placement), None)
            if alike is None:
                found.append((placement, [number]))
            else:
                alike.append(number)
        return found

    def identity(self) -> dict[str, Any]:
        """The pattern and the number of threads; sharing only where it is not the usual one."""
        pattern = self.pattern.model_dump(mode="json", exclude_none=True)
        if self.pattern.sharing == "partitioned":
            del pattern["sharing"]
        if self.pattern.order != "zipf":
            del pattern["zipf_alpha"]
        others = {"array_b": self.placement_b, "array_c": self.placement_c}
        apart = {name: where_of(placed) for name, placed in others.items() if placed}
        threads = {"threads": self.thread_count, **self.pinned_as()}
        return {**pattern, **threads, **self.placed_as(), **apart}

    def placed_as(self) -> dict[str, str]:
        """As other kinds' memory; first touch is said of a single node, too."""
        placed = super().placed_as()
        backings = {each.persistent.backing for each in self.placements() if each.persistent}
        if backings:
            placed["backing"] = ", ".join(sorted(backings))
        if self.placement.policy == "first-touch":
            return {"policy": "first-touch", "mechanism": "user", **placed}
        return placed

    def limit(self, paths: "Paths") -> "Limit | None":
        """What the paths to its arrays allow of the operation; none of shared arrays, of which one
        thread may find in a cache what another one fetched."""
        if self.pattern.sharing == "shared" or self.fits_caches(paths.topology.caches):
            return None
        known = [
            paths.limit(
                self.initiator,
                where_of(placed) if 0 not in which else self.target,
                self._traffic_of(which),
            )
            for placed, which in self._alike()
        ]
        return min(filter(None, known), key=lambda limit: limit.value, default=None)

    def _traffic_of(self, arrays: list[int]) -> Traffic:
        """What some of the arrays take of the operation's traffic; the first one is written."""
        whole = self.traffic()
        if len(arrays) == arrays_of(self.pattern.operation):
            return whole
        share = 1 / arrays_of(self.pattern.operation)
        written = 0 in arrays
        fetched = whole.fetched if written else 0.0
        reads = share * (len(arrays) - written) + fetched
        return Traffic(whole.name, reads, share * written, fetched)

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
        access_ns = self.pattern.access_size * traffic * self.thread_count / estimate * 1e9
        return "address-generation" if access_ns < _LOOP_FACTOR * evidence.address_ns else None

    def overwrites(self) -> bool:
        """Reads leave the array as it was."""
        return self.pattern.operation != "read"


SPEC = BandwidthSpec
