"""The spec of idle latency: one CPU's dependent loads."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from tierscope.model.chase import LatencyPattern
from tierscope.model.spec import CACHE_LINE, Cpu, MemorySpec, Region

MAX_CHASES = 32


class LatencySpec(MemorySpec):
    """Idle latency of one CPU's dependent loads, by one chase or by several at once."""

    metric: ClassVar[str] = "latency"
    recorded: ClassVar[tuple[str, ...]] = ("order", "stride", "size", "pages")
    extra_properties: ClassVar[dict[str, type]] = {**MemorySpec.extra_properties, "chases": int}

    kind: Literal["latency"] = "latency"
    cpu: Cpu
    pattern: LatencyPattern
    chases: Annotated[int, Field(ge=1, le=MAX_CHASES)] = 1
    """Independent chases that the CPU follows at once through the same region; each load depends
    on the one before it in its own chase, so that so many loads can be in flight."""

    @model_validator(mode="after")
    def _check(self) -> "LatencySpec":
        stride = self.pattern.stride
        if self.pattern.size // stride * (stride // CACHE_LINE) < self.chases:
            raise ValueError("size has fewer lines than there are chases")
        return self

    def thread_cpus(self) -> list[int]:
        """The CPU that chases."""
        return [self.cpu]

    def regions(self) -> list[Region]:
        """What the chase goes through."""
        return [Region(self.placement, self.pattern.pages, self.pattern.size)]

    def identity(self) -> dict[str, Any]:
        """The pattern, and the chases where there are several."""
        found = self.pattern.model_dump(mode="json", exclude_none=True)
        found |= {"chases": self.chases} if self.chases > 1 else {}
        return {**found, **self.placed_as()}


SPEC = LatencySpec
