"""GPUs by a table in NVML's place, and NVML's means by a module in its bindings' place."""
# ruff: noqa: ARG002 - these stand in for others

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tierscope.machine.counters import gpus_source, rates
from tierscope.machine.files import Files
from tierscope.machine.nvidia import NvmlLibrary


class Table:
    """Answers by function; counters by field."""

    def __init__(self, **means: float) -> None:
        self.means = means
        self.fields: dict[str, float] = {}

    def count(self) -> int:
        return 1

    def ask(self, function: str, gpu: int, *arguments: object) -> Any:
        return {
            "UtilizationRates": SimpleNamespace(gpu=50, memory=25),
            "MemoryInfo": SimpleNamespace(used=1 << 30),
            "BAR1MemoryInfo": SimpleNamespace(bar1Used=1 << 20),
            "Temperature": 45,
            "ClockInfo": 1980,
            "MaxClockInfo": 3201,
            "MemoryBusWidth": 6144,
            "PcieThroughput": 7,
        }.get(function)

    def field(self, name: str, gpu: int, scope: int = 0) -> float | None:
        return self.fields.get(name)

    def averages(self, names: Sequence[str], gpu: int) -> dict[str, float]:
        return {name: value for name, value in self.means.items() if name in names}


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter(range(1000))
    monkeypatch.setattr("time.monotonic", lambda: float(next(seconds)))


def values_of(table: Table, **increase: float) -> dict[tuple[str, str], float]:
    table.fields = dict.fromkeys(increase, 1000.0)
    source = gpus_source(Files(), table)
    before = source.read()
    table.fields = {name: 1000.0 + more for name, more in increase.items()}
    return dict(rates(before, source.read()))


def test_means_of_hopper_are_taken_where_they_are() -> None:
    found = values_of(Table(DRAM_BW_UTIL=50.0, PCIE_RX_PER_SEC=2.0, NVLINK_TOTAL_TX_PER_SEC=4.0))
    assert found["throughput", "gpu 0 memory"] == pytest.approx(0.5 * 2 * 3201e6 * 6144 / 8)
    assert found["receive_throughput", "gpu 0 PCIe"] == 2 << 20
    assert found["send_throughput", "gpu 0 NVLink"] == 4 << 20
    assert found["send_throughput", "gpu 0 PCIe"] == 7e3, "what has no mean is sampled"
    assert (found["busy", "gpu 0"], found["memory_busy", "gpu 0"]) == (0.5, 0.25)
    assert found["memory_used", "gpu 0"] == 1 << 30
    assert found["bar1_used", "gpu 0"] == 1 << 20
    assert (found["temperature", "gpu 0"], found["sm_clock", "gpu 0"]) == (45, 1980e6)


def test_older_ones_have_counters_of_links() -> None:
    found = values_of(Table(), NVLINK_THROUGHPUT_DATA_RX=40.0, PCIE_COUNT_TX_BYTES=80.0)
    assert found["receive_throughput", "gpu 0 NVLink"] > 0
    assert found["send_throughput", "gpu 0 PCIe"] > 0
    ratio = found["receive_throughput", "gpu 0 NVLink"] / found["send_throughput", "gpu 0 PCIe"]
    assert ratio == pytest.approx(1024 / 2), "one counts KiB, the other bytes"
    assert ("throughput", "gpu 0 memory") not in found


def test_without_a_driver_there_are_none(tmp_path: Path) -> None:
    source = gpus_source(Files(tmp_path))
    assert not source.available
    assert source.lacking[0].reason == "no NVIDIA driver is loaded"


class Module:
    """The bindings' part that means take; a sample is a number, a mean their difference."""

    NVML_SUCCESS = 0
    NVML_GPM_METRICS_GET_VERSION = 1
    NVML_GPM_METRIC_DRAM_BW_UTIL = 10
    NVMLError = RuntimeError

    def __init__(self, supported: bool) -> None:
        self.supported = supported
        self.alive = 0
        self.time = 0

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802 - NVML's own names
        return 1

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        return index

    def nvmlGpmQueryDeviceSupport(self, handle: int) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(isSupportedDevice=int(self.supported))

    def nvmlGpmSampleAlloc(self) -> SimpleNamespace:  # noqa: N802
        self.alive += 1
        return SimpleNamespace()

    def nvmlGpmSampleGet(self, handle: int, sample: SimpleNamespace) -> None:  # noqa: N802
        self.time += 3
        sample.at = self.time

    def nvmlGpmSampleFree(self, sample: SimpleNamespace) -> None:  # noqa: N802
        self.alive -= 1

    def c_nvmlGpmMetricsGet_t(self) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(metrics=[SimpleNamespace() for _ in range(4)])

    def nvmlGpmMetricsGet(self, query: SimpleNamespace) -> SimpleNamespace:  # noqa: N802
        for metric in query.metrics[: query.numMetrics]:
            assert metric.metricId == 10
            metric.value, metric.nvmlReturn = query.sample2.at - query.sample1.at, 0
        return query


def test_means_are_from_one_call_to_the_next() -> None:
    module = Module(supported=True)
    library = NvmlLibrary(module)
    assert library.averages(["DRAM_BW_UTIL"], 0) == {}
    for _ in range(3):
        assert library.averages(["DRAM_BW_UTIL"], 0) == {"DRAM_BW_UTIL": 3}
        assert module.alive == 1, "samples are released"


def test_gpus_before_hopper_have_no_means() -> None:
    assert NvmlLibrary(Module(supported=False)).averages(["DRAM_BW_UTIL"], 0) == {}
