"""The matrix of cores: what is planned, its tables and heat maps at 2, 32, 64 and 128 cores."""

import io
import json
import os
import re
from functools import cache
from pathlib import Path

import pytest
from rich.console import Console
from tests.cores import as_topology_says, machine_of, measured

from forked import tierscope
from synthetic import write
from tierscope.kinds.core_latency.show import more_of
from tierscope.kinds.core_latency.spec import CoreLatencySpec
from tierscope.kinds.views import VIEWS
from tierscope.model.errors import UserError
from tierscope.model.run import Run
from tierscope.model.topology import Topology
from tierscope.plans.fit import fit_time, longest_seconds
from tierscope.report.pictures.draw import svg_for_file
from tierscope.report.pictures.of_run import pictures_of
from tierscope.report.pictures.picture import Picture
from tierscope.report.run import show_run
from tierscope.suites.core_matrix import SECONDS, plan_of, requests

L3_GROUPS = machine_of(sockets=1, cores=32, in_l3=8)
SOCKETS = machine_of(sockets=2, cores=32, in_l3=32)
CPUS = sorted(os.sched_getaffinity(0))


def specs(machine: Topology, **given: str) -> list[CoreLatencySpec]:
    found = plan_of(given, machine, thp=True).measurements
    return [spec for spec in found if isinstance(spec, CoreLatencySpec)]


def shown(run: Run, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width)
    show_run(console, run, Path("run.jsonl"), VIEWS)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@cache
def of_64_cores() -> Run:
    return measured(SOCKETS, as_topology_says(SOCKETS), state="modified")


def pictures(run: Run) -> list[Picture]:
    return list(pictures_of(run, "core-latency", VIEWS))


def widest(text: str) -> int:
    return max(map(len, text.splitlines()))


def test_every_ordered_pair_of_cores_is_planned_once_for_each_home(machine: Topology) -> None:
    found = specs(machine)
    cores = range(8)
    assert {(spec.cpu, spec.writer) for spec in found} == {
        (a, b) for a in cores for b in cores if a != b
    }
    near = [spec for spec in found if (spec.cpu, spec.writer) == (0, 3)]
    far = [spec for spec in found if (spec.cpu, spec.writer) == (0, 4)]
    assert [(spec.target, spec.pattern.state) for spec in near] == [
        ("node:0", "modified"), ("node:0", "clean"),
    ]  # fmt: skip
    assert [(spec.target, spec.pattern.state) for spec in far] == [
        ("node:0", "modified"), ("node:0", "clean"), ("node:1", "modified"), ("node:1", "clean"),
    ]  # fmt: skip


def test_siblings_and_endpoints_choose_the_cpus(machine: Topology) -> None:
    every = specs(machine, siblings="yes", state="clean", to="reader")
    assert len(every) == 16 * 15
    some = specs(machine, **{"from": "cpus:0-2,9", "state": "clean"})
    assert {spec.cpu for spec in some} == {0, 1, 2}, "CPU 9 is a sibling of CPU 1"
    node = specs(machine, **{"from": "node:1"})
    assert {spec.cpu for spec in node} == {4, 5, 6, 7}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"threads": "4"}, "--threads does not go with --cores"),
        ({"at": "10"}, "--at does not go with --cores"),
        ({"from": "cpus:1"}, "pairs take two CPUs, and there is one core to use"),
        ({"from": "cpus:1,9"}, "one core to use"),
        ({"from": "cpus:1", "siblings": "yes"}, "one hardware thread to use"),
        ({"from": "cpus:77"}, "--from: .*CPU 77 is not online"),
        ({"state": "dirty"}, "--state: 'dirty'"),
    ],
)
def test_what_does_not_go_with_cores_is_refused(
    machine: Topology, given: dict[str, str], says: str
) -> None:
    with pytest.raises(UserError, match=says):
        plan_of(given, machine, thp=True)
    assert requests({}, machine)


def test_64_cores_fit_the_time_that_help_tells() -> None:
    plan = fit_time(plan_of({}, SOCKETS, thp=True), SECONDS, strictly=False)
    assert len(plan.measurements) == 2 * (2 * 32 * 31 + 2 * 2 * 32 * 32)
    assert sum(longest_seconds(plan.measurements)) < 20 * 60
    one_state = plan_of({"state": "modified"}, L3_GROUPS, thp=True)
    assert sum(longest_seconds(fit_time(one_state, 120).measurements)) <= 120.5


def test_two_cores_are_four_rows() -> None:
    machine = machine_of(sockets=1, cores=2, in_l3=2)
    text = shown(measured(machine, as_topology_says(machine)))
    assert len(re.findall(r"cpus:[01] → node:0 +(?:modified|clean) +[01] +.*same L3", text)) == 4
    assert widest(text) <= 100


def test_eight_cores_are_a_matrix_and_groups() -> None:
    machine = machine_of(sockets=1, cores=8, in_l3=4)
    text = shown(measured(machine, as_topology_says(machine)))
    assert "modified: ns a line, readers down, writers across" in text
    assert len(re.findall(r"^ +[0-7] +(?:[0-9.]+ +|· +){8}$", text, re.MULTILINE)) == 16
    assert re.search(r"clean: agrees with the topology: same L3 3[56]\S* ns, same node 8[78]", text)
    assert widest(text) <= 100


@pytest.mark.parametrize("cores", [32, 64])
def test_many_cores_are_groups(cores: int) -> None:
    if cores == 64:
        text = shown(of_64_cores())
    else:
        text = shown(measured(L3_GROUPS, as_topology_says(L3_GROUPS), state="modified"))
    assert "readers down" not in text
    assert widest(text) <= 100
    assert len(text.splitlines()) < 60
    assert re.search(r"agrees with the topology: same L3 4[45]\S* ns, (same node|other)", text)
    assert re.search(r"same L3 +\d+ +4[45]\S* +4\S+–4\S+ +\S+ \d+←\d+ ", text)


def test_homes_have_matrices_of_their_own_with_the_pairs_of_one_node_in_both() -> None:
    run = of_64_cores()
    homes = {picture.title: len(picture.measurements) for picture in pictures(run)}
    assert homes == {
        "Core-to-core latency: modified, home at the reader's node": 64 * 63,
        "Exchange of one line: home at the reader's node": 64 * 63,
        "Core-to-core latency: modified, home at the writer's node": 64 * 63,
        "Exchange of one line: home at the writer's node": 64 * 63,
    }
    groups = more_of(run)["core_groups"]
    assert [one["home"] for one in groups] == ["reader's node", "writer's node"]
    assert [(g["relation"], g["pairs"]) for g in groups[0]["groups"]] == [
        ("same L3", 2 * 32 * 31), ("other package", 2 * 32 * 32),
    ]  # fmt: skip


def test_an_order_that_topology_does_not_have_is_told() -> None:
    flat = measured(L3_GROUPS, lambda *_: 70.0, state="modified")
    text = shown(flat)
    assert re.search(r"modified: (agrees with the topology in part|does not agree)", text)
    assert "of comparisons only" in re.sub(r"\s+", " ", text)
    (found,) = more_of(flat)["core_groups"]
    assert [one["verdict"] for one in found["comparisons"]] != ["agrees"]


def test_l3s_that_a_virtual_machine_hides_are_found() -> None:
    one = machine_of(sockets=1, cores=32, in_l3=32)
    run = measured(one, as_topology_says(L3_GROUPS), state="clean")
    text = re.sub(r"\s+", " ", shown(run))
    assert (
        "same L3, as the topology says, but measured as 4 sets: CPUs 0-7; CPUs 8-15; CPUs 16-23; "
        "CPUs 24-31 (36.0 ns inside, 88.0 ns between them)" in text
    )
    (split,) = more_of(run)["core_groups"][0]["splits"]
    assert [len(cpus) for cpus in split["sets"]] == [8, 8, 8, 8]


def cells(picture: Picture) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = picture.spec["data"]["values"]
    return rows


@pytest.mark.parametrize("cores", [2, 32, 128])
def test_a_heat_map_shows_all_pairs(cores: int) -> None:
    machine = machine_of(sockets=1, cores=cores, in_l3=min(cores, 8))
    run = measured(machine, as_topology_says(machine), state="clean")
    (picture,) = pictures(run)
    rows = cells(picture)
    assert {(row["row"], row["column"]) for row in rows} == {
        (str(a), str(b)) for a in range(cores) for b in range(cores) if a != b
    }
    steps = picture.spec["width"]["step"], picture.spec["height"]["step"]
    assert max(steps) * cores < 1000
    if cores > 32:
        return
    svg = svg_for_file(picture).decode()
    labels = re.findall(r">(\d+)</text>", svg)
    assert set(labels) >= {"0", str(cores - 1)}


def test_a_run_of_64_cores_is_shown_again_and_exported(tmp_path: Path) -> None:
    run = measured(SOCKETS, as_topology_says(SOCKETS), state="modified", to="reader")
    path = write(run, tmp_path / "run.jsonl")
    done = tierscope("show", path, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert [one["home"] for one in answer["core_groups"]] == ["reader's node"]
    assert len(answer["results"]) == 64 * 63


@pytest.mark.skipif(len(CPUS) < 2, reason="this process may use one CPU only")
def test_the_command_measures_this_machine(tmp_path: Path) -> None:
    ends = f"cpus:{CPUS[0]},cpus:{CPUS[1]}"
    words = ("matrix", "--cores", "--siblings", "--from", ends, "--time-limit", "3s")
    done = tierscope(*words, "--json", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    pairs = {(tuple(r["cpus"]), r["pattern"]["state"]) for r in answer["results"]}
    assert len(pairs) == 4
    assert {one["state"] for one in answer["core_groups"]} == {"modified", "clean"}


def test_options_of_the_matrix_of_cores_go_with_it_only() -> None:
    done = tierscope("matrix", "--siblings")
    assert (done.returncode, done.stderr) == (2, "tierscope: --siblings goes with --cores\n")
    done = tierscope("matrix", "--cores", "--hwloc-xml", "x.xml")
    assert done.returncode == 2
    assert "--hwloc-xml goes with the matrix of nodes" in done.stderr
