"""cemalloc's programs on real nodes: their pages are where the environment says."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "alloc"))
from cemalloc_programs import (
    LIBRARY,
    PagesByBlock,
    Programs,
    environment,
    pages_by_cemalloc,
    run_indicator,
)

pytestmark = pytest.mark.testbed

DRAM, HBM, CXL = 0, 2, 4
WEIGHTS = Path("/sys/kernel/mm/mempolicy/weighted_interleave")
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return Programs(tmp_path_factory.mktemp("cemalloc"))


def on_node(node: int) -> dict[str, str]:
    return {"CE_ALLOC": "CE_ALLOC_CXL", "CE_CXL_NODE": str(node)}


def check_shares(found: PagesByBlock, shares: dict[int, int]) -> None:
    """Each block has pages in these shares, but for an unfinished round, its first page, and three
    of 1,000: now and then the kernel takes a single page from another node."""
    assert found
    for what, pages in found.items():
        assert set(pages) == set(shares), (what, found)
        for node, share in shares.items():
            whole = sum(pages.values())
            expected = whole * share / sum(shares.values())
            most = 1 + max(shares.values()) + 0.003 * whole
            assert abs(pages[node] - expected) <= most, (what, found)


@pytest.mark.parametrize("node", [HBM, CXL])
def test_the_cxl_node_has_all_of_what_cxl_functions_return(programs: Programs, node: int) -> None:
    found, _ = pages_by_cemalloc([programs.explicit], environment("CE_EXPLICIT", **on_node(node)))
    assert node not in found.pop("malloc")
    check_shares(found, {node: 1})


@pytest.mark.parametrize("node", [HBM, CXL])
def test_the_cxl_node_has_all_of_a_program_that_is_not_changed(
    programs: Programs, node: int
) -> None:
    settings = environment("CE_IMPLICIT", **on_node(node), LD_PRELOAD=LIBRARY)
    found, _ = pages_by_cemalloc([programs.implicit], settings)
    assert set(found) == {"malloc", "realloc", "memalign", "new", "mmap", "thread"}
    check_shares(found, {node: 1})


def test_pythons_indicator_chooses_the_node() -> None:
    settings = environment("CE_EXPLICIT_INDICATOR", **on_node(HBM), LD_PRELOAD=LIBRARY)
    found, _ = run_indicator(settings)
    assert set(found["cxl"]) == {HBM}
    assert HBM not in found["host"] | found["later"]


@pytest.mark.parametrize(
    ("text", "shares"),
    [("0*2,2*1", {DRAM: 2, HBM: 1}), ("0*200,2*100", {DRAM: 2, HBM: 1}), ("0,2", {DRAM: 1, HBM: 1}),
     ("0*1,2*3,4", {DRAM: 1, HBM: 3, CXL: 1})],
)  # fmt: skip
def test_pages_are_in_the_shares_of_the_user(
    programs: Programs, text: str, shares: dict[int, int]
) -> None:
    settings = {"CE_ALLOC": "CE_ALLOC_USERDEFINED", "CE_INTERLEAVE_NODE": text}
    found, said = pages_by_cemalloc([programs.shares], environment("CE_IMPLICIT", **settings))
    assert (set(found), said) == ({"large", "cxl_malloc"}, "")
    check_shares(found, shares)


def test_pages_are_in_the_shares_of_the_kernels_weights(programs: Programs) -> None:
    """Without huge pages, of which the kernel counts each as one."""
    nodes = [int(file.name[4:]) for file in WEIGHTS.glob("node*")]
    shares = {node: 1 + node for node in nodes}
    changed = {WEIGHTS / f"node{node}": str(shares[node]) for node in nodes}
    changed |= {HUGE_PAGES: "never"}
    before = {path: path.read_text() for path in changed}
    before[HUGE_PAGES] = before[HUGE_PAGES].partition("[")[2].partition("]")[0]
    try:
        for path, text in changed.items():
            path.write_text(text)
        settings = environment("CE_IMPLICIT", CE_ALLOC="CE_ALLOC_BWAWARE")
        found, said = pages_by_cemalloc([programs.shares], settings)
    finally:
        for path, text in before.items():
            path.write_text(text)
    named = said.strip().partition("by the kernel's weights, ")[2].split(", ")
    with_memory = {int(one.split()[1].rstrip(":")): int(one.split()[2]) for one in named}
    assert {DRAM, HBM} <= set(with_memory) <= set(nodes)
    assert with_memory == {node: shares[node] for node in with_memory}
    check_shares(found, with_memory)
