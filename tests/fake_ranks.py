"""Ranks that answer what a test wants."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tierscope.mpi.lines import Message
from tierscope.mpi.ranks import RankFacts

_PORT = {"name": "eth0", "bits_per_s": 1e11}


class FakeRanks:
    """Stands in for ``mpi.ranks.Ranks``: a rank on each host, with a port of 100 Gb/s."""

    def __init__(self, hosts: Sequence[str]) -> None:
        self.facts = [
            RankFacts(rank=rank, host=host, name=host, cpus=[rank], mpi="Fake MPI 1")
            for rank, host in enumerate(hosts)
        ]
        self.lost: dict[int, str] = {}
        self.asked: list[dict[int, Message]] = []
        """Requests by rank, of each time that any were made."""
        self.answer: Callable[[int, Message], Message] = lambda _rank, _request: {"ports": [_PORT]}

    def ask(self, kind: str, requests: Mapping[int, Message]) -> None:
        """Take note of requests."""
        assert kind == "message"
        self.asked.append(dict(requests))

    def answers(self, ranks: Iterable[int], longest_s: float, **_: Any) -> dict[int, Message]:
        """Answer the latest ones; a rank that answers nothing is lost."""
        assert longest_s > 0
        found = {rank: self.answer(rank, self.asked[-1][rank]) for rank in ranks}
        for rank in [rank for rank, answer in found.items() if not answer]:
            self.lost[rank] = f"rank {rank} gave no answer"
            found[rank] = {"failed": self.lost[rank]}
        return found
