"""Events: what ``tierscope-engine`` writes, one JSON object a line, in the order it happens."""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, model_validator

from tierscope.model.base import Model
from tierscope.model.spec import Id

Unit = Literal["B/s", "ns", "1/s", "B", "count", "ratio"]
Stop = Literal["precision", "budget", "interrupted"]
"""precision: the interval is as narrow as asked; budget: time ran out first; interrupted: a
signal ended it, and what was sampled until then is reported."""


class Figure(Model):
    """A figure beside a result's main one, in the same measurement."""

    metric: str
    part: str = ""
    """Stream, thread or transfer; empty: the whole."""
    unit: Unit
    estimate: float
    ci_low: float | None = None
    ci_high: float | None = None


class GpuState(Model):
    """What a GPU's clocks, power and link did while a measurement ran; [lowest, highest]."""

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


class CountedTraffic(Model):
    """What a hardware counter saw of the whole machine's memory traffic, from the first sample to
    the last, beside what the measurement's own threads moved meanwhile."""

    source: str
    """Where it was read: "uncore_imc: cas_count_read, cas_count_write"."""
    bytes: float
    program_bytes: float
    """Bytes that the program asked to move."""
    bus_bytes: float
    """Those with a write-allocate read before each ordinary store."""


class TraceRow(Model):
    """All records of one name in a trace."""

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


class Evidence(Model):
    """What was observed that proves what was measured; a field that does not apply is absent."""

    pages: dict[str, int] | None = None
    """Pages by node as read back from the kernel after populating: {"0": 262144}."""
    page_bytes: int | None = None
    """Size of the pages that ``pages`` counts."""
    huge_bytes: int | None = None
    """Bytes that the kernel backs with transparent huge pages."""
    region_bytes: int | None = None
    """Bytes of all arrays together."""
    cpus: list[int] | None = None
    """CPU that each thread was seen on at the end of the last sample."""
    isa: str | None = None
    """Instruction set that ran."""
    verified: str | None = None
    """What was compared with what after the clock stopped, and that it agreed."""
    walked_bytes: int | None = None
    """Distinct bytes of the region that the samples went over."""
    address_ns: float | None = None
    """Time to make one random address alone, per access and thread; inside the figure."""
    threads: list[float] | None = None
    """Each thread's own median bandwidth in bytes/s."""
    sample_ns: float | None = None
    """How long one sample lasted (median)."""
    clock: str | None = None
    """Clock used, its resolution and whether the TSC is invariant."""
    timer_ns: float | None = None
    """What reading the timer around a single load takes; inside the percentiles."""
    settled: bool | None = None
    """The warm-up came to an end, and the halves of the samples agree within 3%."""
    disturbed: int | None = None
    """Samples kept although others took over 1% of a measuring thread's time, or the hypervisor
    stole some."""
    replaced: int | None = None
    """Such samples that were taken again."""
    steal_share: float | None = None
    """Share of the measuring time that the hypervisor gave to others (/proc/stat steal)."""
    counters: list[CountedTraffic] | None = None
    """Cross-checks of bandwidth; absent where no counter can be read."""
    in_turn: bool | None = None
    """True: the GPUs served transfers queued at once one after the other. The total is until all
    bytes were moved, and each transfer's rate its share of that."""
    gpus: list[GpuState] | None = None
    """Every GPU that took part."""
    trace: list[TraceRow] | None = None
    """Where the time of the whole measurement went, its set-up included."""
    workloads: "dict[str, Evidence] | None" = None
    """Of measurements in which several workloads run at once, what was observed of each."""
    notes: list[str] | None = None
    """Anything else that a reader of the figure must know."""


class Started(Model):
    """A measurement's set-up begins."""

    event: Literal["started"] = "started"
    id: Id


class Progress(Model):
    """At most ten a second, while a measurement samples."""

    event: Literal["progress"] = "progress"
    id: Id
    elapsed_s: float
    n: int
    estimate: float


_MOST = 1e30
"""Above any figure there is, in any unit, so that ratios of figures stay finite."""


def check_figures(estimate: float | None, low: float | None, high: float | None) -> None:
    """Raise ValueError unless an estimate and its interval are above 0: a figure is never zero."""
    for name, value in (("estimate", estimate), ("ci_low", low), ("ci_high", high)):
        if value is None or not 1 / _MOST < value < _MOST:
            raise ValueError(f"{name} is {value}, which nothing measured can be")


class Result(Model):
    """A measurement's outcome, as the engine knows it."""

    event: Literal["result"] = "result"
    id: Id
    metric: str
    unit: Unit
    estimate: float
    ci_low: float
    ci_high: float
    n: int
    stop: Stop
    samples: list[float]
    figures: list[Figure] = []
    evidence: Evidence

    @model_validator(mode="after")
    def _check(self) -> "Result":
        check_figures(self.estimate, self.ci_low, self.ci_high)
        return self


class Skipped(Model):
    """A measurement that cannot be had here; nothing was guessed."""

    event: Literal["skipped"] = "skipped"
    id: Id
    reason: str
    remedy: str = ""


class Failed(Model):
    """A measurement that could be had but went wrong."""

    event: Literal["failed"] = "failed"
    id: Id
    reason: str


class Finished(Model):
    """The last event of an engine that ended by itself."""

    event: Literal["finished"] = "finished"
    interrupted: bool


Event = Annotated[
    Started | Progress | Result | Skipped | Failed | Finished, Field(discriminator="event")
]
EventAdapter: TypeAdapter[Event] = TypeAdapter(Event)


class Capability(Model):
    """One thing that the engine can or cannot measure on this machine."""

    name: str
    available: bool
    detail: str = ""
    """Where available: what was found (versions, sizes)."""
    reason: str = ""
    """Where not: why."""
    remedy: str = ""
    """Where not: what to do about it."""


class Capabilities(Model):
    """What ``tierscope-engine capabilities`` prints."""

    engine: str
    """Version of the engine."""
    plan_version: int
    git_commit: str
    compiler: str
    isas: list[str]
    """Instruction sets that this CPU runs and this build has; the best one first."""
    capabilities: list[Capability]
