"""How threads are spread over packages, nodes, caches and cores."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.machine.hwloc import read_hwloc
from tierscope.model.topology import Topology
from tierscope.plans.pinning import pinned

XML = Path(__file__).parent / "topology" / "xml"
TWO_L3_A_NODE = read_hwloc(XML / "synthetic-two-l3-a-node.xml")
CLUSTER_ON_DIE = read_hwloc(XML / "xeon-cluster-on-die.xml")


def groups(topology: Topology) -> list[list[list[int]]]:
    return [
        [package.cpus for package in topology.packages],
        [node.cpus for node in topology.nodes],
        [cache.cpus for cache in topology.caches if cache.level == 3],
        topology.siblings,
    ]


def assert_even(topology: Topology, cpus: list[int]) -> None:
    """As many threads in each package, node, L3 cache and core, give or take one."""
    for level in groups(topology):
        held = [len(set(group) & set(cpus)) for group in level]
        assert not held or max(held) - min(held) <= 1, (cpus, level)


@pytest.mark.parametrize("topology", [TWO_L3_A_NODE, CLUSTER_ON_DIE], ids=["two-l3", "on-die"])
def test_any_number_of_threads_is_even_over_all_levels(topology: Topology) -> None:
    order = pinned(topology, topology.cpus, "spread")
    assert sorted(order) == topology.cpus
    for threads in range(1, len(order) + 1):
        assert_even(topology, order[:threads])


def test_the_nodes_of_a_package_get_a_thread_each() -> None:
    assert pinned(CLUSTER_ON_DIE, CLUSTER_ON_DIE.cpus, "spread")[:6] == [0, 14, 7, 21, 1, 15]


def test_the_caches_of_a_node_get_a_thread_each_and_siblings_come_last() -> None:
    node = TWO_L3_A_NODE.nodes[0].cpus
    assert node == [0, 1, 2, 3, 16, 17, 18, 19]
    assert pinned(TWO_L3_A_NODE, node, "spread") == [0, 2, 1, 3, 16, 18, 17, 19]


def test_packages_within_a_node_are_spread_over_too() -> None:
    """Where a node holds several packages (dies), nodes go first."""
    swapped = TWO_L3_A_NODE.model_copy(
        update={
            "packages": [
                package.model_copy(update={"number": number, "cpus": node.cpus})
                for number, (package, node) in enumerate(
                    zip(TWO_L3_A_NODE.packages * 2, TWO_L3_A_NODE.nodes, strict=True)
                )
            ],
            "nodes": [
                node.model_copy(update={"cpus": package.cpus})
                for node, package in zip(TWO_L3_A_NODE.nodes, TWO_L3_A_NODE.packages, strict=False)
            ],
        }
    )
    order = pinned(swapped, swapped.cpus, "spread")
    assert order == pinned(TWO_L3_A_NODE, TWO_L3_A_NODE.cpus, "spread")


@given(st.sets(st.sampled_from(TWO_L3_A_NODE.cpus), min_size=1))
def test_every_way_of_pinning_takes_each_cpu_that_is_there_once(cpus: set[int]) -> None:
    for how in ("cores", "compact", "spread"):
        assert Counter(pinned(TWO_L3_A_NODE, sorted(cpus), how)) == Counter(cpus)
    one = pinned(TWO_L3_A_NODE, sorted(cpus), "one-a-core")
    cores = [core for core in TWO_L3_A_NODE.siblings if cpus & set(core)]
    assert len(one) == len(cores)
    assert all(set(one) & set(core) for core in cores)
