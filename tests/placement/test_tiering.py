"""Tiering starts, and everything that it changed is undone, wherever it was killed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from placement import supervised
from placement.fake_kernel import BLOCK, FakeKernel, snapshot
from tierscope.model.errors import UserError
from tierscope.place import saved_state, tiering
from tierscope.place.damon import presets, tree
from tierscope.place.damon.files import content
from tierscope.place.damon.rules import Monitoring, Rules, Scheme


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[FakeKernel]:
    kernel = FakeKernel(tmp_path)
    yield kernel
    tiering.stop(kernel)


def begin(kernel: FakeKernel) -> None:
    """Begin a tiering that goes on until it is stopped."""
    supervised.begin(kernel).keep()


def value(kernel: FakeKernel, path: str) -> str | None:
    return kernel.text(f"{tree.KDAMONDS}/{path}")


def test_rules_are_in_the_tree_and_the_kdamonds_on(kernel: FakeKernel) -> None:
    begin(kernel)
    assert tree.running(kernel) == [0, 1]
    assert value(kernel, "0/contexts/0/operations") == "paddr"
    first = "0/contexts/0/targets/0/regions"
    found = [value(kernel, f"{first}/{one}") for one in ("0/start", "0/end", "1/start", "1/end")]
    assert found == [str(block * BLOCK) for block in (0, 2, 4, 5)]
    cold, hot = "0/contexts/0/schemes/0", "1/contexts/0/schemes/0"
    assert (value(kernel, f"{cold}/action"), value(kernel, f"{cold}/target_nid")) == (
        "migrate_cold",
        "2",
    )
    assert value(kernel, f"{cold}/access_pattern/age/min") == "15"  # 30 s of 2 s
    assert value(kernel, f"{hot}/access_pattern/nr_accesses/min") == "1"  # 5% of 20 samples
    assert value(kernel, f"{hot}/access_pattern/nr_accesses/max") == "20"
    assert [value(kernel, f"{cold}/filters/{place}/type") for place in (0, 1)] == ["memcg", "young"]
    assert value(kernel, f"{cold}/filters/0/memcg_path") == "/tierscope-1"
    assert (value(kernel, f"{cold}/quotas/bytes"), value(kernel, f"{cold}/quotas/ms")) == (
        str(50 << 30),
        "1000",
    )
    session = tiering.load(kernel)
    assert session is not None
    assert session.before == {}  # the cgroup was not there
    assert session.scope() == "cgroup /tierscope-1"


def test_stop_undoes_everything(kernel: FakeKernel, tmp_path: Path) -> None:
    before = snapshot(tmp_path)
    begin(kernel)
    assert snapshot(tmp_path) != before
    done = tiering.stop(kernel)
    assert snapshot(tmp_path) == before
    assert done == [
        "ended 2 kdamonds",
        "/proc/sys/kernel/numa_balancing is 0 again",
        "removed cgroup /tierscope-1",
    ]
    assert tiering.stop(kernel) == []
    assert saved_state.load(tiering.NAME, tmp_path) is None


@pytest.mark.parametrize("left", [0, 3, 10, 60])
def test_a_start_that_fails_leaves_nothing(kernel: FakeKernel, tmp_path: Path, left: int) -> None:
    before = snapshot(tmp_path)
    count = 0

    def refuse(_path: str, _value: str) -> None:
        nonlocal count
        count += 1
        if count == left + 1:
            raise UserError("the kernel refuses")

    kernel.on_write = refuse
    with pytest.raises(UserError, match="the kernel refuses"):
        begin(kernel)
    assert snapshot(tmp_path) == before
    assert tiering.load(kernel) is None


def test_somebody_else_s_kdamonds_are_not_touched(kernel: FakeKernel, tmp_path: Path) -> None:
    tree.set_count(kernel, 1)
    tree.command(kernel, 0, "on")
    before = snapshot(tmp_path)
    with pytest.raises(
        UserError, match=r"somebody else uses DAMON: there is 1 kdamond .* 1 of them on"
    ):
        begin(kernel)
    assert snapshot(tmp_path) == before
    assert tiering.stop(kernel) == []


def test_kdamonds_that_replaced_ours_are_left_alone(kernel: FakeKernel, tmp_path: Path) -> None:
    begin(kernel)
    for one in (0, 1):
        tree.command(kernel, one, "off")
    tree.set_count(kernel, 2)
    tree.command(kernel, 0, "on")
    done = tiering.stop(kernel)
    assert done[0] == "2 kdamonds that somebody else made since: left as they are"
    assert tree.running(kernel) == [0]
    assert kernel.text("/proc/sys/kernel/numa_balancing") == "0"


def test_a_setting_that_somebody_changed_since_stays(kernel: FakeKernel) -> None:
    begin(kernel)
    kernel.write("/proc/sys/kernel/numa_balancing", "1")
    assert any("left as it is" in line for line in tiering.stop(kernel))
    assert kernel.text("/proc/sys/kernel/numa_balancing") == "1"


def test_one_tiering_at_a_time(kernel: FakeKernel) -> None:
    begin(kernel)
    with pytest.raises(UserError, match="'tierscope tier stop' ends it"):
        begin(kernel)
    assert tree.running(kernel) == [0, 1]


def test_one_that_somebody_else_has_ended_does_not_end_the_next(kernel: FakeKernel) -> None:
    first = supervised.begin(kernel)
    assert tiering.stop(kernel) != []
    assert first.now() is None
    begin(kernel)
    assert first.end() == []
    assert tree.running(kernel) == [0, 1]


def test_without_damon_it_says_so(kernel: FakeKernel) -> None:
    (kernel.folder / "nr_kdamonds").unlink()
    with pytest.raises(UserError, match="this kernel has no DAMON in sysfs"):
        begin(kernel)


@pytest.mark.parametrize("new", [False, True])
def test_goals_by_node_and_tuned_intervals_need_a_newer_kernel(tmp_path: Path, new: bool) -> None:
    kernel = FakeKernel(tmp_path, new)
    rules = presets.between(
        presets.PRESETS["damo"], [(0, 2)], lambda node: tree.ranges(kernel, node), None
    )

    def begin_damo() -> None:
        with tiering.starting(kernel) as started:
            started.begin("damo")
            started.run(rules, content(rules))
        started.keep()

    if not new:
        with pytest.raises(
            UserError,
            match=r"Linux 6\.12\.1 does not have DAMON's goal of intervals, which came with 6\.15",
        ):
            begin_damo()
        assert tree.count(kernel) == 0
        return
    begin_damo()
    goal = "0/contexts/0/schemes/0/quotas/goals/0"
    assert (value(kernel, f"{goal}/target_metric"), value(kernel, f"{goal}/target_value")) == (
        "node_mem_free_bp",
        "50",
    )
    assert value(kernel, f"{goal}/nid") == "0"
    kernel.write(
        f"{tree.KDAMONDS}/0/contexts/0/monitoring_attrs/intervals/sample_us", "123456"
    )  # tuned
    assert tiering.stop(kernel) == ["ended 2 kdamonds"]


def test_a_node_is_in_one_pair_only(kernel: FakeKernel) -> None:
    with pytest.raises(UserError, match="node 2 is in two pairs"):
        presets.between(presets.PRESETS["hmsdk"], [(0, 2), (1, 2)], lambda _: ((0, 1),), None)
    with pytest.raises(UserError, match="pages of node 1 would move to itself"):
        presets.between(presets.PRESETS["hmsdk"], [(1, 1)], lambda _: ((0, 1),), None)


def test_several_destinations_by_physical_addresses_are_refused(tmp_path: Path) -> None:
    kernel = FakeKernel(tmp_path, new=True)
    scheme = Scheme("migrate_cold", dests=((1, 1), (2, 3)))
    rules = Rules((presets.monitored(((0, BLOCK),), Monitoring(), (scheme,)),))

    def begin_mine() -> None:
        with tiering.starting(kernel) as started:
            started.begin("mine")
            started.run(rules, content(rules))

    with pytest.raises(UserError, match="DAMON moves nothing to several destinations"):
        begin_mine()
    assert tree.count(kernel) == 0


@pytest.mark.parametrize("new", [False, True])
def test_moving_a_process_s_pages_by_its_addresses_needs_a_newer_kernel(
    tmp_path: Path, new: bool
) -> None:
    kernel = FakeKernel(tmp_path, new)
    rules = presets.of_processes(presets.PRESETS["hmsdk"], (0, 2), (7, 8))

    def begin_mine() -> None:
        with tiering.starting(kernel) as started:
            started.begin("mine")
            started.run(rules, content(rules))
        started.keep()

    if not new:
        with pytest.raises(UserError, match=r"migration by a process's addresses, which .* 6\.17"):
            begin_mine()
        assert tree.count(kernel) == 0
        return
    begin_mine()
    context = "0/contexts/0"
    assert value(kernel, f"{context}/operations") == "vaddr"
    assert [value(kernel, f"{context}/targets/{at}/pid_target") for at in (0, 1)] == ["7", "8"]
    assert [
        (value(kernel, f"{context}/schemes/{at}/action"),
         value(kernel, f"{context}/schemes/{at}/target_nid"))
        for at in (0, 1)
    ] == [("migrate_cold", "2"), ("migrate_hot", "0")]  # fmt: skip
    assert tiering.stop(kernel) == ["ended 1 kdamond"]
