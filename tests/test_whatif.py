"""tierscope whatif: predictions from runs, for tiers that are stated or were measured."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests import synthetic

from forked import tierscope
from tierscope.analysis.tiers import parse_tier
from tierscope.analysis.whatif import WhatIf
from tierscope.kinds.ops.spec import STRUCTURES, OpsPattern, inner_levels
from tierscope.kinds.registry import KINDS
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement, Run
from tierscope.model.topology import Cache
from tierscope.report.whatif import show_whatif, whatif_json
from tierscope.suites.whatif import predicted, tier_name, tier_of

GIB = 1 << 30
BTREE = {
    "structure": "btree", "operation": "lookup", "keys": 64 << 20, "pages": "thp",
    "distribution": "uniform", "interleave": 1, "inner_node": 256, "leaf_node": 512,
    "sample_every": 64, "threads": 1, "on_inner": "node:0", "on_leaves": "node:0",
}  # fmt: skip
MAKER = synthetic.Maker(noise=0.002)


def made(kind: str, pattern: dict[str, Any], value: float, unit: str, **more: Any) -> Measurement:
    target = more.pop("target", "node:0")
    changes = {key: more.pop(key) for key in ("metric",) if key in more}
    found = MAKER.make(kind, "node:0", target, pattern, value, unit, **changes)
    return found.model_copy(update=more)


def chase(size: int, ns: float, **more: Any) -> Measurement:
    pattern = {"order": "random", "pages": "thp", "size": size, "chases": 1, "stride": 256}
    return made("latency", pattern, ns, "ns", **more)


def tree(**changes: Any) -> Measurement:
    return made("ops", {**BTREE, **changes}, 2e6, "1/s", metric="operations", id="tree")


def machine(**changes: Any) -> Any:
    caches = [
        Cache(level=level, type="unified", size_bytes=size, cpus=list(range(64)))
        for level, size in ((1, 32 << 10), (2, 1 << 20), (3, 32 << 20))
    ]
    return synthetic.topology().model_copy(update={"caches": caches, **changes})


def run(*measurements: Measurement, **header: Any) -> Run:
    """All that a prediction of a B+-tree takes: 500 ns a lookup, 90 ns in caches."""
    own = [
        tree(),
        made("ops", {**BTREE, "keys": 8192}, 1e9 / 60, "1/s", metric="operations",
             id="cached.tree", fits_caches=True),
        chase(2 * GIB, 110),
        chase(GIB, 100),
        chase(16 << 20, 30, fits_caches=True),
        *(made("traffic", {"mix": "100:0", "writes": 0, "stores": "ordinary", "threads": threads,
                           "order": "sequential", "access_size": 64, "pages": "base",
                           "size": GIB}, rate, "B/s")
          for threads, rate in ((1, 12e9), (16, 100e9))),
    ]  # fmt: skip
    return synthetic.run([*own, *measurements], topology=machine(), **header)


def found(*tiers: str, of: Run | None = None) -> WhatIf:
    return predicted([of or run()], [parse_tier(one) for one in tiers])


def test_leaves_and_inner_nodes_are_predicted_apart() -> None:
    (answer,) = found("260ns,30GB/s").answers
    ((_, (inner, leaves, both)),) = answer.predictions
    assert (inner.parts, leaves.parts, both.parts) == (
        ("inner",), ("leaves",), ("inner", "leaves"),
    )  # fmt: skip
    assert answer.work.cached is not None
    assert 1 < leaves.slowdown.estimate < both.slowdown.estimate
    # At most all of the 500 ns are waiting, for memory of 100 ns.
    assert both.waits.high <= 500 * 1.02 / 99
    assert both.time.high < 500 * 1.02 * (1 + 155 / 99)
    assert both.slowdown.low > 1.5


def test_pages_are_spread_by_the_bandwidths() -> None:
    ((tier, spread),) = found("260ns,30GB/s").expansions
    assert tier.name == "260ns,30GB/s"
    assert spread.threads == 16
    assert spread.gain.estimate == pytest.approx(1.3, rel=0.03)
    assert spread.gain.low <= spread.gain.estimate <= spread.gain.high
    assert not found("260ns").expansions


def test_a_measured_tier_is_the_slowest_memory_of_its_run() -> None:
    loaded = [
        made("loaded-latency", {"order": "random", "pages": "thp", "size": GIB, "chases": 1,
                                "mix": "100:0", "delay_ns": delay, "load_threads": 8}, ns, "ns",
             target="node:2", id=f"loaded.{delay}")
        for delay, ns in ((1000, 310), (100, 350), (0, 700))
    ]  # fmt: skip
    slow = run(chase(GIB, 300, target="node:2"), *loaded)
    assert tier_of(slow, "", "there").latency.estimate == pytest.approx(300, rel=0.02)
    assert tier_of(slow, "node:0", "there").latency.estimate == pytest.approx(100, rel=0.15)
    with pytest.raises(UserError, match="has an idle latency of node:0, node:2, not of node:7"):
        tier_of(slow, "node:7", "there")
    assert tier_name("cxl-host:node:2") == ("cxl-host", "node:2")
    assert tier_name("./a/run.jsonl") == ("./a/run.jsonl", "")


def test_what_lies_on_several_nodes_or_in_caches_is_not_predicted() -> None:
    work_of = KINDS["ops"].work.work_of
    assert work_of(tree()) is not None
    assert work_of(tree(on_leaves="node:2")) is None
    small = run().model_copy(
        update={"measurements": [tree().model_copy(update={"fits_caches": True}), chase(GIB, 100)]}
    )
    with pytest.raises(UserError, match="no figure of operations, chains or traffic"):
        found("250ns", of=small)


def test_a_figure_that_lacks_its_properties_is_left_out() -> None:
    broken = [tree().model_copy(update={"pattern": {"structure": "btree"}, "id": "broken"}),
              made("chain", {"chain": "?", "size": GIB, "threads": 1}, 100, "ns"),
              made("chain", {"chain": "r_64"}, 100, "ns")]  # fmt: skip
    assert len(found("250ns", of=run(*broken)).answers) == 1


@pytest.mark.parametrize(
    ("structure", "operation", "own", "most"),
    [
        ("hash", "lookup", {}, "entries"),
        ("string-btree", "lookup", {"inner_node": 256, "leaf_node": 512}, "inner"),
        ("string-hash", "update", {}, "entries"),
        ("column", "filter",
         {"key_bytes": 8, "selectivity": 0.01, "found": "positions"}, "column"),
        ("relations", "join", {"probe_ratio": 1, "misses": 0.0, "partitions": 1}, "table"),
        ("runs", "merge", {"runs": 8}, "output"),
        ("runs", "sort", {"runs": 8}, "runs"),
        ("lsm", "lookup", {"ratio": 10, "misses": 0.0}, "fences"),
    ],
)  # fmt: skip
def test_every_structure_says_what_it_waits_for(
    structure: str, operation: str, own: dict[str, Any], most: str
) -> None:
    parts = STRUCTURES[structure].parts
    pattern = {
        "structure": structure, "operation": operation, "keys": 32 << 20, "pages": "thp",
        "distribution": "uniform", "interleave": 1, "sample_every": 64, "threads": 4, **own,
        **{f"on_{part}": "node:0" for part in parts},
    }  # fmt: skip
    work = KINDS["ops"].work.work_of(made("ops", pattern, 5e6, "1/s", metric="operations"))
    assert work is not None
    assert set(work.parts) <= set(parts)
    lines = {part: sum(v.lines for v in work.visits if v.part == part) for part in work.parts}
    assert max(lines, key=lambda part: lines[part]) == most
    assert all(0 < v.loads <= v.lines and v.reuse > 0 for v in work.visits)


@given(st.integers(1000, 1 << 32), st.sampled_from([128, 256, 2048]), st.integers(1, 8))
def test_a_trees_levels_are_those_that_it_is_built_of(keys: int, node: int, threads: int) -> None:
    fields = {name: BTREE[name] for name in BTREE if name in OpsPattern.model_fields}
    pattern = OpsPattern(**{**fields, "keys": keys, "inner_node": node})
    inner, _ = STRUCTURES["btree"].part_bytes(pattern, threads)
    # There is room for one node more.
    assert (sum(inner_levels(pattern, threads)) + 1) * node == inner


def test_a_chain_waits_for_each_of_its_reads() -> None:
    pattern = {"chain": "r_64,m1_r_64", "size": GIB, "pages": "thp", "linked": True, "threads": 1,
               "interleave": 1, "second": "node:0"}  # fmt: skip
    work = KINDS["chain"].work.work_of(made("chain", pattern, 210, "ns"))
    assert work is not None
    assert work.dependent
    assert [(one.part, one.loads) for one in work.visits] == [("m0", 1), ("m1", 1)]
    elsewhere = made("chain", {**pattern, "second": "node:2"}, 210, "ns")
    assert KINDS["chain"].work.work_of(elsewhere) is None


def test_the_tables_fit_and_say_what_is_assumed_and_not_known() -> None:
    text = StringIO()
    said = found("260ns,30GB/s", "+400ns")
    show_whatif(Console(file=text, width=100), said, ["a-run"])
    assert all(len(line) <= 100 for line in text.getvalue().splitlines())
    words = " ".join(text.getvalue().split())
    assert words.startswith("260ns,30GB/s: idle latency")
    assert "Not known here: what prefetchers do" in words
    assert "+400ns: without a bandwidth, only its latency bounds operations." in words
    data = whatif_json(said, ["a-run"])
    assert [one["name"] for one in data["tiers"]] == ["260ns,30GB/s", "+400ns"]
    predictions = data["operations"][0]["predictions"]
    assert [one["on_tier"] for one in predictions[:3]] == [
        ["inner"],
        ["leaves"],
        ["inner", "leaves"],
    ]


def test_a_tier_that_is_faster_than_local_memory_is_named_so() -> None:
    text = StringIO()
    show_whatif(Console(file=text, width=100), found("60ns"), ["a-run"])
    assert "no slower than local memory as measured here" in " ".join(text.getvalue().split())


def test_the_command_predicts_from_a_run_without_measuring(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    synthetic.write(run(), file)
    done = tierscope("whatif", "--tier", "260ns,30GB/s", str(file), "--json")
    assert done.returncode == 0, done.stderr
    (operation,) = json.loads(done.stdout)["operations"]
    assert operation["predictions"][-1]["bound_by"] == "latency"


def test_a_measured_chain_is_predicted_here(tmp_path: Path) -> None:
    asked = ["--chain", "r_64", "--threads", "1", "--budget", "0.3"]  # Larger than the caches.
    assert tierscope("chain", *asked, "-o", str(tmp_path)).returncode == 0
    (file,) = tmp_path.glob("*.jsonl")
    done = tierscope("whatif", "--tier", "+100ns", str(file), "--json", "-o", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "that predictions need, at most about" in done.stderr
    found = json.loads(done.stdout)
    (operation,) = found["operations"]
    (prediction,) = operation["predictions"]
    assert prediction["waits"]["high"] == pytest.approx(1, rel=0.05)
    assert prediction["slowdown"]["low"] >= 1
    # What it measured serves the next prediction.
    more = next(path for path in tmp_path.glob("*.jsonl") if path != file)
    again = tierscope("whatif", "--tier", "+100ns", str(file), str(more), "--dry-run")
    assert again.stdout == "the runs have all that is needed; nothing would be measured\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--tier", "250"], "--tier: '250': '250' is neither a latency in ns or us nor"),
        (["--tier", "250ns,30"], "--tier: '250ns,30': '30' is neither"),
        (["--tier", "no-such-run"], "--tier: run 'no-such-run' is neither a file nor"),
        (["--tier", "250ns", "no-such-run"], "run 'no-such-run' is neither a file nor"),
    ],
)
def test_the_command_refuses_in_one_line(words: list[str], message: str) -> None:
    done = tierscope("whatif", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_another_machines_run_that_lacks_figures_is_not_completed_here(tmp_path: Path) -> None:
    own = run()
    spec = {"id": "tree"}
    assert own.header.host != "here"
    file = tmp_path / "run.jsonl"
    lacking = synthetic.run([tree()], topology=machine(), plan={"measurements": [spec]})
    synthetic.write(lacking, file)
    done = tierscope("whatif", "--tier", "250ns", str(file))
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1
