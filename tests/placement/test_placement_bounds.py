"""What goes with what, and shares of blocks: placement's rules one by one."""

import errno
from pathlib import Path

import pytest
from fixture_machine import make_machine

from placement.fake_kernel import FakeKernel
from tierscope.machine.files import Files
from tierscope.model.errors import UserError
from tierscope.place import pages
from tierscope.place.damon.status import Region
from tierscope.place.heat import Stretch, Sums
from tierscope.place.nodes import Selection
from tierscope.place.policy import Policy, _explained, make_policy
from tierscope.place.tier_rules import Asked, label_and_rules


@pytest.fixture
def kernel(tmp_path: Path) -> FakeKernel:
    return FakeKernel(tmp_path / "root")


@pytest.mark.parametrize(
    ("asked", "memcg", "says"),
    [
        (Asked(rules=Path("r.yaml"), preset="hmsdk"), None, "leave --preset and --pair out"),
        (Asked(rules=Path("r.yaml"), pairs=("0:2",)), None, "leave --preset and --pair out"),
        (Asked(rules=Path("r.yaml"), pid=1), None, "--pid goes with --preset and --pair"),
        (Asked(preset="numa-balancing", pairs=("0:2",)), None, "for the whole machine"),
        (Asked(preset="numa-balancing", pid=1), None, "for the whole machine"),
        (Asked(preset="numa-balancing"), "/cgroup", "for the whole machine"),
        (Asked(), None, "name a fast and a slow node, as in --pair 0:2; nodes with memory: 0,2"),
        (Asked(pairs=("0",)), None, "--pair '0' is not FAST:SLOW"),
        (Asked(pairs=("0:2", "2:0"), pid=1), None, "--pid goes with one --pair"),
        (Asked(pairs=("0:2",), pid=1), "/cgroup", "without --cgroup"),
        (Asked(pairs=("0:2",), pid=999_999), None, "there is no process 999999"),
        (Asked(pairs=("0:7",)), None, "7"),
        (Asked(pairs=("all:2",)), None, "'all' is not a count"),
        (Asked(pairs=("0:all",)), None, "'all' is not a count"),
    ],
)
def test_options_of_tiering_that_do_not_go_together(
    kernel: FakeKernel, asked: Asked, memcg: str | None, says: str
) -> None:
    with pytest.raises(UserError) as refused:
        label_and_rules(kernel, asked, memcg)
    assert says in str(refused.value)


def test_what_rules_are_called_and_whom_they_are_for(kernel: FakeKernel) -> None:
    assert label_and_rules(kernel, Asked(preset="numa-balancing"), None) == ("numa-balancing", None)
    name, rules = label_and_rules(kernel, Asked(pairs=("0:2",)), None)
    assert name == "hmsdk"
    assert rules is not None
    nodes = [scheme.destinations() for *_, scheme in rules.schemes()]
    assert sorted(node for one in nodes for node in one) == [0, 2]


@pytest.mark.parametrize(
    ("weights", "nodes"),
    [((), [0, 2, 0, 2, 0, 2, 0]), ((1, 1), [0, 2, 0, 2, 0, 2, 0]), ((2, 1), [0, 0, 2, 0, 0, 2, 0]),
     ((1, 3), [0, 2, 2, 2, 0, 2, 2])],
)  # fmt: skip
def test_blocks_go_to_nodes_in_the_ratio_of_their_weights(
    weights: tuple[int, ...], nodes: list[int]
) -> None:
    target = Selection((0, 2), weights)
    found = [pages._target_of(number * pages.BLOCK, target) for number in range(7)]
    assert found == nodes
    last = [pages._target_of((number + 1) * pages.BLOCK - 1, target) for number in range(7)]
    assert last == nodes, "a block is whole"


@pytest.mark.parametrize("to", ["3", "node:3", "0,3"])
def test_a_node_that_is_offline_is_refused_where_a_policy_is_made(tmp_path: Path, to: str) -> None:
    with pytest.raises(UserError, match="3"):
        make_policy("bind", to, files=Files(make_machine(tmp_path)))


def test_a_policy_without_nodes_is_local_and_weights_make_it_weighted(tmp_path: Path) -> None:
    files = Files(make_machine(tmp_path))
    assert make_policy(None, None, files=files) == Policy("local")
    assert make_policy(None, "0,2", files=files) == Policy("bind", (0, 2))
    assert make_policy(None, "0,2@1:1", files=files).mode == "weighted"
    balanced = make_policy("bind", "0", balancing=True, files=files)
    assert balanced == Policy("bind", (0,), (), True)


def test_an_error_that_has_no_explanation_says_its_own() -> None:
    assert "seccomp" in _explained(OSError(errno.EPERM, ""))
    assert _explained(OSError(errno.ENOSPC, "")) == "No space left on device"
    assert _explained(OSError()) == "Success"


def test_the_working_set_is_what_was_accessed_at_all() -> None:
    """Of a hundred bytes, sixty have accesses in the first look, none in the second."""
    sums = Sums()
    stretches = [Stretch(0, 100, 100, "f")]
    for accesses in (5, 0):
        sums.add_memory({1: stretches})
        sums.add_regions(stretches, [Region(0, 0, 60, accesses, 0), Region(0, 60, 100, 0, 0)])
    (site,) = sums.found().sites
    assert (site.touched, site.bytes) == (60, 100)
    assert sums.found().looks == 2
