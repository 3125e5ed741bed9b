"""tierscope as a user runs it, on a machine with every kind of memory."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from forked import tierscope

pytestmark = pytest.mark.testbed


def test_every_node_is_shown_with_its_kind() -> None:
    done = tierscope("topo", "--json")
    topology: dict[str, Any] = json.loads(done.stdout)["topology"]
    kinds = {node["number"]: node["kind"] for node in topology["nodes"]}
    assert kinds == {0: "DRAM", 1: "DRAM", 2: "HBM", 4: "CXL"}
    assert topology["offline_nodes"] == [3]
    assert topology["emulated"] is True


def test_every_path_is_measured_and_the_run_says_that_it_is_emulated(tmp_path: Path) -> None:
    done = tierscope(
        *("bandwidth", "--from", "node:0,node:1", "--to", "node:0,node:1,node:2,node:4"),
        *("--budget", "0.3", "--json", "--out", str(tmp_path)),
    )
    assert done.returncode == 0, done.stderr
    (file,) = tmp_path.glob("*.jsonl")
    header, *rest = [json.loads(line) for line in file.read_text().splitlines()]
    assert header["emulated"] is True
    measured = {
        (line["initiator"], line["target"]) for line in rest if line.get("status") == "measured"
    }
    assert measured == set(product(("node:0", "node:1"), ("node:0", "node:1", "node:2", "node:4")))


def test_an_offline_node_is_a_wrong_request() -> None:
    done = tierscope("bandwidth", "--to", "node:3")
    assert (done.returncode, done.stdout) == (2, "")
    assert "node 3 is offline; this machine's nodes are 0-2,4" in done.stderr
