"""tierscope under an mpirun whose ranks mpi4py knows: the one of $MPIRUN, or on PATH."""

import os
import shutil
import subprocess
import sys

import pytest

MPIRUN = os.environ.get("MPIRUN", "mpirun").split()
TIERSCOPE = [sys.executable, "-c", "from tierscope.cli.main import main; main()"]
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def skip_without_launcher() -> None:
    if shutil.which(MPIRUN[0]) is None:
        pytest.skip(f"there is no {MPIRUN[0]}; name one in $MPIRUN")


def over_ranks(
    ranks: int, *arguments: str, environment: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*MPIRUN, "-n", str(ranks), *TIERSCOPE, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=os.environ | AS_ROOT | (environment or {}),
    )
