import io
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.console import Console
from tierscope.engine.events import stream

from tierscope.kinds.plan import Plan
from tierscope.kinds.views import VIEWS
from tierscope.model.event import Capabilities, CountedTraffic, Evidence, Failed, Result, Skipped
from tierscope.model.run import Footer, Limit, Measurement, Run
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.report import figures
from tierscope.report.console import bar, make_console
from tierscope.report.evidence import evidence_line
from tierscope.report.run import show_run
from tierscope.runs.record import make_header, measurement_of

ENGINE = Capabilities(
    engine="0", plan_version=1, git_commit="abc", compiler="c", isas=["sse4"], capabilities=[]
)


def measured(estimate: float, low: float, high: float, **more: object) -> Measurement:
    values = {
        "id": "x", "kind": "bandwidth", "initiator": "node:0", "target": "node:0", "cpus": [0],
        "pattern": {}, "status": "measured", "estimate": estimate, "ci_low": low, "ci_high": high,
        "unit": "B/s", **more,
    }  # fmt: skip
    return Measurement.model_validate(values)


@pytest.mark.parametrize(
    ("estimate", "low", "high", "text"),
    [
        (28.13e9, 27.9e9, 28.3e9, "28.1 ±0.3"),  # never narrower than what was measured
        (28.13e9, 28.0e9, 28.27e9, "28.13 ±0.14"),
        (9e9, 3e9, 10e9, "9 ±6"),
        (1.4e9, 1.3e9, 3e9, "1.4 ±1.6"),
        (101.36e9, 101.3e9, 101.4e9, "101.4 ±0.1"),
        (2.0e9, 2.0e9, 2.0e9, "2.000"),
        (0.0, 0.0, 0.0, "0"),
    ],
)
def test_digits_follow_the_interval(estimate: float, low: float, high: float, text: str) -> None:
    assert figures.with_interval(measured(estimate, low, high), 1e9) == text


@pytest.mark.parametrize(
    ("unit", "value", "name"),
    [
        ("B/s", 300e9, "GB/s"),
        ("B/s", 0.5e9, "GB/s"),
        ("B/s", 7e6, "MB/s"),
        ("ns", 120.0, "ns"),
        ("ns", 20_000.0, "ns"),
        ("ns", 200_000.0, "µs"),
    ],
)
def test_units_suit_the_value(unit: str, value: float, name: str) -> None:
    assert figures.scale_of(unit, [value])[0] == name


@pytest.mark.parametrize(
    ("size", "text"), [(64, "64 B"), (48 << 10, "48 KiB"), (1 << 30, "1 GiB"), (3 << 29, "1.5 GiB")]
)
def test_sizes_are_binary(size: int, text: str) -> None:
    assert figures.size_text(size) == text


def test_a_bar_is_an_eighth_fine() -> None:
    assert [bar(value, 8.0, 1) for value in (0.0, 1.0, 4.0, 8.0, 9.0)] == ["", "▏", "▌", "█", "█"]


def test_counters_stand_beside_what_the_bus_should_have_seen() -> None:
    source = "uncore_imc: cas_count_read, cas_count_write"
    seen = [
        Evidence(
            counters=[CountedTraffic(source=source, bytes=count, program_bytes=100, bus_bytes=200)]
        )
        for count in (196, 204)
    ]
    assert evidence_line([measured(1, 1, 1, evidence=e) for e in seen]) == (
        f"observed: {source} counted 98% to 102% of the bytes expected on the bus"
    )


def test_pages_of_what_runs_beside_are_said_where_they_are_elsewhere() -> None:
    beside = {"stream2": Evidence(pages={"4": 512}), "stream3": Evidence(pages={"0": 512})}
    evidence = Evidence(pages={"0": 262144}, workloads=beside)
    assert evidence_line([measured(1, 1, 1, evidence=evidence)]) == (
        "observed: pages 100% on node 0; of stream2 100% on node 4"
    )


def test_evidence_is_said_once_where_it_is_the_same() -> None:
    same = Evidence(pages={"0": 3, "1": 1}, cpus=[0, 1], isa="avx2")
    other = same.model_copy(update={"isa": "sse4"})
    measurements = [measured(1, 1, 1, evidence=e, cpus=[0, 1]) for e in (same, same, other)]
    assert evidence_line(measurements) == (
        "observed: pages 75% on node 0, 25% on node 1; each thread on its CPU; avx2 (2), sse4 (1)"
    )


@pytest.fixture
def run(machine: Topology, fake_engine: object) -> Run:
    requests = [
        Request(kind="bandwidth", options={"op": "read,copy", "threads": "1..4", "size": "64m"}),
        Request(kind="bandwidth", options={"op": "read", "to": "node:1", "size": "64m"}),
        Request(kind="latency", options={"size": "4k..64m"}),
    ]
    return run_of(expand(requests, machine, thp=True), machine)


def run_of(plan: Plan, machine: Topology) -> Run:
    specs = {spec.id: spec for spec in plan.measurements}
    limit = Limit(value=200e9, unit="B/s", link="8 x DDR5-4800", formula="8 x 8", source="here")
    measurements = [
        measurement_of(specs[event.id], event, limit)
        for event in stream(plan)
        if isinstance(event, Result | Skipped | Failed)
    ]
    now = datetime(2026, 1, 5, tzinfo=UTC)
    header = make_header("r", now, ["tierscope"], plan, machine, {"thp": "always"}, ENGINE)
    footer = Footer(finished="", interrupted=False, measured=1, skipped=0, failed=0)
    return Run(header=header, measurements=measurements, footer=footer)


def shown(run: Run, width: int = 100) -> str:
    text = io.StringIO()
    console = make_console(text)
    console.width = width
    show_run(console, run, Path("/x/r.jsonl"), VIEWS)
    return text.getvalue()


def test_a_run_shows_machine_bandwidth_knee_limit_latency_and_file(run: Run) -> None:
    text = shown(run)
    for part in (
        "Test CPU", "node 2: CXL, 8 GiB", "Bandwidth, GB/s", "4 thr.", "knee", "of limit",
        "8 x DDR5-4800", "working set", "level 1, to 32 KiB–64 KiB: 2 ns", "/x/r.jsonl",
    ):  # fmt: skip
        assert part in text


def test_tables_fit_a_hundred_columns(run: Run) -> None:
    assert max(len(line) for line in shown(run).splitlines()) <= 100


def test_a_heatmap_of_many_threads_and_access_sizes_fits(
    machine: Topology, fake_engine: object
) -> None:
    options = {"access-size": "64..64k", "threads": "1..8", "order": "random", "size": "64m"}
    plan = expand([Request(kind="bandwidth", options=options)], machine, thp=True)
    lines = shown(run_of(plan, machine)).splitlines()
    assert max(map(len, lines)) <= 100
    assert sum(" KiB " in line for line in lines) >= 7


def test_a_heatmap_too_wide_for_the_screen_comes_in_pieces(
    machine: Topology, fake_engine: object
) -> None:
    options = {"access-size": "64..64k", "threads": "1..16", "order": "random", "size": "64m"}
    request = Request(kind="bandwidth", options={**options, "from": "cpus:0-15"})
    text = shown(run_of(expand([request], machine, thp=True), machine), width=50)
    assert max(map(len, text.splitlines()[:-1])) <= 50
    assert "…" not in text
    assert sum(line.startswith(" 16 ") for line in text.splitlines()) > 1


def test_threads_that_ran_elsewhere_are_told() -> None:
    measurement = measured(1, 1, 1, cpus=[0, 1], evidence=Evidence(cpus=[0, 7]))
    assert evidence_line([measurement]) == "observed: threads on CPUs 0,7 instead"


def test_what_was_not_measured_says_why(machine: Topology, fake_engine: object) -> None:
    fake_engine("skip@1,fail@2")  # type: ignore[operator]
    plan = expand([Request(kind="latency", options={"size": "1m..4m"})], machine, thp=True)
    text = shown(run_of(plan, machine))
    assert "told to; tell it otherwise" in text
    assert "told to fail" in text
    assert "1 measured, 1 skipped, 1 failed" in text


def test_a_cut_run_says_that_it_was_cut(run: Run) -> None:
    cut = run.model_copy(update={"footer": None, "measurements": run.measurements[:2]})
    planned = len(run.header.plan["measurements"])
    assert f"The run was cut after 2 of {planned} measurements" in shown(cut)


def test_an_emulated_machine_s_figures_are_disowned(run: Run) -> None:
    header = run.header.model_copy(update={"emulated": True})
    text = shown(run.model_copy(update={"header": header}))
    assert "machine's memories and devices are emulated in software" in text
    tcg = header.model_copy(update={"machine": {**header.machine, "hypervisor": "qemu (tcg)"}})
    assert "CPUs, memories and devices" in shown(run.model_copy(update={"header": tcg}))


def test_names_with_markup_are_text(run: Run) -> None:
    header = run.header.model_copy(update={"host": "[bold]x[/bold] [/red]"})
    assert "[bold]x[/bold] [/red]" in shown(run.model_copy(update={"header": header}))


def test_ascii_output_keeps_its_meaning(run: Run) -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    console = make_console(file)
    assert isinstance(console, Console)
    show_run(console, run, Path("/x"), VIEWS)
    file.flush()
    text = raw.getvalue().decode("ascii")
    assert "+-" in text
    assert "node:0 -> node:0" in text
    assert "?" not in text
