"""Models and firmware of a machine's parts, which change what figures mean."""

import re
from collections import Counter
from collections.abc import Iterator

from tierscope.machine.files import Files
from tierscope.model.errors import counted
from tierscope.model.topology import Dimm, Topology

_DMI = "/sys/class/dmi/id"


def bios(files: Files) -> str:
    """``vendor version (date)`` of the machine's own firmware, as SMBIOS says; readable by all."""
    words = [files.text(f"{_DMI}/bios_{name}") for name in ("vendor", "version")]
    date = files.text(f"{_DMI}/bios_date")
    return " ".join([*filter(None, words), *([f"({date})"] if date else [])])


def microcode(files: Files) -> str:
    """Versions of the CPUs' microcode, the most frequent first."""
    found = Counter(
        re.findall(r"^microcode\s*:\s*(\S+)", files.text("/proc/cpuinfo") or "", re.MULTILINE)
    )
    return ", ".join(version for version, _ in found.most_common())


def firmware_rows(topology: Topology) -> Iterator[tuple[str, str, str]]:
    """Yield part, model and firmware of all that says so; equal memory modules in one row."""
    if topology.bios:
        yield "machine", topology.product, topology.bios
    if topology.microcode:
        yield "CPUs", topology.cpu_model, f"microcode {topology.microcode}"
    for gpu in topology.gpus:
        if gpu.vbios:
            yield f"gpu:{gpu.index}", gpu.name, f"VBIOS {gpu.vbios}"
    for block in topology.blocks:
        if block.firmware and block.kind not in ("partition", "md", "dm"):
            yield block.name, block.product, block.firmware
    for card in topology.cxl_memories:
        if card.firmware:
            pci = topology.pci_device(card.address)
            model = f"{pci.vendor:04x}:{pci.device:04x}" if pci is not None else ""
            yield card.name, model, card.firmware
    counts = Counter(map(_module, topology.dimms))
    for (model, version), count in counts.items():
        if model:
            yield counted(count, "DIMM"), model, version


def _module(dimm: Dimm) -> tuple[str, str]:
    """``Samsung M321R8GA0BB0-CQKZJ DDR5`` and its firmware; empty where nothing names it."""
    names = [name for name in (dimm.manufacturer, dimm.part_number) if name]
    return (" ".join([*names, dimm.type]) if names else "", dimm.firmware)


def firmware_settings(topology: Topology) -> dict[str, str]:
    """Return the same for a run's environment, each part under a name of its own."""
    found = {
        f"firmware of {part}": ", ".join(filter(None, (model, version)))
        for part, model, version in firmware_rows(topology)
    }
    return found | ({"gpu-driver": topology.gpu_driver} if topology.gpu_driver else {})
