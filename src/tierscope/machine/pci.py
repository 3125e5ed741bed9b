"""PCI functions of this machine, from /sys/bus/pci; capability registers where we may read them."""

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tierscope.machine.files import Files
from tierscope.model.topology import Node, Package, PciDevice, PcieLink

_DEVICES = "/sys/bus/pci/devices"
_SLOTS = "/sys/bus/pci/slots"
_DEEPEST = 64
"""Bridges above a function; more are a circle in a damaged copy."""
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_ROOT = re.compile(r"pci([0-9a-f]{4,8}:[0-9a-f]{2})")
_BRIDGE_CLASS = 0x0604
_CAPABILITY_PCIE = 0x10
_SLOT_IMPLEMENTED = 1 << 8
_EXTENDED_ACS = 0x000D
_ACS_REQUEST_REDIRECT = 1 << 2

_DEVICE_ERRORS = ("correctable", "non-fatal", "fatal", "unsupported request")
"""Bits 3:0 of Device Status, the lowest first."""
_ASPM = ("none", "L0s", "L1", "L0s and L1")
"""Bits 1:0 of Link Control."""
_SLOT_WATTS = {0xF0: 250.0, 0xF1: 275.0, 0xF2: 300.0}
"""Slot power limits that are codes and not numbers, in the scale of whole watts."""
_COUNTED = (
    ("correctable", "aer_dev_correctable", "TOTAL_ERR_COR"),
    ("non-fatal", "aer_dev_nonfatal", "TOTAL_ERR_NONFATAL"),
    ("fatal", "aer_dev_fatal", "TOTAL_ERR_FATAL"),
)
"""Errors, the sysfs file that counts them, and its line with their number."""

CONFIG_UNREADABLE = (
    "PCIe MaxPayload, MaxReadReq, slot power, ordering, ASPM, error bits and ACS: configuration "
    "space beyond 64 bytes is readable by root only; run as root to see them"
)


def read_pci(
    files: Files, nodes: Sequence[Node], packages: Sequence[Package]
) -> tuple[list[PciDevice], list[str]]:
    """Every PCI function, parents first, and what could not be read."""
    devices: list[PciDevice] = []
    hidden = False
    slots = _slots(files)
    numbers: dict[str, int] = {}
    for address in files.names(_DEVICES):
        device = read_device(files, address, nodes, packages)
        if device.link is not None:
            config = Config(files.descriptor(f"{_DEVICES}/{address}/config"))
            hidden |= config.short
            read: dict[str, Any] = {
                **packet_sizes(config),
                **link_state(config),
                "acs_redirect": acs_redirect(config),
                "errors": _errors(files, address),
            }
            number = slot_number(config) if device.bridge else None
            config.close()
            device = device.model_copy(update=read)
            numbers |= {} if number is None else {address: number}
        devices.append(device)
    by_address = {device.address: device for device in devices}
    devices = [
        device.model_copy(update={"slot": _slot(device, by_address, slots, numbers)})
        for device in devices
    ]
    parents = {device.address: device.parent for device in devices}
    devices.sort(
        key=lambda device: (device.root.rjust(16), _depth(device, parents), device.address)
    )
    return devices, [CONFIG_UNREADABLE] if hidden else []


def is_gpu(class_code: int, vendor: int) -> bool:
    """Whether a PCI class and vendor mean a GPU that computes, not a server's console."""
    base, sub = class_code >> 8, class_code & 0xFF
    if vendor == 0x10DE:
        return base == 0x03
    return (base == 0x03 and sub in (0x02, 0x80)) or (base == 0x12 and vendor == 0x1002)


def local_package(
    node: int | None, nodes: Sequence[Node], packages: Sequence[Package]
) -> int | None:
    """Package that a node's devices are local to: the node's own, or the machine's only one."""
    home = next((entry.package for entry in nodes if entry.number == node), None)
    if home is None and len(packages) == 1:
        return packages[0].number
    return home


def read_device(
    files: Files,
    address: str,
    nodes: Sequence[Node] = (),
    packages: Sequence[Package] = (),
) -> PciDevice:
    """One function, without what only its configuration space says."""
    directory = f"{_DEVICES}/{address}"
    place = files.target(directory).split("/")
    above = [part for part in place if _ADDRESS.fullmatch(part) and part != address]
    roots = [match[1] for part in place if (match := _ROOT.fullmatch(part))]
    node = files.number(f"{directory}/numa_node")
    if node is None or node < 0:
        with_cpus = [entry.number for entry in nodes if entry.cpus]
        node = with_cpus[0] if len(with_cpus) == 1 else None
    class_code = (files.number(f"{directory}/class") or 0) >> 8
    group = files.link_name(f"{directory}/iommu_group")
    return PciDevice(
        address=address,
        parent=above[-1] if above else None,
        root=roots[0] if roots else address.rpartition(":")[0],
        class_code=class_code,
        bridge=class_code == _BRIDGE_CLASS,
        vendor=files.number(f"{directory}/vendor") or 0,
        device=files.number(f"{directory}/device") or 0,
        driver=files.link_name(f"{directory}/driver"),
        node=node,
        package=local_package(node, nodes, packages),
        link=_link(files, directory, "current"),
        link_max=_link(files, directory, "max"),
        iommu_group=group or None,
        iommu_type=files.text(f"{directory}/iommu_group/type") if group else None,
    )


def _depth(device: PciDevice, parents: dict[str, str | None]) -> int:
    """Bridges above a device."""
    depth, above = 0, device.parent
    while above is not None and depth < _DEEPEST:
        depth, above = depth + 1, parents.get(above)
    return depth


def _link(files: Files, directory: str, which: str) -> PcieLink | None:
    """sysfs says ``16.0 GT/s PCIe`` and ``16``; 0 or 255 lanes and ``Unknown`` where it hides."""
    speed = (files.text(f"{directory}/{which}_link_speed") or "").partition(" ")[0]
    width = files.number(f"{directory}/{which}_link_width")
    try:
        value = float(speed)
    except ValueError:
        return None
    return PcieLink(speed=value, width=width) if value and width and width <= 32 else None


class Config:
    """A function's configuration space, read in the few places that are looked at.

    Each read goes to the device; reading all 4 KiB of every function takes longer than all else.
    """

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        self.short = descriptor is not None and len(self._bytes(64, 4)) < 4
        """Whether we may read the first 64 bytes only."""

    def number(self, offset: int, size: int) -> int | None:
        """Little-endian number; None where it is not readable."""
        data = self._bytes(offset, size)
        return int.from_bytes(data, "little") if len(data) == size else None

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _bytes(self, offset: int, size: int) -> bytes:
        if self._descriptor is None:
            return b""
        try:
            return os.pread(self._descriptor, size, offset)
        except OSError:
            return b""


def packet_sizes(config: Config) -> dict[str, int | None]:
    """MaxPayload as negotiated and as supported, and MaxReadReq, in bytes.

    PCI Express capability: Device Control, bits 7:5 and 14:12; Device Capabilities, bits 2:0.
    """
    offset = _capability(config, _CAPABILITY_PCIE)
    control = config.number(offset + 8, 2) if offset is not None else None
    able = config.number(offset + 4, 4) if offset is not None else None
    return {
        "max_payload": None if control is None else 128 << (control >> 5 & 7),
        "max_payload_able": None if able is None else 128 << (able & 7),
        "max_read_request": None if control is None else 128 << (control >> 12 & 7),
    }


def link_state(config: Config) -> dict[str, Any]:
    """Slot power limit, relaxed ordering, ASPM and error bits; empty where they are not readable.

    PCI Express capability: Device Capabilities, bits 27:18; Device Control, bit 4; Device Status,
    bits 3:0; Link Control, bits 1:0.
    """
    offset = _capability(config, _CAPABILITY_PCIE)
    if offset is None:
        return {}
    able, device = config.number(offset + 4, 4), config.number(offset + 8, 4)
    link = config.number(offset + 0x10, 2)
    if able is None or device is None or link is None:
        return {}
    return {
        "slot_power_w": _watts(able >> 18 & 0xFF, able >> 26 & 3),
        "relaxed_ordering": bool(device & 1 << 4),
        "aspm": _ASPM[link & 3],
        "error_bits": [name for bit, name in enumerate(_DEVICE_ERRORS) if device >> 16 + bit & 1],
    }


def _watts(value: int, scale: int) -> float | None:
    """Decode a slot power limit; None where the slot granted nothing."""
    if scale == 0 and value in _SLOT_WATTS:
        return _SLOT_WATTS[value]
    return value / 10**scale or None


def _errors(files: Files, address: str) -> dict[str, int]:
    """What the kernel counted of a function's errors."""
    found = {}
    for name, file, total in _COUNTED:
        lines = (files.text(f"{_DEVICES}/{address}/{file}") or "").splitlines()
        counts = [line.split()[-1] for line in lines if line.startswith(f"{total} ")]
        if counts and counts[0].isdecimal():
            found[name] = int(counts[0])
    return found


def slot_number(config: Config) -> int | None:
    """Number of the physical slot below a port; None of one that has none, or is not readable.

    PCI Express capability: PCI Express Capabilities, bit 8; Slot Capabilities, bits 31:19.
    """
    offset = _capability(config, _CAPABILITY_PCIE)
    about = config.number(offset + 2, 2) if offset is not None else None
    if offset is None or about is None or not about & _SLOT_IMPLEMENTED:
        return None
    capabilities = config.number(offset + 0x14, 4)
    return None if capabilities is None else capabilities >> 19 or None


def _slots(files: Files) -> dict[str, str]:
    """Names of physical slots by the address of what is in them, without its function."""
    found: dict[str, str] = {}
    for name in files.names(_SLOTS):
        address = files.text(f"{_SLOTS}/{name}/address")
        if address:
            found[address] = name
    return found


def _slot(
    device: PciDevice,
    devices: Mapping[str, PciDevice],
    slots: Mapping[str, str],
    numbers: Mapping[str, int],
) -> str:
    """The slot that a function is in: its own, or that of the card whose switch is above it."""
    current: PciDevice | None = device
    for _ in range(_DEEPEST):
        if current is None:
            break
        name = slots.get(current.address.partition(".")[0])
        if name is not None:
            return name
        above = current.parent or ""
        if above in numbers:
            return str(numbers[above])
        current = devices.get(above)
    return ""


def acs_redirect(config: Config) -> bool | None:
    """Whether ACS P2P Request Redirect is on; None without an ACS capability that we can read."""
    offset = 256
    for _ in range(96):
        header = config.number(offset, 4)
        if header is None:
            return None
        if header & 0xFFFF == _EXTENDED_ACS:
            control = config.number(offset + 6, 2)
            return None if control is None else bool(control & _ACS_REQUEST_REDIRECT)
        offset = header >> 20
        if offset < 256:
            return None
    return None


def _capability(config: Config, wanted: int) -> int | None:
    """Offset of a capability in the list that starts at 0x34; None where it is not readable."""
    offset = config.number(0x34, 1)
    for _ in range(48):
        if offset is None or offset < 64:
            return None
        entry = config.number(offset & 0xFC, 2)
        if entry is None or entry & 0xFF == wanted:
            return None if entry is None else offset & 0xFC
        offset = entry >> 8
    return None
