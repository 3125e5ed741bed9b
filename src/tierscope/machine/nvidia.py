"""GPUs as NVIDIA's driver reports them: NVML, and the NUMA node of a coherent GPU's memory."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

from tierscope.machine.files import Files
from tierscope.machine.links import pcie_link
from tierscope.machine.nodes import Conclusion
from tierscope.model.topology import Gpu, NodeKind, NvLink

_PROC = "/proc/driver/nvidia/gpus"
MAX_LINKS = 18  # NVLink 4 and 5; asking for a link that a GPU lacks answers "not supported"
_NVLINK_OF_ARCHITECTURE = {4: 1, 5: 2, 6: 2, 7: 3, 9: 4, 10: 5}  # NVML_DEVICE_ARCH_*: Pascal is 4


class Nvml(Protocol):
    """The narrow part of NVML that we use; a test puts a table in its place."""

    def count(self) -> int:
        """GPUs that the driver counts and that answer."""

    def ask(self, function: str, gpu: int, *arguments: object) -> Any:
        """``nvmlDeviceGet<function>``'s answer; None where the GPU or driver has none."""

    def field(self, name: str, gpu: int, scope: int = 0) -> float | None:
        """The value of field ``NVML_FI_DEV_<name>``; None where there is none."""

    def averages(self, names: Sequence[str], gpu: int) -> dict[str, float]:
        """Means of ``NVML_GPM_METRIC_<name>`` since the last call for this GPU, without gaps.

        Empty at the first call, and where the GPU (before Hopper) or the driver has none.
        """


class NvmlLibrary:
    """NVML itself, found by the dynamic linker at run time."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self._handles = []
        self._samples: dict[int, Any] = {}
        """The last one of each GPU, for ``averages``."""
        self.left_out: list[str] = []
        """Each GPU that does not answer (lost, not permitted), and why."""
        for index in range(module.nvmlDeviceGetCount()):
            try:
                self._handles.append(module.nvmlDeviceGetHandleByIndex(index))
            except module.NVMLError as error:
                self.left_out.append(f"GPU {index} by nvidia-smi's numbers is left out: {error}")

    def count(self) -> int:
        """GPUs that answer."""
        return len(self._handles)

    def ask(self, function: str, gpu: int, *arguments: object) -> Any:
        """``nvmlDeviceGet<function>``'s answer; None where the GPU or driver has none."""
        try:
            return getattr(self._module, f"nvmlDeviceGet{function}")(self._handles[gpu], *arguments)
        except (AttributeError, self._module.NVMLError):
            return None

    def field(self, name: str, gpu: int, scope: int = 0) -> float | None:
        """The value of field ``NVML_FI_DEV_<name>``; None where there is none."""
        identifier = getattr(self._module, f"NVML_FI_DEV_{name}", None)
        values = self.ask("FieldValues", gpu, [(identifier, scope)]) if identifier else None
        if not values or values[0].nvmlReturn != self._module.NVML_SUCCESS:
            return None
        members = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal"}
        member = members.get(values[0].valueType)
        return float(getattr(values[0].value, member)) if member else None

    def averages(self, names: Sequence[str], gpu: int) -> dict[str, float]:
        """Means of ``NVML_GPM_METRIC_<name>`` since the last call; empty where there are none."""
        module = self._module
        try:
            if not module.nvmlGpmQueryDeviceSupport(self._handles[gpu]).isSupportedDevice:
                return {}
            sample = module.nvmlGpmSampleAlloc()
            module.nvmlGpmSampleGet(self._handles[gpu], sample)
        except (AttributeError, module.NVMLError):
            return {}
        last, self._samples[gpu] = self._samples.get(gpu), sample
        if last is None:
            return {}
        query = module.c_nvmlGpmMetricsGet_t()
        query.version = module.NVML_GPM_METRICS_GET_VERSION
        query.numMetrics = len(names)
        query.sample1, query.sample2 = last, sample
        for place, name in enumerate(names):
            query.metrics[place].metricId = getattr(module, f"NVML_GPM_METRIC_{name}")
        try:
            found = module.nvmlGpmMetricsGet(query).metrics
        except module.NVMLError:
            return {}
        finally:
            module.nvmlGpmSampleFree(last)
        return {
            name: found[place].value
            for place, name in enumerate(names)
            if found[place].nvmlReturn == module.NVML_SUCCESS
        }


def open_nvml(files: Files) -> tuple[Nvml | None, list[str], Callable[[], None]]:
    """NVML, what is missing of it where it should be there, and what closes it again."""
    if not files.live or not files.exists("/proc/driver/nvidia/version"):
        return None, [], lambda: None
    # It takes 20 ms to import, so only where there is a driver.
    import pynvml  # type: ignore[import-untyped]

    try:
        pynvml.nvmlInit()
        library = NvmlLibrary(pynvml)
    except pynvml.NVMLError as error:
        reason = f"GPUs' NVLinks, memory and clocks: NVML did not start: {error}"
        return None, [reason], lambda: None
    return library, library.left_out, pynvml.nvmlShutdown


def visible_gpus(nvml: Nvml, wish: str | None) -> list[int]:
    """NVML's numbers of the GPUs that CUDA shows, in the order in which CUDA counts them.

    ``wish`` is the variable CUDA_VISIBLE_DEVICES: numbers, or UUIDs that may be cut short; what
    follows the first that names no GPU is not shown (CUDA programming guide). CUDA is assumed not
    to count GPUs that do not answer: it counts those "available for execution". The evidence of
    each measurement names the GPU's address, so that a wrong number does not go unseen.
    """
    every = list(range(nvml.count()))
    if wish is None or "MIG-" in wish:  # Parts of a GPU: the GPU itself is what can be described.
        return every
    uuids = [_text(nvml.ask("UUID", index)) for index in every]
    shown: list[int] = []
    for word in (word.strip() for word in wish.split(",")):
        if word.isdigit():
            named = [index for index in every if index == int(word)]
        else:
            named = [index for index in every if word and uuids[index].startswith(word)]
        if len(named) != 1:
            break
        shown += named
    return shown if len(set(shown)) == len(shown) else []


def read_gpus(nvml: Nvml, wish: str | None = None) -> tuple[list[Gpu], list[str]]:
    """Every GPU that CUDA shows where CUDA_VISIBLE_DEVICES is ``wish``, and what is not shown."""
    shown = visible_gpus(nvml, wish)
    gpus = [_read_gpu(nvml, number, index) for index, number in enumerate(shown)]
    # nvidia-smi's numbers count GPUs that do not answer, too.
    known = [nvml.ask("Index", number) for number in shown]
    smi = [own if own is not None else number for own, number in zip(known, shown, strict=True)]
    if smi == list(range(nvml.count())):
        return gpus, []
    numbers = ", ".join(f"gpu:{index} is {number}" for index, number in enumerate(smi))
    said = [f"by nvidia-smi's numbers {numbers}"] if numbers else []
    if wish is not None:
        said.insert(0, f"CUDA_VISIBLE_DEVICES={wish} shows {len(shown)} of {nvml.count()} GPUs")
    return gpus, ["; ".join(said)]


def _read_gpu(nvml: Nvml, number: int, index: int) -> Gpu:
    pci = nvml.ask("PciInfo", number)
    memory = nvml.ask("MemoryInfo", number)
    bar1 = nvml.ask("BAR1MemoryInfo", number)
    mig = nvml.ask("MigMode", number)
    constraints = nvml.ask("PowerManagementLimitConstraints", number)  # the least and the most
    megahertz = nvml.ask("MaxClockInfo", number, 2)  # NVML_CLOCK_MEM
    c2c_links = nvml.field("C2C_LINK_COUNT", number)
    c2c_rates = [
        nvml.field("C2C_LINK_GET_MAX_BW", number, link) for link in range(int(c2c_links or 0))
    ]
    return Gpu(
        index=index,
        name=_text(nvml.ask("Name", number)),
        address=pci_address(_text(pci.busId)) if pci is not None else "",
        uuid=_text(nvml.ask("UUID", number)),
        memory_bytes=memory.total if memory is not None else None,
        node=nvml.ask("NumaNodeId", number),
        memory_clock_hz=megahertz * 1e6 if megahertz else None,
        memory_bus_bits=nvml.ask("MemoryBusWidth", number),
        bar1_bytes=bar1.bar1Total if bar1 is not None else None,
        mig=bool(mig[0]) if mig is not None else None,
        vbios=_text(nvml.ask("VbiosVersion", number)),
        power_limit_w=_watts(nvml.ask("EnforcedPowerLimit", number))
        or _watts(nvml.ask("PowerManagementLimit", number)),
        power_default_w=_watts(nvml.ask("PowerManagementDefaultLimit", number)),
        power_max_w=_watts(constraints[1]) if constraints is not None else None,
        pcie_replays=nvml.ask("PcieReplayCounter", number),
        link_max=pcie_link(
            nvml.ask("MaxPcieLinkGeneration", number) or 0,
            nvml.ask("MaxPcieLinkWidth", number) or 0,
        ),
        nvlinks=_nvlinks(nvml, number),
        c2c_links=int(c2c_links) if c2c_links else None,
        # MB/s a link
        c2c_rate=sum(rate or 0 for rate in c2c_rates) * 1e6 or None,
    )


def _nvlinks(nvml: Nvml, index: int) -> list[NvLink]:
    """Active links, those to the same peer together."""
    # NvLinkVersion counts revisions, and not the same way in every driver; the chip's is certain.
    version = _NVLINK_OF_ARCHITECTURE.get(nvml.ask("Architecture", index) or 0)
    peers: Counter[tuple[Literal["gpu", "switch", "cpu"], str | None]] = Counter()
    for link in range(MAX_LINKS):
        if nvml.ask("NvLinkState", index, link) != 1:
            continue
        kinds: dict[int, Literal["gpu", "switch", "cpu"]] = {0: "gpu", 1: "cpu", 2: "switch"}
        kind = kinds.get(nvml.ask("NvLinkRemoteDeviceType", index, link), "gpu")
        remote = nvml.ask("NvLinkRemotePciInfo", index, link)
        address = pci_address(_text(remote.busId)) if remote is not None else ""
        # Hopper's driver gives every link of a switch the address 0, or ffffffff:ff:ff.0 in virtual
        # machines: nothing to tell apart.
        told = address.strip("0:.") and not address.startswith("ffffffff")
        peers[(kind, address if told else None)] += 1
    speed = nvml.field("NVLINK_SPEED_MBPS_COMMON", index) if peers else None
    return [
        NvLink(
            version=version,
            links=links,
            peer=kind,
            peer_address=address,
            rate_per_link=speed * 1e6 if speed else None,
        )
        for (kind, address), links in peers.items()
    ]


def pci_address(text: str) -> str:
    """NVML writes 00000000:17:00.0 in capitals, the kernel 0000:17:00.0."""
    domain, colon, rest = text.lower().partition(":")
    return f"{domain[-4:] if domain[:-4].strip('0') == '' else domain}{colon}{rest}"


def _watts(milliwatts: int | None) -> float | None:
    return milliwatts / 1e3 if milliwatts else None


def driver_version(files: Files) -> str:
    """Version of NVIDIA's kernel driver; empty where it is not loaded."""
    text = files.text("/proc/driver/nvidia/version") or ""
    found = re.search(r"Kernel Module(?: for \S+)?\s+(\d+[\d.]+)", text)
    return found[1] if found else ""


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value or "")


def gpu_nodes(files: Files, gpus: list[Gpu]) -> dict[int, Conclusion]:
    """NUMA nodes that the driver says are a GPU's memory (POWER9, Grace Hopper)."""
    found: dict[int, str] = {}
    for address in files.names(_PROC):
        fields = {}
        for line in (files.text(f"{_PROC}/{address}/numa_status") or "").splitlines():
            key, _, value = line.partition(":")
            fields[key.strip().lower()] = value.strip()
        node = fields.get("node", "")
        if node.isdigit():
            found[int(node)] = address
    found.update({gpu.node: gpu.address for gpu in gpus if gpu.node is not None})
    return {
        node: (NodeKind.GPU, "the GPU driver says so", [address] if address else [])
        for node, address in found.items()
    }
