"""The process of rank 0 that speaks MPI: it carries requests to all ranks, and answers its own.

MPI has a process of its own on rank 0, so that its end costs measurements that are left, but not
the run file. Lines of JSON on standard input and output; ``Ranks`` is the other end.
"""

import time
from dataclasses import dataclass
from typing import Any

from tierscope.model.errors import UserError
from tierscope.mpi.lines import Message, ParentLines
from tierscope.mpi.serving import NAP_S, ORDER, READY, REPLY, answer, facts
from tierscope.mpi.world import World, start

_BEATS = 3
"""A rank whose last sign of life is older than so many beats gets no order."""
_SILENT_S = 10.0
"""A rank that gives no sign of life for so long, while an order waits for it, is lost."""


def main() -> None:
    """Serve until told to leave, or until standard input ends, which is when the command ended."""
    lines = ParentLines()
    try:
        world = start()
    except UserError as error:
        lines.tell({"broken": str(error)})
        return
    _Post(world, lines).serve()


@dataclass
class _Batch:
    """Orders that are sent together, once all their ranks are there."""

    orders: dict[int, Message]
    """By rank."""
    since: float


class _Post:
    def __init__(self, world: World, lines: ParentLines) -> None:
        self._world = world
        self._lines = lines
        self._heard: dict[int, float] = {}
        """When each rank was last heard of, by time.monotonic()."""
        self._batches: list[_Batch] = []
        """Not yet sent."""
        self._sends: list[Any] = []
        """Sends that are under way; their buffers have to live."""

    def serve(self) -> None:
        """Carry messages until told to leave."""
        self._lines.tell({"size": self._world.size, "from": 0, "facts": facts(self._world)})
        leaving = None
        while leaving is None:
            leaving = self._read()
            self._receive()
            self._send()
        self._dismiss(leaving)
        self._world.leave(leaving)

    def _read(self) -> bool | None:
        """Take what the command says; return whether to leave MPI in order, once it says so."""
        messages = self._lines.read(NAP_S)
        if messages is None:
            return False
        for message in messages:
            if "leave" in message:
                return bool(message["leave"])
            orders = {order["to"]: order for order in message["orders"]}
            self._batches.append(_Batch(orders, time.monotonic()))
        return None

    def _receive(self) -> None:
        comm = self._world.comm
        status = self._world.mpi.Status()
        for tag in (READY, REPLY):
            while comm.iprobe(source=self._world.mpi.ANY_SOURCE, tag=tag, status=status):
                source = status.Get_source()
                message = comm.recv(source=source, tag=tag)
                self._heard[source] = time.monotonic()
                if message:
                    self._lines.tell({"from": source, **message})

    def _send(self) -> None:
        """Send the orders of batches whose ranks are all there."""
        self._sends = [one for one in self._sends if not one.Test()]
        for batch in self._batches[:]:
            silent = [rank for rank in batch.orders if not self._is_there(rank)]
            if silent and time.monotonic() - batch.since < _SILENT_S:
                continue
            self._batches.remove(batch)
            if silent:
                self._refuse(batch, silent)
                continue
            own = batch.orders.pop(0, None)
            for rank, order in batch.orders.items():
                self._order(rank, order)
            if own:
                self._serve_self(own)

    def _is_there(self, rank: int) -> bool:
        since = time.monotonic() - _BEATS * self._world.beat_s
        return rank == 0 or self._heard.get(rank, 0.0) > since

    def _refuse(self, batch: _Batch, silent: list[int]) -> None:
        """Ask nobody of a batch whose ranks are not all there."""
        for rank, order in batch.orders.items():
            answered: Message
            if rank in silent:
                answered = {"lost": f"rank {rank} is silent"}
            else:
                answered = {"reply": {"failed": f"rank {silent[0]} is silent"}}
            self._lines.tell({"from": rank, "number": order["number"], **answered})

    def _order(self, rank: int, order: Message) -> None:
        self._sends.append(self._world.comm.isend(order, dest=rank, tag=ORDER))
        self._heard.pop(rank, None)

    def _serve_self(self, order: Message) -> None:
        """Answer a request to this rank."""
        for send in self._sends:
            send.wait()
        self._lines.tell(
            {"from": 0, "number": order["number"], "reply": answer(self._world, order)}
        )
        self._receive()
        self._heard.clear()  # what arrived meanwhile may be as old as the request

    def _dismiss(self, in_order: bool) -> None:
        """Let all ranks leave that say within a while that they are there."""
        in_time = time.monotonic() + 10 * self._world.beat_s
        left = {0}
        while len(left) < self._world.size and time.monotonic() < in_time:
            self._receive()
            for rank in [rank for rank in self._heard if rank not in left]:
                self._order(rank, {"leave": in_order})
                left.add(rank)
            time.sleep(NAP_S)


if __name__ == "__main__":
    main()
