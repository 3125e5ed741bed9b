"""A machine as lstopo would write it: hwloc 2 XML with bridges, drives, NICs and GPUs."""

from hwloc_files import info, node, package

from tierscope.machine.links import pcie_rate
from tierscope.model.topology import PciDevice, Topology


def as_hwloc(topology: Topology) -> str:
    """XML of the machine; each NUMA node is a group with the host bridges that are local to it."""
    packages = "".join(
        package(
            one.number,
            _mask(one.cpus),
            "".join(
                f'<object type="Group" cpuset="{_mask(n.cpus)}">'
                f"{node(n.number, _mask(n.cpus), 1)}{_host_bridges(topology, n.number)}</object>"
                for n in topology.nodes
                if set(n.cpus) <= set(one.cpus)
            ),
        )
        for one in topology.packages
    )
    return (
        '<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology version="2.0">'
        f'<object type="Machine">{packages}</object></topology>'
    )


def _mask(cpus: list[int]) -> str:
    return f"{sum(1 << cpu for cpu in cpus):#x}"


def _host_bridges(topology: Topology, number: int) -> str:
    local = [device for device in topology.pci if device.node == number]
    return "".join(
        f'<object type="Bridge" bridge_type="0-1" bridge_pci="{root}-ff]">'
        f"{_below(topology, root, None)}</object>"
        for root in dict.fromkeys(device.root.replace(":", ":[") for device in local)
    )


def _below(topology: Topology, root: str, parent: str | None) -> str:
    return "".join(
        _function(topology, root, device)
        for device in topology.pci
        if device.parent == parent and device.root.replace(":", ":[") == root
    )


def _function(topology: Topology, root: str, device: PciDevice) -> str:
    rate = (pcie_rate(device.link) or 0.0) / 1e9 if device.link else 0.0
    ids = f"{device.class_code:04x} [{device.vendor:04x}:{device.device:04x}] [0000:0000] 00"
    kind = ('type="Bridge" bridge_type="1-1"' if device.bridge else 'type="PCIDev"')  # fmt: skip
    return (
        f'<object {kind} gp_index="{2000 + topology.pci.index(device)}"'
        f' pci_busid="{device.address}" pci_type="{ids}" pci_link_speed="{rate:.6f}">'
        f"{_below(topology, root, device.address)}{_named(topology, device)}</object>"
    )


def _named(topology: Topology, device: PciDevice) -> str:
    """What the operating system calls a function."""
    at = device.address
    return "".join(
        [
            *(
                f'<object type="OSDev" name="cuda{gpu.index}" osdev_type="5" gp_index="1"'
                f' subtype="CUDA">{info("GPUModel", gpu.name or "a GPU")}</object>'
                for gpu in topology.gpus
                if gpu.address == at
            ),
            *(
                f'<object type="OSDev" name="{block.name}" osdev_type="0" gp_index="1"'
                f' subtype="Disk">{info("Size", "1000000")}{info("Model", block.product)}</object>'
                for block in topology.blocks
                if block.address == at
            ),
            *(
                f'<object type="OSDev" name="{port.rdma}" osdev_type="3" gp_index="1"'
                f' subtype="OpenFabrics">{info("Port1State", "4")}</object>'
                for port in topology.ports
                if port.address == at
            ),
        ]
    )
