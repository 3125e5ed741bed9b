"""Differences that are known, by programs that run here, and none where there is none."""

import os
import sys
from pathlib import Path

import pytest

from tierscope.analysis.effect import Effect, effects
from tierscope.kinds.plan import Plan
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.runs.measure import measure

_HUGE = """
import mmap
region = mmap.mmap(-1, 64 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
region.madvise(mmap.MADV_HUGEPAGE)
for page in range(0, 64 << 20, 4096):
    region[page] = 1
lines = open("/proc/self/smaps_rollup").read().splitlines()
huge = [int(line.split()[1]) for line in lines if line.startswith("AnonHugePages")]
print("KiB without:", (64 << 10) - sum(huge) + 1)
"""
_TWO_PROCESSES = """
import os, sys
def work():
    total = 0
    for number in range(10_000_000):
        total += number
if os.fork() == 0:
    work()
    os._exit(0)
work()
os.wait()
"""
_THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def found(machine: Topology, folder: Path, code: str, **options: str) -> list[Effect]:
    here = machine.model_copy(update={"cpus": sorted(os.sched_getaffinity(0))})
    script = folder / "job.py"
    script.write_text(code)
    asked = {"command": f"{sys.executable} -S {script}", **options}
    plan: Plan = expand([Request(kind="effect", options=asked)], here, thp=True)
    outcome = measure(plan, "test", here, ["tierscope"], folder, lambda _: None)
    assert {m.status for m in outcome.run.measurements} == {"measured"}
    return effects(outcome.run.measurements)


@pytest.mark.usefixtures("fake_engine")
def test_a_program_without_huge_pages_is_told_from_one_with_them(
    machine: Topology, tmp_path: Path
) -> None:
    assert "[never]" not in _THP.read_text(), f"this test needs huge pages: {_THP}"
    both = found(
        machine, tmp_path, _HUGE, placement="as-found\nthp:never", rounds="6",
        metric="small:lower=KiB without: ([0-9]+)",
    )  # fmt: skip
    (pages,) = [one for one in both if one.figure == "small"]
    assert (pages.verdict, pages.pairs) == ("worse", 6)
    assert pages.low is not None
    assert pages.low > 10


@pytest.mark.usefixtures("fake_engine")
def test_a_program_gets_the_huge_pages_that_it_asks_for_where_only_those_are_left(
    machine: Topology, tmp_path: Path
) -> None:
    both = found(
        machine, tmp_path, _HUGE, placement="as-found\nthp:madvise", rounds="2",
        metric="small:lower=KiB without: ([0-9]+)",
    )  # fmt: skip
    (pages,) = [one for one in both if one.figure == "small"]
    assert pages.ratio is not None
    assert pages.ratio < 2


@pytest.mark.soak
@pytest.mark.usefixtures("fake_engine")
def test_half_the_cpus_are_worse_for_two_processes(machine: Topology, tmp_path: Path) -> None:
    first, second = sorted(os.sched_getaffinity(0))[:2]
    placements = f"both=cpus:{first},{second}\nhalf=cpus:{first}"
    (one,) = found(machine, tmp_path, _TWO_PROCESSES, placement=placements, rounds="20")
    assert one.verdict == "worse", "unless others use the CPUs meanwhile"


@pytest.mark.soak
@pytest.mark.usefixtures("fake_engine")
def test_a_placement_does_not_differ_from_itself(machine: Topology, tmp_path: Path) -> None:
    alike = "one=env:WHICH=1\nother=env:WHICH=2"
    wrong = 0
    for number in range(40):
        folder = tmp_path / str(number)
        folder.mkdir()
        (one,) = found(machine, folder, "sum(range(300_000))", placement=alike, rounds="8")
        wrong += one.verdict != "undecided"
    # 5% of 40 are 2; more than 6 of them come by chance once in two hundred times.
    assert wrong <= 6
