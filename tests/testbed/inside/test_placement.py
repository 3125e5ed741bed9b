"""Every placement on every kind of node: where the pages are is what was asked for."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from measured import BASE_PAGE, REGION, THREADS, Measured, Pages, measure

from tierscope.model.cause import Cause
from tierscope.model.event import Repetition, Skipped
from tierscope.model.spec import NodeShare, Placement

pytestmark = pytest.mark.testbed

PAGES = REGION // BASE_PAGE
DRAM, REMOTE_DRAM, HBM, OFFLINE, CXL = 0, 1, 2, 3, 4
WITH_MEMORY = (DRAM, REMOTE_DRAM, HBM, CXL)
FIVE_THREE_ONE_ONE = {DRAM: 5, REMOTE_DRAM: 3, HBM: 1, CXL: 1}
NINE_ONE = {HBM: 9, CXL: 1}
WEIGHTS = Path("/sys/kernel/mm/mempolicy/weighted_interleave")
HUGE = 2 << 20


def placement(policy: str, weights: dict[int, int], mechanism: str = "user") -> Placement:
    return Placement.model_validate(
        {
            "policy": policy,
            "mechanism": mechanism,
            "nodes": [{"node": node, "weight": weight} for node, weight in weights.items()],
        }
    )


def in_rounds(weights: dict[int, int]) -> Pages:
    """Pages of the whole rounds that fit."""
    rounds = PAGES // sum(weights.values())
    return {node: rounds * weight for node, weight in weights.items()}


def assert_traffic_has_the_weights(measured: Measured, weights: dict[int, int]) -> None:
    """Of what the threads moved, each node's part is its weight's, but for rounds they were in."""
    assert isinstance(measured.outcome, Repetition), measured.outcome
    traffic = measured.outcome.evidence.traffic
    assert traffic is not None
    whole, asked = sum(traffic.values()), sum(weights.values())
    expected = {node: whole * weight / asked for node, weight in weights.items()}
    found = {int(node): moved for node, moved in traffic.items()}
    assert found == pytest.approx(expected, rel=0, abs=THREADS * asked * BASE_PAGE)


@pytest.fixture
def kernel_weights() -> Iterator[None]:
    """The kernel's weights are the machine's, not a process's: set here, put back after."""
    before = {node: (WEIGHTS / f"node{node}").read_text() for node in FIVE_THREE_ONE_ONE}
    for node, weight in FIVE_THREE_ONE_ONE.items():
        (WEIGHTS / f"node{node}").write_text(str(weight))
    yield
    for node, text in before.items():
        (WEIGHTS / f"node{node}").write_text(text)


@pytest.mark.parametrize("mechanism", ["user", "kernel"])
@pytest.mark.parametrize("policy", ["bind", "preferred"])
@pytest.mark.parametrize("node", WITH_MEMORY)
def test_one_node_holds_every_page(node: int, policy: str, mechanism: str) -> None:
    measured = measure(placement(policy, {node: 1}, mechanism))
    assert measured.evidence == measured.numa_maps == {node: PAGES}


@pytest.mark.parametrize("mechanism", ["user", "kernel"])
@pytest.mark.parametrize("nodes", [(DRAM, REMOTE_DRAM), (DRAM, HBM), (HBM, CXL), WITH_MEMORY])
def test_interleaving_takes_a_page_a_node(nodes: tuple[int, ...], mechanism: str) -> None:
    weights = dict.fromkeys(nodes, 1)
    measured = measure(placement("interleave", weights, mechanism))
    assert measured.evidence == measured.numa_maps == in_rounds(weights)
    assert_traffic_has_the_weights(measured, weights)


@pytest.mark.parametrize("weights", [FIVE_THREE_ONE_ONE, NINE_ONE], ids=["5:3:1:1", "9:1"])
def test_weights_by_user_space(weights: dict[int, int]) -> None:
    measured = measure(placement("weighted", weights))
    assert measured.evidence == measured.numa_maps == in_rounds(weights)
    assert_traffic_has_the_weights(measured, weights)


def test_too_few_pages_a_thread_for_the_weights_are_refused() -> None:
    weights = {DRAM: 20, HBM: 1}
    asked = placement("weighted", weights)
    measured = measure(asked, size=41 * BASE_PAGE)  # Two threads; each needs 21 pages.
    assert isinstance(measured.outcome, Skipped)
    assert measured.outcome.cause is Cause.WEIGHTS
    assert measured.outcome.reason == (
        "82 KiB for each thread hold 20 of the 21 pages of 4 KiB in a round of 20:1"
    )
    assert measured.outcome.remedy == "ask for a size of 168k or more, or for one thread at most"
    enough = measure(asked, size=42 * BASE_PAGE)
    assert enough.evidence == enough.numa_maps == {DRAM: 40, HBM: 2}
    assert_traffic_has_the_weights(enough, weights)


@pytest.mark.usefixtures("kernel_weights")
def test_weights_by_the_kernel() -> None:
    measured = measure(placement("weighted", FIVE_THREE_ONE_ONE, "kernel"))
    assert measured.evidence == measured.numa_maps == in_rounds(FIVE_THREE_ONE_ONE)
    assert_traffic_has_the_weights(measured, FIVE_THREE_ONE_ONE)


def test_kernel_weights_other_than_asked_are_named_with_the_remedy() -> None:
    measured = measure(placement("weighted", FIVE_THREE_ONE_ONE, "kernel"))
    assert isinstance(measured.outcome, Skipped)
    assert "node 0 has 1, asked 5" in measured.outcome.reason
    assert "weighted_interleave/node0" in measured.outcome.remedy


@pytest.mark.parametrize("weights", [FIVE_THREE_ONE_ONE, NINE_ONE], ids=["5:3:1:1", "9:1"])
def test_a_partition_is_one_range_a_node(weights: dict[int, int]) -> None:
    measured = measure(placement("partition", weights))
    exact = {node: PAGES * weight / sum(weights.values()) for node, weight in weights.items()}
    assert measured.evidence == measured.numa_maps
    assert sum(measured.evidence.values()) == PAGES
    assert all(abs(measured.evidence[node] - share) < 1 for node, share in exact.items())


@pytest.mark.parametrize("node", WITH_MEMORY)
def test_transparent_huge_pages_on_one_node(node: int) -> None:
    measured = measure(placement("bind", {node: 1}), size=2 * HUGE, pages="thp")
    assert measured.evidence == measured.numa_maps == {node: 2 * HUGE // BASE_PAGE}
    assert measured.outcome.evidence.huge_bytes == 2 * HUGE


@pytest.fixture
def hugetlb_pool() -> Iterator[None]:
    pool = Path(f"/sys/devices/system/node/node{HBM}/hugepages/hugepages-2048kB/nr_hugepages")
    pool.write_text("2")
    yield
    pool.write_text("0")


@pytest.mark.usefixtures("hugetlb_pool")
def test_hugetlb_pages_on_a_node_without_cpus() -> None:
    measured = measure(placement("bind", {HBM: 1}), size=2 * HUGE, pages="2m")
    assert measured.evidence == measured.numa_maps == {HBM: 2 * HUGE // BASE_PAGE}


def test_an_empty_hugetlb_pool_is_named_with_the_remedy() -> None:
    measured = measure(placement("bind", {HBM: 1}), size=2 * HUGE, pages="2m")
    assert isinstance(measured.outcome, Skipped)
    assert "node 2 has 0 free hugetlb pages" in measured.outcome.reason
    assert "node2/hugepages/hugepages-2048kB/nr_hugepages" in measured.outcome.remedy


def allocations(node: int) -> int:
    """Base pages that the node has ever given out."""
    counters = Path(f"/sys/devices/system/node/node{node}/numastat").read_text().split()
    values = dict(zip(counters[::2], map(int, counters[1::2]), strict=True))
    return values["local_node"] + values["other_node"]


@pytest.mark.parametrize("node", [HBM, CXL])
def test_more_than_a_node_has_is_refused_before_anything_is_touched(node: int) -> None:
    before = allocations(node)
    measured = measure(placement("bind", {node: 1}), size=1 << 30)
    assert isinstance(measured.outcome, Skipped)
    assert measured.outcome.cause is Cause.MEMORY
    assert f"node {node} has " in measured.outcome.reason
    assert "1 GiB needed" in measured.outcome.reason
    assert allocations(node) - before < 1000


@pytest.fixture
def filled_hbm(tmp_path: Path) -> Iterator[int]:
    """A file in memory takes all but a little of node 2; gives the bytes that it left."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mpol=bind:2", "fill", tmp_path], check=True)
    free = meminfo(HBM, "MemFree")
    left = 64 << 20
    with (tmp_path / "file").open("wb") as file:
        file.write(bytes(free - left))
    yield left
    subprocess.run(["umount", tmp_path], check=True)


def meminfo(node: int, name: str) -> int:
    text = Path(f"/sys/devices/system/node/node{node}/meminfo").read_text()
    return next(int(line.split()[3]) << 10 for line in text.splitlines() if f" {name}:" in line)


def test_a_full_node_is_refused_with_the_numbers(filled_hbm: int) -> None:
    measured = measure(placement("bind", {HBM: 1}), size=2 * filled_hbm)
    assert isinstance(measured.outcome, Skipped)
    assert measured.outcome.cause is Cause.MEMORY
    assert "node 2 has " in measured.outcome.reason
    assert "128 MiB needed" in measured.outcome.reason


def test_a_full_node_among_others_is_the_one_that_is_named(filled_hbm: int) -> None:
    asked = placement("interleave", {DRAM: 1, HBM: 1})
    measured = measure(asked, size=4 * filled_hbm)
    assert isinstance(measured.outcome, Skipped)
    assert measured.outcome.cause is Cause.MEMORY
    assert "node 2 has " in measured.outcome.reason


@pytest.mark.parametrize("policy", ["bind", "interleave", "weighted", "partition"])
def test_an_offline_node_is_named_as_that(policy: str) -> None:
    measured = measure(placement(policy, {OFFLINE: 1}))
    assert isinstance(measured.outcome, Skipped)
    assert measured.outcome.reason == "node 3 is offline"
    assert measured.outcome.remedy == "choose among the nodes with memory: 0,1,2,4"


def test_a_node_that_is_not_there_is_named_as_that() -> None:
    measured = measure(Placement(policy="bind", nodes=[NodeShare(node=17)]))
    assert isinstance(measured.outcome, Skipped)
    assert measured.outcome.reason == "node 17 does not exist"
