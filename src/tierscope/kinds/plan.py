"""The plan: what ``tierscope-engine`` reads, an ordered list of measurement specs.

Everything is decided before it crosses the door: CPUs are numbers, placements are nodes, sizes
are bytes. The engine adds nothing but what only it can know (the instruction set that ``auto``
picks, for one, which it reports as evidence). A kind of measurement is one spec class here."""

from typing import Annotated, Final

from pydantic import Field, model_validator

from tierscope.kinds.atomics.spec import AtomicsSpec
from tierscope.kinds.bandwidth.spec import BandwidthSpec
from tierscope.kinds.gpu_copy.spec import GpuCopySpec
from tierscope.kinds.gpu_latency.spec import GpuLatencySpec
from tierscope.kinds.gpu_memory.spec import GpuMemorySpec
from tierscope.kinds.latency.spec import LatencySpec
from tierscope.kinds.loaded_latency.spec import LoadedLatencySpec
from tierscope.kinds.mapping.spec import MappingSpec
from tierscope.kinds.streams.spec import StreamsSpec
from tierscope.model.base import Model

PLAN_VERSION: Final = 1


Spec = Annotated[
    BandwidthSpec
    | LatencySpec
    | LoadedLatencySpec
    | StreamsSpec
    | AtomicsSpec
    | MappingSpec
    | GpuCopySpec
    | GpuMemorySpec
    | GpuLatencySpec,
    Field(discriminator="kind"),
]


class Plan(Model):
    """What the engine reads on stdin."""

    version: Annotated[int, Field(ge=PLAN_VERSION, le=PLAN_VERSION)]
    """Never assumed; a number and not a Literal, which would take ``true`` for 1."""
    measurements: Annotated[list[Spec], Field(min_length=1, max_length=100_000)]

    @model_validator(mode="after")
    def _check(self) -> "Plan":
        ids = [spec.id for spec in self.measurements]
        if len(set(ids)) != len(ids):
            raise ValueError("two measurements have the same id")
        return self
