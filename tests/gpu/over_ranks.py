"""tierscope under an mpirun whose ranks mpi4py knows: the one of $MPIRUN, or on PATH."""

import json
import os
import shutil
import subprocess
import sys
from typing import Any

import pytest

from fleet_jobs import AS_ROOT

MPIRUN = os.environ.get("MPIRUN", "mpirun").split()
TIERSCOPE = [sys.executable, "-c", "from tierscope.cli.main import main; main()"]
RANKS = 2


def skip_without_launcher() -> None:
    if shutil.which(MPIRUN[0]) is None:
        pytest.skip(f"there is no {MPIRUN[0]}; name one in $MPIRUN")


def over_ranks(
    *arguments: str, environment: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*MPIRUN, "-n", str(RANKS), *TIERSCOPE, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=os.environ | AS_ROOT | (environment or {}),
    )


def json_over_ranks(*arguments: str) -> dict[str, Any]:
    """Return what a command prints with ``--json``."""
    done = over_ranks(*arguments, "--json")
    assert done.stdout.startswith("{"), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
