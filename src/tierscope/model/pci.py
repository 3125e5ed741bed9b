"""Functions on the PCI buses and the GPUs among them, as discovered."""

from typing import Literal

from tierscope.model.base import Amount, Count, Model


class PcieLink(Model):
    """Speed and width of a PCIe link, as negotiated or as the port supports."""

    speed: Amount
    """GT/s a lane: 2.5, 5, 8, 16, 32 or 64."""
    width: Count
    """Lanes."""


class PciDevice(Model):
    """One PCI function; bridges and switch ports too."""

    address: str
    """Domain, bus, device and function: 0000:17:00.0."""
    parent: str | None
    """Address of the bridge that it hangs off; None directly under a host bridge."""
    root: str
    """The host bridge above it: 0000:2b (domain and its first bus)."""
    class_code: Count
    """Base class and subclass: 0x0302 is a 3D controller."""
    bridge: bool = False
    vendor: Count = 0
    device: Count = 0
    name: str = ""
    driver: str = ""
    node: Count | None = None
    """NUMA node that it is local to."""
    package: Count | None = None
    """Package that it is local to, where exactly one is."""
    link: PcieLink | None = None
    """The link to the port above, as it runs now."""
    link_max: PcieLink | None = None
    """What the device itself supports."""
    link_rate: Amount | None = None
    """Rate of the link in bytes/s where the source gives only that (hwloc)."""
    slot: str = ""
    """The physical slot that it is in, as the kernel or the port above numbers it."""
    max_payload: Count | None = None
    """Negotiated MaxPayload in bytes: the most data in a packet that it sends."""
    max_payload_able: Count | None = None
    """The largest MaxPayload that it supports."""
    max_read_request: Count | None = None
    """MaxReadReq in bytes: the most that it asks for by one read."""
    acs_redirect: bool | None = None
    """Whether ACS sends peer traffic up to the root complex; None: no ACS or not readable."""
    iommu_group: str | None = None
    iommu_type: str | None = None
    """The group's domain: identity (passthrough), DMA or DMA-FQ (translated)."""


class NvLink(Model):
    """The NVLinks from one GPU to one peer."""

    version: Count | None
    """NVLink generation, where known."""
    links: Count
    """Active links to that peer."""
    peer: Literal["gpu", "switch", "cpu"]
    peer_address: str | None = None
    """PCI address of the peer GPU or switch; None where the driver hides it."""
    peer_package: Count | None = None
    """Package of a peer CPU, where the source names it."""
    rate_per_link: Amount | None = None
    """bytes/s each way, where the driver reports it: raw, so it may exceed the data sheet's."""


class Gpu(Model):
    """One GPU."""

    index: Count
    """As the driver counts them; in PCI order where no driver was asked."""
    name: str
    address: str
    """PCI address; empty where the source gives none."""
    uuid: str = ""
    memory_bytes: Count | None = None
    node: Count | None = None
    """NUMA node that its memory is, on coherent machines."""
    memory_clock_hz: Amount | None = None
    memory_bus_bits: Count | None = None
    bar1_bytes: Count | None = None
    mig: bool | None = None
    vbios: str = ""
    """Version of the board's firmware."""
    power_limit_w: Amount | None = None
    """The power cap in force."""
    power_default_w: Amount | None = None
    """The cap that the board begins with."""
    power_max_w: Amount | None = None
    """The highest cap that it takes."""
    pcie_replays: Count | None = None
    link_max: PcieLink | None = None
    """What the GPU and its slot are able to, as the driver says; idle GPUs run slower."""
    nvlinks: list[NvLink] = []
    c2c_links: Count | None = None
    """NVLink-C2C links to the CPU."""
    c2c_rate: Amount | None = None
    """bytes/s each way over all C2C links, where the driver reports it."""
