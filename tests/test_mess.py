"""Families of curves: what is planned, measured, shown, and read beside those of others."""

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests import synthetic

from forked import tierscope
from tierscope.kinds.loaded_latency.show import families_of, traffic_of
from tierscope.kinds.loaded_latency.spec import LoadedLatencySpec
from tierscope.kinds.views import VIEWS
from tierscope.model.errors import UserError
from tierscope.model.event import Evidence
from tierscope.model.run import Figure, Imported, ImportedFile, Measurement, Run
from tierscope.model.topology import Dimm, Topology
from tierscope.peers.mess.plan import REQUEST, mix_of
from tierscope.plans.fit import longest_seconds
from tierscope.plans.grammar import parse_mix
from tierscope.plans.request import Request
from tierscope.report.pictures.of_run import pictures_beside
from tierscope.report.pictures.picture import PictureInput
from tierscope.report.view import Side
from tierscope.runs.measure import further_seconds
from tierscope.suites.registry import SUITES

SHARES = [100, 90, 80, 70, 60, 50, 25, 0]


def planned(machine: Topology, **options: str) -> list[LoadedLatencySpec]:
    named = {name.rstrip("_").replace("_", "-"): value for name, value in options.items()}
    specs = REQUEST.expand(Request(kind="mess", options=named), machine, thp=True)
    return [spec for spec in specs if isinstance(spec, LoadedLatencySpec)]


def reads_of(spec: LoadedLatencySpec) -> float:
    return 100 * spec.load.pattern.traffic().read_share


@given(st.integers(0, 100))
def test_a_mix_puts_the_share_of_reads_on_the_bus_that_was_asked_for(reads: int) -> None:
    writes, stores = parse_mix(mix_of(str(reads)))
    fetched = 0 if stores == "nt" else writes
    lines = 100 - writes + fetched
    assert abs(100 * lines / (lines + writes) - reads) <= 0.5
    assert (stores == "nt") == (reads < 50)


@pytest.mark.parametrize(
    ("word", "mix"),
    [("100", "100:0"), ("75", "67:33"), ("67", "51:49"), ("50", "0:100"), ("67nt", "67:33nt"),
     ("0", "0:100nt")],
)  # fmt: skip
def test_mixes_are_the_programs(word: str, mix: str) -> None:
    assert mix_of(word) == mix


@pytest.mark.parametrize("word", ["101", "-1", "", "7.5", "100nt", "75clwb", "75:25", "٧٥"])
def test_what_is_no_share_is_refused(word: str, machine: Topology) -> None:
    with pytest.raises(UserError):
        mix_of(word)
    if word:
        with pytest.raises(UserError, match="--reads"):
            planned(machine, reads=word)


def test_every_share_of_every_main_path_is_a_curve(machine: Topology) -> None:
    specs = planned(machine)
    by_path: dict[tuple[str, str], dict[float, int]] = {}
    for spec in specs:
        counts = by_path.setdefault((spec.initiator, spec.target), {})
        counts[round(reads_of(spec))] = counts.get(round(reads_of(spec)), 0) + 1
    nodes = [node for node in machine.nodes if node.online and node.total_bytes]
    assert {("node:0", f"node:{node.number}") for node in nodes} <= set(by_path)
    assert {target for _, target in by_path} == {f"node:{node.number}" for node in nodes}
    for target in ("node:0", "node:1"):
        assert (target, target) in by_path, "each memory from the CPUs nearest to it"
    assert all(list(counts) == SHARES for counts in by_path.values())
    assert {count for counts in by_path.values() for count in counts.values()} == {9}
    assert len({spec.id for spec in specs}) == len(specs)


def test_all_of_a_machine_takes_about_ten_minutes(machine: Topology) -> None:
    prepared = SUITES["mess"].prepare(machine, thp=True)
    specs = prepared.plan.measurements
    assert REQUEST.refinement is not None
    further = further_seconds(specs, REQUEST.refinement(prepared.requests[0]))
    sampled = sum(spec.sampling.budget_s for spec in specs) + further
    paths = len({(spec.initiator, spec.target) for spec in specs})
    assert sampled <= max(600, 0.3 * 8 * 21 * paths) * 1.02
    assert sum(longest_seconds(specs)) >= sum(spec.sampling.budget_s for spec in specs)


def test_endpoints_and_times_that_are_asked_for_stay(machine: Topology) -> None:
    specs = planned(machine, from_="node:1", to="node:0", reads="100,50", budget="2s")
    assert {(spec.initiator, spec.target) for spec in specs} == {("node:1", "node:0")}
    assert {spec.sampling.budget_s for spec in specs} == {2.0}
    assert len(specs) == 18


def point(
    share: int, step: int, name: str, mix: str, key: str, interval: bool, recorded: bool
) -> Iterator[Measurement]:
    """Points of a curve that fills up at 300 GB/s or less, the lower its share of reads."""
    top = 300e9 * (0.6 + 0.4 * share / 100)
    maker = synthetic.Maker(noise=0.004 if interval else 0.0)
    use = step / 9
    rate = top * use
    latency = 110 + 25 * use + (900 * (use - 0.8) if use > 0.8 else 0) * (2 - share / 100)
    pattern: dict[str, Any] = {
        "mix": mix, "load_from": name, "load_to": name, "load_threads": 31 if step else 0,
        key: 9 - step if step else None,
    }  # fmt: skip
    if recorded:
        pattern |= {"size": 1 << 30, "pages": "thp", "load_order": "sequential", "order": "random"}
    made = maker.make("loaded-latency", name, name, pattern, latency, "ns")
    side = {"ci_low": 0.99 * rate, "ci_high": 1.01 * rate} if interval else {}
    figures = [Figure(metric="bandwidth", unit="B/s", estimate=rate, **side)] if step else []
    changes: dict[str, Any] = {"figures": figures, "id": f"{name}.{share}.{step}"}
    if not interval:
        changes |= {"ci_low": None, "ci_high": None, "evidence": None, "samples": [], "n": 0,
                    "no_interval": "few-samples"}  # fmt: skip
    yield synthetic.changed(made, **changes)


def run_of(name: str, ours: bool, recorded: bool = True) -> Run:
    """A run whose bandwidths are those of the bus already; ``ours``: with intervals.

    ``recorded``: with all properties that a file of measured figures has.
    """
    measurements = [
        m
        for share in (100, 75, 50)
        for step in range(10)
        for m in point(
            share,
            step,
            "node:0" if ours else "unknown",
            mix_of(f"{share}nt" if share < 100 else "100") if ours else
            f"{share}:{100 - share} bus",
            "delay_ns" if ours else "inject",
            ours,
            ours or recorded,
        )
    ]  # fmt: skip
    imported = Imported(
        format="mess", program="Mess", files=[ImportedFile(name="curves.json", sha256="0" * 64)]
    )
    header = synthetic.header(name=name, imported=None if recorded else imported)
    return Run(header=header, measurements=measurements, footer=None)


def written(run: Run, folder: Path) -> str:
    path = folder / f"{run.header.name}.jsonl"
    records = [run.header, *run.measurements]
    path.write_text("".join(f"{one.model_dump_json()}\n" for one in records))
    return path.name


@pytest.fixture
def both(tmp_path: Path) -> tuple[str, str]:
    return written(run_of("here", ours=True), tmp_path), written(run_of("there", False), tmp_path)


def test_metrics_of_ours_have_intervals_and_those_of_others_say_that_they_have_none(
    tmp_path: Path, both: tuple[str, str]
) -> None:
    done = tierscope("show", both[0], "--beside", both[1], folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Families of curves" in done.stdout
    ours, theirs = done.stdout.split("there: ")
    (row,) = [line for line in ours.splitlines() if line.strip().startswith("75% reads")]
    assert row.count("±") + row.count("–") >= 4
    (row,) = [line for line in theirs.splitlines() if line.strip().startswith("75% reads")]
    assert "±" not in row
    assert "~: no interval" in theirs


def test_both_families_are_in_one_json(tmp_path: Path, both: tuple[str, str]) -> None:
    done = tierscope("show", both[0], "--beside", both[1], "--json", folder=tmp_path)
    here, there = json.loads(done.stdout)["runs"]
    (family,) = here["bandwidth_latency"]
    assert [round(curve["bus_read_share"], 2) for curve in family["curves"]] == [1.0, 0.75, 0.5]
    for curve in family["curves"]:
        assert [figure["metric"] for figure in curve["figures"]] == [
            "unloaded_latency", "maximum_latency", "saturated_from", "maximum_bandwidth",
        ]  # fmt: skip
        assert all(figure["ci_low"] <= figure["estimate"] for figure in curve["figures"])
    low, high = family["range"]["maximum_bandwidth"]
    assert low["estimate"] == pytest.approx(240e9)
    assert high["estimate"] == pytest.approx(300e9)
    (family,) = there["bandwidth_latency"]
    assert [round(curve["bus_read_share"], 2) for curve in family["curves"]] == [1.0, 0.75, 0.5]
    assert all(one["ci_low"] is None for curve in family["curves"] for one in curve["figures"])


def test_a_report_of_both_has_one_picture_on_the_same_axes(
    tmp_path: Path, both: tuple[str, str]
) -> None:
    done = tierscope("report", *both, "-o", "both.html", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "both.html").read_text()
    assert "Bandwidth-latency curves beside each other" in page
    assert "here: node:0 → node:0, metrics of the curves" in page
    done = tierscope("report", *both, "--svg", "pictures", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "pictures/beside-curves.svg").exists()


def test_the_picture_has_a_panel_for_each_run_and_no_bands_without_intervals() -> None:
    published = run_of("there", ours=False, recorded=False)
    runs = [("here", run_of("here", ours=True)), ("there", published)]
    (picture,) = pictures_beside(runs, VIEWS)["loaded-latency"]
    here, there = picture.spec["concat"]
    assert here["encoding"]["x"] == there["encoding"]["x"]
    assert len({row["series"] for row in there["data"]["values"]}) == 3
    assert all(row["low"] == row["value"] == row["high"] for row in there["data"]["values"])
    assert any(row["low"] < row["high"] for row in here["data"]["values"])
    assert pictures_beside(runs[:1], VIEWS) == {}


def test_a_family_of_others_is_shown_as_far_as_it_is_known() -> None:
    run = run_of("there", ours=False, recorded=False)
    console = Console(width=100, record=True, file=io.StringIO())
    view = VIEWS["loaded-latency"]
    assert view.table is not None
    view.table(console, run.measurements, run)
    text = console.export_text()
    assert "unknown → unknown, load 75:25 bus" in text
    assert "add CPUs with --load-from" not in text
    assert "saturation" not in text, "it follows from pauses in ns"


def test_a_family_of_many_curves_has_a_picture_of_its_own() -> None:
    run = run_of("here", ours=True)
    view = VIEWS["loaded-latency"]
    gathered = PictureInput("loaded-latency", view.title, run.measurements, run)
    drawn = [picture for draw in view.pictures for picture in draw(gathered)]
    assert [picture.title for picture in drawn] == ["Bandwidth-latency curves, node:0 → node:0"]
    assert "twice the unloaded latency" in json.dumps(drawn[0].spec)


def test_the_share_of_the_theoretical_bandwidth_is_told_where_it_is_known() -> None:
    run = run_of("here", ours=True)
    dimms = [
        Dimm(slot=f"CPU1_DIMM_{c}1", type="DDR5", size_bytes=1, speed=4.8e9, bits=64, package=0)
        for c in "ABCDEFGH"
    ]
    header = run.header.model_copy(
        update={"topology": synthetic.topology().model_copy(update={"dimms": dimms})}
    )
    side = Side("here", run.model_copy(update={"header": header}), run.measurements)
    assert VIEWS["loaded-latency"].summaries is not None
    (summary,) = VIEWS["loaded-latency"].summaries([side])
    assert summary.columns[-1] == "of theoretical"
    assert summary.rows[-1][-1].endswith(f"–{300 / 307.2:.0%}"), "8 channels of DDR5-4800"


def test_mixes_of_the_bus_and_of_programs_are_told_apart() -> None:
    made = run_of("there", ours=False, recorded=False).measurements[-1]
    for mix, share in (("50:50 bus", 0.5), ("50:50", 2 / 3), ("50:50 issued", 2 / 3),
                       ("50:50nt", 0.5)):  # fmt: skip
        one = made.model_copy(update={"pattern": {**made.pattern, "mix": mix}})
        traffic = traffic_of(one)
        assert traffic is not None
        assert traffic.read_share == pytest.approx(share)
    odd = made.model_copy(update={"pattern": {**made.pattern, "mix": "W21"}})
    assert traffic_of(odd) is None
    assert families_of([odd], None) == []


def test_runs_without_curves_are_not_shown_beside(tmp_path: Path) -> None:
    run = synthetic.header(name="other")
    name = written(Run(header=run, measurements=[], footer=None), tmp_path)
    done = tierscope("show", name, "--beside", name, folder=tmp_path)
    assert done.returncode == 3
    assert "loaded-latency" in done.stderr
    assert done.stderr.count("\n") == 1
    done = tierscope("show", name, "--beside", name, "--csv", folder=tmp_path)
    assert done.returncode == 2


def test_one_command_measures_shows_and_keeps_a_family(tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("a load beside the chase needs two CPUs")
    fake = Path(__file__).with_name("fake_engine.py")
    done = tierscope(
        "mess", "--reads", "100,50,0", "--size", "1m", "--load-size", "1m", "--to", "node:0",
        "--points", "6", "--budget", "0.2", "--json", "--out", str(tmp_path),
        environment={"TIERSCOPE_ENGINE": str(fake)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (family,) = found["bandwidth_latency"]
    assert [curve["mix"] for curve in family["curves"]] == ["100:0", "0:100", "0:100nt"]
    assert all(len(curve["measurements"]) >= 9 for curve in family["curves"])


def test_curves_are_files_of_the_simulator(tmp_path: Path, both: tuple[str, str]) -> None:
    done = tierscope("export", both[0], "--mess", "curves", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "curves"
    assert {file.name for file in folder.iterdir()} == {f"bwlat_{n}.txt" for n in range(0, 101, 2)}
    nearest = {0: 50, 50: 50, 62: 50, 64: 75, 86: 75, 88: 100, 100: 100}
    for percent, measured in nearest.items():
        lines = (folder / f"bwlat_{percent}.txt").read_text().splitlines()
        rates, latencies = zip(*(map(float, line.split()) for line in lines), strict=True)
        assert list(rates) == sorted(rates, reverse=True), "the heaviest load first"
        assert rates[0] == pytest.approx(300e3 * (0.6 + 0.4 * measured / 100)), "MB/s"
        assert (rates[-1], latencies[-1]) == (0, pytest.approx(110, rel=0.01)), "unloaded, ns"
    done = tierscope("export", both[0], "--mess", "curves", "--csv=x.csv", folder=tmp_path)
    assert done.returncode == 2


def with_evidence(m: Measurement, **evidence: object) -> Measurement:
    known = m.evidence.model_dump() if m.evidence else {}
    return synthetic.changed(m, evidence=Evidence.model_validate({**known, **evidence}))


def test_a_simulator_gets_no_points_that_are_in_doubt(tmp_path: Path) -> None:
    """A disturbed point, and one slower than all heavier loads: both are left out, and named."""
    run = run_of("here", ours=True)
    slow = {"estimate": 5700.0, "ci_low": 5600.0, "ci_high": 5800.0}
    measurements = [
        with_evidence(m, disturbed=9) if m.id == "node:0.100.4" else
        synthetic.changed(m, **slow) if m.id == "node:0.75.2" else m
        for m in run.measurements
    ]  # fmt: skip
    name = written(run.model_copy(update={"measurements": measurements}), tmp_path)
    done = tierscope("export", name, "--mess", "curves", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    first, second = done.stderr.splitlines()
    assert first.startswith("tierscope: left out: 1 point (delays 5) of 100% reads, node:0")
    assert second.startswith("tierscope: left out: 1 point (delays 7) of 75% reads nt, node:0")
    texts = {n: (tmp_path / f"curves/bwlat_{n}.txt").read_text() for n in (100, 74, 50)}
    assert [len(text.splitlines()) for text in texts.values()] == [9, 9, 10]
    assert "5700" not in texts[74]


def test_a_curve_that_is_all_disturbed_goes_to_no_simulator(tmp_path: Path) -> None:
    run = run_of("here", ours=True)
    measurements = [with_evidence(m, disturbed=9) for m in run.measurements]
    name = written(run.model_copy(update={"measurements": measurements}), tmp_path)
    done = tierscope("export", name, "--mess", "curves", folder=tmp_path)
    assert done.returncode == 3
    assert "100% reads, node:0 → node:0: only 0 of 9 points" in done.stderr
    assert not (tmp_path / "curves").exists()
    shown = tierscope("show", name, folder=tmp_path)
    assert "no knee: other programs disturbed the measurement" in shown.stdout


def test_a_run_without_curves_has_no_files_of_the_simulator(tmp_path: Path) -> None:
    empty = Run(header=synthetic.header(name="other"), measurements=[], footer=None)
    done = tierscope("export", written(empty, tmp_path), "--mess", "curves", folder=tmp_path)
    assert done.returncode == 3
    assert not (tmp_path / "curves").exists()
