"""Figures of parts beside each other: whatever shows, compares or checks figures treats them alike,
whichever of them is the headline."""

import csv
import io
import re
from pathlib import Path

import pytest
from rich.console import Console
from tests import synthetic

from tierscope.analysis.compare import compare
from tierscope.analysis.expect import Vocabulary, check, parse_rule
from tierscope.model.run import Figure, Measurement, Run
from tierscope.report.pictures.generic import bars
from tierscope.report.pictures.picture import PictureInput
from tierscope.report.table import show_table
from tierscope.report.view import View
from tierscope.runs.export import csv_records, prometheus_text, table_bytes
from tierscope.runs.query import query

RATES = {"stosb": 11e9, "memset": 7e9}
SIZES = [1 << power for power in range(20, 30)]


def measured(size: int, **changed: float) -> Measurement:
    """Functions that fill memory, the first one as the headline; each known within 0.2%."""
    pattern = {"operation": "write", "size": size, "threads": 1, "access_size": 64,
               "order": "sequential", "pages": "thp", "isa": "auto"}  # fmt: skip
    made = synthetic.Maker().make("bandwidth", "node:0", "node:0", pattern, 1e9, id=f"fill.{size}")
    figures = [
        Figure(
            metric="bandwidth", part=part, unit="B/s", estimate=value, ci_low=0.998 * value,
            ci_high=1.002 * value, compared=True,
        )
        for part, rate in RATES.items()
        for value in (rate * changed.get(part, 1.0),)
    ]  # fmt: skip
    return made.model_copy(update={"figures": figures})


def run_of(**changed: float) -> Run:
    return synthetic.run([measured(size, **changed) for size in SIZES])


def test_a_table_heads_each_column_with_its_part() -> None:
    console = Console(file=io.StringIO(), width=100)
    show_table(console, run_of().measurements, run_of(), View("Fills"))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert re.search(r"stosb +memset *\n +bandwidth +bandwidth", text)
    assert re.search(r"11\.00 ±0\.03 +7\.000 ±0\.014|11\.00 ±0\.0\d+ +7\.00\d* ±0\.0\d+", text)


@pytest.mark.parametrize("part", RATES)
def test_a_comparison_tells_which_part_changed(part: str) -> None:
    found = compare(("base", run_of()), ("new", run_of(**{part: 0.8})), 0.02)
    assert {d.pattern["part"] for d in found.differences} == set(RATES)
    assert {d.pattern["part"] for d in found.differences if d.verdict == "slower"} == {part}
    assert found.count("slower") == found.count("same") == len(SIZES)


def test_a_measurement_that_fails_stands_beside_each_part() -> None:
    failed = measured(SIZES[0]).model_copy(
        update={"status": "failed", "reason": "no memory", "figures": [], "samples": [], "n": 0}
    )
    base = synthetic.run([measured(SIZES[0])])
    found = compare(("base", base), ("new", synthetic.run([failed])), 0.02)
    assert [d.cause for d in found.differences] == ["not-measured"] * 2


@pytest.mark.parametrize(
    ("rule", "passed"),
    [
        ("node:0 <- node:0 part=memset: >= 6 GB/s", True),
        ("node:0 <- node:0 part=memset: >= 8 GB/s", False),
        ("node:0 <- node:0 part=stosb: >= 8 GB/s", True),
        ("node:0 <- node:0: >= 8 GB/s", True),
        ("node:0 <- node:0 metric=bandwidth part=memset: >= 8 GB/s", False),
    ],
)
def test_a_rule_is_about_the_part_that_it_names_else_about_the_headline(
    rule: str, passed: bool
) -> None:
    (finding,) = check(run_of(), [parse_rule(rule, Vocabulary())])
    assert (finding.verdict == "met") is passed


def test_pictures_have_each_part() -> None:
    run = run_of()
    (picture,) = bars(PictureInput("bandwidth", "Fills", run.measurements[:2], run))
    assert {m.pattern["part"] for m in picture.measurements} == set(RATES)


def test_tables_have_a_row_for_each_figure(tmp_path: Path) -> None:
    run = run_of()
    rows = list(csv_records(run))
    parts = rows[0].index("part")
    assert [row[parts] for row in rows[1:]] == [*RATES] * len(SIZES)
    file = synthetic.write(run, tmp_path / "run.jsonl")
    content, count, problems = table_bytes([file], "csv")
    assert problems == []
    exported = list(csv.DictReader(io.StringIO(content.decode())))
    assert [row["part"] for row in exported] == [*RATES] * len(SIZES)
    assert count == len(exported)
    sql = "select part, count(*), max(estimate) from figures group by part order by part"
    assert query([file], sql)[1][0] == ("memset", len(SIZES), 7e9)
    _, found, _ = query([file], "select count(*), any_value(part) from measurements")
    assert found == [(len(SIZES), "stosb")]
    assert 'tierscope_bandwidth_bytes_per_second{kind="bandwidth"' in prometheus_text(run)
    assert prometheus_text(run).count('part="memset"') == 3 * len(SIZES)


def test_a_kind_says_which_further_figures_are_compared() -> None:
    run = synthetic.full()
    found = {d.pattern.get("metric") for d in compare(("a", run), ("b", run), 0.02).differences
             if d.kind == "mapping"}  # fmt: skip
    assert found == {None, "map", "populate_per_page", "unmap_per_page"}
