"""Checkpoints on what only the virtual machine has: fsdax, NVMe, a CXL node."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from storage import drives, run

from forked import tierscope

pytestmark = pytest.mark.testbed

NVME = drives()[0]
CXL = 4
PMEM = Path("/mnt/pmem")


@pytest.fixture(scope="module")
def nvme() -> Iterator[Path]:
    """A directory on the NVMe drive."""
    directory = Path("/mnt/checkpoint")
    directory.mkdir(exist_ok=True)
    run("mkfs.ext4", "-q", "-F", NVME, "64m")
    run("mount", NVME, directory)
    yield directory
    run("umount", directory)
    run("wipefs", "-a", NVME)


def test_each_kind_of_target_keeps_a_state_through_kills(nvme: Path, tmp_path: Path) -> None:
    before = sorted(PMEM.iterdir())
    done = tierscope(
        "checkpoint", f"node:{CXL}", f"pmem:{PMEM}", f"pmem:node:{CXL}", f"file:{PMEM}", nvme,
        "--backing", "file,pool", "--size", "256k", "--threads", "2", "--kills", "2",
        "--budget", "1s", "--json", "--out", tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)["results"]
    assert [(r["target"], r["pattern"].get("backing"), r["status"]) for r in results] == [
        (f"node:{CXL}", None, "measured"),
        (f"pmem:{PMEM}", "file", "measured"),
        (f"pmem:{PMEM}", "pool", "measured"),
        (f"pmem:node:{CXL}", "file", "measured"),
        (f"pmem:node:{CXL}", "pool", "measured"),
        (f"file:{PMEM}", None, "measured"),
        (f"file:{nvme}", None, "measured"),
    ], [r.get("reason") for r in results]
    seen = [r["evidence"]["checkpoint"] for r in results]
    assert all(one["kills"]["kills"] == 2 for one in seen)
    assert [one["medium"] for one in seen] == [
        "memory", "mapped", "pool", "mapped", "pool", "file", "file"
    ]  # fmt: skip
    pages = 2 * (256 << 10) // 4096 + 2
    assert seen[0]["pages"] == seen[3]["pages"] == {str(CXL): pages}
    assert results[1]["evidence"]["persistent"]["mapping"] == "MAP_SYNC"
    assert seen[1]["durable_by"].endswith("and a fence")
    assert sorted(PMEM.iterdir()) == before, "nothing is left"
    assert [path.name for path in nvme.iterdir()] == ["lost+found"]


def test_all_places_are_found(nvme: Path) -> None:
    done = tierscope("checkpoint", "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    targets = {spec["target"] for spec in json.loads(done.stdout)["plan"]["measurements"]}
    assert {f"node:{CXL}", f"pmem:{PMEM}", f"file:{PMEM}", f"file:{nvme}"} <= targets
    assert "node:0" not in targets, "the state's own node"
