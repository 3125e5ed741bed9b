"""``whatif --memory``: limits of nodes with other modules beside the present ones."""

import json
from pathlib import Path

import pytest
from tests.topology.topology_machines import CXL_CLASS, Sysfs

from forked import tierscope
from tierscope.analysis.whatif_memory import memory_limits
from tierscope.machine.discover import discover
from tierscope.machine.stated import parse_stated
from tierscope.model.errors import UserError
from tierscope.model.topology import MemorySideCache, NodeKind, Topology


@pytest.fixture
def topology(tmp_path: Path) -> Topology:
    """Two sockets; node 2 is CXL memory on PCIe 5.0 x8, of which firmware claims 10 GB/s."""
    sysfs = Sysfs(tmp_path / "root")
    sysfs.cpus([[0, 1], [2, 3]])
    sysfs.node(0, [0, 1], 1000, "10 21 24")
    sysfs.node(1, [2, 3], 1000, "21 10 14")
    place = "0000:0c/0000:0c:00.0/0000:0d:00.0"
    sysfs.pci(place, CXL_CLASS, 0x8086, node=1, now=(32.0, 8), best=(32.0, 8))
    sysfs.node(2, [], 512, "24 14 10")
    sysfs.claim(2, 1, 200, 10_000)
    found = discover(sysfs.root)
    behind = {"kind": NodeKind.CXL, "backed_by": ["0000:0d:00.0"]}
    nodes = [*found.nodes[:2], found.nodes[2].model_copy(update=behind)]
    return found.model_copy(update={"nodes": nodes})


def test_each_node_of_dram_has_the_present_limit_and_the_stated_ones(topology: Topology) -> None:
    now = topology.model_copy(update={"stated_memory": parse_stated("node:0=1xDDR5-4800")})
    found = memory_limits(now, ["1xDDR5-5600", "4xDDR5-4800"])
    assert [(one.node, one.memory, one.limit and one.limit.value, one.ratio) for one in found] == [
        (0, "now", 38.4e9, None),
        (0, "1xDDR5-5600", 44.8e9, pytest.approx(5600 / 4800)),
        (0, "4xDDR5-4800", 153.6e9, 4.0),
        (1, "now", None, None),
        (1, "1xDDR5-5600", 44.8e9, None),
        (1, "4xDDR5-4800", 153.6e9, None),
    ]


def test_the_link_in_front_of_cxl_memory_bounds_what_modules_give(topology: Topology) -> None:
    texts = ["node:2=1xDDR4-1333", "node:2=1xDDR5-5600"]
    now, slow, fast = memory_limits(topology, texts)
    assert (now.node, now.limit and now.limit.value) == (2, 10e9)
    assert slow.limit is not None
    assert slow.limit.link == "stated DDR4-1333 x 1 channel of node 2"
    assert slow.limit.value == pytest.approx(10.664e9)
    assert fast.limit is not None
    assert fast.limit.link.startswith("CXL on PCIe 5.0 x8")
    assert fast.limit.value < 44.8e9
    assert not fast.limit.stated


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["none"], "'none' states no memory"),
        (["node:9=1xDDR5-5600"], "there is no node 9"),
        (["4xDDR5"], "is not CHANNELSxTYPE-SPEED"),
    ],
)
def test_a_wrong_statement_is_refused(topology: Topology, texts: list[str], says: str) -> None:
    with pytest.raises(UserError, match=says):
        memory_limits(topology, texts)


def test_memory_whose_limit_would_stay_is_refused(topology: Topology) -> None:
    cache = MemorySideCache(level=1, size_bytes=1 << 30)
    for changes, says in (
        ({"memory_side_caches": [cache]}, "behind a memory-side cache"),
        ({"kind": NodeKind.HBM}, "the memory of node 0 is HBM, which has no modules"),
        ({"kind": NodeKind.GPU}, "which has no modules"),
    ):
        nodes = [topology.nodes[0].model_copy(update=changes), *topology.nodes[1:]]
        changed = topology.model_copy(update={"nodes": nodes})
        with pytest.raises(UserError, match=says):
            memory_limits(changed, ["node:0=4xDDR5-5600"])


def test_modules_of_no_node_are_those_of_dram(topology: Topology) -> None:
    others = [node.model_copy(update={"kind": NodeKind.CXL}) for node in topology.nodes]
    unknown = topology.model_copy(update={"nodes": others})
    with pytest.raises(UserError, match="no node is known to be DRAM; name one, as in node:0=4xD"):
        memory_limits(unknown, ["4xDDR5-5600"])
    assert {one.node for one in memory_limits(topology, ["4xDDR5-5600"])} == {0, 1}


def test_memory_that_no_cpu_is_near_to_has_no_limit(topology: Topology) -> None:
    """Nor a ratio: nobody is known to read it."""
    alone = [node.model_copy(update={"cpus": [], "distances": {}}) for node in topology.nodes]
    found = memory_limits(topology.model_copy(update={"nodes": alone}), ["node:0=1xDDR5-4800"])
    assert [(one.memory, one.limit, one.ratio) for one in found] == [
        ("now", None, None), ("node:0=1xDDR5-4800", None, None),
    ]  # fmt: skip


def test_the_command_shows_limits_and_keeps_nothing() -> None:
    done = tierscope("whatif", "--memory", "node:0=4xDDR5-5600")
    assert done.returncode == 0, done.stderr
    assert "179.2 GB/s" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
    found = json.loads(tierscope("whatif", "--memory", "node:0=4xDDR5-5600", "--json").stdout)
    assert [one["memory"] for one in found["limits"]] == ["now", "node:0=4xDDR5-5600"]
    assert json.loads(tierscope("topo", "--json").stdout)["topology"]["stated_memory"] == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "say what memory: a tier, as in --tier 250ns,30GB/s, or modules"),
        (["--memory", "4xDDR5-5600", "--tier", "+150ns"], "--tier has no effect here"),
        (["--memory", "4xDDR5-5600", "last"], "leave out 'last'"),
    ],
)
def test_the_command_refuses_in_one_line(words: list[str], says: str) -> None:
    done = tierscope("whatif", *words)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert says in line
