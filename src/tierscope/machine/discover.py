"""Discover this machine, or whatever a sysfs tree describes."""

import os
import platform
from pathlib import Path
from typing import TypedDict

from tierscope.machine import cxl, dimms, firmware, network, nodes, nvidia, pci, processors, storage
from tierscope.machine.cgroup import memory_limit, with_available
from tierscope.machine.files import Files
from tierscope.machine.nodes import infer_kinds
from tierscope.machine.stated import with_stated
from tierscope.model.errors import UserError
from tierscope.model.topology import TCG, Cache, Gpu, PciDevice, Topology


def discover(root: str | Path = "/", nvml: nvidia.Nvml | None = None) -> Topology:
    """The machine whose /sys and /proc lie below ``root``; needs no privilege and no GPU.

    ``nvml`` stands in for NVIDIA's library, which is otherwise opened where its driver is loaded.
    Below another root than / lies a copy of another machine's files.
    """
    files = Files(root)
    model = processors.cpu_model(files)
    online = processors.online_cpus(files)
    cores = processors.siblings(files, online)
    packages = processors.packages(files, online, cores, model)
    plain_nodes = nodes.read_nodes(files, packages, online)
    devices, hidden_pci = pci.read_pci(files, plain_nodes, packages)
    gpus, hidden_gpus = _gpus(files, nvml, devices)
    dax = cxl.read_dax(files)
    memories = cxl.read_cxl_memories(files)
    regions = cxl.read_cxl_regions(files, dax)
    modules, hidden_dimms = dimms.read_dimms(files, packages)
    blocks = storage.read_blocks(files)
    hypervisor, emulated = _virtual(files)
    known_nodes = infer_kinds(
        plain_nodes,
        cpu_model=model,
        packages=len(packages),
        told=nvidia.gpu_nodes(files, gpus),
        gpus=gpus,
        regions=regions,
        memories=memories,
        dax=dax,
        dimms=modules,
    )
    topology = Topology(
        **_identity(files),
        cpu_model=model,
        virtual=hypervisor,
        emulated=emulated,
        packages=packages,
        cpus=processors.allowed_cpus(files),
        memory_nodes=nodes.allowed_nodes(files),
        memory_left_bytes=_memory_left_bytes(files),
        siblings=cores,
        nodes=known_nodes,
        offline_nodes=nodes.offline_nodes(files),
        caches=processors.caches(files, online) or _caches_by_cpuid(files),
        huge_page_bytes=_huge_page_bytes(files),
        thp_page_bytes=files.number("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"),
        pci=devices,
        gpus=gpus,
        blocks=blocks,
        mounts=storage.read_mounts(files, blocks),
        ports=network.read_ports(files),
        cxl_memories=memories,
        cxl_regions=regions,
        dax=dax,
        namespaces=cxl.read_namespaces(files),
        dimms=modules,
        unreadable=[*_hidden(files), *hidden_pci, *hidden_gpus, *hidden_dimms, *_refused(files)],
    )
    topology = with_available(topology, root)
    return with_stated(topology) if files.live else topology


class _Identity(TypedDict):
    """Fields of ``Topology`` that name the machine and what runs it."""

    host: str
    source: str
    architecture: str
    kernel: str
    base_page_bytes: int
    product: str
    bios: str
    microcode: str
    gpu_driver: str


def _identity(files: Files) -> _Identity:
    """Which machine it is. hwloc-gather-topology notes what is not a file in hwloc-nofile-info."""
    lines = (files.text("/proc/hwloc-nofile-info") or "").splitlines()
    noted = {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}
    page = noted.get("PageSize", "")
    host = files.text("/proc/sys/kernel/hostname") or noted.get("HostName", "")
    kernel = files.text("/proc/sys/kernel/osrelease") or noted.get("OSRelease", "")
    return {
        "host": host or (platform.node() if files.live else Path(files.root).name),
        "source": "this machine" if files.live else files.root,
        "architecture": platform.machine() if files.live else noted.get("Architecture", ""),
        "kernel": kernel,
        "base_page_bytes": os.sysconf("SC_PAGE_SIZE")
        if files.live
        else int(page)
        if page.isdecimal() and int(page)
        else 4096,
        "product": _product(files),
        "bios": firmware.bios(files),
        "microcode": firmware.microcode(files),
        "gpu_driver": nvidia.driver_version(files),
    }


def discover_copy(directory: str) -> Topology:
    """The machine whose /sys and /proc were copied into a directory; UserError where they lack."""
    if not (Path(directory) / "sys/devices/system").is_dir():
        raise UserError(
            f"{directory}: no copy of a machine's files: it has no sys/devices/system; "
            "hwloc-gather-topology makes such a copy"
        )
    try:
        return discover(directory)
    except (ValueError, OSError) as error:
        why = " ".join(str(error).split())
        raise UserError(f"{directory}: damaged copy of a machine's files: {why}") from None


def _memory_left_bytes(files: Files) -> int | None:
    limit = memory_limit() if files.live else None
    return limit.left_bytes if limit else None


def _huge_page_bytes(files: Files) -> list[int]:
    names = files.names("/sys/kernel/mm/hugepages", "hugepages-")
    return sorted(int(name.removeprefix("hugepages-").removesuffix("kB")) << 10 for name in names)


def _gpus(
    files: Files, nvml: nvidia.Nvml | None, devices: list[PciDevice]
) -> tuple[list[Gpu], list[str]]:
    """GPUs that NVML counts and CUDA shows; those on the PCI bus where there is no NVML."""
    hidden: list[str] = []
    close = None
    if nvml is None:
        nvml, hidden, close = nvidia.open_nvml(files)
    found: list[Gpu] = []
    if nvml is not None:
        wish = os.environ.get("CUDA_VISIBLE_DEVICES") if files.live else None
        found, not_shown = nvidia.read_gpus(nvml, wish)
        hidden = [*hidden, *not_shown]
    if close is not None:
        close()
    if nvml is not None and (nvml.count() or hidden):
        return found, hidden
    bare = [device for device in devices if pci.is_gpu(device.class_code, device.vendor)]
    gpus = [
        Gpu(index=index, name=device.name, address=device.address)
        for index, device in enumerate(sorted(bare, key=lambda device: device.address))
    ]
    if gpus and not hidden:
        why = "NVIDIA's driver is not loaded" if files.live else "a copy of files holds no NVML"
        hidden = [f"GPUs' names, memory and NVLinks: {why}"]
    return gpus, hidden


def _caches_by_cpuid(files: Files) -> list[Cache]:
    """Some hypervisors leave sysfs without caches; hwloc asks the CPU itself."""
    from tierscope.engine.process import topology_xml
    from tierscope.machine.hwloc import parse_hwloc

    if not files.live:
        return []
    try:
        return parse_hwloc(topology_xml().encode(), "hwloc").caches
    except UserError:
        return []


def _hidden(files: Files) -> list[str]:
    """A line where there is no /sys, which a container may hide."""
    if files.exists("/sys/devices/system/cpu"):
        return []
    return ["CPUs, nodes, links and drives: /sys is not visible; mount it"]


def _refused(files: Files) -> list[str]:
    """One line for all files that permissions kept from us and that no other line mentions."""
    spoken_of = ("/config", "/dmi/")
    paths = [path for path in files.unreadable if not any(word in path for word in spoken_of)]
    if not paths:
        return []
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return [f"{paths[0]}{more}: {files.unreadable[paths[0]]}; run as root to read them"]


def _product(files: Files) -> str:
    names = [files.text(f"/sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name")]
    device_tree = files.text("/proc/device-tree/model")
    return " ".join(name for name in names if name) or device_tree or ""


def _virtual(files: Files) -> tuple[str, bool]:
    """Hypervisor, as far as it shows, and whether CPUs or memories are emulated in software."""
    cpuinfo = files.text("/proc/cpuinfo") or ""
    vendor = files.text("/sys/class/dmi/id/sys_vendor") or ""
    if "QEMU TCG" in cpuinfo:
        return TCG, True
    # The testbed says so itself: under KVM its CPUs are real, and its memories are not.
    if "tierscope.emulated=1" in (files.text("/proc/cmdline") or "").split():
        return vendor, True
    flags = next((line for line in cpuinfo.splitlines() if line.startswith("flags")), "")
    if "hypervisor" in flags.split() or vendor == "QEMU":
        return files.text("/sys/hypervisor/type") or vendor or "unnamed hypervisor", False
    return "", False
