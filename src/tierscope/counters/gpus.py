"""What NVIDIA GPUs do, by NVML: busy time, memory, PCIe and NVLink."""

from typing import Any

from tierscope.counters.reading import Count, Key, Reading
from tierscope.counters.source import Source, absent, lacks
from tierscope.topology.files import Files
from tierscope.topology.links import gpu_memory_limit
from tierscope.topology.nvidia import Nvml, open_nvml, visible_gpus

_KIB = 1024
_ALL_LINKS = 0xFFFFFFFF
_MIB = 1 << 20
_MEMORY = "DRAM_BW_UTIL"
_MEANS = {
    ("receive_throughput", "PCIe"): "PCIE_RX_PER_SEC",
    ("send_throughput", "PCIe"): "PCIE_TX_PER_SEC",
    ("receive_throughput", "NVLink"): "NVLINK_TOTAL_RX_PER_SEC",
    ("send_throughput", "NVLink"): "NVLINK_TOTAL_TX_PER_SEC",
}
"""By metric and link: the mean in MiB/s that GPUs have from Hopper on."""
_PCIE_UTIL = {"send_throughput": 0, "receive_throughput": 1}  # NVML_PCIE_UTIL_TX_BYTES, _RX_BYTES
_COUNTERS = {
    ("receive_throughput", "PCIe"): ("PCIE_COUNT_RX_BYTES", 0, 1),
    ("send_throughput", "PCIe"): ("PCIE_COUNT_TX_BYTES", 0, 1),
    ("receive_throughput", "NVLink"): ("NVLINK_THROUGHPUT_DATA_RX", _ALL_LINKS, _KIB),
    ("send_throughput", "NVLink"): ("NVLINK_THROUGHPUT_DATA_TX", _ALL_LINKS, _KIB),
}
"""By metric and link: the field that counts, its scope, and bytes of one count."""


def gpus_source(files: Files, nvml: Nvml | None = None, wish: str | None = None) -> Source:
    """Every GPU that CUDA shows where CUDA_VISIBLE_DEVICES is ``wish``.

    ``nvml`` stands in for NVIDIA's library, which is otherwise opened where its driver is loaded.
    """
    missing: list[str] = []

    def close() -> None:
        pass

    if nvml is None:
        nvml, missing, close = open_nvml(files)
    lacking = [lacks("GPUs", text) for text in missing]
    if nvml is None:
        return absent("gpus", lacking or [lacks("GPUs", "no NVIDIA driver is loaded")])
    library = nvml
    shown = visible_gpus(library, wish)

    def read() -> Reading:
        found = Reading()
        for index, number in enumerate(shown):
            _read_gpu(library, number, f"gpu {index}", found)
        return found

    return Source("gpus", read, lacking, close=close)


def _read_gpu(nvml: Nvml, number: int, name: str, into: Reading) -> None:
    use = nvml.ask("UtilizationRates", number)
    if use is not None:  # percent of the driver's last sample period, up to a second
        into.levels[Key("busy", name)] = use.gpu / 100
        into.levels[Key("memory_busy", name)] = use.memory / 100
    memory = nvml.ask("MemoryInfo", number)
    if memory is not None:
        into.levels[Key("memory_used", name)] = memory.used
    means = nvml.averages((_MEMORY, *_MEANS.values()), number)
    if _MEMORY in means and (most := _memory_rate(nvml, number)):  # percent of it
        into.levels[Key("throughput", f"{name} memory")] = means[_MEMORY] / 100 * most
    for (metric, link), metric_name in _MEANS.items():
        if metric_name in means:
            into.levels[Key(metric, f"{name} {link}")] = means[metric_name] * _MIB
        else:
            _read_link(nvml, number, metric, name, link, into)


def _read_link(nvml: Nvml, number: int, metric: str, name: str, link: str, into: Reading) -> None:
    """Read a counter where there is one; of PCIe else a rate that the driver sampled."""
    key = Key(metric, f"{name} {link}")
    field, scope, scale = _COUNTERS[metric, link]
    counted = nvml.field(field, number, scope)
    if counted is not None:
        into.counts[key] = Count(counted * scale)
    elif link == "PCIe":
        sample: Any = nvml.ask("PcieThroughput", number, _PCIE_UTIL[metric])
        if sample is not None:  # kB/s over 20 ms
            into.levels[key] = sample * 1e3


def _memory_rate(nvml: Nvml, number: int) -> float | None:
    """Bytes a second that a GPU's memory can have, by its clock and width."""
    megahertz = nvml.ask("MaxClockInfo", number, 2)  # NVML_CLOCK_MEM
    bits = nvml.ask("MemoryBusWidth", number)
    if not megahertz or not bits:
        return None
    return gpu_memory_limit(megahertz * 1e6, bits, "").value
