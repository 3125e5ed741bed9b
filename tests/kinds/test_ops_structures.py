"""Columns, relations, runs and LSM trees of the kind ops: what is asked for, measured and shown."""

import json
import re
import subprocess
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.forked import tierscope

from tierscope.engine.process import find_engine
from tierscope.kinds.ops.spec import STRUCTURES, OpsSpec, cycle_of
from tierscope.machine.discover import discover
from tierscope.model.errors import UserError
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request


def planned(machine: Topology, **options: str) -> list[Any]:
    return expand([Request(kind="ops", options=options)], machine, thp=True).measurements


def measured(*words: object) -> dict[str, Any]:
    done = tierscope("ops", *words, "--pages", "base", "--budget", "0.2", "--json")
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(done.stdout)["results"]
    assert isinstance(result, dict)
    return result


def figures_of(result: dict[str, Any]) -> dict[tuple[str, str], float]:
    return {(one["metric"], one.get("part", "")): one["estimate"] for one in result["figures"]}


# What is measured


MEASURED = [
    ("column", "--key-bytes 4 --selectivity 0", r" 0 of 65536 found, each at its position"),
    ("column", "--selectivity 100%", r"65536 of 65536 found, each at its position"),
    ("column", "--selectivity 50% --found count", r" 3[23]\d{3} of 65536 found, as many"),
    ("relations", "--partitions 1 --interleave 8", r"joins; 65536 matches of 65536 rows"),
    ("relations", "--partitions 64 --probe-ratio 3 --misses 1", r"joins; 0 matches of 196608 rows"),
    ("runs", "--runs 5", r"keys merged; the output has all 65536 of 5 runs, ascending"),
    ("runs", "--op sort --runs 2", r"sorts by \d runs; the output has all 65536 keys, ascending"),
    ("lsm", "--ratio 4 --misses 0", r"lookups, .* on levels 0 to 3: \d+, .*; 0 of 0 absent keys"),
]


@pytest.mark.parametrize(("structure", "words", "verified"), MEASURED)
def test_each_is_measured_verified_and_as_large_as_planned(
    structure: str, words: str, verified: str
) -> None:
    result = measured("--structure", structure, "--keys", "64k", *words.split())
    assert result["figures"][0]["metric"] == "operations"
    assert result["figures"][0]["estimate"] > 0
    assert re.search(verified, result["evidence"]["verified"]), result["evidence"]["verified"]
    given_words = iter(words.replace("--", "").split())
    options = {"structure": structure, "keys": "64k", "pages": "base"}
    (spec,) = planned(discover(), **options, **dict(zip(given_words, given_words, strict=True)))
    planned_bytes = sum(region.total_bytes for region in spec.regions())
    assert result["evidence"]["region_bytes"] == planned_bytes
    figures = figures_of(result)
    bytes_each = {"column": spec.pattern.key_bytes, "relations": 16, "runs": 16}.get(structure)
    assert (("bandwidth", "input") in figures) == (bytes_each is not None)
    if bytes_each:
        input_rate = figures["bandwidth", "input"]
        assert input_rate == pytest.approx(bytes_each * result["figures"][0]["estimate"], rel=0.05)
    timed = ("operation_latency_mean", "") in figures
    assert timed == (spec.pattern.operation not in ("join", "sort"))


def test_a_table_has_what_the_structure_has() -> None:
    done = tierscope(
        "ops", "--structure", "column,relations,lsm", "--keys", "64k", "--budget", "0.2"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    column, relations = done.stdout.split("relations, join")[:2]
    relations, lsm = relations.split("lsm, ")[:2]
    assert "bandwidth" in column
    assert "bandwidth" in relations
    assert "bandwidth" not in lsm
    assert "selectivity 1%" in column
    assert "1 partition" in " ".join(relations.split())
    assert "levels that grow by 10" in lsm


# What a request asks for


def test_every_value_of_own_options_is_measured(machine: Topology) -> None:
    specs = planned(
        machine,
        structure="column",
        selectivity="0,1%,1",
        found="positions,count",
        place="positions=node:0",
        threads="1",
        **{"key-bytes": "4,8"},
    )
    assert len({spec.id for spec in specs}) == len(specs) == 3 * 2 * 2
    assert {spec.pattern.operation for spec in specs} == {"filter"}
    assert {spec.pattern.selectivity for spec in specs} == {0, 0.01, 1}


def test_a_sort_makes_as_many_runs_as_it_has_threads_at_least(machine: Topology) -> None:
    (spec,) = planned(
        machine, structure="runs", op="sort", runs="2", threads="8", keys="1m", to="node:0"
    )
    assert spec.pattern.runs == 2
    size = (1 << 20) * 16
    assert [region.array_bytes for region in spec.regions()] == [size, size]


def test_own_options_go_to_the_structures_that_have_them(machine: Topology) -> None:
    joined = planned(
        machine, structure="relations", misses="10%", place="table=node:0", threads="1"
    )
    read = planned(machine, structure="lsm", misses="10%", place="level3=node:0", threads="1")
    specs = [*joined, *read]
    assert [spec.pattern.misses for spec in specs] == [0.1, 0.1]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"structure": "hash", "runs": "4"}, "goes with structure runs"),
        ({"structure": "runs", "selectivity": "0.5"}, "goes with structure column"),
        ({"structure": "lsm", "partitions": "4"}, "goes with structure relations"),
        (
            {"structure": "column", "distribution": "zipf"},
            "goes with structure btree or hash or string-btree or string-hash or lsm",
        ),
        (
            {"structure": "lsm", "interleave": "4"},
            "goes with structure btree or hash or relations and operation lookup",
        ),
        ({"structure": "string-btree", "keys": "8g"}, "of a string-btree are 4g at most"),
        ({"structure": "lsm", "op": "insert"}, "'insert' goes with none of lsm"),
        ({"structure": "column", "selectivity": "101%"}, "from 0 to 1"),
        ({"structure": "column", "key-bytes": "5"}, "'5' is not one of 4, 8"),
        ({"structure": "relations", "partitions": "3"}, "not a power of two"),
        ({"structure": "relations", "partitions": "4", "interleave": "4"}, "one partition"),
        ({"structure": "runs", "runs": "257"}, "257 is too many; the maximum is 256"),
        ({"structure": "lsm", "keys": "1000"}, "are less than 1111, which levels of ratio 10 need"),
    ],
)
def test_what_does_not_go_together_is_refused_with_the_reason(
    machine: Topology, options: dict[str, str], reason: str
) -> None:
    with pytest.raises(UserError, match=re.escape(reason)):
        planned(machine, **options)


# The door


_COMMON = {"pages": st.sampled_from(["base", "thp"]), "interleave": st.sampled_from([1, 1, 1, 4])}
_SHARES = st.sampled_from([-0.1, 0, 0.01, 1, 1.01])
_OWN: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "column": {
        "key_bytes": st.sampled_from([4, 8, 5]),
        "selectivity": _SHARES,
        "found": st.sampled_from(["positions", "count", "sum"]),
    },
    "relations": {
        "probe_ratio": st.sampled_from([0, 1, 64, 65]),
        "misses": _SHARES,
        "partitions": st.sampled_from([0, 1, 2, 3, 4096, 8192]),
    },
    "runs": {"runs": st.sampled_from([1, 2, 256, 257])},
    "lsm": {"ratio": st.sampled_from([1, 2, 10, 32, 33]), "misses": _SHARES},
}
_KEYS = st.sampled_from(
    [0, 1, 63, 64, 127, 128, 1023, 1024, 2048, cycle_of(2), cycle_of(10), 1 << 20, 1 << 33]
)


@st.composite
def _patterns(draw: st.DrawFn) -> dict[str, Any]:
    structure = draw(st.sampled_from(list(_OWN)))
    of_another = draw(st.sampled_from([structure] * 8 + list(_OWN)))
    pattern = {name: draw(values) for name, values in {**_COMMON, **_OWN[of_another]}.items()}
    if draw(st.booleans()):
        pattern["distribution"] = draw(st.sampled_from(["uniform", "zipf"]))
        if pattern["distribution"] == "zipf" and draw(st.booleans()):
            pattern["zipf_alpha"] = 0.9
    operation = draw(st.sampled_from([STRUCTURES[structure].operations[0]] * 5 + ["insert"]))
    return {"structure": structure, "operation": operation, "keys": draw(_KEYS), **pattern}


@settings(deadline=None, max_examples=60)
@given(_patterns(), st.sampled_from([[0], [0, 1]]))
def test_the_model_and_the_engine_take_and_refuse_the_same(
    pattern: dict[str, Any], cpus: list[int]
) -> None:
    measurement = {
        "id": "one", "kind": "ops", "initiator": "node:0", "target": "node:0", "cpus": cpus,
        "placement": {"policy": "bind", "nodes": [{"node": 0}]}, "pattern": pattern,
    }  # fmt: skip
    try:
        OpsSpec.model_validate(measurement)
        allowed = True
    except ValidationError:
        allowed = False
    answer = subprocess.run(
        [find_engine(), "check"],
        input=json.dumps({"version": 2, "measurements": [measurement]}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (answer.returncode == 0) == allowed, answer.stderr or "the engine takes it"
