"""The process of a rank that speaks MPI, with a fake MPI and a fake rank."""

from collections import deque
from typing import Any

from tierscope.fleet.messenger import (
    _ANSWER,
    _PING,
    _PONG,
    _READY,
    _REQUEST,
    _Messenger,
)
from tierscope.fleet.transport import Message, World


class FakeMpi:
    """Rank 0, of which only answers are seen, and the module ``mpi4py.MPI``."""

    ANY_SOURCE = -1

    class Status:
        """Of a message from rank 0."""

        Get_source = staticmethod(lambda: 0)

    def __init__(self) -> None:
        self.sent: list[tuple[int, Any]] = []
        self.arrived: dict[int, deque[Any]] = {
            tag: deque() for tag in (_REQUEST, _ANSWER, _PING, _PONG, _READY)
        }
        self.silent_pings: set[int] = set()
        self.late_pongs: list[Any] = []

    Get_library_version = staticmethod(lambda: "Fake MPI 1")

    def isend(self, message: Any, dest: int, tag: int) -> "FakeMpi":
        assert dest == 0
        self.sent.append((tag, message))
        if tag == _PING:
            self.arrived[_PONG].extend(self.late_pongs)
            self.late_pongs.clear()
            pong = (message, 10**15)
            late = message in self.silent_pings
            (self.late_pongs if late else self.arrived[_PONG]).append(pong)
        return self

    Test = staticmethod(lambda: True)
    """Whether what was sent has arrived."""

    def iprobe(self, tag: int, **_: Any) -> bool:
        return bool(self.arrived[tag])

    def recv(self, tag: int, **_: Any) -> Any:
        return self.arrived[tag].popleft()


class FakeLines:
    """The rank: what it orders, and what it is told. It ends when it has no more orders."""

    def __init__(self, mpi: FakeMpi, steps: list[Any]) -> None:
        self.told: list[Message] = []
        self._mpi, self._steps = mpi, deque(steps)
        self.waited_for_ever = 0
        self.ended = False

    def read(self, wait_s: float | None) -> list[Message]:
        """Take a step: orders of the rank, or an answer (an int, its number) that arrives."""
        self.waited_for_ever += wait_s is None
        if not self._steps:
            self.ended = True
            return []
        step = self._steps[0]
        if isinstance(step, int):
            if wait_s is None:  # nothing but an order ends this wait, and the rank gives none
                self.ended = True
                return []
            self._mpi.arrived[_ANSWER].append({"number": self._steps.popleft(), "answer": {}})
            return []
        return [self._steps.popleft()]

    def tell(self, message: Message) -> None:
        if "rank" not in message:
            self.told.append(message)


def ask(number: int) -> Message:
    return {"ask": {"number": number, "request": {"busy": {}}}}


def serve(mpi: FakeMpi, *steps: Any) -> FakeLines:
    lines = FakeLines(mpi, list(steps))
    other_end: Any = lines
    _Messenger(World(mpi, mpi, rank=1, size=2), other_end).serve()
    return lines


def test_the_answer_to_an_earlier_request_does_not_end_the_wait_for_the_latest() -> None:
    lines = serve(FakeMpi(), ask(1), ask(2), 1, 2)
    assert [one["answer"]["number"] for one in lines.told] == [1, 2]


def test_a_rank_that_asked_nothing_waits_without_polling() -> None:
    lines = serve(FakeMpi(), ask(1), 1, ask(2), 2)
    assert [one["answer"]["number"] for one in lines.told] == [1, 2]
    assert lines.waited_for_ever == 3, "before each request and after the last answer"


def test_a_late_answer_to_a_ping_is_not_taken_for_that_of_the_next(monkeypatch: Any) -> None:
    monkeypatch.setattr("tierscope.fleet.messenger._PONG_S", 0.01)
    mpi = FakeMpi()
    mpi.silent_pings = {3}
    first, second = serve(mpi, {"clock": 0.0}, {"clock": 0.0}).told
    assert first == {"clock": None}, "rank 0 was silent"
    assert second["clock"]["round_trips"] == 64
    assert not mpi.arrived[_PONG], "each ping got its own answer"
