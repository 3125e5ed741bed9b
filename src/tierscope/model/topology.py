"""The topology: what a machine is made of and how its parts are connected.

One type for every source (this machine's sysfs, an hwloc XML file of another machine). What a
source does not say is ``None`` or an empty list, never a guess; why it is missing stands in
``Topology.unreadable``. Sizes are bytes, rates bytes/s, latencies ns, PCIe speeds GT/s.
"""

from typing import Literal

from tierscope.model.base import Amount, Count, Model
from tierscope.model.dimm import Dimm as Dimm
from tierscope.model.pci import Gpu as Gpu
from tierscope.model.pci import NvLink as NvLink
from tierscope.model.pci import PciDevice as PciDevice
from tierscope.model.pci import PcieLink as PcieLink
from tierscope.model.persistent import Dax as Dax
from tierscope.model.persistent import Namespace
from tierscope.model.rating import RatedDrive
from tierscope.model.text_enum import TextEnum


class NodeKind(TextEnum):
    """What a NUMA node's memory is."""

    DRAM = "DRAM"
    HBM = "HBM"
    CXL = "CXL"
    PMEM = "PMem"
    GPU = "GPU"
    UNKNOWN = "unknown"


class Performance(Model):
    """What firmware (ACPI HMAT) claims for accesses of one initiator to one node's memory."""

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

    level: int
    """Counted from the memory: 1 is nearest to it (Linux, ACPI HMAT)."""
    size_bytes: int
    line_bytes: int | None = None
    indexing: Literal["direct-mapped", "indexed", "other", ""] = ""
    """Where a line may lie: in one place, in one of several; empty where the source is silent."""
    write_policy: Literal["write-back", "write-through", "other", ""] = ""


class Node(Model):
    """One NUMA node."""

    number: Count
    kind: NodeKind
    inferred_from: str
    """What the kind was concluded from, in words."""
    cpus: list[Count] = []
    """Online CPUs of the node itself; empty where it is CPU-less."""
    local_cpus: list[Count] = []
    """CPUs that the source calls nearest, for a CPU-less node too; empty where it names none."""
    total_bytes: Count
    free_bytes: Count | None = None
    """What a program could get when it was read; None for another machine's file."""
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
    type: Literal["data", "instruction", "unified"]
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
    kind: Literal["nvme", "disk", "md", "dm", "partition", "pmem", "virtual"]
    size_bytes: Count | None = None
    address: str | None = None
    """PCI address of the controller."""
    members: list[str] = []
    """Devices below it: of an md or dm device its members, of a partition its disk."""
    level: str = ""
    """Of an md array: raid0, raid1, ..."""
    product: str = ""
    """The drive's model, as it says itself."""
    firmware: str = ""
    """Version of the drive's firmware, likewise."""
    controller: str = ""
    """Name of the NVMe controller, where it differs from the device's: nvme0."""
    server: str = ""
    """Of an NVMe drive over a network (NVMe over Fabrics): address of the machine that has it."""
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
    """Of NFS: address of the server."""
    interfaces: list[str] = []
    """Network interfaces by which the server is reached."""


class Port(Model):
    """One network port."""

    name: str
    """Network interface, or RDMA device and port (mlx5_0/1)."""
    kind: Literal["ethernet", "infiniband", "virtual"]
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


TCG = "qemu (tcg)"
"""``virtual`` of machines whose CPUs are emulated too."""


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
    thp_page_bytes: int | None = None
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
    ratings: list[RatedDrive] = []
    """What data sheets promise of drives, where a file of them was given."""
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
