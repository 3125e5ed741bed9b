"""Discovery from sysfs trees: what each kind of machine shows, and what is said to be hidden."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from topology_machines import CXL_CLASS, GPU_CLASS, NVIDIA, NVME_CLASS, FakeNvml, Sysfs, fake_gpu
from topology_tables_text import shown

from tierscope.engine.process import topology_xml
from tierscope.machine.discover import discover
from tierscope.machine.files import Files
from tierscope.machine.hwloc import read_hwloc
from tierscope.machine.settings import settings_findings
from tierscope.model.errors import UserError
from tierscope.model.topology import Cache, NodeKind, PcieLink, Topology
from tierscope.suites.profiles import PROFILES, profile_requests


@pytest.fixture
def sysfs(tmp_path: Path) -> Sysfs:
    """Two packages of two CPUs, a DRAM node each."""
    tree = Sysfs(tmp_path)
    tree.two_packages()
    return tree


def kinds(topology: Topology) -> dict[int, NodeKind]:
    return {node.number: node.kind for node in topology.nodes}


def test_packages_nodes_and_cpus(sysfs: Sysfs) -> None:
    found = discover(sysfs.root)
    assert [(package.number, package.cpus) for package in found.packages] == [
        (0, [0, 1]),
        (1, [2, 3]),
    ]
    assert found.cpus == [0, 1, 2, 3]
    assert [(node.package, node.total_bytes) for node in found.nodes] == [
        (0, 1000 << 20),
        (1, 1000 << 20),
    ]
    assert found.nodes[0].distances == {0: 10, 1: 21}


@pytest.mark.parametrize("size", [2 << 20, 512 << 20])
def test_the_kernel_says_how_large_its_huge_pages_are(sysfs: Sysfs, size: int) -> None:
    assert discover(sysfs.root).thp_page_bytes is None
    sysfs.write("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", size)
    assert discover(sysfs.root).thp_page_bytes == size


def test_smt_siblings_are_one_core(sysfs: Sysfs) -> None:
    for cpu in (0, 1):
        sysfs.write(f"/sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list", "0-1")
    found = discover(sysfs.root)
    assert found.siblings == [[0, 1], [2], [3]]
    assert [package.cores for package in found.packages] == [1, 2]


def test_caches_are_listed_once_with_their_cpus(sysfs: Sysfs) -> None:
    for cpu in range(4):
        index = f"/sys/devices/system/cpu/cpu{cpu}/cache/index3"
        sysfs.write(f"{index}/level", 3)
        sysfs.write(f"{index}/type", "Unified")
        sysfs.write(f"{index}/size", "32768K")
        sysfs.write(f"{index}/shared_cpu_list", "0-1" if cpu < 2 else "2-3")
    found = discover(sysfs.root).caches
    assert [(cache.level, cache.size_bytes, cache.cpus) for cache in found] == [
        (3, 32 << 20, [0, 1]),
        (3, 32 << 20, [2, 3]),
    ]


def test_a_kernel_without_numa_has_one_dram_node(tmp_path: Path) -> None:
    tree = Sysfs(tmp_path)
    tree.cpus([[0, 1]])
    tree.write("/proc/meminfo", "MemTotal: 2048 kB\nMemFree: 1024 kB")
    found = discover(tmp_path)
    assert [(node.number, node.kind, node.total_bytes) for node in found.nodes] == [
        (0, NodeKind.DRAM, 2 << 20)
    ]


def test_an_empty_tree_gives_a_topology_and_no_crash(tmp_path: Path) -> None:
    found = discover(tmp_path)
    assert found.gpus == found.pci == found.caches == []


def cxl_region(sysfs: Sysfs, node: int) -> None:
    """A region over mem0, its dax device in use as system RAM."""
    place = "0000:0c/0000:0c:00.0/0000:0d:00.0"
    directory = sysfs.pci(place, CXL_CLASS, 0x8086, node=1, now=(32.0, 8), best=(32.0, 8))
    sysfs.write(f"{directory}/mem0/ram/size", "0x20000000")
    sysfs.write(f"{directory}/mem0/pmem/size", "0x0")
    sysfs.write(f"{directory}/mem0/numa_node", 1)
    sysfs.link("/sys/bus/cxl/devices/mem0", f"{directory}/mem0")
    endpoint = "/sys/devices/platform/ACPI0017:00/root0/port1/endpoint2"
    sysfs.write(f"{endpoint}/decoder2.0/mode", "ram")
    sysfs.link(f"{endpoint}/uport", f"{directory}/mem0")
    sysfs.link("/sys/bus/cxl/devices/decoder2.0", f"{endpoint}/decoder2.0")
    region = "/sys/devices/platform/ACPI0017:00/root0/decoder0.0/region0"
    for name, value in (
        ("size", "0x20000000"),
        ("mode", "ram"),
        ("interleave_ways", 1),
        ("interleave_granularity", 256),
        ("target0", "decoder2.0"),
    ):
        sysfs.write(f"{region}/{name}", value)
    sysfs.link("/sys/bus/cxl/devices/region0", region)
    dax = f"{region}/dax_region0/dax0.0"
    sysfs.write(f"{dax}/size", 0x20000000)
    sysfs.write(f"{dax}/target_node", node)
    sysfs.write("/sys/bus/dax/drivers/kmem/bind", "")
    sysfs.link(f"{dax}/driver", "/sys/bus/dax/drivers/kmem")
    sysfs.link("/sys/bus/dax/devices/dax0.0", dax)


def test_cxl_region_in_use_as_system_ram_backs_its_node(sysfs: Sysfs) -> None:
    cxl_region(sysfs, node=4)
    sysfs.node(4, [], 512, "30 24 10")
    found = discover(sysfs.root)
    assert kinds(found)[4] is NodeKind.CXL
    assert found.nodes[2].backed_by == ["mem0"]
    assert found.nodes[2].inferred_from == "CXL region region0 over mem0"
    assert [(dax.mode, dax.parent, dax.node) for dax in found.dax] == [("system-ram", "region0", 4)]


def test_cxl_memory_device_has_its_pci_function_and_sizes(sysfs: Sysfs) -> None:
    cxl_region(sysfs, node=4)
    memory = discover(sysfs.root).cxl_memories[0]
    assert (memory.address, memory.ram_bytes, memory.node) == ("0000:0d:00.0", 512 << 20, 1)


def test_nvdimm_in_use_as_system_ram_is_pmem(sysfs: Sysfs) -> None:
    dax = "/sys/devices/LNXSYSTM:00/ACPI0012:00/ndbus0/region5/dax5.1/dax5.0"
    sysfs.write(f"{dax}/size", 512 << 20)
    sysfs.write(f"{dax}/target_node", 2)
    sysfs.link("/sys/bus/dax/devices/dax5.0", dax)
    sysfs.node(2, [], 500)
    assert kinds(discover(sysfs.root))[2] is NodeKind.PMEM


def test_cpu_less_node_that_hmat_claims_fast_is_hbm(sysfs: Sysfs) -> None:
    sysfs.node(2, [], 500)
    sysfs.claim(0, 0, 80, 100_000)
    sysfs.claim(2, 0, 110, 400_000)
    found = discover(sysfs.root).nodes[2]
    assert found.kind is NodeKind.HBM
    assert "4.0x" in found.inferred_from


def test_cpu_less_node_that_hmat_claims_slow_stays_unknown(sysfs: Sysfs) -> None:
    sysfs.node(2, [], 500)
    sysfs.claim(0, 0, 80, 100_000)
    sysfs.claim(2, 0, 250, 30_000)
    assert kinds(discover(sysfs.root))[2] is NodeKind.UNKNOWN


def test_gpu_memory_node_by_the_drivers_word(sysfs: Sysfs) -> None:
    sysfs.node(255, [], 500)
    sysfs.write("/proc/driver/nvidia/gpus/0004:05:00.0/numa_status", "Node: 255\nStatus: online")
    found = discover(sysfs.root).nodes[2]
    assert (found.kind, found.backed_by) == (NodeKind.GPU, ["0004:05:00.0"])


def test_node_without_memory_is_offline_and_of_no_kind(sysfs: Sysfs) -> None:
    sysfs.node(3, [], 0)
    found = discover(sysfs.root).nodes[2]
    assert (found.kind, found.online) == (NodeKind.UNKNOWN, False)


@pytest.mark.parametrize(
    ("status", "allowed"),
    [("Name:\tcat\nMems_allowed_list:\t0-1,4", [0, 1, 4]), ("Name:\tcat", None), ("", None)],
)
def test_nodes_of_the_cpuset(sysfs: Sysfs, status: str, allowed: list[int] | None) -> None:
    sysfs.write("/proc/self/status", status)
    assert discover(sysfs.root).memory_nodes == allowed


def test_memory_tier_of_each_node(sysfs: Sysfs) -> None:
    sysfs.write("/sys/devices/virtual/memory_tiering/memory_tier4/nodelist", "0-1")
    assert [node.tier for node in discover(sysfs.root).nodes] == [4, 4]


def test_pci_link_now_and_at_best(sysfs: Sysfs) -> None:
    place = "0000:16/0000:16:00.0/0000:17:00.0"
    sysfs.pci(place, GPU_CLASS, NVIDIA, node=1, now=(2.5, 8), best=(16.0, 16))
    device = discover(sysfs.root).pci[-1]
    assert (device.link, device.link_max) == (
        PcieLink(speed=2.5, width=8),
        PcieLink(speed=16.0, width=16),
    )
    assert (device.parent, device.root, device.package) == ("0000:16:00.0", "0000:16", 1)


def test_gpu_of_a_copy_is_listed_and_the_rest_said_to_be_missing(sysfs: Sysfs) -> None:
    sysfs.pci("0000:16/0000:16:00.0/0000:17:00.0", GPU_CLASS, NVIDIA)
    found = discover(sysfs.root)
    assert [(gpu.index, gpu.address) for gpu in found.gpus] == [(0, "0000:17:00.0")]
    assert any("holds no NVML" in line for line in found.unreadable)


def test_servers_console_is_no_gpu(sysfs: Sysfs) -> None:
    sysfs.pci("0000:03/0000:03:00.0/0000:04:00.0", 0x030000, 0x1A03)
    assert discover(sysfs.root).gpus == []


def test_acs_and_max_payload_come_from_the_capabilities(sysfs: Sysfs) -> None:
    directory = sysfs.pci("0000:16/0000:16:00.0/0000:17:00.0", GPU_CLASS, NVIDIA, now=(16.0, 16))
    config = bytearray(4096)
    config[6], config[0x34] = 0x10, 0x78
    config[0x78:0x7A] = b"\x10\x00"  # PCI Express, last of the list
    config[0x80:0x82] = (1 << 5).to_bytes(2, "little")  # Device Control: MaxPayload 256
    config[256:260] = (0x000D | 1 << 16).to_bytes(4, "little")  # ACS, last of its list
    config[262:264] = (1 << 2).to_bytes(2, "little")  # P2P Request Redirect
    (sysfs.root / directory.lstrip("/") / "config").write_bytes(config)
    device = discover(sysfs.root).pci[-1]
    assert (device.max_payload, device.acs_redirect) == (256, True)


def test_short_configuration_space_is_said_to_need_root(sysfs: Sysfs) -> None:
    directory = sysfs.pci("0000:16/0000:16:00.0/0000:17:00.0", GPU_CLASS, NVIDIA, now=(16.0, 16))
    (sysfs.root / directory.lstrip("/") / "config").write_bytes(bytes(64))
    assert any("readable by root only" in line for line in discover(sysfs.root).unreadable)


def test_partition_array_and_drive_hang_together(sysfs: Sysfs) -> None:
    made = sysfs.pci("0000:16/0000:16:00.0/0000:17:00.0", NVME_CLASS)
    sysfs.nvme(made, "nvme0n1")
    sysfs.array("md0", "raid0", ["nvme0n1"])
    sysfs.mount("/data", "md0")
    found = discover(sysfs.root)
    blocks = {block.name: block for block in found.blocks}
    assert (blocks["nvme0n1"].address, blocks["nvme0n1"].controller) == ("0000:17:00.0", "nvme0")
    assert (blocks["md0"].level, blocks["md0"].members) == ("raid0", ["nvme0n1"])
    assert [(mount.path, mount.block) for mount in found.mounts] == [("/data", "md0")]


def test_nvml_tells_memory_links_and_coherence(sysfs: Sysfs) -> None:
    answers = fake_gpu("17", "NVIDIA H100", MaxClockInfo=2619, MemoryBusWidth=5120, Architecture=9)
    answers |= {("NvLinkState", link): 1 for link in range(18)} | {"NvLinkRemoteDeviceType": 2}
    fields = {"C2C_LINK_COUNT": 2.0, "C2C_LINK_GET_MAX_BW": 225_000.0}
    gpu = discover(sysfs.root, FakeNvml([answers], [fields])).gpus[0]
    assert (gpu.address, gpu.memory_clock_hz, gpu.memory_bus_bits) == ("0000:17:00.0", 2619e6, 5120)
    assert [(link.version, link.links, link.peer) for link in gpu.nvlinks] == [(4, 18, "switch")]
    assert (gpu.c2c_links, gpu.c2c_rate) == (2, 450e9)


@pytest.mark.parametrize("bus", ["00000000:00:00.0", "FFFFFFFF:FF:FF.0"])
def test_a_switch_without_an_address_has_none(sysfs: Sysfs, bus: str) -> None:
    answers = {"Architecture": 9, "NvLinkRemoteDeviceType": 2, ("NvLinkState", 0): 1}
    remote = {"NvLinkRemotePciInfo": SimpleNamespace(busId=bus)}
    gpu = discover(sysfs.root, FakeNvml([fake_gpu("17") | answers | remote])).gpus[0]
    assert [link.peer_address for link in gpu.nvlinks] == [None]


def test_nvml_that_answers_nothing_gives_a_bare_gpu(sysfs: Sysfs) -> None:
    gpu = discover(sysfs.root, FakeNvml([{}])).gpus[0]
    assert (gpu.index, gpu.nvlinks, gpu.memory_bytes) == (0, [], None)


def test_this_machine_is_discovered_without_privilege() -> None:
    found = discover()
    assert set(found.cpus) == os.sched_getaffinity(0)
    assert sum(node.total_bytes for node in found.nodes) > 0


def test_links_of_the_live_tree_keep_their_leading_slash() -> None:
    assert Files("/").target("/proc/self") == f"/proc/{os.getpid()}"


def test_firmware_set_up_cxl_memory_is_known_by_its_size(sysfs: Sysfs) -> None:
    directory = sysfs.pci("0000:0c/0000:0c:00.0/0000:0d:00.0", CXL_CLASS, 0x8086, now=(32.0, 8))
    sysfs.write(f"{directory}/mem0/ram/size", "0x20000000")
    sysfs.link("/sys/bus/cxl/devices/mem0", f"{directory}/mem0")
    sysfs.node(2, [], 438)
    sysfs.node(4, [], 510)
    found = kinds(discover(sysfs.root))
    assert (found[2], found[4]) == (NodeKind.UNKNOWN, NodeKind.CXL)


def test_two_nodes_of_a_cxl_devices_size_are_not_guessed_between(sysfs: Sysfs) -> None:
    directory = sysfs.pci("0000:0c/0000:0c:00.0/0000:0d:00.0", CXL_CLASS, 0x8086, now=(32.0, 8))
    sysfs.write(f"{directory}/mem0/ram/size", "0x20000000")
    sysfs.link("/sys/bus/cxl/devices/mem0", f"{directory}/mem0")
    sysfs.node(2, [], 510)
    sysfs.node(4, [], 512)
    found = kinds(discover(sysfs.root))
    assert (found[2], found[4]) == (NodeKind.UNKNOWN, NodeKind.UNKNOWN)


def test_a_path_of_a_multipath_drive_is_not_a_drive_of_its_own(sysfs: Sysfs) -> None:
    made = sysfs.pci("0000:16/0000:16:00.0/0000:17:00.0", NVME_CLASS)
    sysfs.write(f"{made}/nvme/nvme0/nvme0c0n1/size", 1 << 20)
    sysfs.link("/sys/class/block/nvme0c0n1", f"{made}/nvme/nvme0/nvme0c0n1")
    sysfs.link("/sys/class/nvme/nvme0", f"{made}/nvme/nvme0")
    head = "/sys/devices/virtual/nvme-subsystem/nvme-subsys0"
    sysfs.write(f"{head}/nvme0n1/size", 1 << 20)
    sysfs.link(f"{head}/nvme0", f"{made}/nvme/nvme0")
    sysfs.link("/sys/class/block/nvme0n1", f"{head}/nvme0n1")
    found = discover(sysfs.root).blocks
    assert [(block.name, block.address, block.controller) for block in found] == [
        ("nvme0n1", "0000:17:00.0", "nvme0")
    ]


def test_hwloc_and_sysfs_agree_on_this_machine(tmp_path: Path) -> None:
    file = tmp_path / "here.xml"
    file.write_text(topology_xml())
    ours, theirs = discover(), read_hwloc(file)
    assert theirs.packages == ours.packages
    assert theirs.siblings == ours.siblings
    assert [node.cpus for node in theirs.nodes] == [node.cpus for node in ours.nodes]
    assert kinds(theirs) == kinds(ours)
    assert _data(theirs) == _data(ours)


def _data(topology: Topology) -> list[Cache]:
    return [cache for cache in topology.caches if cache.type != "instruction"]


def test_without_sys_nothing_is_known_and_nothing_is_measured(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 1024 kB\n")
    found = discover(tmp_path)
    assert (found.nodes, found.packages, found.siblings) == ([], [], [])
    assert found.unreadable == ["CPUs, nodes, links and drives: /sys is not visible; mount it"]
    assert "packages, cores, CPUs and nodes are not visible" in shown(found)
    assert not [one for one in settings_findings(found, {}, None) if "huge" in one.subject]
    with pytest.raises(UserError, match=r"^/sys is not visible, so CPUs and nodes are unknown; "):
        profile_requests(PROFILES["quick"], found)
