"""Records of a run: the machine in short, and what a measurement says of its repetitions."""

import os
import platform
from datetime import datetime, timedelta, timezone
from importlib import metadata
from typing import Any

import pytest
from tests.runs.test_run_files import ENGINE, NOW, repetition_of
from tests.runs.test_run_files import header as header  # fixtures
from tests.runs.test_run_files import plan as plan

from tierscope.kinds.plan import Plan, Spec
from tierscope.model.cause import Cause
from tierscope.model.event import Failed, Repetition, Skipped
from tierscope.model.evidence import EnergyDomain, EnergyEvidence
from tierscope.model.path import Limit
from tierscope.model.run import Header, Measurement, Refinement
from tierscope.model.topology import Cache, Gpu, MemorySideCache, Performance, Topology
from tierscope.runs.record import Bounds, make_header, measurement_of, summarize, version

GIB = 1 << 30


def test_the_machine_in_short(machine: Topology) -> None:
    side = MemorySideCache(level=1, size_bytes=9)
    claim = Performance(initiators=[0], read_bandwidth=1e9)
    caches = [
        Cache(level=2, type="unified", size_bytes=7, cpus=[0]),
        *(Cache(level=1, type="data", size_bytes=48 << 10, cpus=[n, n + 8]) for n in range(8)),
        Cache(level=1, type="data", size_bytes=32 << 10, cpus=[0, 8]),
        Cache(level=1, type="data", size_bytes=48 << 10, cpus=[0]),
        Cache(level=1, type="instruction", size_bytes=32 << 10, cpus=[0, 8]),
    ]
    node = machine.nodes[1].model_copy(
        update={"memory_side_caches": [side], "performance": [claim], "free_bytes": 5}
    )
    gpus = [Gpu(index=3, name="A", address="", uuid="U")]
    changes = {"nodes": [node], "caches": caches, "product": "P", "virtual": "kvm",
               "architecture": "a", "gpus": gpus}  # fmt: skip
    found = summarize(machine.model_copy(update=changes))
    assert found.pop("nodes") == [
        {"node": 1, "kind": "DRAM", "inferred_from": "a test says so",
         "cpus": [4, 5, 6, 7, 12, 13, 14, 15], "total_bytes": 64 * GIB, "free_bytes": 5,
         "distances": {"0": 21, "1": 10, "2": 14},
         "performance": [{"initiators": [0], "read_bandwidth": 1e9}],
         "memory_side_caches": [{"level": 1, "size_bytes": 9, "line_bytes": None, "indexing": "",
                                 "write_policy": ""}]}
    ]  # fmt: skip
    kib = {"level": 1, "type": "data"}
    assert found.pop("caches") == [
        {**kib, "size_bytes": 32 << 10, "cpus_each": 2, "count": 1},
        {**kib, "size_bytes": 48 << 10, "cpus_each": 1, "count": 1},
        {**kib, "size_bytes": 48 << 10, "cpus_each": 2, "count": 8},
        {"level": 2, "type": "unified", "size_bytes": 7, "cpus_each": 1, "count": 1},
    ]
    assert found == {
        "product": "P", "cpu": "Test CPU", "architecture": "a", "hypervisor": "kvm",
        "packages": 2, "cores": 8, "cpus": 16, "usable_cpus": list(range(16)), "page_bytes": 4096,
        "thp_page_bytes": 2 << 20, "gpus": [{"index": 3, "name": "A", "uuid": "U"}],
    }  # fmt: skip


def test_what_a_topology_lacks_is_this_machine_s(machine: Topology) -> None:
    found = summarize(machine.model_copy(update={"architecture": "", "base_page_bytes": 0}))
    assert found["architecture"] == platform.machine()
    assert found["page_bytes"] == os.sysconf("SC_PAGE_SIZE")


def test_a_header_has_what_was_asked(machine: Topology, plan: Plan) -> None:
    start = datetime(2026, 1, 5, 16, 0, tzinfo=timezone(timedelta(hours=1)))
    found = make_header(
        "n", NOW + timedelta(microseconds=5), ["a", "b\udcff"], plan,
        machine.model_copy(update={"emulated": True}), {"thp": "x"}, ENGINE,
        Refinement(points=4), start,
    )  # fmt: skip
    assert (found.name, found.host, found.emulated) == ("n", "test", True)
    assert (found.started, found.start_at) == (
        "2026-01-05T14:03:07+00:00", "2026-01-05T15:00:00+00:00"
    )  # fmt: skip
    assert found.command == ["a", "b\ufffd"]
    assert (found.git_commit, found.environment) == ("abc", {"thp": "x"})
    assert (found.refinement, found.tierscope) == (Refinement(points=4), version())
    assert found.plan == plan.model_dump(mode="json")
    assert found.engine == ENGINE.model_dump(mode="json")
    assert found.topology is not None
    assert found.machine == summarize(found.topology)


def test_a_header_without_a_start_has_none(header: Header) -> None:
    assert (header.start_at, header.refinement) == (None, None)


def test_a_package_that_is_not_installed_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    assert version() == metadata.version("tierscope")
    monkeypatch.setattr(metadata, "version", missing)
    assert version() == "not installed"


def columns(*named: tuple[str, str, float]) -> Any:
    """A change of a repetition: these metrics, parts and scales beside its headline."""
    whole = repetition_of("x").series[0].model_dump()
    values = whole["columns"][0]["values"]
    whole["columns"] += [
        {"metric": metric, "part": part, "values": [scale * one for one in values]}
        for metric, part, scale in named
    ]
    return {"series": [whole]}


def measured(spec: Spec, *repetitions: Repetition, **more: Any) -> Measurement:
    return measurement_of(
        spec, repetitions, more.pop("last", None), more.pop("bounds", Bounds()), **more
    )


LIMIT = Limit(value=28e9, unit="B/s", link="l", formula="f", source="s")


@pytest.mark.parametrize(
    ("limit", "efficiency"),
    [(LIMIT, 0.5), (LIMIT.model_copy(update={"value": 14e9}), 1.0),
     (LIMIT.model_copy(update={"unit": "1/s"}), None), (None, None),
     (LIMIT.model_copy(update={"value": 0.0}), None)],
)  # fmt: skip
def test_a_limit_bounds_the_headline_and_its_parts_together(
    plan: Plan, limit: Limit | None, efficiency: float | None
) -> None:
    spec = plan.measurements[0]
    changes = columns(("bandwidth", "a", 0.5), ("total_bandwidth", "", 2.0))
    found = measured(spec, repetition_of(spec.id, **changes), bounds=Bounds(limit))
    figures = {(one.metric, one.part): one for one in found.figures}
    head = figures["bandwidth", ""]
    part, other = figures["bandwidth", "a"], figures["total_bandwidth", ""]
    bound = limit if efficiency else None
    assert (head.limit, part.limit, other.limit) == (bound, bound, None)
    assert head.efficiency == (pytest.approx(efficiency, rel=0.002) if efficiency else None)
    assert (part.efficiency, other.efficiency) == (None, None)
    assert (head.compared, part.compared) == (True, True)


def test_a_measurement_says_what_it_is_of(plan: Plan) -> None:
    spec = plan.measurements[1]
    bounds = Bounds(fits_caches=False, fits_memory_side_cache=True)
    found = measured(spec, repetition_of(spec.id), repetition_of(spec.id), bounds=bounds)
    assert (found.id, found.kind, found.status) == (spec.id, "bandwidth", "measured")
    assert (found.initiator, found.target) == (spec.initiator, spec.target)
    assert (found.cpus, found.pattern) == (spec.thread_cpus(), spec.identity())
    assert (found.fits_caches, found.fits_memory_side_cache) == (False, True)
    assert (found.repetitions, found.n, len(found.samples)) == (2, 80, 80)
    assert (found.rounds, found.series, found.distributions) == (None, None, None)
    assert found.stop in ("budget", "precision")
    assert measured(spec, repetition_of(spec.id), cut=True).stop == "interrupted"


@pytest.mark.parametrize("cause", [*Cause])
def test_causes_that_disprove_what_was_measured_before(plan: Plan, cause: Cause) -> None:
    """A crash costs its own repetition; wrong data or a wrong place casts doubt on all."""
    spec = plan.measurements[0]
    last = Failed(id=spec.id, cause=cause, reason="why")
    found = measured(spec, repetition_of(spec.id), last=last)
    kept = cause in ("crash", "timeout", "protocol", "gpu-error", "program")
    assert found.status == ("measured" if kept else "failed")
    if kept:
        assert found.evidence is not None
        assert (found.evidence.notes or [])[-1:] == ["a further repetition failed: why"]
        return
    assert (found.cause, found.reason, found.figures) == (cause, "why", [])
    assert (found.repetitions, found.n, found.remedy) == (1, 0, "")


def test_notes_of_repetitions_stand_before_what_ended_them(plan: Plan) -> None:
    spec = plan.measurements[0]
    evidence = {"pages": {"0": 16384}, "page_bytes": 4096, "cpus": [0], "notes": ["first"]}
    last = Skipped(id=spec.id, cause=Cause.MEMORY, reason="full")
    found = measured(spec, repetition_of(spec.id, evidence=evidence), last=last)
    assert found.evidence is not None
    notes = found.evidence.notes or []
    assert notes[0] == "first"
    assert notes[-1] == "a further repetition was skipped: full"


def test_what_was_skipped_says_what_would_help(plan: Plan) -> None:
    spec = plan.measurements[0]
    last = Skipped(id=spec.id, cause=Cause.MEMORY, reason="full", remedy="free some")
    found = measured(spec, last=last)
    assert (found.status, found.reason, found.remedy) == ("skipped", "full", "free some")
    assert (found.repetitions, found.figures, found.stop) == (0, [], None)


@pytest.mark.parametrize(("notes", "last"), [(None, False), (["first"], True)])
def test_what_energy_does_not_tell_is_a_note(
    plan: Plan, notes: list[str] | None, last: bool
) -> None:
    """After those of repetitions, before what ended them. 10 J in 2 s are 5 W, as if it idled."""
    spec = plan.measurements[0]
    domain = EnergyDomain(name="p", source="RAPL", joules=10.0, idle_w=5.0, summed=True)
    energy = EnergyEvidence(seconds=2.0, idle_s=1.0, readings=9, domains=[domain])
    seen = {"page_bytes": 4096, "notes": notes, "energy": energy.model_dump()}
    ended = Failed(id=spec.id, cause=Cause.CRASH, reason="died") if last else None
    found = measured(spec, *[repetition_of(spec.id, evidence=seen, fresh=True)] * 6, last=ended)
    said = "its power was not above that of the idle machine, as far as counters tell"
    after = ["a further repetition failed: died"] if last else []
    assert found.evidence is not None
    assert found.evidence.notes == [*(notes or []), said, *after]
    powers = [one for one in found.figures if one.metric == "power"]
    assert [one.estimate for one in powers] == [5.0, 5.0]
    assert not any(one.limit or one.compared for one in powers)
