"""hwloc XML of small machines, written object by object."""

from pathlib import Path

from tierscope.machine.hwloc import bits, read_hwloc
from tierscope.model.topology import Topology


def machine(tmp_path: Path, objects: str, about: str = "", after: str = "") -> Topology:
    file = tmp_path / "machine.xml"
    file.write_text(
        '<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology version="2.0">'
        f'<object type="Machine">{about}{objects}</object>{after}</topology>'
    )
    return read_hwloc(file)


def info(name: str, value: str) -> str:
    return f'<info name="{name}" value="{value}"/>'


def node(number: int, cpuset: str, gib: float, inner: str = "", **attributes: str) -> str:
    more = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return (
        f'<object type="NUMANode" os_index="{number}" cpuset="{cpuset}" gp_index="{900 + number}"'
        f' local_memory="{int(gib * 2**30)}"{more}>{inner}</object>'
    )


def package(number: int, cpuset: str, inner: str, model: str = "") -> str:
    about = info("CPUModel", model) if model else ""
    pus = "".join(
        f'<object type="Core" cpuset="{1 << cpu:#x}">'
        f'<object type="PU" os_index="{cpu}" cpuset="{1 << cpu:#x}"/></object>'
        for cpu in bits(cpuset)
    )
    head = f'<object type="Package" os_index="{number}" cpuset="{cpuset}">'
    return f"{head}{about}{inner}{pus}</object>"


def pci(address: str, kind: str, inner: str = "", link: float = 0) -> str:
    """A PCI function; ``kind`` is class and identity, as hwloc writes them: 0302 [10de:15f9]."""
    return (
        f'<object type="PCIDev" gp_index="{1000 + sum(map(ord, address))}" pci_busid="{address}"'
        f' pci_type="{kind} [0000:0000] 00" pci_link_speed="{link:.6f}">{inner}</object>'
    )


def host_bridge(buses: str, inner: str) -> str:
    """A host bridge of buses such as 0000:[00-10]."""
    return f'<object type="Bridge" bridge_type="0-1" bridge_pci="{buses}">{inner}</object>'


def device(name: str, kind: int, inner: str = "", identity: int = 0) -> str:
    """What the operating system calls a device: 0 storage, 2 network, 3 OpenFabrics, 5 GPU."""
    return (
        f'<object type="OSDev" name="{name}" osdev_type="{kind}" gp_index="{identity}">'
        f"{inner}</object>"
    )
