"""The study of this machine: what is planned, what a run makes of it, and the command."""

import dataclasses
import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests import synthetic

from streamer.published import CSV, study
from tierscope.cli.app import app
from tierscope.kinds.bandwidth.spec import BandwidthSpec
from tierscope.model.cause import Cause
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.persistent import Dax, Namespace
from tierscope.model.run import Run
from tierscope.model.topology import CxlRegion, Mount, Topology
from tierscope.peers.registry import PEERS
from tierscope.peers.streamer.importer import as_csv, read_results
from tierscope.peers.streamer.output import group_pictures, view_of
from tierscope.peers.streamer.plan import Line, absent, lines, plan_of, study_of
from tierscope.peers.streamer.study import CLOSE, GROUPS, SPREAD

SMALL = {"size": "1m", "budget": "50ms"}


def specs(given: dict[str, str], topology: Topology) -> list[BandwidthSpec]:
    found = plan_of({**SMALL, **given}, topology, thp=True).measurements
    return [spec for spec in found if isinstance(spec, BandwidthSpec)]


def shape(found: Iterable[Line]) -> list[tuple[str, str]]:
    return [(line.configuration.group, line.configuration.words) for line in found]


def test_groups_are_those_of_the_study(machine: Topology) -> None:
    found = shape(lines(machine, list(GROUPS), ["pool"]))
    assert [words for group, words in found if group == "1a"] == [
        "socket 0 to pmem#0 DRAM pool", "socket 1 to pmem#1 DRAM pool"
    ]  # fmt: skip
    assert [words for group, words in found if group == "2a"] == [
        "socket 0 to numa#1 DRAM", "socket 0 to numa#2 CXL",
        "socket 1 to numa#0 DRAM", "socket 1 to numa#2 CXL",
    ]  # fmt: skip
    assert [words for group, words in found if group == "2b"] == [
        f"socket 0+1 close to numa#{kind}" for kind in ("0 DRAM", "1 DRAM", "2 CXL")
    ]
    both = [words for group, words in found if group == "1c"]
    assert len(both) == 6
    assert sum("spread" in words for words in both) == 3


def test_numbers_of_nodes_and_packages_mean_nothing(machine: Topology) -> None:
    number = {0: 7, 1: 3, 2: 0, 3: 9}
    other = machine.model_copy(
        update={
            "nodes": [
                node.model_copy(update={"number": number[node.number], "distances": {}})
                for node in machine.nodes
            ],
            "packages": [
                package.model_copy(update={"number": 4 + package.number})
                for package in machine.packages
            ],
        }
    )
    found = shape(lines(other, list(GROUPS), ["pool"]))
    assert len(found) == len(shape(lines(machine, list(GROUPS), ["pool"])))
    assert [words for group, words in found if group == "1a"] == [
        "socket 4 to pmem#7 DRAM pool", "socket 5 to pmem#3 DRAM pool"
    ]  # fmt: skip


def test_close_fills_a_socket_first_and_spread_takes_turns_one_thread_a_core(
    machine: Topology,
) -> None:
    by_affinity = {
        line.configuration.affinity: line.cpus for line in lines(machine, ["1c"], ["pool"])
    }
    assert by_affinity[CLOSE] == (0, 1, 2, 3, 4, 5, 6, 7)
    assert by_affinity[SPREAD] == (0, 4, 1, 5, 2, 6, 3, 7)


def test_one_socket_has_no_remote_group_and_says_why(machine: Topology) -> None:
    single = machine.model_copy(
        update={"packages": machine.packages[:1], "nodes": machine.nodes[:1],
                "cpus": machine.packages[0].cpus}
    )  # fmt: skip
    assert {group for group, _ in shape(lines(single, list(GROUPS), ["pool"]))} == {"1a", "2b"}
    found = {one.group: one.reason for one in absent(single, list(GROUPS))}
    assert set(found) == {"1b", "1c", "2a", "2b"}
    assert "one memory only, node 0" in found["2a"]
    assert found["2b"].startswith("one socket in place of all")
    with pytest.raises(UserError, match="nothing can be measured here: 2a: left out") as refused:
        plan_of({"groups": "2a"}, single, thp=True)
    assert refused.value.exit_code is ExitCode.NOTHING_MEASURED


def test_what_groups_share_is_measured_once(machine: Topology) -> None:
    found = specs({"threads": "1..all", "op": "copy", "backing": "pool"}, machine)
    assert len({spec.id for spec in found}) == len(found)
    ways = {(frozenset(s.cpus), s.target, str(s.placement.persistent)) for s in found}
    assert len(ways) == len(found)
    # Close has 8 counts to each of 3 memories. Spread has the same cores with 1, 7 and 8 threads.
    # The second socket by itself has 4 counts, and no plain memory of its own.
    numa = [spec for spec in found if spec.placement.persistent is None]
    assert len(numa) == 3 * 8 + 2 * 4
    assert len(found) - len(numa) == 3 * 8 + 3 * 5 + 3 * 4


def test_persistent_memory_is_bound_to_its_node(machine: Topology) -> None:
    for spec in specs({"groups": "1a,1b,1c", "backing": "pool,pool-objects"}, machine):
        persistent = spec.placement.persistent
        assert persistent is not None
        assert persistent.bound
        assert persistent.backing in ("pool", "pool-objects")
        assert spec.target == f"pmem:node:{spec.placement.nodes[0].node}"


def test_default_thread_counts_have_every_full_socket(machine: Topology) -> None:
    packages = [
        package.model_copy(update={"cpus": list(range(60 * n, 60 * n + 60)), "cores": 60})
        for n, package in enumerate(machine.packages)
    ]
    nodes = [
        node.model_copy(update={"cpus": packages[node.number].cpus if node.number < 2 else []})
        for node in machine.nodes
    ]
    large = machine.model_copy(
        update={"packages": packages, "nodes": nodes, "cpus": list(range(120)),
                "siblings": [[cpu] for cpu in range(120)]}
    )  # fmt: skip
    counts = {len(spec.cpus) for spec in specs({"groups": "2b"}, large)}
    assert {1, 2, 3, 4, 5, 6, 7, 8, 60, 120} <= counts
    assert len(counts) < 30


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("groups", "1a,3c", "--groups: '3c' is not one of 1a"),
        ("op", "read", "--op: 'read' is not one of copy"),
        ("stores", "ordinary,non-temporal", "--stores: a study has one kind of stores"),
        ("backing", "device", "--backing: 'device' is not one of file"),
        ("size", "1m,2m", "--size: a study has one size of arrays"),
        ("pages", "base,thp", "--pages: a study has one kind of pages"),
        ("threads", "0", "--threads: "),
        ("precision", "2", "--precision: "),
    ],
)
def test_wrong_options_are_named(option: str, value: str, said: str, machine: Topology) -> None:
    with pytest.raises(UserError) as refused:
        plan_of({option: value}, machine, thp=True)
    assert str(refused.value).startswith(said)


def test_object_ids_are_translated_with_ordinary_stores_only(machine: Topology) -> None:
    stores = {"groups": "1a", "stores": "non-temporal"}
    persistent = [spec.placement.persistent for spec in specs(stores, machine)]
    assert {one.backing for one in persistent if one} == {"pool"}
    with pytest.raises(UserError, match="--backing: pool-objects goes with ordinary stores only"):
        specs({**stores, "backing": "pool,pool-objects"}, machine)


def run_of(topology: Topology, given: dict[str, str]) -> Run:
    """Measure each spec as 1 GB/s a thread, a tenth more for each node's number."""
    maker = synthetic.Maker(noise=1e-6)
    measured = [
        maker.make(
            "bandwidth", spec.initiator, spec.target, spec.identity(),
            len(spec.cpus) * (1 + spec.placement.nodes[0].node / 10) * 1e9, id=spec.id,
        ).model_copy(update={"cpus": spec.cpus})
        for spec in specs(given, topology)
    ]  # fmt: skip
    plan = plan_of({**SMALL, **given}, topology, thp=True).model_dump(mode="json")
    return synthetic.run(measured, plan=plan, topology=topology)


def test_a_run_gives_its_configurations_back(machine: Topology) -> None:
    run = run_of(machine, {"threads": "1..all", "backing": "file,pool"})
    assert PEERS["streamer"].owns(run)
    found = study_of(run)
    expected = lines(machine, list(GROUPS), ["file", "pool"])
    assert sorted(c.words for c in found) == sorted(line.configuration.words for line in expected)
    for one in found:
        assert list(one.points) == ["copy", "scale", "add", "triad"]
        for points in one.points.values():
            assert list(points) == list(range(1, sum(one.cores) + 1))
            for threads, point in points.items():
                rate = threads * (1 + one.memory.numbers[0] / 10) * 1e9
                assert point.value == pytest.approx(rate, rel=1e-4)
                assert point.low <= point.value <= point.high


def test_non_temporal_stores_and_a_part_of_the_groups_are_found_again(machine: Topology) -> None:
    run = run_of(machine, {"groups": "2a", "stores": "non-temporal", "op": "triad"})
    found = study_of(run)
    assert {one.group for one in found} <= {"2a", "2b"}
    assert [list(one.points) for one in found if one.group == "2a"] == [["triad"]] * 4


def test_a_machine_without_far_memory_says_what_is_left_out(machine: Topology) -> None:
    near = machine.model_copy(update={"nodes": machine.nodes[:2]})
    view = view_of(run_of(near, {"groups": "2a,2b"}), groups=["2a", "2b"])
    assert "Far memory is left out" in view.left_out["2a"][0].text
    assert view.left_out["2a"][0].cause is Cause.NODE
    assert not [one for one in view.findings if one.topic == "far"]
    assert [one.topic for one in view.findings if one.topic == "remote"] == ["remote"]


def with_persistent_memory(machine: Topology) -> Topology:
    """fsdax nearest to node 1, a DAX device of CXL memory that is node 3's, which is offline."""
    return machine.model_copy(
        update={
            "mounts": [
                Mount(path="/mnt/plain", type="ext4", block="pmem1"),
                Mount(path="/mnt/pmem", type="ext4", block="pmem0", dax=True),
            ],
            "namespaces": [
                Namespace(name="namespace0.0", mode="fsdax", size_bytes=1 << 30, device="pmem0",
                          node=1),
                Namespace(name="namespace1.0", mode="fsdax", size_bytes=1 << 30, device="pmem1",
                          node=0),
            ],
            "dax": [Dax(name="dax0.0", size_bytes=1 << 30, node=3, mode="devdax", parent="region0"),
                    Dax(name="dax1.0", size_bytes=1 << 30, node=2, mode="system-ram")],
            "cxl_regions": [CxlRegion(name="region0", mode="ram", size_bytes=1 << 30, memories=[])],
        }
    )  # fmt: skip


def placed(found: Iterable[BandwidthSpec]) -> dict[str, tuple[str, ...]]:
    """Backings of persistent targets; "bound" and "destroy" where these were set."""
    return {
        spec.target: tuple(filter(None, (p.backing, p.path, "bound" if p.bound else "", p.destroy)))
        for spec in found
        if (p := spec.placement.persistent)
    }


def test_persistent_memory_of_a_node_takes_the_place_of_emulation(machine: Topology) -> None:
    own = with_persistent_memory(machine)
    found = placed(specs({"groups": "1a,1b,1c", "backing": "pool"}, own))
    assert found == {
        "pmem:node:0": ("pool", "/dev/shm", "bound"),
        "pmem:/mnt/pmem": ("pool", "/mnt/pmem"),
        "pmem:node:2": ("pool", "/dev/shm", "bound"),
    }
    assert [words for _, words in shape(lines(own, ["1a"], ["pool"]))] == [
        "socket 0 to pmem#0 DRAM pool", "socket 1 to pmem#1 PMem fsdax pool"
    ]  # fmt: skip
    words = [words for group, words in shape(lines(own, ["1b"], ["pool", "file"]))]
    assert words.count("socket 0 to pmem#3 CXL devdax device") == 1


def test_a_device_is_overwritten_only_where_it_is_named(machine: Topology, tmp_path: Path) -> None:
    own = with_persistent_memory(machine)
    given = {"groups": "1b", "backing": "pool", "destroy-data": "dax9.9,dax0.0"}
    assert placed(specs(given, own))["dax:/dev/dax0.0"] == ("device", "/dev/dax0.0", "dax0.0")
    view = view_of(run_of(own, {"groups": "1b", "backing": "pool"}), groups=["1b"])
    assert {one.cause: one.text for one in view.left_out["1b"]} == {
        Cause.OWNERSHIP: "Left out: measuring pmem#3 CXL devdax overwrites dax:/dev/dax0.0; "
        "name dax0.0 in --destroy-data if nothing on it is needed."
    }
    run = run_of(own, given)
    assert not view_of(run, groups=["1b"]).left_out
    assert "pmem#3 CXL devdax device" in {one.memory.words for one in study_of(run)}
    written = tmp_path / "own.csv"
    written.write_text(as_csv([study_of(run)]))
    (again,) = read_results(written, "own")
    assert sorted(one.words for one in again) == sorted(one.words for one in study_of(run))


def test_arrays_fit_the_smallest_persistent_memory(machine: Topology) -> None:
    own = with_persistent_memory(machine)
    sizes = {
        spec.pattern.size
        for spec in plan_of({"groups": "1a", "backing": "pool"}, own, thp=True).measurements
        if isinstance(spec, BandwidthSpec)
    }
    assert sizes == {(1 << 30) // 2 // 3 >> 20 << 20}


def test_only_the_same_memory_shows_what_pmdk_costs(machine: Topology) -> None:
    run = run_of(with_persistent_memory(machine), {"groups": "1a,1b,2a", "backing": "pool"})
    said = [one.text for one in view_of(run).findings if one.topic == "pmdk"]
    assert any("pmem#0 DRAM" in text for text in said)
    assert not any("fsdax" in text for text in said)


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments], standalone_mode=False)


def test_published_results_are_shown_without_measuring(tmp_path: Path) -> None:
    page, table = tmp_path / "x.html", tmp_path / "x.csv"
    answer = call("streamer", "--no-measure", "--study", CSV, "--json", f"--csv={table}",
                  "--report", page, "--svg", tmp_path / "svg")  # fmt: skip
    assert answer.exception is None, answer.output
    found = json.loads(answer.stdout)["streamer"]
    assert len(found["configurations"]) == 19
    assert {one["topic"] for one in found["findings"]} >= {"pmdk", "close", "meet", "paper"}
    assert {path.name for path in (tmp_path / "svg").iterdir()} >= {
        *(f"streamer-{group}.svg" for group in GROUPS),
        "streamer-1c-flow-streamer.svg", "streamer-2b-flow-streamer-ddr4.svg",
    }  # fmt: skip
    text = page.read_text()
    for group, title in GROUPS.items():
        assert f"{group}: {title}" in text
    again = call("streamer", "--no-measure", "--with", table, "--json")
    assert len(json.loads(again.stdout)["streamer"]["configurations"]) == 19


def test_a_study_is_measured_shown_reported_and_laid_over_another(
    fake_engine: Callable[[str], None], tmp_path: Path
) -> None:
    fake_engine()
    answer = call("streamer", "--groups", "2b", "--size", "1m", "--budget", "20ms", "--threads",
                  "1", "--study", CSV, "--with", f"lab={CSV}", "--json")  # fmt: skip
    assert answer.exception is None, answer.output
    found = json.loads(answer.stdout)
    machines = {one["machine"] for one in found["streamer"]["configurations"]}
    assert machines == {found["run"]["host"], "STREAMer", "STREAMer DDR4", "lab", "lab DDR4"}
    assert "machines" in {one["topic"] for one in found["streamer"]["findings"]}
    shown = call("show", "--json", "last")
    own = json.loads(shown.stdout)["streamer"]["configurations"]
    assert {one["machine"] for one in own} == {found["run"]["host"]}
    page = tmp_path / "x.html"
    assert call("report", "-o", page, "--svg", tmp_path / "svg").exception is None
    assert "STREAMer study" in page.read_text()
    assert (tmp_path / "svg" / "streamer-2b.svg").is_file()
    tables = call("streamer", "--run", "last")
    assert "2b: Memory as a NUMA node, all sockets" in tables.stdout


def test_a_line_without_one_operation_leaves_its_panel_as_it_is() -> None:
    here = study()
    first, *others = [one for one in here if one.group == "1c"]
    part = dataclasses.replace(first, points={"copy": first.points["copy"]})
    (picture,) = group_pictures("1c", [part, *others], several=False)
    scale = picture.spec["concat"][3]
    assert scale["encoding"]["x"]["title"] == "threads"
    series = {row["series"] for row in scale["data"]["values"]}
    assert len(series) == 5
    assert len(scale["layer"][2]["encoding"]["color"]["scale"]["domain"]) == 6


def test_more_lines_than_can_be_told_apart_are_drawn_by_machine() -> None:
    here = [one for one in study() if one.group == "1c"]
    many = [dataclasses.replace(one, machine=f"m{n}") for n in range(3) for one in here]
    drawn = list(group_pictures("1c", many, several=True))
    assert [picture.key for picture in drawn] == [f"streamer-1c-m{n}" for n in range(3)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--no-measure"], "--no-measure: there is nothing to show"),
        (["--no-measure", "--run", "last"], "--no-measure: --run measures nothing either"),
        (["--no-measure", "--with", CSV, "--size", "1m"], "--size has no effect here"),
        (["--no-measure", "--with", "=x"], "--with: '=x' is not NAME=PATH"),
        (["--no-measure", "--with", "/none"], "/none: it cannot be read"),
        (["--run", "none-of-them"], "none-of-them"),
    ],
)
def test_requests_that_contradict_themselves_are_refused(
    arguments: list[object], said: str
) -> None:
    answer = call("streamer", *arguments)
    assert isinstance(answer.exception, UserError)
    assert said in str(answer.exception)
