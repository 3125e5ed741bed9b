"""What engines of several ranks tell each other during a visit, carried over MPI.

The leader's rank hears every other one and answers all. A rank's last message of a visit says that
its engine ended; whoever still exchanges something then is told that the rank is lost.
"""

import time
from typing import Any

from tierscope.mpi.world import World

_SAID, _ANSWER = 801, 802
"""Tags of messages."""
_PATIENCE_S = 120.0
"""An engine that starts its GPU, or tunes, says nothing for a while; above what the engine itself
gets to start."""
_SPIN_S = 0.02
_NAP_S = 2e-4
"""Between two looks, once nothing came for ``_SPIN_S``."""

Message = dict[str, Any]


class Relay:
    """One visit's exchanges, on one rank."""

    def __init__(self, world: World, number: int, taking_part: list[int], leader: int) -> None:
        self._world = world
        self._number = number
        """Of the visit: messages of another one are left over from what went wrong."""
        self._leader = leader
        self._others = [rank for rank in taking_part if rank != world.rank]
        self._all = taking_part
        self._sends: list[Any] = []
        self._ended: dict[int, str] = {}
        """On the leader: ranks whose engine ended, and why."""

    def exchange(self, said: Message) -> Message:
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

    def _hear(self, rank: int) -> Message | None:
        """Return what a rank says; None where it ended."""
        if rank in self._ended:
            return None
        message = self._receive(rank, _SAID) or {"ended": f"rank {rank} is silent"}
        if "ended" in message:
            self._ended[rank] = message["ended"]
            return None
        said: Message = message["said"]
        return said

    def _send(self, rank: int, tag: int, message: Message) -> None:
        self._sends = [one for one in self._sends if not one.Test()]
        message = {**message, "number": self._number}
        self._sends.append(self._world.comm.isend(message, dest=rank, tag=tag))

    def _receive(self, rank: int, tag: int) -> Message | None:
        comm = self._world.comm
        began = time.monotonic()
        while True:
            if comm.iprobe(source=rank, tag=tag):
                message: Message = comm.recv(source=rank, tag=tag)
                if message.pop("number") == self._number:
                    return message
                continue
            waited = time.monotonic() - began
            if waited > _PATIENCE_S:
                return None
            if waited > _SPIN_S:
                time.sleep(_NAP_S)
