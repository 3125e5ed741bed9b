"""GPUs, network ports, CXL devices and NVLinks of hwloc files; nothing of a file is lost."""

from pathlib import Path

import pytest
from hwloc_files import device, host_bridge, info, machine, node, package, pci

from tierscope.machine.affinity import matrix
from tierscope.machine.paths import find_path
from tierscope.model.affinity import Level
from tierscope.model.endpoint import parse_endpoint
from tierscope.model.topology import Port, Topology
from tierscope.report.drawing import draw
from tierscope.report.topology_outline import outline

M2075 = "0302 [10de:1094]"
INFINIBAND_ADDRESS = ":".join(["80"] * 20)


def with_devices(tmp_path: Path, inner: str) -> Topology:
    devices = host_bridge("0000:[00-ff]", inner)
    return machine(tmp_path, package(0, "0x3", node(0, "0x3", 64) + devices))


def test_gpus_that_no_library_names_are_counted_last_and_said_to_be(tmp_path: Path) -> None:
    named = pci("0000:84:00.0", M2075, device("cuda0", 5, info("GPUModel", "Tesla K40m")))
    found = with_devices(tmp_path, pci("0000:83:00.0", M2075) + named)
    assert [(gpu.index, gpu.address) for gpu in found.gpus] == [
        (0, "0000:84:00.0"),
        (1, "0000:83:00.0"),
    ]
    assert any("gpu:1" in line and "counted last" in line for line in found.unreadable)


def test_gpus_of_cuda_and_of_opencl_do_not_share_a_number(tmp_path: Path) -> None:
    amd = device("opencl0d0", 5, info("GPUModel", "Radeon") + info("OpenCLDeviceType", "GPU"))
    found = with_devices(
        tmp_path,
        pci("0000:83:00.0", "0300 [1002:6798]", amd)
        + pci("0000:84:00.0", M2075, device("cuda0", 5, info("GPUModel", "Tesla"))),
    )
    assert [(gpu.index, gpu.name) for gpu in found.gpus] == [(0, "Tesla"), (1, "Radeon")]


def test_devices_that_are_no_tiers_are_named_as_left_out(tmp_path: Path) -> None:
    found = with_devices(
        tmp_path,
        pci("0000:05:00.0", "1200 [8086:2250]", device("mic0", 5))
        + pci("0000:06:00.0", "0880 [8086:0b00]", device("dma0chan0", 4))
        + pci("0000:07:00.0", "0106 [8086:2922]", device("sr0", 0))
        + pci("0000:08:00.0", "0300 [102b:0522]", device("card0", 1)),
    )
    text = " ".join(found.unreadable)
    assert all(name in text for name in ("mic0", "dma0chan0", "sr0", "card0"))


def test_a_repeated_pci_address_is_shown_once_and_said(tmp_path: Path) -> None:
    hca = device("ib0", 2, info("Address", INFINIBAND_ADDRESS)) + device("mlx5_0", 3)
    found = with_devices(
        tmp_path,
        pci("0000:04:00.0", "0107 [8086:1d6b]") + pci("0000:04:00.0", "0207 [15b3:1013]", hca),
    )
    assert [entry.class_code for entry in found.pci] == [0x0207]
    assert any("0000:04:00.0" in line for line in found.unreadable)


def only_port(found: Topology) -> Port:
    (port,) = found.ports
    return port


@pytest.mark.parametrize(
    ("kind", "objects", "expected"),
    [
        (
            "0200 [1137:00cf]",
            device("eth4", 2, info("Address", "24:57:20:04:20:00") + info("Port", "1"))
            + device("usnic_0", 3, info("Port1State", "4")),
            ("usnic_0/1", "ethernet", "eth4", "active"),
        ),
        (
            "0200 [15b3:1017]",
            device("ens1", 2, info("Address", "24:57:20:04:20:00")) + device("mlx5_0", 3),
            ("mlx5_0/1", "ethernet", "ens1", ""),
        ),
        (
            "0c06 [15b3:673c]",
            device("ib0", 2, info("Address", INFINIBAND_ADDRESS)) + device("mlx4_0", 3),
            ("mlx4_0/1", "infiniband", "ib0", ""),
        ),
        ("0c06 [1077:7322]", device("qib0", 3), ("qib0/1", "infiniband", "", "")),
        (
            "0c06 [15b3:673c]",
            device("ib0", 2, info("Address", INFINIBAND_ADDRESS)),
            ("ib0", "infiniband", "ib0", ""),
        ),
    ],
    ids=["usNIC", "RoCE", "HCA of class 0c06", "HCA without interface", "HCA without verbs"],
)
def test_what_a_network_port_speaks(
    tmp_path: Path, kind: str, objects: str, expected: tuple[str, str, str, str]
) -> None:
    port = only_port(with_devices(tmp_path, pci("0000:04:00.0", kind, objects)))
    assert (port.name, port.kind, port.interface, port.state) == expected


def test_both_ports_of_an_adapter_are_found_with_their_interfaces(tmp_path: Path) -> None:
    objects = "".join(
        device(f"ib{number}", 2, info("Address", INFINIBAND_ADDRESS) + info("Port", str(number)))
        for number in (1, 2)
    ) + device("mlx4_0", 3, info("Port1State", "4") + info("Port2State", "1"))
    found = with_devices(tmp_path, pci("0000:04:00.0", "0207 [15b3:673c]", objects))
    assert [(port.name, port.interface, port.state) for port in found.ports] == [
        ("mlx4_0/1", "ib1", "active"),
        ("mlx4_0/2", "ib2", ""),
    ]


def test_volatile_and_persistent_capacity_of_a_cxl_device_stand_apart(tmp_path: Path) -> None:
    sizes = info("CXLRAMSize", "262144") + info("CXLPMEMSize", "524288")
    card = '<object type="OSDev" name="mem0" subtype="CXLMem" osdev_type="0">' + sizes + "</object>"
    found = with_devices(tmp_path, pci("0000:16:00.0", "0502 [8086:0d93]", card))
    (group,) = outline(found)
    assert "256 MiB volatile + 512 MiB persistent" in group.children[1].children[0].detail


POWER8_LINKS = (
    '<distances2hetero nbobjs="4" kind="25" name="NVLinkBandwidth">'
    "<indexes>OSDev:30 OSDev:31 Package:40 Package:41</indexes>"
    "<u64values>1000000 0 40000 0 0 1000000 0 40000 40000 0 1000000 0 0 40000 0 1000000</u64values>"
    "</distances2hetero>"
)


def power8(tmp_path: Path) -> Topology:
    """Two packages, each with a P100 on two NVLinks to its CPU."""
    packages = ""
    for number, cpus in ((0, "0x3"), (1, "0xc")):
        gpu = device(f"nvml{number}", 1, info("GPUModel", "Tesla P100-SXM2-16GB"), 30 + number)
        address = f"000{number}:01:00.0"
        bus = host_bridge(f"000{number}:[00-01]", pci(address, "0302 [10de:15f9]", gpu, 15.753846))
        packages += package(number, cpus, node(number, cpus, 64) + bus, "POWER8NVL").replace(
            "<object ", f'<object gp_index="{40 + number}" ', 1
        )
    return machine(tmp_path, packages, after=POWER8_LINKS)


def test_gpus_with_nvlink_to_their_cpus_reach_each_other_over_it(tmp_path: Path) -> None:
    found = power8(tmp_path)
    path = find_path(found, parse_endpoint("gpu:0"), parse_endpoint("gpu:1"))
    assert [hop.limit.value / 1e9 if hop.limit else None for hop in path.hops] == [40, None, 40]
    assert path.limit is not None
    assert path.limit.link.startswith("NVLink 1 x2")


def test_affinity_of_a_gpu_to_the_cpu_that_its_nvlinks_go_to(tmp_path: Path) -> None:
    rows = matrix(power8(tmp_path))  # gpu:0, gpu:1, node:0, node:1
    assert [(pair.level, pair.links) for pair in rows[0][2:]] == [
        (Level.NVLINK, 2),
        (Level.SYS, 0),
    ]
    assert str(rows[3][1]) == "NV2"
    plain = matrix(power8(tmp_path), nvlink=False)
    assert plain[0][2].level is Level.PHB


def test_the_picture_has_a_line_for_nvlinks_to_the_cpu(tmp_path: Path) -> None:
    svg = draw(power8(tmp_path))
    assert svg.count('class="nvlink"') == 2
    assert svg.count(">NV2 40 GB/s<") == 2


def test_hwloc_3_reads_as_hwloc_2_does(tmp_path: Path) -> None:
    two = with_devices(
        tmp_path,
        pci("0000:04:00.0", "0207 [15b3:1013]", device("ib0", 2) + device("mlx5_0", 3))
        + pci("0000:05:00.0", "0108 [144d:a808]", device("nvme0n1", 0, info("Size", "4096"))),
    )
    text = (tmp_path / "machine.xml").read_text()
    bits = {'"0"': '"1"', '"2"': '"16"', '"3"': '"48"'}
    for old, new in bits.items():
        text = text.replace(f"osdev_type={old}", f"osdev_type={new}")
    text = text.replace('version="2.0"', 'version="3.0"').replace('"4096"', '"4096KiB"')
    text = text.replace("</topology>", info("HostName", "three") + "</topology>")
    (tmp_path / "three.xml").write_text(text)
    from tierscope.machine.hwloc import read_hwloc

    three = read_hwloc(tmp_path / "three.xml")
    assert three.host == "three"
    assert (three.ports, three.blocks, three.pci) == (two.ports, two.blocks, two.pci)
    assert three.blocks[0].size_bytes == 4 << 20
