"""Runs that begin at a given time, and those of several hosts side by side."""

import io
import json
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests import synthetic

from tierscope.analysis.concurrent import NamedRun, Together, together
from tierscope.cli.main import main
from tierscope.kinds.views import VIEWS
from tierscope.machine.clock import clock_state, state_of
from tierscope.model.errors import UserError
from tierscope.model.run import ClockState, Footer, Run
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.grammar import parse_moment
from tierscope.plans.request import Request
from tierscope.report.fleet import show_together
from tierscope.report.html.page import render_report
from tierscope.report.run import start_text
from tierscope.runs.measure import Outcome, measure
from tierscope.runs.read import read_run
from tierscope.runs.schedule import spans_of
from tierscope.runs.store import find_run

Fake = Callable[[str], None]
NOON = datetime(2026, 5, 4, 12, 0, tzinfo=timezone(timedelta(hours=2)))
START = "2026-05-04T10:00:00+00:00"


def tierscope(monkeypatch: pytest.MonkeyPatch, *words: str) -> object:
    monkeypatch.setattr("sys.argv", ["tierscope", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("18:30", "2026-05-04T18:30:00+02:00"),
        ("11:59:59", "2026-05-04T11:59:59+02:00"),  # late, not tomorrow
        ("2026-05-05T01:02:03Z", "2026-05-05T01:02:03+00:00"),
        ("2026-05-05 01:02:03", "2026-05-05T01:02:03+02:00"),
    ],
)
def test_a_moment_is_a_time_of_day_or_a_date(text: str, expected: str) -> None:
    assert parse_moment(text, NOON).isoformat() == expected


def test_a_time_of_day_long_ago_is_tomorrows() -> None:
    evening = NOON.replace(hour=23)
    assert parse_moment("00:30", evening).date() == evening.date() + timedelta(days=1)


@given(st.text(max_size=30))
def test_what_is_no_time_is_refused_in_one_line(text: str) -> None:
    try:
        found = parse_moment(text, NOON)
    except UserError as error:
        said = str(error)
        assert "18:30:00" in said
    else:
        assert found.tzinfo


def test_the_option_names_itself(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tierscope(monkeypatch, "bandwidth", "--start-at", "soon") == 2
    assert "--start-at: 'soon' is not a time such as" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        "bandwidth --op copy --size 1m --threads 1 --budget 50ms",
        "streamer --groups 2b --op copy --threads 1 --size 1m --budget 50ms",
        "checkpoint node:0 --size 1m --budget 50ms",
        "watch --interval 100ms --duration 100ms --record",
        "mlc --bandwidth_matrix -b1m -t0.1",
        "gdsio -D {folder} -x 1 -w 1 -s 1M -i 1M -I 0",
        "fio --name=a --rw=read --bs=64k --size=1m --directory={folder}",
    ],
)
def test_commands_that_measure_record_the_time_given(
    words: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tierscope(monkeypatch, *words.format(folder=tmp_path).split(), f"--start-at={START}")
    assert "the start was to be at 2026-05-04T10:00:00+00:00" in capfd.readouterr().err
    header = read_run(find_run("last")).header
    assert header.start_at == START


@pytest.mark.parametrize("words", ["pmdk", "nvbandwidth"])
def test_commands_without_such_a_run_refuse_what_is_no_time(
    words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tierscope(monkeypatch, words, "--start-at", "soon") == 2
    assert "--start-at: 'soon' is not a time such as" in capsys.readouterr().err


def run(machine: Topology, folder: Path, start_at: datetime) -> Outcome:
    plan = expand(
        [Request(kind="latency", options={"size": "4k,8k", "budget": "2"})], machine, thp=True
    )
    return measure(plan, "test", machine, ["tierscope"], folder, lambda _: None, start_at=start_at)


def test_the_first_repetition_begins_then_and_not_before(
    machine: Topology, fake_engine: Fake, tmp_path: Path
) -> None:
    fake_engine("real-time")
    start = datetime.now(timezone.utc) + timedelta(seconds=1.5)
    outcome = run(machine, tmp_path, start)
    assert outcome.run.footer is not None
    assert outcome.run.footer.late_s is not None
    assert 0 <= outcome.run.footer.late_s < 30
    begins = [begin for spans in spans_of(outcome.path).values() for begin, _ in spans]
    assert min(begins) >= start.timestamp() - 0.001
    assert outcome.run.header.start_at == start.isoformat()
    assert read_run(outcome.path) == outcome.run


def test_who_is_late_is_told(machine: Topology, fake_engine: Fake, tmp_path: Path) -> None:
    before = time.monotonic()
    outcome = run(machine, tmp_path, datetime.now(timezone.utc) - timedelta(hours=1))
    assert time.monotonic() - before < 60
    assert outcome.run.footer is not None
    assert outcome.run.footer.late_s == pytest.approx(3600, abs=60)
    assert "s late" in start_text(outcome.run)


def test_runs_that_begin_together_repetition_in_the_same_order(
    machine: Topology, fake_engine: Fake, tmp_path: Path
) -> None:
    start = datetime.now(timezone.utc) - timedelta(seconds=1)
    orders = []
    for name in ("a", "b"):
        outcome = run(machine, tmp_path / name, start)
        records = [json.loads(line) for line in outcome.path.read_text().splitlines()]
        orders.append([r["repetition"]["id"] for r in records if r["record"] == "repetition"][:8])
    assert orders[0] == orders[1]


@pytest.mark.parametrize(
    ("state", "status", "synchronized"), [(0, 0x2001, True), (5, 0x0040, False), (0, 0x40, False)]
)
def test_the_clocks_state_is_the_kernels(state: int, status: int, synchronized: bool) -> None:
    found = state_of(state, status, 2000, 1500, 10)
    assert found.synchronized == synchronized
    assert found.offset_s == (pytest.approx(2e-6) if synchronized else None)
    assert found.max_error_s == (pytest.approx(1.5e-3) if synchronized else None)


def test_this_machines_clock_can_be_read() -> None:
    found = clock_state()
    assert found is None or found.synchronized == (found.max_error_s is not None)


def host_run(host: str, rate: float, start_at: str | None = START) -> Run:
    maker = synthetic.Maker(noise=1e-6)
    pattern = {"operation": "triad", "order": "sequential", "access_size": 64, "size": 1 << 30,
               "pages": "thp", "isa": "auto", "threads": 8}  # fmt: skip
    measured = maker.make("bandwidth", "node:0", "node:2", pattern, rate, id="triad")
    latency = maker.make(
        "latency",
        "node:0",
        "node:2",
        {"order": "random", "stride": 256, "size": 1 << 30, "pages": "thp"},
        300,
        "ns",
        id="chase",
    )
    clock = ClockState(synchronized=host == "a", max_error_s=0.001 if host == "a" else None)
    return Run(
        header=synthetic.header(host=host, start_at=start_at, clock=clock),
        measurements=[measured, latency],
        footer=Footer(finished=START, interrupted=False, measured=2, skipped=0, failed=0,
                      late_s=2.0 if start_at and host == "b" else None),
    )  # fmt: skip


def groups() -> list[Together]:
    spans = {"a": [(0.0, 2.0), (4.0, 6.0)], "b": [(1.0, 2.0), (4.0, 6.0)]}
    return together(
        [
            NamedRun("a-alone", host_run("a", 20e9, None), {}),
            NamedRun("b-alone", host_run("b", 24e9, None), {}),
            NamedRun("a-both", host_run("a", 12e9), {"triad": spans["a"]}),
            NamedRun("b-both", host_run("b", 15e9), {"triad": spans["b"]}),
        ]
    )


def test_hosts_are_set_side_by_side_alone_and_together() -> None:
    (group,) = groups()
    triad, chase = group.figures
    assert [h.host for h in triad.hosts] == ["a", "b"]
    assert triad.total_together == pytest.approx(27e9, rel=1e-3)
    assert triad.total_alone == pytest.approx(44e9, rel=1e-3)
    assert [h.overlap for h in triad.hosts] == [0.75, 1.0]
    assert chase.total_together is None, "latencies do not add up"
    assert chase.hosts[0].overlap is None
    assert group.hosts[1].late_s == 2.0


def test_runs_of_one_host_or_of_other_moments_are_not_together() -> None:
    one = [NamedRun("x", host_run("a", 1e9), {}), NamedRun("y", host_run("a", 2e9), {})]
    assert together(one) == []
    other = host_run("b", 1e9, "2026-05-04T11:00:00+00:00")
    assert together([one[0], NamedRun("z", other, {})]) == []


def test_the_sum_alone_takes_every_host_alone_and_an_overlap_every_hosts_times() -> None:
    both = [
        NamedRun("a-both", host_run("a", 12e9), {"triad": [(0.0, 2.0), (3.0, 5.0)]}),
        NamedRun("b-both", host_run("b", 15e9), {"triad": [(0.0, 1.0), (1.0, 1.5), (9.0, 10.0)]}),
    ]
    # A run that was to begin with others, of which there is none, is one alone.
    other = NamedRun("b-other", host_run("b", 24e9, "2026-05-04T11:00:00+00:00"), {})
    (group,) = together([*both, other])
    triad = group.figures[0]
    assert [h.alone for h in triad.hosts] == [None, pytest.approx(24e9, rel=1e-3)]
    assert triad.total_alone is None
    assert [h.overlap for h in triad.hosts] == [1.5 / 4, 1.5 / 2.5]
    assert [(h.host, h.run, h.late_s) for h in group.hosts] == [
        ("a", "a-both", None), ("b", "b-both", 2.0),
    ]  # fmt: skip
    without = NamedRun("c", host_run("c", 1e9).model_copy(update={"footer": None}), {})
    (three,) = together([*both, without])
    assert [h.late_s for h in three.hosts] == [None, 2.0, None]
    assert [h.overlap for h in three.figures[0].hosts] == [None] * 3
    empty = NamedRun("b", host_run("b", 1e9), {"triad": [(1.0, 1.0)]})
    (group,) = together([both[0], empty])
    assert [h.overlap for h in group.figures[0].hosts] == [0, None]


def test_only_what_all_hosts_measured_is_set_side_by_side() -> None:
    whole, part = host_run("a", 12e9), host_run("b", 15e9)
    named = [NamedRun("a", whole, {}), NamedRun("b", part, {})]
    assert [one.kind for one in together(named)[0].figures] == ["bandwidth", "latency"]
    only = part.model_copy(update={"measurements": part.measurements[1:]})
    (group,) = together([NamedRun("a", whole, {}), NamedRun("b", only, {})])
    assert [one.kind for one in group.figures] == ["latency"]
    failed = [m.model_copy(update={"figures": [], "status": "failed"}) for m in whole.measurements]
    runs = [run.model_copy(update={"measurements": failed}) for run in (whole, part)]
    (group,) = together([NamedRun(run.header.host, run, {}) for run in runs])
    assert group.figures == []


def test_the_table_and_the_page_say_what_is_shared_and_that_coherence_is_softwares() -> None:
    text = io.StringIO()
    show_together(Console(file=text, width=200), groups())
    runs = [("a-both", host_run("a", 12e9)), ("b-both", host_run("b", 15e9))]
    for shown in (text.getvalue(), render_report(runs, VIEWS, None, groups())):
        for words in (
            "a, alone",
            "b, together",
            "-40.0%",
            "sum together",
            "Coherence is up to software",
            "clock is not synchronized",
            "75%",
        ):
            assert words in " ".join(shown.split()), words


def test_compare_takes_the_runs_of_several_hosts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = []
    for name, made in (("a", host_run("a", 12e9)), ("b", host_run("b", 15e9))):
        records = [made.header, *made.measurements, made.footer]
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(r.model_dump_json() + "\n" for r in records if r))
        paths.append(str(path))
    status = tierscope(monkeypatch, "compare", *paths, "--json")
    said = capsys.readouterr()
    assert status in (0, 1), said.err
    found = json.loads(said.out)
    assert found["together"][0]["figures"][0]["total_together"] == pytest.approx(27e9, rel=1e-3)
