"""Chains over two sockets and CXL: each region's pages are where its target says."""

import json
from pathlib import Path
from typing import Any

import pytest

from forked import tierscope

pytestmark = pytest.mark.testbed

CPUS, REMOTE, CXL = "node:0", "node:1", "node:4"
SIZE = 1 << 20


def measured(tmp_path: Path, *options: str) -> list[dict[str, Any]]:
    short = ("--size", "1m", "--pages", "base", "--budget", "200ms", "--json", "--out", tmp_path)
    answer = tierscope("chain", "--from", CPUS, *options, *short)
    assert answer.stdout, answer.stderr
    found: list[dict[str, Any]] = json.loads(answer.stdout)["results"]
    assert [one["status"] for one in found] == ["measured"] * len(found), found
    return found


def test_a_chain_is_on_the_node_that_it_was_sent_to(tmp_path: Path) -> None:
    chain = "r_64,w_64_none_+128,r_4096"
    found = measured(tmp_path, "--to", f"{CXL},{REMOTE}", "--chain", chain)
    assert [one["target"] for one in found] == [CXL, REMOTE]
    for one in found:
        evidence = one["evidence"]
        assert evidence["pages"] == {one["target"].removeprefix("node:"): SIZE // 4096}
        assert "replay over the known contents" in evidence["verified"]


def test_two_regions_are_on_two_nodes(tmp_path: Path) -> None:
    (found,) = measured(
        tmp_path, "--to", REMOTE, "--second-to", CXL, "--chain", "r_64,m1_r_64,w_64_none",
        "--linked", "no", "--interleave", "2",
    )  # fmt: skip
    assert found["evidence"]["arrays"] == {"m0": {"1": SIZE // 4096}, "m1": {"4": SIZE // 4096}}
    assert found["pattern"]["second"] == CXL


def test_single_operations_reach_the_cxl_device(tmp_path: Path) -> None:
    found = measured(tmp_path, "--to", CXL, "--chain", "read,write,nt-store,cas,faa")
    assert {one["pattern"]["chain"] for one in found} == {
        "read", "write", "nt-store", "cas", "faa"
    }  # fmt: skip
    assert {tuple(one["evidence"]["pages"]) for one in found} == {("4",)}
