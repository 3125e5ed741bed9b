"""The spec of traffic: streams of mixed reads and writes, one or several concurrent ones."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from tierscope.model.spec import MemorySpec, Region
from tierscope.model.stream import Stream, StreamPattern
from tierscope.model.threads import Threads

if TYPE_CHECKING:
    from tierscope.model.limit import Limit
    from tierscope.model.path import Paths


class NamedStream(Stream):
    """One of several streams."""

    name: Annotated[str, Field(min_length=1, max_length=24, pattern=r"^[A-Za-z0-9_-]+$")]


class StreamsSpec(Threads, MemorySpec):
    """Bandwidth of one stream and of others at the same time, started and stopped by one gate."""

    metric: ClassVar[str] = "bandwidth"
    recorded: ClassVar[tuple[str, ...]] = ("order", "size", "threads")
    extra_properties: ClassVar[dict[str, type]] = {
        **MemorySpec.extra_properties,
        "threads": int,
        "cpu_sets": str,
        "mix": str,
        "beside": str,
    }

    kind: Literal["streams"] = "streams"
    pattern: StreamPattern
    beside: Annotated[list[NamedStream], Field(max_length=15)] = []

    @model_validator(mode="after")
    def _check(self) -> "StreamsSpec":
        streams: list[Threads] = [self, *self.beside]
        cpus = [cpu for one in streams for cpu in one.cpus]
        if len(set(cpus)) != len(cpus) and any(one.cpu_sets is None for one in streams):
            raise ValueError("two threads are to run on one CPU; streams that share CPUs have sets")
        names = ["main", *(stream.name for stream in self.beside)]
        if len(set(names)) != len(names):
            raise ValueError("two streams have the same name, or one is called main")
        if self.pattern.size // self.pattern.access_size < self.thread_count:
            raise ValueError("size has fewer accesses than there are threads")
        return self

    def thread_cpus(self) -> list[int]:
        """One thread a CPU, or all CPUs of their sets; the main stream's first."""
        others = (cpu for stream in self.beside for cpu in stream.cpus)
        return list(dict.fromkeys([*self.cpus, *others]))

    def regions(self) -> list[Region]:
        """An array for each stream."""
        placed = [(self.placement, self.pattern), *((s.placement, s.pattern) for s in self.beside)]
        return [Region(placement, pattern.pages, pattern.size) for placement, pattern in placed]

    def identity(self) -> dict[str, Any]:
        """The main stream's pattern, threads and mix, and the other streams in words."""
        pattern = self.pattern.model_dump(mode="json", exclude_none=True)
        found = {**pattern, **self.placed_as()}
        found |= {"threads": self.thread_count, "mix": self.pattern.mix, **self.pinned_as()}
        others = [
            f"{stream.name}: {stream.initiator} → {stream.target}, {stream.pattern.mix} "
            f"by {stream.thread_count}, {stream.pattern.order}"
            + "".join(f" on CPUs {sets}" for sets in stream.pinned_as().values())
            for stream in self.beside
        ]
        return {**found, "beside": "; ".join(others)} if others else found

    def limit(self, paths: "Paths") -> "Limit | None":
        """What the main stream's path allows of its mix."""
        return self.path_limit(paths, self.pattern.traffic())


SPEC = StreamsSpec
