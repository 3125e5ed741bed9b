"""Decisions on GPUs' figures go by types: with other messages all is decided as before."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from gpu_machine import machine, measured, missing, plan_of, run_of, run_with
from rich.console import Console
from tests.placeholders import Placeholders, without_layout

from tierscope.analysis.expect import check, parse_rule
from tierscope.kinds.views import VIEWS
from tierscope.kinds.vocabulary import vocabulary
from tierscope.model.cause import Cause
from tierscope.model.event import Failed, Skipped
from tierscope.model.run import Measurement
from tierscope.model.topology import PcieLink, Topology
from tierscope.peers.nvbandwidth.cases import TESTS
from tierscope.peers.nvbandwidth.cells import Settings, make_cells, waived
from tierscope.peers.nvbandwidth.output import Outcome, json_of, perf_of, text_of
from tierscope.report.run import show_run
from tierscope.suites.gpu_tour import plan_of as plan_of_steps
from tierscope.suites.gpu_tour import show_tour, tour

REASONS = [
    (Skipped, Cause.PEER, "GPU 0 cannot reach GPU 1's memory directly"),
    (Skipped, Cause.GPU_FEATURE, "GPU 0 has no bulk copies (TMA)"),
    (Skipped, Cause.MEMORY, "GPU 0 has 0.5 GiB of memory free, and needs memory directly (TMA)"),
    (Failed, Cause.VERIFICATION, "7 of 8 bytes are wrong"),
    (Failed, Cause.GPU_ERROR, "an illegal memory access"),
]


def degraded() -> Topology:
    """A machine whose first GPU has half of its lanes, and another node's memory is CXL."""
    topology = machine(gpus=3, nodes=2, cxl=True)
    half = topology.pci[0].model_copy(update={"link": PcieLink(speed=32.0, width=8)})
    return topology.model_copy(update={"pci": [half, *topology.pci[1:]]})


def printed(show: Any, *given: Any) -> str:
    file = io.StringIO()
    show(Console(file=file, width=2000, highlight=False), *given)
    return file.getvalue()


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("gpu-copy", {"from_": "all", "to": "all"}),
        ("gpu-copy", {"from_": "node:*", "both_ways": "yes", "memory": "pinned,registered"}),
        ("gpu-copy", {"memory": "pageable", "size": "4k,512m"}),
        ("gpu-together", {}),
        ("gpu-memory", {}),
        ("gpu-latency", {"per_sm": "yes"}),
    ],
)
def test_tables_and_golden_values_decide_alike(kind: str, options: dict[str, str]) -> None:
    topology = degraded()
    run = run_of(plan_of(kind, topology, **options), topology)
    entries = list(run.measurements)
    for number, (event, cause, reason) in enumerate(REASONS[: len(entries) - 1]):
        spec = plan_of(kind, topology, **options).measurements[number]
        entries[number] = missing(spec, event(id=spec.id, cause=cause, reason=reason))
    run = run.model_copy(update={"measurements": entries})
    words = Placeholders()
    other = words.run(run)
    assert other != run
    before = words.in_text(printed(show_run, run, Path("run"), VIEWS))
    assert without_layout(printed(show_run, other, Path("run"), VIEWS).splitlines()) == before
    rules = [
        parse_rule(text, vocabulary())
        for text in ("every * -> *: > 0.5 of limit", "* -> *: >= 1 GB/s", "gpu -> gpu: <= 900 ns")
    ]
    verdicts = [[(f.path, f.id, f.verdict) for f in check(one, rules)] for one in (run, other)]
    assert verdicts[0] == verdicts[1]


@pytest.mark.parametrize("rate", [13e9, 27e9, 55e9, 99e9])
def test_the_tour_finds_the_same_headroom(rate: float) -> None:
    topology = degraded()
    steps = tour(topology, topology.gpus)
    entries = [measured(step.spec, topology, rate) for step in steps]
    run = run_with(plan_of_steps(steps), topology, entries)
    words = Placeholders()
    other = words.run(run)
    assert other != run
    before = words.in_text(printed(show_tour, run, steps))
    assert without_layout(printed(show_tour, other, steps).splitlines()) == before


def outcomes(topology: Topology, words: Placeholders | None = None) -> list[Outcome]:
    """All of nvbandwidth's test cases, each with another of the reasons in its first cell."""
    settings = Settings(topology=topology, gpus=topology.gpus)
    found = []
    for number, test in enumerate(TESTS):
        reason = waived(test, settings)
        outcome = Outcome(test, len(topology.gpus), [], reason)
        outcome.cells = [] if reason else make_cells(test, settings)
        for place, cell in enumerate(outcome.cells):
            entry: Measurement = measured(cell.spec, topology)
            if place == 0 or number % 5 == 0:
                event, cause, said = REASONS[number % len(REASONS)]
                entry = missing(cell.spec, event(id=cell.spec.id, cause=cause, reason=said))
            outcome.found[cell.spec.id] = words.measurement(entry) if words else entry
        found.append(outcome)
    return found


def test_nvbandwidth_gives_the_same_verdicts() -> None:
    topology = machine(gpus=2)
    words = Placeholders()
    for given, other in zip(outcomes(topology), outcomes(topology, words), strict=True):
        assert given.status == other.status
        for show in (
            lambda one: text_of(one, verbose=True, mean=False),
            lambda one: perf_of(one, mean=False),
            lambda one: json.dumps(json_of(one, verbose=True, mean=True)),
        ):
            assert without_layout(show(other).splitlines()) == words.in_text(show(given))
    found = {outcome.status for outcome in outcomes(topology)}
    assert found == {"Passed", "Waived", "Error"}
