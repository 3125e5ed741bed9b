"""The spec of traffic: streams of mixed reads and writes, one or several concurrent ones."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from tierscope.model.spec import Cpus, MemorySpec, Region
from tierscope.model.stream import Stream, StreamPattern

if TYPE_CHECKING:
    from tierscope.model.limit import Limit
    from tierscope.model.path import Paths


class NamedStream(Stream):
    """One of several streams."""

    name: Annotated[str, Field(min_length=1, max_length=24, pattern=r"^[A-Za-z0-9_-]+$")]


class StreamsSpec(MemorySpec):
    """Bandwidth of one stream and of others at the same time, started and stopped by one gate."""

    metric: ClassVar[str] = "bandwidth"
    recorded: ClassVar[tuple[str, ...]] = ("order", "size", "threads")
    extra_properties: ClassVar[dict[str, type]] = {
        **MemorySpec.extra_properties,
        "threads": int,
        "mix": str,
        "beside": str,
    }

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

    def thread_cpus(self) -> list[int]:
        """One thread a CPU, the main stream's first."""
        return [*self.cpus, *(cpu for stream in self.beside for cpu in stream.cpus)]

    def regions(self) -> list[Region]:
        """An array for each stream."""
        placed = [(self.placement, self.pattern), *((s.placement, s.pattern) for s in self.beside)]
        return [Region(placement, pattern.pages, pattern.size) for placement, pattern in placed]

    def identity(self) -> dict[str, Any]:
        """The main stream's pattern, threads and mix, and the other streams in words."""
        pattern = self.pattern.model_dump(mode="json", exclude_none=True)
        found = {**pattern, **self.placed_as()}
        found |= {"threads": len(self.cpus), "mix": self.pattern.mix}
        others = [
            f"{stream.name}: {stream.initiator} → {stream.target}, {stream.pattern.mix} "
            f"by {len(stream.cpus)}, {stream.pattern.order}"
            for stream in self.beside
        ]
        return {**found, "beside": "; ".join(others)} if others else found

    def limit(self, paths: "Paths") -> "Limit | None":
        """What the main stream's path allows of its mix."""
        return self.path_limit(paths, self.pattern.traffic())


SPEC = StreamsSpec
