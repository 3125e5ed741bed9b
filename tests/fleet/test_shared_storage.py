"""Storage that the hosts of a fleet share: a file a host, one file for all, nothing left behind."""

import os
import signal
import time
from pathlib import Path

import pytest

from fleet_jobs import TIERSCOPE, Job, children, mpirun
from tierscope.fleet.together import together_of
from tierscope.model.outlier import TogetherFigure

PLAN = """
measurements:
  - kind: io
    args: {to: "file:FOLDER", file: FILE, op: "read,write", size: 6m, block-size: 64k,
           budget: BUDGET, verify: "yes"}
"""
RANKS = 3


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    place = tmp_path / "shared"
    place.mkdir()
    return place


def start(folder: Path, shared: Path, file: str, budget: float) -> Job:
    plan = folder / "plan.yaml"
    text = PLAN.replace("FOLDER", str(shared)).replace("FILE", file)
    plan.write_text(text.replace("BUDGET", str(budget)))
    words = [str(TIERSCOPE), "fleet", "run", str(plan), "--ranks-as-hosts", "--out",
             str(folder / "fleet")]  # fmt: skip
    return mpirun(folder, ["-n", str(RANKS), *words])


def together(job: Job) -> dict[str, TogetherFigure]:
    """Bandwidth of all hosts, by operation."""
    found = together_of(job.out, job.index())
    return {one.pattern["operation"]: one for one in found if one.metric == "bandwidth"}


def files_of(job: Job, rank: int) -> set[str]:
    found: set[str] = set()
    for measurement in job.run_of(rank).measurements:
        assert measurement.status == "measured", measurement.reason
        assert measurement.evidence is not None
        assert measurement.evidence.verified
        assert measurement.evidence.storage_io is not None
        found |= set(measurement.evidence.storage_io.files)
    return found


@pytest.mark.parametrize("file", ["each", "one"])
def test_hosts_measure_together_and_leave_nothing(tmp_path: Path, shared: Path, file: str) -> None:
    job = start(tmp_path, shared, file, budget=1)
    printed, said = job.finish()
    assert [host.state for host in job.index().hosts] == ["measured"] * RANKS, said
    files = [files_of(job, rank) for rank in range(RANKS)]
    assert len(set.union(*files)) == (1 if file == "one" else RANKS)
    assert list(shared.iterdir()) == []
    found = together(job)
    assert sorted(found) == ["read", "write"]
    for one in found.values():
        assert one.hosts == RANKS
        assert one.repetitions > 0
        assert one.mean is not None
        assert one.slowest is not None
        assert one.fastest is not None
        assert RANKS * one.slowest <= one.mean * (1 + 1e-9) <= RANKS * one.fastest * (1 + 1e-6)
        assert one.fairness is not None
        assert 1 / RANKS <= one.fairness <= 1 + 1e-9
    assert "Hosts together" in printed


@pytest.mark.parametrize(
    ("file", "rank", "killed"),
    [("one", 0, ["engine"]), ("each", 2, ["fleet_host"]), ("each", 1, ["engine", "fleet_host"])],
)
def test_what_is_killed_leaves_nothing(
    tmp_path: Path, shared: Path, file: str, rank: int, killed: list[str]
) -> None:
    """The engine, which is started anew; what starts it; or both at once."""
    job = start(tmp_path, shared, file, budget=0.8)
    job.wait_for_repetitions(RANKS)
    host = job.pid(rank, "fleet_host")
    (engine,) = (
        pid
        for pid in children(host)
        if "tierscope-engine" in Path(f"/proc/{pid}/cmdline").read_text()
    )
    for name in killed:
        os.kill({"engine": engine, "fleet_host": host}[name], signal.SIGKILL)
    job.finish()
    deadline = time.monotonic() + 30
    while list(shared.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert list(shared.iterdir()) == []
