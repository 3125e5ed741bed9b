"""What the launcher of MPI programs left in the environment, and what MPI knows."""

import os
import re
import subprocess
import sys

import pytest

from tierscope.machine.launcher import check_size, launcher_files, warning
from tierscope.model.errors import ExitCode, UserError

MPIRUN = {"OMPI_COMM_WORLD_SIZE": "3"}
SRUN = {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "3"}
BY_MPIRUN, BY_SRUN = "start them by the mpirun of that MPI", "srun needs --mpi=pmix"


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is in the environment but what a test sets."""
    for name in (
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_MCA_orte_enable_recovery",
        "PMI_SIZE",
        "PRTE_LAUNCHED",
        "SLURM_STEP_ID",
        "SLURM_STEP_NUM_TASKS",
    ):
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


@pytest.mark.parametrize(
    ("environment", "warned"),
    [
        ({}, False),
        ({"OMPI_COMM_WORLD_RANK": "0"}, True),
        ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_MCA_orte_enable_recovery": "1"}, False),
        ({"OMPI_COMM_WORLD_RANK": "0", "PRTE_LAUNCHED": "1"}, True),
    ],
)
def test_an_mpirun_that_ends_all_ranks_is_told(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], warned: bool
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ("--enable-recovery" in warning()) == warned


@pytest.mark.parametrize(
    ("options", "warned"),
    [
        ("", True),
        ("--enable-recovery", False),
        ("--runtime-options show-progress,recoverable", False),
        ("--runtime-options show-progress", True),
    ],
)
def test_open_mpi_5_is_asked_by_its_command_line(options: str, warned: bool) -> None:
    rank = f"{sys.executable} -c 'from tierscope.machine.launcher import warning; print(warning())'"
    # The last command keeps the shell from becoming the rank itself.
    mpirun = ["sh", "-c", f"{rank}; true", "mpirun", *options.split()]
    environment = {**os.environ, "OMPI_COMM_WORLD_RANK": "0", "PRTE_LAUNCHED": "1"}
    done = subprocess.run(mpirun, env=environment, capture_output=True, text=True, check=True)
    assert ("--enable-recovery" in done.stdout) == warned


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
