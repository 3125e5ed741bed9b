"""What the launcher of MPI programs, mpirun or srun, left in the environment of a rank."""

import contextlib
import os

_RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
"""Of Open MPI, PRRTE, MPICH and its kin, and srun."""
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")


def launched_rank() -> int | None:
    """Return this process's rank; None where no launcher of MPI programs started it."""
    return _number(_RANKS)


def launched_size() -> int | None:
    """Return how many ranks the launcher started, where it says so."""
    return _number(_SIZES)


def _number(names: tuple[str, ...]) -> int | None:
    found = (os.environ.get(name, "") for name in names)
    return next((int(text) for text in found if text.isdecimal()), None)


def unbind() -> None:
    """Give back the CPUs that mpirun bound this rank to one of: it measures the whole host.

    The launcher, which is the parent, has those that it was given itself.
    """
    if "OMPI_COMM_WORLD_RANK" in os.environ:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, os.sched_getaffinity(os.getppid()))


def without_mpi() -> dict[str, str]:
    """Return the environment without what makes a program believe that it is a rank itself."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("OMPI_", "PMIX_", "PMI_", "PRTE_"))
    }
