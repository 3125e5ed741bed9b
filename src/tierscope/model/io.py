"""Input and output: what holds the data, and what holds the buffers."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from tierscope.model.base import Model
from tierscope.model.spec import Placement

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


class Buffers(Model):
    """Memory that blocks are read into and written from."""

    memory: Literal["host", "device", "vmm", "pinned", "plain", "managed"] = "host"
    """host: placed by ``placement``; device: cudaMalloc; vmm: cuMemCreate; pinned: cudaMallocHost;
    plain: malloc, beside a GPU; managed: cudaMallocManaged."""
    placement: Placement | None = None
    """Of memory host."""
    gpu: Annotated[int, Field(ge=0, le=1023)] | None = None
    """The GPU that takes part."""

    @model_validator(mode="after")
    def _check(self) -> "Buffers":
        if (self.memory == "host") != (self.placement is not None):
            raise ValueError("memory host has a placement, and no other has")
        if self.memory != "host" and self.gpu is None:
            raise ValueError(f"memory {self.memory} needs a gpu")
        return self

    @property
    def name(self) -> str:
        """The memory and where it is: "node:0", "gpu:1 device"."""
        if self.placement is not None:
            return "node:" + ",".join(str(share.node) for share in self.placement.nodes)
        return f"gpu:{self.gpu} {self.memory}"


class OwnedFiles(Model):
    """Files that tierscope makes below a directory, each proven by the manifest there."""

    directory: FilePath
    stem: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")] = "tierscope."
    """Names are the stem and a number from 0 on."""
    count: Annotated[int, Field(ge=1, le=65536)] = 1
    size: FileBytes
    """Of each file."""
    keep: bool = False
    """The files stay when the engine ends, and are used again."""
    large: bool = False
    """They may take more than a tenth of the free space."""

    @property
    def where(self) -> str:
        """The directory."""
        return self.directory

    @property
    def most_bytes(self) -> int:
        """Bytes that are made at most."""
        return self.count * self.size


class PathFiles(Model):
    """What a path is, as the engine finds it: a file as it is, or files that tierscope makes below
    a directory."""

    path: FilePath
    size: FileBytes | None = None
    """Of each file that is made; of another's file, most bytes that are used."""
    count: Annotated[int, Field(ge=1, le=65536)] = 1
    """Files that are made below a directory."""
    create: bool = False
    """Makes the file where it is missing."""
    keep: bool = False
    """What was made stays when the engine ends, and is used again."""
    large: bool = False
    """What is made may take more than a tenth of the free space."""
    overwrite: bool = False
    """Whether another's file may be written."""

    @property
    def where(self) -> str:
        """Its path."""
        return self.path

    @property
    def most_bytes(self) -> int:
        """Bytes that are made at most."""
        return self.count * (self.size or 0)


class DeviceFiles(Model):
    """A block device."""

    device: FilePath
    size: FileBytes | None = None
    """Bytes of it that are used; all of it where absent."""
    destroy: Annotated[str, Field(max_length=256)] = ""
    """Its name below /dev/disk/by-id, or its serial number, which says that its data may go."""
    second_word: Annotated[str, Field(max_length=256)] = ""
    """Said once more of a device that has data without a known signature."""

    @property
    def where(self) -> str:
        """Its path."""
        return self.device

    @property
    def most_bytes(self) -> int:
        """Bytes that are filled at most."""
        return self.size or 0


Files = OwnedFiles | PathFiles | DeviceFiles
