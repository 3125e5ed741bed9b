"""Tiers: what each initiator sees, in tables and on the map."""

import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from tests import synthetic

from tierscope.kinds.views import VIEWS
from tierscope.model.run import Run
from tierscope.report.pictures.draw import svg_for_file
from tierscope.report.pictures.tier_map import COLOURS, SHAPES, place_labels, tier_maps
from tierscope.report.run import show_run
from tierscope.report.summary import key_figures
from tierscope.report.tiers import MEDIA, tier_rows, tiers_of


@pytest.fixture(scope="module")
def run() -> Run:
    return synthetic.full()


def test_an_initiator_s_tiers_stand_in_order_of_latency(run: Run) -> None:
    names = [(t.name, t.capacity) for t in tiers_of(run, VIEWS)["node:0"]]
    assert names == [
        ("local DRAM node:0", 256 << 30),
        ("remote DRAM node:1", 256 << 30),
        ("CXL node:2", 256 << 30),
    ]


def test_a_gpu_sees_the_host_s_memory_through_its_copies(run: Run) -> None:
    tiers = {t.target: t for t in tiers_of(run, VIEWS)["gpu:0"]}
    assert set(tiers) == {"gpu:0", "gpu:1", "node:0", "node:1"}
    assert tiers["node:0"].medium == "host memory"
    assert tiers["gpu:0"].capacity == 24 << 30
    found = tiers["node:1"].bandwidth
    assert found
    assert {found.initiator, found.target} == {"gpu:0", "node:1"}


def test_rows_compare_with_the_best(run: Run) -> None:
    near, _, far = tier_rows(tiers_of(run, VIEWS)["node:0"])
    assert near.latency.compared == near.bandwidth.compared == ""
    assert far.latency.compared == "2.8× the lowest"
    assert far.bandwidth.compared == "10% of the highest"
    assert near.limit == "90% of 8 channels of DDR5-4800"


def test_unreliable_figures_are_not_compared() -> None:
    maker = synthetic.Maker()
    found = []
    for target, ns in (("node:0", 100.0), ("node:1", 200.0)):
        pattern = {"order": "random", "size": 1 << 30, "pages": "thp"}
        made = maker.make("latency", "node:0", target, pattern, ns, "ns")
        changes = {"ci_low": 20.0, "ci_high": 900.0} if target == "node:1" else {}
        found.append(synthetic.changed(made, **changes))
    _, far = tier_rows(tiers_of(synthetic.run(found), VIEWS)["node:0"])
    assert (far.latency.estimate, far.latency.compared) == ("~200 ns", "")


def test_a_machine_with_one_tier_has_no_map() -> None:
    maker = synthetic.Maker()
    made = maker.make("bandwidth", "node:0", "node:0", {"operation": "read"}, 1e10)
    assert tiers_of(synthetic.run([made]), VIEWS) == {}
    assert list(tier_maps(synthetic.run([made]), VIEWS)) == []


def test_media_differ_in_shape_and_in_colour() -> None:
    # A GPU's map has host memory in place of local and remote DRAM.
    for shown in (set(MEDIA) - {"host memory"}, set(MEDIA) - {"local DRAM"}):
        assert len({SHAPES[one] for one in shown}) == len({COLOURS[one] for one in shown}) == 8


def test_the_map_has_a_mark_with_whiskers_and_a_label_for_each_tier(run: Run) -> None:
    (picture,) = tier_maps(run, VIEWS)
    rows = picture.spec["data"]["values"]
    assert [row["name"] for row in rows] == [
        "local DRAM node:0", "remote DRAM node:1", "CXL node:2",
    ]  # fmt: skip
    assert all(row["x_low"] < row["x"] < row["x_high"] for row in rows)
    svg = svg_for_file(picture).decode()
    assert all(f">{row['name']}<" in svg for row in rows)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.floats(60, 9000), st.floats(0.5, 900)), min_size=2, max_size=24))
def test_no_label_lies_over_another_or_over_the_edge(points: list[tuple[float, float]]) -> None:
    rows = [
        {
            "x": x,
            "x_low": x / 1.1,
            "x_high": x * 1.4,
            "y": y,
            "y_low": y / 1.3,
            "y_high": y * 1.1,
            "area": 300.0,
            "name": f"remote DRAM node:{n}",
        }
        for n, (x, y) in enumerate(points)
    ]
    labels = place_labels(rows, (30, 20_000), (0.2, 2000))
    for one in labels:
        assert 0 <= one["left"] <= 350
        for other in labels:
            if one is not other:
                apart = abs(one["left"] - other["left"]) >= 7 * len(one["text"])
                assert apart or abs(one["middle"] - other["middle"]) >= 14


def test_key_figures_are_those_of_the_tables(run: Run) -> None:
    text = io.StringIO()
    show_run(Console(file=text, width=200), run, Path("run.jsonl"), VIEWS)
    for figure in key_figures(run, VIEWS):
        if figure.label != "Verdict":
            assert figure.value in text.getvalue(), figure
