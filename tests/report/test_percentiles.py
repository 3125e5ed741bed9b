"""Percentiles of single operations, wherever figures are shown, compared and checked."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console
from tests import synthetic

from tierscope.analysis.compare import compare
from tierscope.analysis.expect import Finding, check, parse_rule
from tierscope.kinds.views import VIEWS
from tierscope.kinds.vocabulary import vocabulary
from tierscope.model.metric import COMPARED
from tierscope.model.run import Figure, Measurement, Run
from tierscope.report.compare import show_comparison
from tierscope.report.pictures.draw import svg_for_file
from tierscope.report.pictures.percentiles import percentiles
from tierscope.report.pictures.picture import Picture, PictureInput
from tierscope.report.run import show_run
from tierscope.runs.export import to_json
from tierscope.runs.query import query
from tierscope.runs.read import read_run
from tierscope.runs.write import RunWriter


@pytest.fixture(scope="module")
def run() -> Run:
    return synthetic.run(synthetic.timed_operations())


def checked(run: Run, rule: str) -> list[Finding]:
    every, named = rule.startswith("every "), rule.removeprefix("every ")
    text = f"{'every ' * every}node:0 -> file:* {named}"
    return check(run, [parse_rule(text, vocabulary())])


# Golden values.


@pytest.mark.parametrize(
    ("rule", "passed"),
    [
        ("metric=io_latency_p99: <= 200 us", True),
        ("metric=io_latency_p99: <= 20 us", False),
        ("metric=io_latency_p99.9: <= 2 ms", False),
        ("every metric=io_latency_p50: <= 300 us", True),
        ("every metric=io_latency_p50: <= 200 us", False),
    ],
)
def test_a_rule_is_about_the_percentile_that_it_names(run: Run, rule: str, passed: bool) -> None:
    findings = checked(run, rule)
    assert len(findings) == (7 if rule.startswith("every") else 1)
    assert all(finding.verdict == "met" for finding in findings) is passed


def test_a_percentile_that_was_not_given_is_not_measured(run: Run) -> None:
    (finding,) = checked(run, "metric=io_latency_p99.999: <= 1 ms")
    assert finding.verdict == "not measured"
    assert finding.said == "it matches no measurement of this run"


def parted(measurement: Measurement) -> Measurement:
    reads, writes = (
        Figure(metric="io_latency_p99", part=part, unit="ns", estimate=ns, ci_low=ns, ci_high=ns)
        for part, ns in (("read", 1e5), ("write", 9e5))
    )
    return synthetic.changed(measurement, figures=[reads, writes])


@pytest.mark.parametrize(
    ("rule", "passed"),
    [("", [True, False]), (" part=read", [True]), (" part=write", [False]), (" part=x", [False])],
)
def test_each_part_has_to_pass_unless_one_is_named(run: Run, rule: str, passed: list[bool]) -> None:
    mixed = synthetic.run([parted(run.measurements[0])])
    findings = checked(mixed, f"metric=io_latency_p99{rule}: <= 0.5 ms")
    assert [finding.verdict == "met" for finding in findings] == passed


# Comparisons.


def test_a_tail_that_grew_is_found_and_nothing_else(run: Run) -> None:
    slower = synthetic.run(synthetic.timed_operations(seed=2, slower=3.0))
    found = compare(("base", run), ("new", slower), 0.02)
    of_io = [name for name in COMPARED if name.startswith("io_")]
    assert len(found.differences) == 7 * (1 + len(of_io))
    changed = {d.metric for d in found.differences if d.verdict in ("slower", "faster")}
    assert changed == {"io_latency_p99.9"}
    console = Console(file=io.StringIO(), width=140)
    show_comparison(console, found)
    assert isinstance(console.file, io.StringIO)
    assert re.search("io latency p99.9: [5-7] of 7 slower", console.file.getvalue())


def test_a_run_has_the_percentiles_that_it_has(run: Run) -> None:
    found = compare(("base", run), ("new", run), 0.02)
    assert not [d for d in found.differences if d.verdict in ("slower", "faster")]


# Files, exports, tables.


def test_run_files_exports_and_queries_have_the_distribution(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    writer = RunWriter.create(path, run.header)
    for measurement in run.measurements:
        writer.add(measurement)
    writer.close()
    again = read_run(path)
    unexplained = [one.model_copy(update={"reason": ""}) for one in again.measurements]
    assert unexplained == run.measurements
    first = json.loads(to_json(again))["results"][0]
    (distribution,) = first["distributions"]
    assert sum(distribution["histogram"][1::2]) == 8 * 10 * 2000
    names = [figure["metric"] for figure in first["figures"]]
    assert "io_latency_p99.99" in names
    assert "io_latency_p99.999" not in names
    _, rows, _ = query(
        [path],
        "SELECT json_array_length(distributions->0->'histogram') FROM measurements LIMIT 1",
    )
    assert rows[0][0] == len(distribution["histogram"])


@pytest.mark.parametrize("histogram", ["[5,0]", "[5,1,4,1]", "[5]", "[99999,1]"])
def test_a_run_file_with_impossible_counts_is_damaged(
    run: Run, tmp_path: Path, histogram: str
) -> None:
    line = json.loads(run.measurements[0].model_dump_json())
    line["distributions"][0]["histogram"] = json.loads(histogram)
    path = tmp_path / "run.jsonl"
    path.write_text(f"{run.header.model_dump_json()}\n{json.dumps(line)}\n")
    with pytest.raises(Exception, match=r"run.jsonl:2: the run file is damaged here \(.*histogram"):
        read_run(path)


def test_the_table_of_any_kind_has_percentiles_with_their_unit(run: Run) -> None:
    console = Console(file=io.StringIO(), width=200)
    show_run(console, run, Path("run.jsonl"), VIEWS)
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    headings, units = (line.split() for line in re.findall(r"\n(.*p99\.9.*)\n(.*)", shown)[0])
    assert units[-headings[::-1].index("p99.9") - 1] == "µs"


# The picture.


def drawn(run: Run) -> list[Picture]:
    return percentiles(PictureInput("operations", "Operations", run.measurements, run))


def test_a_picture_has_a_line_for_each_measurement(run: Run) -> None:
    (picture,) = drawn(run)
    svg = svg_for_file(picture).decode()
    assert all(f"depth {depth}<" in svg for depth in (1, 2, 4, 8, 16, 32, 64))
    assert "p99.99<" in svg
    assert "p99.999<" not in svg
    assert picture.alt.startswith("7 lines; p50 ")


def test_measurements_without_distributions_have_no_such_picture(run: Run) -> None:
    assert not drawn(synthetic.full())
    bare = synthetic.changed(run.measurements[0], figures=[])
    assert not drawn(synthetic.run([bare]))


def test_csv_is_as_wide_as_its_heading(run: Run) -> None:
    from tierscope.runs.export import csv_records

    text = io.StringIO()
    csv.writer(text).writerows(csv_records(run))
    assert len({len(row) for row in csv.reader(io.StringIO(text.getvalue()))}) == 1
