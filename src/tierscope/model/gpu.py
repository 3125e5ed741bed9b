"""Specs of the measurements on GPUs: copies, the GPU's own memory, latency."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from tierscope.model.base import Model
from tierscope.model.spec import Bytes, Cpu, Id, Pages, Placement, Sampling

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
GpuOperation = Literal["read", "write", "copy", "scale", "add", "triad", "random"]

ALONE = ("pageable", "managed", "managed-prefetch")
"""Host memory that cannot wait at a gate on the device, and so is measured by itself."""


class HostPlace(Model):
    """Host memory as one end of a transfer."""

    where: Literal["host"] = "host"
    memory: HostKind = "pinned"
    placement: Placement
    pages: Pages = "base"
    """Of pageable and registered memory; the driver chooses for the others."""

    @model_validator(mode="after")
    def _check(self) -> "HostPlace":
        if self.memory not in ("pageable", "registered"):
            if self.pages != "base":
                raise ValueError("only pageable and registered memory has a choice of pages")
            if self.placement.policy != "bind":
                raise ValueError("only pageable and registered memory spans several nodes")
        return self


class GpuPlace(Model):
    """A GPU's memory as one end of a transfer."""

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
            raise ValueError("a transfer has a GPU at one end at least")
        if isinstance(self.destination, HostPlace) and self.destination.memory == "managed":
            raise ValueError("managed memory comes over on demand as a source only")
        return self

    @property
    def alone(self) -> bool:
        """Whether it cannot run beside others."""
        ends = (self.source, self.destination)
        return any(isinstance(end, HostPlace) and end.memory in ALONE for end in ends)


class GpuSpec(Model):
    """What the measurements on GPUs share."""

    id: Id
    initiator: str
    target: str
    cpus: Annotated[list[Cpu], Field(min_length=1, max_length=4096)]
    """The first one issues all work; all of them populate host memory."""
    sampling: Sampling = Sampling()
    trace: bool = False
    """Record calls, copies and kernels with CUPTI; costs the figure a little."""


class GpuCopyPattern(Model):
    """What one copy of each transfer moves."""

    size: GpuBytes
    """Bytes of one copy; of rows together."""
    offset: Annotated[int, Field(ge=0, le=1 << 42)] = 0
    """Bytes before the first one, in both memories."""
    row_bytes: GpuBytes | None = None
    """Strided (2D) copies: bytes of a row; engine ce only."""
    pitch: GpuBytes | None = None
    """Strided (2D) copies: bytes from one row to the next."""

    @property
    def buffer_bytes(self) -> int:
        """Bytes of memory at each end of a transfer, padding of rows included."""
        if self.row_bytes is None or self.pitch is None:
            return self.offset + self.size
        return self.offset + self.size // self.row_bytes * self.pitch

    @model_validator(mode="after")
    def _check(self) -> "GpuCopyPattern":
        if (self.row_bytes is None) != (self.pitch is None):
            raise ValueError("row_bytes and pitch go together")
        if self.row_bytes is not None and self.pitch is not None:
            if self.pitch < self.row_bytes:
                raise ValueError("pitch is smaller than row_bytes")
            if self.size % self.row_bytes:
                raise ValueError("size is not a whole number of rows")
        return self


class GpuCopySpec(GpuSpec):
    """Transfers that run at once, all of them contested to the end."""

    kind: Literal["gpu-copy"] = "gpu-copy"
    pattern: GpuCopyPattern
    verify: bool = True
    """Compare every destination with its source's pattern, on the GPU, after the clock stopped."""
    transfers: Annotated[list[Transfer], Field(min_length=1, max_length=256)]

    @model_validator(mode="after")
    def _check(self) -> "GpuCopySpec":
        for transfer in self.transfers:
            if transfer.alone and (len(self.transfers) > 1 or transfer.streams > 1):
                raise ValueError("pageable and migrating memory goes with one transfer, one stream")
            if self.pattern.row_bytes is not None and transfer.engine != "ce":
                raise ValueError("rows are copied by engine ce only")
            if transfer.engine == "tma" and self.pattern.offset % 16:
                raise ValueError("engine tma needs an offset that is a multiple of 16")
        return self


class GpuMemoryPattern(Model):
    """Access pattern on a GPU's own memory."""

    operation: GpuOperation
    size: Bytes
    """Bytes of each array that the operation uses (read 1, copy 2, triad 3)."""
    access_size: Annotated[int, Field(ge=16, le=512)] = 32
    """Bytes that one random access reads; a power of two."""

    @model_validator(mode="after")
    def _check(self) -> "GpuMemoryPattern":
        if self.access_size & (self.access_size - 1):
            raise ValueError("access_size is not a power of two")
        if self.size < self.access_size or (self.operation == "random" and self.size >= 1 << 36):
            raise ValueError("size is smaller than access_size, or 64 GiB and more")
        return self


class GpuMemorySpec(GpuSpec):
    """Bandwidth of a GPU's own memory, or of its L2 where the arrays fit there."""

    kind: Literal["gpu-memory"] = "gpu-memory"
    gpu: GpuIndex
    pattern: GpuMemoryPattern


class GpuLatencyPattern(Model):
    """What a GPU's pointer chase goes through."""

    size: Bytes
    stride: Annotated[int, Field(ge=8, le=1 << 20, multiple_of=8)] = 128
    """Bytes from one chased slot to the next."""
    order: Literal["random", "linear"] = "random"
    """random: a single cycle through all slots; linear: slot after slot, which spares the GPU's
    address translation, laid by the CPU where it is host memory."""

    @model_validator(mode="after")
    def _check(self) -> "GpuLatencyPattern":
        if not 2 <= self.size // self.stride <= 1 << 28:
            raise ValueError("size has to hold 2 to 2^28 strides")
        return self


class GpuLatencySpec(GpuSpec):
    """Latency of dependent loads by one thread of a GPU."""

    kind: Literal["gpu-latency"] = "gpu-latency"
    gpu: GpuIndex
    memory: MemoryPlace
    engine: Literal["sm", "tma"] = "sm"
    """sm: plain loads; tma: bulk copies of 16 bytes, each waited for."""
    per_sm: bool = False
    """Chase on each multiprocessor in turn, too, and report percentiles over them."""
    every_sm: bool = False
    """Each sample is the mean over all multiprocessors, not the latency of one."""
    pattern: GpuLatencyPattern

    @model_validator(mode="after")
    def _check(self) -> "GpuLatencySpec":
        if isinstance(self.memory, HostPlace) and self.memory.memory.startswith("managed"):
            raise ValueError("a chase goes through memory that stays where it is")
        if self.engine == "tma" and (self.per_sm or self.every_sm):
            raise ValueError("per_sm and every_sm go with engine sm")
        if self.engine == "tma" and self.pattern.stride % 16:
            raise ValueError("engine tma takes strides that are multiples of 16")
        return self
