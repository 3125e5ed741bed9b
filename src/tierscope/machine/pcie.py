"""PCIe links on a way: which there are, how they run now and at best, and their limits."""

from typing import NamedTuple

from tierscope.machine.affinity import Tree
from tierscope.machine.links import PCIE, cxl_limit, pcie_limit, pcie_name, pcie_rate
from tierscope.machine.pci import is_gpu
from tierscope.model.path import Hop, HopRole, Limit
from tierscope.model.topology import PciDevice, PcieLink

_QEMU = 0x1B36
"""QEMU's ports and NVMe drives report a made-up speed and width, which limit nothing."""
_LINK_RATE_SOURCE = "hwloc's report of the link (PCI Express capability, Link Status)"


def has_link(tree: Tree, device: PciDevice) -> bool:
    """Whether a function has a link above it: endpoints and switches' upstream ports have.

    Root ports and switches' downstream ports are connected inside their chip.
    """
    return not device.bridge or tree.is_switch(device)


def best_link(tree: Tree, device: PciDevice) -> PcieLink | None:
    """Return the best link that both ends above a function support."""
    port = tree.device(device.parent)
    own = device.link_max
    if own is None or port is None or port.link_max is None or port.vendor == _QEMU:
        return own
    return PcieLink(
        speed=min(own.speed, port.link_max.speed), width=min(own.width, port.link_max.width)
    )


def sleeps(device: PciDevice, now: PcieLink, best: PcieLink | None) -> bool:
    """Whether a link only runs slow because its GPU idles; it speeds up under load."""
    saves_power = is_gpu(device.class_code, device.vendor)
    return saves_power and best is not None and now.speed < best.speed


class Shortfall(NamedTuple):
    """How a link falls short of what its device supports."""

    slot: str
    """The slot's limit where that is the cause: ", slot is x8"."""
    share: str
    """The remaining share: "half of what the GPU can do"."""

    def __str__(self) -> str:
        return f"{self.slot}: {self.share}"


def shortfall(tree: Tree, device: PciDevice) -> Shortfall | None:
    """How a link falls short of what its device supports; None where it does not.

    A GPU that idles does not fall short by its speed.
    """
    now, own = device.link, device.link_max
    if now is None or own is None:
        return None
    running = _loaded(tree, device, now)
    rate, full = pcie_rate(running), pcie_rate(own)
    if rate is None or full is None or rate >= full:
        return None
    port = tree.device(device.parent)
    text = ""
    if port is not None and port.link_max is not None and port.vendor != _QEMU:
        if running.width < port.link_max.width:
            text = f", slot is x{port.link_max.width}"
        elif running.speed == port.link_max.speed < own.speed:
            text = f", slot is {pcie_name(port.link_max)}"
    kind = "GPU" if is_gpu(device.class_code, device.vendor) else "device"
    return Shortfall(text, f"{_fraction(rate / full)} of what the {kind} can do")


def pcie_hop(tree: Tree, device: PciDevice, what: str, cxl: bool = False) -> Hop:
    """The link above a function, which ``what`` names; ``cxl``: its limit is that of CXL.mem."""
    role = HopRole.SWITCH if device.bridge else HopRole.LINK
    if device.vendor == _QEMU:
        return Hop(name=what, role=role, note="emulated by QEMU: its link limits nothing")
    if device.link is None:
        reported = _reported_cxl(device) if cxl else _reported(device)
        return Hop(name=what, role=role, limit=reported, note=_missing(device))
    now, best, short = device.link, best_link(tree, device), shortfall(tree, device)
    running, where = _loaded(tree, device, now), _where(device, short)
    limit = cxl_limit(running, where) if cxl else pcie_limit(running, where, device.max_payload)
    note = ""
    if sleeps(device, now, best):
        note = f"idles at {now.speed:g} GT/s; limit as under load, check it there"
    return Hop(
        name=what,
        role=role,
        limit=_marked(limit, short),
        now=now,
        best=best,
        shortfall=short.share if short else "",
        note=note,
    )


def _where(device: PciDevice, short: Shortfall | None) -> str:
    return f" at {device.address}{short or ''}"


def _marked(limit: Limit | None, short: Shortfall | None) -> Limit | None:
    if limit is None or short is None:
        return limit
    return limit.model_copy(update={"degraded": True})


def chain(tree: Tree, address: str, below: str | None = None) -> list[PciDevice]:
    """The functions with a link from one up to the CPU, or up to the bridge ``below``."""
    device = tree.device(address)
    above = [device] if device is not None else []
    for bridge in tree.bridges(address):
        if bridge.address == below:
            break
        above.append(bridge)
    return [entry for entry in above if has_link(tree, entry)]


def _loaded(tree: Tree, device: PciDevice, now: PcieLink) -> PcieLink:
    """The link as it runs under load."""
    best = best_link(tree, device)
    if best is not None and sleeps(device, now, best):
        return PcieLink(speed=best.speed, width=now.width)
    return now


def _reported(device: PciDevice) -> Limit | None:
    """Limit where the source gives a rate and no width (hwloc)."""
    if device.link_rate is None:
        return None
    fits = [
        f"{generation.name} x{width}"
        for speed, generation in PCIE.items()
        for width in (1, 2, 4, 8, 16, 32)
        if abs((pcie_rate(PcieLink(speed=speed, width=width)) or 0) / device.link_rate - 1) < 0.001
    ]
    return Limit(
        value=device.link_rate,
        unit="B/s",
        link=f"PCIe link at {device.address}",
        formula=f"{device.link_rate / 1e9:.2f} GB/s"
        + (f", as {' or '.join(fits)}" if fits else ""),
        source=_LINK_RATE_SOURCE,
    )


def _reported_cxl(device: PciDevice) -> Limit | None:
    """The same of CXL.mem in 68-byte flits, which every CXL link below 64 GT/s has."""
    link = _reported(device)
    if link is None:
        return None
    value = link.value * 64 / 68
    return link.model_copy(
        update={
            "value": value,
            "link": f"CXL on {link.link}",
            "formula": f"{link.value / 1e9:.2f} GB/s x 64/68 (flit) = {value / 1e9:.2f} GB/s",
        }
    )


def _missing(device: PciDevice) -> str:
    if device.link_rate is not None:
        return "the file has the current rate, not the best one"
    return f"{device.address} shows no link: a virtual or integrated device, or hidden by the host"


def _fraction(share: float) -> str:
    words = {0.5: "half", 0.25: "a quarter", 0.125: "an eighth"}
    near = next((text for value, text in words.items() if abs(share / value - 1) < 0.03), None)
    return near or f"{share:.0%}"
