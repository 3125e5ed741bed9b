"""hwloc XML of other machines: what is read, and what is refused."""

import contextlib
import tempfile
from pathlib import Path

import pytest
from hwloc_files import info, machine, node, package
from hypothesis import given
from hypothesis import strategies as st

from tierscope.machine.affinity import home
from tierscope.machine.hwloc import MAX_BYTES, bits, read_hwloc
from tierscope.machine.paths import path_limit
from tierscope.model.endpoint import parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.topology import NodeKind, Topology

XML = Path(__file__).parent / "xml"
DGX2 = (XML / "nvidia-dgx2.xml").read_text()


def kinds(topology: Topology) -> dict[int, NodeKind]:
    return {node.number: node.kind for node in topology.nodes}


def test_dgx2_packages_and_nodes() -> None:
    topology = read_hwloc(XML / "nvidia-dgx2.xml")
    assert [(package.number, package.cores) for package in topology.packages] == [(0, 2), (1, 2)]
    assert [node.total_bytes for node in topology.nodes] == [810234351616, 811737923584]
    assert topology.nodes[0].distances == {0: 10, 1: 21}
    assert topology.cpus == [0, 1, 24, 25]


def test_dgx2_gpus_are_sixteen_v100_in_driver_order() -> None:
    gpus = read_hwloc(XML / "nvidia-dgx2.xml").gpus
    assert [gpu.index for gpu in gpus] == list(range(16))
    assert (gpus[0].address, gpus[15].address) == ("0000:34:00.0", "0000:e7:00.0")
    assert {gpu.name for gpu in gpus} == {"Tesla V100-SXM3-32GB-H"}


def test_dgx2_each_gpu_has_one_link_to_six_switches() -> None:
    gpus = read_hwloc(XML / "nvidia-dgx2.xml").gpus
    assert {tuple(link.links for link in gpu.nvlinks) for gpu in gpus} == {(1,) * 6}
    assert {link.peer for gpu in gpus for link in gpu.nvlinks} == {"switch"}


def test_cxl_memory_devices_and_unused_dax() -> None:
    topology = read_hwloc(XML / "cxl-memory-dax.xml")
    memories = {memory.name: memory for memory in topology.cxl_memories}
    assert memories["mem1"].ram_bytes == memories["mem1"].pmem_bytes == 256 << 20
    assert memories["mem0"].address == "0000:12:00.0"
    assert [(dax.name, dax.mode, dax.parent) for dax in topology.dax] == [
        ("dax0.0", "devdax", "hmem.0")
    ]


def test_power9_gpu_memory_nodes_are_gpu_and_cpu_less(tmp_path: Path) -> None:
    gpus = "".join(
        node(number, "0x0000000f", 15, info("PCIBusID", address), subtype="GPUMemory")
        for number, address in ((253, "0006:00:00.0"), (254, "0004:06:00.0"))
    )
    dram = node(0, "0x0000000f", 124)
    found = machine(tmp_path, package(0, "0x0000000f", dram + gpus, "POWER9, altivec supported"))
    assert kinds(found) == {0: NodeKind.DRAM, 253: NodeKind.GPU, 254: NodeKind.GPU}
    assert [entry.cpus for entry in found.nodes] == [[0, 1, 2, 3], [], []]
    assert found.nodes[1].backed_by == ["0006:00:00.0"]


def test_xeon_max_flat_mode_has_dram_with_cpus_and_hbm_without(tmp_path: Path) -> None:
    model = "Intel(R) Xeon(R) CPU Max 9480"
    packages = "".join(
        package(p, cpus, node(p, cpus, 512) + node(2 + p, cpus, 64), model)
        for p, cpus in ((0, "0x00000003"), (1, "0x0000000c"))
    )
    found = machine(tmp_path, packages)
    assert kinds(found) == {
        0: NodeKind.DRAM,
        1: NodeKind.DRAM,
        2: NodeKind.HBM,
        3: NodeKind.HBM,
    }


def test_xeon_max_without_dimms_has_hbm_with_cpus(tmp_path: Path) -> None:
    model = "Intel(R) Xeon(R) CPU Max 9480"
    nodes = node(0, "0x00000001", 32) + node(1, "0x00000002", 32)
    found = machine(tmp_path, package(0, "0x00000003", nodes, model))
    assert kinds(found) == {0: NodeKind.HBM, 1: NodeKind.HBM}


def test_xeon_max_cache_mode_shows_dram_only(tmp_path: Path) -> None:
    model = "Intel(R) Xeon(R) CPU Max 9480"
    found = machine(tmp_path, package(0, "0x00000003", node(0, "0x00000003", 512), model))
    assert kinds(found) == {0: NodeKind.DRAM}


def test_grace_gpu_memory_is_known_by_its_size(tmp_path: Path) -> None:
    gpu = (
        '<object type="Bridge" bridge_type="0-1" bridge_pci="0009:[00-01]">'
        '<object type="Bridge" bridge_type="1-1" bridge_pci="0009:[01-01]"'
        ' pci_busid="0009:00:00.0" pci_type="0604 [10de:22b1] [0000:0000] 00">'
        '<object type="PCIDev" pci_busid="0009:01:00.0" pci_type="0302 [10de:2342] [10de:16eb] a1">'
        '<object type="OSDev" name="cuda0" osdev_type="5">'
        + info("GPUModel", "NVIDIA GH200 480GB")
        + info("CUDAGlobalMemorySize", str(96 << 20))
        + "</object></object></object></object>"
    )
    nodes = node(0, "0x0000000f", 478) + node(1, "0x0000000f", 95)
    cpu = info("CPUImplementer", "0x41") + info("CPUPart", "0xd4f")
    found = machine(tmp_path, package(0, "0x0000000f", cpu + nodes + gpu))
    assert kinds(found) == {0: NodeKind.DRAM, 1: NodeKind.GPU}
    assert found.nodes[1].backed_by == ["0009:01:00.0"]


def test_knights_landing_mcdram_is_hbm(tmp_path: Path) -> None:
    nodes = node(0, "0x0000000f", 96) + node(1, "0x0000000f", 16, subtype="MCDRAM")
    found = machine(tmp_path, package(0, "0x0000000f", nodes, "Intel(R) Xeon Phi(TM) CPU 7210"))
    assert kinds(found) == {0: NodeKind.DRAM, 1: NodeKind.HBM}


def test_optane_in_use_as_system_ram_is_pmem(tmp_path: Path) -> None:
    optane = node(2, "0x0000000f", 500, info("DAXDevice", "dax1.0") + info("DAXType", "NVM"))
    nodes = node(0, "0x0000000f", 96) + optane
    assert kinds(machine(tmp_path, package(0, "0x0000000f", nodes)))[2] is NodeKind.PMEM


def test_cxl_label_of_newer_hwloc_is_cxl(tmp_path: Path) -> None:
    nodes = node(0, "0x0000000f", 96) + node(2, "0x0000000f", 128, subtype="CXL-DRAM")
    assert kinds(machine(tmp_path, package(0, "0x0000000f", nodes)))[2] is NodeKind.CXL


def test_cpu_less_node_that_nothing_explains_stays_unknown(tmp_path: Path) -> None:
    nodes = node(0, "0x0000000f", 96) + node(2, "0x0000000f", 128)
    assert kinds(machine(tmp_path, package(0, "0x0000000f", nodes)))[2] is NodeKind.UNKNOWN


def test_cpu_less_node_claimed_faster_than_dram_is_hbm(tmp_path: Path) -> None:
    nodes = node(0, "0x0000000f", 96) + node(2, "0x0000000f", 16)
    claims = (
        '<memattr name="Bandwidth" flags="5">'
        '<memattr_value target_obj_type="NUMANode" target_obj_gp_index="900" value="100000"'
        ' initiator_cpuset="0x0000000f"/>'
        '<memattr_value target_obj_type="NUMANode" target_obj_gp_index="902" value="400000"'
        ' initiator_cpuset="0x0000000f"/></memattr>'
    )
    found = machine(tmp_path, package(0, "0x0000000f", nodes), after=claims)
    assert kinds(found)[2] is NodeKind.HBM
    assert found.nodes[1].performance[0].read_bandwidth == 400e9


def test_disallowed_cpus_are_known_and_not_offered(tmp_path: Path) -> None:
    text = DGX2.replace('allowed_cpuset="0x03000003"', 'allowed_cpuset="0x00000003"')
    file = tmp_path / "cgroup.xml"
    file.write_text(text)
    topology = read_hwloc(file)
    assert topology.cpus == [0, 1]
    assert [len(package.cpus) for package in topology.packages] == [2, 2]


BAD = {
    "binary": bytes(range(256)) * 40,
    "truncated": DGX2[:20_000].encode(),
    "empty": b"",
    "blank": b"  \n",
    "text": b"hello, world\n",
    "html": b"<html><body/></html>",
    "hwloc 1": b'<topology><object type="Machine"/></topology>',
    "hwloc 4": DGX2.replace('<topology version="2.0">', '<topology version="4.0">').encode(),
    "no machine": b'<topology version="2.0"/>',
    "entities": b'<!DOCTYPE t [<!ENTITY a "aa">]><topology version="2.0">&a;</topology>',
    "deep": b'<topology version="2.0">' + b'<object type="Machine">' * 30_000,
    "large": b'<topology version="2.0"><!--' + b"x" * MAX_BYTES + b"--></topology>",
    "utf-16": DGX2[:3000].encode("utf-16"),
}


@pytest.mark.parametrize("content", BAD.values(), ids=list(BAD))
def test_what_is_no_hwloc_file_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "bad.xml"
    file.write_bytes(content)
    with pytest.raises(UserError) as caught:
        read_hwloc(file)
    assert str(caught.value).startswith(str(file))
    assert "\n" not in str(caught.value)


def test_hwloc_4_is_refused_with_the_way_to_convert_it(tmp_path: Path) -> None:
    file = tmp_path / "four.xml"
    file.write_bytes(BAD["hwloc 4"])
    advice = rf"hwloc 4\.0.*`lstopo -i {file} --of xml --export-xml-flags 2 NEW\.xml`"
    with pytest.raises(UserError, match=advice):
        read_hwloc(file)


def test_hwloc_1_is_refused_with_the_way_to_convert_it(tmp_path: Path) -> None:
    file = tmp_path / "one.xml"
    file.write_bytes(BAD["hwloc 1"])
    with pytest.raises(UserError, match=rf"hwloc 1 file.*`lstopo -i {file} --of xml NEW\.xml`"):
        read_hwloc(file)


def test_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        read_hwloc(tmp_path / "none.xml")


@given(st.data())
def test_damaged_files_are_read_or_refused_and_never_crash(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(DGX2) - 1))
    length = data.draw(st.integers(0, 400))
    patch = data.draw(st.text(max_size=20))
    with tempfile.NamedTemporaryFile("w", suffix=".xml", errors="replace") as file:
        file.write(DGX2[:start] + patch + DGX2[start + length :])
        file.flush()
        with contextlib.suppress(UserError):
            read_hwloc(file.name)


@given(st.sets(st.integers(0, 300), max_size=40))
def test_bits_reads_what_hwloc_writes(members: set[int]) -> None:
    value = sum(1 << member for member in members)
    words = [value >> shift & 0xFFFFFFFF for shift in range(0, max(value.bit_length(), 1), 32)]
    text = ",".join(f"0x{word:08x}" for word in reversed(words))
    assert bits(text) == sorted(members)


@pytest.mark.parametrize("text", [None, "", "zebra", "0x0", "-1", "0xfffffffff"])
def test_bits_of_nonsense_are_none(text: str | None) -> None:
    assert bits(text) == []


def test_cpu_less_node_is_local_to_the_node_whose_cpus_the_file_gives_it(tmp_path: Path) -> None:
    nodes = "".join(
        node(number, cpus, gib)
        for number, cpus, gib in (
            (0, "0x00000001", 128),
            (1, "0x00000002", 128),
            (2, "0x00000001", 16),
            (3, "0x00000002", 16),
        )
    )
    found = machine(tmp_path, package(0, "0x00000003", nodes, "Intel(R) Xeon(R) CPU Max 9480"))
    assert [home(found, entry) for entry in found.nodes] == [0, 1, 0, 1]


def test_grace_hopper_is_reached_over_c2c_and_not_its_idle_pcie_link(tmp_path: Path) -> None:
    gpu = (
        '<object type="Bridge" bridge_type="0-1" bridge_pci="0009:[00-01]">'
        '<object type="PCIDev" pci_busid="0009:01:00.0" pci_type="0302 [10de:2342] [10de:16eb] a1"'
        ' pci_link_speed="3.938462"><object type="OSDev" name="cuda0" osdev_type="5">'
        + info("GPUModel", "NVIDIA GH200 480GB")
        + "</object></object></object>"
    )
    memory = node(1, "0x0000000f", 95, info("PCIBusID", "0009:01:00.0"), subtype="GPUMemory")
    nodes = node(0, "0x0000000f", 478) + memory
    found = machine(tmp_path, package(0, "0x0000000f", nodes + gpu))
    limit = path_limit(found, parse_endpoint("node:0"), parse_endpoint("gpu:0"))
    assert limit is not None
    assert limit.value == 450e9


def test_numbers_below_zero_are_none(tmp_path: Path) -> None:
    file = tmp_path / "x.xml"
    file.write_text(
        '<topology version="2.0"><object type="Machine" os_index="0" cpuset="0x1">'
        '<object type="NUMANode" os_index="-5" cpuset="0x1" local_memory="1"/>'
        '<object type="NUMANode" os_index="0" cpuset="0x1" local_memory="-1"/>'
        "</object></topology>"
    )
    assert [(node.number, node.total_bytes) for node in read_hwloc(file).nodes] == [(0, 0)]
