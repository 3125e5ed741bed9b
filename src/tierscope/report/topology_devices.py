"""Devices on a terminal: their slots, packets and links' limits; models and firmware."""

from rich.console import Console
from rich.text import Text

from tierscope.model.topology import PciDevice, Topology
from tierscope.report.style import new_table, note, title
from tierscope.topology.affinity import Tree
from tierscope.topology.firmware import firmware_rows
from tierscope.topology.links import pcie_name, pcie_payload
from tierscope.topology.pcie import cxl_hop, pcie_hop
from tierscope.topology.uplinks import io_devices


def show_pcie(console: Console, topology: Topology) -> None:
    """Slots, packet sizes, and limits each way and both ways, where any of the first is known."""
    rows = _devices(topology)
    if not any(device.slot or device.max_payload or device.max_read_request for _, device in rows):
        return
    title(console, "PCIe devices: slots, packets, and limits in GB/s")
    tree = Tree(topology.pci)
    table = new_table()
    table.add_column("device", overflow="fold")
    table.add_column("slot")
    table.add_column("link", no_wrap=True)
    for name in ("MaxPayload", "MaxReadReq", "each way", "both ways", "data each way"):
        table.add_column(name, justify="right")
    for name, device in rows:
        cxl = any(card.address == device.address for card in topology.cxl_memories)
        hop = (cxl_hop if cxl else pcie_hop)(tree, device, name)
        rate = hop.limit.value if hop.limit else None
        data = None
        if device.link is not None and device.max_payload and rate is not None and not cxl:
            data = pcie_payload(device.link, device.max_payload)
        table.add_row(
            name,
            Text(device.slot or "-"),
            pcie_name(device.link).removeprefix("PCIe ") if device.link else "-",
            _payload(device),
            _bytes(device.max_read_request),
            *(_rate(value) for value in (rate, rate and 2 * rate, data)),
        )
    console.print(table)
    note(
        console,
        "Each direction has wires of its own. Data each way: what packet headers leave at "
        "MaxPayload, as the link runs now",
    )


def _devices(topology: Topology) -> list[tuple[str, PciDevice]]:
    """GPUs, drives and NICs, then CXL memory, each address once."""
    named = [(device.name, device.address) for device in io_devices(topology)]
    named += [(card.name, card.address or "") for card in topology.cxl_memories]
    known = {device.address: device for device in topology.pci}
    found: dict[str, tuple[list[str], PciDevice]] = {}
    for name, address in named:
        if address in known:
            found.setdefault(address, ([], known[address]))[0].append(name)
    return [(" ".join(names), device) for names, device in found.values()]


def _payload(device: PciDevice) -> str:
    """``256 of 512``: what is negotiated of what the device supports."""
    if device.max_payload is None:
        return "-"
    able = device.max_payload_able
    return f"{device.max_payload}" + (f" of {able}" if able and able > device.max_payload else "")


def _bytes(value: int | None) -> str:
    return "-" if value is None else str(value)


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value / 1e9:.2f}"


def show_firmware(console: Console, topology: Topology) -> None:
    """Models and versions of firmware, for papers and bug reports."""
    rows = list(firmware_rows(topology))
    if not rows and not topology.gpu_driver:
        return
    title(console, "Models and firmware")
    table = new_table()
    for name in ("part", "model", "firmware"):
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    if topology.gpu_driver:
        table.add_row("NVIDIA's driver", "", topology.gpu_driver)
    console.print(table)
