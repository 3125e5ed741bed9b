"""Each of the other machines: it boots, is what its file says, and tierscope copes with it."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.testbed

PROJECT = Path(__file__).resolve().parents[2]
TIERSCOPE = Path(sys.executable).with_name("tierscope")
NODES = "/sys/devices/system/node"


def inside(machine: str, line: str) -> str:
    """What a shell line prints on stdout in that machine."""
    return subprocess.run(
        [PROJECT / "testbed" / "run", "-m", machine, line],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


def topology(machine: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(inside(machine, f"{TIERSCOPE} topo --json"))["topology"]
    return found


def measured(machine: str, *options: str) -> list[dict[str, Any]]:
    """Outcomes of a bandwidth command."""
    line = f"{TIERSCOPE} bandwidth --budget 0.3 --json {' '.join(options)} || true"
    outcomes: list[dict[str, Any]] = json.loads(inside(machine, line))["results"]
    return outcomes


def test_one_node_is_all_that_is_seen_and_measured() -> None:
    (outcome,) = measured("one-node")
    assert (outcome["target"], outcome["status"]) == ("node:0", "measured")


def test_without_transparent_huge_pages_they_are_skipped_with_the_remedy() -> None:
    base, huge = measured("no-thp", "--from", "node:0", "--to", "node:1", "--pages", "base,thp")
    assert base["status"] == "measured"
    assert huge["status"] == "skipped"
    assert "transparent huge pages are switched off" in huge["reason"]
    assert huge["remedy"].startswith("echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage")


def test_an_old_kernel_weighs_in_user_space_only() -> None:
    user, kernel = measured(
        "old-kernel",
        *("--from", "node:0", "--to", "node:0,2@3:1", "--policy", "weighted"),
        *("--mechanism", "user,kernel", "--pages", "base"),
    )
    assert user["status"] == "measured"
    assert kernel["status"] == "skipped"
    assert "weighted" in kernel["reason"]


def test_an_old_kernel_places_programs_by_weights_with_a_preloaded_library() -> None:
    probe = (
        "import mmap, os; from tierscope.place.pages import bytes_by_node; "
        "area = mmap.mmap(-1, 32 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS); "
        "area.write(bytes(32 << 20)); print(bytes_by_node(os.getpid(), heap_only=True))"
    )
    place = f"{TIERSCOPE} place exec"
    lines = inside(
        "old-kernel",
        f'{place} --to node:0,2@3:1 -- {sys.executable} -c "{probe}" 2>&1; '
        f"{place} --to node:0,2@3:1 -- busybox true 2>&1 || true",
    ).splitlines()
    assert "does not have weighted interleave, which came with 6.9; a preloaded" in lines[0]
    found = ast.literal_eval(lines[1])
    assert set(found) == {0, 2}
    assert found[0] / sum(found.values()) == pytest.approx(0.75, abs=0.03)
    assert "busybox' is statically linked and has no dynamic loader; use --policy inter" in lines[2]


def test_sixteen_nodes_of_which_eleven_have_memory() -> None:
    seen = topology("sixteen-nodes")
    assert seen["offline_nodes"] == [14]
    with_memory = [node["number"] for node in seen["nodes"] if node["total_bytes"]]
    with_cpus = [node["number"] for node in seen["nodes"] if node["cpus"]]
    assert [node["number"] for node in seen["nodes"]] == [*range(14), 15]
    assert with_memory == [0, 1, 2, 3, 7, 8, 9, 10, 11, 12, 13]
    assert with_cpus == [0, 1, 2, 3, 4, 5]


def test_a_memory_side_cache_is_seen_and_figures_of_it_are_marked() -> None:
    lines = inside(
        "memory-side-cache",
        f"{TIERSCOPE} topo --json; "
        f"{TIERSCOPE} bandwidth --from node:0 --to node:0,node:1 --size 32m --budget 0.3 --json",
    ).splitlines()
    seen, run = (json.loads(line) for line in lines)
    first, second = seen["topology"]["nodes"]
    assert first["memory_side_caches"] == [
        {
            "level": 1,
            "size_bytes": 64 << 20,
            "line_bytes": 64,
            "indexing": "direct-mapped",
            "write_policy": "write-back",
        }
    ]
    assert second["memory_side_caches"] == []
    marked = {result["target"]: result["fits_memory_side_cache"] for result in run["results"]}
    assert marked == {"node:0": True, "node:1": False}


def test_the_newest_kernel_takes_goals_by_node() -> None:
    said = inside(
        "newest-kernel",
        f"{TIERSCOPE} tier start --preset damo --pair 0:2 --for 1s --json; echo ===; "
        "cat /sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds",
    )
    seen, kdamonds = said.split("===\n")
    rules = json.loads(seen)["rules"]
    assert [rule["action"] for rule in rules] == ["migrate_cold", "migrate_hot"]
    assert kdamonds == "0\n"
