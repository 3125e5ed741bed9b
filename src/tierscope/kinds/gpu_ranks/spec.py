"""The spec of copies among the GPUs of several MPI ranks, and which GPU each rank has."""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from tierscope.fleet import transport as mpi
from tierscope.machine.launcher import launched_rank
from tierscope.model.base import Word
from tierscope.model.endpoint import EndpointKind, format_ranges, whole_number
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.evidence import OwnEvidence
from tierscope.model.gpu import (
    COPY_SIZE,
    ENGINE,
    LARGE,
    PROPERTY_TYPES,
    CopyEngine,
    GpuBytes,
    GpuIndex,
    GpuPlace,
    GpuSpec,
    Transfer,
    properties,
)
from tierscope.model.property import MadeBy, Property, declared
from tierscope.model.rules import Check, Ruled, Ruling, Same, refuses
from tierscope.model.spec import Region, Sampling
from tierscope.model.topology import Topology
from tierscope.plans import grammar, options
from tierscope.plans.axes import checked
from tierscope.plans.gpu import SAMPLING, SIDE, SIDES, flag, sampling_of, writers
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm
from tierscope.plans.sweep import (
    combinations,
    id_parts,
    options_for,
    options_of,
    spec_of,
    values_of,
)

if TYPE_CHECKING:
    from tierscope.model.path import Limit, Paths


KIND = "gpu-ranks"
_LOOK_S = 120.0
"""Time limit for ranks to name their GPUs."""
START = "start one rank for each GPU: mpirun -n 2 tierscope ..., srun --ntasks-per-node=8 ..."
Rank = Annotated[int, Field(ge=0, le=4095)]
Handles = Literal["any", "fabric", "ipc"]
"""How ranks get at each other's memory. fabric: by handles that NVLink's fabric knows, from other
hosts too; ipc: by CUDA's interprocess handles, on one host; any: the first that all can use."""


@dataclass(frozen=True)
class RankGpu:
    """A rank and its GPU."""

    rank: int
    host: str
    gpu: int
    """As CUDA numbers it on its host."""
    name: str
    uuid: str
    cpus: list[int]
    """Near the GPU."""


def rank_gpus() -> list[RankGpu]:
    """Return every rank's GPU, by rank; raises UserError where that is not one each."""
    if launched_rank() is None:
        raise UserError(f"this takes several MPI ranks: {START}")
    ranks = mpi.ranks()
    if len(ranks.facts) < 2:
        raise UserError(f"this takes several MPI ranks, and there is one: {START}")
    before: Counter[str] = Counter()
    requests = {}
    for one in ranks.facts:
        requests[one.rank] = {"do": "look", "number": before[one.host]}
        before[one.host] += 1
    said = ranks.ask(KIND, requests, _LOOK_S)
    found = []
    for one in ranks.facts:
        answer = said[one.rank]
        if "failed" in answer:
            raise UserError(
                f"rank {one.rank} ({one.host}): {answer['failed']}", ExitCode.NOTHING_MEASURED
            )
        found.append(RankGpu(rank=one.rank, host=one.host, **answer))
    shared = [uuid for uuid, count in Counter(one.uuid for one in found).items() if count > 1]
    if shared:
        same = [str(one.rank) for one in found if one.uuid == shared[0]]
        raise UserError(f"ranks {' and '.join(same)} have the same GPU, {shared[0]}; {START}")
    return found


class GpuRanksPattern(Ruled):
    """The bytes of one copy of each transfer."""

    size: Annotated[GpuBytes, COPY_SIZE]


class RankTransfer(Ruled):
    """One stream of copies from a rank's GPU to another one's."""

    name: str
    """Names it in the result's figures: ``gpu:0 -> gpu:1``."""
    source: Rank
    destination: Rank
    rank: Rank
    """Rank whose GPU moves the bytes: the destination's reads, the source's writes."""
    engine: Annotated[CopyEngine, ENGINE]
    streams: Annotated[int, Field(ge=1, le=32)] = 1
    reported: bool = True
    """Whether it counts in the measurement's estimate, or only contends with those that do."""

    rules: ClassVar[tuple[Ruling, ...]] = (
        refuses(
            {"destination": Same("source")},
            because="is the source; a transfer goes from one rank to another one",
        ),
        Check(
            "rank",
            "is neither the source nor the destination, one of whose GPUs copies",
            lambda one: one.rank in (one.source, one.destination),
            ("source", "destination"),
        ),
    )


class GpuRanksEvidence(OwnEvidence):
    """Keys of evidence of copies between ranks."""

    memory_handles: Word[Literal["fabric", "ipc"]] | None = None
    """How ranks got at the memory of each other's GPUs: by handles of NVLink's fabric, or by CUDA's
    interprocess handles."""


class GpuRanksSpec(GpuSpec):
    """Concurrent transfers among ranks, all of them under contention to the end."""

    metric: ClassVar[str] = "bandwidth"
    own_evidence: ClassVar[type[OwnEvidence]] = GpuRanksEvidence
    targets: ClassVar[tuple[EndpointKind, ...]] = (EndpointKind.GPU,)
    extra_properties: ClassVar[dict[str, type]] = PROPERTY_TYPES

    kind: Literal["gpu-ranks"] = "gpu-ranks"
    pattern: GpuRanksPattern
    rank: Rank = 0
    """Rank of the engine that reads the plan; each rank's plan has its own number and CPUs."""
    gpus: Annotated[list[GpuIndex], Field(min_length=1, max_length=4096)]
    """By rank: its GPU, as CUDA numbers it there."""
    hosts: Annotated[list[str], Field(min_length=1, max_length=4096)]
    """By rank: its host."""
    handles: Annotated[
        Handles,
        Property(
            "How ranks share memory: fabric (NVLink's, from other hosts too), ipc (of one host), "
            "any",
        ),
    ] = "any"
    verify: bool = True
    """Compare every destination with its source's pattern, on the GPU that has it."""
    transfers: Annotated[
        list[RankTransfer], Field(min_length=1, max_length=1 << 14), MadeBy("pairs")
    ]

    rules: ClassVar[tuple[Ruling, ...]] = (
        Check(
            "hosts",
            "are not one for each GPU",
            lambda spec: len(spec.hosts) == len(spec.gpus),
            ("gpus",),
        ),
        Check(
            "gpus",
            "are too few: a rank has none",
            lambda spec: (
                len(spec.gpus)
                > max(spec.rank, *(max(one.source, one.destination) for one in spec.transfers))
            ),
            ("rank", "transfers"),
        ),
    )

    def taking_part(self) -> list[int]:
        """Return the ranks whose GPU or memory is in a transfer, in ascending order."""
        return sorted({rank for one in self.transfers for rank in (one.source, one.destination)})

    def leader(self) -> int:
        """Return the rank whose engine says when a row is taken, and whose repetition counts."""
        return self.transfers[0].rank

    def regions(self) -> list[Region]:
        """No host memory."""
        return []

    def identity(self) -> dict[str, Any]:
        """The pattern, and how the bytes are moved."""
        return {**self.pattern.model_dump(mode="json"), **properties(self._as_transfers())}

    def limit(self, paths: "Paths") -> "Limit | None":
        """The limit by links, of ranks of one host; links between hosts are not known."""
        from tierscope.kinds.gpu_copy.spec import limit_of_set

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


def expand(request: Request, _topology: Topology, _thp: bool) -> Iterator[GpuRanksSpec]:
    """Yield every pair's copies, over engines, sides and sizes."""
    both_ways = flag(request, "both-ways")
    every = rank_gpus()
    for pair, writes, moved, values, handles in itertools.product(
        checked(request, "pairs", _pairs, request.options.get("pairs", "all"), len(every)),
        writers(request),
        combinations(request, RankTransfer, {}),
        combinations(request, GpuRanksPattern, {}),
        values_of(request, declared(GpuRanksSpec)["handles"]),
    ):
        ways = [pair, pair[::-1]] if both_ways else [pair]
        transfers = [rank_transfer(every, *way, **moved, writes=writes) for way in ways]
        fields = {
            **ranks_fields(every, transfers),
            "sampling": sampling_of(request),
            "pattern": values,
            "handles": handles,
        }
        parts = ["-".join(map(str, pair)), *id_parts(RankTransfer, moved), SIDES[writes]]
        parts += ["both-ways"] if both_ways else []
        parts += id_parts(GpuRanksPattern, values) + id_parts(GpuRanksSpec, {"handles": handles})
        yield spec_of(request, GpuRanksSpec, fields, parts)


def rank_transfer(
    every: Sequence[RankGpu],
    source: int,
    destination: int,
    engine: CopyEngine,
    *,
    writes: bool,
    reported: bool = True,
) -> RankTransfer:
    """A transfer; the destination's GPU reads, or the source's writes."""
    return RankTransfer(
        name=f"{endpoint(every, source)} -> {endpoint(every, destination)}",
        source=source,
        destination=destination,
        rank=source if writes else destination,
        engine=engine,
        reported=reported,
    )


def ranks_fields(every: Sequence[RankGpu], transfers: Sequence[RankTransfer]) -> dict[str, Any]:
    """Return the fields of a measurement of transfers that run at once."""
    counted = [one for one in transfers if one.reported]
    both_ways = len(transfers) == 2 and transfers[0].source == transfers[1].destination
    ends = counted[:1] if both_ways else counted
    return {
        "initiator": _joined(every, [one.source for one in ends]),
        "target": _joined(every, [one.destination for one in ends]),
        "cpus": every[transfers[0].rank].cpus,
        "gpus": [one.gpu for one in every],
        "hosts": [one.host for one in every],
        "transfers": list(transfers),
    }


def ranks_spec(
    name: str,
    every: Sequence[RankGpu],
    transfers: Sequence[RankTransfer],
    *,
    size: int = LARGE,
    sampling: Sampling = SAMPLING,
    verify: bool = True,
) -> GpuRanksSpec:
    """Return a measurement of transfers that run at once."""
    return GpuRanksSpec(
        id=name,
        sampling=sampling,
        verify=verify,
        pattern=GpuRanksPattern(size=size),
        **ranks_fields(every, transfers),
    )


def endpoint(every: Sequence[RankGpu], rank: int) -> str:
    """Name a rank's GPU: ``gpu:1``; of several hosts ``gpu:1@node7``."""
    one = every[rank]
    several = len({other.host for other in every}) > 1
    return f"gpu:{one.gpu}@{one.host}" if several else f"gpu:{one.gpu}"


def _joined(every: Sequence[RankGpu], ranks: Sequence[int]) -> str:
    distinct = sorted(set(ranks))
    if len(distinct) > 1 and len({one.host for one in every}) == 1:
        return f"gpu:{format_ranges(tuple(sorted(every[rank].gpu for rank in distinct)))}"
    return " ".join(endpoint(every, rank) for rank in distinct)


def _pairs(text: str, count: int) -> list[tuple[int, int]]:
    """Return ordered pairs of ranks: ``all``, or those of a list as in ``0-1,1-0``."""
    if text == "all":
        return list(itertools.permutations(range(count), 2))
    found = []
    for word in grammar.split_words(text):
        first, _, second = word.partition("-")
        source, destination = whole_number(first), whole_number(second)
        if (
            source is None
            or destination is None
            or source == destination
            or max(source, destination) >= count
        ):
            raise UserError(f"'{word}' is not a pair of two ranks from 0 to {count - 1}, as in 0-1")
        found.append((source, destination))
    return list(dict.fromkeys(found))


REQUEST = RequestForm(
    options=(
        Option("pairs", "LIST", "all, or source and destination as in 0-1,1-0", "all"),
        *options_for(RankTransfer, "engine"),
        *options_of(GpuRanksPattern),
        SIDE,
        Option("both-ways", "", "Concurrent copies in both directions", flag=True),
        *options_for(GpuRanksSpec, "handles"),
        *options.GPU_SAMPLING,
    ),
    expand=expand,
    help="""\
Each MPI rank has one GPU and an engine of its own, of one host or of several:

  mpirun -n 2 tierscope gpu ranks
  srun --ntasks-per-node=8 tierscope gpu ranks --engine ce,sm

Rank 0 has the plan and the run; the others answer it. A rank maps the memory of another one's GPU
and copies as "gpu copy" does.""",
    examples=(
        "gpu ranks",
        "gpu ranks --pairs 0-1 --engine ce,sm --side read,write",
        "gpu ranks --both-ways --size 64m..1g",
    ),
)
