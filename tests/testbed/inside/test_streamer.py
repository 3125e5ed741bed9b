"""The STREAMer study of two sockets and CXL memory, all groups to the end and drawn."""

import json
from pathlib import Path

import pytest

from forked import tierscope

pytestmark = pytest.mark.testbed

TINY = ("--size", "256k", "--budget", "0.05", "--op", "copy,triad")


def test_all_groups_run_to_the_end_and_are_drawn(tmp_path: Path) -> None:
    written = ["--report", tmp_path / "x.html", "--svg", tmp_path / "svg", "--out", tmp_path]
    answer = tierscope("streamer", *TINY, "--json", *written)
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    statuses = [(one["id"], one["status"], one["reason"]) for one in found["results"]]
    assert not [one for one in statuses if one[1] != "measured"]
    groups = {one["group"] for one in found["streamer"]["configurations"]}
    assert groups == {"1a", "1b", "1c", "2a", "2b"}
    for one in found["streamer"]["configurations"]:
        assert set(one["points"]) == {"copy", "triad"}
    topics = {one["topic"] for one in found["streamer"]["findings"]}
    assert topics >= {"remote", "far", "sockets", "pmdk", "close", "meet", "reference", "split"}
    persistent = {one["target"]: one for one in found["results"] if "pmem" in one["target"]}
    # The NVDIMM's file system is nearest to node 1, and is measured in place of its memory.
    assert persistent.keys() == {"pmem:node:0", "pmem:/mnt/pmem", "pmem:node:2", "pmem:node:4"}
    assert persistent["pmem:/mnt/pmem"]["evidence"]["persistent"]["mapping"] == "MAP_SYNC"
    for node in "024":
        evidence = persistent[f"pmem:node:{node}"]["evidence"]
        assert set(evidence["pages"]) == {node}
        assert evidence["persistent"]["emulated"]
    drawn = {path.name for path in (tmp_path / "svg").iterdir()}
    # A group of more lines than can be told apart has several pictures.
    drawn_groups = {name.removesuffix(".svg").split("-")[1] for name in drawn}
    assert groups <= drawn_groups
    assert "STREAMer study" in (tmp_path / "x.html").read_text()
