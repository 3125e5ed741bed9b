"""Nodes as endpoints and as numactl writes them."""

import contextlib
import subprocess
from pathlib import Path

import pytest
from fixture_machine import make_machine, write
from hypothesis import given
from hypothesis import strategies as st

from tierscope.machine.files import Files
from tierscope.model.errors import UserError
from tierscope.place.nodes import (
    check_nodes,
    is_selection,
    nodes_with_memory,
    select_nodes,
    usable_nodes,
)


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
        ("+0,5,4", "there is no +5; this process"),
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


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("node:9", True), ("node9", True), ("nodes:0", True), ("nodes9", True), ("0,2", True),
        ("!1", True), ("+0", True), ("all", True), ("all@2:1", True), ("netdev:eth9", True),
        ("ip:1", True), ("file:x", True), ("block:x", True), ("pci:x", True),
        ("", False), ("node", False), ("node:", False), ("allow", False), ("last", False),
        ("netdev:", False), ("usb:1", False), ("x0", False),
    ],
)  # fmt: skip
def test_a_text_is_nodes_by_its_form(text: str, is_one: bool) -> None:
    assert is_selection(text) is is_one


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("pci:0001:AF:1f.3", "0001:af:1f.3"),
        ("pci:af:1f.7", "0000:af:1f.7"),
        ("pci:10000:1:2", "10000:01:02.0"),
    ],
)
def test_an_address_of_pci_may_lack_its_zeros(text: str, name: str, files: Files) -> None:
    write(Path(files.root), f"sys/bus/pci/devices/{name}/numa_node", "2\n")
    assert select_nodes(text, files).nodes == (2,)


@pytest.mark.parametrize("text", ["pci:1:2.8", "pci:1", "pci:1:2:3:4", "pci:g:0", "pci:123:0.0"])
def test_what_is_no_address_of_pci_is_refused(text: str, files: Files) -> None:
    with pytest.raises(UserError, match=r"write it as pci:\[segment:\]bus:device"):
        select_nodes(text, files)


def test_the_node_of_an_address_is_that_of_the_interface_that_leads_there(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices(Path(files.root))
    asked: list[list[str]] = []

    def answered(command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        asked.append(command)
        if command[-1] == "10.0.0.3":
            raise FileNotFoundError
        said = b'[{"dev": "eth0"}]' if command[-1] == "10.0.0.1" else b"[]"
        return subprocess.CompletedProcess(command, 0, said)

    monkeypatch.setattr(subprocess, "run", answered)
    assert select_nodes("ip:10.0.0.1", files).nodes == (2,)
    assert asked == [["ip", "-json", "route", "get", "10.0.0.1"]]
    with pytest.raises(UserError, match=r"nodes 'ip:10\.0\.0\.2': no route leads to it"):
        select_nodes("ip:10.0.0.2", files)
    with pytest.raises(UserError, match="program ip is needed, and not installed"):
        select_nodes("ip:10.0.0.3", files)


def test_weights_that_do_not_fit_are_said_with_the_text_as_given(files: Files) -> None:
    with pytest.raises(UserError) as refused:
        select_nodes("all@1:2", files)
    assert str(refused.value).startswith("nodes 'all@1:2': give one weight from 1 to 255")


def test_memory_is_node_0s_only_where_the_kernel_names_no_nodes(tmp_path: Path) -> None:
    write(tmp_path, "sys/devices/system/node/online", "1-2\n")
    write(tmp_path, "sys/devices/system/node/possible", "0-3\n")
    write(tmp_path, "sys/devices/system/node/has_memory", "1-2\n")
    files = Files(tmp_path)
    assert usable_nodes(files) == nodes_with_memory(files) == [1, 2]
    check_nodes((1, 2), files)
    for node, problem in ((0, "is offline"), (4, "does not exist")):
        with pytest.raises(UserError, match=f"node {node} {problem}"):
            check_nodes((node,), files)


@given(st.one_of(st.text(), st.text(alphabet="0123,-!+@:node")))
def test_any_text_names_nodes_or_is_refused(text: str) -> None:
    with contextlib.suppress(UserError):
        found = select_nodes(text, Files("/nowhere"))
        assert found.nodes
        assert len(found.weights) in (0, len(found.nodes))
