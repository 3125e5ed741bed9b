"""Placements of applications: their nodes, and how tiers, weights and room are asked for there."""

from pathlib import Path

import pytest
from tests.spread_machine import LINK, expander, machine_of, study
from tests.test_place_weights import saved
from tests.topology.hwloc_files import machine as hwloc_machine
from tests.topology.hwloc_files import node, package
from tests.topology.topology_machines import Sysfs

from tierscope.kinds.effect.spec import parse_placements
from tierscope.machine.discover import discover
from tierscope.machine.hwloc import read_hwloc
from tierscope.model.topology import Topology
from tierscope.place import tiering
from tierscope.place.damon.tree import KDAMONDS
from tierscope.place.features import WEIGHTS
from tierscope.place.kernel import Kernel
from tierscope.runs.store import runs_directory
from tierscope.suites.app_placements import LOCAL, NAMES, OWN_RULES, ROOM, Pair, placements
from tierscope.suites.app_placements import tier_pair as pair_of

XML = Path(__file__).parent / "topology/xml"


class TwoSocketsAndCxl:
    """Two sockets of DRAM, and node 2 without CPUs, by the files of its kernel."""

    def __init__(self, root: Path) -> None:
        self.files = Sysfs(root)
        self.files.cpus([[0, 1], [2, 3]])
        self.files.node(0, [0, 1], 1000, "10 21 20")
        self.files.node(1, [2, 3], 1000, "21 10 20")
        self.files.node(2, [], 4000, "20 20 10")
        self.kernel = Kernel(root)

    @property
    def topology(self) -> Topology:
        return discover(root=self.files.root)

    def tiers(self, *groups: str) -> None:
        for number, nodes in enumerate(groups, start=4):
            path = f"/sys/devices/virtual/memory_tiering/memory_tier{number}/nodelist"
            self.files.write(path, nodes)

    def balancing(self) -> None:
        self.files.write(tiering.MODE, "0")
        self.files.write(tiering.DEMOTION, "false")

    def words(self, name: str) -> str:
        return placements(self.topology, [name], self.kernel)[name][0]

    def why_not(self, name: str) -> str:
        words, why = placements(self.topology, [name], self.kernel)[name]
        assert not words
        return why

    def nodes(self) -> tuple[int, int]:
        found = pair_of(self.topology, self.kernel)
        assert isinstance(found, Pair)
        return found.numbers


@pytest.fixture
def here(tmp_path: Path) -> TwoSocketsAndCxl:
    return TwoSocketsAndCxl(tmp_path / "root")


def test_one_node_has_local_and_says_what_the_others_need(tmp_path: Path) -> None:
    topology = hwloc_machine(tmp_path, package(0, "0x3", node(0, "0x3", 4)))
    found = placements(topology, NAMES, Kernel(tmp_path))
    assert found.pop(LOCAL) == ("as-found", "")
    assert list(found) == [name for name in NAMES if name != LOCAL]
    assert {words for words, _ in found.values()} == {""}
    (why,) = {why for _, why in found.values()}
    assert why.startswith("this machine has one node with memory, node 0; comparing tiers takes")


def test_programs_run_on_the_fast_node_s_cpus_under_each_placement(here: TwoSocketsAndCxl) -> None:
    here.tiers("0-1", "2")
    here.balancing()
    here.files.claim(0, 0, 80, 100_000)
    here.files.claim(2, 0, 250, 30_000)
    found = placements(here.topology, NAMES, here.kernel)
    assert {name: why for name, (_, why) in found.items() if why} == {}
    assert {name: words for name, (words, _) in found.items()} == {
        LOCAL: "bind node:0 cpus:0-1",
        "slow": "bind node:2 cpus:0-1",
        "interleave": "interleave node:0,2 cpus:0-1",
        "weights": "weighted node:0,2@10:3 cpus:0-1",
        "tier": "bind node:0,2 balancing room:node:0:50% tier:numa-balancing cpus:0-1",
        OWN_RULES: "alloc:own pair:0:2 cpus:0-1",
        ROOM: "bind node:0,2 room:node:0:50% cpus:0-1",
    }
    for name in (LOCAL, "slow", "interleave", "weights"):
        settings = parse_placements(f"{name}={found[name][0]}")[name]
        assert settings.cpus == [0, 1]
        assert settings.nodes


def test_cpus_that_may_not_be_used_are_left_out(here: TwoSocketsAndCxl) -> None:
    topology = here.topology.model_copy(update={"cpus": [1, 2]})
    assert placements(topology, [LOCAL], here.kernel)[LOCAL] == ("bind node:0 cpus:1", "")
    topology = here.topology.model_copy(update={"cpus": [3]})
    assert placements(topology, [LOCAL], here.kernel)[LOCAL] == ("bind node:1 cpus:3", "")


def test_the_kernel_s_tiers_tell_the_slow_node_before_distances_do(here: TwoSocketsAndCxl) -> None:
    # SLIT has the other socket farther away than CXL memory, whose kind nothing tells.
    assert here.nodes() == (0, 1)
    here.tiers("0-1", "2")
    assert here.nodes() == (0, 2)


def test_firmware_s_latency_tells_the_slow_node(here: TwoSocketsAndCxl) -> None:
    here.files.claim(1, 0, 140, 50_000)
    assert here.nodes() == (0, 1)  # of node 2 it claims nothing
    here.files.claim(2, 0, 250, 60_000)
    assert here.nodes() == (0, 2)


def test_firmware_s_bandwidth_tells_the_slow_node_where_latencies_are_alike(
    here: TwoSocketsAndCxl,
) -> None:
    here.files.claim(1, 0, 140, 50_000)
    here.files.claim(2, 0, 140, 30_000)
    assert here.nodes() == (0, 2)


def test_nodes_of_other_machines_files(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path)
    found = pair_of(read_hwloc(XML / "nvidia-dgx2.xml"), kernel)
    assert isinstance(found, Pair)
    assert found.numbers == (0, 1)
    found = pair_of(machine_of(3), kernel)
    assert isinstance(found, Pair)
    assert found.numbers == (0, 2)


def test_a_gpu_s_memory_is_the_slow_node_only_alone(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path)
    nodes = node(0, "0x3", 4) + node(1, "0x0", 16, subtype="GPUMemory")
    found = pair_of(hwloc_machine(tmp_path, package(0, "0x3", nodes)), kernel)
    assert isinstance(found, Pair)
    assert found.numbers == (0, 1)
    nodes = node(0, "0x3", 4) + node(1, "0x0", 8) + node(2, "0x0", 16, subtype="GPUMemory")
    found = pair_of(hwloc_machine(tmp_path, package(0, "0x3", nodes)), kernel)
    assert isinstance(found, Pair)
    assert found.numbers == (0, 1)


def test_nodes_outside_of_the_cpuset_do_not_count(here: TwoSocketsAndCxl) -> None:
    here.tiers("0-1", "2")
    here.files.write("/proc/self/status", "Mems_allowed_list:\t0-1")
    assert here.nodes() == (0, 1)
    here.files.write("/proc/self/status", "Mems_allowed_list:\t2")
    assert here.why_not("slow") == (
        "two nodes with memory are needed, and this process may use that of nodes 2"
    )
    assert here.words(LOCAL) == "as-found"


def test_memory_that_no_cpu_is_on(here: TwoSocketsAndCxl) -> None:
    topology = here.topology.model_copy(update={"cpus": []})
    assert placements(topology, ["slow"], here.kernel)["slow"] == (
        "",
        "no node has both memory and CPUs that this process may use",
    )


def test_the_kernel_s_weights_come_first(here: TwoSocketsAndCxl) -> None:
    here.tiers("0-1", "2")
    here.files.claim(0, 0, 80, 100_000)
    here.files.claim(2, 0, 250, 25_000)
    for number, weight in ((0, 1), (1, 7), (2, 1)):
        here.files.write(f"{WEIGHTS}/node{number}", weight)
    assert here.words("weights") == "weighted node:0,2@4:1 cpus:0-1"
    here.files.write(f"{WEIGHTS}/node0", 5)
    assert here.words("weights") == "weighted node:0,2 cpus:0-1"


def test_nodes_that_are_as_fast_need_no_weights(here: TwoSocketsAndCxl) -> None:
    here.files.claim(0, 0, 80, 50_000)
    here.files.claim(1, 0, 140, 50_000)
    assert here.why_not("weights").startswith("nodes 0 and 1 have the same bandwidth")


def test_a_measured_run_gives_weights_where_nothing_else_does() -> None:
    topology = machine_of(2)
    run, _ = study(expander(LINK), {"mix": "67:33"})
    kernel = Kernel("/nowhere")
    words, why = placements(topology, ["weights"], kernel)["weights"]
    assert not words
    assert why.startswith("nothing says which bandwidths nodes 0 and 1 have")
    runs_directory().mkdir(parents=True)
    other = run.header.model_copy(update={"host": "elsewhere"})
    saved(run.model_copy(update={"header": other}), runs_directory(), "newer")
    assert not placements(topology, ["weights"], kernel)["weights"][0]
    own = run.header.model_copy(update={"host": topology.host})
    saved(run.model_copy(update={"header": own}), runs_directory())
    words, _ = placements(topology, ["weights"], kernel)["weights"]
    weights = words.split()[1].partition("@")[2].split(":")
    # DRAM has 280 GB/s; the link, whose directions do not share it, 28 GB/s of reads.
    assert int(weights[0]) / int(weights[1]) == pytest.approx(280 / (28 / 0.67), rel=0.1)


def test_damon_moves_pages_where_numa_balancing_has_no_tiers(here: TwoSocketsAndCxl) -> None:
    here.balancing()
    here.files.claim(1, 0, 140, 50_000)
    here.files.claim(2, 0, 250, 30_000)
    assert here.why_not("tier").startswith(
        "the kernel has node 2 in no lower memory tier than node 0; and this kernel has no DAMON"
    )
    here.files.write(f"{KDAMONDS}/nr_kdamonds", 0)
    here.files.write("/proc/sys/kernel/osrelease", "6.10.0")
    assert "Linux 6.10.0 does not have DAMOS's actions migrate_hot" in here.why_not("tier")
    here.files.write("/proc/sys/kernel/osrelease", "6.12.0")
    words = "bind node:0,2 room:node:0:50% tier:hmsdk pair:0:2 cpus:0-1"
    assert here.words("tier") == words
    here.tiers("0-2")
    assert here.words("tier") == words
    here.files.write(f"{KDAMONDS}/nr_kdamonds", 1)
    assert "somebody else uses DAMON" in here.why_not("tier")


def test_a_kernel_without_numa_balancing_says_so(here: TwoSocketsAndCxl) -> None:
    here.tiers("0-1", "2")
    assert here.why_not("tier").startswith(f"this kernel has no {tiering.DEMOTION}; and ")


def test_tiering_needs_root(here: TwoSocketsAndCxl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    here.kernel.live = True
    assert here.why_not("tier").startswith("moving pages between nodes needs root")
