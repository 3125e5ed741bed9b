"""Facts about a storage target: its path, its file system, and the drives below."""

from dataclasses import dataclass
from typing import Literal

from tierscope.model.base import Count, Model, Word
from tierscope.model.evidence import NfsFacts
from tierscope.model.topology import PcieLink

DriveKind = Literal["nvme", "disk", "virtual", "pmem", "memory", "loop", "none"]
"""virtual: of a hypervisor; memory: a RAM disk (brd, zram); loop: a file as a device; none:
null_blk, which keeps no data unless it was told to."""


class MountFacts(Model):
    """The mount that a path is on, as /proc/self/mountinfo says."""

    id: Count
    point: str
    """Directory that it is mounted on."""
    type: str
    """ext4, xfs, nfs4, tmpfs, overlay, ..."""
    source: str
    """/dev/nvme0n1p1, server:/export, tmpfs, ..."""
    options: str
    """Of the mount and of its file system: "rw,relatime,discard"."""


class PathFacts(Model):
    """What ``tierscope-engine path`` prints; engine/storage/path_facts.h describes each field."""

    path: str
    kind: Word[Literal["file", "directory", "block", "missing", "other"]]
    real: str
    """Without symbolic links; of a missing path the nearest directory above it."""
    device: str
    """major:minor of the block device that the data is on; 0:N where it is on none."""
    size: Count | None = None
    total_bytes: Count | None = None
    free_bytes: Count | None = None
    mount: MountFacts | None = None
    page_bytes: Count
    dio_memory_align: Count | None = None
    """Bytes; 0: the file system has no direct I/O. None where the kernel does not say."""
    dio_offset_align: Count | None = None
    direct: bool | None = None
    """Whether an open with O_DIRECT succeeds; None where it was not opened."""
    open_error: str = ""
    """Why it cannot be opened for reading at all."""
    dax: bool | None = None
    """Mappings go past the page cache; of a directory, by the option of its mount."""


class DriveState(Model):
    """State of a drive that changes while it works."""

    temperature_c: float | None = None
    """Its composite temperature."""
    hot: bool | None = None
    """The drive reports that it is above its own warning threshold, where it may throttle."""
    link: PcieLink | None = None
    """Its PCIe link as it runs now."""


class OwnFile(Model):
    """A file, or a directory of small files, that a manifest says tierscope made."""

    name: str
    bytes: Count
    """That it takes on the device."""
    keep: bool
    """It was to stay."""
    state: Literal["leftover", "in-use", "missing", "unproven", "removed"]
    """leftover: no process uses it; unproven: something else may have its name."""
    files: Count | None = None
    """Of a directory of small files: those in it that are proven to be tierscope's."""
    reason: str = ""


class OwnFiles(Model):
    """Leftovers of tierscope in a directory: ``tierscope-engine leftovers`` and ``clean``."""

    directory: str
    files: list[OwnFile]


class BlockCounts(Model):
    """Work of a block device while samples were taken, of all processes: a drive, or an array (md,
    dm) above drives. The kernel's own counts (/sys/block/*/stat)."""

    name: str
    seconds: float
    """Time over which it was counted."""
    reads: Count
    """Requests that ended."""
    reads_merged: Count
    """Requests that were made part of another one."""
    bytes_read: Count
    read_ms: Count
    """Time of all reads together, from when they were queued until they ended."""
    writes: Count
    writes_merged: Count
    bytes_written: Count
    write_ms: Count
    busy_ms: Count
    """Time with at least one request in flight."""
    in_flight_ms: Count
    """Integral of the requests in flight over time."""

    @property
    def requests(self) -> int:
        """Reads and writes."""
        return self.reads + self.writes

    @property
    def bytes(self) -> int:
        """Read and written."""
        return self.bytes_read + self.bytes_written

    @property
    def requests_per_s(self) -> float:
        """Requests that ended a second."""
        return self.requests / self.seconds if self.seconds else 0.0

    @property
    def mean_bytes(self) -> float:
        """Mean size of a request; smaller than the blocks asked for where they were split."""
        return self.bytes / self.requests if self.requests else 0.0

    @property
    def await_ms(self) -> float:
        """Mean time of a request in queue and drive."""
        return (self.read_ms + self.write_ms) / self.requests if self.requests else 0.0

    @property
    def in_flight(self) -> float:
        """Requests in flight, on average."""
        return self.in_flight_ms / 1e3 / self.seconds if self.seconds else 0.0

    @property
    def utilization(self) -> float:
        """Share of the time, 0..1, with at least one request in flight."""
        return min(1.0, self.busy_ms / 1e3 / self.seconds) if self.seconds else 0.0


class ThreadUse(Model):
    """What the kernel counted of threads that each end at their own end."""

    worked_s: float
    """From the first operation that counts to the end of the last one."""
    user_s: float
    system_s: float
    switches: Count
    """Context switches."""
    major_faults: Count
    minor_faults: Count


class IoThreads(ThreadUse):
    """Threads of jobs of input and output."""

    in_flight: list[int]
    """Operations by the number in flight with them: 1, 2, 4, 8, 16, 32, 64 and above."""
    submitted: list[int]
    """Calls by how many operations they submitted: 0, up to 4, 8, 16, 32, 64, and above."""
    completed: list[int]
    """Calls by how many completions they returned."""
    depth: Count
    """At the end; the one that a search found."""
    counted_from: Count
    """Number of the first sample that counts, where a search restarts at the depth found."""


class SteadyIo(Model):
    """The figures of the latest samples, by which jobs were to end."""

    attained: bool
    criterion: float
    mean: float
    slope: float
    """By sample."""
    deviation: float
    """The largest distance from the mean."""
    figures: list[float]


class TargetIo(Model):
    """Work of the threads of one of several jobs, over all samples of the repetitions."""

    name: str
    """The part that the job's figures are of."""
    reads: Count
    writes: Count
    bytes_read: Count
    bytes_written: Count
    first_finisher_s: float | None = None
    """Seconds from the common start until the job's first thread had moved a given amount,"""
    last_finisher_s: float | None = None
    """and when its last one had."""
    threads: IoThreads | None = None


class DriveWear(Model):
    """Wear of an NVMe drive, as it reports; engine/storage/drive_wear.h has the source."""

    used_percent: Count
    """Percent used of the life that its maker expects."""
    spare_percent: Count
    """Percent left of its spare blocks."""
    spare_threshold_percent: Count
    """From which on it warns."""
    warnings: Count
    """Bits: 1 spare, 2 temperature, 4 reliability, 8 read-only."""
    written_bytes: float
    """In its whole life, by hosts."""
    media_errors: float
    """Data that it could not correct."""


class DriveFacts(Model):
    """One drive, or what stands in for one, as sysfs describes it."""

    name: str
    """The kernel's name: nvme0n1, sda, vda, loop0."""
    kind: Word[DriveKind]
    model: str = ""
    """As the drive names itself; what ``lsblk -o MODEL`` shows."""
    serial: str = ""
    firmware: str = ""
    transport: str = ""
    """pcie, tcp, rdma, sata, sas, usb, virtio, ...; empty where the kernel does not say."""
    server: str = ""
    """Address of the machine that has an NVMe drive over a network."""
    interfaces: list[str] = []
    """Network interfaces by which that machine is reached."""
    size_bytes: Count | None = None
    rotational: bool | None = None
    logical_block_bytes: Count | None = None
    physical_block_bytes: Count | None = None
    write_cache: str = ""
    """"write back": the drive has a volatile cache; "write through": it has none."""
    queue: dict[str, str] = {}
    """Settings of its request queue, by their names below /sys/block/*/queue."""
    node: Count | None = None
    """NUMA node that it is local to."""
    address: str | None = None
    """PCI address of its controller."""
    link_best: PcieLink | None = None
    """State of its PCIe link that both ends support."""
    warning_c: float | None = None
    """Temperature from which on it warns, and may throttle."""
    backing_file: str = ""
    """Of a loop device."""
    backing_direct: bool | None = None
    """Whether a loop device goes past the page cache to its file."""
    note: str = ""
    """Note on its figures: "virtual disk: the host may cache"."""
    wear: DriveWear | None = None
    """Of an NVMe drive, for root."""
    states: list[DriveState] = []
    """Before the repetition, and after it."""


class StorageFacts(Model):
    """One target: its path, its file system, and the drives that its data is on."""

    path: PathFacts
    chain: list[str] = []
    """Block devices from the one that holds the data down to the drives: dm-0, md0, nvme0n1."""
    level: str = ""
    """Level of an md array among them: raid0, raid1, ..."""
    drives: list[DriveFacts] = []
    nfs: NfsFacts | None = None
    """How a mount of NFS reaches its server."""
    note: str = ""
    """Why there is no drive."""

    @property
    def interfaces(self) -> list[str]:
        """Network interfaces that lead to its data."""
        names = [*(self.nfs.ports if self.nfs else [])]
        return [*names, *(name for drive in self.drives for name in drive.interfaces)]


@dataclass(frozen=True)
class Access:
    """How a measurement goes to storage, as far as its limit depends on it."""

    read_share: float = 1.0
    """Share of its bytes that are read; 0: writes only."""
    random: bool = True
    """Offsets are not in sequence."""
    direct: bool = True
    """Past the page cache."""
    block_bytes: Count = 4096
    """Bytes of one operation."""
    counts_operations: bool = False
    """The figure is in operations a second, not in bytes a second."""
    through_host: bool = False
    """Between storage and a GPU, data is copied through the CPUs' memory."""
