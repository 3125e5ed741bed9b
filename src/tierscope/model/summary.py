"""Summary of a run file's machine and plan."""

from typing import Any

from pydantic import AfterValidator, ValidationError

from tierscope.model.base import Count, Model


class Summary(Model):
    """Keys that every reader of a run file may rely on; there may be more."""

    __pydantic_extra__: dict[str, Any]


class SideCacheSummary(Summary):
    """A cache in front of a node's memory."""

    size_bytes: int


class NodeSummary(Summary):
    """A node in a run's ``machine``."""

    node: Count
    kind: str
    cpus: list[Count]
    total_bytes: Count
    free_bytes: Count | None
    memory_side_caches: list[SideCacheSummary] = []


class CacheSummary(Summary):
    """Caches of one kind in a run's ``machine``."""

    level: Count
    type: str
    size_bytes: Count
    count: Count


class GpuSummary(Summary):
    """A GPU in a run's ``machine``."""

    index: Count
    name: str


class MachineSummary(Summary):
    """A run's ``machine``: what a reader of its figures has to know."""

    product: str
    cpu: str
    hypervisor: str
    packages: Count
    cores: Count
    cpus: Count
    usable_cpus: list[Count]
    nodes: list[NodeSummary]
    caches: list[CacheSummary]
    gpus: list[GpuSummary]


class Planned(Summary):
    """A spec in a run's plan; files of others' making need not have any."""

    id: str = ""


class PlanSummary(Summary):
    """A run's ``plan``."""

    measurements: list[Planned] = []


def checked_by(model: type[Model]) -> AfterValidator:
    """Let a mapping through that the model takes, as it is."""

    def check(value: dict[str, Any]) -> dict[str, Any]:
        try:
            model.model_validate(value)
        except ValidationError as error:
            first = error.errors()[0]
            raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
        return value

    return AfterValidator(check)
