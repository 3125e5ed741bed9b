"""Input and output: what holds the data, and what holds the buffers."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tierscope.model.base import Model
from tierscope.model.property import IN_BYTES, OPERATION, ORDER, PAGES, SKEW, MadeBy, Property
from tierscope.model.rules import Below, Differs, Given, Prunes, Rule, Ruled, Ruling, needs, refuses
from tierscope.model.spec import NodePlacement, Pages

LEAST_BLOCK, MOST_BLOCK = 512, 1 << 30
BlockBytes = Annotated[int, IN_BYTES, Field(ge=LEAST_BLOCK, le=MOST_BLOCK)]
"""Bytes of one operation."""
MOST_SIZES = 64
"""Most block sizes of a distribution."""
Way = Literal["p2p", "nvfs", "gpudirect", "odirect"]
"""A path of data that can be required; gpudirect is p2p or nvfs."""
FilePath = Annotated[str, Field(min_length=2, max_length=4095, pattern=r"^/[^\x00\n]*$")]
"""An absolute path."""
FileBytes = Annotated[int, Field(ge=4096, le=1 << 60)]

Backend = Literal[
    "posix",
    "sync",
    "pvsync",
    "pvsync2",
    "splice",
    "libaio",
    "posixaio",
    "io_uring",
    "mmap",
    "pmem",
    "null",
    "ftruncate",
    "fallocate",
    "fallocate-keep",
    "punch-hole",
    "cufile",
    "cufile-stream",
    "cufile-batch",
    "cufile-batch-stream",
    "staged",
    "staged-async",
    "staged-managed",
]
"""How operations are made; see docs/storage.md."""

CUFILE_BACKENDS: tuple[str, ...] = (
    "cufile",
    "cufile-stream",
    "cufile-batch",
    "cufile-batch-stream",
)
GPU_BACKENDS: tuple[str, ...] = (*CUFILE_BACKENDS, "staged", "staged-async", "staged-managed")
"""Backends whose data goes to a GPU or comes from it."""


SYNCHRONOUS: tuple[str, ...] = (
    "posix",
    "sync",
    "pvsync",
    "pvsync2",
    "splice",
    "mmap",
    "pmem",
    "null",
    "ftruncate",
    "fallocate",
    "fallocate-keep",
    "punch-hole",
    "cufile",
    "staged",
    "staged-managed",
)
"""Backends that carry an operation out while it is submitted."""
MAPPED: tuple[str, ...] = ("mmap", "pmem")
"""Backends that copy from and to files that are mapped."""
CHANGING_SPACE: tuple[str, ...] = ("ftruncate", "fallocate", "fallocate-keep", "punch-hole")
"""Backends that change which blocks a file has, so that what it held is gone."""
WITHOUT_DATA: tuple[str, ...] = ("null", *CHANGING_SPACE)
"""Backends that move no data, so that no drive limits or contradicts their figures."""
CufileSetting = Annotated[
    str, Field(max_length=4096, pattern=r"^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)+=[^\n]+$")
]
"""properties.io_batchsize=64."""
Synced = Annotated[int, Field(ge=0, le=1 << 30)]
_SYNC = Property(default_help="never", single=True, identity=False, essential=False)
_SWITCH = Property(switch=True, single=True, identity=False, essential=False)


class Buffers(Ruled):
    """Memory that blocks are read into and written from."""

    memory: Annotated[
        Literal["host", "device", "vmm", "pinned", "plain", "managed"],
        Property(
            "Memory of buffers: host, or on a GPU: device, vmm, pinned, plain, managed",
            default_help="host; of GPUs, device",
            essential=False,
        ),
    ] = "host"
    """host: placed by ``placement``; device: cuMemAlloc; vmm: cuMemCreate; pinned: cuMemHostAlloc;
    plain: malloc, beside a GPU; managed: cuMemAllocManaged."""
    placement: NodePlacement | None = None
    """Placement of host memory."""
    gpu: Annotated[int, Field(ge=0, le=1023)] | None = None
    """The GPU that takes part."""

    rules: ClassVar[tuple[Ruling, ...]] = (
        Prunes("placement", unless={"memory": "host"}),
        needs("placement", when={"memory": "host"}, because="host needs a placement"),
        needs("gpu", when={"memory": Differs("host")}, because="only host needs no gpu"),
    )

    @property
    def name(self) -> str:
        """The memory and where it is: "node:0", "gpu:1 device"."""
        if self.placement is not None:
            return "node:" + ",".join(str(share.node) for share in self.placement.nodes)
        return f"gpu:{self.gpu} {self.memory}"


class MadeFiles(Ruled):
    """Files that tierscope makes where they are missing."""

    count: Annotated[int, Field(ge=1, le=65536)] = 1
    """Files that are made below a directory."""
    keep: bool = False
    """Files that were made are kept when the engine ends, and reused."""
    large: bool = False
    """Files may take more than a tenth of the free space."""
    size: FileBytes | None = None
    """Bytes of each file that is made; of an existing file, the most bytes used."""

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
    """Bytes of each file."""

    @property
    def where(self) -> str:
        """The directory."""
        return self.directory


class CommonFile(Ruled):
    """One file below a directory that all hosts of a fleet use: each writes a region of its own,
    all of them read all of it. Alone, a host has such a file for itself."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{0,64}$")] = ""
    """Empty until the hosts are known."""
    parts: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """Number of hosts."""
    part: Annotated[int, Field(ge=0, le=999_999)] = 0
    """Index of this host, from 0."""
    wait_s: Annotated[float, Field(gt=0, le=1e6)] | None = None
    """Another host makes it, which may take so long; None: this one makes and removes it."""

    rules: ClassVar[tuple[Ruling, ...]] = (
        refuses(
            {"part": Given()}, unless={"part": Below("parts")}, because="has to be below parts"
        ),
        refuses({"wait_s": Given(), "name": ""}, because="goes with a name"),
    )


class PathFiles(MadeFiles):
    """A path as the engine finds it: an existing file, or files that tierscope makes below
    a directory."""

    path: FilePath
    create: bool = False
    """Makes the file where it is missing."""
    overwrite: bool = False
    """Whether another's file may be written."""
    common: CommonFile | None = None
    """Below a directory."""

    rules: ClassVar[tuple[Ruling, ...]] = (
        Rule(
            "common",
            {"common.parts": Differs(1)},
            "is one file of a given size",
            unless={"size": Given(), "count": 1},
        ),
    )

    @property
    def where(self) -> str:
        """Its path."""
        return self.path


class DeviceFiles(Model):
    """A block device."""

    device: FilePath
    size: FileBytes | None = None
    """Bytes of it that are used; all of it where absent."""
    destroy: Annotated[str, Field(max_length=256), MadeBy("destroy-data")] = ""
    """Its name below /dev/disk/by-id, or its serial number, which says that its data may go."""
    second_word: Annotated[str, Field(max_length=256)] = ""
    """Second confirmation for a device with unrecognised data."""
    purge: bool = False
    """A fresh repetition begins by discarding all of its data."""

    @property
    def where(self) -> str:
        """Its path."""
        return self.device

    @property
    def most_bytes(self) -> int:
        """Bytes that are filled at most."""
        return self.size or 0


Files = OwnedFiles | PathFiles | DeviceFiles


class BlockShare(Model):
    """One size of a distribution of block sizes."""

    bytes: BlockBytes
    weight: Annotated[int, Field(ge=1, le=1_000_000)]


Percent = Annotated[float, Field(ge=0, le=100)]


class ZoneShare(Model):
    """A share of the offsets, and of the operations that go there; both in percent."""

    accesses: Percent
    size: Percent


class SkewedOrder(Ruled):
    """Random offsets of which some come more often than others; zipf is an order of its own."""

    pareto: Annotated[float, Field(gt=0, lt=1)] | None = None
    """The power of a Pareto distribution, as fio counts it."""
    normal: Annotated[float, Field(gt=0, le=100)] | None = None
    """The standard deviation around the middle, in percent of all offsets."""
    zones: Annotated[list[ZoneShare], Field(min_length=1, max_length=256)] | None = None
    """In the order of offsets; the last one has what the others leave."""

    rules: ClassVar[tuple[Ruling, ...]] = (
        refuses({"pareto": Given(), "normal": Given()}, because="goes without another one"),
        refuses({"pareto": Given(), "zones": Given()}, because="goes without zones"),
        refuses({"normal": Given(), "zones": Given()}, because="goes without zones"),
        refuses(
            {"pareto": None, "normal": None, "zones": None}, because="or normal or zones is missing"
        ),
    )


class StridedZones(Model):
    """Parts of a file that are used, each of them behind one that is not."""

    bytes: Annotated[int, Field(ge=512, le=1 << 60)]
    """Moved in a zone before the next one begins."""
    range: Annotated[int, Field(ge=512, le=1 << 60)]
    """Bytes that a zone reaches over."""
    skip: Annotated[int, Field(ge=0, le=1 << 60)] = 0
    """Bytes behind a zone."""


class Think(Model):
    """A pause of each thread, once its operations in flight have ended."""

    every: Annotated[int, Field(ge=1, le=1 << 40)] = 1
    """Operations between two pauses."""
    pause_s: Annotated[float, Field(gt=0, le=1e6)]
    spin_s: Annotated[float, Field(ge=0, le=1e6)] = 0
    """Seconds of the pause in which the CPU is kept busy."""


class Duplicates(Model):
    """Written data of which a share occurs several times. It consists of units: the greatest common
    divisor of the sizes that are written."""

    percent: Annotated[int, Field(ge=1, le=100)]
    """Units that have been written before, or will be by another thread."""
    working_set: Annotated[int, Field(ge=1, le=1 << 40)] | None = None
    """Units that they are drawn from: the first of its stream; absent: each is the one before."""
    stream: Annotated[int, Field(ge=0, le=65535)] = 0
    """Of the thread's own units; threads of one stream write the same."""
    streams: Annotated[int, Field(ge=1, le=65536)] = 1
    """Streams that share the working set, from 0 on."""


class Priority(Model):
    """Priority of input and output, as of ioprio_set(2)."""

    io_class: Literal["none", "realtime", "best-effort", "idle"]
    level: Annotated[int, Field(ge=0, le=7)] = 0
    """0 is the highest."""


class CommandPriority(Priority):
    """Priority of single operations."""

    of: Literal["reads", "writes"]
    bytes: BlockBytes | None = None
    """Of operations of this size only."""
    percent: Annotated[int, Field(ge=1, le=100)]
    """Share of these operations; of several rows for the same ones, the first ones count first."""


class DepthSearch(Model):
    """The largest depth at which enough operations are fast enough; the job ends with it."""

    target_s: Annotated[float, Field(gt=0, le=1e6)]
    percent: Annotated[float, Field(gt=0, le=100)] = 100
    """Operations of a window that have to be as fast."""
    window_s: Annotated[float, Field(gt=0, le=1e6)]


class IoPattern(Ruled):
    """Operations of each thread."""

    operation: Annotated[Literal["read", "write", "mix"], OPERATION] = "read"
    read_percent: Annotated[
        Annotated[int, Field(ge=1, le=99)] | None,
        Property(
            "Reads among the operations of mix, 1 to 99",
            default="70",
            words="{}% reads",
            id="{}",
            essential=False,
        ),
    ] = None
    order: Annotated[Literal["sequential", "random", "zipf"], ORDER] = "sequential"
    zipf: Annotated[Annotated[float, Field(gt=0, le=10)] | None, SKEW.but(flag="zipf-alpha")] = None
    """Exponent of order zipf."""
    distribution: SkewedOrder | None = None
    """Of order random; absent: each offset comes once before any comes again."""
    run: Annotated[int, Field(ge=1, le=1 << 30)] = 1
    """Operations from each random offset on."""
    same: bool = False
    """All operations of a run are at its offset."""
    random_percent: Annotated[int, Field(ge=1, le=100)] = 100
    """Operations of a random order that have a random offset; the others go on in sequence."""
    stride: Annotated[int, Field(ge=-(1 << 60), le=1 << 60)] = 0
    """Bytes left out between two operations of order sequential; below 0: backwards."""
    strided: StridedZones | None = None
    by_turns: bool = False
    """Each operation is on the next file."""
    block_size: Annotated[
        BlockBytes,
        Property(
            "Bytes of one operation, as in 4k..16m*4",
            label="block",
            default="1m",
            words="{} blocks",
            id="{}",
        ),
    ]
    """Bytes of one operation; their mean, rounded down, where ``blocks`` says which there are."""
    blocks: Annotated[list[BlockShare], Field(min_length=2, max_length=MOST_SIZES)] | None = None
    write_blocks: Annotated[list[BlockShare], Field(min_length=1, max_length=MOST_SIZES)] | None = (
        None
    )
    """Sizes of the writes of a mix, where they differ from those of its reads."""
    align: Annotated[
        BlockBytes | None,
        Property(
            "Offsets are multiples of it",
            default_help="the block size",
            single=True,
            essential=False,
        ),
    ] = None
    misalign: Annotated[
        int,
        IN_BYTES,
        Field(ge=0, lt=1 << 20),
        Property("Bytes added to every offset", single=True, identity=False, essential=False),
    ] = 0
    offset: Annotated[
        int,
        IN_BYTES,
        Field(ge=0, le=1 << 60),
        Property(
            "Offset of the used part of each file", single=True, identity=False, essential=False
        ),
    ] = 0
    range: Annotated[
        Annotated[int, IN_BYTES, Field(ge=512, le=1 << 60)] | None,
        Property(
            "Used bytes of each file", default_help="up to its end", single=True, essential=False
        ),
    ] = None
    backend: Annotated[
        Backend,
        Property(
            default_help="io_uring; of GPUs, cufile", words="{}", id_always=True, essential=False
        ),
    ] = "posix"
    direct: Annotated[
        bool,
        Property(
            "yes: past the page cache (O_DIRECT); no: through it",
            words="direct|through the page cache",
            id="buffered",
        ),
    ] = True
    cache: Annotated[
        Literal["as-found", "warm", "cold"] | None,
        Property(
            "Page cache as a repetition begins: warm (what memory has room for), cold (of files "
            "that tierscope made), as-found",
            default_help="cold where direct, else warm",
            essential=False,
        ),
    ] = None
    depth: Annotated[
        int,
        Field(ge=1, le=4096),
        Property("Operations of each thread in flight, as in 1..256*2", id="d{}", id_always=True),
    ] = 1
    batch: Annotated[
        Annotated[int, Field(ge=1, le=4096)] | None,
        Property(
            "Maximum operations per submission",
            default_help="as many as are free",
            single=True,
            essential=False,
        ),
    ] = None
    registered: Annotated[
        bool,
        Property(
            "yes: buffers and files are registered beforehand",
            id="registered",
            identity=False,
            essential=False,
        ),
    ] = False
    """Buffers and files are registered beforehand (io_uring, cuFile)."""
    pages: Annotated[
        Pages,
        PAGES.but(
            help="Pages of buffers in host memory: base, thp, 2m, 512m, 1g",
            default_help="base",
            id_always=False,
            identity=False,
            essential=False,
        ),
    ] = "base"
    """Of a large direct operation, the kernel makes as many segments as its buffer has pages apart
    in physical memory, and a request for each so many segments (max_segments of the queue)."""
    register_only: Literal["buffers", "files"] | None = None
    """Only these of the two."""
    sqpoll: Annotated[bool, _SWITCH.but(help="io_uring: a kernel thread takes submissions")] = False
    iopoll: Annotated[
        bool, _SWITCH.but(help="io_uring: poll for completions, without interrupts")
    ] = False
    non_temporal: Annotated[
        bool, _SWITCH.but(help="pmem: stores bypass the caches; else each line is written back")
    ] = False
    drain: Annotated[
        bool, _SWITCH.but(help="pmem: each write waits until its stores have left the CPU")
    ] = False
    fsync: Annotated[Synced, _SYNC.but(help="fsync every N writes per thread")] = 0
    """fsync every N writes of a thread; 0: never."""
    fdatasync: Annotated[Synced, _SYNC.but(help="fdatasync every N writes per thread")] = 0
    end_fsync: Annotated[
        bool, _SWITCH.but(help="With --amount: fsync at the end, inside the figure")
    ] = False
    refill: Annotated[bool, _SWITCH.but(help="New data for each write")] = False
    compressible: Annotated[
        int,
        Field(ge=0, le=100),
        Property(
            "Percent of each block that compresses away",
            single=True,
            identity=False,
            essential=False,
        ),
    ] = 0
    duplicates: Duplicates | None = None
    """Blocks then prove who wrote them, but not where they belong."""
    fill: Annotated[str, Field(pattern=r"^([0-9a-f]{2}){1,512}$")] | None = None
    """Bytes, as hexadecimal digits, that written data repeats between its headers; absent: it is
    random."""
    write_rate: Annotated[float, Field(gt=0, le=1e12)] | None = None
    """Of ``rate``, the writes a second of a mix, whose reads and writes are then timed apart."""
    rate: Annotated[
        Annotated[float, Field(gt=0, le=1e12)] | None,
        Property(
            "Operations a second of all threads, as in 1000,5000 (open loop)",
            id="r{}",
            essential=False,
        ),
    ] = None
    """Operations a second of all threads (open loop): latencies count from the time at which an
    operation was due. Absent: a closed loop, as fast as it goes."""
    arrivals: Annotated[
        Literal["regular", "poisson"] | None,
        Property(
            "Arrival process for --rate: regular or poisson", default="poisson", essential=False
        ),
    ] = None
    amount: Annotated[
        Annotated[int, IN_BYTES, Field(ge=512, le=1 << 60)] | None,
        Property(
            "Bytes each thread moves, instead of a time; reports first and last finisher",
            single=True,
            essential=False,
        ),
    ] = None
    """A repetition is then one sample."""
    time_limit_s: Annotated[float, Field(gt=0, le=1e6)] | None = None
    """Seconds after which a repetition of an amount ends, whatever is left of it; of jobs with
    ``own_ends``, after which the job ends."""
    delay_s: Annotated[float, Field(ge=0, le=1e6)] = 0
    """Seconds before the first operation."""
    think: Think | None = None
    search: DepthSearch | None = None
    priority: Priority | None = None
    """Of the threads; absent: the one that they have."""
    command_priorities: (
        Annotated[list[CommandPriority], Field(min_length=1, max_length=256)] | None
    ) = None
    """Single operations whose priority is another one."""
    ramp_s: Annotated[float, Field(ge=0, le=1e6)] | None = None
    """Seconds of operations before the first sample; all samples are of one repetition then."""
    seed: Annotated[
        int,
        Field(ge=0, lt=1 << 63),
        Property("Of random offsets and data", single=True, identity=False, essential=False),
    ] = 1
    verify: Annotated[
        bool, _SWITCH.but(help="Verify each block read; read back every block written")
    ] = False
    require: Annotated[
        Way | None,
        Property(
            "Fail unless all data took this way: p2p, nvfs, gpudirect, odirect",
            single=True,
            metavar="WAY",
            essential=False,
        ),
    ] = None
    cufile: Annotated[
        CufileSetting | None,
        Property(
            "Values of a key of cufile.json, each measured beside the unchanged file: "
            "io_batchsize=32,128, max_io_threads=1..16*2",
            label="cufile.json",
            metavar="KEY=VALUES",
            essential=False,
        ),
    ] = None
    """A key with its sections, and its value as JSON; absent: cufile.json unchanged."""

    rules: ClassVar[tuple[Ruling, ...]] = (
        Prunes("read_percent", unless={"operation": "mix"}),
        needs("read_percent", when={"operation": "mix"}, because="mix needs a read_percent"),
        Prunes("zipf", unless={"order": "zipf"}),
        needs("zipf", when={"order": "zipf"}, because="zipf needs an exponent"),
        Prunes("arrivals", unless={"rate": Given()}),
        needs("arrivals", when={"rate": Given()}, because="needs arrivals"),
        Prunes("distribution", unless={"order": "random"}),
        refuses({"run": Differs(1), "order": "sequential"}, because="goes with random offsets"),
        refuses(
            {"random_percent": Differs(100), "order": "sequential"},
            because="goes with random offsets",
        ),
        refuses({"stride": Differs(0), "order": Differs("sequential")}, because="goes in sequence"),
        refuses({"stride": Differs(0), "strided": Given()}, because="goes without zones"),
        refuses({"by_turns": True, "strided": Given()}, because="goes without zones"),
        Prunes("write_blocks", unless={"operation": "mix"}),
        Prunes("write_rate", unless={"operation": "mix"}),
        refuses(
            {"write_rate": Given()},
            unless={"write_rate": Below("rate")},
            because="is a part of rate",
        ),
        refuses({"register_only": Given(), "registered": False}, because="goes with registered"),
        refuses(
            {"command_priorities": Given()},
            unless={"backend": ("libaio", "io_uring")},
            because="goes with backends libaio and io_uring",
        ),
        refuses({"duplicates": Given(), "operation": "read"}, because="goes with writes"),
        refuses(
            {"duplicates": Given(), "verify": True},
            because="goes without verify: equal blocks do not say where they belong",
        ),
        refuses({"duplicates": Given(), "fill": Given()}, because="goes without fill"),
        refuses(
            {"duplicates": Given(), "backend": (*GPU_BACKENDS, *MAPPED)},
            because="goes with system calls that write host memory",
        ),
        refuses({"iopoll": True, "direct": False}, because="needs direct I/O"),
        Prunes("sqpoll", unless={"backend": "io_uring"}),
        Prunes("iopoll", unless={"backend": "io_uring"}),
        Prunes("non_temporal", unless={"backend": "pmem", "operation": ("write", "mix")}),
        Prunes("drain", unless={"backend": "pmem", "operation": ("write", "mix")}),
        refuses(
            {"depth": Differs(1), "backend": SYNCHRONOUS},
            because="is 1: this backend has one operation a thread in flight",
        ),
        refuses(
            {"direct": True, "backend": MAPPED},
            because="does not go with backends mmap and pmem, which go through the page cache, or "
            "DAX",
        ),
        refuses(
            {"backend": CHANGING_SPACE, "operation": Differs("write")},
            because="changes which blocks a file has, and goes with operation write",
        ),
        refuses({"backend": CHANGING_SPACE, "verify": True}, because="writes no data to verify"),
        Prunes("cufile", unless={"backend": CUFILE_BACKENDS}),
        refuses({"end_fsync": True, "amount": None}, because="goes with amount"),
        refuses({"ramp_s": Differs(0), "amount": Given()}, because="goes with no amount"),
        refuses({"fsync": Differs(0), "operation": "read"}, because="goes with writes"),
        refuses({"fdatasync": Differs(0), "operation": "read"}, because="goes with writes"),
        refuses({"end_fsync": True, "operation": "read"}, because="goes with writes"),
        refuses(
            {"require": ("p2p", "nvfs", "gpudirect")},
            unless={"backend": GPU_BACKENDS},
            because="is a way to a GPU",
        ),
        Rule(
            "require",
            {"require": "odirect", "direct": False},
            "odirect needs direct I/O",
            unless={"backend": GPU_BACKENDS},
        ),
    )

    @property
    def sizes(self) -> list[int]:
        """Every block size that occurs."""
        own = [one.bytes for one in self.blocks] if self.blocks else [self.block_size]
        return [*own, *(one.bytes for one in self.write_blocks or ())]
