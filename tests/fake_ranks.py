"""Ranks that answer what a test wants."""

from collections.abc import Callable, Mapping, Sequence

from tierscope.fleet.transport import Message, RankFacts

_PORT = {"name": "eth0", "bits_per_s": 1e11}


class FakeRanks:
    """Stands in for ``fleet.transport.Ranks``: a rank on each host, with a port of 100 Gb/s."""

    def __init__(self, hosts: Sequence[str]) -> None:
        self.facts = [
            RankFacts(rank=rank, host=host, name=host, cpus=[rank], mpi="Fake MPI 1")
            for rank, host in enumerate(hosts)
        ]
        self.lost: dict[int, str] = {}
        self.asked: list[dict[int, Message]] = []
        """Requests by rank, of each time that any were made."""
        self.answer: Callable[[int, Message], Message] = lambda _rank, _request: {"ports": [_PORT]}

    def ask(
        self, kind: str, requests: Mapping[int, Message], longest_s: float
    ) -> dict[int, Message]:
        """Answer requests; a rank that answers nothing is lost."""
        assert kind == "message"
        assert longest_s > 0
        self.asked.append(dict(requests))
        found = {rank: self.answer(rank, request) for rank, request in requests.items()}
        for rank in [rank for rank, answer in found.items() if not answer]:
            self.lost[rank] = f"rank {rank} gave no answer"
            found[rank] = {"failed": self.lost[rank]}
        return found
