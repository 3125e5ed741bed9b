"""Fleets of several ranks on this machine, and what they leave behind."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tierscope.model.fleet import FleetHost, FleetIndex
from tierscope.model.run import Run
from tierscope.runs.read import read_run

TIERSCOPE = Path(__file__).parent.parent / ".venv/bin/tierscope"
PLAN = """
measurements:
  - kind: bandwidth
    args: {op: "read,copy", threads: 1, size: 1m, budget: BUDGET}
"""
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
"""Open MPI asks for these where root starts it, as in containers that test."""
_MOST_S = 300


def mpich_library(folder: Path) -> Path:
    """Make a folder in which Debian's MPICH has the name by which mpi4py looks for it."""
    (found,) = Path("/usr/lib").glob("*/libmpich.so.12")
    library = folder / "lib"
    library.mkdir()
    (library / "libmpi.so.12").symlink_to(found)
    return library


@dataclass
class Job:
    """An mpirun that has been started."""

    folder: Path
    process: "subprocess.Popen[str]"

    @property
    def out(self) -> Path:
        """The fleet's folder."""
        return self.folder / "fleet"

    def finish(self) -> tuple[str, str]:
        """Return what it printed once it ended."""
        try:
            return self.process.communicate(timeout=_MOST_S)
        finally:
            self.process.kill()

    def index(self) -> FleetIndex:
        """Return its index."""
        return FleetIndex.model_validate_json((self.out / "fleet.json").read_bytes())

    def host(self, rank: int) -> FleetHost:
        """Return what the index says of a rank's host."""
        return self.index().hosts[rank]

    def run_of(self, rank: int) -> Run:
        """Return a host's run."""
        (path,) = (self.out / "hosts").glob(f"*-{rank}.jsonl")
        return read_run(path)

    def wait_for_repetitions(self, ranks: int, each: int = 1) -> None:
        """Return once so many hosts have written so many repetitions each."""
        self._wait_for('"record":"repetition"', ranks, each)

    def wait_for_ends(self, ranks: int) -> None:
        """Return once so many hosts have ended their runs."""
        self._wait_for('"record":"footer"', ranks, 1)

    def _wait_for(self, record: str, ranks: int, each: int) -> None:
        deadline = time.monotonic() + _MOST_S
        while time.monotonic() < deadline and self.process.poll() is None:
            files = list((self.out / "hosts").glob("*.jsonl"))
            if sum(file.read_text().count(record) >= each for file in files) >= ranks:
                return
            time.sleep(0.05)
        self.process.kill()
        raise AssertionError(f"not enough of {record}: {self.finish()}")

    def pid(self, rank: int, child: str = "") -> int:
        """Return the process id of a rank, or of its child whose command line has this word."""
        (found,) = (
            pid
            for pid in children(self.process.pid)
            if f"OMPI_COMM_WORLD_RANK={rank}\0" in Path(f"/proc/{pid}/environ").read_text()
        )
        if not child:
            return found
        (found,) = (
            pid for pid in children(found) if child in Path(f"/proc/{pid}/cmdline").read_text()
        )
        return found


def start(folder: Path, ranks: int, *words: str, budget: float = 1) -> Job:
    """Start a fleet that goes on when a rank dies; ``words`` follow ``fleet run PLAN``."""
    return mpirun(folder, [*_ranks(ranks), *program(folder, *words, budget=budget)])


def program(folder: Path, *words: str, budget: float = 1) -> list[str]:
    """Return the command of each rank."""
    plan = folder / "plan.yaml"
    plan.write_text(PLAN.replace("BUDGET", str(budget)))
    out = ["--out", str(folder / "fleet"), "--ranks-as-hosts"]
    return [str(TIERSCOPE), "fleet", "run", str(plan), *out, *words]


def mpirun(folder: Path, words: Sequence[str]) -> Job:
    """Start mpirun with these words."""
    process = subprocess.Popen(
        ["mpirun", "--enable-recovery", "--oversubscribe", *words],
        env={**os.environ, **AS_ROOT, "OMPI_MCA_orte_tmpdir_base": str(folder)},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    return Job(folder, process)


def children(pid: int) -> list[int]:
    """Return the children of a process, of all its threads."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def repetitions_of(job: Job, rank: int) -> list[str]:
    """Return the ids of a host's repetitions, in the order in which it made them."""
    (path,) = (job.out / "hosts").glob(f"*-{rank}.jsonl")
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return [record["repetition"]["id"] for record in records if record["record"] == "repetition"]


def lose(job: Job, rank: int, child: str, number: signal.Signals) -> None:
    """Send a signal to a rank or its child."""
    os.kill(job.pid(rank, child), number)


def _ranks(number: int) -> list[str]:
    return ["-n", str(number)]
