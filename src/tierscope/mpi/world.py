"""MPI in this process: its start, which waits for all ranks, and its end."""

import os
import signal
from dataclasses import dataclass, field
from typing import Any

from tierscope.model.errors import ExitCode, UserError
from tierscope.mpi.launcher import check_size

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
    """What kinds keep from one request to the next."""

    @property
    def library(self) -> str:
        """Name and version of the MPI library, in a line."""
        said: str = self.mpi.Get_library_version()
        return " ".join(said.rstrip("\0").splitlines()[0].split())

    @property
    def beat_s(self) -> float:
        """Between two signs of life of an idle rank: rank 0 gets 1000 a second at most."""
        return max(0.1, 1e-3 * self.size)

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
