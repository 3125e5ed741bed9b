"""A rank's contact with rank 0, with a fake process that speaks MPI."""

from typing import Any

import pytest

from tierscope.fleet import contact as module
from tierscope.fleet.contact import Contact
from tierscope.mpi.lines import Message


class FakeProcess:
    """The messenger: what it says next, and what it was told."""

    ended = False

    def __init__(self, *_: Any, **__: Any) -> None:
        self.says: list[Message] = []
        self.told: list[Message] = []

    def read(self) -> list[Message]:
        said, self.says = self.says, []
        return said

    def tell(self, message: Message) -> None:
        self.told.append(message)


@pytest.fixture
def contact(monkeypatch: pytest.MonkeyPatch) -> Contact:
    monkeypatch.setattr(module, "LineProcess", FakeProcess)
    return Contact(patience_s=60.0)


def asked(rank: int, number: int) -> Message:
    return {"from": rank, "request": {"number": number, "request": {"plan": {}}}}


def test_a_request_that_comes_before_rank_0_knows_its_number_is_answered(contact: Contact) -> None:
    process: Any = contact.process
    process.says = [{"rank": 0, "size": 3}, asked(1, 7)]
    contact.read()
    assert process.told == []
    contact.start_serving(lambda rank, request: {"to": rank, **request})
    process.says = [asked(2, 1)]
    contact.read()
    assert process.told == [
        {"to": rank, "answer": {"number": number, "answer": {"to": rank, "plan": {}}}}
        for rank, number in ((1, 7), (2, 1))
    ]
    contact.read()
    assert len(process.told) == 2, "each is answered once"
