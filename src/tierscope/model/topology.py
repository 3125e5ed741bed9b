"""Memory modules, as firmware lists them."""

from typing import Literal

from tierscope.model.base import Amount, Count, Model, TextEnum, Word
from tierscope.model.persistent import Dax as Dax
from tierscope.model.persistent import Namespace
from tierscope.model.rating import RatedDrive

TCG = "qemu (tcg)"
"""``virtual`` of machines whose CPUs are emulated too."""


class Dimm(Model):
    """One populated memory slot."""

    slot: str
    type: str
    """DDR4, DDR5, HBM, ..."""
    size_bytes: Count
    speed: Amount | None
    """Configured transfer rate in transfers/s."""
    bits: Count | None = None
    """Data width without ECC."""
    package: Count | None = None
    manufacturer: str = ""
    part_number: str = ""
    firmware: str = ""
    """Version of the firmware of modules that have any."""


class StatedMemory(Model):
    """Modules that a node has as the user states."""

    node: Count | None
    """None: each node of DRAM."""
    type: str
    """DDR3, DDR4 or DDR5, whose channels have 64 data bits."""
    speed: Amount
    """Transfer rate in transfers/s."""
    channels: Count
    """Populated channels of a node."""


class StatedSocketLink(Model):
    """Links between each pair of sockets (UPI, xGMI) as the user states them."""

    links: Count
    rate: Amount
    """bytes/s of one link, each way."""
    lanes: Count | None = None
    """Of one link; None where its rate was stated in bytes."""


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
    """State that the device itself supports."""
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
    slot_power_w: Amount | None = None
    """Power that the slot granted the card, as the device captured it."""
    relaxed_ordering: bool | None = None
    """Whether its writes may pass each other on their way (Device Control)."""
    aspm: str | None = None
    """Low-power states that its link may enter: none, L0s, L1, L0s and L1 (Link Control)."""
    error_bits: list[str] = []
    """Errors that its Device Status has seen since the bits were last cleared."""
    errors: dict[str, Count] = {}
    """Errors that the kernel counted since it started (AER): correctable, non-fatal, fatal; empty:
    it counts none."""
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
    peer: Word[Literal["gpu", "switch", "cpu"]]
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
    """Fastest state of the GPU and its slot, as the driver says; idle GPUs run slower."""
    nvlinks: list[NvLink] = []
    c2c_links: Count | None = None
    """NVLink-C2C links to the CPU."""
    c2c_rate: Amount | None = None
    """bytes/s each way over all C2C links, where the driver reports it."""


class NodeKind(TextEnum):
    """Kind of a NUMA node's memory."""

    DRAM = "DRAM"
    HBM = "HBM"
    CXL = "CXL"
    PMEM = "PMem"
    GPU = "GPU"
    UNKNOWN = "unknown"


class Performance(Model):
    """Claims of firmware (ACPI HMAT) for accesses of one initiator to one node's memory."""

    initiators: list[Count]
    """Nodes whose CPUs, or CPU-less agents, the claim is for."""
    read_latency_ns: Amount | None = None
    write_latency_ns: Amount | None = None
    read_bandwidth: Amount | None = None
    write_bandwidth: Amount | None = None


class MemorySideCache(Model):
    """A cache in front of a node's memory, which every access to that memory goes through.

    Examples: the DRAM of Optane's Memory Mode, the HBM of a Xeon Max in cache mode.
    """

    level: Count
    """Counted from the memory: 1 is nearest to it (Linux, ACPI HMAT)."""
    size_bytes: Count
    line_bytes: Count | None = None
    indexing: Word[Literal["direct-mapped", "indexed", "other", ""]] = ""
    """Where a line may lie: in one place, in one of several; empty where the source is silent."""
    write_policy: Word[Literal["write-back", "write-through", "other", ""]] = ""


class Node(Model):
    """One NUMA node."""

    number: Count
    kind: Word[NodeKind]
    inferred_from: str
    """Evidence for the kind, in words."""
    cpus: list[Count] = []
    """Online CPUs of the node itself; empty where it is CPU-less."""
    local_cpus: list[Count] = []
    """CPUs that the source calls nearest, for a CPU-less node too; empty where it names none."""
    total_bytes: Count
    free_bytes: Count | None = None
    """Bytes that a program could get when it was read; None for another machine's file."""
    online: bool = True
    """False where the kernel knows the node but none of its memory is in use."""
    package: Count | None = None
    """Package that the node is local to, where exactly one is."""
    tier: Count | None = None
    """Memory tier that the kernel put it in (memory_tierN); smaller is faster."""
    distances: dict[Count, Count] = {}
    """SLIT distance from this node to each other node."""
    performance: list[Performance] = []
    backed_by: list[str] = []
    """Devices that hold the memory: a CXL memdev, a GPU's address, a dax device."""
    memory_side_caches: list[MemorySideCache] = []
    """Caches in front of the memory, the one nearest to the CPUs first; their size is not part of
    ``total_bytes``."""


class Cache(Model):
    """One cache and the CPUs that share it."""

    level: Count
    type: Word[Literal["data", "instruction", "unified"]]
    size_bytes: Count
    cpus: list[Count]


class Package(Model):
    """One socket."""

    number: Count
    cpus: list[Count]
    cores: Count
    cpu_model: str = ""


class Block(Model):
    """One block device."""

    name: str
    kind: Word[Literal["nvme", "disk", "md", "dm", "partition", "pmem", "virtual"]]
    size_bytes: Count | None = None
    address: str | None = None
    """PCI address of the controller."""
    members: list[str] = []
    """Devices below it: of an md or dm device its members, of a partition its disk."""
    level: str = ""
    """Level of an md array: raid0, raid1, ..."""
    product: str = ""
    """The drive's model, as it says itself."""
    firmware: str = ""
    """Version of the drive's firmware."""
    controller: str = ""
    """Name of the NVMe controller, where it differs from the device's: nvme0."""
    server: str = ""
    """Address of the machine that has an NVMe drive over a network (NVMe over Fabrics)."""
    interfaces: list[str] = []
    """Network interfaces by which that machine is reached."""
    number: str = ""
    """major:minor"""


class Mount(Model):
    """One mounted file system."""

    path: str
    type: str
    """ext4, xfs, nfs4, tmpfs, overlay, ..."""
    block: str | None
    """Block device that it is on; None for those of memory, of the network, of other mounts."""
    dax: bool = False
    """Files are mapped without a page cache (mounted with dax=always)."""
    server: str = ""
    """Address of the server of NFS."""
    interfaces: list[str] = []
    """Network interfaces by which the server is reached."""


class Port(Model):
    """One network port."""

    name: str
    """Network interface, or RDMA device and port (mlx5_0/1)."""
    kind: Word[Literal["ethernet", "infiniband", "virtual"]]
    address: str | None = None
    """PCI address."""
    rdma: str = ""
    """RDMA device: mlx5_0."""
    interface: str = ""
    """Network interface: eth0, ib0."""
    speed: Amount | None = None
    """bits/s each way as negotiated; None where the link is down or hidden."""
    state: str = ""


class CxlMemory(Model):
    """One CXL memory device."""

    name: str
    """mem0"""
    address: str | None
    ram_bytes: Count
    pmem_bytes: Count
    node: Count | None = None
    """NUMA node that the device itself is local to; not the node that its memory is."""
    serial: str = ""
    firmware: str = ""
    """Version of its firmware, as it says itself."""


class CxlRegion(Model):
    """One CXL region: a range of addresses over one or more memory devices."""

    name: str
    mode: str
    size_bytes: Count
    memories: list[str]
    """Memory devices, in interleave order."""
    granularity: Count | None = None
    node: Count | None = None
    """NUMA node that its memory is, once it is system RAM."""


def emulated_parts(hypervisor: str) -> str:
    """Say which parts of an emulated machine are software, by its ``virtual``."""
    return "CPUs, memories and devices" if hypervisor == TCG else "memories and devices"


class Topology(Model):
    """One machine."""

    host: str
    source: str
    """"this machine", or the file it was read from."""
    product: str = ""
    """Vendor and name of the machine, as firmware says."""
    bios: str = ""
    """Vendor, version and date of the machine's own firmware."""
    microcode: str = ""
    """Version of the CPUs' microcode; several where CPUs differ."""
    gpu_driver: str = ""
    """Version of NVIDIA's driver."""
    cpu_model: str
    architecture: str
    kernel: str = ""
    virtual: str = ""
    """Hypervisor, where the machine is virtual: kvm, qemu (tcg), ..."""
    emulated: bool = False
    """True where CPUs or memories are emulated in software, so that figures mean nothing."""
    packages: list[Package]
    cpus: list[Count]
    """CPUs that this process may run on (affinity and cgroup); of a file: the allowed ones."""
    memory_nodes: list[Count] | None = None
    """Nodes whose memory this process may use (cgroup's cpuset); None where that is unknown."""
    memory_left_bytes: Count | None = None
    """Bytes that this process's cgroup lets it still take; None without such a limit."""
    siblings: list[list[Count]]
    """CPUs of each core; one each without SMT."""
    nodes: list[Node]
    offline_nodes: list[Count] = []
    """Nodes that the kernel is prepared for and that are not online."""
    caches: list[Cache]
    base_page_bytes: Count
    huge_page_bytes: list[Count] = []
    """Sizes of hugetlb pages that the kernel offers."""
    thp_page_bytes: Count | None = None
    """Size of a transparent huge page; None where the kernel has none, and for a file."""
    pci: list[PciDevice] = []
    """Parents come before children."""
    gpus: list[Gpu] = []
    blocks: list[Block] = []
    mounts: list[Mount] = []
    ports: list[Port] = []
    cxl_memories: list[CxlMemory] = []
    cxl_regions: list[CxlRegion] = []
    dax: list[Dax] = []
    namespaces: list[Namespace] = []
    """Of persistent memory."""
    dimms: list[Dimm] = []
    stated_memory: list[StatedMemory] = []
    """What the user states of nodes' memory, each node once, or one statement for all of DRAM."""
    stated_socket_link: StatedSocketLink | None = None
    """What the user states of the links between sockets."""
    ratings: list[RatedDrive] = []
    """Data-sheet figures of drives, where a file of them was given."""
    unreadable: list[str] = []
    """What was left out or could not be read, each with the reason and, where there is one, the
    remedy."""

    def node(self, number: int) -> Node | None:
        """The node with that number, if there is one."""
        return next((node for node in self.nodes if node.number == number), None)

    def gpu(self, index: int) -> Gpu | None:
        """The GPU with that index, if there is one."""
        return next((gpu for gpu in self.gpus if gpu.index == index), None)

    def pci_device(self, address: str | None) -> PciDevice | None:
        """The PCI function at that address, if there is one."""
        return next((device for device in self.pci if device.address == address), None)
