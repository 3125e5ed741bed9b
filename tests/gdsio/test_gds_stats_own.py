"""``tierscope gds-stats`` of a run of tierscope, from the run file that a process has open."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.gdsio.synthetic_io import io_repetition
from tests.gpu import gpu_machine

from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.model.run import RepetitionRecord
from tierscope.peers.gds_stats.stats import Stats, stats_of_run
from tierscope.peers.gdsio.job_file import parse_line
from tierscope.peers.gdsio.plan import spec_of
from tierscope.peers.gdsio.workload import workload
from tierscope.runs.write import RunWriter

MACHINE = gpu_machine.machine(gpus=4)


class Running:
    """A run whose file this process writes."""

    def __init__(self, words: str, path: Path) -> None:
        request = parse_line(words.split()).request
        assert request is not None
        made = spec_of(workload(request), MACHINE)
        self.plan = Plan.model_validate({"version": PLAN_VERSION, "measurements": [made]})
        self.writer = RunWriter.create(path, gpu_machine.run_with(self.plan, MACHINE, []).header)

    def repetition(self, **observed: Any) -> None:
        (spec,) = self.plan.measurements
        self.writer.add(RepetitionRecord(repetition=io_repetition(spec, **observed)))


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Any]:
    """Begin a run of gdsio's words."""
    begun: list[Running] = []

    def begin(words: str) -> Running:
        begun.append(Running(words, tmp_path / "20260101-000000-gdsio.jsonl"))
        return begun[0]

    yield begin
    for run in begun:
        run.writer.close()


def stats(level: int = 3) -> Stats:
    found = stats_of_run(os.getpid(), level)
    assert found is not None
    return found


def test_a_run_without_repetitions_says_so(running: Any) -> None:
    running("-D /data -s 64M -T 9")
    assert stats().notes == ["no repetition of storage has ended yet"]


def test_the_totals_of_repetitions_so_far(running: Any) -> None:
    run = running("-D /data -s 64M -T 9 -w 2")
    run.repetition()
    assert stats(1).totals["Total Read Size (MiB)"] == 1000
    run.repetition()
    found = stats(1)
    assert found.source == "tierscope's run 20260101-000000-gdsio"
    assert found.totals == {
        "Total Files": 1, "Total Read Errors": 0, "Total Read Size (MiB)": 2000,
        "Read BandWidth (GiB/s)": round(1000 / 1024, 6), "Avg Read Latency (us)": 1001,
        "Total Write Errors": 0, "Total Write Size (MiB)": 0, "Write BandWidth (GiB/s)": 0,
        "Avg Write Latency (us)": 0,
    }  # fmt: skip
    assert not found.sizes
    assert not found.gpus


@pytest.mark.parametrize(
    ("size", "range_"), [("512", "0-4"), ("4K", "4-8"), ("1M", "1024-2048"), ("64M", "65536-...")]
)
def test_operations_by_size(size: str, range_: str, running: Any) -> None:
    run = running(f"-D /data -s 640M -T 9 -I 1 -i {size}")
    run.repetition()
    found = stats(2).sizes
    assert len(found) == 16
    assert [(row.range, row.writes) for row in found if row.writes] == [(range_, 1000)]


def test_sizes_of_a_range_are_not_told_apart(running: Any) -> None:
    run = running("-D /data -s 640M -T 9 -i 4K:16K:4K")
    run.repetition()
    found = stats(2)
    assert found.notes == ["gdsio-read-gpud has blocks of several sizes; it counts by none"]
    assert not any(row.reads for row in found.sizes)


def test_operations_by_gpu_and_by_way(running: Any) -> None:
    run = running("-D /a -d 1 -s 64M -D /b -d 3 -s 64M -T 9")
    run.repetition(ways={"p2p": 900, "posix": 100})
    run.repetition(ways={"p2p": 1000})
    found = stats(3)
    assert [(gpu.gpu, gpu.groups["read"]["n"]) for gpu in found.gpus] == [(1, 1000), (3, 1000)]
    assert found.notes == ["gdsio-read-gpud: 1900 by p2p, 100 by posix"]


def test_without_a_gpu_level_3_says_so(running: Any) -> None:
    run = running("-D /a -s 64M -T 9 -x 1")
    run.repetition()
    assert stats(3).notes == ["no GPU takes part"]


def test_a_child_stands_for_the_run_of_its_parent(running: Any) -> None:
    """As the engine's number does, which gds_stats itself would be given."""
    run = running("-D /data -s 64M -T 9")
    run.repetition()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        found = stats_of_run(child.pid, 1)
    finally:
        child.communicate(b"\n")
    assert found is not None
    assert found.totals["Total Files"] == 1


def test_another_file_of_that_suffix_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n')
    with (tmp_path / "x.jsonl").open("a"):
        assert stats_of_run(os.getpid(), 1) is None
