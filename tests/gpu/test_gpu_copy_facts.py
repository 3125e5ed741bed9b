"""What stands beside figures of copies: first copies, nodes by CPUs, overlaps; the issuing CPU."""

import io
import re
from pathlib import Path

import pytest
from gpu_machine import machine, plan_of, repetition_of, run_of, run_with
from rich.console import Console
from tests import synthetic

from tierscope.analysis.conclude import conclude
from tierscope.analysis.observed import merged_evidence
from tierscope.kinds.gpu_copy.show import copies_of, node_lines
from tierscope.kinds.views import VIEWS
from tierscope.model.errors import UserError
from tierscope.model.event import Column, Evidence, Series
from tierscope.model.evidence import CopiesOverlap, TraceRow
from tierscope.model.run import Figure, Measurement, Run
from tierscope.model.topology import Topology
from tierscope.report.evidence import overlap_text, show_traces
from tierscope.report.run import show_run
from tierscope.runs.write import RunWriter


def screen(run: Run) -> str:
    console = Console(file=io.StringIO(), width=100, highlight=False)
    show_run(console, run, Path("run"), VIEWS)
    return console.file.getvalue()  # type: ignore[attr-defined]


def with_first(one: Measurement, rate: float) -> Measurement:
    figure = Figure(metric="first_copy_bandwidth", unit="B/s", estimate=rate)
    return one.model_copy(update={"figures": [*one.figures, figure]})


def test_the_first_copy_stands_beside_the_steady_figure() -> None:
    topology = machine(gpus=1)
    run = run_of(plan_of("gpu-copy", topology, from_="node:0", to="gpu:0"), topology)
    cold = run.model_copy(update={"measurements": [with_first(run.measurements[0], 3.21e9)]})
    text = screen(cold)
    assert re.search(r"50\.00 ±0\.15 .*3\.21", text)
    assert "in no other figure" in text
    assert max(map(len, text.splitlines())) <= 100
    assert "first" not in screen(run).partition("Measure again")[0]


def test_a_matrix_says_first_copies_below() -> None:
    topology = machine(gpus=2)
    run = run_of(plan_of("gpu-copy", topology, from_="all", to="all"), topology)
    rates = [1e9 * (2 + place) for place, _ in enumerate(run.measurements)]
    cold = [with_first(m, rate) for m, rate in zip(run.measurements, rates, strict=True)]
    text = " ".join(screen(run.model_copy(update={"measurements": cold})).split())
    assert f"in no other figure: 2 to {rates[-1] / 1e9:.3g} GB/s" in text


def test_the_first_copy_is_in_no_steady_figure() -> None:
    topology = machine(gpus=1)
    (spec,) = plan_of("gpu-copy", topology, from_="node:0", to="gpu:0").measurements
    repetition = repetition_of(spec, 50e9)
    first = Series(
        name="first",
        starts=[-0.5],
        durations=[0.2],
        columns=[Column(metric="first_copy_bandwidth", values=[1e9])],
    )
    plain = [repetition] * 4
    cold = [repetition.model_copy(update={"series": [*repetition.series, first]}), *plain[1:]]
    before, after = conclude(spec, plain), conclude(spec, cold)
    assert after.figures[0] == before.figures[0]
    assert [(f.metric, f.estimate) for f in after.figures[1:]] == [("first_copy_bandwidth", 1e9)]


def test_the_issuing_cpu_is_the_first_that_was_asked_for() -> None:
    topology = machine(gpus=1)
    (spec,) = plan_of("gpu-copy", topology, from_="node:0", to="gpu:0", cpus="6-7").measurements
    assert spec.thread_cpus() == [6, 7]
    assert spec.id.endswith("cpu6")
    (near,) = plan_of("gpu-copy", topology, from_="node:0", to="gpu:0").measurements
    assert near.thread_cpus()[0] == 0


@pytest.mark.parametrize("text", ["99", "x", "3-1", ""])
def test_cpus_that_cannot_issue_are_refused(text: str) -> None:
    with pytest.raises(UserError, match="CPUs"):
        plan_of("gpu-copy", machine(gpus=1), from_="node:0", to="gpu:0", cpus=text)


def by_cpus(topology: Topology, **rates: float) -> list[Measurement]:
    """Bandwidths that CPUs measured of node 0, by operation."""
    found = []
    for operation, rate in rates.items():
        plan = plan_of("bandwidth", topology, size="1g", op=operation.replace("_", "-"))
        entry = run_of(plan, topology).measurements[0]
        found.append(synthetic.changed(entry, estimate=rate, id=operation))
    return found


def copies_and(topology: Topology, more: list[Measurement], **given: str) -> list[str]:
    run = run_of(plan_of("gpu-copy", topology, **given), topology)
    copies = copies_of(run.measurements, run)
    whole = run.model_copy(update={"measurements": [*run.measurements, *more]})
    return node_lines(copies, whole)


@pytest.fixture
def no_other_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path / "tierscope" / "runs"


@pytest.mark.usefixtures("no_other_runs")
def test_a_node_that_gives_as_much_as_the_link_carries_is_enough() -> None:
    topology = machine(gpus=1)
    rates = by_cpus(topology, read=60e9, write_nt=30e9)
    to_gpu = {"from_": "node:0", "to": "gpu:0"}
    assert copies_and(topology, rates, **to_gpu) == [
        "node 0 gives its CPUs 60.0 GB/s: enough for this link, which carried 50.0"
    ]
    assert copies_and(topology, rates, from_="gpu:0", to="node:0") == [
        "node 0 takes from its CPUs 30.0 GB/s, though copies reach 50.0: the CPUs limit that figure"
    ]
    assert copies_and(topology, [], **to_gpu) == []


def test_another_run_of_the_same_host_may_have_the_rate(no_other_runs: Path) -> None:
    topology = machine(gpus=1)
    plan = plan_of("bandwidth", topology, size="1g")
    kept = run_with(plan, topology, by_cpus(topology, read=25e9))
    no_other_runs.mkdir(parents=True)
    for name, host in (("a", topology.host), ("b", "elsewhere")):
        header = kept.header.model_copy(update={"name": name, "host": host})
        writer = RunWriter.create(no_other_runs / f"{name}.jsonl", header)
        for one in (*kept.measurements, kept.footer):
            writer.add(one)  # type: ignore[arg-type]
        writer.close()
    (line,) = copies_and(topology, [], from_="node:0", to="gpu:0")
    assert line.startswith("node 0 gives its CPUs 25.0 GB/s (run a), though copies reach 50.0")


@pytest.mark.usefixtures("no_other_runs")
def test_a_node_whose_copies_are_slower_than_those_with_another_node_is_named() -> None:
    topology = machine(gpus=1, nodes=2)
    run = run_of(plan_of("gpu-copy", topology, from_="node:0,1", to="gpu:0"), topology)
    slow, fast = synthetic.changed(run.measurements[0], estimate=20e9), run.measurements[1]
    rates = by_cpus(topology, read=21e9)
    copies = copies_of([slow, fast], run)
    whole = run.model_copy(update={"measurements": [slow, fast, *rates]})
    (line,) = node_lines(copies, whole)
    assert line.endswith("21.0 GB/s, less than the 50.0 that this link carried with another node")


def row(size: float | None, count: int = 2, total: float = 2e6) -> TraceRow:
    return TraceRow(
        group="operation",
        name="memcpy host to GPU",
        count=count,
        bytes=(size or 0) * count,
        total_ns=total,
        mean_ns=total / count,
        median_ns=total / count,
        min_ns=total / count,
        max_ns=total / count,
        stddev_ns=0.0,
        each_bytes=size,
    )


def test_a_trace_tells_copies_of_each_size_apart() -> None:
    topology = machine(gpus=1)
    (spec,) = plan_of("gpu-copy", topology, from_="node:0", to="gpu:0").measurements
    overlap = CopiesOverlap(copies=3, busy_ns=4e6, overlapped_ns=1e6, most=2)
    evidence = Evidence(trace=[row(1 << 20), row(4096.0)], copies_overlap=overlap)
    repetition = repetition_of(spec, 50e9).model_copy(update={"evidence": evidence})
    merged = merged_evidence([repetition, repetition])
    assert {(one.each_bytes, one.count) for one in merged.trace or []} == {
        (1 << 20, 4),
        (4096.0, 4),
    }
    assert merged.copies_overlap == CopiesOverlap(copies=6, busy_ns=8e6, overlapped_ns=2e6, most=2)
    entry = run_of(plan_of("gpu-copy", topology, from_="node:0", to="gpu:0"), topology)
    traced = entry.measurements[0].model_copy(update={"evidence": merged})
    console = Console(file=io.StringIO(), width=100, highlight=False)
    show_traces(console, [traced])
    text = " ".join(console.file.getvalue().split())  # type: ignore[attr-defined]
    assert "4 x 1 MiB" in text
    assert "4 x 4 KiB" in text
    assert "overlapped for 25% of the time" in text


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (CopiesOverlap(copies=1, busy_ns=5.0, overlapped_ns=0.0, most=1), "none could overlap"),
        (CopiesOverlap(copies=9, busy_ns=5.0, overlapped_ns=0.0, most=1), "No two of 9 copies"),
        (CopiesOverlap(copies=9, busy_ns=8.0, overlapped_ns=4.0, most=3), "50% of the time"),
    ],
)
def test_one_sentence_says_whether_copies_overlapped(found: CopiesOverlap, said: str) -> None:
    assert said in overlap_text(found)
