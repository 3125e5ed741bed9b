"""Events of the engine: repetitions with their samples and evidence, and what went wrong."""

from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from tierscope.model.base import RECORDED, Count, Model, Word, is_recorded
from tierscope.model.cause import Cause
from tierscope.model.evidence import (
    CopiesOverlap,
    CufileState,
    EnergyEvidence,
    GpuTraffic,
    LackingCounters,
    Mode,
    NfsCounts,
    OwnEvidence,
    PortCounts,
    ProgramEvidence,
    TraceRow,
)
from tierscope.model.evidence import GpuState as GpuState
from tierscope.model.histogram import Histogram
from tierscope.model.metric import DISTRIBUTIONS, METRICS
from tierscope.model.persistent import PersistentEvidence
from tierscope.model.spec import Id
from tierscope.model.storage import BlockCounts, IoThreads, SteadyIo, StorageFacts, TargetIo

Own = TypeVar("Own", bound=OwnEvidence)
_Value = Annotated[float, Field(ge=0, le=1e30)]
"""The upper bound is above any figure there is, so that ratios of figures stay finite."""
Share = Annotated[float, Field(ge=0, le=1)]
_ON_DEVICE = 0.5
"""Share of the bytes asked for below which the drives' counters contradict a figure."""
_MISSING = 0.95
"""The same below which drives moved less than was asked."""
DISTURBED_SHARE = 0.01
"""Share of a sample that others took from a thread, above which the sample is disturbed. A context
switch alone stays below it: the kernel's own work takes microseconds."""


class Exchange(Model):
    """A message from one engine to all that make a measurement together; it waits for theirs."""

    event: Literal["exchange"] = "exchange"
    id: Id
    said: dict[str, Any]


class CountedTraffic(Model):
    """The whole machine's memory traffic by a hardware counter, from the first sample to
    the last, beside what the measurement's own threads moved meanwhile."""

    source: str
    """Counters: "uncore_imc: cas_count_read, cas_count_write"."""
    bytes: float
    program_bytes: float
    """Bytes that the program asked to move."""
    bus_bytes: float | None = None
    """Those with a write-allocate read before each ordinary store; None where nobody knows which
    stores were ordinary."""


class IoEvidence(Model):
    """Input and output of all samples of the repetitions."""

    files: list[str]
    """Files that were read or written, or the directory of them."""
    reads: Count
    writes: Count
    bytes_read: Count
    bytes_written: Count
    set_up_s: float
    """Seconds of opening, filling, registering; inside no figure."""
    first_finisher_s: float | None = None
    """Seconds until the first thread had moved a given amount."""
    last_finisher_s: float | None = None
    """Seconds until the last thread had."""
    threads: IoThreads | None = None
    steady: SteadyIo | None = None
    cached_before: float | None = None
    """Share of what is used of the files, 0..1, that was in the page cache before the
    repetition."""
    cached_bytes: Count | None = None
    """The most bytes that the page cache held before they were read, after it was asked to drop
    them; 0: all was read from the drive."""
    cached_after: float | None = None
    used_bytes: Count | None = None
    """Bytes of the files that are gone over."""
    purged_bytes: Count | None = None
    """Bytes of a device that were discarded before its first repetition."""
    unwritten_bytes: Count | None = None
    """Bytes of the files that are holes or unwritten extents, which no drive has to read."""
    mapping: Word[Literal["dax", "page-cache"]] | None = None
    """Of files that were mapped: dax, if the kernel lists mappings of all of them as MAP_SYNC."""
    targets: list[TargetIo] | None = None
    """Each job, where several ran together."""
    ways: dict[str, Count] | None = None
    """Operations by the way that they took between storage and a GPU."""


COUNTED_BYTES = (
    "device_bytes_read", "device_bytes_written", "process_bytes_read", "process_bytes_written",
)  # fmt: skip
"""Evidence of what drives moved, by the kernel's counters: sums over repetitions."""


class DriveBytes(NamedTuple):
    """What drives moved for a measurement."""

    moved: Count
    counter: str
    """The one that says so."""
    everybody: Count
    """What the same drives moved for all programs, on all copies of mirrors."""
    asked: Count
    """What this measurement asked for."""

    @property
    def contradicts(self) -> bool:
        """Whether it is less than half of what was asked."""
        return self.moved < _ON_DEVICE * self.asked

    @property
    def missing(self) -> bool:
        """Whether it is less than was asked, by more than counters can be off."""
        return self.moved < _MISSING * self.asked


class Evidence(Model):
    """Observations that prove what was measured; a field that does not apply is absent.

    What only one kind observes has keys beside these (``OwnEvidence``), which ``own`` reads.
    """

    __pydantic_extra__: dict[str, Any]

    pages: dict[str, Count] | None = None
    """Pages by node as read back from the kernel after populating: {"0": 262144}."""
    arrays: dict[str, dict[str, int]] | None = None
    """The same of each array, region or part that has its own place: {"a": {"0": 131072}, ...}."""
    page_bytes: Count | None = None
    """Size of the pages that ``pages`` counts."""
    huge_bytes: Count | None = None
    """Bytes that the kernel backs with transparent huge pages."""
    region_bytes: Count | None = None
    """Bytes of all arrays together."""
    persistent: PersistentEvidence | None = None
    """Memory in a file or a device."""
    traffic: dict[str, float] | None = None
    """Bytes that the threads moved by node, of pages on several nodes: from where the pages are
    and what each thread walked of them: {"0": 2.1e11, "2": 1.05e10}."""
    cpus: list[Count] | None = None
    """CPU that each thread was seen on at the end of the last sample."""
    cpus_seen: list[list[int]] | None = None
    """CPUs that each thread was seen on at the ends of samples, where threads may run on several
    CPUs or share one; a thread that no sample began with is nowhere."""
    isa: str | None = None
    """Instruction set that ran; None of what the C library chose."""
    library: str | None = None
    """C library whose function ran, and its version: "glibc 2.36"."""
    verified: str | None = None
    """The comparison that was made after the clock stopped, and that it agreed."""
    walked_bytes: Count | None = None
    """Distinct bytes of the region that the samples went over; in random order at least these."""
    address_ns: float | None = None
    """Time of the same loop without its accesses, per access and thread, in any order but
    sequential; inside the figure."""
    threads: list[float] | None = None
    """Each thread's own median bandwidth in bytes/s."""
    sample_ns: float | None = None
    """How long one sample lasted (median)."""
    clock: str | None = None
    """Clock used, its resolution and whether the TSC is invariant."""
    timer_ns: float | None = None
    """Time of reading the timer around a single load; inside the percentiles."""
    settled: bool | None = None
    """The warm-up came to an end, and the halves of the samples agree within 3%."""
    disturbed: Count | None = None
    """Samples kept although others took over 1% of a measuring thread's time, or the hypervisor
    stole some."""
    replaced: Count | None = None
    """Such samples that were left out, for others remained."""
    cpu_share: float | None = None
    """Share of the kept samples' time, on average, that the thread that lost most had a CPU."""
    by_cpu_time: bool | None = None
    """Times and rates are by that CPU time; None: by the clock."""
    modes: list[Mode] | None = None
    """The figure's two modes, the faster one first; None where its samples are about one value."""
    steal_share: float | None = None
    """Share of the measuring time that the hypervisor gave to others (/proc/stat steal)."""
    prefetchers: str | None = None
    """Hardware prefetchers of the CPUs that measured, as read after the repetition: "on", "off: "
    and which ones, or "unknown: " and why; added by tierscope, never by the engine."""
    counters: list[CountedTraffic] | None = None
    """Cross-checks of bandwidth; absent where no counter can be read."""
    device_bytes_read: Count | None = None
    """Bytes that the drives below the target read meanwhile for everybody, as the kernel counts
    them (/sys/block/*/stat); absent where a part of the target is on no drive that counts."""
    device_bytes_written: Count | None = None
    """The same of writes; of a mirror, those of all copies."""
    process_bytes_read: Count | None = None
    """Bytes that the engine alone had drives read meanwhile, on any device, as the kernel counts
    them (/proc/self/io); absent where it counts nothing for each process."""
    process_bytes_written: Count | None = None
    """The same of writes; of those through the page cache, pages that were changed there."""
    devices: list[BlockCounts] | None = None
    """Arrays and drives below the targets, as the kernel counted them while samples were taken."""
    nfs: list[NfsCounts] | None = None
    """Mounts of NFS, during the repetitions with their set-up; added by tierscope, as ports are."""
    ports: list[PortCounts] | None = None
    """Network ports that lead to their servers, or of hosts of messages, set-up included."""
    nvidia_fs_errors: dict[str, Count] | None = None
    """Errors that nvidia-fs counted meanwhile, by its own names; only those that there were."""
    storage_io: IoEvidence | None = None
    """Storage."""
    program: ProgramEvidence | None = None
    """Programs under a placement."""
    storage: list[StorageFacts] | None = None
    """The files and devices that it went to, as they were before the repetition, with the drives'
    state after it too; added by tierscope, never by the engine."""
    grid_blocks: Count | None = None
    """Blocks of a GPU kernel's grid, the fastest of those that were tried."""
    in_turn: bool | None = None
    """True: the GPUs served transfers queued at once one after the other. The total is until all
    bytes were moved, and each transfer's rate its share of that."""
    gpus: list[GpuState] | None = None
    """Every GPU that took part."""
    cufile: CufileState | None = None
    """I/O by cuFile."""
    pcie: list[GpuTraffic] | None = None
    """Every GPU of the machine, in measurements of storage and GPUs: one that serves as a bounce
    buffer shows here."""
    trace: list[TraceRow] | None = None
    """Calls, copies and kernels of the whole measurement, its set-up included."""
    copies_overlap: CopiesOverlap | None = None
    """Concurrency of the trace's copies."""
    workloads: "dict[str, Evidence] | None" = None
    """Evidence of each of several concurrent workloads."""
    energy: EnergyEvidence | None = None
    """Energy, where it was asked for."""
    lacking: list[LackingCounters] | None = None
    """Counters that a watch could not read."""
    notes: list[str] | None = None
    """Anything else that a reader of the figure must know."""

    def less_on_devices(self, *ways: bool) -> bool:
        """Whether the drives moved less than half of the bytes that were read (False) or written
        (True); both count unless told otherwise."""
        if any(facts.path.dax for facts in self.storage or []):  # Counts no DAX.
            return False
        moved = (self.drive_bytes(written) for written in ways or (False, True))
        return any(found.contradicts for found in moved if found)

    def drive_bytes(self, written: bool) -> DriveBytes | None:
        """Return what the drives below the targets moved for this measurement; None where they are
        not counted, and where nothing was asked for.

        The drives' counters are of all programs, the engine's own of all devices: the smaller one
        is the best that is known. What cuFile's driver moves may be in no program's count.
        """
        everybody = self.device_bytes_written if written else self.device_bytes_read
        own = self.process_bytes_written if written else self.process_bytes_read
        io = self.storage_io
        asked = (io.bytes_written if written else io.bytes_read) if io else 0
        if everybody is None or io is None or not asked:
            return None
        if own is None or own > everybody or io.ways:
            return DriveBytes(everybody, "of all programs, by /sys/block/*/stat", everybody, asked)
        return DriveBytes(own, "of this program, by /proc/self/io", everybody, asked)

    def own(self, kind: type[Own]) -> Own:
        """Return the keys of a kind, and what nobody here knows; raises ValueError for a value
        that the kind cannot have."""
        return self._own(kind, RECORDED)

    def check_own(self, kind: type[OwnEvidence]) -> None:
        """Raise ValueError for a key that is neither shared nor the kind's, and for its values."""
        self._own(kind, None)

    def _own(self, kind: type[Own], context: str | None) -> Own:
        try:
            return kind.model_validate(self.model_extra or {}, context=context)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise ValueError(f"evidence.{where}: {first['msg']}") from None

    def with_own(self, keys: OwnEvidence) -> "Evidence":
        """Return the same with the keys of a kind."""
        return self.model_copy(update=keys.model_dump(exclude_none=True))


class Started(Model):
    """A repetition begins, with its set-up."""

    event: Literal["started"] = "started"
    id: Id


class Preparing(Model):
    """At most two a second, while files are filled or checked for longer than two seconds."""

    event: Literal["preparing"] = "preparing"
    id: Id
    what: Literal["filling", "checking"]
    file: str
    done: int
    """Bytes."""
    total: int


class Progress(Model):
    """At most two a second, while a repetition takes samples."""

    event: Literal["progress"] = "progress"
    id: Id
    elapsed_s: float
    samples: int
    latest: float | None
    """First column of the last sample; None where that sample has no value of it."""


def _known(metric: str, info: ValidationInfo) -> str:
    if metric not in METRICS and not is_recorded(info):
        raise ValueError(f"'{metric}' is not a metric")
    return metric


def _known_distribution(name: str, info: ValidationInfo) -> str:
    if name not in DISTRIBUTIONS and not is_recorded(info):
        raise ValueError(f"'{name}' is not a distribution")
    return name


DistributionName = Annotated[str, AfterValidator(_known_distribution)]


class Column(Model):
    """One figure's values, one for each sample of its series."""

    metric: Annotated[str, AfterValidator(_known)]
    part: str = ""
    """The stream, thread or transfer that it is of; empty: of the whole."""
    values: list[_Value | None]
    """In the metric's unit; None where a sample has none."""


class Distribution(Model):
    """How long single operations took, one histogram for each sample of its series."""

    metric: DistributionName
    part: str = ""
    """The stream, thread or transfer that it is of; empty: of the whole."""
    samples: list[Histogram]


class Series(Model):
    """Samples of one repetition, in the order in which they were taken, warm-up included."""

    name: str
    starts: list[float]
    """Seconds, from a zero that all series of a repetition share."""
    durations: list[_Value]
    """Seconds."""
    lost: list[Share] | None = None
    """Share of each sample that others took from its thread that lost most; None where nobody
    looked."""
    stolen: list[_Value] | None = None
    """Seconds of each sample that the hypervisor took from its CPUs, in ticks of 10 ms; None where
    it took none."""
    keep_disturbed: bool = False
    """Disturbed samples count as the others do."""
    columns: Annotated[list[Column], Field(min_length=1)]
    distributions: list[Distribution] | None = None

    @model_validator(mode="after")
    def _check(self) -> "Series":
        samples = len(self.starts)
        if len(self.durations) != samples or any(len(c.values) != samples for c in self.columns):
            raise ValueError("columns differ in their number of samples")
        if any(taken and len(taken) != samples for taken in (self.lost, self.stolen)):
            raise ValueError("what others took is of another number of samples")
        if any(len(one.samples) != samples for one in self.distributions or ()):
            raise ValueError("distributions differ from columns in their number of samples")
        return self

    def disturbed(self) -> set[int]:
        """Return the numbers of the samples of which others took more than ``DISTURBED_SHARE``, or
        the hypervisor any time."""
        lost = (number for number, share in enumerate(self.lost or ()) if share > DISTURBED_SHARE)
        return {*lost, *(number for number, seconds in enumerate(self.stolen or ()) if seconds)}


class Repetition(Model):
    """One repetition of a measurement: all of its samples."""

    event: Literal["repetition"] = "repetition"
    id: Id
    seconds: _Value
    """How long samples were taken."""
    fresh: bool
    """Its pages were others than those of the measurement's repetition before."""
    interrupted: bool
    """A signal ended it; the sample that the signal cut is not here."""
    series: Annotated[list[Series], Field(min_length=1)]
    """The headline is the first column of the first one."""
    evidence: Evidence
    began_s: float | None = None
    """The zero of its series by CLOCK_MONOTONIC_RAW, in seconds; None where nobody noted it."""
    at_s: float | None = None
    """Seconds from the beginning of the run to that of the repetition; added by tierscope, never by
    the engine. None where nobody knows."""


class Skipped(Model):
    """A measurement that cannot be had here; nothing was guessed."""

    event: Literal["skipped"] = "skipped"
    id: Id
    cause: Cause
    reason: str
    remedy: str = ""


class Failed(Model):
    """A measurement that could be had but went wrong."""

    event: Literal["failed"] = "failed"
    id: Id
    cause: Cause
    reason: str


class Finished(Model):
    """The last event of an engine that ended by itself."""

    event: Literal["finished"] = "finished"
    interrupted: bool


Event = Annotated[
    Started | Preparing | Progress | Repetition | Skipped | Failed | Exchange | Finished,
    Field(discriminator="event"),
]
EventAdapter: TypeAdapter[Event] = TypeAdapter(Event, config=ConfigDict(defer_build=True))
