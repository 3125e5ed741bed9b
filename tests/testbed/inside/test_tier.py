"""Tiering by DAMON on a real kernel: pages move, and everything is undone, after SIGKILL too."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from tierscope.cli.app import app
from tierscope.model.errors import UserError

pytestmark = pytest.mark.testbed

PROGRAM = Path(__file__).with_name("hot_and_cold.py")
MIB = 1 << 20
SIZE = 48
RULES = """\
intervals: {sample: 20ms, aggregate: 400ms, update: 1s}
regions: 20..1000
rules:
  - {move: cold, from: 0, to: 2, accesses: 0%, age: 1s..}
  - {move: hot, from: 2, to: 0, accesses: 5%..}
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    return path


@pytest.fixture
def program() -> Iterator[subprocess.Popen[str]]:
    """A program whose cold pages are on node 0, and hot ones on node 2; only DAMON moves them."""
    balancing = Path("/proc/sys/kernel/numa_balancing")
    found = balancing.read_text()
    balancing.write_text("0")
    command = [sys.executable, str(PROGRAM), str(SIZE), "0", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()
    balancing.write_text(found)


def tier(*words: str, status: int = 0) -> str:
    """Run a command in this process, since Python takes its time to start under emulation."""
    done = CliRunner().invoke(app, ["tier", *words], standalone_mode=False)
    if status:
        assert isinstance(done.exception, UserError)
        return str(done.exception)
    assert done.exception is None, done.exception
    return done.stdout


def settings() -> dict[str, str]:
    """What tiering changes, as the kernel has it."""
    folders = ("/sys/kernel/mm/damon", "/sys/kernel/mm/numa", "/sys/kernel/mm/mempolicy")
    files = [path for folder in folders for path in Path(folder).rglob("*") if path.is_file()]
    files += [
        Path("/proc/sys/kernel/numa_balancing"),
        Path("/sys/fs/cgroup/cgroup.subtree_control"),
    ]
    found = {str(path): path.read_text() for path in files}
    return found | {
        "cgroups": " ".join(sorted(p.name for p in Path("/sys/fs/cgroup").iterdir() if p.is_dir()))
    }


def largest_by_node(pid: int) -> list[dict[int, int]]:
    """Bytes by node of the program's two parts, cold before hot, as the kernel says."""
    found = []
    for line in Path(f"/proc/{pid}/numa_maps").read_text().splitlines():
        words = dict(word.partition("=")[::2] for word in line.split())
        page = int(words.get("kernelpagesize_kB", 4)) << 10
        nodes = {
            int(key[1:]): int(value) * page
            for key, value in words.items()
            if key[:1] == "N" and key[1:].isdigit()
        }
        if sum(nodes.values()) >= SIZE * MIB * 0.9:
            found.append(nodes)
    return found


def on(pid: int, node: int) -> float:
    """Share of the program's pages of both parts that are on a node."""
    parts = largest_by_node(pid)
    return sum(part.get(node, 0) for part in parts) / max(
        1, sum(sum(part.values()) for part in parts)
    )


def moved(program: subprocess.Popen[str], seconds: float = 900) -> list[dict[int, int]]:
    """Wait until most cold pages are on node 2 and hot ones on node 0; return where they are."""
    limit = time.monotonic() + seconds
    while True:
        parts = largest_by_node(program.pid)
        # A new mapping lies below the one before, so the hot part comes first.
        shares = [(part.get(0, 0), part.get(2, 0)) for part in parts]
        good = (
            len(shares) == 2 and shares[0][0] > SIZE * MIB * 0.8 and shares[1][1] > SIZE * MIB * 0.8
        )
        if good or time.monotonic() > limit:
            return parts
        time.sleep(0.5)


def test_cold_pages_go_down_hot_ones_come_up_and_all_is_undone(
    rules: Path, program: subprocess.Popen[str]
) -> None:
    before = settings()
    hot, cold = largest_by_node(program.pid)
    assert (hot.get(0, 0), cold.get(2, 0)) == (0, 0)
    tier("start", "--rules", str(rules))
    assert "is on" in tier("start", "--rules", str(rules), status=2)
    hot, cold = moved(program)
    assert hot[0] > SIZE * MIB * 0.8, "hot pages came up"
    assert cold[2] > SIZE * MIB * 0.8, "cold pages went down"
    seen = json.loads(tier("status", "--json"))
    demote, promote = seen["rules"]
    assert demote["counters"]["applied_bytes"] > SIZE * MIB * 0.8
    assert promote["counters"]["applied_bytes"] > SIZE * MIB * 0.8
    assert seen["migrated_bytes"] > 2 * SIZE * MIB * 0.8
    assert sum(seen["temperature"]["2"].values()) > 400 * MIB
    assert tier("stop").splitlines() == ["ended 2 kdamonds"]
    assert settings() == before
    assert tier("restore") == "nothing to restore\n"


def test_a_rule_that_moves_nothing_says_why(tmp_path: Path) -> None:
    path = tmp_path / "slow.yaml"
    path.write_text(RULES.replace("1s..", "1h.."))
    tier("start", "--rules", str(path))
    try:
        (said, *_) = json.loads(tier("status", "--json"))["rules"][0]["reasons"]
    finally:
        tier("stop")
    assert "the rule asks for 3600 s" in said


def test_the_final_table_has_the_pages_of_a_program_that_has_ended(
    rules: Path, tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    # The child ends before its shell does, which is looked at meanwhile.
    child = (
        f"{sys.executable} {PROGRAM} {SIZE} 0 2 > {ready} & "
        f"read line < {ready}; sleep 12; kill $!; wait $!; sleep 2; exit 3"
    )
    done = CliRunner().invoke(
        app,
        ["tier", "start", "--rules", str(rules), "--json", "--", "sh", "-c", child],
        standalone_mode=False,
    )
    assert done.return_value == 3, done.output
    seen = json.loads(done.stdout)
    assert sum(seen["bytes_by_node"]["now"].values()) > 2 * SIZE * MIB * 0.8
    assert 0 < seen["pages_seconds"] < seen["seconds"]
