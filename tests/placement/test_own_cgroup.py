"""The cgroup of a tiered program goes, whatever the program and others made of it meanwhile."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from placement import supervised
from placement.fake_kernel import NOT_REAL, FakeKernel, processes, refused, snapshot
from tierscope.model.errors import UserError
from tierscope.place import tiering

TOP = "/sys/fs/cgroup"
SHELL, SERVER, WORKER = (NOT_REAL + number for number in range(3))


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[FakeKernel]:
    """A command that tiers from a login session; its program has a cgroup of its own."""
    kernel = FakeKernel(tmp_path)
    for folder in ("/user", "/user/one", "/user/one/session"):
        kernel.make_folder(f"{TOP}{folder}")
    (tmp_path / "proc/self/cgroup").write_text("0::/user/one/session\n")
    yield kernel
    kernel.on_write = lambda _path, _value: None
    tiering.stop(kernel)


def begin(kernel: FakeKernel) -> None:
    supervised.begin(kernel).keep()
    enter(kernel, "/tierscope-1", SHELL)


def enter(kernel: FakeKernel, cgroup: str, pid: int) -> None:
    kernel.write(f"{TOP}{cgroup}/cgroup.procs", str(pid))


def inside(kernel: FakeKernel, cgroup: str) -> set[int]:
    return {int(pid) for pid in processes(Path(f"{kernel.root}{TOP}{cgroup}"))}


def nest(kernel: FakeKernel) -> None:
    """As a container runtime does: cgroups below, which controllers are handed on to."""
    for folder, pid in (("/a", SERVER), ("/a/b", WORKER), ("/c", None)):
        kernel.make_folder(f"{TOP}/tierscope-1{folder}")
        if pid:
            enter(kernel, f"/tierscope-1{folder}", pid)
    enter(kernel, "/tierscope-1/c", SHELL)
    for folder in ("", "/a"):
        kernel.write(f"{TOP}/tierscope-1{folder}/cgroup.subtree_control", "+memory")


def test_cgroups_that_the_program_made_go_too(kernel: FakeKernel, tmp_path: Path) -> None:
    before = snapshot(tmp_path)
    begin(kernel)
    nest(kernel)
    assert tiering.stop(kernel) == [
        "ended 2 kdamonds",
        "/proc/sys/kernel/numa_balancing is 0 again",
        "removed cgroup /tierscope-1",
    ]
    assert inside(kernel, "/user/one/session") == {SHELL, SERVER, WORKER}
    left = snapshot(tmp_path)
    procs = "sys/fs/cgroup/user/one/session/cgroup.procs"
    assert {**left, procs: ""} == before


@pytest.mark.parametrize(
    ("gone", "hands_on", "home"),
    [
        (1, (), "/user/one"),
        (1, ("/user/one",), "/user"),
        (1, ("/user/one", "/user"), "/"),
        (3, (), "/"),
    ],
)
def test_where_the_session_is_gone_processes_move_to_what_is_above(
    kernel: FakeKernel, gone: int, hands_on: tuple[str, ...], home: str
) -> None:
    begin(kernel)
    for folder in ("/user/one/session", "/user/one", "/user")[:gone]:
        kernel.remove_folder(TOP + folder)
    for folder in hands_on:
        kernel.write(f"{TOP}{folder}/cgroup.subtree_control", "+cpu")
    assert "removed cgroup /tierscope-1" in tiering.stop(kernel)
    assert SHELL in inside(kernel, home)


def test_a_session_of_another_namespace_leads_to_the_top(
    kernel: FakeKernel, tmp_path: Path
) -> None:
    (tmp_path / "proc/self/cgroup").write_text("0::/../../other\n")
    begin(kernel)
    tiering.stop(kernel)
    assert SHELL in inside(kernel, "/")


def test_processes_of_another_namespace_are_not_taken_for_this_one(
    kernel: FakeKernel, tmp_path: Path
) -> None:
    begin(kernel)
    with (tmp_path / TOP[1:] / "tierscope-1/cgroup.procs").open("a") as procs:
        procs.write("0\n")
    moved: list[str] = []
    kernel.on_write = lambda path, value: moved.extend([value] * path.endswith("cgroup.procs"))
    tiering.stop(kernel)
    assert moved == [str(SHELL)]


def test_what_stays_is_said_with_what_to_type_until_it_is_done(
    kernel: FakeKernel, tmp_path: Path
) -> None:
    begin(kernel)

    def refuse(path: str, value: str) -> None:
        if path.endswith("cgroup.procs") and value == str(SHELL):
            Path(f"{kernel.root}{TOP}/tierscope-1/cgroup.procs").write_text(f"{SHELL}\n")
            raise refused(path, value, 1)

    kernel.on_write = refuse
    with pytest.raises(tiering.NotUndoneError) as caught:
        tiering.stop(kernel)
    said = str(caught.value)
    assert "cgroup /tierscope-1 stays, since process 100000000 cannot leave it" in said
    assert said.endswith("kill 100000000; afterwards: tierscope tier restore")
    assert caught.value.done == ["ended 2 kdamonds", "/proc/sys/kernel/numa_balancing is 0 again"]
    assert kernel.text("/proc/sys/kernel/numa_balancing") == "0"
    with pytest.raises(UserError) as again:
        begin(kernel)
    assert str(again.value) == said
    kernel.on_write = lambda _path, _value: None
    assert tiering.stop(kernel) == ["removed cgroup /tierscope-1"]
    assert tiering.load(kernel) is None
    assert "memory" not in (kernel.text(f"{TOP}/cgroup.subtree_control") or "")


@pytest.mark.parametrize("how", ["hands it on", "has a memory.max"])
def test_a_controller_that_others_need_by_now_stays(kernel: FakeKernel, how: str) -> None:
    begin(kernel)
    if how == "hands it on":
        kernel.write(f"{TOP}/user/cgroup.subtree_control", "+memory")
    else:
        kernel.write(f"{TOP}/user/memory.max", "1000")
    said = tiering.stop(kernel)[-1]
    assert said.startswith(f"{TOP}/cgroup.subtree_control keeps the memory controller, since")
    assert how in said
    assert tiering.load(kernel) is None
    assert "memory" in (kernel.text(f"{TOP}/cgroup.subtree_control") or "")


@pytest.mark.parametrize(
    ("path", "types"),
    [
        ("/proc/sys/kernel/numa_balancing", "echo 0 > /proc/sys/kernel/numa_balancing"),
        ("/sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds", "do echo off > $one; done; echo 0 > "),
        (f"{TOP}/cgroup.subtree_control", f"echo -memory > {TOP}/cgroup.subtree_control"),
    ],
)
def test_a_step_that_fails_leaves_the_others_and_says_what_to_type(
    kernel: FakeKernel, path: str, types: str
) -> None:
    begin(kernel)
    wrote: list[str] = []

    def refuse(where: str, value: str) -> None:
        wrote.append(where)
        if where == path:
            raise refused(where, value, 5)

    kernel.on_write = refuse
    with pytest.raises(tiering.NotUndoneError) as caught:
        tiering.stop(kernel)
    assert types in str(caught.value)
    others = {"/proc/sys/kernel/numa_balancing", f"{TOP}/cgroup.subtree_control"}
    assert others <= {*wrote}
    assert not kernel.exists(f"{TOP}/tierscope-1")
    kernel.on_write = lambda _path, _value: None
    tiering.stop(kernel)
    assert tiering.load(kernel) is None
