"""What PMDK costs: both sides of a pair have the same places; ratios keep their intervals."""

import csv
import io
import json

import pytest
from click.testing import CliRunner
from rich.console import Console

from tierscope.cli.app import app
from tierscope.model.errors import UserError
from tierscope.model.topology import Topology
from tierscope.runs.pairs import Paired
from tierscope.suites.pmdk import costs, costs_csv, costs_json, pair_count, show_costs, sides


def test_both_sides_have_the_same_places_sizes_and_pages(machine: Topology) -> None:
    plain, pools = sides({"op": "copy,triad", "threads": "1,2", "size": "1m"}, machine)
    assert len(plain.measurements) == len(pools.measurements) == 2 * 2 * 2
    for base, new in zip(plain.measurements, pools.measurements, strict=True):
        assert base.placement.nodes == new.placement.nodes
        assert base.placement.persistent is None
        assert new.placement.persistent.bound
        assert base.pattern == new.pattern
        assert base.pattern.pages == "base"
        assert base.cpus == new.cpus
    assert [new.placement.persistent.backing for new in pools.measurements] == (
        ["pool"] * 4 + ["pool-objects"] * 4
    )
    ids = [one.id for one in (*plain.measurements, *pools.measurements)]
    assert len(set(ids)) == len(ids)


def test_the_default_size_is_the_same_on_both_sides(machine: Topology) -> None:
    plain, pools = sides({}, machine)
    assert {one.pattern.operation for one in plain.measurements} == {
        "copy", "scale", "add", "triad"
    }  # fmt: skip
    for base, new in zip(plain.measurements, pools.measurements, strict=True):
        assert base.pattern == new.pattern


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"to": "node:99"}, "--to: 'node:99' is not one node with memory, as node:0"),
        ({"to": "pmem:/data"}, "--to: 'pmem:/data' is not one node with memory"),
    ],
)
def test_what_cannot_be_compared_is_named(
    machine: Topology, given: dict[str, str], says: str
) -> None:
    with pytest.raises(UserError) as refused:
        sides(given, machine)
    assert str(refused.value).startswith(says)


def test_a_dry_run_prints_the_plan_of_both_sides() -> None:
    answer = CliRunner().invoke(app, ["pmdk", "--dry-run", "--json", "--op", "copy", "--size", "1m",
                                      "--threads", "1"])  # fmt: skip
    plan = json.loads(answer.stdout)["plan"]["measurements"]
    assert [bool(one["placement"]["persistent"]) for one in plan] == [False, False, True, True]


def test_an_interval_takes_two_pairs() -> None:
    assert pair_count({}) == 10
    with pytest.raises(UserError, match="--pairs: '1' pairs give no interval"):
        pair_count({"pairs": "1"})
    with pytest.raises(UserError, match="--pairs: "):
        pair_count({"pairs": "many"})


def test_costs_are_ratios_with_intervals(machine: Topology) -> None:
    plain, pools = sides({"op": "copy", "threads": "1", "size": "1m"}, machine)
    found = costs(
        [
            Paired(plain.measurements[0], pools.measurements[0],
                   {("bandwidth", ""): [(10e9, 9e9), (12e9, 10.8e9), (11e9, 9.9e9)]}),
            Paired(plain.measurements[1], pools.measurements[1], {}, "libpmemobj is missing"),
        ]
    )  # fmt: skip
    first, second = costs_json(found)
    assert (first["backing"], first["node"], first["operation"]) == ("pool", "node:0", "copy")
    assert first["ratio"] == pytest.approx(0.9)
    assert first["low"] <= first["ratio"] <= first["high"]
    assert (second["ratio"], second["reason"]) == (None, "libpmemobj is missing")
    json.dumps([first, second])
    rows = list(csv.DictReader(io.StringIO(costs_csv(found))))
    assert [float(rows[0][side]) for side in ("plain", "pool")] == pytest.approx([11e9, 9.9e9])
    assert (rows[1]["ratio"], rows[1]["reason"]) == ("", "libpmemobj is missing")
    console = Console(file=io.StringIO(), width=100)
    show_costs(console, found)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "-10.0% (-10.0 to -10.0)" in text
    assert "libpmemobj is missing" in text
    assert "medians of 3 pairs of repetitions" in text
    assert max(map(len, text.splitlines())) <= 100
