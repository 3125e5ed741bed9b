"""A program on DRAM and on a node without CPUs: its pages prove that it ran where it should.

Whole processes are kept off the emulated CXL memory: QEMU 10 crashed once with one there.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from forked import tierscope
from tierscope.cli.app import app
from tierscope.kinds.effect.measurer import Run

pytestmark = pytest.mark.testbed

DRAM, HBM = "0", "2"
MEGABYTE = 1_000_000
HOLDS_A_MEGABYTE = (
    "rm -f {0}; x=$(head -c 1000000 /dev/zero | tr '\\0' a); until [ -e {0} ]; do sleep 0.1; done"
)


ONE_ROUND = ("effect", "--json", "--rounds", "1")


@pytest.fixture
def until_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[int], Path]:
    """Names a file that is made once so many bytes of a program were seen: then it may end.

    How long a program has to last to be looked at depends on the machine's speed.
    """
    path = tmp_path / "seen"
    look = Run._look

    def after(enough: int) -> Path:
        def looked(run: Run) -> None:
            look(run)
            if sum(run._most.values()) >= enough:
                path.touch()

        monkeypatch.setattr(Run, "_look", looked)
        return path

    return after


def effect(*words: str) -> list[dict[str, Any]]:
    """The results of one round, run by this process."""
    done = CliRunner().invoke(app, [*ONE_ROUND, *words], standalone_mode=False)
    assert done.exception is None, done.exception
    results: list[dict[str, Any]] = json.loads(done.stdout)["results"]
    return results


def test_pages_are_on_the_node_of_each_placement(until_seen: Callable[[int], Path]) -> None:
    program = HOLDS_A_MEGABYTE.format(until_seen(MEGABYTE))
    placements = ["--placement", f"dram=node:{DRAM}", "--placement", f"hbm=node:{HBM}"]
    results = effect(*placements, "--", "sh", "-c", program)
    assert [result["target"] for result in results] == [f"node:{DRAM}", f"node:{HBM}"]
    for result, node in zip(results, (DRAM, HBM), strict=True):
        (run,) = result["evidence"]["program"]["runs"]
        seen = run["bytes_by_node"]
        assert sum(seen.values()) >= MEGABYTE
        assert seen[node] >= 0.95 * sum(seen.values()), seen


KEEPS = """
import contextlib, os, time
with contextlib.suppress(OSError):
    os.unlink("{0}")
kept = b"x" * (48 << 20)
while not os.path.exists("{0}"):
    time.sleep(0.1)
"""


def test_weights_that_are_not_the_kernels_hold_by_the_preloaded_library(
    until_seen: Callable[[int], Path],
) -> None:
    code = KEEPS.format(until_seen(48 << 20))
    results = effect(
        "--placement",
        "by-kernel=interleave 0,2",
        "--placement",
        "by-library=0,2@3:1",
        "--",
        sys.executable,
        "-S",
        "-c",
        code,
    )
    for result, mechanism, share in zip(results, ("kernel", "user"), (1 / 2, 3 / 4), strict=True):
        (run,) = result["evidence"]["program"]["runs"]
        assert run["mechanism"] == mechanism
        seen = run["bytes_by_node"]
        assert set(seen) == {DRAM, HBM}
        assert seen[DRAM] / sum(seen.values()) == pytest.approx(share, abs=0.1)
        notes = result["evidence"].get("notes") or []
        assert not [line for line in notes if "in at least one run" in line]


RULES = """\
intervals: {sample: 20ms, aggregate: 400ms, update: 1s}
rules:
  - {move: cold, from: 0, to: 2, accesses: 0%, age: 1s..}
"""
HALF_COLD = """
import mmap, os, time
def pages(mib):
    memory = mmap.mmap(-1, mib << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory[::4096] = bytes([1]) * (mib << 8)
    return memory
def on_slow():
    own = [line for line in open("/proc/self/numa_maps") if "file=" not in line]
    words = "".join(own).split()
    return sum(int(word[3:]) for word in words if word.startswith("N2=")) >> 8
cold, hot = pages(24), pages(24)
end = time.monotonic() + float(os.environ["LIMIT"])
while time.monotonic() < end and on_slow() < 20:
    for _ in range(50):
        hot[::4096] = bytes([2]) * (24 << 8)
        time.sleep(0.005)
print("on slow node:", on_slow(), "MiB")
"""
"""Ends once its cold pages have moved, or after LIMIT seconds.

Counts anonymous pages: those of files that others have read may be on the slow node from the start.
"""


def test_damon_moves_a_program_s_cold_pages_and_numa_balancing_does_not(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES)
    done = tierscope(
        *ONE_ROUND,
        "--metric",
        "slow:MiB=on slow node: ([0-9]+)",
        "--placement",
        f"damon=bind node:0 tier:{rules} env:LIMIT=500",
        "--placement",
        "kernel=bind node:0 tier:numa-balancing env:LIMIT=1",
        "--",
        sys.executable,
        "-S",
        "-c",
        HALF_COLD,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)["results"]
    damon, kernel = (result["evidence"]["program"]["runs"][0] for result in results)
    assert damon["values"]["slow"] >= 20 << 20
    assert damon["migrated_bytes"] >= 20 << 20
    assert kernel["values"]["slow"] < 20 << 20
    assert set(kernel["bytes_by_node"]) == {DRAM}
    assert Path("/sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds").read_text() == "0\n"
    assert not list(Path("/sys/fs/cgroup").glob("tierscope-*"))


def test_a_jvm_s_heap_is_extended_by_another_node() -> None:
    quickly = "env:JDK_JAVA_OPTIONS=-XX:TieredStopAtLevel=1"  # the emulator compiles slowly
    placements = [
        f"dram=node:{DRAM} {quickly}",
        f"extended={DRAM},{HBM}@1:1 env:_JAVA_OPTIONS=-Xmx48m {quickly}",
    ]
    words = [word for one in placements for word in ("--placement", one)]
    results = effect("--app", "jvm", "--size", "16m", *words)
    dram, extended = (result["evidence"]["program"]["runs"][0] for result in results)
    for run in (dram, extended):
        assert 0 < run["values"]["gc_time"] < run["values"]["run_time"]
    assert sum(dram["bytes_by_node"].values()) > 16 << 20
    assert set(dram["bytes_by_node"]) == {DRAM}
    shares = extended["bytes_by_node"]
    assert set(shares) == {DRAM, HBM}
    # A huge page is one step of a round, as a small one is.
    assert min(shares.values()) > 0.2 * sum(shares.values()), shares
