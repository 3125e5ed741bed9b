"""A rank's contact with rank 0, with a fake process that speaks MPI."""

import pytest

from tierscope.fleet.transport import Contact, LineProcess, Message


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[Message]:
    """What the messenger is told."""
    found: list[Message] = []
    monkeypatch.setattr(LineProcess, "__init__", lambda *_, **__: None)
    monkeypatch.setattr(LineProcess, "tell", lambda _, message: found.append(message))
    return found


def asked(rank: int, number: int) -> Message:
    return {"from": rank, "said": {"number": number, "request": {"plan": {}}}}


def test_a_request_that_comes_with_the_number_of_rank_0_is_answered(
    told: list[Message], monkeypatch: pytest.MonkeyPatch
) -> None:
    says = [[{"rank": 0, "size": 3, "facts": {}}, asked(1, 7)], [asked(2, 1)], []]
    monkeypatch.setattr(LineProcess, "read", lambda _: says.pop(0))
    contact = Contact(60.0, lambda rank, request: {"to": rank, **request})
    contact.listen()
    assert len(told) == 1
    contact.listen()
    assert told == [
        {"to": rank, "answer": {"number": number, "answer": {"to": rank, "plan": {}}}}
        for rank, number in ((1, 7), (2, 1))
    ]
    contact.listen()
    assert len(told) == 2, "each is answered once"
