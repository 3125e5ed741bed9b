"""Parts of evidence, by what they are observed of."""

from typing import Literal

from typing_extensions import Self

from tierscope.model.base import Amount, Count, Model, Word

EnergySource = Literal["RAPL", "NVML", "hwmon"]


class OwnEvidence(Model):
    """What only one kind observes, declared beside its spec. Its keys stand among those of
    ``Evidence``."""

    def followed_by(self, after: Self) -> Self:
        """Return this and the evidence of a later repetition as one: of each key the latest."""
        return self.model_copy(update={key: value for key, value in after if value is not None})


class LackingCounters(Model):
    """Counters of one kind that cannot be read."""

    what: str
    reason: str
    remedy: str = ""
    """Remedy; empty: none."""


class EnergyDomain(Model):
    """A counter of energy or a sensor of power."""

    name: str
    """``package 0``, ``package 0 dram``, ``gpu 0``, or a sensor's own name."""
    source: Word[EnergySource]
    joules: Amount
    """In all windows of the measurement."""
    idle_w: Amount | None = None
    """Watts while the machine was idle, before the run's first repetition; None where nobody
    looked."""
    summed: bool
    """It counts in the measurement's figures. What lies inside another domain does not, nor does a
    GPU that took no part."""


class EnergyEvidence(Model):
    """Energy in the windows of a measurement: from the begin of the headline's first row of each
    repetition to the end of its last one. Added by tierscope, never by the engine."""

    seconds: Amount
    """Length of all windows."""
    idle_s: Amount
    """How long the machine was idle while ``idle_w`` was measured."""
    readings: Count
    """Readings of the counters in all windows."""
    domains: list[EnergyDomain]
    lacking: list[LackingCounters] | None = None
    """Counters that cannot be read here."""


class GpuState(Model):
    """Clocks, power and link of a GPU during a measurement; [lowest, highest]."""

    gpu: Count
    name: str
    address: str | None = None
    """PCI address of the GPU that CUDA used, as CUDA writes it."""
    samples: Count
    """Looks at it; 0 where NVML is missing."""
    sm_clock_hz: list[float] | None = None
    memory_clock_hz: list[float] | None = None
    power_w: list[float] | None = None
    temperature_c: list[float] | None = None
    pcie_generation: list[float] | None = None
    pcie_width: list[float] | None = None
    pcie_replays: Count | None = None
    """Packets that the PCIe link had to send again meanwhile."""
    throttle: list[str] | None = None
    """Reasons seen that kept its clocks down; empty: none."""


class Mode(Model):
    """A value that a part of a figure's samples is about."""

    share: float
    """Of the samples, 0..1."""
    value: float
    """The median of these, in the unit of the figure."""


class TraceRow(Model):
    """All records of one name in a trace; of copies and memsets, those of one size."""

    group: Word[Literal["call", "operation", "kernel"]]
    """call: of the CUDA driver, on the host; operation: a copy or memset; kernel."""
    name: str
    count: Count
    bytes: float
    total_ns: float
    mean_ns: float
    median_ns: float
    min_ns: float
    max_ns: float
    stddev_ns: float
    each_bytes: float | None = None
    """Bytes of each copy or memset; None of calls and kernels."""


class CopiesOverlap(Model):
    """Whether copies of a trace were under way at the same time, by when each began and ended."""

    copies: Count
    busy_ns: Amount
    """In which at least one was under way,"""
    overlapped_ns: Amount
    """and in which two or more were."""
    most: Count
    """At once."""


class CufileState(Model):
    """How NVIDIA's cuFile was used."""

    version: str
    """Version of libcufile: "1.15"."""
    allow_compat_mode: bool
    """Whether operations may go through host memory where no direct way is open."""
    set_by: str
    """Source of the setting: "tierscope", or a variable of the environment."""
    log: str
    """cuFile's own log file."""
    driver_open_s: float
    """Seconds that cuFileDriverOpen took, once for the engine; inside no figure."""
    register_s: float
    """Seconds of registering files and buffers; inside no figure."""
    unaligned: Count | None = None
    """Operations that did not begin and end at a page; batches are not counted. None where this
    version counts nothing."""
    proof: Word[Literal["libcufile", "nvidia-fs"]] | None = None
    """What proves the way of the operations. libcufile: it counted each. nvidia-fs: compatibility
    mode was off, and nvidia-fs counted as many operations and bytes. None: not proven."""


class GpuTraffic(Model):
    """PCIe traffic of a GPU while samples were taken, of all processes."""

    address: str
    """On the PCI bus, as NVML writes it."""
    received: Amount
    """Bytes/s to the GPU,"""
    sent: Amount
    """and from it."""
    method: Word[Literal["GPM", "samples"]]
    """GPM: the mean over all of the time; samples: the mean of NVML's samples of 20 ms."""


class NfsFacts(Model):
    """A mount of NFS: how it reaches its server."""

    server: str
    """Address, as the mount's option ``addr`` has it: mounts of one server may share one."""
    version: str = ""
    """3, 4.1, 4.2, ..."""
    transport: str = ""
    """tcp, rdma, ..."""
    connections: Count = 1
    """As asked for by ``nconnect``."""
    rsize: Count | None = None
    """Most bytes of one READ."""
    wsize: Count | None = None
    """Most bytes of one WRITE."""
    interface: str = ""
    """By which the server is reached; ``lo``: the server is this machine."""
    ports: list[str] = []
    """Interfaces that carry its packets; several of a bond."""
    mtu: Count | None = None
    """MTU of that interface, bytes."""


class NfsCounts(Model):
    """Requests of one mount to its server, of all processes (/proc/self/mountstats)."""

    name: str
    """Directory that it is mounted on."""
    reads: Count = 0
    """READ operations."""
    read_bytes: Count = 0
    """Received by them, headers included."""
    read_rtt_ms: Count = 0
    """Time from the sending of READs to their replies, all together."""
    read_ms: Count = 0
    """The same from when they were made, with the wait for a slot."""
    writes: Count = 0
    write_bytes: Count = 0
    write_rtt_ms: Count = 0
    write_ms: Count = 0
    operations: Count = 0
    """Operations of all kinds."""
    retransmissions: Count = 0
    """Requests that were sent again."""
    timeouts: Count = 0
    """Major timeouts: no reply after all retries."""
    errors: Count = 0
    """READ, WRITE and COMMIT that ended with an error; 0 where the kernel does not count them."""


class PortCounts(Model):
    """Traffic of one network port, of all processes."""

    name: str
    """eth0, or an RDMA device and port: mlx5_0/1."""
    received_bytes: Count = 0
    """4 times ``port_rcv_data`` of InfiniBand, which counts words."""
    sent_bytes: Count = 0
    received_packets: Count = 0
    sent_packets: Count = 0
    errors: Count = 0
    """Packets received or sent in error, or dropped."""


class AllocationSite(Model):
    """A function of a program that allocates."""

    name: str
    """OBJECT:FUNCTION, as the allocator's rules name it."""
    bytes: Count
    """All that it allocated, freed ones included."""


class ProgramRun(Model):
    """The result of one run of a program."""

    values: dict[str, Amount]
    """By the name of the figure, in its metric's unit: ``run_time``, or as the user named it."""
    bytes_by_node: dict[str, Count] | None = None
    """Bytes of the program and its children, when most was seen in use, under tiering when about as
    much was last seen; None where it ended before anything was seen."""
    mechanism: Word[Literal["kernel", "user"]] | None = None
    """Executor of its placement's policy: the kernel, or the preloaded library in user
    space; None without a policy."""
    weights: list[Count] | None = None
    """Weights that applied, of ``weighted``, in the order of the placement's nodes."""
    migrated_bytes: Count | None = None
    """Bytes that the kernel moved between nodes of the whole machine while the program ran; under
    DAMON's rules all that it migrated, in compaction, too. None without tiering, of a command that
    is no application."""
    sites: list[AllocationSite] | None = None
    """The functions that allocate most, the largest first; None where they were not counted."""
    facts: dict[str, Amount] | None = None
    """Numbers that it prints in lines ``NAME: NUMBER UNIT``, times in seconds, of which its figures
    are predicted; None of programs that nothing predicts."""
    room_bytes: Count | None = None
    """Bytes that were free for it on the node that its placement makes smaller; None: none does."""
    bandwidth: dict[str, Amount] | None = None
    """Bytes/s of the machine's memory meanwhile, by socket or CXL device and direction, as counters
    in hardware have it; None where none can be read."""
    others_cpus: Amount | None = None
    """CPUs that other programs used meanwhile, on average."""
    other: str | None = None
    """The program that used most of these."""
    output: str | None = None
    """File of its output, without ``.out`` and ``.err``."""


class ProgramEvidence(Model):
    """All runs of a program."""

    runs: list[ProgramRun]
    """In the order of the rounds, so that runs of the same place belong to the same round."""
