"""What several tests need: an engine that misbehaves on demand, and a machine to plan for."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from fake_ranks import FakeRanks
from synthetic import node
from tierscope.kinds.gpu_ranks.spec import RankGpu
from tierscope.model.topology import Cache, Package, Topology

# How long an example takes says nothing here: machines that test are busy.
# CI tries the same examples each time, so that a change fails by what it changed; others look on.
# 25 examples find what most changes break; make soak tries the rest, for hours.
settings.register_profile("soak", deadline=None, max_examples=2000)
settings.register_profile(
    "tierscope", deadline=None, max_examples=25, derandomize="CI" in os.environ
)
settings.load_profile("tierscope")

FAKE_ENGINE = Path(__file__).parent / "fake_engine.py"
GIB = 1 << 30


@pytest.fixture
def fake_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Let the fake engine stand in for the real one; call it with the faults to make."""

    def use(faults: str = "") -> None:
        monkeypatch.setenv("TIERSCOPE_ENGINE", str(FAKE_ENGINE))
        monkeypatch.setenv("FAKE_ENGINE", faults)
        monkeypatch.setenv("FAKE_ENGINE_STATE", str(tmp_path / "fake-engine-state"))

    use()
    return use


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(folder)]
    answer = subprocess.run(mount, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        pytest.skip(f"mounting a tmpfs needs root: {answer.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture(autouse=True)
def _own_data_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    # One mpirun removes the folder of a user's jobs while another one makes its own in it.
    monkeypatch.setenv("OMPI_MCA_orte_tmpdir_base", str(tmp_path))
    for name in ("TIERSCOPE_ENGINE", "TIERSCOPE_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    assert "FAKE_ENGINE" not in os.environ


@pytest.fixture
def machine() -> Topology:
    """Two sockets of four cores with SMT, a CPU-less node 2 near node 1, an empty node 3."""
    siblings = [[core, core + 8] for core in range(8)]
    return Topology(
        host="test",
        source="a test",
        cpu_model="Test CPU",
        architecture="x86_64",
        packages=[
            Package(number=0, cpus=[0, 1, 2, 3, 8, 9, 10, 11], cores=4),
            Package(number=1, cpus=[4, 5, 6, 7, 12, 13, 14, 15], cores=4),
        ],
        cpus=list(range(16)),
        siblings=siblings,
        nodes=[
            node(0, [0, 1, 2, 3, 8, 9, 10, 11], 64 * GIB, distances={0: 10, 1: 21, 2: 31}),
            node(1, [4, 5, 6, 7, 12, 13, 14, 15], 64 * GIB, distances={0: 21, 1: 10, 2: 14}),
            node(2, [], 8 * GIB, distances={0: 31, 1: 14, 2: 10}),
            node(3, [], 0, online=False),
        ],
        caches=[
            Cache(level=1, type="data", size_bytes=48 << 10, cpus=[0, 8]),
            Cache(level=3, type="unified", size_bytes=32 << 20, cpus=[0, 1, 2, 3, 8, 9, 10, 11]),
        ],
        base_page_bytes=4096,
        huge_page_bytes=[2 << 20, 1 << 30],
        thp_page_bytes=2 << 20,
    )


@pytest.fixture
def four_ranks(monkeypatch: pytest.MonkeyPatch) -> FakeRanks:
    """Let an MPI of four hosts stand in for the one that a launcher would have started."""
    found = FakeRanks(["n1", "n2", "n3", "n4"])
    monkeypatch.setattr("tierscope.fleet.transport.ranks", lambda: found)
    return found


@pytest.fixture
def two_gpu_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two MPI ranks on one host, each with a GPU, stand in for those of a launcher."""
    found = [
        RankGpu(rank=rank, host="synthetic", gpu=rank, name="a GPU", uuid=f"GPU-{rank}", cpus=[0])
        for rank in range(2)
    ]
    monkeypatch.setattr("tierscope.kinds.gpu_ranks.spec.rank_gpus", lambda: found)
