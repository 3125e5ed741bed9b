"""Requests for copies among GPUs of several ranks."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from tierscope.kinds.gpu_copy.request import ENGINES, LARGE, SIDES
from tierscope.kinds.gpu_ranks.ranks import RankGpu, rank_gpus
from tierscope.kinds.gpu_ranks.spec import GpuRanksPattern, GpuRanksSpec, Handles, RankTransfer
from tierscope.model.endpoint import format_ranges
from tierscope.model.errors import UserError
from tierscope.model.gpu import CopyEngine
from tierscope.model.spec import Sampling
from tierscope.model.topology import Topology
from tierscope.plans import grammar, options
from tierscope.plans.axes import checked, choices, identity, sizes
from tierscope.plans.gpu import SAMPLING, flag, sampling_of
from tierscope.plans.options import Option
from tierscope.plans.request import Request, RequestForm

HANDLES: tuple[str, ...] = Handles.__args__  # type: ignore[attr-defined]


def expand(request: Request, _topology: Topology, _thp: bool) -> Iterator[GpuRanksSpec]:
    """Yield every pair's copies, over engines, sides and sizes."""
    engines: list[Any] = choices(request, "engine", ENGINES) or ["ce"]
    sides = choices(request, "side", SIDES) or ["read"]
    handles: list[Any] = choices(request, "handles", HANDLES) or ["any"]
    both_ways = flag(request, "both-ways")
    every = rank_gpus()
    pairs = checked(request, "pairs", _pairs, request.options.get("pairs", "all"), len(every))
    points = itertools.product(pairs, engines, sides, sizes(request, "size") or [LARGE], handles)
    for (source, destination), engine, side, size, kind in points:
        writes = side == "write"
        transfers = [rank_transfer(every, source, destination, engine, writes=writes)]
        if both_ways:
            transfers.append(rank_transfer(every, destination, source, engine, writes=writes))
        parts = [request.name or "ranks", f"{source}-{destination}", engine, side]
        parts += ["both-ways"] if both_ways else []
        parts += [grammar.format_size(size), *([kind] if len(handles) > 1 else [])]
        yield ranks_spec(
            identity(parts),
            every,
            transfers,
            size=size,
            sampling=sampling_of(request),
            handles=kind,
        )


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


def ranks_spec(
    name: str,
    every: Sequence[RankGpu],
    transfers: Sequence[RankTransfer],
    *,
    size: int = LARGE,
    sampling: Sampling = SAMPLING,
    verify: bool = True,
    handles: Handles = "any",
) -> GpuRanksSpec:
    """Return a measurement of transfers that run at once."""
    counted = [one for one in transfers if one.reported]
    both_ways = len(transfers) == 2 and transfers[0].source == transfers[1].destination
    ends = counted[:1] if both_ways else counted
    return GpuRanksSpec(
        id=name,
        initiator=_joined(every, [one.source for one in ends]),
        target=_joined(every, [one.destination for one in ends]),
        cpus=every[transfers[0].rank].cpus,
        sampling=sampling,
        verify=verify,
        pattern=GpuRanksPattern(size=size),
        gpus=[one.gpu for one in every],
        hosts=[one.host for one in every],
        handles=handles,
        transfers=list(transfers),
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
        source, _, destination = word.partition("-")
        known = [part.isdecimal() and int(part) < count for part in (source, destination)]
        if not all(known) or source == destination:
            raise UserError(f"'{word}' is no pair of two ranks from 0 to {count - 1}, as in 0-1")
        found.append((int(source), int(destination)))
    return list(dict.fromkeys(found))


REQUEST = RequestForm(
    options=(
        Option("pairs", "LIST", "all, or source and destination as in 0-1,1-0", "all"),
        options.ENGINE,
        options.COPY_SIZE,
        Option("side", "LIST", "read (by the destination's GPU), write", "read"),
        Option("both-ways", "", "Concurrent copies in both directions", flag=True),
        Option(
            "handles",
            "LIST",
            "How ranks share memory: fabric (NVLink's, from other hosts too), ipc (of one host), "
            "any",
            "any",
        ),
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
