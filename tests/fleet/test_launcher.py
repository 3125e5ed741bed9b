"""What the launcher of MPI programs left in the environment, and what MPI knows."""

import os
import re

import pytest

from tierscope.machine.launcher import check_size, launcher_files
from tierscope.model.errors import ExitCode, UserError

MPIRUN = {"OMPI_COMM_WORLD_SIZE": "3"}
SRUN = {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "3"}
BY_MPIRUN, BY_SRUN = "start them by the mpirun of that MPI", "srun needs --mpi=pmix"


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is in the environment but what a test sets."""
    for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("environment", "hint"),
    [(MPIRUN, BY_MPIRUN), (SRUN, BY_SRUN), ({**SRUN, **MPIRUN}, BY_MPIRUN)],
)
def test_ranks_that_do_not_know_of_each_other_are_refused(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], hint: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    said = rf"started 3 ranks, of which mpi4py's MPI \(MPICH\) knows only itself; {re.escape(hint)}"
    with pytest.raises(UserError, match=said) as refused:
        check_size(1, "MPICH")
    assert refused.value.exit_code == ExitCode.NOTHING_MEASURED
    check_size(3, "MPICH")


@pytest.mark.parametrize("environment", [{}, {"OMPI_COMM_WORLD_SIZE": "1"}])
def test_one_rank_by_itself_is_no_error(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    check_size(1, "MPICH")


def test_the_file_of_mpichs_launcher_is_handed_on_while_it_is_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PMI_FD", raising=False)
    assert launcher_files() == ()
    read, write = os.pipe()
    monkeypatch.setenv("PMI_FD", str(read))
    assert launcher_files() == (read,)
    os.close(read)
    os.close(write)
    assert launcher_files() == ()
    monkeypatch.setenv("PMI_FD", "none")
    assert launcher_files() == ()
