"""Under MPICH, whose launcher hands each rank an open file to reach it by."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from fleet_jobs import TIERSCOPE, Job, mpich_library, program

RANKS = 2


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return mpich_library(tmp_path)


def mpiexec(folder: Path, library: Path, *words: str) -> Job:
    """Start ranks on this host."""
    process = subprocess.Popen(
        ["mpiexec.mpich", "-launcher", "fork", "-n", str(RANKS), *words],
        env={**os.environ, "LD_LIBRARY_PATH": str(library)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    return Job(folder, process)


def test_a_fleet_measures(tmp_path: Path, library: Path) -> None:
    job = mpiexec(tmp_path, library, *program(tmp_path, "--json", budget=0.2))
    printed, said = job.finish()
    assert job.process.returncode == 0, said
    assert "MPICH's mpiexec ends every rank when one dies" in said
    hosts = json.loads(printed)["hosts"]
    assert [host["state"] for host in hosts] == ["measured"] * RANKS
    assert all(host["clock"] for host in hosts)


def test_messages_are_measured_and_verified(tmp_path: Path, library: Path) -> None:
    words = ["message", "--operation", "latency,bandwidth", "--size", "8,64k", "--budget", "0.1"]
    job = mpiexec(tmp_path, library, str(TIERSCOPE), *words, "--out", str(tmp_path), "--json")
    printed, said = job.finish()
    assert job.process.returncode == 0, said
    results = json.loads(printed)["results"]
    assert [result["status"] for result in results] == ["measured"] * 4
    for result in results:
        assert result["evidence"]["messages"]["mpi"].startswith("MPICH Version: ")
        assert "byte by byte" in result["evidence"]["verified"]


def test_an_mpi_of_another_kind_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPI4PY_MPIABI", "openmpi")
    job = mpiexec(tmp_path, tmp_path, *program(tmp_path))
    _, said = job.finish()
    assert job.process.returncode == 3
    assert f"the launcher started {RANKS} ranks, of which mpi4py's MPI (Open MPI v" in said
    assert "start them by the mpirun of that MPI" in said
