"""What every rank does over MPI: it answers requests of rank 0.

Open MPI 4.1 ends a process that sends to a dead rank over TCP, whatever error handler it has (FATAL
in pml_ob1_sendreq.c). So rank 0 sends only to a rank that was heard of a moment ago: while it has
nothing to do, a rank says READY every ``beat_s``. Who is measured sends nothing but measured
messages, and idle ranks take a nap between two looks for messages.
"""

import os
import platform
import signal
import time
from dataclasses import dataclass, field
from typing import Any

from tierscope.kinds.registry import KINDS
from tierscope.model.errors import ExitCode, UserError
from tierscope.mpi.launcher import launched_size
from tierscope.mpi.lines import Message

READY, ORDER, REPLY = 1001, 1002, 1003
"""Tags of messages between rank 0 and the others; kinds take tags below 1000."""
NAP_S = 0.002
"""Between two looks for messages."""
MISSING = (
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
    """What kinds keep from one request to the next."""

    @property
    def beat_s(self) -> float:
        """Between two READYs of an idle rank: rank 0 gets 1000 a second at most."""
        return max(0.1, 1e-3 * self.size)


def start() -> World:
    """Start MPI, which waits for all ranks; raises UserError where there is none."""
    for number in (signal.SIGINT, signal.SIGTERM):  # rank 0 ends in order, and all others with it
        signal.signal(number, signal.SIG_IGN)
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        why = str(error).splitlines()[0]
        raise UserError(f"{MISSING} ({why})", ExitCode.NOTHING_MEASURED) from None
    comm = MPI.COMM_WORLD
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    world = World(MPI, comm, comm.Get_rank(), comm.Get_size())
    started = launched_size()
    if world.size == 1 and started is not None and started > 1:
        library = MPI.Get_library_version().split(",")[0]
        raise UserError(
            f"the launcher started {started} ranks, of which mpi4py's MPI ({library}) knows only "
            "itself; start them by the mpirun of that MPI",
            ExitCode.NOTHING_MEASURED,
        )
    return world


def facts(world: World) -> Message:
    """Return what a rank says of itself at first."""
    library: str = world.mpi.Get_library_version()
    return {
        "host": platform.node(),
        "pid": os.getpid(),
        "cpus": sorted(os.sched_getaffinity(0)),
        "mpi": library.rstrip("\0").splitlines()[0].strip(),
    }


def answer(world: World, order: Message) -> Message:
    """Have a request's kind answer it; what goes wrong is a reply, too: ``failed``."""
    try:
        return KINDS[order["kind"]].served(order["request"], world)
    except UserError as error:
        return {"failed": str(error)}
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}


def serve() -> None:
    """Answer rank 0's requests until it says that this rank may leave, and leave MPI.

    Raises UserError where there is no MPI.
    """
    world = start()
    said: Message = {"facts": facts(world)}
    sends: list[Any] = []
    while True:
        sends = [one for one in sends if not one.Test()]
        sends.append(world.comm.isend(said, dest=0, tag=READY))
        order = _order(world)
        if order is None:
            said = {}
            continue
        if "leave" in order:
            leave(world, order["leave"])
            return
        reply = answer(world, order)
        sends.append(
            world.comm.isend({"number": order["number"], "reply": reply}, dest=0, tag=REPLY)
        )
        said = {}


def _order(world: World) -> Message | None:
    """Return the next order; None where none came within a beat."""
    until = time.monotonic() + world.beat_s
    while time.monotonic() < until:
        if world.comm.iprobe(source=0, tag=ORDER):
            found: Message = world.comm.recv(source=0, tag=ORDER)
            return found
        time.sleep(NAP_S)
    return None


def leave(world: World, in_order: bool) -> None:
    """End MPI; ``in_order`` only where every rank does, since MPI waits for all of them."""
    if in_order:
        world.mpi.Finalize()
        return
    os._exit(0)  # MPI's own end would wait for ranks that are dead
