"""The run file: one header, one record a measurement, one footer, each a line of JSON."""

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
from tierscope.model.event import Evidence, Figure, Stop, Unit
from tierscope.model.topology import Topology

RUN_VERSION: Final = 1

NoInterval = Literal["few-samples", "few-visits"]
"""Why a figure has no interval: too few samples or visits to tell its uncertainty."""


class Limit(Model):
    """Theoretical rate of a path's smallest link."""

    value: float
    unit: Unit
    link: str
    """The link that sets it: "PCIe 4.0 x8 at 0000:17:00.0"."""
    formula: str
    """How the value is computed, with its numbers."""
    source: str
    """Document or register that the formula and the numbers come from."""
    degraded: bool = False
    """The link runs below what both of its ends are able to."""


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
    n: int = 0
    stop: Stop | None = None
    samples: list[float] = []
    figures: list[Figure] = []
    evidence: Evidence | None = None
    limit: Limit | None = None
    efficiency: float | None = None
    """estimate / limit, where a limit is known."""
    fits_caches: bool | None = None
    """Whether caches may hold all that it went over, so that its figure is not memory's; None where
    nobody knows."""


class _Summary(Model):
    """What every reader of a run file may rely on; more may stand beside it."""

    model_config = ConfigDict(extra="allow")


class NodeSummary(_Summary):
    """A node in a run's ``machine``."""

    node: int
    kind: str
    cpus: list[int]
    total_bytes: int
    free_bytes: int | None


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


class Header(Model):
    """Everything about a run that was known before its first measurement."""

    record: Literal["header"] = "header"
    version: Literal[1] = RUN_VERSION
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


class Footer(Model):
    """How the run ended; a file without one was cut."""

    record: Literal["footer"] = "footer"
    finished: str
    interrupted: bool
    measured: int
    skipped: int
    failed: int


Record = Annotated[Header | Measurement | Footer, Field(discriminator="record")]
RecordAdapter: TypeAdapter[Record] = TypeAdapter(Record)


class Run(Model):
    """A run file as read back."""

    header: Header
    measurements: list[Measurement]
    footer: Footer | None
    """None where the file was cut before its end."""
