"""The process of a rank that speaks MPI: it carries requests to rank 0, and answers back.

Open MPI 4.1 ends a process that sends to a dead rank, whatever error handler it has (FATAL in
pml_ob1_sendreq.c). So MPI has a process of its own, and its death costs neither the rank nor its
measuring. Rank 0 only answers: it sends to nobody that did not ask a moment ago. Every other rank
is silent between its requests, so nothing polls while it measures; rank 0 looks for requests
every few milliseconds.

Lines of JSON on standard input and output; ``Link`` is the other end.
"""

import json
import os
import select
import signal
import sys
import time
from typing import Any

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
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        _say({"broken": str(error).splitlines()[0]})
        return
    for number in (signal.SIGINT, signal.SIGTERM):  # the rank ends in order, and this with it
        signal.signal(number, signal.SIG_IGN)
    world = MPI.COMM_WORLD
    world.Set_errhandler(MPI.ERRORS_RETURN)
    _say({"rank": world.Get_rank(), "size": world.Get_size()})
    messenger = _Messenger(world, MPI)
    finalize = messenger.serve()
    if finalize:
        MPI.Finalize()
    sys.stdout.flush()
    os._exit(0)  # MPI's own exit waits for every rank, dead ones too


class _Messenger:
    def __init__(self, world: Any, mpi: Any) -> None:
        self._world = world
        self._mpi = mpi
        self._rank = world.Get_rank()
        self._pending: list[Any] = []
        """Sends that are under way; their buffers have to live."""
        self._rest = b""
        self._asked = False
        self._pinged = 0.0

    def serve(self) -> bool:
        """Carry messages; return whether to leave MPI in order."""
        while True:
            listening = self._rank == 0 or self._asked
            spinning = time.monotonic() - self._pinged < _SPIN_S
            wait = (0.0 if spinning else _NAP_S) if listening else None
            ready, _, _ = select.select([0], [], [], wait)
            if ready:
                data = os.read(0, 1 << 16)
                if not data:
                    return False
                *lines, self._rest = (self._rest + data).split(b"\n")
                for line in lines:
                    order = json.loads(line)
                    if "leave" in order:
                        return bool(order["leave"])
                    self._obey(order)
            self._receive()

    def _obey(self, order: dict[str, Any]) -> None:
        if "ask" in order:
            self._asked = True
            self._send(0, _REQUEST, order["ask"])
        elif "answer" in order:
            self._send(order["to"], _ANSWER, order["answer"])
        elif "clock" in order:
            _say({"clock": self._clock(order["clock"])})

    def _receive(self) -> None:
        status = self._mpi.Status()
        for tag in (_PING, _REQUEST, _ANSWER):
            while self._world.iprobe(source=self._mpi.ANY_SOURCE, tag=tag, status=status):
                source = status.Get_source()
                message = self._world.recv(source=source, tag=tag)
                if tag == _PING:
                    self._pinged = time.monotonic()
                    self._send(source, _PONG, (message, time.time_ns()))
                elif tag == _REQUEST:
                    _say({"from": source, "request": message})
                else:
                    self._asked = False
                    _say({"answer": message})
        self._pending = [one for one in self._pending if not one.Test()]

    def _send(self, to: int, tag: int, message: Any) -> None:
        self._pending.append(self._world.isend(message, dest=to, tag=tag))

    def _clock(self, pause_s: float) -> dict[str, int] | None:
        """Return the quickest of many round trips to rank 0, in ns; None where it is silent.

        ``ahead`` is this host's clock in the middle of that round trip, less rank 0's.
        """
        best: tuple[int, int] | None = None
        for number in range(_PINGS):
            began = time.time_ns()
            self._send(0, _PING, number)
            deadline = time.monotonic() + _PONG_S
            while not self._world.iprobe(source=0, tag=_PONG):
                if time.monotonic() > deadline:
                    return None
            _, there = self._world.recv(source=0, tag=_PONG)
            ended = time.time_ns()
            trip = ended - began
            if trip > 0 and (best is None or trip < best[0]):
                best = (trip, (began + ended) // 2 - there)
            time.sleep(pause_s)
        return {"round_trip": best[0], "ahead": best[1], "round_trips": _PINGS} if best else None


def _say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
