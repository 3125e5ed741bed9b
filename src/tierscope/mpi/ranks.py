"""All ranks as rank 0's command sees them: it asks, and they answer.

A rank that does not answer in time is lost: it is asked nothing more, and the others go on.
"""

import atexit
import contextlib
import functools
import select
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tierscope.model.errors import ExitCode, UserError
from tierscope.mpi.launcher import end_launcher, launched_rank, launcher_files, unbind
from tierscope.mpi.lines import LineProcess, Message
from tierscope.mpi.serving import serve

_START_S = 120.0
"""That MPI gets to start on all hosts."""
_LEAVE_S = 10.0
"""That MPI gets to end."""
_TICK_S = 0.1


@dataclass(frozen=True)
class RankFacts:
    """What a rank said of itself."""

    rank: int
    host: str
    """As the kernel names it (``uname -n``)."""
    name: str
    """The host; where it has several ranks, HOST.rankN."""
    cpus: list[int]
    """That its launcher bound it to."""
    mpi: str
    """Its MPI library and version."""


class Ranks:
    """Carries requests to ranks, rank 0 itself among them."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tierscope.mpi.post"]
        self._process = LineProcess(command, files=launcher_files())
        unbind()
        self._replies: dict[int, Message] = {}
        """By rank, of the latest request."""
        self._number = 0
        self._asked: dict[int, int] = {}
        """The number of each rank's latest request: an answer to an earlier one comes too late."""
        self.lost: dict[int, str] = {}
        """Ranks that are asked nothing more, and why."""
        self.facts = self._start()

    def by_name(self) -> dict[str, RankFacts]:
        """Return what ranks said of themselves, by their names."""
        return {one.name: one for one in self.facts}

    def ask(self, kind: str, requests: Mapping[int, Message]) -> None:
        """Have a kind's ``served`` answer requests, by rank; ``answers`` has what ranks said.

        All of them are asked at the same time, or none where one is silent.
        """
        lost = [rank for rank in requests if rank in self.lost]
        orders = []
        for rank, request in requests.items():
            self._replies.pop(rank, None)
            if lost:
                self._replies[rank] = {"failed": self.lost[lost[0]]}
                continue
            self._number += 1
            self._asked[rank] = self._number
            orders.append({"to": rank, "number": self._number, "kind": kind, "request": request})
        if orders:
            self._process.tell({"orders": orders})

    def answers(
        self,
        ranks: Iterable[int],
        longest_s: float,
        given_up: Callable[[], bool] = lambda: False,
    ) -> dict[int, Message]:
        """Return the answers of ranks that were asked, by rank; ``failed`` in one says why not.

        Those that have not answered after ``longest_s`` are lost. ``given_up`` ends the waiting
        earlier; it is asked ten times a second.
        """
        waited = set(ranks)
        until = time.monotonic() + longest_s
        while waited - set(self._replies) and not self._process.ended:
            if time.monotonic() > until or given_up():
                break
            self._turn()
        for rank in waited - set(self._replies):
            self._lose(rank, self._why(rank, longest_s))
        return {rank: self._replies[rank] for rank in sorted(waited)}

    def close(self) -> None:
        """Let all ranks leave; MPI ends in order where none is lost, else the launcher is ended,
        too, as it might wait for ever."""
        self._process.tell({"leave": not self.lost})
        with contextlib.suppress(Exception):
            self._process.process.wait(_LEAVE_S)
        self._process.process.kill()
        self._process.process.wait()
        if self.lost:
            end_launcher()

    def _start(self) -> list[RankFacts]:
        """Wait for all ranks; raises UserError where they do not come."""
        self._size = 0
        self._said: dict[int, Message] = {}
        until = time.monotonic() + _START_S
        while not self._size or len(self._said) < self._size:
            self._turn()
            if self._process.ended or time.monotonic() > until:
                raise UserError(
                    f"MPI did not start within {_START_S:g} s; see whether mpirun or srun can "
                    "start any program on every host",
                    ExitCode.NOTHING_MEASURED,
                )
        hosts = Counter(said["host"] for said in self._said.values())
        return [
            RankFacts(
                rank=rank,
                host=said["host"],
                name=said["host"] if hosts[said["host"]] == 1 else f"{said['host']}.rank{rank}",
                cpus=said["cpus"],
                mpi=said["mpi"],
            )
            for rank, said in sorted(self._said.items())
        ]

    def _turn(self) -> None:
        """Listen for a moment."""
        ready, _, _ = select.select([self._process], [], [], _TICK_S)
        for message in self._process.read() if ready else []:
            if "broken" in message:
                raise UserError(message["broken"], ExitCode.NOTHING_MEASURED)
            self._size = message.get("size", self._size)
            rank = message["from"]
            if "facts" in message:
                self._said[rank] = message["facts"]
            elif message["number"] == self._asked.get(rank):
                if "lost" in message:
                    self._lose(rank, message["lost"])
                else:
                    self._replies[rank] = message["reply"]

    def _why(self, rank: int, longest_s: float) -> str:
        """Say why a rank has not answered."""
        if not self._process.ended:
            return f"rank {rank} gave no answer within {longest_s:.0f} s"
        status = self._process.process.wait(_LEAVE_S)
        how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        return f"the process of rank 0 that speaks MPI {how}"

    def _lose(self, rank: int, why: str) -> None:
        """Ask a rank nothing more."""
        self.lost[rank] = why
        self._replies[rank] = {"failed": why}


@functools.cache
def ranks() -> Ranks:
    """Return all ranks, on rank 0; MPI starts at the first call, and ends with the program.

    Raises UserError where no launcher of MPI programs started this one.
    """
    if launched_rank() is None:
        raise UserError(
            "it takes several ranks, which a launcher of MPI programs starts, one on each host: "
            "mpirun --map-by ppr:1:node tierscope ..., srun --ntasks-per-node=1 tierscope ..."
        )
    made = Ranks()
    atexit.register(made.close)
    return made


def served() -> bool:
    """On any other rank than 0, answer rank 0's requests to the end of its command, and say so.

    False, at once, on rank 0 and where no launcher of MPI programs started this one.
    """
    if not launched_rank():
        return False
    serve()
    return True
