"""The spec of chains: dependent reads and writes over one or two regions."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from tierscope.kinds.chain.grammar import format_chain
from tierscope.kinds.chain.operation import MAX_OPERATIONS, Operation, lines_moved, reach
from tierscope.model.base import Model
from tierscope.model.spec import (
    CACHE_LINE,
    Bytes,
    ChosenPlacement,
    MemorySpec,
    Pages,
    Region,
)
from tierscope.model.threads import Threads
from tierscope.model.traffic import Traffic
from tierscope.model.where import where_of

if TYPE_CHECKING:
    from tierscope.model.limit import Limit
    from tierscope.model.path import Paths

MAX_INTERLEAVE = 32
MAX_SAMPLE_EVERY = 1_000_000


class ChainPattern(Model):
    """What each thread does again and again."""

    operations: Annotated[list[Operation], Field(min_length=1, max_length=MAX_OPERATIONS)]
    linked: bool = True
    """The first address depends on what the chain before has read, so that chains wait for each
    other; else they overlap."""
    interleave: Annotated[int, Field(ge=1, le=MAX_INTERLEAVE)] = 1
    """Walks of one thread: all make their first operation, then all the second, and so on."""
    sample_every: Annotated[int, Field(ge=1, le=MAX_SAMPLE_EVERY)] = 1
    """Of so many rounds over the interleaved walks, one is timed by itself."""
    size: Bytes
    """Bytes of each region; all threads go over the whole of it."""
    size_second: Bytes | None = None
    """Of region m1, where it is of another size."""
    pages: Pages = "thp"

    @property
    def chain(self) -> str:
        """The operations as text, a preset by its word."""
        return format_chain(tuple(self.operations))

    @property
    def chain_bytes(self) -> int:
        """What one chain reads and writes, as the program asks."""
        return sum(operation.size for operation in self.operations)

    @model_validator(mode="after")
    def _check(self) -> "ChainPattern":
        if self.operations[0].offset:
            raise ValueError("operations begin with an offset, and nothing is before it")
        waits = any(one.reads or one.fence == "all" for one in self.operations)
        if self.linked and not waits:
            raise ValueError("linked chains read something or have a full fence")
        for name, size, region in (("size", self.size, 0), ("size_second", self.second, 1)):
            least = reach(self.operations, region)
            if size < least:
                named = name if self.size_second else "size"
                raise ValueError(
                    f"{named} is less than the {least} bytes that operations reach over"
                )
        if self.size_second and not reach(self.operations, 1):
            raise ValueError("size_second goes with operations of m1, and only with them")
        return self

    @property
    def second(self) -> int:
        """Bytes of region m1."""
        return self.size_second or self.size


class ChainSpec(Threads, MemorySpec):
    """The time of a chain where chains are linked, and how many end a second where they are not."""

    metric: ClassVar[str] = "latency"
    recorded: ClassVar[tuple[str, ...]] = ("chain", "linked", "size", "threads")
    extra_properties: ClassVar[dict[str, type]] = {
        **MemorySpec.extra_properties,
        "chain": str,
        "threads": int,
        "cpu_sets": str,
        "second": str,
    }

    kind: Literal["chain"] = "chain"
    placement_second: ChosenPlacement | None = None
    """Of region m1, where operations go there."""
    pattern: ChainPattern

    @model_validator(mode="after")
    def _check(self) -> "ChainSpec":
        if (self.placement_second is not None) != (reach(self.pattern.operations, 1) > 0):
            raise ValueError("a second target goes with operations of m1, and only with them")
        second = self.placement_second.persistent if self.placement_second else None
        if second and second.backing == "pool-objects":
            raise ValueError("pool-objects goes with bandwidth's copy, scale, add and triad only")
        return self

    def headline(self) -> str:
        """Chains that overlap have no latency of their own."""
        return "latency" if self.pattern.linked else "operations"

    def thread_cpus(self) -> list[int]:
        """One thread a CPU, or all CPUs of their sets."""
        return self.cpus

    def regions(self) -> list[Region]:
        """m0, and m1 where there is one."""
        pattern = self.pattern
        sizes = (pattern.size, pattern.second)
        return [
            Region(placement, pattern.pages, size)
            for placement, size in zip(self._placements(), sizes, strict=False)
        ]

    def _placements(self) -> list[ChosenPlacement]:
        return [self.placement, *([self.placement_second] if self.placement_second else [])]

    def files(self) -> list[str]:
        """The directories or devices that hold its regions."""
        found = [each.persistent.path for each in self._placements() if each.persistent]
        return list(dict.fromkeys(found))

    def identity(self) -> dict[str, Any]:
        """The chain as text, and how it is run."""
        pattern = self.pattern.model_dump(mode="json", exclude={"operations"})
        for usual in ("interleave", "sample_every"):
            if pattern[usual] == 1:
                del pattern[usual]
        if self.pattern.size_second is None:
            del pattern["size_second"]
        second = self.placement_second
        apart = {"second": where_of(second)} if second else {}
        return {
            "chain": self.pattern.chain,
            **pattern,
            **apart,
            **self.placed_as(),
            "threads": self.thread_count,
            **self.pinned_as(),
        }

    def limit(self, paths: "Paths") -> "Limit | None":
        """Chains a second that the lines which they move leave room for; none of linked chains,
        whose figure is a time, and no link states one."""
        if self.pattern.linked or self.fits_caches(paths.topology.caches):
            return None
        known = [self._limit_of(paths, region) for region in range(len(self._placements()))]
        return min(filter(None, known), key=lambda limit: limit.value, default=None)

    def _limit_of(self, paths: "Paths", region: int) -> "Limit | None":
        read, fetched, written = lines_moved(self.pattern.operations, region)
        lines = read + fetched + written
        if not lines:
            return None
        where = where_of(self.placement_second) if self.placement_second and region else self.target
        traffic = Traffic("chain", (read + fetched) / lines, written / lines, fetched / lines)
        found = paths.limit(self.initiator, where, traffic)
        if found is None:
            return None
        moved = lines * CACHE_LINE
        return found.model_copy(
            update={
                "value": found.value / moved,
                "unit": "1/s",
                "formula": f"{found.formula} / {moved} B of lines a chain",
                "without_write_allocate": None,
            }
        )


SPEC = ChainSpec
