"""Parts of data structures on nodes of DRAM and CXL: every placement is where its pages are."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.testbed

TIERSCOPE = Path(__file__).parents[3] / ".venv/bin/tierscope"
SHORT = ("--keys", "4k", "--threads", "1", "--pages", "base", "--budget", "0.2", "--json")


def ops(folder: Path, *options: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [str(TIERSCOPE), "ops", *SHORT, "--from", "node:0", "--out", str(folder), *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode in (0, 3), done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["results"]
    return found


@pytest.mark.parametrize(
    ("structure", "parts"), [("btree", ("inner", "leaves")), ("hash", ("tags", "entries"))]
)
def test_every_placement_of_every_part_is_where_its_pages_are(
    tmp_path: Path, structure: str, parts: tuple[str, str]
) -> None:
    results = ops(tmp_path, "--structure", structure, "--to", "node:0,node:4")
    placed = [tuple(one["pattern"][f"on_{part}"] for part in parts) for one in results]
    assert sorted(placed) == [
        ("node:0", "node:0"), ("node:0", "node:4"), ("node:4", "node:0"), ("node:4", "node:4")
    ]  # fmt: skip
    for one, where in zip(results, placed, strict=True):
        assert one["status"] == "measured", one
        arrays = one["evidence"]["arrays"]
        on = tuple(list(arrays[part]) for part in parts)
        assert on == tuple([name.removeprefix("node:")] for name in where)
        assert "compared" in one["evidence"]["verified"]
