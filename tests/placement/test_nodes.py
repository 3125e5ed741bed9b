"""Nodes as endpoints and as numactl writes them."""

import contextlib
from pathlib import Path

import pytest
from fixture_machine import make_machine, write
from hypothesis import given
from hypothesis import strategies as st

from tierscope.machine.files import Files
from tierscope.model.errors import UserError
from tierscope.place.nodes import check_nodes, select_nodes


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(make_machine(tmp_path))


@pytest.mark.parametrize(
    ("text", "nodes", "weights"),
    [
        ("node:0", (0,), ()),
        ("node2", (2,), ()),
        ("node:0,2@3:1", (0, 2), (3, 1)),
        ("node:0@3,2", (0, 2), (3, 1)),
        ("0", (0,), ()),
        ("4,0-1", (4, 0, 1), ()),
        ("0,2@3:1", (0, 2), (3, 1)),
        ("all", (0, 1, 2, 4), ()),
        ("+all", (0, 1, 2, 4), ()),
        ("all@4:2:1:1", (0, 1, 2, 4), (4, 2, 1, 1)),
        ("!1", (0, 2, 4), ()),
        ("!0-2", (4,), ()),
        ("+0", (0,), ()),
        ("+1,3", (1, 4), ()),
        ("!+0", (1, 2, 4), ()),
    ],
)
def test_forms(text: str, nodes: tuple[int, ...], weights: tuple[int, ...], files: Files) -> None:
    assert select_nodes(text, files) == (nodes, weights)


def test_relative_nodes_count_what_the_cpuset_allows(tmp_path: Path) -> None:
    files = Files(make_machine(tmp_path, allowed="2,4"))
    assert select_nodes("+0", files).nodes == (2,)
    assert select_nodes("all", files).nodes == (2, 4)
    assert select_nodes("!2", files).nodes == (4,)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "nodes '': '' is neither a number"),
        ("x", "nodes 'x': 'x' is neither a number"),
        ("2-0", "the range '2-0' runs backwards"),
        ("0,0", "names a number twice"),
        ("+4", "there is no +4; this process may use 4 nodes with memory, +0 to +3"),
        ("!all", "none is left of the nodes with memory: 0-2,4"),
        ("0,2@3", "give one weight from 1 to 255 for each of the 2 nodes"),
        ("0@256", "give one weight from 1 to 255"),
        ("0@" + 5000 * "1", "give one weight from 1 to 255"),
        ("gpu:0", "nodes 'gpu:0': 'gpu:0' is neither a number"),
        ("netdev:nine", "nodes 'netdev:nine': no such network device; there are: eth0, lo"),
        ("pci:9", "nodes 'pci:9': write it as pci:[segment:]bus:device[.function]"),
        ("pci:03:00.1", "there is no device 0000:03:00.1; lspci -D lists them"),
        ("block:nine", "nodes 'block:nine': no such block device"),
        ("file:/nine/times", "nodes 'file:/nine/times': "),
        ("netdev:lo", "the kernel knows no node that this is local to"),
    ],
)
def test_wrong_forms_are_refused_in_one_line(text: str, complaint: str, files: Files) -> None:
    devices(Path(files.root))
    with pytest.raises(UserError) as refused:
        select_nodes(text, files)
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


def devices(root: Path) -> None:
    """A drive and a network device on node 2, below a bridge on node 0; and a loopback."""
    bridge = "sys/devices/pci0000:00/0000:00:01.0"
    write(root, f"{bridge}/numa_node", "0\n")
    write(root, f"{bridge}/0000:01:00.0/numa_node", "2\n")
    write(root, f"{bridge}/0000:01:00.0/nvme/nvme0/nvme0n1/nvme0n1p1/partition", "1\n")
    write(root, f"{bridge}/0000:01:00.0/net/eth0/mtu", "1500\n")
    write(root, f"{bridge}/0000:02:00.0/numa_node", "-1\n")
    write(root, "sys/devices/virtual/net/lo/mtu", "9\n")
    link(root, "sys/class/net/lo", "sys/devices/virtual/net/lo")
    link(root, "sys/class/net/eth0", f"{bridge}/0000:01:00.0/net/eth0")
    link(root, f"{bridge}/0000:01:00.0/net/eth0/device", f"{bridge}/0000:01:00.0")
    partition = f"{bridge}/0000:01:00.0/nvme/nvme0/nvme0n1/nvme0n1p1"
    link(root, "sys/class/block/nvme0n1p1", partition)
    for name in ("0000:00:01.0", "0000:01:00.0", "0000:02:00.0"):
        above = "" if name == "0000:00:01.0" else "/" + name
        link(root, f"sys/bus/pci/devices/{name}", bridge + above)


def link(root: Path, path: str, to: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).symlink_to(root / to)


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("netdev:eth0", 2),
        ("block:nvme0n1p1", 2),
        ("block:/dev/nvme0n1p1", 2),
        ("pci:0000:01:00.0", 2),
        ("pci:01:00", 2),
        ("pci:0:1:0", 2),
        ("pci:02:00.0", 0),
    ],
)
def test_the_node_of_a_device_is_its_own_or_the_nearest_bridges(
    text: str, node: int, files: Files
) -> None:
    devices(Path(files.root))
    assert select_nodes(text, files).nodes == (node,)


def test_the_node_of_a_file_is_that_of_the_device_that_it_is_on(
    tmp_path: Path, files: Files
) -> None:
    device = tmp_path.stat().st_dev
    numbers = f"{device >> 8 & 0xFFF}:{device & 0xFF}"
    write(tmp_path, "sys/devices/pci0/virtio1/numa_node", "1\n")
    write(tmp_path, "sys/devices/pci0/virtio1/block/vda/size", "1\n")
    link(tmp_path, f"sys/dev/block/{numbers}", "sys/devices/pci0/virtio1/block/vda")
    assert select_nodes(f"file:{tmp_path}", files).nodes == (1,)


@pytest.mark.parametrize(
    ("allowed", "node", "complaint"),
    [
        ("0-2,4", 3, "node 3 is offline; choose among the nodes with memory: 0-2,4"),
        ("0-2,4", 5, "node 5 has no memory; choose"),
        ("0-2,4", 17, "node 17 does not exist; choose"),
        ("0-1", 2, "node 2 is not in this process's cpuset, which allows the memory of nodes 0-1"),
    ],
)
def test_a_node_that_cannot_be_used_is_named_with_the_reason(
    allowed: str, node: int, complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=complaint):
        check_nodes((0, node), Files(make_machine(tmp_path, allowed=allowed)))


def test_without_numa_all_memory_is_node_0(tmp_path: Path) -> None:
    check_nodes((0,), Files(tmp_path))
    assert select_nodes("all", Files(tmp_path)).nodes == (0,)
    with pytest.raises(UserError, match="node 1 does not exist"):
        check_nodes((1,), Files(tmp_path))


@given(st.one_of(st.text(), st.text(alphabet="0123,-!+@:node")))
def test_any_text_names_nodes_or_is_refused(text: str) -> None:
    with contextlib.suppress(UserError):
        found = select_nodes(text, Files("/nowhere"))
        assert found.nodes
        assert len(found.weights) in (0, len(found.nodes))
