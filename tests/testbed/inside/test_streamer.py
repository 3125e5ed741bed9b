"""The STREAMer study of two sockets and CXL memory, all groups to the end.

tests/streamer draws such studies: what draws compiles as it runs, for minutes when emulated.
"""

import json
from pathlib import Path

import pytest

from forked import tierscope

pytestmark = pytest.mark.testbed

TINY = ("--size", "256k", "--budget", "0.05", "--op", "triad", "--threads", "2,4")
"""A full socket and both: all that is found needs no more."""


def test_all_groups_run_to_the_end(tmp_path: Path) -> None:
    answer = tierscope("streamer", *TINY, "--json", "--out", tmp_path)
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    statuses = [(one["id"], one["status"], one["reason"]) for one in found["results"]]
    assert not [one for one in statuses if one[1] != "measured"]
    groups = {one["group"] for one in found["streamer"]["configurations"]}
    assert groups == {"1a", "1b", "1c", "2a", "2b"}
    for one in found["streamer"]["configurations"]:
        assert set(one["points"]) == {"triad"}
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
