"""What the doctor says of links and of how memory is attached."""

from pathlib import Path

import pytest
import topology_machines as machines
from topology_machines import GPU_CLASS, NVIDIA, FakeNvml, Sysfs, fake_gpu

from tierscope.machine.checks import link_findings
from tierscope.machine.discover import discover
from tierscope.model.finding import Finding
from tierscope.model.topology import CxlMemory, Dax, NodeKind, Topology


@pytest.fixture
def sysfs(tmp_path: Path) -> Sysfs:
    tree = Sysfs(tmp_path)
    tree.cpus([[0, 1]])
    tree.node(0, [0, 1], 1000, "10")
    return tree


def about(topology: Topology, subject: str, root: str = "/nowhere") -> list[Finding]:
    return [entry for entry in link_findings(topology, root) if entry.subject.startswith(subject)]


def with_gpu(sysfs: Sysfs, now: tuple[float, int], best: tuple[float, int]) -> Topology:
    port = "0000:16/0000:16:00.0"
    sysfs.pci(port, machines.BRIDGE_CLASS, 0x8086, node=0, now=now, best=(32.0, 16))
    sysfs.pci(f"{port}/0000:17:00.0", GPU_CLASS, NVIDIA, node=0, now=now, best=best)
    return discover(sysfs.root, FakeNvml([fake_gpu("17")]))


def test_a_gpu_on_half_of_its_lanes_is_a_problem(sysfs: Sysfs) -> None:
    found = about(with_gpu(sysfs, (16.0, 8), (16.0, 16)), "link of gpu:0")
    assert [entry.severity for entry in found] == ["problem"]
    assert "half of what the GPU can do" in found[0].found


def test_a_gpu_at_its_best_is_none(sysfs: Sysfs) -> None:
    assert about(with_gpu(sysfs, (16.0, 16), (16.0, 16)), "link of gpu:0") == []


def test_a_gpu_that_only_idles_slow_is_a_note(sysfs: Sysfs) -> None:
    topology = with_gpu(sysfs, (2.5, 16), (16.0, 16))
    assert about(topology, "link of gpu:0") == []
    assert [entry.severity for entry in about(topology, "idle GPU links")] == ["note"]


def test_array_over_several_switches_is_said_with_its_members() -> None:
    topology = machines.discovered(machines.dgx_a100)
    found = about(topology, "array md1")
    assert len(found) == 1
    assert "nvme0, nvme1 below 0000:01:00.0" in found[0].found


def test_array_on_one_switch_is_not_spoken_of(tmp_path: Path) -> None:
    machines.dgx2(tmp_path)
    Sysfs(tmp_path).array("md1", "raid0", ["nvme2n1", "nvme3n1"])
    assert about(discover(tmp_path), "array md1") == []


def test_acs_that_redirects_below_a_switch_is_a_problem() -> None:
    topology = machines.discovered(machines.dgx2)
    pci = [
        device.model_copy(update={"acs_redirect": device.address == "0000:33:00.0"})
        for device in topology.pci
    ]
    found = about(topology.model_copy(update={"pci": pci}), "PCIe ACS")
    assert [entry.severity for entry in found] == ["problem"]
    assert "0000:33:00.0" in found[0].found


def test_acs_that_redirects_nothing_is_not_spoken_of() -> None:
    topology = machines.discovered(machines.dgx2)
    pci = [device.model_copy(update={"acs_redirect": False}) for device in topology.pci]
    assert about(topology.model_copy(update={"pci": pci}), "PCIe ACS") == []


@pytest.mark.parametrize(("kind", "severity"), [("DMA-FQ", "problem"), ("identity", "good")])
def test_iommu_that_translates_is_a_problem(sysfs: Sysfs, kind: str, severity: str) -> None:
    topology = with_gpu(sysfs, (16.0, 16), (16.0, 16))
    pci = [device.model_copy(update={"iommu_type": kind}) for device in topology.pci]
    found = about(topology.model_copy(update={"pci": pci}), "IOMMU")
    assert [entry.severity for entry in found] == [severity]


def test_dax_that_is_no_memory_of_a_node_comes_with_its_command(sysfs: Sysfs) -> None:
    dax = Dax(name="dax0.0", size_bytes=1 << 30, node=2, mode="devdax", parent="region0")
    topology = discover(sysfs.root).model_copy(update={"dax": [dax]})
    found = about(topology, "dax0.0")
    assert found[0].remedy.endswith("daxctl reconfigure-device --mode=system-ram dax0.0")


def test_dax_in_use_as_system_ram_is_not_spoken_of(sysfs: Sysfs) -> None:
    dax = Dax(name="dax0.0", size_bytes=1 << 30, node=2, mode="system-ram", parent="region0")
    assert about(discover(sysfs.root).model_copy(update={"dax": [dax]}), "dax0.0") == []


def test_cxl_memory_without_a_region_is_noted(sysfs: Sysfs) -> None:
    card = CxlMemory(name="mem0", address=None, ram_bytes=1 << 30, pmem_bytes=0)
    topology = discover(sysfs.root).model_copy(update={"cxl_memories": [card]})
    assert [entry.severity for entry in about(topology, "CXL memory mem0")] == ["note"]


@pytest.mark.parametrize(("tiers", "severity"), [((4, 4), "problem"), ((4, 6), "good")])
def test_unlike_memory_in_one_tier_would_not_migrate(
    sysfs: Sysfs, tiers: tuple[int, int], severity: str
) -> None:
    sysfs.node(1, [], 500, "20 10")
    topology = discover(sysfs.root)
    kinds = (NodeKind.DRAM, NodeKind.CXL)
    nodes = [
        node.model_copy(update={"tier": tier, "kind": kind})
        for node, tier, kind in zip(topology.nodes, tiers, kinds, strict=True)
    ]
    found = about(topology.model_copy(update={"nodes": nodes}), "memory tiers")
    assert [entry.severity for entry in found] == [severity]


def test_gpu_and_drive_without_direct_storage_are_told_what_it_needs(tmp_path: Path) -> None:
    topology = machines.discovered(machines.dgx2)
    found = about(topology, "GPUDirect Storage", str(tmp_path))
    assert "nvidia-fs" in found[0].remedy


def test_nvidia_fs_is_found(tmp_path: Path) -> None:
    topology = machines.discovered(machines.dgx2)
    Sysfs(tmp_path).write("/proc/driver/nvidia-fs/version", "version: 2.17")
    found = about(topology, "GPUDirect Storage", str(tmp_path))
    assert [(entry.severity, entry.found) for entry in found] == [("good", "nvidia-fs 2.17")]
