"""Tests of SNIA's performance test specification: plan, rounds, verdict, command."""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import forked
import synthetic
from tierscope.analysis.time_series import ended_by, window_of
from tierscope.engine.process import check
from tierscope.kinds.io.spec import IoSpec
from tierscope.kinds.plan import Plan
from tierscope.model.cause import Cause
from tierscope.model.endpoint import parse_target
from tierscope.model.errors import UserError
from tierscope.model.event import Failed, Repetition
from tierscope.model.storage import PathFacts
from tierscope.model.topology import Topology
from tierscope.report.style import make_console
from tierscope.runs.record import Bounds, measurement_of
from tierscope.runs.schedule import ConcludeStep, RepetitionStep, in_rounds
from tierscope.runs.state import RunState
from tierscope.suites.storage_qualify import (
    MOST_ROUNDS,
    Asked,
    Qualification,
    judged,
    parse_round,
    parse_tests,
    qualification,
    qualification_json,
    show_qualification,
)
from tierscope.suites.storage_tour import Given

MIB = 1 << 20


def made(
    machine: Topology, *tests: str, facts: dict[str, Any] | None = None, **asked: Any
) -> Qualification:
    device = {"kind": "block", "path": "/dev/nvme9n1", "size": 64 * MIB, "dio_offset_align": 512}
    usual = {"real": "", "device": "8:0", "page_bytes": 4096}
    found = PathFacts.model_validate(usual | (facts or device))
    target = parse_target(f"{'dev' if found.kind == 'block' else 'file'}:{found.path}")
    given = Given(targets=[target], facts=[found])
    destroy = {} if facts else {"destroy": "SERIAL"}
    return qualification(machine, given, Asked(tests=tests, **destroy, **asked), thp=False)


def directory(**changes: Any) -> dict[str, Any]:
    return {"kind": "directory", "path": "/data", "free_bytes": 100 << 30, **changes}


def members(found: Qualification) -> list[IoSpec]:
    return [spec for spec in found.plan.measurements if isinstance(spec, IoSpec)]


# The plan


def test_iops_are_of_seven_mixes_and_eight_sizes_after_a_purge_and_a_fill(
    machine: Topology,
) -> None:
    fill, *rounds = members(made(machine, "iops"))
    assert fill.series is not None
    assert (fill.series.until, fill.series.passes, fill.series.group) == ("written", 2, "")
    assert (fill.pattern.order, fill.pattern.block_size) == ("sequential", 128 << 10)
    assert fill.jobs[0].files.model_dump()["purge"] is True
    assert len(rounds) == 7 * 8
    assert {spec.pattern.block_size for spec in rounds} >= {512, 4096, MIB}
    tracked = [spec for spec in rounds if spec.series and spec.series.tracked]
    assert [(one.pattern.operation, one.pattern.block_size) for one in tracked] == [("write", 4096)]
    assert {spec.sampling.budget_s for spec in rounds} == {MOST_ROUNDS * 60.0}
    assert all(spec.identity()["qualification"] == "iops" for spec in rounds)


def test_throughput_fills_by_the_block_that_it_measures(machine: Topology) -> None:
    specs = members(made(machine, "throughput"))
    sizes = [(spec.id, spec.pattern.block_size) for spec in specs if spec.id.endswith("fill")]
    assert sizes == [("throughput-1m.fill", MIB), ("throughput-128k.fill", 128 << 10)]
    assert len(specs) == 2 * 3


def test_latency_is_of_one_operation_in_flight(machine: Topology) -> None:
    _, *rounds = members(made(machine, "latency"))
    assert len(rounds) == 9
    assert {(spec.pattern.depth, len(spec.jobs[0].cpus)) for spec in rounds} == {(1, 1)}


def test_write_saturation_begins_with_the_empty_drive(machine: Topology) -> None:
    found = made(machine, "write-saturation")
    (curve,) = members(found)
    assert curve.jobs[0].files.model_dump()["purge"] is True
    assert (curve.pattern.operation, curve.pattern.order) == ("write", "random")
    assert (curve.pattern.block_size, curve.sampling.budget_s) == (4096, 24 * 3600)
    assert curve.series is not None
    assert (curve.series.until, curve.series.passes, curve.series.group) == ("steady", 1, "")
    state = RunState([curve])
    assert len(carried_out(state, [9e4, 5e4, 3e4, *[1e4] * 9])) == 8
    run = synthetic.run([state.measurements[curve.id]])
    (one,) = judged(run, found)
    assert one.mean(one.cells["4k", 0]) == pytest.approx(1e4)
    text = io.StringIO()
    show_qualification(make_console(text), run, found)
    shown = " ".join(text.getvalue().split())
    assert "Purged by discard; not written before." in shown
    assert "rounds 4 to 8 of at most 1440" in shown


def test_a_file_is_not_purged_and_has_no_blocks_of_512_bytes(machine: Topology) -> None:
    found = made(machine, "latency", facts=directory())
    fill, *rounds = members(found)
    assert not fill.jobs[0].files.model_dump().get("purge")
    assert {spec.pattern.block_size for spec in rounds} == {4096, 8192}
    assert not found.parts[0].purges
    assert check(Plan(version=2, measurements=list(found.plan.measurements))) is None


@pytest.mark.parametrize(
    ("facts", "asked", "said"),
    [
        ({"kind": "block", "path": "/dev/x"}, {}, "--destroy-data"),
        ({"kind": "file", "path": "/data/x", "size": MIB}, {}, "--overwrite"),
        (directory(), {"destroy": "SERIAL"}, "goes with a device"),
    ],
)
def test_what_nobody_gave_up_is_not_overwritten(
    machine: Topology, facts: dict[str, Any], asked: dict[str, Any], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        made(machine, "latency", facts=facts, **asked)


def test_tests_and_rounds_are_words() -> None:
    assert parse_tests("all") == ["iops", "throughput", "latency", "write-saturation"]
    assert parse_tests("latency,iops,latency") == ["latency", "iops"]
    with pytest.raises(
        UserError,
        match="'speed' is not a test; allowed: iops, throughput, latency, write-saturation, all",
    ):
        parse_tests("iops,speed")
    assert (parse_round(None), parse_round("100ms")) == (60.0, 0.1)
    with pytest.raises(UserError):
        parse_round("2h")


# The rule and the rounds


def test_the_rule_is_a_range_of_20_and_a_slope_of_10_percent() -> None:
    assert window_of([100, 100, 100, 100, 100]).steady
    alternating = window_of([90.5, 109.5, 90.5, 109.5, 100])
    assert alternating.range == pytest.approx(0.19)
    assert alternating.steady
    assert not window_of([90, 111, 100, 100, 100]).steady, "a range of 21%"
    rising = window_of([95, 97, 100, 103, 106])
    assert rising.slope == pytest.approx(0.112, abs=0.001)
    assert rising.range < 0.2
    assert not rising.steady
    assert not window_of([0, 0, 0, 0, 0]).steady


def repetition(spec: IoSpec, value: float, seconds: float) -> Repetition:
    metric = spec.headline()
    done = round(value * seconds)
    written = max(done, 64 * MIB) if metric == "bandwidth" else 64 * MIB
    observed = {"files": [], "reads": 0, "writes": done, "bytes_read": 0, "bytes_written": written,
                "set_up_s": 0.0, "used_bytes": 64 * MIB}  # fmt: skip
    series = {"name": "windows", "starts": [0.0, seconds / 2], "durations": [seconds / 2] * 2,
              "columns": [{"metric": metric, "part": "", "values": [value, value]}]}  # fmt: skip
    return Repetition.model_validate(
        {"id": spec.id, "seconds": seconds, "fresh": False, "interrupted": False,
         "series": [series], "evidence": {"storage_io": observed}}
    )  # fmt: skip


def carried_out(
    state: RunState, tracked: Sequence[float], fail: str = "", longer: float = 1.0
) -> list[str]:
    """Carry out the schedule without an engine; ``tracked`` are the rates of what is tracked, and
    rounds take so many times what is asked."""
    rates, names = iter(tracked), []
    for step in in_rounds(state, "run"):
        if isinstance(step, ConcludeStep):
            spec, ended = state.specs[step.name], state.ended.get(step.name)
            state.measurements[step.name] = measurement_of(
                spec, state.repetitions[step.name], ended, Bounds()
            )
            continue
        assert isinstance(step, RepetitionStep)
        names.append(step.name)
        if step.name == fail:
            state.ended[fail] = Failed(id=fail, cause=Cause.STORAGE, reason="EIO")
            continue
        spec = state.specs[step.name]
        assert isinstance(spec, IoSpec)
        rule = spec.series
        decides = rule is not None and rule.until == "steady" and (rule.tracked or not rule.group)
        value = next(rates) if decides else 1e4
        state.add_repetition(repetition(spec, value, longer * step.seconds))
    return names


def test_rounds_go_over_all_accesses_in_turn_until_what_is_tracked_is_steady(
    machine: Topology,
) -> None:
    found = made(machine, "latency")
    specs = members(found)
    state = RunState(specs)
    names = carried_out(state, [9e4, 5e4, 3e4, *[1e4] * 22])
    once = [spec.id for spec in specs[1:]]
    assert names == [specs[0].id] * 2 + once * 8, "three falling rounds, then five alike"
    last = next(spec for spec in specs if spec.series and spec.series.tracked)
    assert ended_by(last, state.repetitions[last.id]) == "steady"
    run = synthetic.run([state.measurements[spec.id] for spec in specs])
    (one,) = judged(run, found)
    assert one.window is not None
    assert (one.rounds, one.window.steady) == (8, True)
    assert one.mean(one.cells["4k", 0]) == pytest.approx(1e-4), "a mean latency, in seconds"
    (told,) = qualification_json([one])
    assert (told["steady"], told["rounds"], len(told["results"])) == (True, 8, 9)
    text = io.StringIO()
    show_qualification(make_console(text), run, found)
    shown = text.getvalue()
    assert "Purged by discard; written in sequence 2 times, in blocks of 128k" in shown
    assert "Steady by the five-round rule: rounds 4 to 8 of at most 25." in shown
    assert "20%" in shown


def test_latency_is_steady_by_its_times(machine: Topology) -> None:
    """Rates within 19% of their mean are of times that are 21% apart."""
    found = made(machine, "latency")
    specs = members(found)
    state = RunState(specs)
    carried_out(state, [105.0, 105.0, 86.0, *[105.0] * 9])
    (one,) = judged(synthetic.run([state.measurements[spec.id] for spec in specs]), found)
    assert window_of([105.0, 105.0, 86.0, 105.0, 105.0]).steady
    assert one.rounds == 8
    assert one.window is not None
    assert one.window.steady


def test_a_round_without_an_operation_has_no_latency(machine: Topology) -> None:
    found = made(machine, "latency", round_s=0.01)
    specs = members(found)
    state = RunState(specs)
    names = carried_out(state, [*[1e4, 0.0] * 13], longer=1.1)
    assert names.count(specs[-1].id) == MOST_ROUNDS
    run = synthetic.run([state.measurements[spec.id] for spec in specs])
    (one,) = judged(run, found)
    (told,) = qualification_json([one])
    assert told["steady"] is False
    assert told["tracked"][1] is None
    assert told["tracked"][2] == pytest.approx(1e-4)
    assert told["window"] == {"average": None, "range": None, "slope": None}
    assert one.mean(one.cells["4k", 0]) == pytest.approx(5 / 3e4), "five rounds, three at 1e4/s"
    assert one.mean(one.cells["8k", 0]) == pytest.approx(1e-4)
    json.dumps(told, allow_nan=False)
    text = io.StringIO()
    show_qualification(make_console(text), run, found)
    assert "Not steady" in text.getvalue()


def test_what_never_is_steady_ends_after_25_rounds(machine: Topology) -> None:
    found = made(machine, "throughput", round_s=1.0)
    specs = members(found)[:3]
    state = RunState(specs)
    names = carried_out(state, [1e9, 2e9] * 20, longer=1.1)
    assert names.count(specs[1].id) == names.count(specs[2].id) == MOST_ROUNDS
    run = synthetic.run([state.measurements[spec.id] for spec in specs])
    text = io.StringIO()
    show_qualification(make_console(text), run, found)
    assert "Not steady by the five-round rule: rounds 21 to 25" in text.getvalue()


def test_throughput_is_of_bytes_whatever_the_headline(machine: Topology) -> None:
    found = made(machine, "throughput")
    specs = members(found)[3:]
    state = RunState(specs)
    carried_out(state, [1e3] * 5)
    one = judged(synthetic.run([state.measurements[spec.id] for spec in specs]), found)[0]
    cell = one.cells["128k", 0]
    assert cell.metric == "iops", "of blocks below 512 KiB"
    assert one.mean(cell) == pytest.approx(1e3 * (128 << 10))


def test_nothing_goes_on_after_an_access_that_failed(machine: Topology) -> None:
    specs = members(made(machine, "latency"))
    state = RunState(specs)
    names = carried_out(state, [1e4] * 9, fail=specs[3].id)
    assert names[-1] == specs[3].id
    assert state.measurements[specs[-1].id].status == "skipped"


# The command


def test_a_directory_is_qualified(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    answer = forked.tierscope(
        *("storage", str(data), "--size", "4m", "--qualify", "latency", "--round", "100ms"),
        *("--out", str(tmp_path / "out"), "--json"),
    )
    assert answer.returncode == 0, answer.stderr
    document = json.loads(answer.stdout)
    (test,) = document["qualification"]
    assert (test["test"], test["purged"]) == ("latency", False)
    assert 5 <= test["rounds"] <= MOST_ROUNDS
    assert len(test["tracked"]) == test["rounds"]
    found = test["window"]  # Without values where the machine was too busy for an operation.
    in_range = None not in found.values() and found["range"] <= 0.2 and found["slope"] <= 0.1
    assert test["steady"] == in_range
    assert len(test["results"]) == 6
    assert all(one["latency"] > 0 for one in test["results"])
    filled = next(one for one in document["results"] if one["id"] == "latency.fill")
    assert filled["rounds"][-1]["bytes_written"] >= 8 * MIB
    assert list(data.iterdir()) == [], "the file is removed"


def test_write_saturation_of_a_directory_ends_when_it_is_steady_or_its_rounds_are_over(
    tmp_path: Path,
) -> None:
    options = ("--size", "1m", "--qualify", "write-saturation", "--round", "20ms", "--json")
    answer = forked.tierscope("storage", str(tmp_path), *options, "--out", str(tmp_path / "out"))
    assert answer.returncode == 0, answer.stderr
    document = json.loads(answer.stdout)
    (test,) = document["qualification"]
    assert (test["test"], test["purged"]) == ("write-saturation", False)
    (curve,) = document["results"]
    assert test["steady"] == (curve["stop"] == "steady")
    assert test["rounds"] == len(curve["rounds"]) >= 5
    assert curve["rounds"][-1]["bytes_written"] >= MIB
    assert (curve["pattern"]["write_saturation"], curve["pattern"]["depth"]) == (True, 32)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--round", "1s"), "--round has no effect here; it goes with --qualify"),
        (("--training", "unet3d", "--round", "1s"), "--round has no effect here"),
        (("--kv-cache", "llama3-8b", "--destroy-data", "X"), "--destroy-data has no effect here"),
        (("--kv-cache", "llama3-8b", "--rated", __file__), "--rated has no effect here"),
        (("--qualify", "speed"), "--qualify: 'speed' is not a test"),
        (("--qualify", "iops", "--time-limit", "9s"), "--time-limit has no effect here"),
    ],
)
def test_options_that_do_not_go_together(
    tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    answer = forked.tierscope("storage", str(tmp_path), *options)
    assert (answer.returncode, said in answer.stderr) == (2, True), answer.stderr
