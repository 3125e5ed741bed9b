"""Checks of a machine for direct transfers between storage and GPUs (`tierscope doctor --storage`).

What each asks for comes from NVIDIA's "GPUDirect Storage Benchmarking and Configuration Guide"
(r1.12, 4.2.1: ACS, IOMMU) and from the release notes of GPUDirect Storage (1.13: PCI P2PDMA).
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tierscope.machine.checks import acs_redirects, nvidia_fs, switch_ports
from tierscope.machine.files import Files
from tierscope.model.endpoint import format_ranges
from tierscope.model.finding import Finding
from tierscope.model.topology import Gpu, Topology

_PCI = "/sys/bus/pci/devices"
_SMALL_BAR1 = 256 << 20
"""BAR1 of GPUs without Resizable BAR, and of workstation GPUs in their display mode."""
_P2P_KERNEL = (6, 2)
_P2P_RHEL = (9, 4)
"""Red Hat's kernel 5.14 has PCI P2PDMA for user space from this release on."""
_STATIC_BAR1 = "RMForceStaticBar1=1"
_MIB = 1 << 20


@dataclass(frozen=True)
class Machine:
    """A machine, and whether cuFile is configured to use PCI P2PDMA there."""

    topology: Topology
    files: Files
    p2p_wanted: bool = False


def storage_checks(machine: Machine) -> list[Finding]:
    """Findings about direct transfers, each with its meaning and a remedy."""
    checks: tuple[Callable[[Machine], Iterator[Finding]], ...] = (
        _gpus, _acs, _iommu, _bar1, _nvidia_fs, _driver, _kernel, _multipath, _static_bar1, _rdma,
    )  # fmt: skip
    return [finding for check in checks for finding in check(machine)]


def _gpus(machine: Machine) -> Iterator[Finding]:
    if not any(_nvidia(machine)):
        yield Finding(
            severity="note",
            subject="GPU",
            found="no NVIDIA GPU here",
            meaning="what follows holds once there is one",
        )


def _nvidia(machine: Machine) -> Iterator[Gpu]:
    vendors = {device.address: device.vendor for device in machine.topology.pci}
    return (gpu for gpu in machine.topology.gpus if vendors.get(gpu.address, 0x10DE) == 0x10DE)


def _acs(machine: Machine) -> Iterator[Finding]:
    ports = switch_ports(machine.topology)
    redirecting = [port.address for port in ports if port.acs_redirect]
    if redirecting:
        yield acs_redirects(redirecting)
    elif not ports:
        yield Finding(
            severity="good",
            subject="PCIe ACS",
            found="no PCIe switch above a GPU, an NVMe drive or an RDMA device",
            meaning="ACS makes no detour: the way leads through the root complex anyway",
        )
    elif hidden := [port for port in ports if not _readable(machine.files, port.address)]:
        yield Finding(
            severity="note",
            subject="PCIe ACS",
            found=f"not readable at {len(hidden)} of {len(ports)} switch ports",
            meaning="whether traffic between GPUs and drives detours through the CPU is unknown",
            remedy="run as root: the PCIe capabilities of a port are readable by root only",
        )
    else:
        yield Finding(
            severity="good",
            subject="PCIe ACS",
            found=f"redirects nothing at {len(ports)} switch ports",
        )


def _readable(files: Files, address: str) -> bool:
    """Whether extended capabilities can be read, which begin after the first 256 bytes."""
    return len(files.data(f"{_PCI}/{address}/config", 260)) == 260


def _iommu(machine: Machine) -> Iterator[Finding]:
    files = machine.files
    words = [
        word
        for word in (files.text("/proc/cmdline") or "").split()
        if re.match(r"(intel_|amd_)?iommu[.=]|arm-smmu", word)
    ]
    asked = f" (kernel command line: {' '.join(words)})" if words else ""
    groups = files.names("/sys/kernel/iommu_groups")
    units = files.names("/sys/class/iommu")
    types = {files.text(f"/sys/kernel/iommu_groups/{group}/type") or "" for group in groups}
    types |= {device.iommu_type or "" for device in machine.topology.pci}
    translated = sorted(name for name in types if name.startswith("DMA"))
    model = machine.topology.cpu_model
    if not groups and not units and not translated:
        yield Finding(severity="good", subject="IOMMU", found=f"off{asked}")
    elif "Grace" in model or "Neoverse" in model:
        yield Finding(
            severity="good", subject="IOMMU", found=f"on{asked}; on Grace it need not be off"
        )
    elif translated:
        yield Finding(
            severity="problem",
            subject="IOMMU",
            found=f"translates DMA ({', '.join(translated)}){asked}",
            meaning="traffic between GPU and drive goes through the root complex; GPUDirect "
            "Storage may be slow, or fail",
            remedy="turn it off: boot with intel_iommu=off or amd_iommu=off, or in firmware; where "
            "it is needed, iommu=pt at least translates nothing",
        )
    else:
        yield Finding(
            severity="note",
            subject="IOMMU",
            found=f"on, {'passes DMA through' if 'identity' in types else 'type unknown'}{asked}",
            meaning="NVIDIA's guide recommends to turn it off",
            remedy="boot with intel_iommu=off or amd_iommu=off, unless virtual machines need it",
        )


def _bar1(machine: Machine) -> Iterator[Finding]:
    """A finding for all GPUs of which the same is to be said."""
    alike: dict[str, tuple[Finding, list[int]]] = {}
    for gpu in _nvidia(machine):
        one = _bar1_of_gpu(gpu.bar1_bytes or _bar1_of(machine.files, gpu.address), gpu.memory_bytes)
        alike.setdefault(one.found, (one, []))[1].append(gpu.index)
    for one, indices in alike.values():
        subject = f"BAR1 of gpu:{format_ranges(tuple(indices))}"
        yield one.model_copy(update={"subject": subject})


def _bar1_of_gpu(size: int | None, memory: int | None) -> Finding:
    if size is None:
        return Finding(severity="note", subject="", found="size unknown")
    mebibytes = f"{size // _MIB} MiB"
    if memory is not None and size >= memory:
        return Finding(severity="good", subject="", found=f"{mebibytes}, all of its memory")
    if memory is None and size > _SMALL_BAR1:
        found = f"{mebibytes}; the size of its memory is unknown without NVML"
        return Finding(severity="note", subject="", found=found)
    return Finding(
        severity="problem" if size <= _SMALL_BAR1 else "note",
        subject="",
        found=f"{mebibytes} of {memory // _MIB} MiB of memory" if memory else mebibytes,
        meaning="drives and NICs reach GPU memory through this window: no more of it can be "
        "registered at once, and PCI P2PDMA needs all of it",
        remedy="turn on Resizable BAR and decoding above 4 GiB in firmware",
    )


def _bar1_of(files: Files, address: str) -> int | None:
    """Size of the second range in a function's resource file, which is a GPU's BAR1."""
    lines = (files.text(f"{_PCI}/{address}/resource") or "").splitlines()
    words = lines[1].split() if len(lines) > 1 else []
    if len(words) != 3:
        return None
    first, last = int(words[0], 16), int(words[1], 16)
    return last - first + 1 if last else None


def _nvidia_fs(machine: Machine) -> Iterator[Finding]:
    files = machine.files
    version = nvidia_fs(files)
    if not version:
        yield Finding(
            severity="note",
            subject="nvidia-fs",
            found="not loaded",
            meaning="only PCI P2PDMA is left as a direct way, and no NFS or Lustre has one",
            remedy="install the package nvidia-fs, then as root: modprobe nvidia-fs",
        )
    elif files.exists("/dev/null") and not files.names("/dev", "nvidia-fs"):
        yield Finding(
            severity="problem",
            subject="nvidia-fs",
            found=f"{version} is loaded, but there is no /dev/nvidia-fs*",
            meaning="cuFile cannot use it, as in a container that the devices were not given to",
            remedy="give the container its devices: --device /dev/nvidia-fs0, ... or --privileged",
        )
    else:
        yield Finding(severity="good", subject="nvidia-fs", found=version)


def _p2p_lacks(machine: Machine, subject: str, found: str, remedy: str) -> Finding:
    wanted = machine.p2p_wanted
    return Finding(
        severity="problem" if wanted else "note",
        subject=f"P2PDMA: {subject}",
        found=found,
        meaning="no PCI P2PDMA, which cufile.json asks for"
        if wanted
        else "no PCI P2PDMA; nvidia-fs does without",
        remedy=remedy,
    )


def _p2p_has(subject: str, found: str) -> Finding:
    return Finding(severity="good", subject=f"P2PDMA: {subject}", found=found)


def _driver(machine: Machine) -> Iterator[Finding]:
    version = machine.files.text("/proc/driver/nvidia/version")
    if version is None:
        return
    if "Open Kernel Module" in version:
        yield _p2p_has("GPU driver", "NVIDIA's open kernel module")
    else:
        yield _p2p_lacks(
            machine,
            "GPU driver",
            "NVIDIA's proprietary kernel module",
            "install the open kernel module (nvidia-open)",
        )


def kernel_has_p2pdma(kernel: str) -> bool:
    """Whether a kernel of this release lets user space use PCI P2PDMA memory."""
    found = re.match(r"(\d+)\.(\d+)", kernel)
    if found and (int(found[1]), int(found[2])) >= _P2P_KERNEL:
        return True
    redhat = re.search(r"\.el(\d+)_(\d+)", kernel)
    return bool(redhat and (int(redhat[1]), int(redhat[2])) >= _P2P_RHEL)


def _kernel(machine: Machine) -> Iterator[Finding]:
    kernel = machine.topology.kernel
    if kernel_has_p2pdma(kernel):
        yield _p2p_has("kernel", f"Linux {kernel}")
    else:
        yield _p2p_lacks(
            machine,
            "kernel",
            f"Linux {kernel or 'of unknown release'}",
            "use Linux 6.2 or newer, or that of RHEL 9.4",
        )


def multipath(files: Files) -> bool:
    """Whether NVMe drives are behind the kernel's own multipath."""
    return (files.text("/sys/module/nvme_core/parameters/multipath") or "N") == "Y"


def _multipath(machine: Machine) -> Iterator[Finding]:
    if multipath(machine.files):
        yield _p2p_lacks(
            machine,
            "NVMe multipath",
            "on (nvme_core.multipath=Y)",
            "where no drive has several paths: options nvme_core multipath=N in /etc/modprobe.d, "
            "make the initial RAM disk anew, boot",
        )
    else:
        yield _p2p_has("NVMe multipath", "off")


def has_static_bar1(machine: Machine) -> bool:
    """Whether a GPU's BAR1 is memory for PCI P2PDMA, or the driver was told to make it so."""
    files = machine.files
    offered = any(files.exists(f"{_PCI}/{gpu.address}/p2pmem") for gpu in _nvidia(machine))
    return offered or _STATIC_BAR1 in (files.text("/proc/driver/nvidia/params") or "")


def _static_bar1(machine: Machine) -> Iterator[Finding]:
    if has_static_bar1(machine):
        yield _p2p_has("static BAR1", "on")
    else:
        yield _p2p_lacks(
            machine,
            "static BAR1",
            "no GPU offers its BAR1 (no p2pmem), and the driver was not told to",
            f'options nvidia NVreg_RegistryDwords="{_STATIC_BAR1};RmForceDisableIomapWC=1" in '
            "/etc/modprobe.d, load the driver anew",
        )


def _rdma(machine: Machine) -> Iterator[Finding]:
    files = machine.files
    ports = [port for port in machine.topology.ports if port.rdma]
    if not ports:
        yield Finding(
            severity="good",
            subject="RDMA",
            found="no RDMA device; local drives need none",
            meaning="network file systems go through host memory",
        )
        return
    up = [port for port in ports if port.state == "active"]
    peer = files.exists("/sys/module/nvidia_peermem")
    stack = "MLNX_OFED or DOCA" if files.exists("/sys/module/mlx_compat") else "the kernel's own"
    found = f"{len(up)} of {len(ports)} ports active; drivers: {stack}; nvidia_peermem "
    if not up:
        yield Finding(
            severity="problem",
            subject="RDMA",
            found=found + ("loaded" if peer else "not loaded"),
            meaning="network file systems go through host memory, or not at all",
            remedy="look at the ports: ibstat, or ip link",
        )
    elif peer:
        yield Finding(severity="good", subject="RDMA", found=found + "loaded")
    else:
        yield Finding(
            severity="note",
            subject="RDMA",
            found=found + "not loaded",
            meaning="NICs reach GPU memory by dma-buf only",
            remedy='as root: modprobe nvidia_peermem, or set "rdma_peer_type": "dmabuf" in '
            "properties of cufile.json",
        )
