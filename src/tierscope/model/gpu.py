"""Specs of the measurements on GPUs: copies, the GPU's own memory, latency."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from tierscope.model.base import Model
from tierscope.model.endpoint import EndpointKind
from tierscope.model.spec import ChosenPlacement, Cpus, MeasurementSpec, Pages, Region

GpuIndex = Annotated[int, Field(ge=0, le=1023)]
GpuBytes = Annotated[int, Field(ge=1, le=1 << 42)]

HostKind = Literal[
    "pinned",
    "write-combined",
    "registered",
    "pageable",
    "managed",
    "managed-prefetch",
    "managed-advised",
]
"""pinned, write-combined: cudaHostAlloc; registered: ordinary pages, then cudaHostRegister;
pageable: ordinary pages; managed: cudaMallocManaged, whose pages come over as the GPU touches
them, are prefetched, or stay on the host by advice."""
CopyEngine = Literal["ce", "sm", "tma"]
"""ce: a copy engine, as cudaMemcpyAsync uses; sm: a kernel's 16-byte loads and stores; tma: the
bulk copy unit of Hopper and newer."""

SURELY_IN_MEMORY = 256 << 20
"""Bytes of an array that no GPU's L2 keeps."""

ALONE = ("pageable", "managed", "managed-prefetch")
"""Host memory that cannot wait at a gate on the device, and so is measured by itself."""


class HostPlace(Model):
    """Host memory as one endpoint of a transfer."""

    where: Literal["host"] = "host"
    memory: HostKind = "pinned"
    placement: ChosenPlacement
    pages: Pages = "base"
    """Of pageable and registered memory; the driver chooses for the others."""

    @model_validator(mode="after")
    def _check(self) -> "HostPlace":
        if self.placement.persistent:
            raise ValueError("host memory of copies is that of nodes")
        if self.memory not in ("pageable", "registered"):
            if self.pages != "base":
                raise ValueError("only pageable and registered memory has a choice of pages")
            if self.placement.policy != "bind":
                raise ValueError("only pageable and registered memory spans several nodes")
        return self


class GpuPlace(Model):
    """A GPU's memory as one endpoint of a transfer."""

    where: Literal["gpu"] = "gpu"
    gpu: GpuIndex


MemoryPlace = Annotated[HostPlace | GpuPlace, Field(discriminator="where")]


class Transfer(Model):
    """One stream of copies among those of a measurement."""

    name: str
    """Names it in the result's figures: ``node:0 -> gpu:1``."""
    source: MemoryPlace
    destination: MemoryPlace
    gpu: GpuIndex
    """Whose engine moves the bytes: the destination's reads, the source's writes."""
    engine: CopyEngine
    streams: Annotated[int, Field(ge=1, le=64)] = 1
    """CUDA streams that share the bytes."""
    reported: bool = True
    """Whether it counts in the measurement's estimate, or only contends with those that do."""

    @model_validator(mode="after")
    def _check(self) -> "Transfer":
        if isinstance(self.source, HostPlace) and isinstance(self.destination, HostPlace):
            raise ValueError("one endpoint of a transfer at least is a GPU")
        if isinstance(self.destination, HostPlace) and self.destination.memory == "managed":
            raise ValueError("managed memory comes over on demand as a source only")
        return self

    @property
    def alone(self) -> bool:
        """Whether it cannot run at the same time as others."""
        places = (self.source, self.destination)
        return any(isinstance(place, HostPlace) and place.memory in ALONE for place in places)


class GpuSpec(MeasurementSpec):
    """What the measurements on GPUs share."""

    targets: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.NODE, EndpointKind.GPU)
    initiators: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.GPU,)
    type_b: ClassVar[float] = 1e-3
    """Measurements of one thing differ by up to this share of the figure between processes, as
    buffers get other physical pages; no interval from one process's samples knows it."""

    cpus: Cpus
    """The first one issues all work; all of them populate host memory."""
    trace: bool = False
    """Record calls, copies and kernels with CUPTI; costs the figure a little."""

    def thread_cpus(self) -> list[int]:
        """The CPU that issues all work, then those that populate host memory with it."""
        return self.cpus


def host_regions(places: Sequence[MemoryPlace], size: int) -> list[Region]:
    """The host memory among places."""
    return [
        Region(place.placement, place.pages, size)
        for place in places
        if isinstance(place, HostPlace)
    ]
