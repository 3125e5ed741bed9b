"""Messages between the ranks of an MPI job.

MPI runs in a process of its own (``messenger``), so a hang or death of MPI costs no measuring
process. Hosts of a fleet ask rank 0 (``Contact``); ranks of a kind that measures over MPI carry out
orders of rank 0 (``Ranks``). A rank that does not answer in time is lost, and the others go on.
"""

import atexit
import contextlib
import functools
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tierscope.machine.launcher import (
    check_size,
    end_launcher,
    launched_rank,
    launcher_files,
    not_started,
    unbind,
)
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.fleet import ClockOffset

Message = dict[str, Any]

ALONE: Message = {"alone": True}
"""Replaces an answer where rank 0 is silent."""
_START_S = 120.0
"""MPI start-up timeout, over all hosts."""
_LEAVE_S = 10.0
"""Timeout of the end of MPI."""
_TICK_S = 0.1
_PING_PAUSE_S = 2e-4
"""For each rank: rank 0 serves 5000 pings a second at most, so each finds it free."""
_CLOCK_S = 60.0
_MISSING = (
    "MPI is missing: it takes mpi4py, and an MPI library that it can load: pip install "
    "'tierscope[fleet]', and as packages openmpi-bin on Debian"
)


@dataclass
class World:
    """MPI as one rank sees it."""

    mpi: Any
    """The module ``mpi4py.MPI``."""
    comm: Any
    """All ranks."""
    rank: int
    size: int
    kept: dict[str, Any] = field(default_factory=dict)
    """State that kinds keep from one request to the next."""

    @property
    def library(self) -> str:
        """Name and version of the MPI library, in a line."""
        said: str = self.mpi.Get_library_version()
        return " ".join(said.rstrip("\0").splitlines()[0].split())

    def leave(self, in_order: bool) -> None:
        """End MPI; ``in_order`` only where every rank does, since MPI waits for all of them.

        Otherwise the process ends here, as MPI's own end would wait for ranks that are dead.
        """
        if not in_order:
            os._exit(0)
        self.mpi.Finalize()


def start() -> World:
    """Start MPI, which waits for all ranks; raises UserError where there is none."""
    for number in (signal.SIGINT, signal.SIGTERM):  # the command ends in order, and this with it
        signal.signal(number, signal.SIG_IGN)
    # Where two MPIs are installed, mpi4py may load the one that is not the launcher's.
    if "OMPI_COMM_WORLD_SIZE" in os.environ:
        os.environ.setdefault("MPI4PY_MPIABI", "openmpi")
    try:
        import mpi4py

        mpi4py.rc.thread_level = "single"  # others take locks, which messages would be slower by
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        why = str(error).splitlines()[0]
        raise UserError(f"{_MISSING} ({why})", ExitCode.NOTHING_MEASURED) from None
    comm = MPI.COMM_WORLD
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    world = World(MPI, comm, comm.Get_rank(), comm.Get_size())
    check_size(world.size, world.library.partition(",")[0])
    return world


class _Lines:
    """Messages as lines of JSON over two file descriptors."""

    def __init__(self, reads: int, writes: int) -> None:
        self._reads = reads
        self._writes = writes
        self._rest = b""
        self.ended = False
        """The other end closed its output, which it does when it ends."""

    def fileno(self) -> int:
        """Return the descriptor that ``select`` waits on."""
        return self._reads

    def tell(self, message: Message) -> None:
        """Send a message; nothing happens where the other end closed, and ``read`` notices that."""
        data = json.dumps(message).encode() + b"\n"
        with contextlib.suppress(OSError):
            while data:
                data = data[os.write(self._writes, data) :]

    def read(self, wait_s: float | None = 0.0) -> list[Message]:
        """Return messages that came within ``wait_s``; None waits for ever."""
        ready, _, _ = select.select([self._reads], [], [], wait_s)
        data = os.read(self._reads, 1 << 20) if ready else b""
        self.ended = self.ended or (bool(ready) and not data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines]


class LineProcess(_Lines):
    """A child process whose standard input and output carry messages."""

    def __init__(
        self,
        command: Sequence[str],
        environment: dict[str, str] | None = None,
        files: Collection[int] = (),
    ) -> None:
        """Start it; of this process's open ``files`` it inherits these."""
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            pass_fds=files,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        super().__init__(self.process.stdout.fileno(), self.process.stdin.fileno())


class ParentLines(_Lines):
    """The other end of a LineProcess: this process's standard input and output.

    Anything else that is printed, for example by libraries, goes to standard error.
    """

    def __init__(self) -> None:
        super().__init__(0, os.dup(1))
        os.dup2(2, 1)


class Messenger(LineProcess):
    """This rank's process that speaks MPI."""

    def __init__(self) -> None:
        super().__init__(
            [sys.executable, "-m", "tierscope.fleet.messenger"], files=launcher_files()
        )
        self.rank = -1
        """Negative until MPI has started, as all other attributes are unset."""
        self.size = 0
        self.facts: Message = {}

    def hear(self) -> list[Message]:
        """Return what came; raises UserError where MPI is missing."""
        found = []
        for message in self.read():
            if "broken" in message:
                raise UserError(message["broken"], ExitCode.NOTHING_MEASURED)
            if "rank" in message:
                self.rank, self.size = message["rank"], message["size"]
                self.facts = message["facts"]
            else:
                found.append(message)
        return found

    def wait_until(self, started: Callable[[], bool], turn: Callable[[], None]) -> None:
        """Call ``turn``, which lets time pass, until MPI has started; raises UserError where it
        does not."""
        deadline = time.monotonic() + _START_S
        while not started():
            if self.ended:
                raise not_started()
            if time.monotonic() > deadline:
                raise UserError(
                    f"MPI did not start within {_START_S:g} s; see whether mpirun or srun can "
                    "start any program on every host",
                    ExitCode.NOTHING_MEASURED,
                )
            turn()

    def leave(self, in_order: bool) -> None:
        """Leave MPI; ``in_order`` only where every rank does, since MPI waits for all of them."""
        self.tell({"leave": in_order})
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_LEAVE_S)
        self.process.kill()
        self.process.wait()


class Contact(Messenger):
    """Asks rank 0 until it is silent; on rank 0, has ``serve`` answer each rank."""

    def __init__(self, patience_s: float, serve: Callable[[int, Message], Message]) -> None:
        super().__init__()
        self._serve = serve
        self.patience_s = patience_s
        """Silence of rank 0 after which it is asked nothing more."""
        self.alone = False
        """Rank 0 is silent, and is asked nothing more."""
        self._number = 0
        """Number of the latest request: an answer to an earlier one comes too late."""
        self._asked_at: float | None = None
        self._answer: Message | None = None
        self._clock: Message | None = None

    @property
    def interval_s(self) -> float:
        """Seconds between two questions: rank 0 gets 2000 a second at most from all ranks."""
        return max(0.02, 5e-4 * self.size)

    def send(self, request: Message) -> None:
        """Ask rank 0; ``answer`` has the answer later."""
        self._answer, self._asked_at = None, time.time()
        if self.alone:
            self._answer = ALONE
        elif self.rank == 0:
            self._answer = self._serve(0, request)
        else:
            self._number += 1
            self.tell({"ask": {"number": self._number, "request": request}})

    def answer(self) -> Message | None:
        """Return the answer once it is there, ``ALONE`` where none comes."""
        silent = self._asked_at is not None and time.time() - self._asked_at > self.patience_s
        if self._answer is None and self.rank != 0 and (silent or self.ended):
            self.alone, self._answer = True, ALONE
        return self._answer

    def listen(self) -> None:
        """Read answers and, on rank 0, answer requests; raises UserError where MPI is missing."""
        for message in self.hear():
            if "from" in message:
                asked = message["said"]
                answer = self._serve(message["from"], asked["request"])
                numbered = {"number": asked["number"], "answer": answer}
                self.tell({"to": message["from"], "answer": numbered})
            elif "clock" in message:
                self._clock = message
            elif message["answer"]["number"] == self._number:
                self._answer = message["answer"]["answer"]

    def clock(self, turn: Callable[[], None]) -> ClockOffset | None:
        """Return how far this host's clock is ahead of rank 0's; ``turn`` lets time pass."""
        if self.rank == 0:
            return ClockOffset(offset_ns=0, low_ns=0, high_ns=0, round_trip_ns=0, round_trips=0)
        if self.alone:
            return None
        self._clock = None
        self.tell({"clock": self.size * _PING_PAUSE_S})
        deadline = time.time() + max(_CLOCK_S, self.patience_s)
        while self._clock is None and not self.ended and time.time() < deadline:
            turn()
        found = self._clock["clock"] if self._clock else None
        return ClockOffset.model_validate(found) if found else None


@dataclass(frozen=True)
class RankFacts:
    """One rank's own facts."""

    rank: int
    host: str
    """As the kernel names it (``uname -n``)."""
    name: str
    """The host; where it has several ranks, HOST.rankN."""
    cpus: list[int]
    """CPUs that its launcher bound it to."""
    mpi: str
    """Its MPI library and version."""


class Ranks:
    """Has ranks carry out requests, rank 0 itself among them."""

    def __init__(self) -> None:
        self._messenger = Messenger()
        unbind()
        self._replies: dict[int, Message] = {}
        """By rank, to the latest request."""
        self._number = 0
        """Number of the latest request: a reply to an earlier one comes too late."""
        self.lost: dict[int, str] = {}
        """Ranks that are asked nothing more, and why."""
        self._said: dict[int, Message] = {}
        """Facts by rank."""
        self._messenger.wait_until(lambda: 0 < self._messenger.size == len(self._said), self._turn)
        self.facts = self._facts()

    def ask(
        self,
        kind: str,
        requests: Mapping[int, Message],
        longest_s: float,
        given_up: Callable[[], bool] = lambda: False,
    ) -> dict[int, Message]:
        """Have a kind's ``served`` answer requests, by rank; ``failed`` in an answer says why not.

        All ranks are asked at the same time, or none where one is silent. Those that have not
        answered after ``longest_s`` are lost. ``given_up`` ends the wait earlier; it is called ten
        times a second.
        """
        for rank in requests:
            if rank in self.lost:
                return {one: {"failed": self.lost[rank]} for one in sorted(requests)}
        self._number += 1
        self._replies = {}
        self._messenger.tell(
            {"number": self._number, "kind": kind, "requests": list(requests.items())}
        )
        until = time.monotonic() + longest_s
        while requests.keys() - self._replies and not self._messenger.ended:
            if time.monotonic() > until or given_up():
                break
            self._turn()
        for rank in requests.keys() - self._replies:
            self._lose(rank, self._why(rank, longest_s))
        return {rank: self._replies[rank] for rank in sorted(requests)}

    def close(self) -> None:
        """Let all ranks leave.

        MPI ends in order where none is lost. Else the launcher is ended, too, as it might wait for
        ever.
        """
        self._messenger.leave(not self.lost)
        if self.lost:
            end_launcher()

    def _facts(self) -> list[RankFacts]:
        hosts = Counter(said["host"] for said in self._said.values())
        return [
            RankFacts(
                rank,
                name=said["host"] + (f".rank{rank}" if hosts[said["host"]] > 1 else ""),
                **said,
            )
            for rank, said in sorted(self._said.items())
        ]

    def _turn(self) -> None:
        """Listen for a moment."""
        select.select([self._messenger], [], [], _TICK_S)
        for message in self._messenger.hear():
            rank, said = message["from"], message["said"]
            if "facts" in said:
                self._said[rank] = said["facts"]
            elif said["number"] == self._number:
                if "lost" in said:
                    self._lose(rank, said["lost"])
                else:
                    self._replies[rank] = said["reply"]
        if self._messenger.facts:
            self._said.setdefault(0, self._messenger.facts)

    def _why(self, rank: int, longest_s: float) -> str:
        """Say why a rank has not answered."""
        if not self._messenger.ended:
            return f"rank {rank} gave no answer within {longest_s:.0f} s"
        status = self._messenger.process.wait(_LEAVE_S)
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
