"""A case of another benchmark's file, and the measurement that it became."""

from datetime import datetime, timezone
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError

from tierscope.model.base import RECORDED, Count, Model, Word
from tierscope.model.cause import Cause
from tierscope.model.event import DistributionName, Evidence, Repetition, Series
from tierscope.model.fleet import InFleet
from tierscope.model.histogram import Histogram
from tierscope.model.metric import METRICS, Unit
from tierscope.model.path import Limit
from tierscope.model.spec import BoundBy, MeasurementSpec
from tierscope.model.summary import MachineSummary, Planned, PlanSummary, checked_by
from tierscope.model.topology import Topology

RUN_VERSION: Final = 4
S = TypeVar("S", bound=MeasurementSpec)
Stop = Literal["precision", "budget", "interrupted", "written", "steady", "rounds"]
"""precision: the interval is as narrow as asked; budget: time ran out first; interrupted: a signal
ended it, and what was sampled until then is reported; rounds: it had as many repetitions as were
asked for."""
Status = Literal["measured", "imported", "skipped", "failed"]
NoInterval = Literal[
    "few-samples", "few-repetitions", "autocorrelated", "disturbed", "unsettled", "idle-samples",
    "maximum", "observed", "imported",
]  # fmt: skip
"""Why a figure has no interval: too few samples, or repetitions for samples that depend on each
other, repetitions that depend on each other so much that they are worth less than two, samples
that other programs all disturbed or that still change where repetitions end, so many samples in
which no operation ended that the interval would begin at 0, a maximum, which rises with the time
measured, the mean of all that was observed, which is no sample of more, or another program gave it
without one."""
UNRELIABLE = 3.0
"""High end of a 95% interval over its low end, beyond which a figure is unreliable; ±50% is 3."""
_MAX = 1e30
"""Above any figure there is, in any unit, so that ratios of figures stay finite."""


class Reported(Model):
    """A case as the other benchmark's result file has it."""

    entry: Count
    """Which of the file's entries has it, from 0."""
    about: dict[str, Any]
    """The entry, without its cases."""
    results: dict[str, Any]


class Case(Model):
    """One case: one combination of the values of a benchmark's matrix."""

    file: str
    """The workload file, as it was named."""
    benchmark: str
    """Its name in the file."""
    matrix: dict[str, Any]
    """Values of this case of the keys that the file varies; by part where several run at once."""
    config: dict[str, Any]
    """All keys with their values, defaults included, in the other benchmark's words."""
    measurements: list[str]
    """Ids of what it became; empty where it was refused."""
    refused: str = ""
    """Why it became nothing."""
    notes: list[str] = []
    """Differences from the file: sizes that were fitted, keys whose meaning changed."""
    reported: Reported | None = None
    """Result of an imported case."""


class ImportedFile(Model):
    """A file whose content a run holds."""

    name: str
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Imported(Model):
    """The imported benchmark."""

    format: str
    """The word behind ``tierscope import``."""
    program: str
    """The program that measured, with its version, as far as the files tell."""
    files: list[ImportedFile]

    @property
    def said(self) -> str:
        """Origin of the figures, in a sentence."""
        names = [file.name.rpartition("/")[2] for file in self.files]
        more = f" and {len(names) - 1} more files" if len(names) > 1 else ""
        return (
            f"Imported: {self.program} measured these figures, not tierscope; from {names[0]}{more}"
        )


class Figure(Model):
    """One figure of a measurement."""

    metric: str
    part: str = ""
    """The stream, thread, transfer or function that it is of; empty: of the whole."""
    unit: Word[Unit]
    estimate: float
    ci_low: float | None = None
    ci_high: float | None = None
    no_interval: Word[NoInterval] | None = None
    """Why ``ci_low`` and ``ci_high`` are absent."""
    limit: Limit | None = None
    """Theoretical rate that bounds it."""
    efficiency: float | None = None
    """estimate / limit, where a limit is known."""
    compared: bool = False
    """It counts when runs, or hosts of a fleet, are compared."""


class MergedDistribution(Model):
    """How long single operations took in all kept rows."""

    metric: DistributionName
    part: str = ""
    """As of a figure."""
    histogram: Histogram


class Round(Model):
    """One round of a time series."""

    end_s: float
    """Seconds of measuring from the beginning of the first round to the end of this one."""
    value: float
    """The headline over all of it."""
    bytes_written: Count
    """In all rounds up to the end of this one."""


class Measurement(Model):
    """The result of a measurement; identity first (kind, endpoints, pattern), then the outcome."""

    record: Literal["measurement"] = "measurement"
    id: str
    kind: str
    initiator: str
    target: str
    cpus: list[Count]
    pattern: dict[str, Any]
    """The spec's pattern, with ``threads`` added where more than one can take part."""
    status: Word[Status]
    """imported: another program measured it, and the header says which."""
    cause: Word[Cause] | None = None
    """Why it was skipped or failed, as a word."""
    reason: str = ""
    """The same for people."""
    remedy: str = ""
    figures: list[Figure] = []
    """The first one is the headline: precision and warm-up go by it. None: no figure was had."""
    repetitions: Count = 0
    """Repetitions that the figures come from."""
    n: Count = 0
    stop: Word[Stop] | None = None
    samples: list[float] = []
    """Of the headline."""
    rounds: list[Round] | None = None
    """Of a time series; its figures are of the last five rounds, where those have to be steady."""
    series: list[Series] | None = None
    """Of what was observed over time: all rows, from the beginning on."""
    distributions: list[MergedDistribution] | None = None
    evidence: Evidence | None = None
    fits_caches: bool | None = None
    """Whether caches may hold all that was gone over; None where nobody knows."""
    fits_memory_side_cache: bool | None = None
    """The same of a cache in front of a node, of what was gone over there."""
    bound_by: Word[BoundBy] | None = None
    """What the headline is of, other than the measured memory or device, where known."""

    @property
    def headline(self) -> Figure | None:
        """Its first figure."""
        return self.figures[0] if self.figures else None

    @property
    def metric(self) -> str | None:
        """The headline's metric, as the properties below are the headline's."""
        return self.figures[0].metric if self.figures else None

    @property
    def unit(self) -> str | None:
        """Its unit."""
        return self.figures[0].unit if self.figures else None

    @property
    def estimate(self) -> float | None:
        """Its estimate, in its unit."""
        return self.figures[0].estimate if self.figures else None

    @property
    def ci_low(self) -> float | None:
        """The low end of its 95% interval."""
        return self.figures[0].ci_low if self.figures else None

    @property
    def ci_high(self) -> float | None:
        """The high end of its 95% interval."""
        return self.figures[0].ci_high if self.figures else None

    @property
    def no_interval(self) -> str | None:
        """Why it has no interval."""
        return self.figures[0].no_interval if self.figures else None

    @property
    def limit(self) -> Limit | None:
        """Theoretical rate that bounds it."""
        return self.figures[0].limit if self.figures else None

    @property
    def efficiency(self) -> float | None:
        """Its share of that."""
        return self.figures[0].efficiency if self.figures else None

    def of_figure(self, figure: Figure) -> "Measurement":
        """Return the measurement with one figure only.

        Its pattern has ``part`` where the figure is of one, and ``metric`` where that is not the
        headline's, so that it is told from the measurement's other figures.
        """
        named = {"metric": figure.metric} if figure.metric != self.metric else {}
        named |= {"part": figure.part} if figure.part else {}
        alone: dict[str, Any] = {"figures": [figure], "pattern": {**self.pattern, **named}}
        if figure is not self.headline:
            alone |= {"samples": [], "distributions": None, "bound_by": None}
        return self.model_copy(update=alone)

    @property
    def has_figure(self) -> bool:
        """Whether there is a figure to show, measured here or imported."""
        return self.status in ("measured", "imported")


def is_unreliable(figure: Figure | Measurement) -> bool:
    """Return whether a figure tells no more than an order of magnitude, by its interval."""
    low, high = figure.ci_low, figure.ci_high
    return low is not None and high is not None and high > UNRELIABLE * low


def is_exact(figure: Figure | Measurement) -> bool:
    """Whether a figure lacks an interval by its nature: a maximum, or another program's."""
    return figure.no_interval in (None, "maximum", "observed", "imported")


def lower_is_better(measurement: Measurement) -> bool:
    """Whether the lower of two figures is better, by its metric.

    A file of another version may have metrics that this one does not know: of those, times are
    better when lower.
    """
    known = METRICS.get(measurement.metric or "")
    return known.better == "lower" if known else measurement.unit == "ns"


def shared(measurement: Measurement) -> bool:
    """Return whether other traffic ran at the same time, so that a figure is no path's own."""
    pattern = measurement.pattern
    several = any(key in pattern for key in ("way", "transfers", "together"))
    return several or bool(pattern.get("beside"))


def check_figure(measured: Measurement) -> None:
    """Raise ValueError unless a measured figure is possible and agrees with its samples.

    It and its interval are above 0, or absent by cause: nothing that is measured is 0.
    """
    if measured.headline is None:
        raise ValueError("it was measured, but has no figure")
    values = {"estimate": measured.estimate}
    if measured.no_interval is None:
        values |= {"ci_low": measured.ci_low, "ci_high": measured.ci_high}
    for name, value in values.items():
        if value is None or not 1 / _MAX < value < _MAX:
            raise ValueError(f"{name} is {value}, which nothing measured can be")
    if measured.n != len(measured.samples):
        raise ValueError(f"n is {measured.n}, but samples are {len(measured.samples)}")
    for number, one in enumerate(measured.figures):
        if one.ci_low is not None and one.ci_high is not None and one.ci_low > one.ci_high:
            raise ValueError(
                f"figures.{number}.ci_low is {one.ci_low}, above ci_high, {one.ci_high}"
            )


def _check_time(text: str) -> str:
    """Let a time through that can be compared with others."""
    numeric = text.replace("Z", "+00:00")  # Python 3.10 does not know Z
    try:
        datetime.fromisoformat(numeric).astimezone(timezone.utc).timestamp()
    except (ValueError, OverflowError):
        raise ValueError(f"'{text}' is not a time in ISO 8601") from None
    return numeric


def _check_start(text: str | None) -> str | None:
    return None if text is None else _check_time(text)


class Refinement(Model):
    """How the curves of a run get further points."""

    points: Count
    """Loaded points that each curve gets at most."""
    at: list[float] = []
    """Bandwidths in bytes/s to take points at; empty: where the curve bends."""
    ratios: Count = 0
    """Further shares of pages that are measured about the best one, for each access pattern."""


class ClockState(Model):
    """The kernel's knowledge of the wall clock when a run began (adjtimex)."""

    synchronized: bool
    """Something keeps it synchronized: NTP, PTP, a hypervisor's clock by chrony."""
    offset_s: float | None = None
    """Last offset to the reference that is being corrected; None where it is not synchronized."""
    max_error_s: float | None = None
    """Most that it can be off, as the kernel reckons."""
    estimated_error_s: float | None = None


class Header(Model):
    """Everything about a run that was known before its first measurement."""

    record: Literal["header"] = "header"
    version: Literal[4] = RUN_VERSION
    name: str
    started: Annotated[str, AfterValidator(_check_time)]
    """ISO 8601 with offset."""
    host: str
    command: list[str]
    tierscope: str
    """Version of tierscope."""
    git_commit: str
    emulated: bool
    """True where CPUs or memories are emulated in software, so that figures mean nothing."""
    engine: dict[str, Any]
    """The engine's capabilities, as it printed them."""
    machine: Annotated[dict[str, Any], checked_by(MachineSummary)]
    """Summary of the topology: CPU, sockets, nodes with kind and size, caches, GPUs."""
    environment: dict[str, str]
    """Settings that change what figures mean: governor, THP, NUMA balancing, kernel, ..."""
    plan: Annotated[dict[str, Any], checked_by(PlanSummary)]
    topology: Topology | None = None
    """The whole machine, as it was when the run began; None in files of others' making."""
    refinement: Refinement | None = None
    """How the curves of a run get further points."""
    start_at: Annotated[str | None, AfterValidator(_check_start)] = None
    """When its first repetition was to begin, ISO 8601 in UTC; None: at once."""
    clock: ClockState | None = None
    """None where the kernel did not tell."""
    energy: bool | None = None
    """True: energy was measured beside it."""
    cases: list[Case] | None = None
    """Of a run of another benchmark's files: what each of their cases became."""
    imported: Imported | None = None
    """Figures that another program measured; None: tierscope did."""
    fleet: InFleet | None = None
    """None: it is no part of a fleet's run."""


class PlanRecord(Model):
    """Measurements that were added to the plan after the run began."""

    record: Literal["plan"] = "plan"
    measurements: list[Annotated[dict[str, Any], checked_by(Planned)]]


class RepetitionRecord(Model):
    """A repetition as the engine reported it."""

    record: Literal["repetition"] = "repetition"
    repetition: Repetition


class Footer(Model):
    """How the run ended; a file without one was cut. After resuming, the last one counts."""

    record: Literal["footer"] = "footer"
    finished: str
    interrupted: bool
    measured: Count
    skipped: Count
    failed: Count
    imported: Count | None = None
    """Figures of another program; None in a run of tierscope's own."""
    late_s: float | None = None
    """Seconds after ``start_at`` that its first repetition began; None where it was resumed,
    too."""


Record = Annotated[
    Header | PlanRecord | RepetitionRecord | Measurement | Footer, Field(discriminator="record")
]
RECORDS: Final = ("header", "plan", "repetition", "measurement", "footer")
RecordAdapter: TypeAdapter[Record] = TypeAdapter(Record, config=ConfigDict(defer_build=True))


class Run(Model):
    """A run file as read back."""

    header: Header
    measurements: list[Measurement]
    footer: Footer | None
    """None where the file was cut before its end."""
    added: list[dict[str, Any]] = []
    """Specs that were planned after the run began."""

    def planned(self, name: str, kind: type[S]) -> S | None:
        """Return the spec of an id as the plan has it; None in files of others' making, and where
        this version does not know what it says."""
        specs = [*self.header.plan.get("measurements", []), *self.added]
        found = next((spec for spec in specs if spec.get("id") == name), None)
        try:
            return kind.model_validate(found, context=RECORDED)
        except ValidationError:
            return None
