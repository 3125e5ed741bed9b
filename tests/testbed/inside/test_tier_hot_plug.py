"""CXL memory that goes offline and online under tiering, on a real kernel."""

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_tier import MIB, PROGRAM, settings, tier

from placement.supervised import waiting_for

pytestmark = pytest.mark.testbed

NODE = 4
SIZE = 4
RULES = """\
intervals: {sample: 20ms, aggregate: 400ms, update: 1s}
regions: 20..1000
rules:
  - {move: cold, from: 0, to: 4, accesses: 0%, age: 1h..}
  - {move: hot, from: 4, to: 0, accesses: 5%..}
"""


def blocks() -> list[Path]:
    return sorted(Path(f"/sys/devices/system/node/node{NODE}").glob("memory[0-9]*"))


def _give_up(_number: int, _frame: object) -> None:
    raise TimeoutError


def switch(state: str, *which: Path) -> None:
    """Pages that are in use may need several tries to leave a block.

    The kernel itself tries until a signal ends it; cached files of earlier tests are in its way.
    """
    signal.signal(signal.SIGALRM, _give_up)
    for block in which:

        def done(block: Path = block) -> bool:
            Path("/proc/sys/vm/drop_caches").write_text("3")
            signal.alarm(20)
            try:
                (block / "state").write_text(state)
            except OSError:
                time.sleep(0.1)
            finally:
                signal.alarm(0)
            return (block / "state").read_text().strip().startswith(state.partition("_")[0])

        waiting_for(done)


@pytest.fixture
def cxl() -> Iterator[list[Path]]:
    """The memory blocks of the CXL device, all of them online before and afterwards."""
    found = blocks()
    assert len(found) > 1
    assert {(one / "state").read_text() for one in found} == {"online\n"}
    yield found
    for block in found:
        if (block / "state").read_text() != "online\n":
            switch("online_movable", block)


def status() -> dict[str, object]:
    found: dict[str, object] = json.loads(tier("status", "--json"))
    return found


def on_node(pid: int, node: int) -> int:
    text = Path(f"/proc/{pid}/numa_maps").read_text()
    words = [word for line in text.splitlines() for word in line.split()]
    return 4096 * sum(int(w.partition("=")[2]) for w in words if w.startswith(f"N{node}="))


@contextlib.contextmanager
def tiering_over_a_node_that_goes_and_comes_back(folder: Path, cxl: list[Path]) -> Iterator[None]:
    """Tiering that saw the node's last block go, and another one come that it never had."""
    before = settings()
    rules = folder / "rules.yaml"
    rules.write_text(RULES)
    first, *rest = cxl
    switch("offline", *rest)
    tier("start", "--rules", str(rules))
    try:
        switch("offline", first)
        waiting_for(lambda: len(status()["events"]) == 1)  # type: ignore[arg-type]
        seen = status()
        (event,) = seen["events"]  # type: ignore[misc]
        assert (event["node"], event["bytes_left"]) == (NODE, 0)
        assert [one["from"] for one in seen["rules"]] == [[0], [NODE]]  # type: ignore[attr-defined]
        for rule in seen["rules"]:  # type: ignore[attr-defined]
            assert rule["reasons"][0].startswith("node 4 has no memory since ")
        assert "it has no memory any more" in tier("status")
        switch("online_movable", rest[-1])
        waiting_for(lambda: len(status()["events"]) == 2)  # type: ignore[arg-type]
        assert status()["doubts"] == []
        yield
    finally:
        tier("stop")
    assert settings() == before


def test_a_node_that_goes_and_comes_back_is_said(tmp_path: Path, cxl: list[Path]) -> None:
    with tiering_over_a_node_that_goes_and_comes_back(tmp_path, cxl):
        pass  # all is checked there


@pytest.mark.soak
def test_a_node_that_comes_back_is_monitored(tmp_path: Path, cxl: list[Path]) -> None:
    """Emulated DAMON takes minutes to find and move the pages."""
    with tiering_over_a_node_that_goes_and_comes_back(tmp_path, cxl):
        command = [sys.executable, str(PROGRAM), str(SIZE), "0", str(NODE)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
            assert program.stdout is not None
            assert program.stdout.readline() == "ready\n"
            # Its hot pages are in a block that was offline when tiering began.
            waiting_for(lambda: on_node(program.pid, NODE) < SIZE * MIB * 0.2, 600)
            program.kill()
        promote = status()["rules"][1]  # type: ignore[index]
        assert promote["counters"]["applied_bytes"] > SIZE * MIB * 0.5
