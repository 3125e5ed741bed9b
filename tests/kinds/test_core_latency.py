"""Core-to-core latency: what is planned, what the engine measures, what a few pairs look like."""

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from forked import tierscope
from tierscope.kinds.core_latency.spec import CoreLatencySpec
from tierscope.kinds.views import VIEWS
from tierscope.model.errors import UserError
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.report.run import show_run
from tierscope.runs.read import read_run

CPUS = sorted(os.sched_getaffinity(0))
TWO_CPUS = pytest.mark.skipif(len(CPUS) < 2, reason="this process may use one CPU only")


def planned(machine: Topology, **options: str) -> list[CoreLatencySpec]:
    plan = expand([Request(kind="core-latency", options=options)], machine, thp=True)
    return [spec for spec in plan.measurements if isinstance(spec, CoreLatencySpec)]


def test_unasked_another_core_of_the_node_writes_in_both_states(machine: Topology) -> None:
    specs = planned(machine)
    assert [(spec.cpu, spec.writer, spec.target) for spec in specs] == [(0, 1, "node:0")] * 2
    assert [spec.pattern.state for spec in specs] == ["modified", "clean"]
    assert specs[0].identity() == {
        "size": 256 << 10, "state": "modified", "pages": "thp", "writer": 1,
    }  # fmt: skip
    (spec, _) = planned(machine, **{"from": "cpus:13"})
    assert (spec.cpu, spec.writer) == (13, 4), "not its sibling, CPU 5"


def test_readers_writers_and_homes_are_combined(machine: Topology) -> None:
    specs = planned(
        machine,
        **{"from": "cpus:0,cpus:4", "writer": "cpus:0,cpus:5"},
        to="reader,writer,node:2",
        state="clean",
    )
    assert [(spec.cpu, spec.writer, spec.target) for spec in specs] == [
        (0, 5, "node:0"), (0, 5, "node:1"), (0, 5, "node:2"),
        (4, 0, "node:1"), (4, 0, "node:0"), (4, 0, "node:2"),
        (4, 5, "node:1"), (4, 5, "node:2"),
    ]  # fmt: skip
    assert {spec.initiator for spec in specs} == {"cpus:0", "cpus:4"}
    assert len({spec.id for spec in specs}) == len(specs)
    assert all(spec.placement.policy == "bind" for spec in specs)


def test_nodes_stand_for_their_first_cpus(machine: Topology) -> None:
    specs = planned(machine, **{"from": "node:*", "writer": "node:*"}, state="modified")
    assert [(spec.cpu, spec.writer) for spec in specs] == [(0, 4), (4, 0)]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"from": "cpus:1", "writer": "cpus:1"}, "--writer: CPU 1 is the reader"),
        ({"size": "320"}, "--size: '320': .* multiple of 256"),
        ({"state": "dirty"}, "--state: 'dirty' is not one of modified, clean"),
        ({"to": "node:3"}, "--to: .*node 3 has no memory online"),
        ({"to": "readers"}, "--to: endpoint 'readers'"),
        ({"to": "pmem:node:0"}, "--to: 'pmem:node:0' is "),
        ({"writer": "cpus:99"}, "--writer: .*CPU 99 is not online"),
        ({"to": "node:0,1"}, "--to: .*bind"),
    ],
)
def test_what_cannot_be_is_refused(machine: Topology, options: dict[str, str], says: str) -> None:
    with pytest.raises(UserError, match=says):
        planned(machine, **options)


def test_one_cpu_makes_no_pair(machine: Topology) -> None:
    alone = machine.model_copy(update={"cpus": [3]})
    with pytest.raises(UserError, match="takes two CPUs, and this process may use CPU 3 only"):
        planned(alone)


@TWO_CPUS
def test_lines_and_exchanges_are_measured_and_proven(tmp_path: Path) -> None:
    ends = ("--from", f"cpus:{CPUS[0]}", "--writer", f"cpus:{CPUS[-1]}")
    done = tierscope(
        "core-latency", *ends, "--budget", "0.2", "--sample", "1ms", "--pages", "base", "--json",
        "--out", tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    modified, clean = answer["results"]
    for result in (modified, clean):
        evidence: dict[str, Any] = result["evidence"]
        assert evidence["cpus"] == [CPUS[0], CPUS[-1]]
        assert evidence["pages"] == {result["target"].removeprefix("node:"): 64}
        assert evidence["handovers"]["lines"] == 1024
        rounds = evidence["handovers"]["rounds"]
        assert evidence["verified"].startswith(f"{1024 * rounds} lines of {rounds} rounds")
        assert result["figures"][0]["estimate"] > 0
    assert [figure["metric"] for figure in modified["figures"]] == ["latency", "exchange_latency"]
    assert modified["evidence"]["handovers"]["exchanges"] > 0
    assert len(clean["figures"]) == 1
    (path,) = tmp_path.glob("*.jsonl")
    console = Console(file=io.StringIO(), width=100)
    show_run(console, read_run(path), path, VIEWS)
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert f"cpus:{CPUS[0]} → node:0" in shown
    assert f"written by CPU {CPUS[-1]}" in shown
    assert "Core-to-core latency is " in shown


@TWO_CPUS
def test_a_plan_says_the_same_as_flags(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        f"version: 1\nmeasurements:\n  - kind: core-latency\n    args:\n"
        f"      from: cpus:{CPUS[0]}\n      writer: cpus:{CPUS[1]}\n      state: clean\n"
    )
    done = tierscope("run", plan, "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    (spec,) = json.loads(done.stdout)["plan"]["measurements"]
    assert (spec["cpu"], spec["writer"], spec["pattern"]["state"]) == (CPUS[0], CPUS[1], "clean")
