"""Runs that measure energy beside figures, by the engine and a meter whose power is known."""

import io
import json
import operator
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from forked import tierscope
from tierscope.kinds.gpu_copy.spec import GpuCopySpec
from tierscope.kinds.plan import Plan
from tierscope.machine.counters import Count, Key, Reading, Source
from tierscope.machine.discover import discover
from tierscope.machine.energy import METRIC, EnergyMeter, engine_clock
from tierscope.model.event import Repetition
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.report.energy import explained, show_energy
from tierscope.runs.measure import RunEnergy, measure
from tierscope.runs.read import read_run

WATTS = 100.0
OPTIONS = {"size": "1m", "budget": "0.4", "threads": "1"}


class Supply:
    """A package that takes 40 W while it idles and 100 W from then on."""

    def __init__(self) -> None:
        self.last, self.joules, self.watts = engine_clock(), 0.0, 40.0

    def read(self) -> Reading:
        now = engine_clock()
        self.joules += (now - self.last) * self.watts
        self.last = now
        counts = {"package 0": Count(self.joules, 0.0, 1e6), "gpu 0": Count(now * 70, 0.0)}
        return Reading({Key(METRIC, name): count for name, count in counts.items()})


@pytest.fixture
def here() -> Topology:
    return discover()


@pytest.fixture
def known_power(monkeypatch: pytest.MonkeyPatch) -> None:
    supply = Supply()

    class Idle(RunEnergy):
        def measure_idle(self, interrupted: Callable[[], bool]) -> None:
            super().measure_idle(interrupted)
            supply.watts = WATTS

    def meter() -> EnergyMeter:
        return EnergyMeter([Source("RAPL", supply.read)])

    monkeypatch.setattr("tierscope.runs.measure.machine_meter", meter)
    monkeypatch.setattr("tierscope.runs.measure.RunEnergy", partial(Idle, idle_s=0.1))


def mean_rate(path: Path) -> float:
    """Of all rows of a run with one measurement, as windows were long."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    repetitions = [line["repetition"] for line in lines if line["record"] == "repetition"]
    rates, seconds = [], []
    for repetition in repetitions:
        (series, *_) = repetition["series"]
        values, durations = series["columns"][0]["values"], series["durations"]
        rates.append(sum(map(operator.mul, values, durations)) / sum(durations))
        seconds.append(repetition["evidence"]["energy"]["seconds"])
    return sum(map(operator.mul, rates, seconds)) / sum(seconds)


def plan_of(machine: Topology) -> Plan:
    return expand([Request(kind="bandwidth", options=OPTIONS)], machine, thp=True)


@pytest.mark.usefixtures("known_power")
def test_the_window_s_power_is_that_of_the_supply(here: Topology, tmp_path: Path) -> None:
    outcome = measure(
        plan_of(here), "test", here, ["tierscope"], tmp_path, lambda _: None, energy=True
    )
    run = read_run(outcome.path)
    assert run == outcome.run
    assert run.header.energy
    (only,) = run.measurements
    figures = {(f.metric, f.part): f for f in only.figures}
    assert figures["power", ""].estimate == pytest.approx(WATTS, rel=0.02)
    above = figures["power_above_idle", ""].estimate
    assert above == pytest.approx(WATTS - 40, rel=0.05)
    per_bit = figures["energy_per_bit", ""].estimate
    assert per_bit == pytest.approx(above / (8 * mean_rate(outcome.path)), rel=1e-6)
    assert only.evidence is not None
    energy = only.evidence.energy
    assert energy is not None
    assert energy.seconds > 0
    assert {one.name: one.summed for one in energy.domains} == {"package 0": True, "gpu 0": False}
    console = Console(file=io.StringIO(), width=100)
    show_energy(console, run)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "pJ/bit" in shown
    assert "in no sum, since others may contain them: gpu 0" in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_without_being_asked_nothing_is_read(here: Topology, tmp_path: Path) -> None:
    outcome = measure(plan_of(here), "test", here, ["tierscope"], tmp_path, lambda _: None)
    assert outcome.run.header.energy is None
    assert outcome.run.measurements[0].evidence.energy is None  # type: ignore[union-attr]


def test_the_command_tells_or_says_what_is_missing(tmp_path: Path) -> None:
    options = ["--size", "1m", "--budget", "0.3", "--out", str(tmp_path), "--energy"]
    done = tierscope("bandwidth", *options, "--json")
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(done.stdout)["results"]
    energy = result["evidence"]["energy"]
    names = {domain["name"] for domain in energy["domains"]}
    told = {figure["part"] for figure in result["figures"] if figure["metric"] == "power"}
    assert names == told - {""}
    sources = {domain["source"] for domain in energy["domains"]}
    lacking = {one["what"].rpartition("(")[2].rstrip(")") for one in energy.get("lacking", [])}
    assert sources | lacking == {"RAPL", "NVML", "hwmon"}


def copy_between(source: str, destination: str) -> GpuCopySpec:
    """A copy of which only the places matter."""
    return GpuCopySpec.model_construct(id="m", initiator=source, target=destination, transfers=[])


@pytest.mark.parametrize(
    ("source", "destination", "summed"),
    [
        ("node:0", "gpu:1", {"gpu 1"}),
        ("gpu:2", "gpu:0", {"gpu 0", "gpu 2"}),
        ("gpu:0-1", "node:0", {"gpu 0", "gpu 1"}),
        ("node:0", "node:0", set[str]()),
    ],
)
def test_of_gpus_only_those_that_take_part_are_summed(
    source: str, destination: str, summed: set[str]
) -> None:
    def read() -> Reading:
        joules = Count(50.0 * engine_clock(), 0.0)
        return Reading({Key(METRIC, f"gpu {number}"): joules for number in range(3)})

    energy = RunEnergy(EnergyMeter([Source("NVML", read)]), idle_s=0.05)
    energy.measure_idle(lambda: False)
    began = engine_clock()
    time.sleep(0.1)
    rows = {"starts": [0.0], "durations": [0.1]}
    column = {"metric": "bandwidth", "part": "", "values": [1e9]}
    repetition = Repetition.model_validate(
        {
            "id": "m", "seconds": 0.1, "fresh": False, "interrupted": False, "began_s": began,
            "series": [{"name": "copies", **rows, "columns": [column]}], "evidence": {},
        }
    )  # fmt: skip
    found = energy.observed(repetition, copy_between(source, destination)).evidence.energy
    energy.close()
    assert found is not None
    assert {one.name for one in found.domains if one.summed} == summed
    assert all(one.joules == pytest.approx(5.0, rel=0.3) for one in found.domains)
    console = Console(file=io.StringIO(), width=100)
    for line in explained([found]):
        console.print(line)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    left_out = sorted({"gpu 0", "gpu 1", "gpu 2"} - summed)
    assert (f"in no sum, since they take no part: {', '.join(left_out)}" in shown) == bool(left_out)
    assert ("of GPUs, those that take part" in shown) == bool(summed)
