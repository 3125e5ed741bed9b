"""The spec of idle latency: one CPU's dependent loads."""

from typing import Any, ClassVar, Literal

from tierscope.model.chase import LatencyPattern
from tierscope.model.spec import Cpu, MemorySpec, Region


class LatencySpec(MemorySpec):
    """Idle latency of one CPU's dependent loads."""

    metric: ClassVar[str] = "latency"

    kind: Literal["latency"] = "latency"
    cpu: Cpu
    pattern: LatencyPattern

    def thread_cpus(self) -> list[int]:
        """The CPU that chases."""
        return [self.cpu]

    def regions(self) -> list[Region]:
        """What the chase goes through."""
        return [Region(self.placement, self.pattern.pages, self.pattern.size)]

    def identity(self) -> dict[str, Any]:
        """The pattern."""
        return {**self.pattern.model_dump(mode="json", exclude_none=True), **self.placed_as()}


SPEC = LatencySpec
