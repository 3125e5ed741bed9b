"""tierscope cost: files of prices, what measured figures cost, and the frontier."""

import json
import textwrap
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests import synthetic

from forked import tierscope
from tierscope.analysis.cost import (
    GOALS,
    Placement,
    Value,
    beaten_by,
    goal_of,
    memory_latency,
    on_slow,
    priced,
)
from tierscope.model.errors import UserError
from tierscope.model.price import GIB
from tierscope.model.run import Measurement, Run
from tierscope.plans.prices import parse_prices
from tierscope.report.cost import CostView, arithmetic, cost_json, show_cost
from tierscope.report.pictures.cost import frontier_picture
from tierscope.report.pictures.draw import svg_for_file

PRICES = """\
tiers:
  DDR5:
    target: node:0
    price: 320 EUR
    size: 64g
    source: an example, one RDIMM
    date: 2025-02-10
  CXL:
    target: node:2
    capacity: 128g
    price: 1_024.00 EUR
    size: 128g
    source: an example, one card
    date: 2025-02
"""
COMPARED = """\
tiers:
  HBM:
    target: node:1
    capacity: 96g
    compared:
      - {model: card with 80 GB, size: 80g, price: 15000 EUR, source: a, date: 2025-02}
      - {model: card with 40 GB, size: 40g, price: 9000 EUR, source: b, date: 2025-02}
"""


def test_a_price_is_of_a_gib() -> None:
    prices = parse_prices(PRICES, "p.yaml")
    assert prices.currency == "EUR"
    assert {tier.name: tier.per_gib for tier in prices.tiers} == {"DDR5": 5.0, "CXL": 8.0}
    assert arithmetic(prices.tiers[0], "EUR") == "320 / 64 GiB = 5.00 EUR/GiB"


def test_models_that_differ_in_memory_give_its_price() -> None:
    (tier,) = parse_prices(COMPARED, "p.yaml").tiers
    assert tier.per_gib == 150
    assert arithmetic(tier, "EUR") == "(15000 - 9000) / (80 GiB - 40 GiB) = 150 EUR/GiB"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("320 EUR", "-5 EUR", "p.yaml:4: key 'price': '-5 EUR' is not an amount above 0"),
        ("320 EUR", "0 EUR", "p.yaml:4: key 'price': '0 EUR' is not an amount above 0"),
        ("320 EUR", "320", "p.yaml:4: key 'price': '320' is not an amount above 0 with its curr"),
        ("320 EUR", "1e999 EUR", "p.yaml:4: key 'price'"),
        ("320 EUR", "320 USD", "p.yaml:11: key 'price': EUR, but line 4 is in USD; convert one"),
        ("size: 64g", "size: 0", "p.yaml:5: key 'size': '0' is no memory at all"),
        ("size: 64g", "size: much", "p.yaml:5: key 'size': 'much' is not a size"),
        ("2025-02-10", "10.2.2025", "p.yaml:7: key 'date': '10.2.2025' is not a day or a month"),
        ("2025-02-10", "2025-02-30", "p.yaml:7: key 'date'"),
        ("node:0", "node:0,2", "p.yaml:3: key 'target': 'node:0,2' is not one tier"),
        ("node:0", "cpus:1", "p.yaml:3: key 'target': 'cpus:1' is not one tier"),
        ("node:0", "noode:0", "p.yaml:3: key 'target': "),
        ("node:2", "node:0", "p.yaml:9: key 'target': node:0 is tier 'DDR5' already"),
        ("    source: an example, one RDIMM\n", "", "p.yaml:3: tier 'DDR5' lacks the key 'source'"),
        ("    date: 2025-02-10\n", "", "p.yaml:3: tier 'DDR5' lacks the key 'date'"),
        ("    target: node:0\n", "", "p.yaml:3: tier 'DDR5' lacks the key 'target'"),
        ("capacity", "capcity", "p.yaml:10: unknown key 'capcity' in tier 'CXL'; did you mean"),
        ("  CXL:", "  DDR5:", "p.yaml:8: tier 'DDR5' is given twice"),
        ("tiers:", "prices:", "p.yaml:1: unknown key 'prices' in a file of prices"),
    ],
)
def test_nonsense_is_refused_by_file_line_and_key(old: str, new: str, message: str) -> None:
    assert PRICES.count(old) >= 1
    with pytest.raises(UserError) as refused:
        parse_prices(PRICES.replace(old, new, 1), "p.yaml")
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("9000", "15000", "p.yaml:6: key 'compared': 'card with 80 GB' has more memory than"),
        ("size: 40g", "size: 80g", "p.yaml:6: key 'compared': both models have the same memory"),
        ("model: card with 40 GB, ", "", "p.yaml:7: a model lacks the key 'model'"),
        ("capacity: 96g", "price: 5 EUR", "p.yaml:4: key 'price' does not go with 'compared'"),
    ],
)
def test_models_that_say_nothing_are_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(UserError) as refused:
        parse_prices(COMPARED.replace(old, new, 1), "p.yaml")
    assert str(refused.value).startswith(message)


@given(st.text(max_size=200))
def test_any_text_is_prices_or_one_error(text: str) -> None:
    for whole in (text, f"tiers:\n  a:\n{textwrap.indent(text, '    ')}"):
        said = _refusal(whole)
        assert said == "" or said.startswith("p.yaml:")
        assert "\n" not in said


def _refusal(text: str) -> str:
    try:
        parse_prices(text, "p.yaml")
    except UserError as error:
        return str(error)
    return ""


def measured(
    target: str, value: float, metric: str = "bandwidth", unit: str = "B/s", **pattern: object
) -> Measurement:
    about: dict[str, object] = {"size": 1 << 30, "pages": "thp"}
    if metric == "bandwidth":
        about |= {"operation": "read", "order": "sequential", "threads": 8, "access_size": 64}
    elif metric == "latency":
        about |= {"stride": 256, "chases": 1}
    else:
        about |= {"threads": 8}
    kind = {"operations": "ops"}.get(metric, metric)
    maker = synthetic.Maker(noise=0.002)
    made = maker.make(kind, "node:0", target, {**about, **pattern}, value, unit)
    name = f"{metric}.{target}.{pattern}"
    return synthetic.changed(made, id=name, metric=metric)


def run(**header: Any) -> Run:
    """Local memory, a card, and pages of both 3:1."""
    return synthetic.run(
        [
            measured("node:0", 200e9),
            measured("node:0", 90e9, operation="write"),
            measured("node:0", 900e9, size=1 << 20).model_copy(update={"fits_caches": True}),
            measured("node:2", 50e9),
            measured("node:0,2@3:1", 240e9),
            measured("node:0,1@1:1", 400e9),  # node 1 has no price
            measured("node:0", 100.0, "latency", "ns", order="random"),
            measured("node:2", 300.0, "latency", "ns", order="random"),
            measured("node:2", 20.0, "latency", "ns", order="random", size=1 << 14),
            measured("node:2", 900.0, "latency", "ns", order="random", load_threads=4),
            measured("node:2", 90.0, "latency", "ns", order="random", size=1 << 33).model_copy(
                update={"initiator": "gpu:0"}
            ),
            measured("node:0", 30e6, "operations", "1/s", structure="btree", operation="lookup",
                     on_inner="node:0", on_leaves="node:0"),
            measured("node:0,2", 27e6, "operations", "1/s", structure="btree", operation="lookup",
                     on_inner="node:0", on_leaves="node:2"),
            measured("node:0,2", 12e6, "operations", "1/s", structure="btree", operation="lookup",
                     on_inner="node:2", on_leaves="node:0"),
        ],
        **header,
    )  # fmt: skip


def rows(operation: str = "read") -> dict[str, Placement]:
    found = priced(parse_prices(PRICES, "p.yaml"), [run()], operation)
    return {one.name: one for one in found}


def test_each_unit_of_a_figure_has_its_price() -> None:
    found = rows()
    ddr, both = found["DDR5"], found["3:1 on DDR5, CXL"]
    assert ddr.price == 256 * 5  # the run says that node 0 has 256 GiB
    assert ddr.bandwidth is not None
    # 900 GB/s of caches and 90 GB/s of writes do not count.
    assert ddr.bandwidth.estimate == pytest.approx(200e9, rel=0.01)
    estimate, low, high = ddr.per(ddr.bandwidth, 1e9)
    assert estimate == pytest.approx(1280 / 200, rel=0.01)
    assert low < estimate < high
    assert both.price == 256 * 5 + 128 * 8
    assert both.capacity == pytest.approx(256 * GIB / 0.75)  # node 0 is full first
    assert "1:1 on DDR5" not in " ".join(found)  # a tier of it has no price
    assert rows("write")["DDR5"].bandwidth is not None
    assert rows("write")["CXL"].bandwidth is None


def test_latency_is_that_of_the_largest_idle_chase() -> None:
    latency = rows()["CXL"].latency
    assert latency is not None
    assert latency.estimate == pytest.approx(300, rel=0.01)


def test_operations_are_priced_by_where_the_parts_are() -> None:
    found = rows()
    (local,) = found["DDR5"].operations
    (leaves,) = found["inner on DDR5, leaves on CXL"].operations
    assert found["inner on CXL, leaves on DDR5"].operations[0].estimate < leaves.estimate
    assert local.what == leaves.what == "ops, btree, lookup"
    price = found["inner on DDR5, leaves on CXL"].per(leaves, 1e6)[0]
    assert price == pytest.approx((1280 + 1024) / 27, rel=0.01)


def test_the_frontier_is_what_no_cheaper_placement_beats() -> None:
    found = list(rows().values())
    by_name = {one.name: one for one in found}

    def beaten(name: str, goal: str) -> str | None:
        other = beaten_by(by_name[name], found, goal)
        return other.name if other else None

    # The card costs 1024, local memory 1280.
    assert beaten("CXL", "bandwidth") is None
    assert beaten("DDR5", "bandwidth") is None
    assert beaten("3:1 on DDR5, CXL", "bandwidth") is None
    assert beaten("DDR5", "latency") is None
    assert beaten("CXL", "latency") is None
    dearer = parse_prices(PRICES.replace("1_024.00", "9000"), "p.yaml")
    placements = priced(dearer, [run()], "read")
    card = next(one for one in placements if one.name == "CXL")
    for goal in GOALS:
        other = beaten_by(card, placements, goal)
        assert other is not None
        assert other.name == "DDR5"


_POINTS = st.lists(
    st.tuples(st.integers(1, 50), st.integers(1, 50), st.integers(0, 5)), min_size=1, max_size=12
)


@given(_POINTS)
def test_the_frontier_holds_the_best_and_the_cheapest(points: list[tuple[int, int, int]]) -> None:
    placements = [
        Placement(str(number), "", (), float(price), 1.0,
                  bandwidth=Value("", float(rate), float(rate - half), float(rate + half)))
        for number, (price, rate, half) in enumerate(points)
    ]  # fmt: skip
    front = [one for one in placements if beaten_by(one, placements, "bandwidth") is None]
    assert front
    assert max(placements, key=lambda one: (goal(one), -one.price)) in front
    for one in placements:
        if one not in front:
            better = beaten_by(one, placements, "bandwidth")
            assert better is not None
            assert better.price <= one.price
            assert goal(better) >= goal(one)


def goal(one: Placement) -> float:
    value = goal_of(one, "bandwidth")
    assert value is not None
    return value.estimate


def view() -> CostView:
    prices = parse_prices(PRICES, "p.yaml")
    return CostView(prices, priced(prices, [run()], "write"), "write", ["a-run"])


def test_the_tables_fit_and_say_what_was_not_measured() -> None:
    text = StringIO()
    show_cost(Console(file=text, width=100), view())
    assert all(len(line) <= 100 for line in text.getvalue().splitlines())
    said = " ".join(text.getvalue().split())
    assert "write bandwidth of CXL was not measured beyond the caches: tierscope bandwidth" in said
    assert "320 / 64 GiB = 5.00 EUR/GiB" in said
    assert "an example, one RDIMM, 2025-02-10" in said
    missing = cost_json(view())["not_measured"]
    assert any("no operations a second were measured on CXL" in line for line in missing)


def test_the_picture_has_a_panel_for_each_goal() -> None:
    placements = list(rows().values())
    picture = frontier_picture(placements, "EUR", "read")
    assert picture is not None
    assert len(picture.spec["concat"]) == 3
    assert "On the frontier of price against latency: CXL, DDR5." in picture.alt
    assert svg_for_file(picture).startswith(b"<svg")


def test_the_command_prints_tables_json_and_a_picture(tmp_path: Path) -> None:
    prices, file = tmp_path / "prices.yaml", tmp_path / "run.jsonl"
    prices.write_text(PRICES)
    synthetic.write(run(), file)
    svg = tmp_path / "frontier.svg"
    done = tierscope("cost", str(prices), str(file), "--svg", str(svg), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["currency"] == "EUR"
    card = next(one for one in found["placements"] if one["name"] == "CXL")
    assert card["price_per_gib"] == 8
    assert card["frontier"] == {"bandwidth": True, "latency": True, "capacity": True}
    assert svg.read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("prices", "words", "message"),
    [
        (PRICES, ["--op", "raed"], "--op: the runs have no bandwidth of 'raed'; did you mean"),
        (PRICES.replace("    capacity: 128g\n", "").replace("node:2", "node:7"), [],
         "tier 'CXL': no run says how large node:7 is; give it the key 'capacity'"),
        (PRICES.replace("320 EUR", "320 USD"), [], ":11: key 'price': EUR, but line 4"),
    ],
)  # fmt: skip
def test_the_command_refuses_in_one_line(
    tmp_path: Path, prices: str, words: list[str], message: str
) -> None:
    path, file = tmp_path / "prices.yaml", tmp_path / "run.jsonl"
    path.write_text(prices)
    synthetic.write(run(), file)
    done = tierscope("cost", str(path), str(file), *words)
    assert done.returncode in (2, 3)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_runs_of_several_machines_are_refused(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text(PRICES)
    files = [str(tmp_path / f"{host}.jsonl") for host in ("one", "two")]
    for file in files:
        synthetic.write(run(host=Path(file).stem), Path(file))
    done = tierscope("cost", str(tmp_path / "prices.yaml"), *files)
    assert done.returncode == 2
    assert "the runs are of several machines, one and two" in done.stderr


def value(estimate: float, low: float | None = None, high: float | None = None) -> Value:
    return Value("", estimate, estimate if low is None else low, estimate if high is None else high)


def placed(name: str, price: float, **goals: Value) -> Placement:
    return Placement(name, "", (), price, 2 * GIB, **goals)  # type: ignore[arg-type]


def test_a_unit_costs_most_where_the_rate_is_at_its_low_end() -> None:
    one = placed("a", 1000)
    assert one.per_gib == 500
    assert one.per(value(200, 100, 400), 2) == (10, 5, 20)


@pytest.mark.parametrize(
    ("price", "other", "beats"),
    [
        (99, value(21, 16, 25), True),  # above 10 to 15
        (99, value(21, 15, 25), False),
        (100, value(21, 16, 25), True),
        (101, value(21, 16, 25), False),
        (99, value(12, 1, 99), True),  # as good, and cheaper
        (100, value(12, 1, 99), False),
        (99, value(13, 1, 99), False),
    ],
)
def test_a_placement_is_beaten_beyond_both_intervals(
    price: float, other: Value, beats: bool
) -> None:
    own, better = (
        placed("own", 100, bandwidth=value(12, 10, 15)),
        placed("b", price, bandwidth=other),
    )
    found = beaten_by(own, [own, better, placed("bare", 1)], "bandwidth")
    assert found is (better if beats else None)


def test_of_latencies_the_shorter_beats_and_the_cheapest_is_named() -> None:
    own = placed("own", 100, latency=value(100, 90, 110))
    others = [placed(str(price), price, latency=value(80, 70, 89)) for price in (60, 50, 70)]
    assert beaten_by(own, [own, *others], "latency") is others[1]
    near = placed("near", 50, latency=value(80, 70, 90))
    assert beaten_by(own, [own, near], "latency") is None
    longer = placed("longer", 50, latency=value(300, 290, 310))
    assert beaten_by(own, [own, longer], "latency") is None
    assert beaten_by(placed("bare", 1), [own], "latency") is None
    assert beaten_by(own, [own, placed("half", 50)], "capacity") is not None


def test_memory_that_may_be_slow_is_the_least_accessed_of_each_byte() -> None:
    """Of 100 accesses, 1 goes to 500 bytes, 2 to 50 and 97 to 10: 1% is 99 x 100 + 300 ns."""
    pieces = [(10.0, 97.0), (50.0, 2.0), (100.0, 0.0), (500.0, 1.0), (0.0, 0.0)]
    found = on_slow(pieces, (100, 300))
    assert [(one.share, one.bytes) for one in found] == [
        (0.0, 100), (0.01, 600), (0.02, 600), (0.05, 650), (0.1, 650), (0.2, 650),
    ]  # fmt: skip
    assert [one.latency_ns for one in found[:4]] == pytest.approx([100, 102, 102, 106])
    assert [one.slowdown for one in found[:4]] == pytest.approx([0, 0.02, 0.02, 0.06])
    (first, *_) = on_slow(pieces, None)
    assert (first.latency_ns, first.slowdown) == (None, None)
    assert on_slow([(10, 0)], (100, 300)) == []


def test_less_than_a_byte_is_as_a_byte() -> None:
    """Half a byte with 3 accesses is not denser than 4 accesses a byte."""
    found = on_slow([(1.0, 4.0), (0.5, 3.0), (1.0, 93.0)], None)
    assert [one.bytes for one in found] == [0, 0, 0, 0.5, 1.5, 1.5]


def of_run(*measurements: Measurement, text: str = PRICES, **header: Any) -> dict[str, Placement]:
    found = priced(parse_prices(text, "p.yaml"), [synthetic.run([*measurements], **header)], "read")
    return {one.name: one for one in found}


@pytest.mark.parametrize(
    ("changes", "counts"),
    [
        ({}, True),
        ({"array_b": "node:1"}, False),
        ({"array_c": "node:1"}, False),
        ({"beside": "another stream"}, False),
        ({"writer": 3}, False),
        ({"operation": None, "mix": "100:0"}, True),
        ({"operation": None, "mix": "0:100"}, False),
    ],
)
def test_bandwidth_is_of_data_that_is_all_on_the_tier(
    changes: dict[str, Any], counts: bool
) -> None:
    found = of_run(measured("node:0", 200e9, **changes))["DDR5"]
    assert (found.bandwidth is not None) is counts


def test_a_gpu_counts_for_its_own_memory_only() -> None:
    text = PRICES.replace("node:2", "gpu:0").replace("    capacity: 128g\n", "")
    own, other = (
        measured(target, 1e12).model_copy(update={"initiator": "gpu:0"})
        for target in ("gpu:0", "node:0")
    )
    found = of_run(own, other, text=text)
    assert found["CXL"].bandwidth is not None
    assert found["CXL"].capacity == 24 * GIB
    assert found["DDR5"].bandwidth is None


def test_a_figure_is_described_and_has_its_interval_or_is_exact() -> None:
    asked = measured("node:0", 200e9, order="random", threads=1)
    exact = synthetic.changed(asked, estimate=5.0, ci_low=None, ci_high=None)
    found = of_run(exact)["DDR5"].bandwidth
    assert found is not None
    assert (found.what, found.low, found.high) == ("read, random, 1 thread", 5, 5)
    ended = synthetic.changed(asked, estimate=5.0, ci_low=4.0, ci_high=7.0)
    found = of_run(ended)["DDR5"].bandwidth
    assert found is not None
    assert (found.low, found.high) == (4, 7)
    plain = of_run(measured("node:0", 200e9, threads=None))["DDR5"].bandwidth
    assert plain is not None
    assert plain.what == "read"
    keys = measured("node:0", 1e6, "operations", "1/s", structure="btree", keys=65536)
    assert [one.what for one in of_run(keys)["DDR5"].operations] == ["ops, btree, 65,536 keys"]


def test_pages_over_tiers_are_listed_where_something_was_measured_of_them() -> None:
    both = measured("node:0,2@1:3", 240e9)
    assert [*of_run(both)] == ["DDR5", "CXL", "1:3 on DDR5, CXL"]
    assert of_run(both)["1:3 on DDR5, CXL"].capacity == pytest.approx(128 * GIB / 0.75)
    assert [*of_run(measured("node:0,2@1:3", 240e9, operation="write"))] == ["DDR5", "CXL"]
    assert [*of_run(measured("node:0,2", 240e9))] == ["DDR5", "CXL", "1:1 on DDR5, CXL"]


def test_the_lowest_latency_of_a_node_is_its_nearest_cpus() -> None:
    chases = [
        measured(target, ns, "latency", "ns", order="random").model_copy(
            update={"initiator": f"node:{n}"}
        )
        for n, target, ns in ((0, "node:2", 300.0), (1, "node:2", 200.0), (0, "node:1", 90.0))
    ]
    chases = [synthetic.changed(m, estimate=round(m.estimate or 0, -1)) for m in chases]
    run = synthetic.run(chases)
    assert [memory_latency(run, node) for node in (2, 1, 0)] == [200, 90, None]


def test_how_large_a_tier_is_says_the_first_run_that_knows() -> None:
    text = PRICES.replace("    capacity: 128g\n", "")
    runs = [synthetic.run([], topology=topology) for topology in (None, synthetic.topology())]
    found = {one.name: one.capacity for one in priced(parse_prices(text, "p.yaml"), runs, "read")}
    assert found == {"DDR5": 256 * GIB, "CXL": 128 * GIB}
    with pytest.raises(UserError, match="tier 'DDR5': no run says how large node:0 is"):
        priced(parse_prices(text, "p.yaml"), runs[:1], "read")
