"""Caches in front of nodes' memory: Optane's Memory Mode, HBM used as a cache."""

from pathlib import Path

import pytest
from hwloc_files import info, machine, node, package
from test_topo_cli import topo
from topology_machines import Sysfs

from tierscope.machine.discover import discover
from tierscope.machine.hwloc import read_hwloc
from tierscope.machine.memory import memory_limit
from tierscope.machine.paths import find_path
from tierscope.model.endpoint import parse_endpoint
from tierscope.model.topology import Dimm, MemorySideCache, NodeKind, Topology
from tierscope.report.drawing import draw
from tierscope.report.topology_outline import outline

GIB = 1 << 30


def cached(inner: str, cpuset: str = "0x3", gib: int = 96, ways: int = 1, depth: int = 1) -> str:
    return (
        f'<object type="MemCache" cpuset="{cpuset}" cache_size="{gib * GIB}" depth="{depth}"'
        f' cache_linesize="64" cache_associativity="{ways}" cache_type="0">{inner}</object>'
    )


def test_memcache_of_an_hwloc_file_is_in_front_of_its_node(tmp_path: Path) -> None:
    nodes = cached(node(0, "0x3", 370)) + node(1, "0x3", 128)
    found = machine(tmp_path, package(0, "0x3", nodes))
    assert [entry.memory_side_caches for entry in found.nodes] == [
        [MemorySideCache(level=1, size_bytes=96 * GIB, line_bytes=64, indexing="direct-mapped")],
        [],
    ]
    assert found.nodes[0].total_bytes == 370 * GIB
    assert found.nodes[0].kind is NodeKind.UNKNOWN
    assert "memory-side cache" in found.nodes[0].inferred_from


def test_two_caches_stand_nearest_to_the_cpus_first(tmp_path: Path) -> None:
    nodes = cached(cached(node(0, "0x3", 370), gib=64, ways=8), gib=16, depth=2)
    found = machine(tmp_path, package(0, "0x3", nodes))
    levels = [(c.level, c.size_bytes >> 30) for c in found.nodes[0].memory_side_caches]
    assert levels == [(2, 16), (1, 64)]


def test_mcdram_as_a_cache_is_no_third_level(tmp_path: Path) -> None:
    l3 = (
        '<object type="L3Cache" subtype="MemorySideCache" cpuset="0x3" cache_size="8589934592"'
        ' depth="3" cache_linesize="64" cache_associativity="1" cache_type="0"/>'
    )
    nodes = node(0, "0x3", 96) + node(1, "0x3", 8, subtype="MCDRAM") + l3
    found = machine(tmp_path, package(0, "0x3", nodes, "Intel(R) Xeon Phi(TM) CPU 7210"))
    assert found.caches == []
    assert [len(entry.memory_side_caches) for entry in found.nodes] == [1, 0]
    assert [entry.kind for entry in found.nodes] == [NodeKind.DRAM, NodeKind.HBM]


@pytest.fixture
def memory_mode(memory_mode_files: Path) -> Topology:
    """The machine of those files."""
    return discover(memory_mode_files)


@pytest.fixture
def memory_mode_files(tmp_path: Path) -> Path:
    """Two packages with Optane behind DRAM, as Linux shows it."""
    tree = Sysfs(tmp_path)
    tree.cpus([[0, 1], [2, 3]], "Intel(R) Xeon(R) Gold 6230")
    for number, cpus in ((0, [0, 1]), (1, [2, 3])):
        tree.node(number, cpus, 370_000, "10 21" if number == 0 else "21 10")
        node = f"/sys/devices/system/node/node{number}"
        everyone = "00000003" if number == 0 else "0000000c"
        tree.write(f"{node}/cpumap", everyone)  # hwloc reads masks
        for cpu in cpus:
            places = f"/sys/devices/system/cpu/cpu{cpu}/topology"
            tree.write(f"{places}/core_cpus", f"{1 << cpu:08x}")
            tree.write(f"{places}/package_cpus", everyone)
        index = f"{node}/memory_side_cache/index1"
        for name, value in (
            ("size", 96 * GIB),
            ("line_size", 64),
            ("indexing", 0),
            ("write_policy", 0),
        ):
            tree.write(f"{index}/{name}", value)
    tree.write("/sys/devices/system/node/online", "0-1")
    return tmp_path


def test_the_kernels_memory_side_cache_is_read(memory_mode: Topology) -> None:
    (cache,) = memory_mode.nodes[1].memory_side_caches
    assert cache == MemorySideCache(
        level=1,
        size_bytes=96 * GIB,
        line_bytes=64,
        indexing="direct-mapped",
        write_policy="write-back",
    )


def test_the_saved_topology_keeps_the_cache(
    memory_mode_files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HWLOC_FSROOT", str(memory_mode_files))
    file = tmp_path / "saved.xml"
    assert topo("--save", str(file)).returncode == 0
    found = read_hwloc(file)
    sizes = [cache.size_bytes for node in found.nodes for cache in node.memory_side_caches]
    assert sizes == [96 * GIB, 96 * GIB]


def test_limit_behind_a_cache_of_unknown_make_is_unknown(memory_mode: Topology) -> None:
    limit, why = memory_limit(memory_mode, memory_mode.nodes[0], [])
    assert limit is None
    assert "memory-side cache" in why


def with_modules(topology: Topology) -> Topology:
    dimms = [
        Dimm(slot=f"CPU{cpu + 1}_DIMM_{channel}{place}", type=kind, size_bytes=16 * GIB,
             speed=2.4e9, bits=64, package=cpu)
        for cpu in (0, 1)
        for channel in "ABCDEF"
        for place, kind in ((1, "DDR4"), (2, "NVDIMM"))
    ]  # fmt: skip
    return topology.model_copy(update={"dimms": dimms})


def test_limit_is_the_dram_caches_and_what_misses_stands_beside_it(memory_mode: Topology) -> None:
    found = with_modules(memory_mode)
    path = find_path(found, parse_endpoint("node:0"), parse_endpoint("node:0"))
    assert path.limit is not None
    assert path.limit.value == 6 * 2.4e9 * 8
    assert path.limit.link == "DDR4-2400 x 6 channels of node 0, its memory-side cache"
    cache, behind = path.hops
    assert (cache.parallel, behind.parallel) == (False, True)
    assert behind.note.startswith("for what misses the cache")


def test_hbm_as_a_cache_has_the_hbms_limit(tmp_path: Path) -> None:
    model = "Intel(R) Xeon(R) CPU Max 9480"
    found = machine(tmp_path, package(0, "0x3", cached(node(0, "0x3", 512), gib=64), model))
    limit, _ = memory_limit(found, found.nodes[0], [])
    assert limit is not None
    assert limit.value == 3.2e9 * 4096 / 8
    assert found.nodes[0].kind is NodeKind.DRAM


def test_tree_and_picture_show_the_cache(memory_mode: Topology) -> None:
    node_item = outline(memory_mode)[0].children[0]
    (cache,) = node_item.children
    assert (cache.name, cache.detail) == (
        "memory-side cache",
        "96 GiB, direct-mapped, write-back",
    )
    assert draw(memory_mode).count("behind a cache of 96 GiB") == 2


def test_persistent_modules_make_the_memory_behind_persistent(tmp_path: Path) -> None:
    from tierscope.machine.nodes import infer_kinds

    found = machine(tmp_path, package(0, "0x3", info("CPUModel", "x") + cached(node(0, "0x3", 9))))
    dimm = Dimm(slot="A2", type="NVDIMM", size_bytes=GIB, speed=None)
    (node_found,) = infer_kinds(found.nodes, cpu_model="x", packages=1, told={}, dimms=[dimm])
    assert node_found.kind is NodeKind.PMEM
