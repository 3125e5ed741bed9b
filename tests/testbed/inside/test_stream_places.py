"""STREAM's arrays on nodes of two sockets and CXL, where they were asked for or first touched."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from forked import tierscope

pytestmark = pytest.mark.testbed

SHORT = ("--size", "2m", "--pages", "base", "--budget", "0.2", "--stores", "ordinary")


def stream(folder: Path, *options: str) -> str:
    done = tierscope("stream", *SHORT, "--out", folder, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def evidence(text: str) -> dict[str, dict[str, Any]]:
    found = json.loads(text)
    return {
        one["pattern"]["operation"]: one["evidence"]
        for one in found["results"]
        if one["status"] == "measured"
    }


def test_each_array_is_on_its_own_node(tmp_path: Path) -> None:
    said = stream(tmp_path, "--a", "node:0", "--b", "node:1", "--c", "node:4", "--json")
    arrays = {name: one["arrays"] for name, one in evidence(said).items()}
    on = {
        name: {array: list(nodes) for array, nodes in one.items()} for name, one in arrays.items()
    }
    assert on == {
        "copy": {"a": ["4"], "b": ["0"]},
        "scale": {"a": ["1"], "b": ["4"]},
        "add": {"a": ["4"], "b": ["0"], "c": ["1"]},
        "triad": {"a": ["0"], "b": ["1"], "c": ["4"]},
    }
    assert json.loads(said)["stream"][0]["arrays"] == {"a": "node:0", "b": "node:1", "c": "node:4"}


def test_a_mix_has_its_shares_beside_a_bound_array(tmp_path: Path) -> None:
    said = stream(tmp_path, "--to", "node:0", "--c", "node:0,4@3:1", "--json")
    pages = evidence(said)["copy"]["arrays"]["a"]
    assert pages["0"] / pages["4"] == pytest.approx(3, rel=0.02)
    assert evidence(said)["copy"]["arrays"]["b"].keys() == {"0"}


def test_first_touch_puts_pages_where_the_threads_are(tmp_path: Path) -> None:
    said = stream(tmp_path, "--from", "node:0,1", "--first-touch", "--pin", "spread", "--json")
    for one in evidence(said).values():
        assert set(one["pages"]) == {"0", "1"}
        assert one["pages"]["0"] == pytest.approx(one["pages"]["1"], rel=0.05)


def test_the_text_of_a_sweep_is_read_by_expressions(tmp_path: Path) -> None:
    text = stream(tmp_path, "--format", "stream", "--threads", "1,2")
    assert re.findall(r"^Number of Threads counted = (\d)", text, re.M) == ["1", "2"]
    assert len(re.findall(r"^(?:Copy|Scale|Add|Triad):\s+\d+\.\d(?:\s+\d+\.\d{6}){3}$", text,
                          re.M)) == 8  # fmt: skip
    assert len(re.findall("^Solution Validates", text, re.M)) == 2
