"""The run file: lines of JSON, each a record.

A header comes first, a footer last. Between them stand visits as the engine reported them, what was
concluded from them (``measurement``), and measurements that were planned later (``plan``).
"""

from datetime import datetime, timezone
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter

from tierscope.model.base import Count, Model
from tierscope.model.case import Case
from tierscope.model.cause import Cause
from tierscope.model.event import DistributionName, Evidence, Series, Visit
from tierscope.model.fleet import InFleet
from tierscope.model.histogram import Histogram
from tierscope.model.imported import Imported
from tierscope.model.limit import Limit
from tierscope.model.metric import Unit
from tierscope.model.spec import BoundBy
from tierscope.model.summary import MachineSummary, Planned, PlanSummary, checked_by
from tierscope.model.topology import Topology

RUN_VERSION: Final = 2

Stop = Literal["precision", "budget", "interrupted", "written", "steady", "rounds"]
"""precision: the interval is as narrow as asked; budget: time ran out first; interrupted: a
signal ended it, and what was sampled until then is reported; rounds: it had as many visits as were
asked for."""
NoInterval = Literal[
    "few-samples", "few-visits", "autocorrelated", "maximum", "observed", "imported"
]  # fmt: skip
"""Why a figure has no interval: too few samples, or visits for samples that depend on each other,
visits that depend on each other so much that they are worth less than two, a maximum, which rises
with the time measured, the mean of all that was observed, which is no sample of more, or another
program gave it without one."""

UNRELIABLE = 3.0
"""High end of a 95% interval over its low end, beyond which a figure is unreliable; ±50% is 3."""


class Figure(Model):
    """A figure beside a measurement's main one."""

    metric: str
    part: str = ""
    """The stream, thread or transfer that it is of; empty: of the whole."""
    unit: Unit
    estimate: float
    ci_low: float | None = None
    ci_high: float | None = None
    no_interval: NoInterval | None = None


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
    """Mean of the headline."""
    bytes_written: Count
    """In all rounds up to the end of this one."""


class Measurement(Model):
    """What one measurement gave; identity first (kind, endpoints, pattern), then the outcome."""

    record: Literal["measurement"] = "measurement"
    id: str
    kind: str
    initiator: str
    target: str
    cpus: list[Count]
    pattern: dict[str, Any]
    """The spec's pattern, with ``threads`` added where more than one can take part."""
    status: Literal["measured", "imported", "skipped", "failed"]
    """imported: another program measured it, and the header says which."""
    cause: Cause | None = None
    """Why it was skipped or failed, as a word."""
    reason: str = ""
    """The same for people."""
    remedy: str = ""
    metric: str | None = None
    unit: Unit | None = None
    estimate: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    no_interval: NoInterval | None = None
    """Why ``ci_low`` and ``ci_high`` are absent from a measured figure."""
    visits: Count = 0
    """Visits that the figures come from."""
    n: Count = 0
    stop: Stop | None = None
    samples: list[float] = []
    rounds: list[Round] | None = None
    """Of a time series; its figures are of the last five rounds, where those have to be steady."""
    series: list[Series] | None = None
    """Of what was observed over time: all rows, from the beginning on."""
    figures: list[Figure] = []
    distributions: list[MergedDistribution] | None = None
    evidence: Evidence | None = None
    limit: Limit | None = None
    efficiency: float | None = None
    """estimate / limit, where a limit is known."""
    fits_caches: bool | None = None
    """Whether caches may hold all that was gone over; None where nobody knows."""
    fits_memory_side_cache: bool | None = None
    """The same of a cache in front of a node, of what was gone over there."""
    bound_by: BoundBy | None = None
    """What bounds the figure in place of the memory, where that is known."""

    @property
    def has_figure(self) -> bool:
        """Whether there is a figure to show, measured here or imported."""
        return self.status in ("measured", "imported")


def is_unreliable(figure: Figure | Measurement) -> bool:
    """Return whether a figure tells no more than an order of magnitude, by its interval."""
    low, high = figure.ci_low, figure.ci_high
    return low is not None and high is not None and high > UNRELIABLE * low


_MAX = 1e30
"""Above any figure there is, in any unit, so that ratios of figures stay finite."""


def check_figure(measured: Measurement) -> None:
    """Raise ValueError unless a measured figure is possible and agrees with its samples.

    It and its interval are above 0, or absent by cause: nothing that is measured is 0.
    """
    values = {"estimate": measured.estimate}
    if measured.no_interval is None:
        values |= {"ci_low": measured.ci_low, "ci_high": measured.ci_high}
    for name, value in values.items():
        if value is None or not 1 / _MAX < value < _MAX:
            raise ValueError(f"{name} is {value}, which nothing measured can be")
    if measured.n != len(measured.samples):
        raise ValueError(f"n is {measured.n}, but samples are {len(measured.samples)}")
    if measured.metric is None or measured.unit is None:
        raise ValueError("a measured figure needs metric and unit")
    every: list[Measurement | Figure] = [measured, *measured.figures]
    for number, one in enumerate(every):
        where = f"figures.{number - 1}." if number else ""
        if one.ci_low is not None and one.ci_high is not None and one.ci_low > one.ci_high:
            raise ValueError(f"{where}ci_low is {one.ci_low}, above ci_high, {one.ci_high}")


def _check_time(text: str) -> str:
    """Let a time through that can be compared with others."""
    numeric = text.replace("Z", "+00:00")  # Python 3.10 does not know Z
    try:
        datetime.fromisoformat(numeric).astimezone(timezone.utc).timestamp()
    except (ValueError, OverflowError):
        raise ValueError(f"'{text}' is no time in ISO 8601") from None
    return numeric


def _check_start(text: str | None) -> str | None:
    return None if text is None else _check_time(text)


class Refinement(Model):
    """How the curves of a run get further points."""

    points: int
    """Loaded points that each curve gets at most."""
    at: list[float] = []
    """Bandwidths in bytes/s to take points at; empty: where the curve bends."""
    ratios: Count = 0
    """Further shares of pages that are measured about the best one, for each access pattern."""


class ClockState(Model):
    """What the kernel knew of the wall clock when a run began (adjtimex)."""

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
    version: Literal[1, 2] = RUN_VERSION
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
    """Of a run whose curves get further points."""
    start_at: Annotated[str | None, AfterValidator(_check_start)] = None
    """When its first visit was to begin, ISO 8601 in UTC; None: at once."""
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


class VisitRecord(Model):
    """A visit as the engine reported it."""

    record: Literal["visit"] = "visit"
    visit: Visit


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
    """Seconds after ``start_at`` that its first visit began; None where it was resumed, too."""


Record = Annotated[
    Header | PlanRecord | VisitRecord | Measurement | Footer, Field(discriminator="record")
]
RecordAdapter: TypeAdapter[Record] = TypeAdapter(Record, config=ConfigDict(defer_build=True))


class Run(Model):
    """A run file as read back."""

    header: Header
    measurements: list[Measurement]
    footer: Footer | None
    """None where the file was cut before its end."""
    added: list[dict[str, Any]] = []
    """Specs that were planned after the run began."""

    def planned(self, name: str) -> dict[str, Any] | None:
        """Return the spec of an id as the plan has it; None in files of others' making."""
        specs = [*self.header.plan.get("measurements", []), *self.added]
        return next((spec for spec in specs if spec.get("id") == name), None)
