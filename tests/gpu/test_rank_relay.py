"""What engines of several ranks tell each other, over mailboxes that stand in for MPI."""

from collections import defaultdict, deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from tierscope.fleet.transport import World
from tierscope.kinds.gpu_ranks import measurer as module
from tierscope.kinds.gpu_ranks.measurer import Relay

Boxes = defaultdict[tuple[int, int, int], "deque[Any]"]
"""Messages by source, destination and tag."""


class Sent:
    """A send that has ended."""

    def Test(self) -> bool:  # noqa: N802 - as in mpi4py
        return True

    def wait(self) -> None:
        pass


class Mailboxes:
    """One rank's view of all messages, with the calls of mpi4py that a relay makes."""

    def __init__(self, boxes: Boxes, rank: int) -> None:
        self._boxes = boxes
        self._rank = rank

    def isend(self, message: Any, dest: int, tag: int) -> Sent:
        self._boxes[self._rank, dest, tag].append(message)
        return Sent()

    def iprobe(self, source: int, tag: int) -> bool:
        return bool(self._boxes[source, self._rank, tag])

    def recv(self, source: int, tag: int) -> Any:
        return self._boxes[source, self._rank, tag].popleft()


TAKING_PART = [0, 2, 3]
LEADER = 2


def relays(boxes: Boxes, repetition: int = 1) -> list[Relay]:
    """Relays of three of four ranks, of which the second one leads."""
    return [
        Relay(World(None, Mailboxes(boxes, rank), rank, 4), repetition, TAKING_PART, LEADER)
        for rank in TAKING_PART
    ]


@pytest.fixture
def boxes() -> Boxes:
    return defaultdict(deque)


def test_each_gets_what_all_said_in_the_order_of_ranks(boxes: Boxes) -> None:
    first, leading, last = relays(boxes)
    with ThreadPoolExecutor() as pool:
        for turn in range(3):
            answers = [
                pool.submit(one.exchange, {"by": name, "turn": turn})
                for name, one in (("first", first), ("last", last), ("leading", leading))
            ]
            every = [{"by": name, "turn": turn} for name in ("first", "leading", "last")]
            for answer in answers:
                found = answer.result()
                assert found["exchanged"] == every
        ends = [pool.submit(one.end, "done") for one in (first, leading, last)]
    assert [end.result() for end in ends] == [None] * 3
    assert not any(boxes.values()), "nothing is left over"


def test_who_waits_is_told_which_engine_ended_and_why(boxes: Boxes) -> None:
    first, leading, last = relays(boxes)

    def waits(one: Relay) -> dict[str, Any]:
        answer = one.exchange({"size": 1})
        one.end("it was told")
        return answer

    with ThreadPoolExecutor() as pool:
        told: list[Future[dict[str, Any]]] = [pool.submit(waits, one) for one in (first, leading)]
        pool.submit(last.end, "out of memory").result()
    assert [one.result()["lost"] for one in told] == ["rank 3: out of memory"] * 2


def test_the_leader_s_end_is_told_to_all(boxes: Boxes) -> None:
    first, leading, last = relays(boxes)

    def waits(one: Relay) -> str:
        said = one.exchange({})["lost"]
        one.end("it was told")
        return str(said)

    with ThreadPoolExecutor() as pool:
        told = [pool.submit(waits, one) for one in (first, last)]
        pool.submit(leading.end, "its GPU fell off the bus").result()
    assert [one.result() for one in told] == ["rank 2: its GPU fell off the bus"] * 2


def test_a_silent_rank_is_lost(boxes: Boxes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE_S", 0.1)
    first, leading, _silent = relays(boxes)
    with ThreadPoolExecutor() as pool:
        told = pool.submit(first.exchange, {})
        assert leading.exchange({})["lost"] == "rank 3 is silent"
    assert told.result()["lost"] in ("rank 3 is silent", "rank 2 is silent")


def test_what_an_earlier_repetition_left_is_ignored(boxes: Boxes) -> None:
    for rank in (0, 3):
        boxes[rank, LEADER, module._SAID].append({"number": 1, "said": {"old": True}})
        boxes[LEADER, rank, module._ANSWER].append({"number": 1, "exchanged": ["old"]})
    first, leading, last = relays(boxes, repetition=2)
    with ThreadPoolExecutor() as pool:
        answers = [pool.submit(one.exchange, {"new": True}) for one in (first, last, leading)]
        assert [one.result()["exchanged"] for one in answers] == [[{"new": True}] * 3] * 3
