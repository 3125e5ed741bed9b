"""Database operations: from options to specs, what is measured, and how it is shown."""

import io
import json
import re
import struct
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests import synthetic

from forked import tierscope
from tierscope.analysis.whatif import ordered
from tierscope.kinds.ops.show import local_of, sentences, side_by_side, slowdown
from tierscope.kinds.ops.spec import STRUCTURES
from tierscope.kinds.ops.work import work_of
from tierscope.kinds.views import VIEWS
from tierscope.machine.discover import discover
from tierscope.model.errors import UserError
from tierscope.model.event import Evidence
from tierscope.model.run import Figure, Measurement, Run
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.fit import longest_seconds
from tierscope.plans.request import Request
from tierscope.report.pictures.of_run import pictures_of
from tierscope.report.run import show_run
from tierscope.suites.ops_tour import in_json, show_tour, stops, tolerance, verdicts


def planned(machine: Topology, **options: str) -> list[Any]:
    return expand([Request(kind="ops", options=options)], machine, thp=True).measurements


# What a request asks for


def test_unasked_every_placement_of_every_part_is_measured(machine: Topology) -> None:
    nodes = [node.number for node in machine.nodes if node.total_bytes]
    specs = planned(machine, keys="1m")
    assert len(specs) == len(nodes) ** 2
    assert {spec.pattern.structure for spec in specs} == {"btree"}
    first = specs[0].identity()
    assert first["on_inner"] == first["on_leaves"] == specs[0].initiator
    assert len({(s.identity()["on_inner"], s.identity()["on_leaves"]) for s in specs}) == len(specs)


def test_a_placement_moves_the_parts_that_it_names(machine: Topology) -> None:
    last = max(node.number for node in machine.nodes if node.total_bytes)
    (spec,) = planned(machine, place=f"leaves=node:{last}", structure="btree")
    assert spec.identity()["on_leaves"] == f"node:{last}"
    assert spec.identity()["on_inner"] == spec.initiator
    assert spec.target == f"node:0,{last}"
    inner, leaves = spec.regions()
    assert (inner.placement.nodes[0].node, leaves.placement.nodes[0].node) == (0, last)
    both = planned(machine, place=f"tags=node:0 ; entries=node:0,{last}", structure="hash")
    assert [s.identity()["on_entries"] for s in both] == ["node:0", f"node:0,{last}"]


def test_each_combination_is_measured_once(machine: Topology) -> None:
    specs = planned(
        machine,
        structure="btree,hash",
        op="lookup,scan",
        distribution="uniform,zipf",
        interleave="1,8",
        to="node:0",
        keys="64k",
    )
    assert len(specs) == len({spec.id for spec in specs}) == 4 + 2 + 4
    scans = [spec for spec in specs if spec.pattern.operation == "scan"]
    assert {(s.pattern.structure, s.pattern.interleave, s.pattern.scan_length) for s in scans} == {
        ("btree", 1, 100)
    }
    assert {s.pattern.zipf_alpha for s in specs} == {None, 0.99}


def test_workloads_of_ycsb_ask_by_their_own_distributions(machine: Topology) -> None:
    every = "lookup,churn,ycsb-a,ycsb-d,ycsb-e"
    specs = planned(machine, op=every, structure="btree", to="node:0", keys="4m")
    found = {s.pattern.operation: (s.pattern.distribution, s.pattern.zipf_alpha) for s in specs}
    assert found == {
        "lookup": ("uniform", None),
        "churn": ("uniform", None),
        "ycsb-a": ("zipf", 0.99),
        "ycsb-d": ("latest", 0.99),
        "ycsb-e": ("zipf", 0.99),
    }
    (uniform,) = planned(machine, op="ycsb-a", distribution="uniform", to="node:0", keys="4m")
    assert uniform.pattern.distribution == "uniform"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"structure": "trie"}, "--structure: 'trie' is not one of"),
        ({"structure": "hash", "op": "scan"}, "--op: 'scan' goes with none of hash"),
        (
            {"structure": "hash", "leaf-node": "512"},
            "--leaf-node: goes with structure btree",
        ),
        ({"leaf-node": "100"}, "--leaf-node: '100': "),
        ({"place": "roots=node:0"}, "--place: 'roots' is not one of inner, leaves"),
        ({"place": "inner"}, "--place: 'inner' is neither 'all' nor such as inner=node:0"),
        ({"place": "inner=node:77"}, "--place: endpoint 'node:77'"),
        ({"zipf-alpha": "1"}, "--zipf-alpha: goes with distribution zipf or latest"),
        ({"distribution": "latest"}, "--distribution: 'latest': latest goes with operation ycsb-d"),
        ({"structure": "hash", "build": "aged"}, "--build: goes with structure btree"),
        ({"op": "insert", "build": "aged"}, "--build: goes with structure btree and operation"),
        (
            {"sharing": "shared"},
            "--sharing: goes with structure btree or hash and operation insert or update",
        ),
        ({"structure": "string-hash", "op": "scan"}, "--op: 'scan' goes with none of string-hash"),
        ({"structure": "hash", "op": "ycsb-e"}, "--op: 'ycsb-e' goes with none of hash"),
        ({"interleave": "65"}, "--interleave: 65 is too many"),
        (
            {"op": "insert", "interleave": "8"},
            "--interleave: goes with structure btree or hash or relations and operation lookup",
        ),
        ({"scan-length": "8"}, "--scan-length: goes with operation scan or ycsb-e"),
        (
            {"op": "insert", "keys": "1k"},
            "--keys: '1k': are fewer than the 262144 that 8 threads need",
        ),
        ({"keys": "file:/nowhere"}, "--keys: /nowhere is not a file"),
    ],
)
def test_what_cannot_be_asked_for_is_named(
    machine: Topology, options: dict[str, str], says: str
) -> None:
    with pytest.raises(UserError) as refused:
        planned(machine, **options)
    assert str(refused.value).startswith(says), refused.value


def test_a_file_of_keys_is_checked(machine: Topology, tmp_path: Path) -> None:
    keys = tmp_path / "keys.bin"
    keys.write_bytes(bytes(1001))
    with pytest.raises(UserError, match="has 1001 bytes, which are no 64-bit numbers"):
        planned(machine, keys=f"file:{keys}")
    keys.write_bytes(bytes(8000))
    (spec, *_) = planned(machine, keys=f"file:{keys}")
    assert (spec.pattern.keys, spec.pattern.distribution) == (1000, "file")
    with pytest.raises(UserError, match="--distribution: keys of a file"):
        planned(machine, keys=f"file:{keys}", distribution="zipf")


# What is measured


def measured_by_the_engine(*options: str) -> list[dict[str, Any]]:
    quick = ("--pages", "base", "--budget", "0.2", "--sample", "2ms", "--to", "node:0", "--json")
    done = tierscope("ops", *quick, *options)
    assert done.returncode in (0, 3), done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["results"]
    return found


def test_every_operation_is_measured_verified_and_timed() -> None:
    results = measured_by_the_engine(
        "--structure", "btree,hash", "--op", "lookup,insert,update,scan", "--keys", "128k"
    )
    results += measured_by_the_engine(
        "--structure", "btree,hash", "--op", "insert,update,churn,ycsb-a,ycsb-d,ycsb-e,ycsb-f",
        "--sharing", "shared", "--keys", "128k",
    )  # fmt: skip
    results += measured_by_the_engine(
        "--structure", "string-btree,string-hash", "--op", "lookup,update", "--keys", "128k"
    )
    assert len(results) == 7 + 13 + 4
    for result in results:
        assert result["status"] == "measured", result
        assert result["figures"][0]["metric"] == "operations"
        assert result["figures"][0]["estimate"] > 0
        assert "operations" in result["evidence"]["verified"]
        names = {figure["metric"] for figure in result["figures"]}
        assert {"time_per_operation", "operation_latency_p50"} <= names


def test_the_plan_knows_how_many_bytes_the_engine_takes() -> None:
    topology = discover()
    for options in (
        ("--structure", "btree,hash", "--op", "lookup,insert,update", "--keys", "100001"),
        (
            "--structure",
            "btree,hash",
            "--op",
            "update,churn,ycsb-d",
            "--sharing",
            "shared",
            "--keys",
            "100003",
        ),
        ("--inner-node", "128,2k", "--leaf-node", "1k", "--op", "insert", "--keys", "65600"),
        ("--build", "aged", "--op", "lookup,update", "--keys", "100005"),
        ("--structure", "string-btree,string-hash", "--op", "lookup,update", "--keys", "100007"),
    ):
        given = dict(zip((name[2:] for name in options[::2]), options[1::2], strict=True))
        specs = planned(topology, to="node:0", pages="base", **given)
        for spec, result in zip(specs, measured_by_the_engine(*options), strict=True):
            assert result["id"] == spec.id
            assert result["evidence"]["region_bytes"] == spec.host_bytes()


def test_an_aged_tree_is_measured_and_says_how_full_its_leaves_are() -> None:
    asked = ("--structure", "btree", "--keys", "64k", "--build", "bulk,aged")
    results = measured_by_the_engine(*asked, "--op", "lookup,update,scan,churn")
    full: dict[str, list[int]] = {"bulk": [], "aged": []}
    for result in results:
        assert result["status"] == "measured", result
        (percent,) = re.findall(r"leaves (\d+)% full", result["evidence"]["verified"])
        full[result["pattern"]["build"]].append(int(percent))
    assert len(full["bulk"]) == len(full["aged"]) == 4
    # Churn inserts and deletes while it is measured.
    assert all(85 <= percent <= 95 for percent in full["bulk"][:3])
    assert all(25 <= percent <= 45 for percent in full["aged"][:3])


def test_an_aged_tree_takes_time_to_build(machine: Topology) -> None:
    specs = planned(machine, keys="16m", build="bulk,aged", to="node:0", threads="1")
    bulk, aged = longest_seconds(specs)
    assert aged > bulk + 10
    assert specs[1].set_up_s() > specs[0].set_up_s() + 100


def test_pages_are_read_back_part_by_part() -> None:
    (result,) = measured_by_the_engine("--keys", "64k", "--threads", "1", "--interleave", "8")
    evidence = result["evidence"]
    assert set(evidence["arrays"]) == {"inner", "leaves"}
    assert sum(part["0"] for part in evidence["arrays"].values()) == evidence["pages"]["0"]


def test_keys_of_a_file_are_looked_up_in_its_order(tmp_path: Path) -> None:
    keys = tmp_path / "keys.bin"
    keys.write_bytes(b"".join(struct.pack("<Q", n * n % 10007) for n in range(20000)))
    results = measured_by_the_engine(
        "--keys", f"file:{keys}", "--op", "lookup,update,scan", "--threads", "1"
    )
    assert [result["status"] for result in results] == ["measured"] * 3


# How it is shown


def placed(inner: str, leaves: str, rate: float, half: float = 0.01) -> Measurement:
    pattern = {
        "structure": "btree", "operation": "lookup", "keys": 1 << 20, "distribution": "uniform",
        "interleave": 1, "pages": "thp", "sample_every": 64, "threads": 4,
        "on_inner": inner, "on_leaves": leaves,
    }  # fmt: skip
    nodes = sorted({inner, leaves})
    pages = {name.removeprefix("node:"): 10 for name in nodes}
    return Measurement(
        id=f"{inner}-{leaves}",
        kind="ops",
        initiator="node:0",
        target=",".join(nodes).replace(",node:", ","),
        cpus=[0, 1, 2, 3],
        pattern=pattern,
        status="measured",
        figures=[
            Figure(
                metric="operations",
                unit="1/s",
                estimate=rate,
                ci_low=rate * (1 - half),
                ci_high=rate * (1 + half),
            )
        ],
        n=20,
        repetitions=4,
        stop="precision",
        samples=[rate],
        evidence=Evidence(pages=pages, page_bytes=4096, timer_ns=20.0),
    )


def all_placements() -> list[Measurement]:
    return [
        placed("node:0", "node:0", 10e6),
        placed("node:0", "node:2", 9.2e6),
        placed("node:2", "node:0", 5e6),
        placed("node:2", "node:2", 4e6),
    ]


def test_the_slowdown_and_its_interval_come_from_both_figures() -> None:
    local, leaves, inner, _ = all_placements()
    assert local_of([leaves, inner, local]) is local
    assert local_of([leaves, inner]) is None
    found = slowdown(inner, local)
    assert found.estimate == 2.0
    assert found.ci_low == pytest.approx(2 * 0.99 / 1.01)
    assert found.ci_high == pytest.approx(2 * 1.01 / 0.99)
    assert [len(group) for group in side_by_side(all_placements())] == [4]


def test_the_sentence_says_what_the_intervals_allow() -> None:
    (said,) = sentences(all_placements())
    assert said == (
        "btree lookup: leaves on node:2 cost 8% (6% to 10%), inner on node:2 cost 50% "
        "(49% to 51%) at 4 threads"
    )
    unclear = [placed("node:0", "node:0", 10e6, 0.2), placed("node:0", "node:2", 9.2e6)]
    assert list(sentences(unclear)) == [
        "btree lookup: what leaves on node:2 cost is within the intervals at 4 threads"
    ]
    assert list(sentences(all_placements()[:1])) == []


def test_the_table_has_each_placement_with_its_slowdown_and_bytes_elsewhere() -> None:
    run = Run(header=synthetic.header(), measurements=all_placements(), footer=None)
    console = Console(file=io.StringIO(), width=100)
    show_run(console, run, Path("run.jsonl"), {"ops": VIEWS["ops"]})
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 100
    row = next(line for line in lines if line.split()[1:3] == ["node:2", "node:0"])
    assert "2.00" in row
    assert "40 KiB" in row
    assert any("inner on node:2 cost 50%" in line for line in lines)


def test_pictures_show_placements_and_sweeps() -> None:
    swept = [
        m.model_copy(update={"id": f"{m.id}-{n}", "pattern": {**m.pattern, "interleave": n}})
        for m in all_placements()
        for n in (1, 2, 4, 8)
    ]
    run = Run(header=synthetic.header(), measurements=swept, footer=None)
    pictures = list(pictures_of(run, "ops", {"ops": VIEWS["ops"]}))
    titles = [picture.title for picture in pictures]
    assert sum("by placement" in title for title in titles) == 4
    assert "Btree lookup over interleave" in titles
    assert "all on node:2: 2.5" in pictures[0].alt


# The tour


def test_the_tour_says_which_operations_tolerate_which_memory() -> None:
    lookups = [placed("node:0", "node:0", 10e6), placed("node:2", "node:2", 4e6)]
    scans = [
        m.model_copy(update={"id": f"scan-{m.id}", "pattern": {**m.pattern, "operation": "scan"}})
        for m in (placed("node:0", "node:0", 10e6), placed("node:2", "node:2", 9.5e6))
    ]
    run = Run(header=synthetic.header(), measurements=[*lookups, *scans], footer=None)
    assert list(verdicts(stops(run))) == [
        "node:2. Tolerated by: btree scan, 4 threads. Not tolerated by: btree lookup, 4 threads."
    ]
    said = [tolerance(ordered(ends[0], ends)) for ends in ((1.0, 1.2), (1.1, 1.3), (1.21, 2.0))]
    assert said == ["Tolerated by", "Undecided", "Not tolerated by"]
    console = Console(file=io.StringIO(), width=100)
    show_tour(console, run)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert text.splitlines()[0].strip().startswith("node:2. Tolerated by: btree scan")
    assert max(map(len, text.splitlines())) <= 100
    (lookup, scan) = in_json(run)["tour"]
    assert lookup["elsewhere"]["node:2"]["tolerated"] is False
    assert scan["elsewhere"]["node:2"]["tolerated"] is True


def test_the_tour_is_what_no_options_ask_for() -> None:
    plan = json.loads(tierscope("ops", "--dry-run", "--budget", "0.1", "--json").stdout)["plan"]
    asked = [m for m in plan["measurements"] if m["kind"] == "ops"]
    assert {m["pattern"]["structure"] for m in asked} == set(STRUCTURES)
    assert {"ycsb-a", "scan"} <= {m["pattern"]["operation"] for m in asked}
    topology = discover()
    if len([node for node in topology.nodes if node.total_bytes]) == 1:
        assert "latency" in {m["kind"] for m in plan["measurements"]}
    one = json.loads(tierscope("ops", "--dry-run", "--to", "node:0", "--json").stdout)["plan"]
    assert len(one["measurements"]) == 1


def test_what_writes_moves_more_lines() -> None:
    local = placed("node:0", "node:0", 1e6)
    reads, writes, inserts = (
        work_of(local.model_copy(update={"pattern": pattern}))
        for pattern in (
            {**local.pattern, "operation": name, "inner_node": 256, "leaf_node": 512}
            for name in ("ycsb-c", "ycsb-a", "churn")
        )
    )
    assert reads
    assert writes
    assert inserts
    moved = [sum(one.lines for one in work.visits) for work in (reads, writes, inserts)]
    assert moved == sorted(set(moved))
    assert (reads.writes, writes.writes, inserts.writes) == (False, True, True)
