"""Paths hop by hop, their limits and what is said of them."""

from pathlib import Path

import pytest
import topology_machines as machines
from topology_machines import GPU_CLASS, NVIDIA, NVME_CLASS, FakeNvml, Sysfs, fake_gpu

from tierscope.machine.discover import discover
from tierscope.machine.paths import find_path, path_limit
from tierscope.model.endpoint import parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.path import HopRole, Limit
from tierscope.model.path import Path as Way
from tierscope.model.topology import Dax, Dimm, NodeKind, Topology


@pytest.fixture
def sysfs(tmp_path: Path) -> Sysfs:
    tree = Sysfs(tmp_path)
    tree.cpus([[0, 1], [2, 3]], "Intel(R) Xeon(R) Platinum 8480+")
    tree.node(0, [0, 1], 1000, "10 21")
    tree.node(1, [2, 3], 1000, "21 10")
    return tree


def way(topology: Topology, initiator: str, target: str) -> Way:
    return find_path(topology, parse_endpoint(initiator), parse_endpoint(target))


def limit(topology: Topology, initiator: str, target: str) -> Limit:
    found = path_limit(topology, parse_endpoint(initiator), parse_endpoint(target))
    assert found is not None
    return found


def gpu_at_x8_of_x16(sysfs: Sysfs, speed: float = 16.0) -> Topology:
    port = "0000:16/0000:16:00.0"
    sysfs.pci(port, machines.BRIDGE_CLASS, 0x8086, node=0, now=(speed, 8), best=(32.0, 16))
    sysfs.pci(f"{port}/0000:17:00.0", GPU_CLASS, NVIDIA, node=0, now=(speed, 8), best=(16.0, 16))
    return discover(sysfs.root, FakeNvml([fake_gpu("17")]))


def test_narrow_gpu_link_is_named_with_its_slot_and_its_share(sysfs: Sysfs) -> None:
    path = way(gpu_at_x8_of_x16(sysfs), "node:0", "gpu:0")
    found = path.limit
    assert found is not None
    assert found.degraded
    assert path.hops[0].shortfall == "half of what the GPU can do"
    assert found.link == "PCIe 4.0 x8 at 0000:17:00.0, slot is x16: half of what the GPU can do"
    assert found.value == pytest.approx(15.754e9, rel=1e-4)


def test_idle_gpu_is_limited_as_under_load_and_said_to_idle(sysfs: Sysfs) -> None:
    found = way(gpu_at_x8_of_x16(sysfs, speed=2.5), "gpu:0", "node:0")
    assert found.limit is not None
    assert found.limit.value == pytest.approx(15.754e9, rel=1e-4)
    assert "idles at 2.5 GT/s" in found.hops[0].note


def test_nvme_drive_below_its_capability_is_not_excused_as_idle(sysfs: Sysfs) -> None:
    made = sysfs.pci(
        "0000:16/0000:16:00.0/0000:17:00.0", NVME_CLASS, node=0, now=(8.0, 4), best=(16.0, 4)
    )
    sysfs.nvme(made, "nvme0n1")
    sysfs.mount("/data", "nvme0n1")
    found = limit(discover(sysfs.root), "node:0", "file:/data/x")
    assert found.value == pytest.approx(3.938e9, rel=1e-3)
    assert "half of what the device can do" in found.link


def test_remote_memory_crosses_the_interconnect_whose_rate_is_not_known(sysfs: Sysfs) -> None:
    found = way(discover(sysfs.root), "node:0", "node:1")
    assert [hop.name for hop in found.hops] == ["UPI/QPI node 0 - node 1", "memory of node 1"]
    assert found.limit is None
    assert "not readable" in found.note


def test_dram_limit_by_modules_of_the_nodes_own_package(sysfs: Sysfs) -> None:
    dimms = [
        Dimm(slot=f"CPU{p}_DIMM_{c}1", type="DDR5", size_bytes=1, speed=4.8e9, bits=64, package=p)
        for p in (0, 1)
        for c in "ABCDEFGH"
    ]
    topology = discover(sysfs.root).model_copy(update={"dimms": dimms})
    assert limit(topology, "node:0", "node:0").value == 307.2e9


def test_firmwares_claim_stands_in_and_says_so(sysfs: Sysfs) -> None:
    sysfs.claim(0, 0, 80, 100_000)
    found = limit(discover(sysfs.root), "cpus:0", "node:0")
    assert (found.value, found.source) == (
        100e9,
        "ACPI HMAT or CXL CDAT, as the kernel shows it",
    )


def test_interleaving_is_limited_by_the_node_that_is_first_busy(sysfs: Sysfs) -> None:
    sysfs.claim(0, 0, 80, 100_000)
    sysfs.node(2, [], 500, "14 24 10")
    sysfs.claim(2, 0, 200, 20_000)
    found = limit(discover(sysfs.root), "node:0", "node:0,2@3:1")
    assert found.value == pytest.approx(80e9)  # node 2's 20 GB/s carry a quarter of the pages
    assert "25% of the pages" in found.link


def test_gpu_to_drive_under_one_switch_never_leaves_it(tmp_path: Path) -> None:
    topology = discover(tmp_path, machines.dgx2(tmp_path))
    blocks = {block.name: block.address for block in topology.blocks}
    assert blocks["nvme2n1"] == "0000:2e:00.0"
    sysfs = Sysfs(tmp_path)
    sysfs.mount("/data", "nvme2n1")
    topology = discover(tmp_path, machines.FakeNvml([fake_gpu("34")]))
    hops = way(topology, "gpu:0", "file:/data").hops
    assert [hop.name for hop in hops] == ["gpu:0", "switch 0000:32:00.0", "nvme2n1"]
    assert [hop.role for hop in hops] == [HopRole.LINK, HopRole.SWITCH, HopRole.LINK]
    assert hops == way(topology, "gpu:0", "dev:/dev/nvme2n1").hops
    assert not any(hop.limit.degraded for hop in hops if hop.limit)


def test_a_dax_device_is_memory_on_its_node(sysfs: Sysfs) -> None:
    device = Dax(name="dax0.0", size_bytes=1 << 30, node=1, mode="devdax")
    topology = discover(sysfs.root).model_copy(update={"dax": [device]})
    hops = way(topology, "node:0", "dax:/dev/dax0.0").hops
    assert [hop.role for hop in hops] == [HopRole.INTERCONNECT, HopRole.MEMORY]
    assert hops[1].name == "dax0.0"


def test_gpus_joined_by_nvlink_do_not_go_over_pcie() -> None:
    topology = machines.discovered(machines.dgx2)
    found = limit(topology, "gpu:0", "gpu:9")
    assert (found.value, found.link) == (150e9, "NVLink 2 x6 gpu:0 - gpu:9 through NVSwitch")


@pytest.mark.parametrize(
    ("name", "architecture", "links", "megabytes", "gigabytes"),
    [
        ("NVIDIA A40", 7, 4, None, 56.25),
        ("NVIDIA GeForce RTX 3090", 7, 4, 14062.0, 56.248),
        ("NVIDIA A100-SXM4-80GB", 7, 12, 25000.0, 300),
        ("Tesla V100-SXM2-32GB", 5, 6, 25781.0, 150),  # raw, above the data sheet's 25 GB/s
        ("NVIDIA H200", 9, 18, None, 450),
    ],
)
def test_nvlink_is_no_faster_than_the_driver_reports(
    sysfs: Sysfs,
    name: str,
    architecture: int,
    links: int,
    megabytes: float | None,
    gigabytes: float,
) -> None:
    answers = {"Architecture": architecture, "NvLinkRemoteDeviceType": 2}
    joined = {("NvLinkState", link): 1 for link in range(links)}
    gpus = [fake_gpu(bus, name, **answers) | joined for bus in ("17", "18")]
    fields = [{"NVLINK_SPEED_MBPS_COMMON": megabytes}] * 2
    found = limit(discover(sysfs.root, FakeNvml(gpus, fields)), "gpu:0", "gpu:1")
    assert found.value == pytest.approx(gigabytes * 1e9)
    assert ("NVML" in found.source) == ("3090" in name)


@pytest.mark.parametrize(("mode", "known"), [([0, 0], True), ([1, 1], False), (None, True)])
def test_a_gpu_in_parts_has_no_limit_of_its_memory(
    sysfs: Sysfs, mode: list[int] | None, known: bool
) -> None:
    answers = fake_gpu("17", MaxClockInfo=2619, MemoryBusWidth=5120, MigMode=mode)
    found = way(discover(sysfs.root, FakeNvml([answers])), "gpu:0", "gpu:0")
    assert (found.limit is not None) == known
    assert ("partitioned (MIG)" in found.note) != known


def test_array_over_switches_sums_its_members_links() -> None:
    topology = machines.discovered(machines.dgx_a100)
    found = limit(topology, "node:3", "file:/raid/x")
    assert found.value == pytest.approx(8 * 7.877e9, rel=1e-3)


def test_tmpfs_is_not_taken_for_the_drive_below_root(sysfs: Sysfs) -> None:
    made = sysfs.pci("0000:16/0000:16:00.0/0000:17:00.0", NVME_CLASS, now=(8.0, 4), best=(8.0, 4))
    sysfs.nvme(made, "nvme0n1")
    sysfs.mount("/", "nvme0n1")
    file = sysfs.root / "proc/self/mountinfo"
    file.write_text(file.read_text() + "31 30 0:25 / /dev/shm rw - tmpfs tmpfs rw\n")
    found = way(discover(sysfs.root), "node:0", "file:/dev/shm/x")
    assert (found.limit, found.hops[0].note) == (None, "held in memory, not on a drive")


def test_cxl_node_is_limited_by_its_devices_link_less_flits(sysfs: Sysfs) -> None:
    place = "0000:0c/0000:0c:00.0/0000:0d:00.0"
    sysfs.pci(place, machines.CXL_CLASS, 0x8086, node=1, now=(32.0, 8), best=(32.0, 8))
    sysfs.node(2, [], 512, "24 14 10")
    topology = discover(sysfs.root)
    backed = topology.nodes[2].model_copy(
        update={"kind": NodeKind.CXL, "backed_by": ["0000:0d:00.0"]}
    )
    topology = topology.model_copy(update={"nodes": [*topology.nodes[:2], backed]})
    found = limit(topology, "node:1", "node:2")
    assert found.value == pytest.approx(29.654e9, rel=1e-3)
    assert found.link == "CXL on PCIe 5.0 x8 at 0000:0d:00.0"


@pytest.mark.parametrize(
    ("initiator", "target", "words"),
    [
        ("node:7", "node:0", "node 7 is not a node"),
        ("cpus:99", "node:0", "CPU 99"),
        ("gpu:3", "node:0", "gpu:3 is not a GPU"),
        ("file:/data", "node:0", "issues no accesses"),
        ("node:0", "cpus:1", "holds no data"),
        ("node:0", "dev:/dev/nvme9n1", "is not a block device"),
        ("gpu:0", "dev:/dev/nvme9n1", "gpu:0 is not a GPU"),
        ("node:0", "dax:/dev/dax9.0", "is not a DAX device"),
    ],
)
def test_endpoints_that_cannot_be_are_named(
    sysfs: Sysfs, initiator: str, target: str, words: str
) -> None:
    with pytest.raises(UserError, match=words):
        way(discover(sysfs.root), initiator, target)


def test_a_wrong_endpoint_costs_a_result_only_its_limit(sysfs: Sysfs) -> None:
    topology = discover(sysfs.root)
    assert path_limit(topology, parse_endpoint("node:7"), parse_endpoint("node:0")) is None


def test_gpu_whose_bus_is_hidden_is_limited_by_what_nvml_tells(sysfs: Sysfs) -> None:
    answers = fake_gpu("17", MaxPcieLinkGeneration=5, MaxPcieLinkWidth=16)
    found = way(discover(sysfs.root, FakeNvml([answers])), "node:0", "gpu:0")
    assert found.limit is not None
    assert found.limit.link == "PCIe 5.0 x16 of gpu:0"
    assert "NVML" in found.hops[0].note


def test_coherent_gpu_is_reached_over_c2c(sysfs: Sysfs) -> None:
    sysfs.node(2, [], 96_000, "40 40 10")
    fields = {"C2C_LINK_COUNT": 2.0, "C2C_LINK_GET_MAX_BW": 225_000.0}
    answers = fake_gpu("17", NumaNodeId=2)
    found = limit(discover(sysfs.root, FakeNvml([answers], [fields])), "node:0", "node:2")
    assert (found.value, found.link) == (450e9, "NVLink-C2C of gpu:0")
