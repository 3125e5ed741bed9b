"""Pairs of CPUs by what they share, and what their latencies say of that."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cores import NS, as_topology_says, machine_of

from tierscope.analysis.core_groups import (
    UNKNOWN,
    Group,
    Relations,
    compared,
    groups_of,
    in_order,
    nearer_share,
    split_of,
)

TWO = machine_of(sockets=2, cores=8, in_l3=4, threads=2)


def group(*values: float) -> Group:
    pairs = list(itertools.islice(itertools.permutations(range(100), 2), len(values)))
    return Group("same L3", pairs, sorted(values))


@pytest.mark.parametrize(
    ("pair", "shares"),
    [
        ((0, 16), "same core"),
        ((0, 3), "same L3"),
        ((0, 19), "same L3"),
        ((0, 4), "same node"),
        ((0, 8), "other package"),
        ((8, 31), "same node"),
        ((0, 99), "other package"),
    ],
)
def test_a_relation_is_the_nearest_thing_that_is_shared(pair: tuple[int, int], shares: str) -> None:
    assert Relations(TWO).of_pair(pair) == shares


def test_an_l2_of_several_cores_is_a_relation() -> None:
    clustered = TWO.model_copy(
        update={"caches": [*TWO.caches, TWO.caches[0].model_copy(update={"cpus": [0, 1]})]}
    )
    assert Relations(clustered).of_pair((0, 1)) == "same L2"
    assert Relations(None).of_pair((0, 1)) == UNKNOWN


def test_cpus_that_share_something_stand_side_by_side() -> None:
    alternating = machine_of(sockets=2, cores=2, in_l3=2)
    swapped = {0: 0, 1: 2, 2: 1, 3: 3}  # Even CPUs on the first socket.
    packages = [
        package.model_copy(update={"cpus": [swapped[cpu] for cpu in package.cpus]})
        for package in alternating.packages
    ]
    nodes = [
        one.model_copy(update={"cpus": [swapped[cpu] for cpu in one.cpus]})
        for one in alternating.nodes
    ]
    machine = alternating.model_copy(update={"packages": packages, "nodes": nodes, "caches": []})
    assert in_order(machine, [3, 2, 1, 0]) == [0, 2, 1, 3]
    assert in_order(TWO, range(6)) == [0, 1, 2, 3, 4, 5]
    assert in_order(TWO, [17, 16, 1, 0]) == [0, 16, 1, 17]
    assert in_order(None, [2, 1]) == [1, 2]


def test_groups_have_all_pairs_nearest_relation_first() -> None:
    latency = as_topology_says(TWO)
    pairs = {pair: latency(*pair) for pair in itertools.permutations(TWO.cpus, 2)}
    groups = groups_of(TWO, pairs)
    assert [one.relation for one in groups] == [
        "same core", "same L3", "same node", "other package",
    ]  # fmt: skip
    assert sum(len(one.pairs) for one in groups) == len(pairs) == 32 * 31
    assert [one.median for one in groups] == [NS[one.relation] for one in groups]
    assert [one.verdict for one in compared(groups)] == ["agrees"] * 3


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=8),
    st.lists(st.integers(1, 9), min_size=1, max_size=8),
)
def test_the_nearer_share_is_that_of_all_comparisons(near: list[int], far: list[int]) -> None:
    wins = sum(1.0 if a < b else 0.5 if a == b else 0.0 for a in near for b in far)
    share = nearer_share(group(*near), group(*far))
    assert share == pytest.approx(wins / (len(near) * len(far)))


def test_verdicts() -> None:
    (clear,) = compared([group(40, 41, 42), group(90, 91)])
    (overlap,) = compared([group(40, 60, 80), group(50, 70, 90)])
    (wrong,) = compared([group(90, 91), group(40, 41)])
    assert [one.verdict for one in (clear, overlap, wrong)] == ["agrees", "overlaps", "differs"]


def test_percentiles_are_of_the_pairs() -> None:
    one = group(*range(1, 101))
    assert (one.percentile(0.05), one.percentile(0.95), one.percentile(0)) == (5, 95, 1)


def test_sets_that_the_topology_does_not_know_are_found() -> None:
    one_l3 = machine_of(sockets=1, cores=8, in_l3=8)
    hidden = {
        (a, b): 40.0 + a / 10 if a // 4 == b // 4 else 110.0 + b / 10
        for a, b in itertools.permutations(range(8), 2)
    }
    (found,) = groups_of(one_l3, hidden)
    split = split_of(found)
    assert split
    assert split.sets == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert split.within == pytest.approx(40.35, abs=0.2)
    assert split.between == pytest.approx(110.35, abs=0.2)


@pytest.mark.parametrize(
    "latency",
    [
        lambda a, b: 40.0 + (a * 7 + b) % 5,  # One set that scatters.
        lambda a, b: 40.0 if a != 7 and b != 7 else 110.0,  # One core that is slow.
        lambda a, b: 40.0 if (a + b) % 2 else 90.0,  # No sets: the near pairs connect all.
        lambda a, b: 40.0 if a // 4 == b // 4 else 45.0,  # Sets that are hardly apart.
    ],
    ids=["scatter", "slow core", "connected", "near"],
)
def test_what_is_no_set_is_not_told(latency: object) -> None:
    assert callable(latency)
    pairs = {(a, b): float(latency(a, b)) for a, b in itertools.permutations(range(8), 2)}
    (found,) = groups_of(machine_of(sockets=1, cores=8, in_l3=8), pairs)
    assert split_of(found) is None
