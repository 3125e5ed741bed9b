"""Copies among GPUs of MPI ranks on a machine with two of them: `make test-gpu`.

Nothing here asserts how long anything takes. It needs an mpirun whose ranks mpi4py knows.
"""

from typing import Any

import pytest
from over_ranks import RANKS, json_over_ranks, over_ranks, skip_without_launcher

from tierscope.machine.discover import discover

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module", autouse=True)
def _two_gpus() -> None:
    gpus = len(discover().gpus)
    if gpus < RANKS:
        pytest.skip(f"takes {RANKS} GPUs, and there is {gpus}")
    skip_without_launcher()


def results(*options: str) -> list[dict[str, Any]]:
    words = ("gpu", "ranks", "--budget", "100ms", "--size", "8m", *options)
    found: list[dict[str, Any]] = json_over_ranks(*words)["results"]
    return found


@pytest.mark.parametrize("options", [(), ("--both-ways",)])
def test_every_engine_copies_verified_between_ranks(options: tuple[str, ...]) -> None:
    found = results("--engine", "ce,sm,tma", "--side", "read,write", *options)
    assert len(found) == 12
    for one in found:
        if one["pattern"]["engine"] == "tma" and one["cause"] == "gpu-feature":
            continue  # before Hopper
        assert one["status"] == "measured", one
        destinations = 2 if options else 1
        assert f" bytes at {destinations} destinations" in one["evidence"]["verified"]
        assert one["evidence"]["memory_handles"] in ("fabric", "ipc")
        assert sorted(gpu["gpu"] for gpu in one["evidence"]["gpus"]) == [0, 1]


def test_handles_of_one_host_are_enough() -> None:
    for one in results("--handles", "ipc"):
        assert one["evidence"]["memory_handles"] == "ipc"


def test_fabric_handles_work_or_it_is_said_why_not() -> None:
    for one in results("--handles", "fabric"):
        if one["status"] == "measured":
            assert one["evidence"]["memory_handles"] == "fabric"
        else:
            assert one["cause"] == "gpu-feature"
            assert "fabric" in one["reason"]


def test_multinode_test_cases_pass() -> None:
    cases = json_over_ranks("nvbandwidth", "-p", "multinode", "-b", "8")["nvbandwidth"]["testcases"]
    status = {case["name"]: case["status"] for case in cases}
    waived = [name for name, said in status.items() if said == "Waived"]
    assert all("broadcast" in name for name in waived), cases
    assert "Error" not in status.values(), cases
    (bisection,) = (case for case in cases if case["name"] == "multinode_bisect_write_ce")
    assert len(bisection["bandwidth_matrix"]) == RANKS


def test_ranks_of_one_gpu_are_refused() -> None:
    done = over_ranks("gpu", "ranks", "--dry-run", environment={"CUDA_VISIBLE_DEVICES": "0"})
    assert done.returncode != 0
    assert "have the same GPU" in done.stderr
