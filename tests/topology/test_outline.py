"""The outline and the tables: every package, node and CPU of a source is in them."""

from pathlib import Path

from hwloc_files import device, host_bridge, machine, node, package, pci
from topology_tables_text import shown

from tierscope.report.topology_outline import outline


def test_packages_without_memory_of_their_own_are_in_the_tree(tmp_path: Path) -> None:
    packages = package(0, "0x3", "") + package(1, "0xc", node(1, "0xc", 8)) + package(6, "0x30", "")
    names = [item.name for item in outline(machine(tmp_path, packages))]
    assert names == ["package 0", "package 1", "package 6"]


def test_packages_of_no_node_are_in_the_tree_beside_a_node_that_spans_packages(
    tmp_path: Path,
) -> None:
    packages = package(0, "0x1", "") + package(1, "0x2", "") + package(2, "0x4", "")
    names = [item.name for item in outline(machine(tmp_path, node(0, "0x3", 8) + packages))]
    assert names == ["around node 0", "package 2"]


def test_a_node_of_unknown_size_is_counted_and_said_to_be_so(tmp_path: Path) -> None:
    text = shown(machine(tmp_path, node(0, "0x3", 0) + package(0, "0x3", "")))
    assert "1 NUMA node, memory size unknown" in text
    assert "does not say how much memory node 0 has" in text


def test_cpus_and_nodes_that_a_file_names_only_are_said(tmp_path: Path) -> None:
    sets = '"Machine" complete_cpuset="0xf" complete_nodeset="0x7"'
    found = machine(tmp_path, package(0, "0x3", node(0, "0x3", 8)))
    path = Path(found.source)
    path.write_text(path.read_text().replace('"Machine"', sets))
    from tierscope.machine.hwloc import read_hwloc

    again = read_hwloc(path)
    assert again.offline_nodes == [1, 2]
    assert "CPUs 2-3 and NUMA nodes 1-2 were offline or not allowed" in shown(again)


def test_missing_packages_and_cores_are_said(tmp_path: Path) -> None:
    cpus = "".join(f'<object type="PU" os_index="{n}" cpuset="{1 << n:#x}"/>' for n in (0, 1))
    found = machine(tmp_path, node(0, "0x3", 8) + cpus)
    text = shown(found)
    assert found.siblings == [[0], [1]]
    assert "names no packages" in text
    assert "names no cores" in text


def test_distances_cores_and_caches_are_tables(tmp_path: Path) -> None:
    caches = "".join(
        f'<object type="L2Cache" cpuset="{1 << cpu:#x}" cache_size="1048576" depth="2"'
        ' cache_type="0"/>'
        for cpu in (0, 1)
    )
    matrix = (
        '<distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">'
        "<indexes>0 1</indexes><u64values>10 21 31 10</u64values></distances2>"
    )
    packages = package(0, "0x3", node(0, "0x3", 8) + caches) + package(1, "0xc", node(1, "0xc", 8))
    lines = shown(machine(tmp_path, packages, after=matrix)).splitlines()
    assert "   0  10  21" in [line.rstrip() for line in lines]
    assert "   1  31  10" in [line.rstrip() for line in lines]
    assert any("2 x 1 MiB" in line for line in lines)


def test_a_matrix_that_is_no_latency_is_no_distance(tmp_path: Path) -> None:
    matrix = (
        '<distances2 type="NUMANode" nbobjs="2" kind="9" name="MyBandwidth" indexing="os">'
        "<indexes>0 1</indexes><u64values>900 100 100 900</u64values></distances2>"
    )
    packages = package(0, "0x3", node(0, "0x3", 8)) + package(1, "0xc", node(1, "0xc", 8))
    found = machine(tmp_path, packages, after=matrix)
    assert [entry.distances for entry in found.nodes] == [{}, {}]


def test_every_fourth_cpu_is_said_in_a_word(tmp_path: Path) -> None:
    found = machine(tmp_path, package(0, "0x1111", node(0, "0x1111", 8)))
    assert "0-12 by 4" in shown(found)


def test_pci_functions_that_the_tree_leaves_out_are_counted(tmp_path: Path) -> None:
    functions = host_bridge(
        "0000:[00-05]",
        pci("0000:01:00.0", "0200 [8086:1521]")
        + pci("0000:02:00.0", "0200 [8086:1521]")
        + pci("0000:03:00.0", "0300 [102b:0522]")
        + pci("0000:04:00.0", "0c03 [8086:1d26]")
        + pci("0000:05:00.0", "0108 [144d:a808]", device("nvme0n1", 0)),
    )
    text = shown(machine(tmp_path, package(0, "0x3", node(0, "0x3", 8) + functions)))
    assert (
        "PCI functions not in the tree: 2 network controllers, 1 display controller, "
        "1 other function;"
    ) in text
