"""The spec of traffic: streams of mixed reads and writes, one or several at once."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from tierscope.model.spec import MemorySpec
from tierscope.model.stream import Cpus, Stream, StreamPattern


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
