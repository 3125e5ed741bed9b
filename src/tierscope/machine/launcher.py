"""mpirun and srun: what they left in a rank's environment, what a rank says about them, and how it
ends them."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

from tierscope.model.errors import ExitCode, UserError

_RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
"""Variables of Open MPI, PRRTE, MPICH and its kin, and srun."""
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
_RECOVERY = "OMPI_MCA_orte_enable_recovery"
"""Set by ``mpirun --enable-recovery`` of Open MPI 4 for its ranks."""
_RECOVERY_OPTIONS = ("--enable-recovery", "--continuous", "recoverable", "continuous")
"""The same on the command line of Open MPI 5's mpirun, which sets no variable for it; the last two
are values of ``--runtime-options``."""
_LAUNCHERS = ("mpirun", "mpiexec", "orterun", "orted", "prterun", "prted")
_OF_MPICH = "hydra_pmi_proxy"
_FENCE = "where a rank crashed, set SLURM_PMIX_FENCE=tree"
_PMIX = "srun needs --mpi=pmix for Open MPI, --mpi=pmi2 for MPICH; srun --mpi=list says what it has"
_SCANCEL_S = 10.0
_AGAIN = 'sleep 3; [ "$(cat /proc/$0/comm)" = "$1" ] && kill "$0"'
"""mpirun waits for its daemons, too, those that no message reaches any more; when it gets a second
signal within 5 s it ends at once. By then it has killed this rank."""


def launched_rank() -> int | None:
    """Return this process's rank; None where no launcher of MPI programs started it."""
    return _number(_RANKS)


def _number(names: tuple[str, ...]) -> int | None:
    found = (os.environ.get(name, "") for name in names)
    return next((int(text) for text in found if text.isdecimal()), None)


def has_launchers_terminal() -> bool:
    """Whether standard output may be a terminal that the launcher made for this rank.

    Open MPI makes one for each rank, also where its own output goes to a file.
    """
    return "OMPI_COMM_WORLD_RANK" in os.environ


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


def launcher_files() -> tuple[int, ...]:
    """Return the open files that a child needs to start MPI: the connection to MPICH's launcher."""
    number = _number(("PMI_FD",))
    if number is None:
        return ()
    try:
        os.fstat(number)
    except OSError:
        return ()
    return (number,)


def warning() -> str:
    """Say that the launcher is to end all ranks when one dies, where it is."""
    if "OMPI_COMM_WORLD_RANK" in os.environ and not _recovers():
        return "mpirun ends every rank when one dies; with --enable-recovery the others go on"
    if _launcher() == _OF_MPICH:
        return "MPICH's mpiexec ends every rank when one dies; run files keep what was measured"
    return ""


def _recovers() -> bool:
    """Return whether Open MPI lets the other ranks go on when one dies.

    Also True where Open MPI 5's mpirun is on another host, so that nothing here says it.
    """
    if "PRTE_LAUNCHED" not in os.environ:
        return os.environ.get(_RECOVERY) == "1"
    if _launcher() == "prted":
        return True
    words = _of_parent("cmdline").split("\0")
    return any(one in _RECOVERY_OPTIONS for word in words for one in word.split(","))


def not_started() -> UserError:
    """Return what to say where MPI ended when it was to start; it said itself why."""
    hint = f"; {_PMIX}; {_FENCE}" if "SLURM_STEP_ID" in os.environ else ""
    return UserError(f"MPI could not start, and said why above{hint}", ExitCode.NOTHING_MEASURED)


def check_size(ranks: int, library: str) -> None:
    """Refuse ranks of an MPI ``library`` that do not know of each other.

    Raises UserError where the launcher started several, and MPI has one.
    """
    started = _number(_SIZES)
    if ranks > 1 or started is None or started == 1:
        return
    by_srun = "SLURM_STEP_ID" in os.environ and "OMPI_COMM_WORLD_SIZE" not in os.environ
    hint = _PMIX if by_srun else "start them by the mpirun of that MPI"
    raise UserError(
        f"the launcher started {started} ranks, of which mpi4py's MPI ({library}) knows only "
        f"itself; {hint}",
        ExitCode.NOTHING_MEASURED,
    )


def end_launcher() -> None:
    """End mpirun or the step of srun, which wait for every rank, stopped ones too."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        name = _launcher()
        if name in _LAUNCHERS:
            again = ["sh", "-c", _AGAIN, str(os.getppid()), name]
            nothing = subprocess.DEVNULL
            subprocess.Popen(again, stdout=nothing, stderr=nothing, start_new_session=True)
            os.kill(os.getppid(), signal.SIGTERM)
        elif name.startswith("slurmstepd"):
            step = f"{os.environ['SLURM_JOB_ID']}.{os.environ['SLURM_STEP_ID']}"
            # By the controller: this program is in the step itself, and its own end must not be the
            # end of the message.
            scancel = ["scancel", "--ctld", "--signal=KILL", step]
            subprocess.run(scancel, capture_output=True, timeout=_SCANCEL_S)


def _launcher() -> str:
    """Return the name of the process that started this one."""
    return _of_parent("comm").strip()


def _of_parent(file: str) -> str:
    """Return what /proc has of the process that started this one; empty where it has ended."""
    try:
        return Path(f"/proc/{os.getppid()}/{file}").read_text(errors="replace")
    except OSError:
        return ""
