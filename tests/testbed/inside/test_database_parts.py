"""Parts of data structures on nodes of DRAM and CXL: every placement is where its pages are."""

import json
from pathlib import Path
from typing import Any

import pytest

from forked import tierscope
from tierscope.kinds.ops.spec import STRUCTURES

pytestmark = pytest.mark.testbed

SHORT = ("--keys", "4k", "--threads", "1", "--pages", "base", "--budget", "0.2", "--json")


def ops(folder: Path, *options: str) -> list[dict[str, Any]]:
    done = tierscope("ops", *SHORT, "--from", "node:0", "--out", folder, *options)
    assert done.returncode in (0, 3), done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["results"]
    return found


def check(one: dict[str, Any], places: dict[str, str]) -> None:
    """Each part is on its node, and what was found there was compared."""
    assert one["status"] == "measured", one
    nodes = {part: list(pages) for part, pages in one["evidence"]["arrays"].items()}
    assert nodes == {part: [place.removeprefix("node:")] for part, place in places.items()}
    assert one["evidence"]["verified"]


@pytest.mark.parametrize("structure", ["btree", "hash"])
def test_every_placement_of_every_part_is_where_its_pages_are(
    tmp_path: Path, structure: str
) -> None:
    parts = STRUCTURES[structure].parts
    results = ops(tmp_path, "--structure", structure, "--to", "node:0,node:4")
    placed = [tuple(one["pattern"][f"on_{part}"] for part in parts) for one in results]
    assert sorted(placed) == [
        ("node:0", "node:0"), ("node:0", "node:4"), ("node:4", "node:0"), ("node:4", "node:4")
    ]  # fmt: skip
    for one, where in zip(results, placed, strict=True):
        check(one, dict(zip(parts, where, strict=True)))


@pytest.mark.parametrize("structure", ["column", "relations", "runs", "lsm"])
def test_parts_of_other_structures_are_apart(tmp_path: Path, structure: str) -> None:
    """The first part on DRAM, the second on CXL, and so on."""
    places = {part: f"node:{4 * (n % 2)}" for n, part in enumerate(STRUCTURES[structure].parts)}
    place = ",".join(f"{part}={node}" for part, node in places.items())
    (one,) = ops(tmp_path, "--structure", structure, "--place", place)
    check(one, places)
