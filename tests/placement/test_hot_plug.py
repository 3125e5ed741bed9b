"""Memory that goes online or offline under tiering: it is said, and new memory is monitored."""

import errno
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from placement.fake_kernel import BLOCK, FakeKernel, refused
from placement.supervised import Command, adopting, begin, hmsdk, waiting_for
from tierscope.cli import tier as commands
from tierscope.cli.app import app
from tierscope.place import tiering
from tierscope.place.damon import follow, tree
from tierscope.place.damon.follow import Follower, MemoryEvent, Monitored

NODES = "sys/devices/system/node"


@pytest.fixture
def kernel(tmp_path: Path) -> FakeKernel:
    return FakeKernel(tmp_path)


@pytest.fixture
def tiered(kernel: FakeKernel) -> Iterator[FakeKernel]:
    """Tiering is on, and its supervisor does not follow: the test does."""
    started = begin(kernel)
    yield kernel
    kernel.on_write = lambda _path, _value: None
    started.end()


def switch(kernel: FakeKernel, node: int, state: str, *blocks: int) -> None:
    """Have memory blocks of a node go online or offline, or come as new ones."""
    for block in blocks:
        file = Path(f"{kernel.root}/{NODES}/node{node}/memory{block}/state")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{state}\n")
    folder = Path(f"{kernel.root}/{NODES}")
    there = [n for n in (0, 2, 4) if tree.online_blocks(kernel, n)]
    (folder / "has_memory").write_text(",".join(map(str, there)) + "\n")


def follower(kernel: FakeKernel) -> Follower:
    session = tiering.load(kernel)
    assert session is not None
    return Follower(kernel, session.monitored, follow.online(kernel))


def test_new_memory_is_monitored_and_committed(tiered: FakeKernel) -> None:
    one = follower(tiered)
    assert one.look(1.0) == []
    commands_given: list[tuple[str, str]] = []
    tiered.on_write = lambda path, value: commands_given.append((path, value))
    one.follow()
    assert commands_given == []
    switch(tiered, 2, "online", 10, 20)
    (event,) = one.look(2.0)
    assert event == MemoryEvent(2.0, 2, (10, 20), (), 4, BLOCK)
    one.follow()
    assert one.problem == ""
    regions = ((8 * BLOCK, 11 * BLOCK), (20 * BLOCK, 21 * BLOCK))
    assert tree.monitored(tiered, 1) == regions
    assert commands_given[-1] == (f"{tree.KDAMONDS}/1/state", "commit")
    assert not [path for path, _ in commands_given if "/kdamonds/0/" in path]
    commands_given.clear()
    assert one.look(3.0) == []
    one.follow()
    assert commands_given == []
    assert tiering.stop(tiered)[0] == "ended 2 kdamonds", "they are still known as its own"


def test_memory_that_came_while_tiering_was_set_up_is_monitored(tiered: FakeKernel) -> None:
    switch(tiered, 0, "online", 5)
    one = follower(tiered)
    one.follow()
    assert tree.monitored(tiered, 0)[-1] == (4 * BLOCK, 6 * BLOCK)


def test_a_node_without_memory_keeps_its_ranges_until_it_has_some_again(
    tiered: FakeKernel,
) -> None:
    one = follower(tiered)
    before = tree.monitored(tiered, 1)
    switch(tiered, 2, "offline", 8, 9)
    assert one.look(2.0) == [MemoryEvent(2.0, 2, (), (8, 9), 0, BLOCK)]
    one.follow()
    assert (tree.monitored(tiered, 1), one.problem) == (before, "")
    switch(tiered, 2, "online", 9)
    one.look(3.0)
    one.follow()
    assert tree.monitored(tiered, 1) == ((9 * BLOCK, 10 * BLOCK),)


def test_a_refused_commit_is_said_and_tried_again(tiered: FakeKernel) -> None:
    one = follower(tiered)
    switch(tiered, 2, "online", 10)
    one.look(2.0)

    def refuse(path: str, value: str) -> None:
        if value == "commit":
            raise refused(path, value, errno.EINVAL)

    tiered.on_write = refuse
    one.follow()
    assert one.problem.startswith("node 2 is not monitored as it is: the kernel refuses 'commit'")
    tiered.on_write = lambda _path, _value: None
    one.follow()
    assert (one.problem, one.late) == ("", set())


def test_what_rules_of_a_user_s_own_monitor_is_left_as_it_is(kernel: FakeKernel) -> None:
    rules = hmsdk(kernel)
    assert follow.monitored(kernel, rules) == (Monitored((0,), True), Monitored((2,), True))
    switch(kernel, 2, "online", 10)
    assert follow.monitored(kernel, rules)[1] == Monitored((2,), False), "a part of the node"


def test_a_supervisor_follows_and_status_says_it(
    kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiering, "_LOOK_EACH_S", 0.01)
    monkeypatch.setattr(commands, "kernel_here", lambda: kernel)

    def events() -> int:
        session = tiering.load(kernel)
        return len(session.events) if session else 0

    def status(*words: str) -> str:
        done = CliRunner().invoke(app, ["tier", "status", *words])
        assert done.exception is None
        return done.output

    with adopting():
        (supervisor,) = Command(lambda _: begin(kernel).keep()).wait()
        switch(kernel, 2, "offline", 8, 9)
        waiting_for(lambda: events() == 1)
        seen = json.loads(status("--json"))
        (event,) = seen["events"]
        assert event["node"] == 2
        assert (event["offline_blocks"], event["online_blocks"]) == ([8, 9], [])
        assert (event["bytes_left"], event["block_bytes"]) == (0, BLOCK)
        assert [one["from"] for one in seen["rules"]] == [[0], [2]]
        for rule in seen["rules"]:
            (reason,) = rule["reasons"]
            assert reason.startswith("node 2 has no memory since ")
        text = status()
        assert "'promote hot' from node 2 moves nothing: node 2 has no memory since " in text
        assert "node 2: 256 MiB went offline (memory blocks 8-9); it has no memory any" in text
        assert "anywhere" not in text
        switch(kernel, 2, "online", 8, 9, 30)
        waiting_for(lambda: events() == 2)
        text = status()
        assert "node 2: 384 MiB went online (memory blocks 8-9,30); it has 384 MiB" in text
        assert "has no memory since" not in text
        assert tree.monitored(kernel, 1)[-1] == (30 * BLOCK, 31 * BLOCK)
        assert json.loads(status("--json"))["doubts"] == []
        tiering.stop(kernel)
        os.waitpid(supervisor, 0)


def test_of_a_block_that_two_nodes_have_each_gets_what_its_zones_span(kernel: FakeKernel) -> None:
    shutil.copytree(f"{kernel.root}/{NODES}/node2/memory8", f"{kernel.root}/{NODES}/node0/memory8")
    assert tree.ranges(kernel, 2) == ((8 * BLOCK, 10 * BLOCK),), "where the kernel has no zones"
    size = tree.PAGE_BYTES
    middle = (8 * BLOCK + BLOCK // 4) // size
    zones = [
        (0, "DMA32", 1, 5 * BLOCK // size - 1),
        (0, "Normal", 5 * BLOCK // size, middle - 5 * BLOCK // size),
        (2, "Normal", middle, 10 * BLOCK // size - middle),
    ]
    text = "".join(
        f"Node {node}, zone {name:>8}\n  pages free     7\n        low      3\n"
        f"        spanned  {count}\n  start_pfn:           {first}\n"
        for node, name, first, count in zones
    )
    Path(f"{kernel.root}/proc/zoneinfo").write_text(text)
    assert tree.ranges(kernel, 0)[-1] == (8 * BLOCK, middle * size)
    assert tree.ranges(kernel, 2) == ((middle * size, 10 * BLOCK),)
    assert tree.nodes_of(kernel, hmsdk(kernel).kdamonds[0].contexts[0]) == (0,)


@pytest.mark.parametrize("size", [4096, 65536])
def test_zones_are_counted_in_the_kernel_s_pages(
    kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(tree, "PAGE_BYTES", size)
    Path(f"{kernel.root}/proc/zoneinfo").write_text(
        "Node 0, zone Normal\n  pages free     500\n        min      1\n        low      20\n"
        "  pagesets\n    cpu: 0\n              high:  378\n"
        "Node 2, zone Normal\n  pages free     9\n        low      9\n"
        "Node 0, zone Movable\n  pages free     50\n        low      2\n"
    )
    assert tree.free_and_low(kernel, 0) == (550 * size, 22 * size)
