"""The spec of input and output: reads and writes of files and block devices."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from tierscope.model.base import Model
from tierscope.model.endpoint import EndpointKind
from tierscope.model.io import (
    GPU_BACKENDS,
    Backend,
    BlockBytes,
    Buffers,
    DeviceFiles,
    Files,
)
from tierscope.model.spec import Cpus, MeasurementSpec, Region
from tierscope.model.storage import Access

if TYPE_CHECKING:
    from tierscope.model.limit import Limit
    from tierscope.model.path import Paths
    from tierscope.model.topology import Cache

PAGE = 4096
"""Buffers are multiples of it."""
_SLOWEST_FILL_BYTES_PER_S = 10e6
_SLOWEST_OPERATIONS_PER_S = 25.0
"""Storage that is slower is taken for a hang; a hard disk does 50 in random order."""
BANDWIDTH_FROM = 512 << 10
"""Block size from which on the headline is bandwidth; IOPS below it."""


class BlockShare(Model):
    """One size of a distribution of block sizes."""

    bytes: BlockBytes
    weight: Annotated[int, Field(ge=1, le=1_000_000)]


class IoPattern(Model):
    """What each thread reads and writes."""

    operation: Literal["read", "write", "mix"] = "read"
    read_percent: Annotated[int, Field(ge=1, le=99)] | None = None
    """Of operation mix."""
    order: Literal["sequential", "random", "zipf"] = "sequential"
    zipf: Annotated[float, Field(gt=0, le=10)] | None = None
    """Exponent of order zipf."""
    block_size: BlockBytes
    """Bytes of one operation; their mean, rounded down, where ``blocks`` says which there are."""
    blocks: Annotated[list[BlockShare], Field(min_length=2, max_length=64)] | None = None
    align: BlockBytes | None = None
    """Offsets are multiples of it; of the block size where absent."""
    misalign: Annotated[int, Field(ge=0, lt=1 << 20)] = 0
    """Bytes added to every offset, to find out what misaligned access costs."""
    offset: Annotated[int, Field(ge=0, le=1 << 60)] = 0
    """Where the range that is used begins in each file."""
    range: Annotated[int, Field(ge=512, le=1 << 60)] | None = None
    """Bytes of each file that are used, from ``offset`` on; the rest of the file where absent."""
    backend: Backend = "posix"
    direct: bool = True
    """O_DIRECT: past the page cache."""
    cache: Literal["as-found", "warm", "cold"] | None = None
    """What the page cache holds of the files when a visit begins: all that fits, or nothing of
    files that tierscope made. Absent: cold of direct I/O, else warm."""
    depth: Annotated[int, Field(ge=1, le=4096)] = 1
    """Operations of each thread in flight."""
    batch: Annotated[int, Field(ge=1, le=4096)] | None = None
    """Most operations that one system call submits; as many as are free where absent."""
    registered: bool = False
    """Buffers and files are registered beforehand (io_uring, cuFile)."""
    sqpoll: bool = False
    """io_uring: a kernel thread picks submissions up."""
    iopoll: bool = False
    """io_uring: completions are polled for, without interrupts."""
    fsync: Annotated[int, Field(ge=0, le=1 << 30)] = 0
    """fsync after each so many writes of a thread; 0: never."""
    fdatasync: Annotated[int, Field(ge=0, le=1 << 30)] = 0
    end_fsync: bool = False
    """fsync of every file at the end of a visit, before its clock stops; goes with ``amount``."""
    refill: bool = False
    """Each write has new data."""
    compressible: Annotated[int, Field(ge=0, le=100)] = 0
    """Percent of each block that compresses away."""
    rate: Annotated[float, Field(gt=0, le=1e12)] | None = None
    """Operations a second of all threads (open loop): latencies count from the time at which an
    operation was due. Absent: a closed loop, as fast as it goes."""
    arrivals: Literal["regular", "poisson"] | None = None
    """How operations of a given rate are spaced."""
    amount: Annotated[int, Field(ge=512, le=1 << 60)] | None = None
    """Bytes that each thread moves in a visit, which then is one row. Absent: by time."""
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 1
    verify: bool = False
    """Every block that is read is checked; every block written is read back at the end."""
    require: Literal["p2p", "nvfs", "gpudirect", "odirect"] | None = None
    """The way that all operations have to take; another one fails the measurement."""

    @model_validator(mode="after")
    def _check(self) -> "IoPattern":
        pairs = (
            ("read_percent", self.read_percent, self.operation == "mix", "operation mix"),
            ("zipf", self.zipf, self.order == "zipf", "order zipf"),
            ("arrivals", self.arrivals, self.rate is not None, "a rate"),
        )
        for name, value, wanted, what in pairs:
            if (value is not None) != wanted:
                raise ValueError(f"{name} goes with {what}, and only with it")
        if self.iopoll and not self.direct:
            raise ValueError("iopoll needs direct I/O")
        if (self.sqpoll or self.iopoll) and self.backend != "io_uring":
            raise ValueError("sqpoll and iopoll go with backend io_uring")
        if self.depth > 1 and self.backend in SYNCHRONOUS:
            raise ValueError(f"backend {self.backend} has one operation a thread in flight")
        if self.backend == "mmap" and self.direct:
            raise ValueError("backend mmap goes through the page cache, or DAX; it is not direct")
        if self.end_fsync and self.amount is None:
            raise ValueError("end_fsync goes with amount")
        if (self.fsync or self.fdatasync or self.end_fsync) and self.operation == "read":
            raise ValueError("fsync and fdatasync go with writes")
        return self

    @property
    def sizes(self) -> list[int]:
        """Every block size that occurs."""
        return [one.bytes for one in self.blocks] if self.blocks else [self.block_size]


SYNCHRONOUS: tuple[str, ...] = ("posix", "mmap", "cufile", "staged", "staged-managed")
"""Backends that carry an operation out while it is submitted."""


class IoJob(Model):
    """Threads that go over the same files, with buffers in the same memory."""

    name: Annotated[str, Field(max_length=64)] = ""
    """The part that its figures are of, where there are several jobs."""
    cpus: Cpus
    """One a thread; a CPU may come several times."""
    buffers: Buffers
    files: Files
    shared: bool = False
    """All threads go over all files; else each thread has its own, or its share of one."""

    @model_validator(mode="after")
    def _check(self) -> "IoJob":
        files = self.files
        if isinstance(files, DeviceFiles) or self.shared:
            return self
        if files.count not in (1, len(self.cpus)):
            raise ValueError("there is one file, or one for each thread, unless they are shared")
        return self


class IoSpec(MeasurementSpec):
    """Bandwidth, IOPS and latency of storage."""

    metric: ClassVar[str] = "bandwidth"
    initiators: ClassVar[tuple[EndpointKind, ...]] = (
        EndpointKind.NODE,
        EndpointKind.CPUS,
        EndpointKind.GPU,
    )
    targets: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.FILE, EndpointKind.DEV)
    recorded: ClassVar[tuple[str, ...]] = ("operation", "block_size", "depth", "threads")
    extra_properties: ClassVar[dict[str, type]] = {
        "blocks": str,
        "threads": int,
        "memory": str,
        "size": int,
        "jobs": int,
        "shared": bool,
    }

    kind: Literal["io"] = "io"
    jobs: Annotated[list[IoJob], Field(min_length=1, max_length=256)]
    pattern: IoPattern

    @model_validator(mode="after")
    def _check(self) -> "IoSpec":
        names = [job.name for job in self.jobs]
        if len(set(names)) != len(names):
            raise ValueError("two jobs have the same name")
        on_gpu = self.pattern.backend in GPU_BACKENDS
        if not on_gpu and self.pattern.require not in (None, "odirect"):
            raise ValueError(f"require {self.pattern.require} is a way to a GPU")
        if not on_gpu and self.pattern.require == "odirect" and not self.pattern.direct:
            raise ValueError("require odirect needs direct I/O")
        for job in self.jobs:
            if on_gpu != (job.buffers.gpu is not None):
                with_gpu = "needs" if on_gpu else "takes no"
                raise ValueError(f"backend {self.pattern.backend} {with_gpu} GPU in its buffers")
            if self.pattern.backend == "staged-managed" and job.buffers.memory != "managed":
                raise ValueError("backend staged-managed needs memory managed")
            self._check_writes(job.files)
        return self

    def _check_writes(self, files: Files) -> None:
        if self.pattern.operation == "read":
            return
        if isinstance(files, DeviceFiles) and not files.destroy:
            raise ValueError(
                f"writing to {files.device} destroys its data: name it in destroy (--destroy-data)"
            )

    def headline(self) -> str:
        """IOPS of small blocks, bandwidth of large ones."""
        return "bandwidth" if max(self.pattern.sizes) >= BANDWIDTH_FROM else "iops"

    def thread_cpus(self) -> list[int]:
        """One thread a CPU, all jobs'."""
        return [cpu for job in self.jobs for cpu in job.cpus]

    def regions(self) -> list[Region]:
        """The buffers that lie in host memory."""
        buffer = -(-max(self.pattern.sizes) // PAGE) * PAGE
        slots = self.pattern.depth * (2 if self.pattern.operation == "mix" else 1)
        return [
            Region(job.buffers.placement, "base", buffer * slots, len(job.cpus))
            for job in self.jobs
            if job.buffers.placement is not None
        ]

    def files(self) -> list[str]:
        """What it reads or writes."""
        return [job.files.where for job in self.jobs]

    def identity(self) -> dict[str, Any]:
        """The pattern, threads, and what holds the buffers."""
        pattern = self.pattern.model_dump(mode="json", exclude_none=True, exclude={"blocks"})
        for name, usual in _UNSAID.items():
            if pattern.get(name) == usual:
                del pattern[name]
        blocks = self.pattern.blocks
        first = self.jobs[0]
        return {
            **pattern,
            **({"blocks": ",".join(f"{b.bytes}:{b.weight}" for b in blocks)} if blocks else {}),
            "threads": len(self.thread_cpus()),
            "memory": first.buffers.name,
            **({"size": first.files.size} if first.files.size else {}),
            **({"jobs": len(self.jobs)} if len(self.jobs) > 1 else {}),
            **({"shared": True} if first.shared else {}),
        }

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:  # noqa: ARG002
        """Whether the page cache takes part, so that its figure is not the drive's."""
        return not self.pattern.direct

    def limit(self, paths: "Paths") -> "Limit | None":
        """What links and data sheets of the drives allow; none of the page cache."""
        pattern = self.pattern
        reads = {"read": 1.0, "write": 0.0}.get(
            pattern.operation, (pattern.read_percent or 0) / 100
        )
        access = Access(
            read_share=reads,
            random=pattern.order != "sequential",
            direct=pattern.direct,
            block_bytes=pattern.block_size,
            counts_operations=max(pattern.sizes) < BANDWIDTH_FROM,
            through_host=pattern.backend.startswith("staged"),
        )
        targets = [
            f"{'dev' if isinstance(job.files, DeviceFiles) else 'file'}:{job.files.where}"
            for job in self.jobs
        ]
        return paths.storage_limit(self.initiator, targets, access)

    def set_up_s(self) -> float:
        """Seconds for making files, and for an amount that a visit moves whatever its time."""
        filled = sum(job.files.most_bytes for job in self.jobs) / _SLOWEST_FILL_BYTES_PER_S
        operations = (self.pattern.amount or 0) / min(self.pattern.sizes) * len(self.thread_cpus())
        return super().set_up_s() + filled + operations / _SLOWEST_OPERATIONS_PER_S


_UNSAID: dict[str, object] = {
    "misalign": 0,
    "offset": 0,
    "fsync": 0,
    "fdatasync": 0,
    "end_fsync": False,
    "registered": False,
    "sqpoll": False,
    "iopoll": False,
    "refill": False,
    "compressible": 0,
    "verify": False,
    "seed": 1,
}
"""Values that identities leave out, so that they stay readable."""

SPEC = IoSpec
