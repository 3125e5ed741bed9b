"""The spec of loaded latency: a chase while others stream."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import model_validator

from tierscope.model.chase import LatencyPattern
from tierscope.model.spec import Cpu, MemorySpec, Region, last_level_bytes
from tierscope.model.stream import Stream

if TYPE_CHECKING:
    from tierscope.model.topology import Cache


class Load(Stream):
    """What loads the memory while the chase runs."""

    idle: bool = False
    """It stands still: a control between loaded points."""


class LoadedLatencySpec(MemorySpec):
    """Latency of one CPU's dependent loads under load: one point of a curve."""

    metric: ClassVar[str] = "latency"
    recorded: ClassVar[tuple[str, ...]] = (
        "order",
        "size",
        "pages",
        "mix",
        "load_from",
        "load_to",
        "load_order",
        "load_threads",
    )
    steady: ClassVar[bool] = True
    extra_properties: ClassVar[dict[str, type]] = {
        **MemorySpec.extra_properties,
        "load_from": str,
        "load_to": str,
        "mix": str,
        "load_order": str,
        "load_access_size": int,
        "load_size": int,
        "load_threads": int,
        "delay_ns": int,
    }

    kind: Literal["loaded-latency"] = "loaded-latency"
    cpu: Cpu
    pattern: LatencyPattern
    load: Load

    @model_validator(mode="after")
    def _check(self) -> "LoadedLatencySpec":
        if self.cpu in self.load.cpus:
            raise ValueError("the chase's own CPU is among the load's")
        return self

    def thread_cpus(self) -> list[int]:
        """The CPU that chases, then those that load, unless they stand still."""
        return [self.cpu] if self.load.idle else [self.cpu, *self.load.cpus]

    def regions(self) -> list[Region]:
        """What the chase goes through, and the load's array."""
        load = self.load
        return [
            Region(self.placement, self.pattern.pages, self.pattern.size),
            Region(load.placement, load.pattern.pages, load.pattern.size),
        ]

    def identity(self) -> dict[str, Any]:
        """The chase's pattern and the load's, flat, so that points may differ in any of both."""
        load = self.load
        return {
            **self.pattern.model_dump(mode="json", exclude_none=True),
            **self.placed_as(),
            "load_from": load.initiator,
            "load_to": load.target,
            "mix": load.pattern.mix,
            "load_order": load.pattern.order,
            "load_access_size": load.pattern.access_size,
            "load_size": load.pattern.size,
            "load_threads": 0 if load.idle else load.thread_count,
            "delay_ns": None if load.idle else load.pattern.delay_ns,
        }

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:
        """Whether the chase alone fits the caches of its CPU."""
        return bool(caches) and self.pattern.size <= last_level_bytes(caches, [self.cpu])


SPEC = LoadedLatencySpec
