"""The spec of copies among GPUs of several MPI ranks, each of which has one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from tierscope.model.base import Model
from tierscope.model.endpoint import EndpointKind
from tierscope.model.gpu import CopyEngine, GpuBytes, GpuIndex, GpuPlace, GpuSpec, Transfer
from tierscope.model.spec import Region
from tierscope.model.transfers import properties

if TYPE_CHECKING:
    from tierscope.model.limit import Limit
    from tierscope.model.path import Paths
    from tierscope.model.topology import Cache

Rank = Annotated[int, Field(ge=0, le=4095)]
Handles = Literal["any", "fabric", "ipc"]
"""How ranks get at each other's memory. fabric: by handles that NVLink's fabric knows, from other
hosts too; ipc: by CUDA's interprocess handles, on one host; any: the first that all can use."""


class GpuRanksPattern(Model):
    """What one copy of each transfer moves."""

    size: GpuBytes


class RankTransfer(Model):
    """One stream of copies from a rank's GPU to another one's."""

    name: str
    """Names it in the result's figures: ``gpu:0 -> gpu:1``."""
    source: Rank
    destination: Rank
    rank: Rank
    """Whose GPU moves the bytes: the destination's reads, the source's writes."""
    engine: CopyEngine
    streams: Annotated[int, Field(ge=1, le=64)] = 1
    reported: bool = True
    """Whether it counts in the measurement's estimate, or only contends with those that do."""

    @model_validator(mode="after")
    def _check(self) -> "RankTransfer":
        if self.source == self.destination:
            raise ValueError("a transfer goes from one rank to another one")
        if self.rank not in (self.source, self.destination):
            raise ValueError("the GPU that copies is the source's or the destination's")
        return self


class GpuRanksSpec(GpuSpec):
    """Concurrent transfers among ranks, all of them under contention to the end."""

    metric: ClassVar[str] = "bandwidth"
    targets: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.GPU,)
    extra_properties: ClassVar[dict[str, type]] = {
        "engine": str,
        "memory": str,
        "streams": int,
        "way": str,
        "transfers": str,
        "issued": str,
    }

    kind: Literal["gpu-ranks"] = "gpu-ranks"
    pattern: GpuRanksPattern
    rank: Rank = 0
    """Of the engine that reads it: each rank's gets its own number, and CPUs of its own host."""
    gpus: Annotated[list[GpuIndex], Field(min_length=1, max_length=4096)]
    """By rank: its GPU, as CUDA numbers it there."""
    hosts: Annotated[list[str], Field(min_length=1, max_length=4096)]
    """By rank: its host."""
    handles: Handles = "any"
    verify: bool = True
    """Compare every destination with its source's pattern, on the GPU that has it."""
    transfers: Annotated[list[RankTransfer], Field(min_length=1, max_length=1 << 14)]

    @model_validator(mode="after")
    def _check(self) -> "GpuRanksSpec":
        ranks = len(self.gpus)
        if len(self.hosts) != ranks:
            raise ValueError("there is not one host for each GPU")
        if max(self.rank, *(max(one.source, one.destination) for one in self.transfers)) >= ranks:
            raise ValueError("a rank has no GPU")
        return self

    def taking_part(self) -> list[int]:
        """Return the ranks whose GPU or memory is in a transfer, in ascending order."""
        return sorted({rank for one in self.transfers for rank in (one.source, one.destination)})

    def leader(self) -> int:
        """Return the rank whose engine says when a row is taken, and whose visit counts."""
        return self.transfers[0].rank

    def regions(self) -> list[Region]:
        """No host memory."""
        return []

    def identity(self) -> dict[str, Any]:
        """The pattern, and how the bytes are moved."""
        return {**self.pattern.model_dump(mode="json"), **properties(self._as_transfers())}

    def fits_caches(self, caches: Sequence["Cache"]) -> bool:  # noqa: ARG002 - the CPUs'
        """No: every byte goes from one GPU to another."""
        return False

    def limit(self, paths: "Paths") -> "Limit | None":
        """What the links can carry, of ranks of one host; of others nobody here knows the links."""
        from tierscope.kinds.gpu_copy.limit import limit_of_set

        if len({self.hosts[rank] for rank in self.taking_part()}) > 1:
            return None
        counted = [one for one in self._as_transfers() if one.reported]
        return limit_of_set(paths, counted)

    def _as_transfers(self) -> list[Transfer]:
        """Return the transfers as those of one process with all GPUs of a host."""
        one_host = len({self.hosts[rank] for rank in self.taking_part()}) == 1
        numbers = self.gpus if one_host else list(range(len(self.gpus)))
        return [
            Transfer(
                name=one.name,
                source=GpuPlace(gpu=numbers[one.source]),
                destination=GpuPlace(gpu=numbers[one.destination]),
                gpu=numbers[one.rank],
                engine=one.engine,
                streams=one.streams,
                reported=one.reported,
            )
            for one in self.transfers
        ]


SPEC = GpuRanksSpec
