"""What a run looks like in a terminal: tables, evidence, what was not measured."""

import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests import synthetic

from tierscope.kinds.views import VIEWS
from tierscope.model.cause import Cause
from tierscope.model.event import CountedTraffic, Evidence, Mode
from tierscope.model.run import Measurement, Run
from tierscope.report import figures
from tierscope.report.evidence import doubts, evidence_line, warnings
from tierscope.report.run import show_run
from tierscope.report.style import bar, make_console
from tierscope.report.summary import warnings_of


def measured(estimate: float, low: float, high: float, **more: Any) -> Measurement:
    values = {
        "id": "x", "kind": "bandwidth", "initiator": "node:0", "target": "node:0", "cpus": [0],
        "pattern": {}, "status": "measured", "figures": [{
            "metric": "bandwidth", "unit": "B/s", "estimate": estimate, "ci_low": low,
            "ci_high": high,
        }],
    }  # fmt: skip
    return synthetic.changed(Measurement.model_validate(values), **more)


@pytest.mark.parametrize(
    ("estimate", "low", "high", "text"),
    [
        (28.13e9, 27.9e9, 28.3e9, "28.1 ±0.3"),  # never narrower than what was measured
        (28.13e9, 28.0e9, 28.27e9, "28.13 ±0.14"),
        (9e9, 3e9, 10e9, "3–10"),
        (1.4e9, 1.3e9, 3e9, "1.4 (1.3–3.0)"),
        (101.36e9, 101.3e9, 101.4e9, "101.4 ±0.1"),
        (2.0e9, 2.0e9, 2.0e9, "2.000"),
        (0.0, 0.0, 0.0, "0"),
        (
            158e9,
            0.2e9,
            356e9,
            "0.2–360",
        ),  # unreliable: ends that differ by more than a factor of 3
        (9e9, 0.2e9, 37e9, "0.2–37"),  # what is above 0 stays so
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


def test_counters_are_compared_with_what_the_bus_should_carry() -> None:
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


def test_pages_of_concurrent_workloads_are_named_where_they_are_elsewhere() -> None:
    others = {"stream2": Evidence(pages={"4": 512}), "stream3": Evidence(pages={"0": 512})}
    evidence = Evidence(pages={"0": 262144}, workloads=others)
    assert evidence_line([measured(1, 1, 1, evidence=evidence)]) == (
        "observed: pages 100% on node 0; of stream2 100% on node 4"
    )


def test_traffic_by_node_is_shown_beside_what_was_asked_for() -> None:
    evidence = Evidence(pages={"0": 2000, "2": 100}, traffic={"0": 2e12, "2": 1.02e11})
    pattern = {"policy": "weighted"}
    m = measured(1, 1, 1, evidence=evidence, pattern=pattern, target="node:0,2@20:1")
    assert evidence_line([m]) == (
        "observed: pages 95.2% on node 0, 4.76% on node 2; "
        "traffic 95.1% on node 0, 4.85% on node 2, asked 95.2:4.76"
    )
    parts = measured(1, 1, 1, evidence=evidence, pattern={"policy": "partition"})
    assert evidence_line([parts]).endswith("traffic 95.1% on node 0, 4.85% on node 2")


def test_traffic_of_a_load_is_named_as_the_load_s() -> None:
    load = Evidence(pages={"0": 3, "2": 1}, traffic={"0": 3e9, "2": 1e9})
    evidence = Evidence(pages={"0": 3, "2": 1}, workloads={"load": load})
    assert evidence_line([measured(1, 1, 1, evidence=evidence)]) == (
        "observed: pages 75% on node 0, 25% on node 2; traffic of load 75% on node 0, 25% on node 2"
    )


def test_hugetlb_pages_are_not_called_base_pages() -> None:
    evidence = Evidence(pages={"0": 512}, page_bytes=2 << 20, huge_bytes=0, region_bytes=1 << 30)
    measurement = measured(1, 1, 1, evidence=evidence, pattern={"pages": "2m"})
    assert evidence_line([measurement]) == "observed: pages 100% on node 0; hugetlb pages"


def test_evidence_is_said_once_where_it_is_the_same() -> None:
    same = Evidence(pages={"0": 3, "1": 1}, cpus=[0, 1], isa="avx2")
    other = same.model_copy(update={"isa": "sse4"})
    measurements = [measured(1, 1, 1, evidence=e, cpus=[0, 1]) for e in (same, same, other)]
    assert evidence_line(measurements) == (
        "observed: pages 75% on node 0, 25% on node 1; each thread on its CPU; avx2 (2), sse4 (1)"
    )


@pytest.fixture(scope="module")
def run() -> Run:
    maker = synthetic.Maker()
    return synthetic.run(
        synthetic.memory_measurements(maker),
        synthetic.latency_measurements(maker),
        synthetic.pattern_measurements(maker),
    )


def shown(run: Run, width: int = 100) -> str:
    text = io.StringIO()
    console = make_console(text)
    console.width = width
    show_run(console, run, Path("/x/r.jsonl"), VIEWS)
    return text.getvalue()


def test_a_run_shows_machine_tables_summary_and_file(run: Run) -> None:
    text = shown(run)
    for part in (
        "Example 9000", "node 2: CXL, 256 GiB", "Bandwidth, GB/s", "32 thr.", "knee", "of limit",
        "8 channels of DDR5-4800", "level 1, to 32 KiB–64 KiB: 1.40 ns",
        "Latency under load", "Streams", "concurrent with stream2", "Atomic updates",
        "Mapping", "populate", "Usable: ", "/x/r.jsonl",
    ):  # fmt: skip
        assert part in text


def test_a_kind_without_a_view_has_a_table() -> None:
    maker = synthetic.Maker()
    faults = [
        maker.make("page-faults", "node:0", "node:0", {"pages": pages, "threads": 2}, 3e6, "1/s",
                   metric="faults", figures=[synthetic.figure("stolen", "ratio", 0.25)])
        for pages in ("base", "thp")
    ]  # fmt: skip
    text = shown(synthetic.run(faults))
    assert "Page faults" in text
    assert "million/s" in text
    assert "2 threads" in text
    assert [word for word in ("base", "thp", "faults", "stolen", "0.25") if word not in text] == []


def test_figures_of_parts_have_columns_of_their_own(run: Run) -> None:
    line = next(line for line in shown(run).splitlines() if "all streams" in line)
    assert "bandwidth" in line
    assert re.search(r"\n +stream2 +20", shown(run))


def test_a_figure_without_an_interval_says_why() -> None:
    made = synthetic.Maker().make("bandwidth", "node:0", "node:0", {"operation": "read"}, 3e10)
    bare = synthetic.changed(made, ci_low=None, ci_high=None, no_interval="few-samples")
    assert figures.with_interval(bare, 1e9) == "~30"
    assert figures.text(bare, 1e9, "GB/s") == "~30 GB/s (no interval)"
    assert figures.parts(bare, 1e9) == ("~30", "no interval: few samples")
    assert warnings([bare]) == ["1 of 1: no interval: too few samples"]
    text = shown(synthetic.run([bare]))
    assert "reaches ~30 GB/s (no interval; read)" in text
    assert "Measure again, because 1 of 1 figures are not known to within ±50%" in text


def test_two_modes_are_said_with_their_shares() -> None:
    modes = [Mode(share=0.7, value=28.1e9), Mode(share=0.3, value=25.9e9)]
    figure = measured(28e9, 25.8e9, 28.2e9, evidence=Evidence(cpus=[0], modes=modes))
    assert warnings([figure]) == [
        "two modes: node:0 → node:0: 70% of samples at 28.1 GB/s, 30% of samples at 25.9 GB/s"
    ]


def test_a_table_says_the_first_doubt_and_the_summary_counts_each() -> None:
    made = synthetic.Maker().make("bandwidth", "node:0", "node:0", {"operation": "read"}, 3e10)
    bare = synthetic.changed(made, ci_low=None, ci_high=None, no_interval="few-samples",
                             stop="budget", evidence=Evidence(disturbed=2))  # fmt: skip
    assert [*doubts(bare)] == ["disturbed", "no-interval", "short"]
    assert warnings([bare]) == ["1 of 1: disturbed by other programs"]
    disturbed = "other programs took CPU time during 1 of 1 measurement"
    run = synthetic.run([bare])
    assert warnings_of(run)[-2:] == [disturbed, "no interval for 1 of 1 figures"]
    assert warnings_of(run, precision=False)[-1] == disturbed


def test_tables_fit_a_hundred_columns(run: Run) -> None:
    assert max(len(line) for line in shown(run).splitlines()) <= 100


def heatmap(threads: range) -> Run:
    maker = synthetic.Maker()
    pattern = {"operation": "read", "order": "random", "size": 1 << 26, "pages": "thp"}
    return synthetic.run(
        [
            maker.make("bandwidth", "node:0", "node:0",
                       {**pattern, "access_size": 64 << power, "threads": count}, 1e9 * count)
            for power in range(11)
            for count in threads
        ]
    )  # fmt: skip


def test_a_heatmap_of_many_threads_and_access_sizes_fits() -> None:
    lines = shown(heatmap(range(1, 9))).splitlines()
    assert max(map(len, lines)) <= 100
    assert sum(" KiB " in line for line in lines) >= 7


def test_a_heatmap_too_wide_for_the_screen_comes_in_pieces() -> None:
    text = shown(heatmap(range(1, 17)), width=50)
    assert max(map(len, text.splitlines()[:-1])) <= 50
    assert "…" not in text
    assert sum(line.startswith(" 16 ") for line in text.splitlines()) > 1


def test_threads_that_ran_elsewhere_are_told() -> None:
    measurement = measured(1, 1, 1, cpus=[0, 1], evidence=Evidence(cpus=[0, 7]))
    assert evidence_line([measurement]) == "observed: threads on other CPUs, 0,7"


def missing(number: int, status: str, cause: Cause) -> Measurement:
    return Measurement.model_validate(
        {"id": f"m{number}", "kind": "latency", "initiator": "node:0", "target": "node:0",
         "cpus": [0], "pattern": {}, "status": status, "cause": cause,
         "reason": f"reason {number}", "remedy": f"remedy {number}"}
    )  # fmt: skip


def test_what_was_not_measured_is_grouped_by_cause() -> None:
    absent = [missing(n, "skipped", Cause.MEMORY) for n in range(6)]
    text = shown(synthetic.run(absent, [missing(9, "failed", Cause.VERIFICATION)]))
    failed, skipped = text.index("data verification failed"), text.index("not enough free memory")
    assert failed < text.index("reason 9; remedy 9") < skipped < text.index("reason 0; remedy 0")
    assert "6 skipped" in text
    assert "and 2 more in the run file" in text
    assert "0 measured, 6 skipped, 1 failed" in text


def test_a_cut_run_says_that_it_was_cut(run: Run) -> None:
    cut = run.model_copy(update={"footer": None, "measurements": run.measurements[:2]})
    planned = len(run.header.plan["measurements"])
    assert f"the run was cut off when 2 of {planned} figures were begun" in shown(cut)


def test_an_emulated_machine_s_figures_are_disowned(run: Run) -> None:
    header = run.header.model_copy(update={"emulated": True})
    text = shown(run.model_copy(update={"header": header}))
    assert "are emulated in software" in text
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
