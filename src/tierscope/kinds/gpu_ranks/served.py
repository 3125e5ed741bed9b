"""The work of a rank for rank 0: it names its GPU, and repeats with an engine of its
own."""

import atexit
from dataclasses import dataclass, field

from tierscope.engine.process import capabilities
from tierscope.engine.repetitions import LivingEngine
from tierscope.fleet.transport import Message, World
from tierscope.kinds.gpu_ranks.measurer import Relay
from tierscope.kinds.gpu_ranks.spec import KIND, GpuRanksSpec
from tierscope.machine.discover import discover
from tierscope.machine.launcher import unbind
from tierscope.model.cause import Cause
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.event import Exchange, Failed, Repetition, Skipped
from tierscope.model.topology import Gpu, Topology
from tierscope.plans.gpu import gpu_cpus


@dataclass
class _Rank:
    """State between requests."""

    topology: Topology
    engine: LivingEngine
    cpus: list[int]
    planned: set[str] = field(default_factory=set)


def serve(request: Message, world: World) -> Message:
    """Answer a request of rank 0."""
    if request["do"] == "look":
        return _look(request["number"], world)
    rank: _Rank = world.kept[KIND]
    if request["do"] == "forget":
        if request["name"] in rank.planned:
            rank.planned.remove(request["name"])
            rank.engine.forget(request["name"])
        return {}
    return _repetition(request, rank, world)


def _look(number: int, world: World) -> Message:
    """Return the GPU of the rank that is the ``number``-th of its host."""
    if KIND not in world.kept:
        unbind()
        gpu = next(one for one in capabilities().capabilities if one.name == "gpu")
        if not gpu.available:
            raise UserError(
                f"no GPU can be used: {gpu.reason}; {gpu.remedy}", ExitCode.NOTHING_MEASURED
            )
        engine = LivingEngine()
        atexit.register(engine.close)
        world.kept[KIND] = _Rank(discover(), engine, [])
    rank: _Rank = world.kept[KIND]
    found = _own_gpu(rank.topology.gpus, number)
    rank.cpus = gpu_cpus(rank.topology, found)
    return {
        "gpu": found.index,
        "name": found.name,
        "uuid": found.uuid or f"{world.rank}:{found.index}",
        "cpus": rank.cpus,
    }


def _own_gpu(gpus: list[Gpu], number: int) -> Gpu:
    """Return the GPU of the same number, or the only one that the launcher lets this rank see."""
    if len(gpus) == 1:
        return gpus[0]
    if number >= len(gpus):
        raise UserError(f"it is rank {number + 1} of its host, which has {len(gpus)} GPUs")
    return gpus[number]


def _repetition(request: Message, rank: _Rank, world: World) -> Message:
    """Make one repetition with all other ranks that take part."""
    spec = GpuRanksSpec.model_validate_json(request["spec"])
    spec = spec.model_copy(update={"rank": world.rank, "cpus": rank.cpus})
    if spec.id not in rank.planned:
        rank.engine.plan([spec])
        rank.planned.add(spec.id)
    relay = Relay(world, request["repetition"], spec.taking_part(), spec.leader())
    ended: Repetition | Skipped | Failed | None = None
    lost = False
    try:
        for event in rank.engine.repetition(spec.id, request["seconds"], request["fresh"]):
            if isinstance(event, Exchange):
                answer = relay.exchange(event.said)
                lost = lost or "lost" in answer
                rank.engine.tell(answer)
            elif isinstance(event, Repetition | Skipped | Failed):
                ended = event
    except UserError as error:
        ended = Failed(id=spec.id, cause=Cause.OTHER, reason=str(error))
    finally:
        relay.end(_why(ended))
    outcome = ended or Failed(id=spec.id, cause=Cause.CRASH, reason=_why(None))
    return {"event": outcome.model_dump_json(exclude_none=True), "lost": lost}


def _why(event: Repetition | Skipped | Failed | None) -> str:
    if isinstance(event, Skipped | Failed):
        return event.reason
    return "its engine ended its repetition" if event else "its engine ended without an outcome"
