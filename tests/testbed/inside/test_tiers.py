"""Loaded latency, matrices, streams, atomics and mapping on every kind of memory."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forked import tierscope

pytestmark = pytest.mark.testbed

NODES = ("node:0", "node:1", "node:2", "node:4")
SMALL = ("--budget", "0.1", "--pages", "base", "--size", "1m")


def measured(tmp_path: Path, *arguments: str) -> list[dict[str, Any]]:
    """Run a command of the program; every measurement has to come out measured."""
    done = tierscope(*arguments, "--json", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    results: list[dict[str, Any]] = json.loads(done.stdout)["results"]
    assert all(result["status"] == "measured" for result in results)
    return results


def node_of(endpoint: str) -> str:
    return endpoint.removeprefix("node:")


def test_curves_chase_and_load_the_nodes_asked_for(tmp_path: Path) -> None:
    results = measured(
        tmp_path,
        *("loaded-latency", "--from", "node:0", "--to", "node:4,node:1", "--load-to", "node:0"),
        *("--load-size", "1m", "--points", "6", "--mix", "67:33", *SMALL),
    )
    loaded = [result for result in results if result["pattern"].get("load_threads")]
    # A point that others disturbed is measured again.
    points = {(result["target"], result["pattern"]["delay_ns"]) for result in loaded}
    assert len(points) == 12
    for result in loaded:
        assert list(result["evidence"]["pages"]) == [node_of(result["target"])]
        load = result["evidence"]["workloads"]["load"]
        assert list(load["pages"]) == ["0"]
        assert result["evidence"]["cpus"] == result["cpus"]


def test_the_traffic_of_every_kind_with_threads_has_the_weights(tmp_path: Path) -> None:
    target = ("--from", "cpus:0-3", "--to", "node:0,4@4:1", "--budget", "0.5", "--size", "400k")
    for arguments in (
        ("bandwidth", "--op", "triad", "--sharing", "partitioned,shared"),
        ("traffic", "--mix", "67:33", "--order", "sequential,random"),
        ("atomics",),
    ):
        for result in measured(tmp_path, *arguments, *target):
            assert result["pattern"]["pages"] == "base"  # 400 KiB hold no round of huge ones.
            traffic = result["evidence"]["traffic"]
            share = traffic["4"] / sum(traffic.values())
            assert share == pytest.approx(0.2, abs=0.05), result["id"]  # A last pass is cut.


@pytest.fixture
def shared_huge_pages() -> Iterator[None]:
    switch = Path("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
    (before,) = re.findall(r"\[(\w+)\]", switch.read_text())
    switch.write_text("advise")
    yield
    switch.write_text(before)


@pytest.mark.usefixtures("shared_huge_pages")
def test_shared_mappings_have_huge_pages_where_the_kernel_gives_them(tmp_path: Path) -> None:
    arguments = ("mapping", "--sharing", "shared", "--size", "4m", "--budget", "0.1")
    for result in measured(tmp_path, *arguments, "--pages", "thp,base", "--to", "node:0,node:2"):
        huge = result["pattern"]["pages"] == "thp"
        evidence = result["evidence"]
        assert evidence["huge_bytes"] == (4 << 20 if huge else 0)
        assert evidence["pages"] == {node_of(result["target"]): 2 if huge else 1024}


def test_a_matrix_has_every_pair(tmp_path: Path) -> None:
    results = measured(
        tmp_path, "matrix", "--op", "read", "--threads", "1", *SMALL, "--hwloc-xml",
        str(tmp_path / "machine.xml"),
    )  # fmt: skip
    pairs = {(result["initiator"], result["target"]) for result in results}
    assert pairs == {(source, target) for source in ("node:0", "node:1") for target in NODES}
    shown = subprocess.run(
        ["lstopo-no-graphics", "--input", str(tmp_path / "machine.xml"), "--memattrs"],
        capture_output=True,
        text=True,
        check=True,
    )
    latencies = shown.stdout.split("name `Latency'")[1].split("Memory attribute")[0]
    assert latencies.count("from cpuset") == 8


def test_streams_beside_each_other_go_to_their_own_nodes(tmp_path: Path) -> None:
    (result,) = measured(
        tmp_path, "traffic", "--to", "node:0", *SMALL, "--beside",
        "name=cxl to=node:4 mix=0:100nt size=1m; name=far from=node:1 to=node:2 size=1m",
    )  # fmt: skip
    evidence = result["evidence"]
    assert list(evidence["pages"]) == ["0"]
    assert list(evidence["workloads"]["cxl"]["pages"]) == ["4"]
    assert list(evidence["workloads"]["far"]["pages"]) == ["2"]
    assert {(figure["metric"], figure["part"]) for figure in result["figures"]} == {
        ("bandwidth", ""), ("bandwidth", "cxl"), ("bandwidth", "far"), ("total_bandwidth", ""),
    }  # fmt: skip


@pytest.mark.parametrize("command", [("atomics", "--threads", "2"), ("mapping",)])
def test_every_kind_of_memory_can_be_updated_and_mapped(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    results = measured(tmp_path, *command, "--to", ",".join(NODES), *SMALL)
    for result in results:
        assert list(result["evidence"]["pages"]) == [node_of(result["target"])]
    assert {result["target"] for result in results} == set(NODES)
