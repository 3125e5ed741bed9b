"""Parts of evidence, by what they are observed of."""

from typing import Literal

from tierscope.model.base import Amount, Count, Model


class LackingCounters(Model):
    """Counters of one kind that cannot be read."""

    what: str
    reason: str
    remedy: str = ""
    """Remedy; empty: none."""


class Kills(Model):
    """Programs that were killed while they saved checkpoints (SIGKILL), one after the other. Each
    was started from the last good checkpoint, all of which was verified."""

    kills: int
    while_saving: int
    """Kills that came before the checkpoint that was being written was known to be durable,"""
    went_on: int
    """and of these, those after which it was the last good one all the same."""


class CheckpointEvidence(Model):
    """Checkpoints of a repetition, and how durable they are."""

    medium: Literal["file", "mapped", "pool", "memory"]
    """mapped: a mapped file, with the evidence ``persistent``; pool: of libpmemobj; memory: shared
    memory of a node, which outlives the program and nothing else."""
    durable_by: str
    """The step after which a checkpoint counts as durable."""
    survives_power_loss: Literal["yes", "no", "unknown"] | None = None
    """Whether a pool's last good checkpoint would have survived."""
    why: str | None = None
    """In one sentence."""
    restarts: int
    """In each of them all of the state was read back and verified."""
    cached_bytes: int | None = None
    """The most bytes of a file that the page cache held before a restart, after it was asked to
    drop the file's pages; 0: all was read from the drive."""
    pages: dict[str, int] | None = None
    """Pages of memory by node, as read back."""
    set_up_s: float
    """Seconds of making the state and the target; inside no figure."""
    ways: dict[str, int] | None = None
    """Operations by the way that they took between storage and a GPU."""
    kills: Kills | None = None


EnergySource = Literal["RAPL", "NVML", "hwmon"]


class EnergyDomain(Model):
    """A counter of energy or a sensor of power."""

    name: str
    """``package 0``, ``package 0 dram``, ``gpu 0``, or a sensor's own name."""
    source: EnergySource
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

    gpu: int
    name: str
    address: str | None = None
    """PCI address of the GPU that CUDA used, as CUDA writes it."""
    samples: int
    """Looks at it; 0 where NVML is missing."""
    sm_clock_hz: list[float] | None = None
    memory_clock_hz: list[float] | None = None
    power_w: list[float] | None = None
    temperature_c: list[float] | None = None
    pcie_generation: list[float] | None = None
    pcie_width: list[float] | None = None
    pcie_replays: int | None = None
    """Packets that the PCIe link had to send again meanwhile."""
    throttle: list[str] | None = None
    """Reasons seen that kept its clocks down; empty: none."""


class TraceRow(Model):
    """All records of one name in a trace; of copies and memsets, those of one size."""

    group: Literal["call", "operation", "kernel"]
    """call: of the CUDA runtime, on the host; operation: a copy or memset; kernel."""
    name: str
    count: int
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
    unaligned: int | None = None
    """Operations that did not begin and end at a page; batches are not counted. None where this
    version counts nothing."""


class GpuTraffic(Model):
    """PCIe traffic of a GPU while samples were taken, of all processes."""

    address: str
    """On the PCI bus, as NVML writes it."""
    received: Amount
    """Bytes/s to the GPU,"""
    sent: Amount
    """and from it."""
    method: Literal["GPM", "samples"]
    """GPM: the mean over all of the time; samples: the mean of NVML's samples of 20 ms."""


class HandoverEvidence(Model):
    """Lines that one CPU left in its caches and another one loaded, over all samples."""

    lines: int
    """Lines of each round."""
    rounds: int
    exchanges: int | None = None
    """Round trips of one line that both updated in turn, where they did."""


class MessageEvidence(Model):
    """Messages of all ranks, and the library and ports that carried them."""

    mpi: str
    """The MPI library, as it calls itself."""
    count: Count
    """Messages of all pairs, in all samples."""
    bytes: Count
    """Bytes of their contents."""
    wire_bytes: Count | None = None
    """Bytes that network ports of all hosts of the measurement sent meanwhile, for everybody; less
    than ``bytes`` where messages took another way, such as shared memory. None where no port can
    be read."""


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
    errors: Count = 0
    """Packets received or sent in error, or dropped."""


class PersistEvidence(Model):
    """How blocks were written, and what had them persist."""

    operation: str
    """The stores and what followed them: "16-byte stores, clwb of each line, sfence"."""
    cpu_has: list[str]
    """Instructions that write cache lines back, as the CPU names them."""
    durable: Literal["not-asked", "volatile-memory", "yes", "no", "unknown"]
    """Whether what an operation wrote survives a loss of power once it has ended. not-asked: of
    stores alone; volatile-memory: the memory forgets its contents; else as the target's evidence
    says."""


class ProgramRun(Model):
    """The result of one run of a program."""

    values: dict[str, Amount]
    """By the name of the figure, in its metric's unit: ``run_time``, or as the user named it."""
    bytes_by_node: dict[str, Count] | None = None
    """Bytes of the program and its children, when most was seen in use, under tiering when about as
    much was last seen; None where it ended before anything was seen."""
    mechanism: Literal["kernel", "user"] | None = None
    """Executor of its placement's policy: the kernel, or the preloaded library in user
    space; None without a policy."""
    weights: list[Count] | None = None
    """Weights that applied, of ``weighted``, in the order of the placement's nodes."""
    migrated_bytes: Count | None = None
    """Bytes that the kernel moved between nodes of the whole machine; None without tiering."""
    output: str | None = None
    """File of its output, without ``.out`` and ``.err``."""


class ProgramEvidence(Model):
    """All runs of a program."""

    runs: list[ProgramRun]
    """In the order of the rounds, so that runs of the same place belong to the same round."""
