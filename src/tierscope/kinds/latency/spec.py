"""The spec of idle latency: one CPU's dependent loads."""

from typing import Literal

from tierscope.model.chase import LatencyPattern
from tierscope.model.spec import Cpu, MemorySpec


class LatencySpec(MemorySpec):
    """Idle latency of one CPU's dependent loads."""

    kind: Literal["latency"] = "latency"
    cpu: Cpu
    pattern: LatencyPattern
