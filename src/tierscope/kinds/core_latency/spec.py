"""The spec of core-to-core latency: loads of lines that another core's caches hold."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from tierscope.model.base import Model
from tierscope.model.endpoint import EndpointKind
from tierscope.model.spec import Cpu, MemorySpec, Pages, Region

if TYPE_CHECKING:
    from tierscope.model.topology import Cache

SLOT = 256
"""Bytes of which one line is handed over, so that no line's neighbour is prefetched."""
DEFAULT_SIZE = 256 << 10
"""Bytes: 1024 lines, which the L2 cache of any server's core holds."""


class CoreLatencyPattern(Model):
    """Lines that the writer's caches hold when the reader loads them."""

    size: Annotated[int, Field(ge=SLOT, le=1 << 30, multiple_of=SLOT)] = DEFAULT_SIZE
    """Bytes that the lines are spread over, one line in each 256 bytes."""
    state: Literal["modified", "clean"] = "modified"
    """modified: the writer stored to them last (a load is a HITM); clean: the writer loaded them
    last, after all caches had written them back and dropped them (a HIT, where it is forwarded)."""
    pages: Pages = "thp"


class CoreLatencySpec(MemorySpec):
    """Latency of one CPU's dependent loads of lines that another CPU touched last."""

    metric: ClassVar[str] = "latency"
    targets: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.NODE,)
    recorded: ClassVar[tuple[str, ...]] = ("size", "state", "writer")
    extra_properties: ClassVar[dict[str, type]] = {**MemorySpec.extra_properties, "writer": int}

    kind: Literal["core-latency"] = "core-latency"
    cpu: Cpu
    """The reader."""
    writer: Cpu
    pattern: CoreLatencyPattern

    @model_validator(mode="after")
    def _check(self) -> "CoreLatencySpec":
        if self.writer == self.cpu:
            raise ValueError("the writer is the CPU that reads")
        if self.placement.policy != "bind":
            raise ValueError("the lines have one home: policy bind")
        return self

    def thread_cpus(self) -> list[int]:
        """The reader, then the writer."""
        return [self.cpu, self.writer]

    def regions(self) -> list[Region]:
        """What the lines lie in."""
        return [Region(self.placement, self.pattern.pages, self.pattern.size)]

    def identity(self) -> dict[str, Any]:
        """The pattern and the writer."""
        return {**self.pattern.model_dump(mode="json"), "writer": self.writer, **self.placed_as()}

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:  # noqa: ARG002
        """Never: it is the caches that are measured."""
        return False

    def fits_memory_side_cache(self, nodes: Sequence[Any]) -> bool:  # noqa: ARG002
        """Never, likewise."""
        return False


SPEC = CoreLatencySpec
