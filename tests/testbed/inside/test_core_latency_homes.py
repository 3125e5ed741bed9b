"""Core-to-core latency over two sockets: lines are where their home is."""

import json
from pathlib import Path

import pytest

from forked import tierscope

pytestmark = pytest.mark.testbed


def test_lines_of_every_state_lie_on_the_home_that_was_asked_for(tmp_path: Path) -> None:
    done = tierscope(
        *("core-latency", "--from", "node:0", "--writer", "node:1", "--to", "reader,writer,node:2"),
        *("--budget", "0.1", "--sample", "1ms", "--pages", "base", "--size", "16k"),
        *("--json", "--out", tmp_path),
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)["results"]
    places = {(result["target"], result["pattern"]["state"]) for result in results}
    assert places == {
        (f"node:{node}", state) for node in (0, 1, 2) for state in ("modified", "clean")
    }
    for result in results:
        evidence = result["evidence"]
        assert evidence["pages"] == {result["target"].removeprefix("node:"): 4}
        assert evidence["cpus"] == result["cpus"]
        rounds = evidence["handovers"]["rounds"]
        assert evidence["verified"].startswith(f"{64 * rounds} lines of {rounds} rounds, each as ")
