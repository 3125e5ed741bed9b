"""``tierscope run`` on CXL-Bench's workload files, as users type it."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.topology.coherent_machines import gh200

from forked import tierscope

WORKLOADS = Path(__file__).parent / "workloads"
SMALL = """\
scan:
  matrix:
    number_threads: [ 1, 500 ]
  args:
    memory_region_size: 8M
    access_size: 4k
    numa_memory_nodes: [ 0 ]
    numa_task_nodes: [ 0 ]
    run_time: 10
tree:
  args:
    exec_mode: custom
    custom_operations: m0_r_64,m1_r_64,m1_w_64_none_64
    memory_region_size: 4M
    numa_memory_nodes: [ 0 ]
    secondary_memory_region_size: 8M
    secondary_numa_memory_nodes: [ 800 ]
    numa_task_nodes: [ 0 ]
    latency_sample_frequency: 100
both:
  parallel_benchmark:
    writer: {args: {operation: write, numa_memory_nodes: [0], numa_task_nodes: [0],
                    memory_region_size: 4M}}
    reader: {args: {operation: read, numa_memory_nodes: [0], numa_task_nodes: [0],
                    memory_region_size: 4M}}
elsewhere:
  args: {operation: read, numa_memory_nodes: [ 801 ], numa_task_nodes: [ 0 ]}
"""


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


def test_a_file_is_measured_and_its_cases_are_kept(workload: Path, tmp_path: Path) -> None:
    options = ("--fit", "--map-nodes", "800=0", "--time-limit", "6s", "--out", tmp_path)
    done = tierscope("run", workload, *options, "--json=found.json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("run_time: the most time that a case gets") == 1
    found = json.loads((tmp_path / "found.json").read_text())
    status = {one["id"]: one["status"] for one in found["results"]}
    assert set(status.values()) == {"measured"}
    one, many, tree, both, elsewhere = found["run"]["cases"]
    assert (one["benchmark"], one["matrix"]) == ("scan", {"number_threads": 1})
    assert one["file"].endswith("small.yaml")
    assert any(note.endswith("for 500") for note in many["notes"])
    assert "node 800 is node 0" in tree["notes"]
    assert list(both["config"]) == ["reader", "writer"]
    assert (elsewhere["measurements"], "--map-nodes 801=N" in elsewhere["refused"]) == ([], True)
    assert {name for case in (one, many, tree, both) for name in case["measurements"]} == set(
        status
    )
    beside = next(r for r in found["results"] if r["id"] == both["measurements"][0])
    assert "writer" in {figure["part"] for figure in beside["figures"]}
    for shown in (done.stdout, tierscope("show", next(tmp_path.glob("*.jsonl"))).stdout):
        assert max(map(len, shown.splitlines())) <= 100 + len(str(tmp_path))
        for word in ("scan", "tree", "both", "number_threads", "writer", "801=N", "GB/s"):
            assert word in shown


def test_a_dry_run_shows_what_each_case_becomes(workload: Path) -> None:
    done = tierscope("run", workload, "--dry-run", "--fit", "--map-nodes", "800=0")
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 100
    text = " ".join(done.stdout.split())
    assert "bandwidth read sequential, 1 thread of" in text
    assert "chain r_64,m1_r_64,w_64_none_64, 1 thread of node:0 to" in text
    assert "5 cases: 4 planned as " in done.stdout
    listed = tierscope("run", workload, "--dry-run", "--json")
    found = json.loads(listed.stdout)
    assert [bool(case["measurements"]) for case in found["cases"]] == [
        True, True, False, True, False,
    ]  # fmt: skip
    assert {spec["id"] for spec in found["plan"]["measurements"]} == {
        name for case in found["cases"] for name in case["measurements"]
    }
    assert found["remarks"] == [
        remark for remark in listed.stderr.splitlines() if not remark.startswith("tierscope")
    ]


def test_a_folder_is_planned_for_another_machine(tmp_path: Path) -> None:
    machine = gh200(tmp_path)
    options = ("--dry-run", "--fit", "--topology", machine, "--json")
    found: dict[str, Any] = json.loads(tierscope("run", WORKLOADS, *options).stdout)
    cases = found["cases"]
    assert len({case["file"] for case in cases}) == 6
    spread = [case for case in cases if case["benchmark"] == "spread_writes"]
    assert len(spread) == 9
    assert all(case["measurements"] for case in spread)
    plan = {spec["id"]: spec for spec in found["plan"]["measurements"]}
    assert plan[spread[2]["measurements"][0]]["target"] == "node:0,1@3:1"
    assert "there is none here; --map-nodes dax2.0=N" in next(
        case["refused"] for case in cases if case["benchmark"] == "device_reads"
    ) or any("no CPU" in case["refused"] for case in cases)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--map-nodes", "8"], "--map-nodes: '8' is not OLD=NEW"),
        (["--topology", "x.xml"], "it goes with --dry-run"),
        (["--format", "cxlbench", "--json"], "--format cxlbench prints to stdout"),
        (["--storage", "."], "--storage goes with profiles and plans"),
        (["--fit", "--time-limit", "0"], "--time-limit: '0' is out of range"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: list[str], says: str, workload: Path) -> None:
    done = tierscope("run", workload, *options)
    assert (done.returncode, done.stderr.count(says)) == (2, 1), done.stderr


@pytest.mark.parametrize(
    "option", [["--fit"], ["--map-nodes=8=4"], ["--destroy-data=dax0.0"], ["--format=cxlbench"]]
)
def test_options_of_workloads_go_with_them_only(option: list[str], tmp_path: Path) -> None:
    (tmp_path / "ours.yaml").write_text("measurements: [{kind: latency}]")
    for words in (["ours.yaml"], ["--profile", "quick"]):
        done = tierscope("run", *words, *option, folder=tmp_path)
        assert done.returncode == 2
        assert "goes with workload files of CXL-Bench only" in done.stderr


def test_an_unknown_key_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text("a:\n  args:\n    number_treads: 3\n")
    done = tierscope("run", path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "w.yaml:3: unknown key 'number_treads' in 'args'; did you mean 'number_threads'" in (
        done.stderr
    )


def test_a_file_of_which_nothing_can_be_measured_says_why(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text("a: {args: {numa_memory_nodes: [900], numa_task_nodes: [0]}}")
    done = tierscope("run", path)
    assert done.returncode == 2
    assert "none of 1 case can be measured here; the first: numa_memory_nodes: node 900" in (
        done.stderr
    )
    dry = tierscope("run", path, "--dry-run")
    assert (dry.returncode, "1 case: 0 planned" in dry.stdout) == (0, True)
