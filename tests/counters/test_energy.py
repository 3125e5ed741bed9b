"""Energy of RAPL, NVML and hwmon from trees of files, and the energy of windows."""

import math
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree import Tree

from tierscope.machine.counters import Count, Key, Reading, Source, increase_of
from tierscope.machine.energy import (
    METRIC,
    PERIOD_S,
    EnergyMeter,
    energy_sources,
    hwmon_source,
    nvml_source,
    rapl_source,
    summed_domains,
)

CAP = "/sys/class/powercap"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def zone(tree: Tree, name: str, what: str, microjoules: int, most: int = 262_143_328_850) -> None:
    tree.write(f"{CAP}/{name}/name", f"{what}\n")
    tree.write(f"{CAP}/{name}/energy_uj", f"{microjoules}\n")
    tree.write(f"{CAP}/{name}/max_energy_range_uj", f"{most}\n")


def two_packages(tree: Tree) -> None:
    """What powercap shows of a server with two packages."""
    for number in (0, 1):
        zone(tree, f"intel-rapl:{number}", f"package-{number}", 1_000_000 * (number + 1))
        zone(tree, f"intel-rapl:{number}:0", "dram", 500_000)
    zone(tree, "intel-rapl:0:1", "core", 250_000)
    zone(tree, "intel-rapl:2", "psys", 9_000_000)
    zone(tree, "intel-rapl-mmio:0", "package-0", 7)


def test_zones_are_named_by_package(tree: Tree) -> None:
    two_packages(tree)
    found = rapl_source(tree.files).read().counts
    assert {key.part: count.value for key, count in found.items()} == {
        "package 0": 1.0,
        "package 1": 2.0,
        "package 0 dram": 0.5,
        "package 1 dram": 0.5,
        "package 0 core": 0.25,
        "psys": 9.0,
    }
    assert {key.metric for key in found} == {METRIC}
    assert all(count.wraps_at == pytest.approx(262_143.328851) for count in found.values())


def test_without_root_the_remedy_is_said(tree: Tree) -> None:
    tree.write(f"{CAP}/intel-rapl:0/name", "package-0")
    tree.folder(f"{CAP}/intel-rapl:0/energy_uj")  # which reads as an error, like a refusal
    source = rapl_source(tree.files)
    assert not source.available
    assert "root only" in source.lacking[0].reason
    assert "chmod a+r" in source.lacking[0].remedy


def test_a_machine_without_any_says_so_of_each(tree: Tree) -> None:
    sources = energy_sources(tree.files)
    assert [source.available for source in sources] == [False] * 3
    said = [one.what for source in sources for one in source.lacking]
    assert [what.rpartition("(")[2] for what in said] == ["RAPL)", "NVML)", "hwmon)"]


class Boards:
    """Two GPUs: one counts energy, the other, an older one, tells its power."""

    def count(self) -> int:
        return 2

    def ask(self, function: str, gpu: int, *_arguments: object) -> Any:
        answers = [{"TotalEnergyConsumption": 3000, "PowerUsage": 1}, {"PowerUsage": 70_000}]
        return answers[gpu].get(function)


def test_boards_count_millijoules_or_tell_milliwatts(tree: Tree) -> None:
    found = nvml_source(tree.files, Boards()).read()  # type: ignore[arg-type]
    assert {key.part: count.value for key, count in found.counts.items()} == {"gpu 0": 3.0}
    assert {key.part: watts for key, watts in found.levels.items()} == {"gpu 1": 70.0}


def test_hidden_boards_are_not_read(tree: Tree) -> None:
    found = nvml_source(tree.files, Boards(), wish="1").read()  # type: ignore[arg-type]
    assert list(found.counts) == []
    assert {key.part: watts for key, watts in found.levels.items()} == {"gpu 0": 70.0}


def test_sensors_are_those_of_energy_else_of_power(tree: Tree) -> None:
    tree.write("/sys/class/hwmon/hwmon0/name", "power_meter")
    tree.write("/sys/class/hwmon/hwmon0/power1_average", "123000000")
    tree.write("/sys/class/hwmon/hwmon0/power1_input", "1")
    tree.write("/sys/class/hwmon/hwmon0/power1_label", "Grace Power Socket 0")
    tree.write("/sys/class/hwmon/hwmon1/name", "amd_energy")
    tree.write("/sys/class/hwmon/hwmon1/energy1_input", "5000000")
    tree.write("/sys/class/hwmon/hwmon1/energy1_label", "Esocket0")
    tree.write("/sys/class/hwmon/hwmon1/power1_input", "1")
    tree.write("/sys/class/hwmon/hwmon2/name", "nvme")
    tree.write("/sys/class/hwmon/hwmon2/temp1_input", "30000")
    tree.write("/sys/class/hwmon/hwmon2/power1_cap", "30000")
    found = hwmon_source(tree.files).read()
    assert found.levels == {Key(METRIC, "power_meter hwmon0 Grace Power Socket 0"): 123.0}
    ((key, count),) = found.counts.items()
    assert (key.part, count.value) == ("amd_energy hwmon1 Esocket0", 5.0)


def test_what_lies_inside_another_domain_is_in_no_sum() -> None:
    of_cpus = [
        ("package 0", "RAPL"),
        ("package 0 die 1", "RAPL"),
        ("package 0 dram", "RAPL"),
        ("package 0 core", "RAPL"),
        ("psys", "RAPL"),
    ]
    socket = ("power_meter hwmon0 Grace Power Socket 0", "hwmon")
    module = ("power_meter hwmon1 Module Power Socket 0", "hwmon")
    boards = [("gpu 0", "NVML"), ("gpu 1", "NVML")]
    counted = {"package 0", "package 0 die 1", "package 0 dram"}
    assert summed_domains([*of_cpus, socket, module, *boards], gpus=()) == counted
    assert summed_domains([*of_cpus, *boards], gpus=[0, 1]) == counted | {"gpu 0", "gpu 1"}
    assert summed_domains([socket, module, *boards], gpus=[1]) == {socket[0], "gpu 1"}


class Clock:
    """A clock that stands still unless told, and energy that follows it at a power."""

    def __init__(self) -> None:
        self.now = 100.0
        self.joules = 0.0

    def pass_time(self, seconds: float, watts: float) -> None:
        self.now += seconds
        self.joules += seconds * watts

    def read(self, wraps_at: float = 50.0) -> Reading:
        return Reading({Key(METRIC, "package 0"): Count(self.joules % wraps_at, 0.0, wraps_at)})


def meter_of(clock: Clock) -> EnergyMeter:
    return EnergyMeter([Source("RAPL", clock.read)], clock=lambda: clock.now)


def test_a_window_has_its_own_energy_over_ends_of_the_counter() -> None:
    clock = Clock()
    meter = meter_of(clock)
    for watts in (10, 100, 100, 10):
        clock.pass_time(0.4, watts)
        meter.read()
    assert meter.window(100.4, 101.2) == {("package 0", "RAPL"): pytest.approx(80)}
    assert meter.window(100.2, 100.6) == {("package 0", "RAPL"): pytest.approx(2 + 20)}
    assert meter.readings(100.3, 101.3) == 3
    assert meter.window(99.0, 101.0) == {}, "nobody looked before"
    assert meter.window(101.0, 102.0) == {}, "nobody looked after"


def test_what_was_forgotten_leaves_later_windows_as_they_are() -> None:
    clock = Clock()
    meter = meter_of(clock)
    for _ in range(10):
        clock.pass_time(0.1, 50)
        meter.read()
    before = meter.window(100.75, 100.95)
    meter.forget_before(100.75)
    assert meter.window(100.75, 100.95) == before
    assert meter.window(100.2, 100.95) == {}


def test_a_sensor_s_power_is_integrated() -> None:
    levels = SimpleNamespace(now=0.0, watts=10.0)

    def read() -> Reading:
        return Reading(levels={Key(METRIC, "meter"): levels.watts})

    meter = EnergyMeter([Source("hwmon", read)], clock=lambda: levels.now)
    for watts in (20.0, 20.0):
        levels.now, levels.watts = levels.now + 1, watts
        meter.read()
    assert meter.window(0, 2) == {("meter", "hwmon"): pytest.approx(15 + 20)}


def test_a_domain_that_goes_has_no_energy() -> None:
    clock = Clock()
    there = [True]
    meter = EnergyMeter(
        [Source("RAPL", lambda: clock.read() if there[0] else Reading())], clock=lambda: clock.now
    )
    clock.pass_time(1, 10)
    there[0] = False
    meter.read()
    assert meter.window(100, 101) == {}


def test_the_thread_reads_and_ends() -> None:
    clock = Clock()
    reads: list[float] = []

    def read() -> Reading:
        reads.append(clock.now)
        return clock.read()

    meter = EnergyMeter([Source("RAPL", read)])
    meter.start()
    while len(reads) < 4:
        pass
    meter.close()
    count = len(reads)
    time.sleep(3 * PERIOD_S)
    assert count == len(reads)


@given(
    start=st.floats(0, 100),
    gained=st.floats(0, 99.9),
    most=st.just(100.0),
)
def test_a_counter_s_gain_does_not_depend_on_its_end(
    start: float, gained: float, most: float
) -> None:
    before = Count(start % most, 0.0, most)
    after = Count((start + gained) % most, 1.0, most)
    found = increase_of(before, after)
    assert found is not None
    assert math.isclose(found, gained, abs_tol=1e-9) or math.isclose(
        abs(found - gained), most, abs_tol=1e-9
    )


@given(text=st.text(max_size=30))
def test_whatever_a_counter_s_file_holds_is_a_number_or_nothing(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    tree = Tree(tmp_path_factory.mktemp("rapl"))
    zone(tree, "intel-rapl:0", "package-0", 1)
    (tree.root / f"{CAP}/intel-rapl:0/energy_uj".lstrip("/")).write_bytes(text.encode())
    counts = rapl_source(tree.files).read().counts
    assert all(isinstance(count.value, float) for count in counts.values())
