"""Persistent memory: how it is asked for, what the kernel tells of it, what was observed."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tierscope.model.base import Count, Model, Word
from tierscope.model.property import MadeBy
from tierscope.model.rules import Prunes, Ruled, Ruling, refuses

OBJECTS = (
    "pool-objects goes with copy, scale, add and triad of bandwidth only, in sequential "
    "order, partitioned, with isa auto, all arrays in one place"
)

SHARED = "shared-file goes with handover only"
Backing = Literal["file", "pool", "pool-objects", "device", "shared-file"]
"""file: a mapped file of our own; pool: objects of a libpmemobj pool, whose addresses are taken
once; pool-objects: the same, whose object ids are translated for each element; device: a character
device of DAX; shared-file: a file that exists and that processes, of several hosts perhaps, map."""

BackedBy = Literal["", "battery"]
"""Empty: the user declares none."""


class Persistent(Ruled):
    """Memory that a file or a device holds, in place of anonymous memory."""

    backing: Backing
    path: Annotated[str, Field(pattern="^/", max_length=4096)]
    """A directory to make files in, a device, or the shared file."""
    offset: Annotated[int, Field(ge=0, le=1 << 50)] = 0
    """First byte used of a device."""
    destroy: Annotated[str, Field(max_length=256), MadeBy("destroy-data")] = ""
    """Name of a device, which confirms that its data may be destroyed."""
    backed_by: BackedBy = ""
    """Backup power that the user declares; it cannot be verified."""
    bound: bool = False
    """Emulated: pages of tmpfs have to be on the placement's nodes."""

    rules: ClassVar[tuple[Ruling, ...]] = (
        Prunes("offset", unless={"backing": "device"}),
        Prunes("destroy", unless={"backing": "device"}),
        *(
            refuses(
                {"bound": True, "backing": backing}, because=f"does not go with backing {backing}"
            )
            for backing in ("device", "shared-file")
        ),
    )


class Dax(Model):
    """One device-dax instance."""

    name: str
    size_bytes: Count
    node: Count | None
    """Node that the memory is, or would become as system RAM."""
    mode: Word[Literal["system-ram", "devdax", "unknown"]]
    parent: str = ""
    """Provider: a CXL region, a pmem namespace or firmware's soft reservation (hmem)."""


class Namespace(Model):
    """A namespace of persistent memory: a part of a region, and what it is used as."""

    name: str
    """namespace0.0"""
    mode: str
    """In ndctl's words: fsdax, devdax, raw, sector."""
    size_bytes: Count
    device: str = ""
    """Device made of it: pmem0, dax0.0; empty where no driver took it."""
    region: str = ""
    """region0"""
    persistence_domain: str = ""
    """Of the region: cpu_cache (CPU caches are flushed when power is lost), memory_controller
    (what has left the caches is kept); empty where the kernel does not say."""
    bad_blocks: Count | None = None
    """512-byte blocks that the kernel lists as bad; None where it lists nothing."""
    node: Count | None = None
    """Node that the memory is, or is nearest to."""
    uuid: str = ""


class PersistentEvidence(Model):
    """Observations of memory in a file or a device, and their consequences."""

    mapping: Word[Literal["MAP_SYNC", "shared", "device"]]
    """MAP_SYNC: of DAX, as the kernel lists the mapping; shared: of a page cache or of tmpfs;
    device: of a character device of DAX."""
    emulated: bool
    """It stood in for persistent memory: tmpfs, bound to a node."""
    durable_by: Word[Literal["flush", "msync"]]
    """Means that makes stores durable: flushing cache lines, or msync."""
    survives_power_loss: Word[Literal["yes", "no", "unknown"]]
    """Whether data that was written would have survived, had power been lost at the end."""
    why: str
    """In one sentence."""
    is_pmem: bool | None = None
    """libpmemobj's view of the memory; None without it."""
    file_system: str | None = None
    mount_policy: str | None = None
    """Mount policy of tmpfs: "bind:2"."""
    device: str | None = None
    """As the kernel names it: pmem0, dax0.0, nvme0n1."""
    namespace_mode: str | None = None
    persistence_domain: str | None = None
    """Persistence domain of the region, as the kernel writes it: cpu_cache, memory_controller."""
    bad_blocks: Count | None = None
    """512-byte blocks of the device that the kernel lists as bad."""
    node: Count | None = None
    """As the kernel tells of the device, or as pages are bound."""
    backed_by: str | None = None
    """As the user declared; not verified."""
    objects: Count | None = None
    """Objects of an array in a pool."""
    offset: Count | None = None
    """Of a device, where the first array begins, in bytes,"""
    bytes: Count | None = None
    """and how many it takes of it."""
