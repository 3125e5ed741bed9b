"""Drives beside GPUs and NICs: NVIDIA's tables, from sysfs and from hwloc's XML alike."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
import topology_machines as machines
from hwloc_files import device, host_bridge, info, node, package
from hwloc_files import machine as hwloc_machine
from hwloc_written import as_hwloc

from tierscope.machine.affinity import advice, matrix
from tierscope.machine.assignment import assign
from tierscope.machine.hwloc import read_hwloc
from tierscope.machine.uplinks import by_top_switch, io_devices
from tierscope.model.topology import Topology
from tierscope.report.style import make_console
from tierscope.report.topology import show_assignment, show_io, show_machine

GOLDEN = Path(__file__).parent / "golden"
MACHINES = {"dgx2": machines.dgx2, "dgx_a100": machines.dgx_a100}


@pytest.fixture(params=sorted(MACHINES))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def live(name: str) -> Topology:
    return machines.discovered(MACHINES[name])


@pytest.fixture
def from_xml(live: Topology, tmp_path: Path) -> Topology:
    file = tmp_path / "machine.xml"
    file.write_text(as_hwloc(live))
    return read_hwloc(str(file))


def printed(show: Callable[..., None], topology: Topology, **more: bool) -> str:
    file = io.StringIO()
    show(make_console(file), topology, **more)
    return file.getvalue()


def text_of(topology: Topology) -> str:
    text = printed(show_io, topology) + printed(show_assignment, topology)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def levels(topology: Topology) -> dict[tuple[str, str], str]:
    pairs = (pair for row in matrix(topology, nvlink=False) for pair in row)
    return {(pair.first, pair.second): f"{pair} {pair.common}" for pair in pairs}


def test_tables_are_those_that_were_checked(name: str, live: Topology) -> None:
    assert text_of(live) == (GOLDEN / f"{name}.txt").read_text()


def test_tables_fit_a_terminal(live: Topology) -> None:
    assert max(map(len, text_of(live).splitlines())) <= 100


def test_hwloc_shows_the_same_devices_links_and_affinity(
    live: Topology, from_xml: Topology
) -> None:
    ours, theirs = io_devices(live), io_devices(from_xml)
    assert [(d.name, d.address, d.node) for d in ours] == [
        (d.name, d.address, d.node) for d in theirs
    ]
    assert [[u.name for u in d.uplinks] for d in ours] == [
        [u.name for u in d.uplinks] for d in theirs
    ]
    assert [d.limit for d in theirs] == pytest.approx([d.limit for d in ours], rel=1e-6)
    assert levels(live) == levels(from_xml)
    assert [entry.nvme for entry in advice(live)] == [entry.nvme for entry in advice(from_xml)]


def test_the_whole_machine_names_who_is_below_one_switch(live: Topology) -> None:
    assert "Devices below one switch" in printed(show_machine, live, nvlink=True)


def test_table_1_of_the_guide() -> None:
    found = by_top_switch(io_devices(machines.discovered(machines.dgx2)))
    rows = [
        [[d.address[5:7] for d in members if d.kind == kind] for kind in ("gpu", "drive")]
        for members in found.values()
    ]
    assert rows == [
        [["34", "36", "39", "3b"], ["2e", "2f"]],
        [["57", "59", "5c", "5e"], ["51", "52"]],
        [["b7", "b9", "bc", "be"], ["b1", "b2"]],
        [["e0", "e2", "e5", "e7"], ["da", "db"]],
    ]


def test_dgx2_pairs_share_no_uplink() -> None:
    found = assign(machines.discovered(machines.dgx2))
    assert found.proven
    assert found.shared == {}
    assert [(s.gpu, s.device) for s in found.drives] == [
        (f"gpu:{2 * at}", f"nvme{2 + at}") for at in range(8)
    ]


def test_dgx_a100_pairs_are_those_of_table_4() -> None:
    found = assign(machines.discovered(machines.dgx_a100))
    assert found.proven
    assert [stream.device for stream in found.drives] == [
        f"nvme{number}" for number in (0, 1, 4, 5, 6, 7, 8, 9)
    ]
    assert found.left_out == ["nvme2: it holds the root file system"]


# The part of another DGX's topology that section 4.1 prints as XML, with the NICs that its text and
# figure name.


def bridge(address: str, buses: str, *inner: str) -> str:
    return (
        f'<object type="Bridge" bridge_type="1-1" bridge_pci="0000:[{buses}]"'
        f' gp_index="{500 + sum(map(ord, address))}" pci_busid="{address}"'
        f' pci_type="0604 [1000:c010] [1000:a096] b0" pci_link_speed="31.507692">'
        f"{''.join(inner)}</object>"
    )


def function(address: str, kind: str, rate: float, inner: str) -> str:
    return (
        f'<object type="PCIDev" gp_index="{700 + sum(map(ord, address))}" pci_busid="{address}"'
        f' pci_type="{kind}" pci_link_speed="{rate:.6f}">{inner}</object>'
    )


def gpu(address: str, number: int) -> str:
    named = (
        f'<object type="OSDev" name="opencl0d{number}" subtype="OpenCL" osdev_type="5"'
        f' gp_index="{1017 + number}">{info("GPUModel", "NVIDIA A100-SXM4-80GB")}</object>'
    )
    return function(address, "0302 [10de:20b2] [10de:1463] a1", 31.507692, named)


def drive(address: str, name: str) -> str:
    return function(address, "0108 [144d:a824] [144d:a801] 00", 7.876923, device(name, 0))


def nic(address: str, name: str) -> str:
    return function(address, "0207 [15b3:101b] [15b3:0006] 00", 31.507692, device(name, 3))


def printed_topology(tmp_path: Path) -> Topology:
    """The group of NUMA node 3, bridge by bridge as printed."""
    inside = bridge(
        "0000:01:00.0", "02-13",
        bridge("0000:02:00.0", "03-09", bridge(
            "0000:03:00.0", "04-09",
            bridge("0000:04:00.0", "05-07", bridge("0000:05:00.0", "06-07", bridge(
                "0000:06:00.0", "07-07", gpu("0000:07:00.0", 0)))),
            bridge("0000:04:10.0", "08-08", drive("0000:08:00.0", "nvme0c0n1")),
            bridge("0000:04:14.0", "09-09", drive("0000:09:00.0", "nvme1c1n1")))),
        bridge("0000:02:04.0", "0a-0f", bridge(
            "0000:0a:00.0", "0b-0f",
            bridge("0000:0b:00.0", "0c-0c", nic("0000:0c:00.0", "mlx5_0")),
            bridge("0000:0b:10.0", "0d-0f", bridge("0000:0d:00.0", "0e-0f", bridge(
                "0000:0e:00.0", "0f-0f", gpu("0000:0f:00.0", 1)))))),
        bridge("0000:02:08.0", "10-13", bridge("0000:10:00.0", "11-13", bridge(
            "0000:11:00.0", "12-12", nic("0000:12:00.0", "mlx5_1")))),
    )  # fmt: skip
    below = host_bridge("0000:[00-1f]", bridge("0000:00:01.1", "01-13", inside))
    return hwloc_machine(tmp_path, package(0, "0x3", node(3, "0x3", 1) + below))


def test_printed_topology_both_gpus_are_nearest_both_drives_one_by_fewer_switches(
    tmp_path: Path,
) -> None:
    first, second = advice(printed_topology(tmp_path))
    assert first.nvme is not None
    assert second.nvme is not None
    assert first.nvme.names == second.nvme.names == ["nvme0", "nvme1"]
    assert (str(second.nvme.level), first.nvme.switches < second.nvme.switches) == ("PXB", True)


def test_printed_topology_each_gpu_gets_the_nic_that_the_guide_advises(tmp_path: Path) -> None:
    """mlx5_0 with GPU 0f:00.0 and mlx5_1 with 07:00.0, so that no bridge is shared for NICs."""
    found = assign(printed_topology(tmp_path))
    assert {stream.device: stream.gpu for stream in found.nics} == {
        "mlx5_0": "gpu:1",
        "mlx5_1": "gpu:0",
    }
    assert [stream.device for stream in found.drives] == ["nvme0", "nvme1"]
    (told,) = found.shared
    assert told.startswith("the uplink of switch 0000:03:00.0 (31.5 GB/s)")
