"""The process of a rank that speaks MPI: it carries requests to rank 0, and answers back.

Open MPI 4.1 ends a process that sends to a dead rank, whatever error handler it has (FATAL in
pml_ob1_sendreq.c). So MPI has a process of its own, and its death costs neither the rank nor its
measuring. Rank 0 only answers: it sends to nobody that did not ask a moment ago. Every other rank
is silent between its requests, so nothing polls while it measures; rank 0 looks for requests
every few milliseconds.

Lines of JSON on standard input and output; ``Contact`` is the other end.
"""

import time
from typing import Any

from tierscope.model.errors import UserError
from tierscope.mpi.lines import Message, ParentLines
from tierscope.mpi.world import World, start

_REQUEST, _ANSWER, _PING, _PONG = 1, 2, 3, 4
_NAP_S = 0.005
"""Between two looks for messages."""
_SPIN_S = 0.003
"""After a ping, rank 0 looks for the next one without a nap: the round trip is measured."""
_PINGS = 64
_PONG_S = 2.0
"""A ping without an answer is given up after this."""


def main() -> None:
    """Serve until standard input ends, which is when the rank ended."""
    lines = ParentLines()
    try:
        world = start()
    except UserError as error:
        lines.tell({"broken": str(error)})
        return
    lines.tell({"rank": world.rank, "size": world.size})
    world.leave(_Messenger(world, lines).serve())


class _Messenger:
    def __init__(self, world: World, lines: ParentLines) -> None:
        self._world = world
        self._lines = lines
        self._pending: list[Any] = []
        """Sends that are under way; their buffers have to live."""
        self._asked: int | None = None
        """Number of the latest request, until it is answered. One before it may be answered, too,
        meanwhile."""
        self._pings = 0
        self._pinged = 0.0

    def serve(self) -> bool:
        """Carry messages; return whether to leave MPI in order."""
        while True:
            listening = self._world.rank == 0 or self._asked is not None
            spinning = time.monotonic() - self._pinged < _SPIN_S
            wait = (0.0 if spinning else _NAP_S) if listening else None
            orders = self._lines.read(wait)
            if orders is None:
                return False
            for order in orders:
                if "leave" in order:
                    return bool(order["leave"])
                self._obey(order)
            self._receive()

    def _obey(self, order: Message) -> None:
        if "ask" in order:
            self._asked = order["ask"]["number"]
            self._send(0, _REQUEST, order["ask"])
        elif "answer" in order:
            self._send(order["to"], _ANSWER, order["answer"])
        elif "clock" in order:
            self._lines.tell({"clock": self._clock(order["clock"])})

    def _receive(self) -> None:
        comm, status = self._world.comm, self._world.mpi.Status()
        for tag in (_PING, _REQUEST, _ANSWER):
            while comm.iprobe(source=self._world.mpi.ANY_SOURCE, tag=tag, status=status):
                source = status.Get_source()
                message = comm.recv(source=source, tag=tag)
                if tag == _PING:
                    self._pinged = time.monotonic()
                    self._send(source, _PONG, (message, time.time_ns()))
                elif tag == _REQUEST:
                    self._lines.tell({"from": source, "request": message})
                else:
                    if message["number"] == self._asked:
                        self._asked = None
                    self._lines.tell({"answer": message})
        self._pending = [one for one in self._pending if not one.Test()]

    def _send(self, to: int, tag: int, message: Any) -> None:
        self._pending.append(self._world.comm.isend(message, dest=to, tag=tag))

    def _clock(self, pause_s: float) -> dict[str, int] | None:
        """Return the quickest of many round trips to rank 0, in ns; None where it is silent.

        ``ahead`` is this host's clock in the middle of that round trip, less rank 0's.
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
        return {"round_trip": best[0], "ahead": best[1], "round_trips": _PINGS} if best else None

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


if __name__ == "__main__":
    main()
