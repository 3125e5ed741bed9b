"""A run of the study of coherent GPUs beside its published figures: table, JSON, page, pictures."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.gpu.gpu_machine import measured, plan_of, run_with
from tests.topology.coherent_machines import gh200

from forked import tierscope
from tierscope.kinds.ops.show import cached_parts
from tierscope.kinds.plan import PLAN_VERSION, Plan, Spec
from tierscope.machine.hwloc import read_hwloc
from tierscope.model.run import Measurement, Run
from tierscope.model.topology import Topology
from tierscope.runs.read import read_run
from tierscope.runs.write import RunWriter
from tierscope.suites.coherent_gpu import LOOKUP
from tierscope.suites.coherent_gpu_published import HEADLINES, MAPS, published_map
from tierscope.suites.registry import SUITES, beside_of

WIDTH = 100
TREE = {
    ("node:0", "node:0"): 42.9e6,
    ("node:0", "node:1"): 40.3e6,
    ("node:1", "node:0"): 17.8e6,
    ("node:1", "node:1"): 15.2e6,
}
MEMORIES = {"node:0": "local", "node:1": "gpu"}
AT_90_GIB = {
    ("node:0", "sequential", "read"): 281e9,
    ("node:0", "sequential", "write"): 236e9,
    ("node:0", "random", "write"): 192e9,
    ("node:1", "random", "read"): 91e9,
}
GAINS = {("sequential", "read"): 1.3, ("sequential", "write"): 1.6, ("random", "write"): 1.7}


def as_published(spec: Any) -> float:
    """The published figure of a measurement, or one that is worse than the best."""
    one = spec.identity()
    if spec.kind == "bandwidth":
        what = (one["order"], one["operation"])
        if spec.target in MEMORIES:
            if one["size"] > 7 << 30:
                return AT_90_GIB.get((spec.target, *what), 50e9)
            return published_map(MEMORIES[spec.target], *what)[one["access_size"], one["threads"]]
        best = AT_90_GIB.get(("node:0", *what), 1e9) * GAINS.get(what, 1)
        return best if spec.target.endswith("@4:1") else best / 2
    if spec.kind == "chain":
        return TREE[spec.target, one["second"]]
    idle, loaded = {"node:0": (220, 435), "node:1": (810, 1020)}[spec.target]
    return loaded if one.get("load_threads") else idle


def is_needed(spec: Any) -> bool:
    """Whether it is the study's, and among the fewest that make all headlines."""
    one = spec.identity()
    if one.get("pages") != "base" or one.get("policy") == "partition":
        return False
    if spec.kind == "chain":
        return bool(one["threads"] == 72 and one["chain"] == LOOKUP)
    if spec.kind == "loaded-latency":
        return one["load_threads"] in (0, 71) and one["mix"] == "100:0"
    small = one.get("size", 0) <= 7 << 30
    return small or (one["size"] == 90 << 30 and one.get("threads") == 72)


def with_value(spec: Spec, topology: Topology) -> Measurement:
    found, value = measured(spec, topology), as_published(spec)
    change: dict[str, Any] = {"estimate": value, "ci_low": value * 0.99, "ci_high": value * 1.01}
    if spec.kind == "chain":
        change |= {"metric": "operations", "unit": "1/s"}
    headline = found.figures[0].model_copy(update=change)
    return found.model_copy(update={"figures": [headline], "samples": [value] * found.n})


@pytest.fixture(scope="module")
def grace_hopper(tmp_path_factory: pytest.TempPathFactory) -> Topology:
    return read_hwloc(gh200(tmp_path_factory.mktemp("gh200")))


@pytest.fixture(scope="module")
def run(grace_hopper: Topology) -> Run:
    """A run that found what was published."""
    whole = SUITES["coherent-gpu"].prepare(grace_hopper, thp=True).plan.measurements
    specs = [spec for spec in whole if spec.target in MEMORIES or "@" in spec.target]
    specs = [spec for spec in specs if is_needed(spec)]
    plan = Plan(version=PLAN_VERSION, measurements=specs)
    found = run_with(plan, grace_hopper, [with_value(spec, grace_hopper) for spec in specs])
    header = found.header.model_copy(
        update={"command": ["tierscope", "run", "--profile", "coherent-gpu"]}
    )
    return found.model_copy(update={"header": header})


@pytest.fixture(scope="module")
def run_file(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "grace.jsonl"
    writer = RunWriter.create(path, run.header)
    for record in (*run.measurements, *([run.footer] if run.footer else [])):
        writer.add(record)
    writer.close()
    assert read_run(path).measurements == run.measurements
    return path


def rows_of(run: Run) -> dict[str, list[str]]:
    found = beside_of(run)
    assert found is not None
    return {row[0]: row[1:] for row in found.summary.rows}


def changed(run: Run, change: Callable[[Measurement], Measurement]) -> Run:
    return run.model_copy(update={"measurements": list(map(change, run.measurements))})


def test_published_figures_have_the_published_ratios(run: Run) -> None:
    rows = rows_of(run)
    assert len(rows) == len(HEADLINES)
    ratios = {what: cells[1].partition(" (")[0] for what, cells in rows.items()}
    assert ratios == {
        "sequential read: local → GPU": "35.9%",
        "random read: local → GPU": "37.1%",
        "sequential write: local → GPU": "44.1%",
        "random write: local → GPU": "45.4%",
        "idle latency: local → GPU": "3.68x",
        "loaded latency: local → GPU": "2.34x",
        "random read of GPU: 7 → 90 GiB": "71.1%",
        "tree lookup: leaves → GPU": "6.1%",
        "tree lookup: inner → GPU": "58.5%",
        "sequential read: local → both": "1.30x",
        "sequential write: local → both": "1.60x",
        "random write: local → both": "1.70x",
    }
    # Beside them stands what the study states, and both figures where it has them.
    for one in HEADLINES:
        assert rows[one.what][2:] == [one.figures, one.ratio]
        here, published = rows[one.what][0].split(" → "), one.figures.split(" → ")
        assert published[1].startswith("–") or abs(float(here[0]) / float(published[0]) - 1) < 0.01
    assert rows["idle latency: local → GPU"][1] == "3.68x (3.61–3.76x)"


def test_what_was_not_measured_is_said_with_its_reason(run: Run) -> None:
    def without_latency(m: Measurement) -> Measurement:
        if m.metric != "latency" or m.target != "node:1" or "load_threads" in m.pattern:
            return m
        return m.model_copy(
            update={"status": "skipped", "figures": [], "reason": "node 1 lacks room"}
        )

    found = beside_of(changed(run, without_latency))
    assert found is not None
    rows = {row[0]: row[1:] for row in found.summary.rows}
    assert rows["idle latency: local → GPU"] == ["not measured", "", "220 → 810 ns", "3.7x"]
    assert "not measured: idle latency: local → GPU: node 1 lacks room" in found.summary.notes
    only = run.model_copy(update={"measurements": [m for m in run.measurements
                                                   if "chain" in m.pattern]})  # fmt: skip
    assert rows_of(only)["random write: local → GPU"][0] == "not measured"
    in_json = beside_of(only)
    assert in_json is not None
    reasons = {row["what"]: row["reason"] for row in in_json.json["published_study"]["rows"]}
    assert reasons["tree lookup: leaves → GPU"] == ""
    assert reasons["random write: local → GPU"] == "not in this run"


def test_other_runs_have_no_published_study(run: Run) -> None:
    other = run.header.model_copy(update={"command": ["tierscope", "run", "quick"]})
    assert beside_of(run.model_copy(update={"header": other})) is None
    assert beside_of(run.model_copy(update={"measurements": []})) is None
    unknown = run.header.model_copy(update={"topology": None})
    assert beside_of(run.model_copy(update={"header": unknown})) is None


def test_a_kept_run_shows_it_again(run_file: Path) -> None:
    done = tierscope("show", run_file, environment={"COLUMNS": str(WIDTH)})
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    title = lines.index("This run beside the published study of Grace Hopper")
    table = lines[title : title + 4 + len(HEADLINES)]
    assert max(map(len, table)) <= WIDTH
    row = next(line for line in table if "inner → GPU" in line)
    assert row.split() == ["tree", "lookup:", "inner", "→", "GPU", "42.9", "→", "17.8", "M/s",
                           "58.5%", "(57.7–59.3%)", "42.9", "→", "17.8", "M/s", "58%"]  # fmt: skip
    found = json.loads(tierscope("show", run_file, "--json").stdout)["published_study"]
    rows = {row["what"]: row for row in found["rows"]}
    assert rows["idle latency: local → GPU"]["estimate"] == pytest.approx(810 / 220)
    assert rows["tree lookup: leaves → GPU"]["estimate"] == pytest.approx(1 - 40.3 / 42.9)


def test_the_page_has_the_table_and_a_map_for_each_published_one(
    run_file: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    done = tierscope("report", run_file, "-o", page, "--svg", tmp_path / "pictures")
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert "This run beside the published study of Grace Hopper" in text
    assert len(text) < 3_000_000
    names = {f"published-{'-'.join(what)}.svg" for what in MAPS}
    assert names <= {path.name for path in (tmp_path / "pictures").iterdir()}
    assert all(name.removesuffix(".svg") in text for name in names)


def pictures(run: Run) -> Iterator[Any]:
    found = beside_of(run)
    assert found is not None
    return found.pictures()


def test_maps_show_both_figures_of_each_cell_and_their_ratio(run: Run) -> None:
    def doubled(m: Measurement) -> Measurement:
        ends = {name: 2 * getattr(m.figures[0], name) for name in ("estimate", "ci_low", "ci_high")}
        return m.model_copy(update={"figures": [m.figures[0].model_copy(update=ends)]})

    found = list(pictures(changed(run, doubled)))
    assert len(found) == len(MAPS)
    for picture in found:
        rows = picture.spec["data"]["values"]
        assert len(rows) == 19 * 11
        assert {round(row["steps"], 6) for row in rows} == {1.0}
    corner = next(row for row in found[0].spec["data"]["values"]
                  if (row["row"], row["column"]) == ("64 KiB", "72"))  # fmt: skip
    assert (corner["text"], corner["published"]) == ("714", "357")
    assert "2.00 to 2.00 times the published" in found[0].alt


def test_published_maps_have_the_published_peaks() -> None:
    peaks = {what: round(max(published_map(*what).values()) / 1e9) for what in MAPS}
    assert peaks == {
        ("local", "sequential", "read"): 362,
        ("local", "random", "read"): 345,
        ("local", "sequential", "write"): 370,
        ("local", "random", "write"): 370,
        ("gpu", "sequential", "read"): 130,
        ("gpu", "random", "read"): 128,
        ("gpu", "sequential", "write"): 163,
        ("gpu", "random", "write"): 168,
    }


def test_parts_of_a_tree_that_the_cache_holds_are_named(grace_hopper: Topology) -> None:
    small, large = (
        plan_of("ops", grace_hopper, structure="btree", keys=keys, threads="all")
        for keys in ("8m", "16g")
    )
    for plan, notes in ((small, 1), (large, 0)):
        run = run_with(
            plan, grace_hopper, [measured(one, grace_hopper) for one in plan.measurements]
        )
        found = list(cached_parts(run.measurements, run))
        assert len(found) == notes
        assert all("(114 MiB) can hold the part inner (" in line for line in found)
