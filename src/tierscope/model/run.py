"""The run file: lines of JSON, each a record.

A header comes first, a footer last. Between them stand visits as the engine reported them, what was
concluded from them (``measurement``), and measurements that were planned later (``plan``).
"""

from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
)

from tierscope.model.base import Model
from tierscope.model.cause import Cause
from tierscope.model.event import Evidence, Visit
from tierscope.model.limit import Limit
from tierscope.model.metric import Unit
from tierscope.model.spec import BoundBy
from tierscope.model.topology import Topology

RUN_VERSION: Final = 2

Stop = Literal["precision", "budget", "interrupted"]
"""precision: the interval is as narrow as asked; budget: time ran out first; interrupted: a
signal ended it, and what was sampled until then is reported."""
NoInterval = Literal["few-samples", "few-visits", "autocorrelated"]
"""Why a figure has no interval: too few samples, too few visits for samples that depend on each
other, or visits that depend on each other so much that they are worth less than two."""


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


class Measurement(Model):
    """What one measurement gave; identity first (kind, endpoints, pattern), then the outcome."""

    record: Literal["measurement"] = "measurement"
    id: str
    kind: str
    initiator: str
    target: str
    cpus: list[int]
    pattern: dict[str, Any]
    """The spec's pattern, with ``threads`` added where more than one can take part."""
    status: Literal["measured", "skipped", "failed"]
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
    visits: int = 0
    """Visits that the figures come from."""
    n: int = 0
    stop: Stop | None = None
    samples: list[float] = []
    figures: list[Figure] = []
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


def is_unreliable(figure: Figure | Measurement) -> bool:
    """Return whether a figure tells no more than an order of magnitude, by its interval."""
    low, high = figure.ci_low, figure.ci_high
    return low is not None and high is not None and high > UNRELIABLE * low


_MAX = 1e30
"""Above any figure there is, in any unit, so that ratios of figures stay finite."""


def check_figure(measured: Measurement) -> None:
    """Raise ValueError unless a measured figure and its interval are above 0, or absent by cause:
    nothing that is measured is 0."""
    values = {"estimate": measured.estimate}
    if measured.no_interval is None:
        values |= {"ci_low": measured.ci_low, "ci_high": measured.ci_high}
    for name, value in values.items():
        if value is None or not 1 / _MAX < value < _MAX:
            raise ValueError(f"{name} is {value}, which nothing measured can be")


class _Summary(Model):
    """What every reader of a run file may rely on; more may stand beside it."""

    model_config = ConfigDict(extra="allow")


class SideCacheSummary(_Summary):
    """A cache in front of a node's memory."""

    size_bytes: int


class NodeSummary(_Summary):
    """A node in a run's ``machine``."""

    node: int
    kind: str
    cpus: list[int]
    total_bytes: int
    free_bytes: int | None
    memory_side_caches: list[SideCacheSummary] = []


class CacheSummary(_Summary):
    """Caches of one kind in a run's ``machine``."""

    level: int
    type: str
    size_bytes: int
    count: int


class GpuSummary(_Summary):
    """A GPU in a run's ``machine``."""

    index: int
    name: str


class MachineSummary(_Summary):
    """A run's ``machine``: what a reader of its figures has to know."""

    product: str
    cpu: str
    hypervisor: str
    packages: int
    cores: int
    cpus: int
    usable_cpus: list[int]
    nodes: list[NodeSummary]
    caches: list[CacheSummary]
    gpus: list[GpuSummary]


class PlanSummary(_Summary):
    """A run's ``plan``."""

    measurements: list[dict[str, Any]] = []


def _checked_by(model: type[Model]) -> AfterValidator:
    """Let a mapping through that the model takes, as it is."""

    def check(value: dict[str, Any]) -> dict[str, Any]:
        try:
            model.model_validate(value)
        except ValidationError as error:
            first = error.errors()[0]
            raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        return value

    return AfterValidator(check)


class Refinement(Model):
    """How the curves of a run get further points."""

    points: int
    """Loaded points that each curve gets at most."""
    at: list[float] = []
    """Bandwidths in bytes/s to take points at; empty: where the curve bends."""


class Header(Model):
    """Everything about a run that was known before its first measurement."""

    record: Literal["header"] = "header"
    version: Literal[1, 2] = RUN_VERSION
    name: str
    started: str
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
    machine: Annotated[dict[str, Any], _checked_by(MachineSummary)]
    """Summary of the topology: CPU, sockets, nodes with kind and size, caches, GPUs."""
    environment: dict[str, str]
    """Settings that change what figures mean: governor, THP, NUMA balancing, kernel, ..."""
    plan: Annotated[dict[str, Any], _checked_by(PlanSummary)]
    topology: Topology | None = None
    """The whole machine, as it was when the run began; None in files of others' making."""
    refinement: Refinement | None = None
    """Of a run whose curves get further points: what chooses them."""


class PlanRecord(Model):
    """Measurements that were added to the plan after the run began."""

    record: Literal["plan"] = "plan"
    measurements: list[dict[str, Any]]


class VisitRecord(Model):
    """A visit as the engine reported it."""

    record: Literal["visit"] = "visit"
    visit: Visit


class Footer(Model):
    """How the run ended; a file without one was cut. After resuming, the last one counts."""

    record: Literal["footer"] = "footer"
    finished: str
    interrupted: bool
    measured: int
    skipped: int
    failed: int


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
