"""Commands on two MPI ranks, whose engines have the fake GPUs of the engine's tests."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_gpu_engine import ENGINE, environment_of, require_fake_gpus

from fleet_jobs import AS_ROOT, TIERSCOPE

_MOST_S = 300
QUICK = ("--size", "64k", "--budget", "50ms", "--json")


@pytest.fixture(scope="module", autouse=True)
def _fake_engine() -> None:
    require_fake_gpus()


def over_ranks(
    folder: Path, *words: str, environment: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        ["mpirun", "-n", "2", "--oversubscribe", sys.executable, str(TIERSCOPE), *words],
        env={
            **environment_of(folder),
            **AS_ROOT,
            **(environment or {}),
        },
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_MOST_S,
        check=False,
    )
    assert done.stdout.startswith("{"), done.stderr
    return done


def test_each_engine_s_copies_between_ranks_are_verified(tmp_path: Path) -> None:
    done = over_ranks(tmp_path, "gpu", "ranks", "--pairs", "0-1", "--engine", "ce,sm", *QUICK)
    assert done.returncode == 0, done.stderr
    results: list[dict[str, Any]] = json.loads(done.stdout)["results"]
    assert [one["pattern"]["engine"] for one in results] == ["ce", "sm"]
    for one in results:
        assert (one["status"], one["initiator"], one["target"]) == ("measured", "gpu:0", "gpu:1")
        evidence = one["evidence"]
        assert " bytes at 1 destination" in evidence["verified"]
        assert evidence["memory_handles"] == "ipc"
        assert sorted(gpu["gpu"] for gpu in evidence["gpus"]) == [0, 1]
    (run,) = tmp_path.glob("tierscope/runs/*.jsonl")
    assert "gpu-ranks" in run.name


def test_nvbandwidth_s_multinode_test_cases(tmp_path: Path) -> None:
    names = [
        f"multinode_{name}"
        for name in (
            "device_to_device_bidirectional_memcpy_read_ce",
            "bisect_write_ce",
            "device_to_device_broadcast_one_to_all_sm",
        )
    ]
    done = over_ranks(tmp_path, "nvbandwidth", "-t", *names, "-b", "1", "--json")
    cases = json.loads(done.stdout)["nvbandwidth"]["testcases"]
    pair, bisection, broadcast = cases
    assert (pair["status"], bisection["status"]) == ("Passed", "Passed"), cases
    matrix = pair["bandwidth_matrix"]
    assert [[cell == "N/A" for cell in row] for row in matrix] == [[True, False], [False, True]]
    assert len(bisection["bandwidth_matrix"]) == 2
    assert broadcast["status"] == "Waived"
    assert "multicast" in broadcast["reason"]
    assert done.returncode == 0


KILLED_ONCE = f"""#!{sys.executable}
import os, pathlib, signal, subprocess, sys
command = ["{ENGINE}", *sys.argv[1:]]
killed = pathlib.Path("killed")
if sys.argv[1] != "repetitions" or os.environ["OMPI_COMM_WORLD_RANK"] != "1" or killed.exists():
    os.execv(command[0], command)
process = subprocess.Popen(command, stdout=subprocess.PIPE)
for line in process.stdout:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
    if b'"exchange"' in line:
        killed.touch()
        process.kill()
        os.kill(os.getpid(), signal.SIGKILL)
"""
"""An engine that dies on rank 1 in the middle of its first repetition."""


def test_an_engine_that_dies_in_a_repetition_costs_that_measurement_only(tmp_path: Path) -> None:
    engine = tmp_path / "engine"
    engine.write_text(KILLED_ONCE)
    engine.chmod(0o755)
    words = ("gpu", "ranks", "--pairs", "0-1", "--engine", "ce,sm", *QUICK)
    done = over_ranks(tmp_path, *words, environment={"TIERSCOPE_ENGINE": str(engine)})
    assert (tmp_path / "killed").exists()
    first, second = sorted(json.loads(done.stdout)["results"], key=lambda one: one["status"])
    assert (first["status"], second["status"]) == ("failed", "measured")
    assert first["cause"] == "crash"
    assert first["reason"].startswith("rank 1 (")
