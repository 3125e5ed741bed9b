"""Messages between engines of several ranks during a repetition, carried over MPI.

The leader's rank hears every other one and answers all. A rank's last message of a repetition says
that its engine ended; whoever still exchanges something then is told that the rank is lost."""

import itertools
import time
from collections.abc import Generator, Sequence
from typing import Any

from tierscope.engine.repetitions import longest_repetition_s
from tierscope.fleet.transport import Message, World, ranks
from tierscope.kinds.gpu_ranks.spec import KIND, GpuRanksSpec
from tierscope.model.cause import Cause
from tierscope.model.event import Event, EventAdapter, Failed, Repetition, Skipped, Started
from tierscope.model.spec import MeasurementSpec

_SAID, _ANSWER = 801, 802
"""Tags of messages."""
_PATIENCE_S = 120.0
"""An engine that starts its GPU, or tunes, says nothing for a while; above what the engine itself
gets to start."""
_SPIN_S = 0.02
_NAP_S = 2e-4
"""Between two looks, once nothing came for ``_SPIN_S``."""

EngineMessage = dict[str, Any]
_MORE_S = 150.0
"""Beyond what an engine gets: ranks that wait for a lost one end first."""
_FORGET_S = 10.0


class Relay:
    """One repetition's exchanges, on one rank."""

    def __init__(self, world: World, number: int, taking_part: list[int], leader: int) -> None:
        self._world = world
        self._number = number
        """Of the repetition: messages of another one are left over from what went wrong."""
        self._leader = leader
        self._others = [rank for rank in taking_part if rank != world.rank]
        self._all = taking_part
        self._sends: list[Any] = []
        self._ended: dict[int, str] = {}
        """On the leader: ranks whose engine ended, and why."""

    def exchange(self, said: EngineMessage) -> EngineMessage:
        """Return what the engine is to be told: what all said, or who is lost."""
        if self._world.rank != self._leader:
            self._send(self._leader, _SAID, {"said": said})
            answer = self._receive(self._leader, _ANSWER)
            return answer or {"lost": f"rank {self._leader} is silent"}
        heard = {self._world.rank: said}
        for rank in self._others:
            message = self._hear(rank)
            if message is not None:
                heard[rank] = message
        answer = {"exchanged": [heard[rank] for rank in self._all]} if not self._ended else None
        answer = answer or {"lost": "; ".join(self._ended.values())}
        for rank in heard:
            if rank != self._world.rank:
                self._send(rank, _ANSWER, answer)
        return answer

    def end(self, why: str) -> None:
        """Say that this rank's engine ended, and on the leader, hear the others to their end."""
        why = f"rank {self._world.rank}: {why}"
        if self._world.rank != self._leader:
            self._send(self._leader, _SAID, {"ended": why})
        for rank in self._others if self._world.rank == self._leader else []:
            while rank not in self._ended:
                if self._hear(rank) is not None:
                    self._send(rank, _ANSWER, {"lost": why})
        for send in self._sends:
            send.wait()

    def _hear(self, rank: int) -> EngineMessage | None:
        """Return what a rank says; None where it ended."""
        if rank in self._ended:
            return None
        message = self._receive(rank, _SAID) or {"ended": f"rank {rank} is silent"}
        if "ended" in message:
            self._ended[rank] = message["ended"]
            return None
        said: EngineMessage = message["said"]
        return said

    def _send(self, rank: int, tag: int, message: EngineMessage) -> None:
        self._sends = [one for one in self._sends if not one.Test()]
        message = {**message, "number": self._number}
        self._sends.append(self._world.comm.isend(message, dest=rank, tag=tag))

    def _receive(self, rank: int, tag: int) -> EngineMessage | None:
        comm = self._world.comm
        began = time.monotonic()
        while True:
            if comm.iprobe(source=rank, tag=tag):
                message: EngineMessage = comm.recv(source=rank, tag=tag)
                if message.pop("number") == self._number:
                    return message
                continue
            waited = time.monotonic() - began
            if waited > _PATIENCE_S:
                return None
            if waited > _SPIN_S:
                time.sleep(_NAP_S)


class Measurer:
    """Repetitions one measurement after the other; see ``runs.measurers.Measurer``."""

    def __init__(self) -> None:
        self.interrupted = False
        self._given_up = False
        self._specs: dict[str, GpuRanksSpec] = {}
        self._numbers = itertools.count(1)

    def plan(self, specs: Sequence[MeasurementSpec]) -> None:
        """Add measurements whose ids are new."""
        self._specs |= {spec.id: spec for spec in specs if isinstance(spec, GpuRanksSpec)}

    def forget(self, name: str) -> None:
        """Do without a measurement from now on, on every rank."""
        spec = self._specs.pop(name)
        self._ask(spec, {"do": "forget", "name": name}, _FORGET_S)

    def repetition(
        self, name: str, seconds: float, fresh: bool = False
    ) -> Generator[Event, None, None]:
        """Have all ranks that take part make one repetition together."""
        yield Started(id=name)
        spec = self._specs[name]
        request = {
            "do": "repetition",
            "repetition": next(self._numbers),
            "spec": spec.model_dump_json(),
            "seconds": seconds,
            "fresh": fresh,
        }
        yield joined(spec, self._ask(spec, request, longest_repetition_s(spec, seconds) + _MORE_S))

    def interrupt(self) -> None:
        """Make no further repetition; the second time, leave the one that is under way."""
        self._given_up = self.interrupted
        self.interrupted = True

    def close(self) -> None:
        """Leave the ranks to whoever started MPI."""

    def _ask(self, spec: GpuRanksSpec, request: Message, longest_s: float) -> dict[int, Message]:
        requests = dict.fromkeys(spec.taking_part(), request)
        return ranks().ask(KIND, requests, longest_s, lambda: self._given_up)


def joined(spec: GpuRanksSpec, said: dict[int, Message]) -> Repetition | Skipped | Failed:
    """Return the leader's repetition with the GPUs of all in its evidence, or what went wrong
    first."""
    for rank, answer in said.items():
        if "failed" in answer:
            return Failed(id=spec.id, cause=Cause.RANK, reason=f"rank {rank}: {answer['failed']}")
    events = {rank: EventAdapter.validate_json(answer["event"]) for rank, answer in said.items()}
    # Who was told that another rank is lost is not the one to blame.
    for told in (False, True):
        for rank, event in events.items():
            if isinstance(event, Skipped | Failed) and said[rank]["lost"] is told:
                where = f"rank {rank} ({spec.hosts[rank]})"
                return event.model_copy(update={"reason": f"{where}: {event.reason}"})
    repetitions = {rank: event for rank, event in events.items() if isinstance(event, Repetition)}
    repetition = repetitions[spec.leader()]
    gpus = [gpu for one in repetitions.values() for gpu in one.evidence.gpus or ()]
    notes = [note for one in repetitions.values() for note in one.evidence.notes or ()]
    update = {"gpus": gpus, "notes": list(dict.fromkeys(notes)) or None}
    return repetition.model_copy(update={"evidence": repetition.evidence.model_copy(update=update)})
