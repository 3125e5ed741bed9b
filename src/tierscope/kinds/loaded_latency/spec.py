"""The spec of loaded latency: a chase while others stream."""

from typing import Literal

from pydantic import model_validator

from tierscope.model.chase import LatencyPattern
from tierscope.model.spec import Cpu, MemorySpec
from tierscope.model.stream import Stream


class Load(Stream):
    """What loads the memory while the chase runs."""

    idle: bool = False
    """It stands still: a control between loaded points."""


class LoadedLatencySpec(MemorySpec):
    """Latency of one CPU's dependent loads under load: one point of a curve."""

    kind: Literal["loaded-latency"] = "loaded-latency"
    cpu: Cpu
    pattern: LatencyPattern
    load: Load

    @model_validator(mode="after")
    def _check(self) -> "LoadedLatencySpec":
        if self.cpu in self.load.cpus:
            raise ValueError("the chase's own CPU is among the load's")
        return self
