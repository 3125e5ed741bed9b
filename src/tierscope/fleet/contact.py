"""A rank's contact with rank 0: it asks until it gets an answer, or goes on alone.

On rank 0 it has the other ranks' requests answered as well.
"""

import contextlib
import sys
import time
from collections.abc import Callable

from tierscope.model.errors import ExitCode, UserError
from tierscope.model.fleet import ClockOffset
from tierscope.mpi.launcher import launcher_files
from tierscope.mpi.lines import LineProcess, Message

WAIT: Message = {"wait": True}
"""The answer of rank 0 after which a rank asks again."""
ALONE: Message = {"alone": True}
"""In place of an answer, where rank 0 is silent."""
_PING_PAUSE_S = 2e-4
"""For each rank: rank 0 serves 5000 pings a second at most, so each finds it free."""
_CLOCK_S = 60.0
_LEAVE_S = 10.0
"""That MPI gets to end in order."""


class Contact:
    """Carries requests to rank 0."""

    def __init__(self, patience_s: float) -> None:
        self.patience_s = patience_s
        """After which rank 0 counts as silent."""
        command = [sys.executable, "-m", "tierscope.fleet.messenger"]
        self.process = LineProcess(command, files=launcher_files())
        self.rank = -1
        self.size = 0
        self.alone = False
        """Rank 0 is silent, and is asked nothing more."""
        self._serve: Callable[[int, Message], Message] | None = None
        """On rank 0, answers a rank."""
        self._requests: list[Message] = []
        """That were not answered yet: other ranks may ask before this one knows that it is 0."""
        self._number = 0
        """Of the latest request: an answer to an earlier one comes too late."""
        self._asked_at: float | None = None
        self._answer: Message | None = None
        self._clock: Message | None = None
        self._clocked = False

    @property
    def interval_s(self) -> float:
        """Between two questions: rank 0 gets 2000 a second at most, however many ranks ask."""
        return max(0.02, 5e-4 * self.size)

    def send(self, request: Message) -> None:
        """Ask rank 0; ``answer`` has the answer later."""
        self._answer, self._asked_at = None, time.time()
        if self.alone:
            self._answer = ALONE
        elif self.rank == 0 and self._serve:
            self._answer = self._serve(0, request)
        else:
            self._number += 1
            self.process.tell({"ask": {"number": self._number, "request": request}})

    def answer(self) -> Message | None:
        """Return the answer once it is there, ``ALONE`` where none comes."""
        silent = self._asked_at is not None and time.time() - self._asked_at > self.patience_s
        if self._answer is None and self.rank != 0 and (silent or self.process.ended):
            self.alone, self._answer = True, ALONE
        return self._answer

    def read(self) -> None:
        """Read what the messenger says; to be called when ``select`` says that it said something.

        Raises UserError where MPI is missing.
        """
        for message in self.process.read():
            if "rank" in message:
                self.rank, self.size = message["rank"], message["size"]
            elif "request" in message:
                self._requests.append(message)
            elif "answer" in message and message["answer"]["number"] == self._number:
                self._answer = message["answer"]["answer"]
            elif "clock" in message:
                self._clock, self._clocked = message["clock"], True
            elif "broken" in message:
                raise UserError(message["broken"], ExitCode.NOTHING_MEASURED)
        self._serve_all()

    def start_serving(self, serve: Callable[[int, Message], Message]) -> None:
        """On rank 0, have ``serve`` answer each rank's requests, from the first one on."""
        self._serve = serve
        self._serve_all()

    def _serve_all(self) -> None:
        if self._serve is None:
            return
        for message in self._requests:
            asked = message["request"]
            reply = self._serve(message["from"], asked["request"])
            answer = {"number": asked["number"], "answer": reply}
            self.process.tell({"to": message["from"], "answer": answer})
        self._requests.clear()

    def clock(self, turn: Callable[[], None]) -> ClockOffset | None:
        """Return how far this host's clock is ahead of rank 0's; ``turn`` lets time pass."""
        if self.rank == 0:
            return ClockOffset(offset_ns=0, low_ns=0, high_ns=0, round_trip_ns=0, round_trips=0)
        if self.alone:
            return None
        self._clocked = False
        self.process.tell({"clock": self.size * _PING_PAUSE_S})
        deadline = time.time() + max(_CLOCK_S, self.patience_s)
        while not self._clocked and not self.process.ended and time.time() < deadline:
            turn()
        if not self._clocked or self._clock is None:
            return None
        return offset_of(self._clock)

    def close(self, in_order: bool) -> None:
        """Leave MPI; ``in_order`` only where every rank does, since MPI waits for all of them."""
        self.process.tell({"leave": in_order})
        with contextlib.suppress(Exception):
            self.process.process.wait(_LEAVE_S)
        self.process.process.kill()
        self.process.process.wait()


def offset_of(clock: Message) -> ClockOffset:
    """Return the offset of the messenger's quickest round trip."""
    ahead, trip = clock["ahead"], clock["round_trip"]
    half = -(-trip // 2)
    return ClockOffset(
        offset_ns=ahead,
        low_ns=ahead - half,
        high_ns=ahead + half,
        round_trip_ns=trip,
        round_trips=clock["round_trips"],
    )
