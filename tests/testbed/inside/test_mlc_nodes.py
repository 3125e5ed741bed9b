"""MLC's modes on two sockets, a CPU-less node and CXL memory."""

import json
from pathlib import Path
from typing import Any

import pytest

from forked import tierscope

pytestmark = pytest.mark.testbed


def mlc(*words: str) -> str:
    done = tierscope("mlc", *words, "-b256", "-t0.2")
    assert done.returncode == 0, done.stderr
    return done.stdout


def planned(text: str) -> list[dict[str, Any]]:
    """The measurements of a run, as its file has them."""
    run_file = Path(json.loads(text)["mlc"]["run_file"])
    records = map(json.loads, run_file.read_text().splitlines())
    return [record for record in records if record["record"] == "measurement"]


def test_rows_are_nodes_with_cpus_and_columns_all_that_have_memory() -> None:
    lines = mlc("--bandwidth_matrix").splitlines()
    assert lines[-3].split() == ["Numa", "node", "0", "1", "2", "4"]
    rows = [line.split() for line in lines[-2:]]
    assert [row[0] for row in rows] == ["0", "1"]
    assert all(float(value) > 0 for row in rows for value in row[1:])


def test_each_cell_s_pages_are_on_its_node() -> None:
    found = planned(mlc("--latency_matrix", "--json"))
    pages = {(one["initiator"], one["target"]): set(one["evidence"]["pages"]) for one in found}
    nodes = ("0", "1", "2", "4")
    assert pages == {(f"node:{a}", f"node:{b}"): {b} for a in ("0", "1") for b in nodes}


def test_peak_injection_goes_to_own_nodes_only() -> None:
    *streams, triad = planned(mlc("--peak_injection_bandwidth", "--json"))
    for one in streams:
        assert set(one["evidence"]["pages"]) == {"0"}
        assert set(one["evidence"]["workloads"]["stream2"]["pages"]) == {"1"}
    assert set(triad["evidence"]["pages"]) == {"0", "1"}


def test_threads_of_a_file_have_their_buffers_on_two_nodes(tmp_path: Path) -> None:
    file = tmp_path / "threads"
    file.write_text("1 W21 seq 1024 dram 0 dram 2 25\n")
    (one,) = planned(mlc("--loaded_latency", "-T", "-d0", f"-o{file}", "--json"))
    pages = one["evidence"]["pages"]
    assert pages["0"] == 3 * pages["2"]
