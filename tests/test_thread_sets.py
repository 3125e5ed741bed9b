"""Threads on sets of CPUs, also more of them than CPUs: what is refused, observed and shown."""

import io
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from rich.console import Console
from tests import synthetic

from tierscope.engine.repetitions import living_engine
from tierscope.kinds.plan import Plan, Spec
from tierscope.kinds.views import VIEWS
from tierscope.model.errors import counted
from tierscope.model.event import Repetition, Skipped
from tierscope.model.threads import Threads
from tierscope.report.run import show_run
from tierscope.report.style import detailed
from tierscope.runs.record import Bounds, measurement_of

_ALLOWED = sorted(os.sched_getaffinity(0))[:2]
_SIZE = 4 << 20
_HERE: dict[str, Any] = {"policy": "bind", "nodes": [{"node": 0}]}


def spec_of(kind: str = "bandwidth", threads: int = 5, **changes: Any) -> Spec:
    """Return a measurement by so many threads, each of which may run on either of two CPUs."""
    patterns: dict[str, dict[str, Any]] = {
        "bandwidth": {"operation": "write", "size": _SIZE, "pages": "base"},
        "traffic": {"size": _SIZE, "writes": 50, "pages": "base"},
        "chain": {
            "operations": [{"access": "read", "size": 64}, {"access": "write", "size": 64}],
            "size": _SIZE,
            "pages": "base",
        },
    }
    fields = {
        "kind": kind,
        "id": "sets",
        "initiator": "node:0",
        "target": "node:0",
        "cpus": _ALLOWED,
        "cpu_sets": [_ALLOWED] * threads,
        "placement": _HERE,
        "pattern": patterns[kind] | changes.pop("pattern", {}),
        **changes,
    }
    return Plan.model_validate({"version": 2, "measurements": [fields]}).measurements[0]


def repetition_of(spec: Spec) -> Repetition:
    with living_engine() as engine:
        engine.plan([spec])
        events = list(engine.repetition(spec.id, 0.2))
    (repetition,) = (event for event in events if isinstance(event, Repetition))
    return repetition


@given(st.lists(st.lists(st.integers(0, 99), min_size=1, unique=True), min_size=1, max_size=9))
def test_threads_are_as_many_as_sets_and_each_set_is_named_once(sets: list[list[int]]) -> None:
    threads = Threads(cpus=sorted({cpu for each in sets for cpu in each}), cpu_sets=sets)
    assert threads.thread_count == len(sets)
    assert Threads.model_validate_json(threads.model_dump_json()) == threads
    named = threads.pinned_as()["cpu_sets"].split("|")
    assert len(named) == len(set(named)) == len({tuple(sorted(each)) for each in sets})
    assert Threads(cpus=threads.cpus).pinned_as() == {}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cpus": [0], "cpu_sets": [[0], [1]]}, "are not all CPUs of cpu_sets, ascending"),
        ({"cpus": [1, 0], "cpu_sets": [[0, 1]]}, "are not all CPUs of cpu_sets, ascending"),
        ({"cpus": [0], "cpu_sets": [[0, 0]]}, "names 0 twice"),
        ({"cpu_sets": []}, "at least 1 item"),
        ({"cpu_sets": [[]]}, "at least 1 item"),
        (
            {"placement": {**_HERE, "policy": "first-touch"}},
            "goes with memory that the plan places",
        ),
        ({"pattern": {"size": 256}}, "has fewer accesses than there are threads"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        spec_of(**changes)


def test_streams_share_cpus_only_where_all_of_them_have_sets() -> None:
    other = {
        "name": "other", "initiator": "node:0", "target": "node:0", "placement": _HERE,
        "cpus": _ALLOWED, "pattern": {"size": _SIZE},
    }  # fmt: skip
    shared = spec_of("traffic", beside=[{**other, "cpu_sets": [_ALLOWED] * 3}])
    assert shared.thread_cpus() == _ALLOWED
    assert "by 3, sequential on CPUs" in shared.identity()["beside"]
    with pytest.raises(ValidationError, match="streams that share CPUs have sets"):
        spec_of("traffic", beside=[other])


@pytest.mark.parametrize("kind", ["bandwidth", "traffic", "chain"])
def test_more_threads_than_cpus_are_measured_and_their_writes_verified(kind: str) -> None:
    spec = spec_of(kind)
    repetition = repetition_of(spec)
    windows = repetition.series[0]
    assert all(value and value > 0 for value in windows.columns[0].values)
    assert min(windows.durations) >= 0.03 * 5 / len(_ALLOWED)
    evidence = repetition.evidence
    assert evidence.cpus is not None
    assert evidence.cpus_seen is not None
    assert len(evidence.cpus) == len(evidence.cpus_seen) == 5
    assert set(evidence.cpus) <= set(_ALLOWED)
    assert all(set(seen) <= set(_ALLOWED) for seen in evidence.cpus_seen)
    assert evidence.verified
    cpus = counted(len(_ALLOWED), "CPU")
    (note,) = evidence.notes or []
    assert note == f"5 threads take turns on {cpus}: what is timed holds their waiting for a CPU"


def test_each_thread_has_a_column_and_together_they_make_the_whole() -> None:
    columns = {c.part: c.values for c in repetition_of(spec_of()).series[0].columns
               if c.metric in ("bandwidth", "thread_bandwidth")}  # fmt: skip
    assert set(columns) == {"", "0", "1", "2", "3", "4"}
    for row, whole in enumerate(columns.pop("")):
        parts = sum(values[row] or 0 for values in columns.values())
        assert parts == pytest.approx(whole, rel=1e-4)


def test_sets_of_one_cpu_each_are_pinned_as_ever() -> None:
    spec = spec_of(cpu_sets=[[cpu] for cpu in _ALLOWED])
    evidence = repetition_of(spec).evidence
    assert evidence.cpus == _ALLOWED
    assert evidence.cpus_seen is None
    assert evidence.notes is None


def test_a_set_with_a_cpu_that_is_not_there_is_skipped() -> None:
    spec = spec_of(cpus=[*_ALLOWED, 65535], cpu_sets=[[*_ALLOWED, 65535]] * 2)
    with living_engine() as engine:
        engine.plan([spec])
        events = list(engine.repetition(spec.id, 0.1))
    (skipped,) = (event for event in events if isinstance(event, Skipped))
    assert skipped.cause == "cpu"
    assert "no thread can run on CPU 65535" in skipped.reason


def test_zipf_walks_less_than_all_and_says_what_its_addresses_cost() -> None:
    pattern = {"operation": "rmw", "order": "zipf", "zipf_alpha": 1.5}
    evidence = repetition_of(spec_of(threads=2, pattern=pattern)).evidence
    assert evidence.walked_bytes is not None
    assert 0 < evidence.walked_bytes < _SIZE
    assert evidence.address_ns is not None
    assert evidence.address_ns > 0
    assert evidence.verified


@pytest.mark.parametrize("operation", ["read", "write"])
@pytest.mark.parametrize("access_size", [8, 16, 32])
def test_narrow_accesses_go_over_all_of_the_array(operation: str, access_size: int) -> None:
    pattern = {"operation": operation, "access_size": access_size}
    evidence = repetition_of(spec_of(threads=1, pattern=pattern)).evidence
    assert evidence.walked_bytes == _SIZE
    assert (evidence.verified is None) == (operation == "read")


def test_regions_of_a_chain_may_differ_in_size() -> None:
    operations = [
        {"access": "read", "size": 64},
        {"access": "read", "size": 64, "region": 1},
        {"access": "write", "size": 64},
    ]
    pattern = {"operations": operations, "size_second": 2 * _SIZE}
    spec = spec_of("chain", pattern=pattern, placement_second=_HERE)
    assert [region.total_bytes for region in spec.regions()] == [_SIZE, 2 * _SIZE]
    assert spec.identity()["size_second"] == 2 * _SIZE
    evidence = repetition_of(spec).evidence
    assert evidence.region_bytes == 3 * _SIZE
    assert evidence.verified


def test_a_size_of_its_own_needs_a_second_region() -> None:
    with pytest.raises(ValidationError, match="goes with operations of m1"):
        spec_of("chain", pattern={"size_second": _SIZE})


@pytest.mark.parametrize("kind", ["bandwidth", "traffic", "chain"])
def test_tables_say_which_cpus_threads_could_run_on(kind: str) -> None:
    spec = spec_of(kind)
    measured = measurement_of(spec, [repetition_of(spec)] * 5, None, Bounds(None, False, False))
    text = io.StringIO()
    with detailed(True):
        show_run(Console(file=text, width=100), synthetic.run([measured]), Path("run"), VIEWS)
    shown = " ".join(text.getvalue().split())
    sets = measured.pattern["cpu_sets"]
    assert measured.pattern["threads"] == 5
    assert f"CPUs {sets}" in shown or f"cpu_sets {sets}" in shown
    assert "threads on their sets of CPUs, seen on" in shown
    assert "5 threads take turns on" in shown
