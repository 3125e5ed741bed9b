"""Input and output: what holds the data, and what holds the buffers."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from tierscope.model.base import Model
from tierscope.model.spec import ChosenPlacement

BlockBytes = Annotated[int, Field(ge=512, le=1 << 30)]
"""Bytes of one operation."""
FilePath = Annotated[str, Field(min_length=2, max_length=4095, pattern=r"^/[^\x00\n]*$")]
"""An absolute path."""
FileBytes = Annotated[int, Field(ge=4096, le=1 << 60)]

Backend = Literal[
    "posix",
    "libaio",
    "io_uring",
    "mmap",
    "cufile",
    "cufile-stream",
    "cufile-batch",
    "cufile-batch-stream",
    "staged",
    "staged-async",
    "staged-managed",
]
"""How operations are made; see docs/storage.md."""

GPU_BACKENDS: tuple[str, ...] = (
    "cufile",
    "cufile-stream",
    "cufile-batch",
    "cufile-batch-stream",
    "staged",
    "staged-async",
    "staged-managed",
)
"""Backends whose data goes to a GPU or comes from it."""


SYNCHRONOUS: tuple[str, ...] = ("posix", "mmap", "cufile", "staged", "staged-managed")
"""Backends that carry an operation out while it is submitted."""


class Buffers(Model):
    """Memory that blocks are read into and written from."""

    memory: Literal["host", "device", "vmm", "pinned", "plain", "managed"] = "host"
    """host: placed by ``placement``; device: cudaMalloc; vmm: cuMemCreate; pinned: cudaMallocHost;
    plain: malloc, beside a GPU; managed: cudaMallocManaged."""
    placement: ChosenPlacement | None = None
    """Of memory host."""
    gpu: Annotated[int, Field(ge=0, le=1023)] | None = None
    """The GPU that takes part."""

    @model_validator(mode="after")
    def _check(self) -> "Buffers":
        if (self.memory == "host") != (self.placement is not None):
            raise ValueError("memory host has a placement, and no other has")
        if self.placement is not None and self.placement.persistent:
            raise ValueError("buffers are in the memory of nodes")
        if self.memory != "host" and self.gpu is None:
            raise ValueError(f"memory {self.memory} needs a gpu")
        return self

    @property
    def name(self) -> str:
        """The memory and where it is: "node:0", "gpu:1 device"."""
        if self.placement is not None:
            return "node:" + ",".join(str(share.node) for share in self.placement.nodes)
        return f"gpu:{self.gpu} {self.memory}"


class MadeFiles(Model):
    """Files that tierscope makes where they are missing."""

    count: Annotated[int, Field(ge=1, le=65536)] = 1
    """Files that are made below a directory."""
    keep: bool = False
    """What was made stays when the engine ends, and is used again."""
    large: bool = False
    """What is made may take more than a tenth of the free space."""
    size: FileBytes | None = None
    """Of each file that is made; of another's file, most bytes that are used."""

    @property
    def most_bytes(self) -> int:
        """Bytes that are made at most."""
        return self.count * (self.size or 0)


class OwnedFiles(MadeFiles):
    """Files that tierscope makes below a directory, each proven by the manifest there."""

    directory: FilePath
    stem: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")] = "tierscope."
    """Names are the stem and a number from 0 on."""
    size: FileBytes
    """Of each file."""

    @property
    def where(self) -> str:
        """The directory."""
        return self.directory


class CommonFile(Model):
    """One file below a directory that all hosts of a fleet use: each writes a region of its own,
    all of them read all of it. Alone, a host has such a file for itself."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{0,64}$")] = ""
    """Empty until the hosts are known."""
    parts: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """Hosts,"""
    part: Annotated[int, Field(ge=0, le=999_999)] = 0
    """and which of them this one is, from 0."""
    wait_s: Annotated[float, Field(gt=0, le=1e6)] | None = None
    """Another host makes it, which may take so long; None: this one makes and removes it."""

    @model_validator(mode="after")
    def _check(self) -> "CommonFile":
        if self.part >= self.parts:
            raise ValueError("part is one of the parts")
        if self.wait_s is not None and not self.name:
            raise ValueError("wait_s goes with a name")
        return self


class PathFiles(MadeFiles):
    """What a path is, as the engine finds it: a file as it is, or files that tierscope makes below
    a directory."""

    path: FilePath
    create: bool = False
    """Makes the file where it is missing."""
    overwrite: bool = False
    """Whether another's file may be written."""
    common: CommonFile | None = None
    """Below a directory."""

    @model_validator(mode="after")
    def _check(self) -> "PathFiles":
        several = self.common is not None and self.common.parts > 1
        if several and (self.size is None or self.count != 1):
            raise ValueError("common is one file of a given size")
        return self

    @property
    def where(self) -> str:
        """Its path."""
        return self.path


class DeviceFiles(Model):
    """A block device."""

    device: FilePath
    size: FileBytes | None = None
    """Bytes of it that are used; all of it where absent."""
    destroy: Annotated[str, Field(max_length=256)] = ""
    """Its name below /dev/disk/by-id, or its serial number, which says that its data may go."""
    second_word: Annotated[str, Field(max_length=256)] = ""
    """Said once more of a device that has data without a known signature."""
    purge: bool = False
    """A fresh visit begins by discarding all of its data."""

    @property
    def where(self) -> str:
        """Its path."""
        return self.device

    @property
    def most_bytes(self) -> int:
        """Bytes that are filled at most."""
        return self.size or 0


Files = OwnedFiles | PathFiles | DeviceFiles


CufileSetting = Annotated[
    str, Field(max_length=4096, pattern=r"^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)+=[^\n]+$")
]
"""properties.io_batchsize=64."""


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
    time_limit_s: Annotated[float, Field(gt=0, le=1e6)] | None = None
    """Seconds after which a visit of an amount ends, whatever is left of it."""
    ramp_s: Annotated[float, Field(ge=0, le=1e6)] | None = None
    """Seconds of operations before the first row; all rows are of one visit then."""
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 1
    verify: bool = False
    """Every block that is read is checked; every block written is read back at the end."""
    require: Literal["p2p", "nvfs", "gpudirect", "odirect"] | None = None
    """The way that all operations have to take; another one fails the measurement."""
    cufile: CufileSetting | None = None
    """What cufile.json sets for these operations in place of what it says: a key with its sections,
    and its value as JSON. Absent: cufile.json as it is."""

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
        if self.cufile is not None and not self.backend.startswith("cufile"):
            raise ValueError("cufile goes with the backends of cuFile")
        if self.end_fsync and self.amount is None:
            raise ValueError("end_fsync goes with amount")
        if self.time_limit_s is not None and self.amount is None:
            raise ValueError("time_limit_s goes with amount")
        if self.ramp_s and self.amount is not None:
            raise ValueError("ramp_s goes with no amount")
        if (self.fsync or self.fdatasync or self.end_fsync) and self.operation == "read":
            raise ValueError("fsync and fdatasync go with writes")
        return self

    @property
    def sizes(self) -> list[int]:
        """Every block size that occurs."""
        return [one.bytes for one in self.blocks] if self.blocks else [self.block_size]
