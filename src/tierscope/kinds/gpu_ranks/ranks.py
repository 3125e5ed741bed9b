"""Which GPU each rank has."""

from collections import Counter
from dataclasses import dataclass

from tierscope.model.errors import ExitCode, UserError
from tierscope.mpi import ranks as mpi
from tierscope.mpi.launcher import launched_rank

KIND = "gpu-ranks"
_LOOK_S = 120.0
"""That ranks get to say which GPU they have."""
START = "start one rank for each GPU: mpirun -n 2 tierscope ..., srun --ntasks-per-node=8 ..."


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
    ranks.ask(KIND, requests)
    said = ranks.answers(requests, _LOOK_S)
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
