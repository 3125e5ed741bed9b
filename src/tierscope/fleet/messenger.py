"""The process of a rank that speaks MPI; ``transport`` has the other end of its standard streams.

Open MPI 4.1 ends a process that sends to a dead rank over TCP, whatever error handler it has (FATAL
in pml_ob1_sendreq.c). So MPI has a process of its own, and rank 0 sends only to a rank that it
heard of a moment ago. Hosts of a fleet ask rank 0, which answers at once; in between they are
silent, and nothing polls while they measure. Ranks that wait for orders of rank 0 say READY every
beat. A rank that carries out an order sends nothing but measured messages.
"""

import os
import platform
import time
from dataclasses import dataclass
from typing import Any

from tierscope.fleet.transport import Message, ParentLines, World, start
from tierscope.kinds.registry import KINDS
from tierscope.machine.launcher import launched_rank
from tierscope.model.errors import UserError

_REQUEST, _ANSWER, _PING, _PONG, _READY, _ORDER = range(1001, 1007)
"""Tags of messages; kinds take tags below 1000."""
_NAP_S = 0.005
"""Pause between two looks for messages."""
_SPIN_S = 0.003
"""After a ping, rank 0 looks for the next one without a nap: the round trip is measured."""
_PINGS = 64
_PONG_S = 2.0
"""Timeout of a ping."""
_BEATS = 3
"""A rank whose last sign of life is older than so many beats gets no order."""
_SILENT_S = 10.0
"""A rank that gives no sign of life for so long, while an order waits for it, is lost."""


def main() -> None:
    """Serve until told to leave, or until standard input ends, which is when the rank ended."""
    lines = ParentLines()
    try:
        world = start()
    except UserError as error:
        lines.tell({"broken": str(error)})
        return
    world.leave(_Messenger(world, lines).serve())


@dataclass
class _Batch:
    """Orders that are sent together, once all their ranks are there."""

    orders: dict[int, Message]
    """By rank."""
    since: float


class _Messenger:
    def __init__(self, world: World, lines: ParentLines) -> None:
        self._world = world
        self._lines = lines
        self._sends: list[Any] = []
        """Sends that are under way; their buffers have to live."""
        self._asked: int | None = None
        """Number of the latest request, until it is answered. One before it may be answered, too,
        meanwhile."""
        self._pings = 0
        self._pinged = 0.0
        self._heard: dict[int, float] = {}
        """When each rank said READY last, by time.monotonic(), unless it got an order since."""
        self._serving: set[int] = set()
        """Ranks that wait for orders until they are told to leave."""
        self._batch: _Batch | None = None
        """The latest orders, until they are sent."""

    def serve(self) -> bool:
        """Carry messages; return whether to leave MPI in order."""
        world = self._world
        self._lines.tell({"rank": world.rank, "size": world.size, "facts": _facts(world)})
        leaving = None
        while leaving is None:
            for message in self._lines.read(self._wait_s()):
                if "leave" in message:
                    leaving = bool(message["leave"])
                else:
                    self._obey(message)
            if self._lines.ended:
                leaving = leaving or False
            self._receive()
            self._send_batch()
        self._dismiss(leaving)
        return leaving

    def _wait_s(self) -> float | None:
        """Return how long to wait for the parent before the next look for messages."""
        if time.monotonic() - self._pinged < _SPIN_S:
            return 0.0
        return _NAP_S if self._world.rank == 0 or self._asked is not None else None

    def _obey(self, message: Message) -> None:
        if "ask" in message:
            self._asked = message["ask"]["number"]
            self._send(0, _REQUEST, message["ask"])
        elif "answer" in message:
            self._send(message["to"], _ANSWER, message["answer"])
        elif "clock" in message:
            self._lines.tell({"clock": self._clock(message["clock"])})
        else:
            common = {"number": message["number"], "kind": message["kind"]}
            orders = {rank: {**common, "request": one} for rank, one in message["requests"]}
            self._batch = _Batch(orders, time.monotonic())

    def _send(self, to: int, tag: int, message: Any) -> None:
        self._sends = [one for one in self._sends if not one.Test()]
        self._sends.append(self._world.comm.isend(message, dest=to, tag=tag))

    def _receive(self) -> None:
        comm, status = self._world.comm, self._world.mpi.Status()
        for tag in (_PING, _REQUEST, _ANSWER, _READY):
            while comm.iprobe(source=self._world.mpi.ANY_SOURCE, tag=tag, status=status):
                source = status.Get_source()
                message = comm.recv(source=source, tag=tag)
                if tag == _PING:
                    self._pinged = time.monotonic()
                    self._send(source, _PONG, (message, time.time_ns()))
                elif tag == _ANSWER:
                    if message["number"] == self._asked:
                        self._asked = None
                    self._lines.tell({"answer": message})
                else:
                    if tag == _READY:
                        self._heard[source] = time.monotonic()
                        self._serving.add(source)
                    if message:
                        self._lines.tell({"from": source, "said": message})

    def _clock(self, pause_s: float) -> Message | None:
        """Return this host's clock less rank 0's by the quickest of many round trips, in ns.

        None where rank 0 is silent.
        """
        best: tuple[int, int] | None = None
        for _ in range(_PINGS):
            self._pings += 1
            began = time.time_ns()
            self._send(0, _PING, self._pings)
            there = self._pong()
            if there is None:
                return None
            ended = time.time_ns()
            trip = ended - began
            if trip > 0 and (best is None or trip < best[0]):
                best = (trip, (began + ended) // 2 - there)
            time.sleep(pause_s)
        if best is None:
            return None
        trip, ahead = best
        half = -(-trip // 2)
        return {
            "offset_ns": ahead,
            "low_ns": ahead - half,
            "high_ns": ahead + half,
            "round_trip_ns": trip,
            "round_trips": _PINGS,
        }

    def _pong(self) -> int | None:
        """Return rank 0's clock when it got the latest ping, in ns; None where it is silent."""
        comm = self._world.comm
        deadline = time.monotonic() + _PONG_S
        while time.monotonic() < deadline:
            if comm.iprobe(source=0, tag=_PONG):
                number, there = comm.recv(source=0, tag=_PONG)
                if number == self._pings:  # an earlier one may be answered after it was given up
                    return int(there)
        return None

    def _send_batch(self) -> None:
        """Send the latest orders once all their ranks are there."""
        batch = self._batch
        if batch is None:
            return
        silent = [rank for rank in batch.orders if not self._is_there(rank)]
        if silent and time.monotonic() - batch.since < _SILENT_S:
            return
        self._batch = None
        if silent:
            self._refuse(batch, silent)
            return
        own = batch.orders.pop(0, None)
        for rank, order in batch.orders.items():
            self._order(rank, order)
        if own:
            self._carry_out(own)

    def _is_there(self, rank: int) -> bool:
        since = time.monotonic() - _BEATS * _beat_s(self._world)
        return rank == 0 or self._heard.get(rank, 0.0) > since

    def _refuse(self, batch: _Batch, silent: list[int]) -> None:
        """Ask nobody of a batch whose ranks are not all there."""
        for rank, order in batch.orders.items():
            said: Message
            if rank in silent:
                said = {"lost": f"rank {rank} is silent"}
            else:
                said = {"reply": {"failed": f"rank {silent[0]} is silent"}}
            self._lines.tell({"from": rank, "said": {"number": order["number"], **said}})

    def _order(self, rank: int, order: Message) -> None:
        self._send(rank, _ORDER, order)
        self._heard.pop(rank, None)

    def _carry_out(self, order: Message) -> None:
        """Answer a request to this rank."""
        for send in self._sends:
            send.wait()
        self._lines.tell({"from": 0, "said": _reply(self._world, order)})
        self._receive()
        self._heard.clear()  # a READY that arrived meanwhile may be as old as the request

    def _dismiss(self, in_order: bool) -> None:
        """Tell ranks to leave that say READY within ten beats."""
        until = time.monotonic() + 10 * _beat_s(self._world)
        while self._serving and time.monotonic() < until:
            self._receive()
            for rank in self._serving & self._heard.keys():
                self._order(rank, {"leave": in_order})
                self._serving.remove(rank)
            time.sleep(_NAP_S)


def served() -> bool:
    """On any other rank than 0, carry out rank 0's orders to the end of its command; return whether
    this is such a rank.

    Raises UserError where there is no MPI.
    """
    if not launched_rank():
        return False
    world = start()
    said: Message = {"facts": _facts(world)}
    sends: list[Any] = []
    while True:
        sends = [one for one in sends if not one.Test()]
        sends.append(world.comm.isend(said, dest=0, tag=_READY))
        order = _next_order(world)
        if order is not None and "leave" in order:
            world.leave(order["leave"])
            return True
        said = _reply(world, order) if order else {}


def _next_order(world: World) -> Message | None:
    """Return the next order; None where none came within a beat."""
    until = time.monotonic() + _beat_s(world)
    while time.monotonic() < until:
        if world.comm.iprobe(source=0, tag=_ORDER):
            found: Message = world.comm.recv(source=0, tag=_ORDER)
            return found
        time.sleep(_NAP_S)
    return None


def _beat_s(world: World) -> float:
    """Seconds between two signs of life of an idle rank: rank 0 gets 1000 a second at most."""
    return max(0.1, 1e-3 * world.size)


def _facts(world: World) -> Message:
    """Return what a rank says of itself at first."""
    return {
        "host": platform.node(),
        "cpus": sorted(os.sched_getaffinity(0)),
        "mpi": world.library,
    }


def _reply(world: World, order: Message) -> Message:
    """Have a request's kind answer it; an error is a reply, too: ``failed``."""
    try:
        reply = KINDS[order["kind"]].served(order["request"], world)
    except UserError as error:
        reply = {"failed": str(error)}
    except Exception as error:
        reply = {"failed": f"{type(error).__name__}: {error}"}
    return {"number": order["number"], "reply": reply}


if __name__ == "__main__":
    main()
