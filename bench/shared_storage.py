"""Hosts that share storage, against fio's clients: `fleet run` of two ranks on this machine and
two fio servers, in turn, on one folder.

fio's side is `fio --client` with two `fio --server`, which begin together; its figure is that of
"All clients", the sum of both. Ours is the mean of the sum while both ranks measured. Both read
files that were written before, past the page cache, each process its own file, on
the CPU that tierscope takes. Percentiles are not compared, since fio merges none over clients in
JSON.

Takes fio's path from $FIO, by default the one on PATH; mpirun has to be there. Files are made below
$DIRECTORY, by default the current one, and removed. Ratios are ours / theirs.
"""

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pairs import FEWEST, LIMIT_S, Comparison, is_narrow
from tierscope.fleet.together import together_of
from tierscope.model.fleet import FleetIndex

FIO = os.environ.get("FIO", "fio")
DIRECTORY = Path(os.environ.get("DIRECTORY", "."))
TIERSCOPE = Path(__file__).parent.parent / ".venv/bin/tierscope"
PORTS = (8801, 8802)
"""Of fio's servers, one for each rank of ours."""
FILE = "64m"
RUN_S = 3.0
CPU = min(os.sched_getaffinity(0))
_PLAN = """
measurements:
  - kind: io
    args: {{to: "file:{folder}", order: {order}, block-size: {block}, depth: {depth},
           size: {size}, budget: {seconds}, from: "cpus:{cpu}"}}
"""
_JOB = """
[case]
filename={file}
size={size}
rw={rw}
bs={block}
iodepth={depth}
ioengine=io_uring
direct=1
invalidate=0
cpus_allowed={cpu}
time_based
runtime={seconds:.0f}
"""


@dataclass(frozen=True)
class Case:
    """A pattern of both sides."""

    name: str
    order: str
    rw: str
    block: str
    depth: int
    metric: str

    def __str__(self) -> str:
        return f"shared {self.name} {self.block} d{self.depth}"


CASES = (
    Case("reads", "sequential", "read", "1m", 8, "bandwidth"),
    Case("random reads", "random", "randread", "4k", 32, "iops"),
)


def compare() -> Iterator[Comparison | str]:
    """Both cases, from pairs until they are narrow."""
    for program in (FIO, "mpirun"):
        if shutil.which(program) is None:
            yield f"shared storage: skipped, as {program} is missing"
            return
    for case in CASES:
        with tempfile.TemporaryDirectory(prefix="bench-", dir=DIRECTORY.resolve()) as place:
            folder = Path(place)
            with servers():
                theirs(case, folder, ["create_only=1"])
                yield paired(case, folder)


def paired(case: Case, folder: Path) -> Comparison:
    """Take turns."""
    unit = "GB/s" if case.metric == "bandwidth" else "1/s"
    sides: tuple[list[float], list[float]] = ([], [])
    began = time.monotonic()
    while True:
        for side in (0, 1) if len(sides[0]) % 2 else (1, 0):
            sides[side].append((ours, theirs)[side](case, folder))
        found = Comparison(str(case), unit, *sides)
        enough = len(sides[0]) >= FEWEST and is_narrow(found)
        if enough or time.monotonic() - began > LIMIT_S:
            return found


def ours(case: Case, folder: Path) -> float:
    """The sum of two ranks."""
    with tempfile.TemporaryDirectory(prefix="tierscope-bench-") as place:
        plan, out = Path(place, "plan.yaml"), Path(place, "fleet")
        plan.write_text(
            _PLAN.format(folder=folder, order=case.order, block=case.block, depth=case.depth,
                         size=FILE, seconds=RUN_S, cpu=CPU)
        )  # fmt: skip
        ranks = ["mpirun", "--oversubscribe", "--enable-recovery", "-n", str(len(PORTS))]
        words = [TIERSCOPE, "fleet", "run", plan, "--ranks-as-hosts", "--out", out, "--json"]
        environment = {f"OMPI_ALLOW_RUN_AS_ROOT{end}": "1" for end in ("", "_CONFIRM")}
        done = subprocess.run(
            [*ranks, *map(str, words)], env={**os.environ, **environment}, capture_output=True,
            text=True, stdin=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        found = together_of(out, FleetIndex.model_validate_json(done.stdout))
    (one,) = (one for one in found if one.headline)
    return (one.mean or 0.0) / (1e9 if case.metric == "bandwidth" else 1.0)


@contextmanager
def servers() -> Iterator[None]:
    """Have fio's servers listen."""
    started = [
        subprocess.Popen([FIO, f"--server=127.0.0.1,{port}"], stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
        for port in PORTS
    ]  # fmt: skip
    try:
        time.sleep(1)
        yield
    finally:
        for process in started:
            process.terminate()
            process.wait()


def theirs(case: Case, folder: Path, more: list[str] | None = None) -> float:
    """The sum of two clients, by fio."""
    words = [FIO, "--output-format=json"]
    with tempfile.TemporaryDirectory(prefix="tierscope-bench-") as place:
        for port in PORTS:
            job = Path(place, f"{port}.fio")
            text = _JOB.format(file=folder / f"fio.{port}", size=FILE, rw=case.rw, block=case.block,
                               depth=case.depth, cpu=CPU, seconds=RUN_S)  # fmt: skip
            job.write_text("\n".join([text, *(more or [])]))
            words += [f"--client=127.0.0.1,{port}", str(job)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout[done.stdout.index("{") :])["client_stats"]
    if more:
        return 0.0
    (all_clients,) = (one["read"] for one in found if one["jobname"] == "All clients")
    sums = {"bandwidth": all_clients["bw_bytes"] / 1e9, "iops": all_clients["iops"]}
    return float(sums[case.metric])
