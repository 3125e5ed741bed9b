"""Discover this machine, or whatever a sysfs tree describes."""

import os
import platform
from pathlib import Path

from tierscope.model.topology import Topology
from tierscope.topology import nodes, processors
from tierscope.topology.files import Files


def discover(root: str | Path = "/") -> Topology:
    """The machine whose /sys and /proc lie below ``root``; needs no privilege and no GPU."""
    files = Files(root)
    model = processors.cpu_model(files)
    online = processors.online_cpus(files)
    cores = processors.siblings(files, online)
    packages = processors.packages(files, online, cores, model)
    hypervisor, emulated = _virtual(files)
    return Topology(
        host=files.text("/proc/sys/kernel/hostname") or platform.node(),
        source="this machine" if files.live else files.root,
        product=_product(files),
        cpu_model=model,
        architecture=platform.machine() if files.live else "",
        kernel=files.text("/proc/sys/kernel/osrelease") or "",
        virtual=hypervisor,
        emulated=emulated,
        packages=packages,
        cpus=processors.allowed_cpus(files),
        siblings=cores,
        nodes=nodes.read_nodes(files, packages, online),
        caches=processors.caches(files, online),
        base_page_bytes=os.sysconf("SC_PAGE_SIZE") if files.live else 4096,
        huge_page_bytes=sorted(
            int(name.removeprefix("hugepages-").removesuffix("kB")) << 10
            for name in files.names("/sys/kernel/mm/hugepages", "hugepages-")
        ),
    )


def _product(files: Files) -> str:
    names = [files.text(f"/sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name")]
    device_tree = files.text("/proc/device-tree/model")
    return " ".join(name for name in names if name) or device_tree or ""


def _virtual(files: Files) -> tuple[str, bool]:
    """Hypervisor, as far as it shows, and whether CPUs are emulated in software."""
    cpuinfo = files.text("/proc/cpuinfo") or ""
    vendor = files.text("/sys/class/dmi/id/sys_vendor") or ""
    if "QEMU TCG" in cpuinfo:
        return "qemu (tcg)", True
    flags = next((line for line in cpuinfo.splitlines() if line.startswith("flags")), "")
    if "hypervisor" in flags.split() or vendor == "QEMU":
        return files.text("/sys/hypervisor/type") or vendor or "unnamed hypervisor", False
    return "", False
