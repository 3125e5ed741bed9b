"""Preconditioning and write-saturation curves of devices whose data may be destroyed."""

import io
import json
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import ValidationError
from rich.console import Console
from rich.progress import Progress as Bar

import synthetic
from tierscope.analysis.time_series import ended_by, of_figure, rounds_of, seconds_left
from tierscope.engine.process import check, find_engine
from tierscope.kinds.io.show import over_written, series_lines, show_table, summary_of
from tierscope.kinds.io.spec import IoSpec
from tierscope.kinds.plan import Plan
from tierscope.model.cause import Cause
from tierscope.model.errors import UserError
from tierscope.model.event import (
    Evidence,
    Failed,
    IoEvidence,
    Preparing,
    Progress,
    Repetition,
    Started,
)
from tierscope.model.run import Measurement, Round
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.report.pictures.picture import PictureInput
from tierscope.report.progress import _Display
from tierscope.report.style import make_console
from tierscope.runs.record import Bounds, measurement_of
from tierscope.runs.schedule import ConcludeStep, RepetitionStep, Step, in_rounds, in_step
from tierscope.runs.state import RunState

Schedule = Callable[[RunState, str], Iterator[Step]]
GIB = 1 << 30
MAKER = synthetic.Maker()
NAMED = {"to": "dev:/dev/nvme9n1", "destroy-data": "S4EWNX0"}

TWO = {"to": "dev:/dev/a,dev:/dev/b", "destroy-data": "one,two"}


def ask(machine: Topology, **options: str) -> list[IoSpec]:
    named = {name.replace("_", "-"): value for name, value in options.items()}
    made = expand([Request(kind="io", options=NAMED | named)], machine, thp=False)
    specs = [spec for spec in made.measurements if isinstance(spec, IoSpec)]
    assert len(specs) == len(made.measurements)
    return specs


def purges(spec: IoSpec) -> bool:
    return bool(spec.jobs[0].files.model_dump().get("purge"))


def test_a_curve_is_of_random_writes_of_4_kib_for_a_day(machine: Topology) -> None:
    (curve,) = ask(machine, write_saturation="yes")
    pattern = curve.pattern
    assert (pattern.operation, pattern.order, pattern.block_size) == ("write", "random", 4096)
    assert (pattern.depth, pattern.direct) == (32, True)
    assert curve.sampling.budget_s == 86400
    assert curve.series is not None
    assert (curve.series.until, curve.series.passes, curve.series.round_s) == ("steady", 1, 60)
    assert curve.sampling.sample_s == 10
    assert not purges(curve)


def test_a_curve_of_another_pattern(machine: Topology) -> None:
    (curve,) = ask(machine, write_saturation="yes", op="mix", block_size="16k", backend="posix")
    assert (curve.pattern.operation, curve.pattern.block_size) == ("mix", 16384)
    assert curve.pattern.depth == 1


def test_sequential_writes_of_twice_the_size_come_first(machine: Topology) -> None:
    fill, curve = ask(machine, precondition="purge,fill", write_saturation="yes", size="1g")
    assert fill.series is not None
    assert (fill.series.until, fill.series.passes) == ("written", 2)
    assert (fill.pattern.order, fill.pattern.block_size) == ("sequential", 128 << 10)
    assert (fill.jobs[0].files.size, curve.jobs[0].files.size) == (GIB, GIB)
    assert purges(fill)
    assert not purges(curve), "what was filled stays"
    assert fill.identity()["preconditioning"] is True
    assert curve.identity()["write_saturation"] is True


@pytest.mark.parametrize("together", ["yes", "no"])
def test_each_of_several_devices_is_purged_and_filled(machine: Topology, together: str) -> None:
    specs = ask(machine, **TWO, precondition="purge,fill", together=together, op="write")
    fills = [spec for spec in specs if spec.series is not None]
    assert [fill.target for fill in fills] == ["dev:/dev/a", "dev:/dev/b"]
    named = [fill.jobs[0].files.model_dump()["destroy"] for fill in fills]
    assert (named, [len(fill.jobs) for fill in fills]) == (["one", "two"], [1, 1])
    assert all(purges(fill) for fill in fills)
    assert specs[:2] == fills


def test_ordinary_measurements_may_follow_a_fill(machine: Topology) -> None:
    fill, read, write = ask(machine, precondition="fill", op="read,write", round="5s")
    assert fill.series is not None
    assert fill.series.round_s == 5
    assert (read.series, write.series) == (None, None)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"precondition": "purge"}, "--precondition: purge leaves an empty drive"),
        ({"precondition": "format"}, "--precondition: 'format'"),
        ({"write-saturation": "yes", "depth": "1,32"}, "is of one device and one pattern"),
        ({"write-saturation": "yes", **TWO, "together": "yes"}, "is of one device"),
        ({"write-saturation": "yes", "op": "read"}, "needs writes"),
        ({"round": "1s"}, "--round: goes with"),
        ({"write-saturation": "yes", "round": "2h"}, "--round"),
    ],
)
def test_what_is_refused(machine: Topology, options: dict[str, str], said: str) -> None:
    with pytest.raises(UserError) as caught:
        expand([Request(kind="io", options=NAMED | options)], machine, thp=False)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"to": "file:/data", "precondition": "fill"}, "goes with devices"),
        ({"to": "dev:/dev/x", "precondition": "fill"}, "name it in --destroy-data"),
        ({"to": "dev:/dev/x", "write-saturation": "yes"}, "--destroy-data"),
    ],
)
def test_what_nobody_named_is_never_preconditioned(
    machine: Topology, options: dict[str, str], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        expand([Request(kind="io", options=options)], machine, thp=False)


def test_the_model_and_the_engine_agree_on_what_is_destroyed(machine: Topology) -> None:
    fill, curve = ask(machine, precondition="purge,fill", write_saturation="yes")
    assert check(Plan(version=2, measurements=[fill, curve])) is None

    def refused(**changes: Any) -> None:
        changed = {**fill.model_dump(mode="json"), **changes}
        with pytest.raises(ValidationError):
            IoSpec.model_validate(changed)
        plan = json.dumps({"version": 2, "measurements": [changed]})
        answer = subprocess.run(
            [find_engine(), "check"], input=plan, capture_output=True, text=True, check=False
        )
        assert answer.returncode == 2, answer.stderr

    job = fill.model_dump(mode="json")["jobs"][0]
    refused(jobs=[{**job, "files": {**job["files"], "destroy": ""}}])
    refused(pattern={"block_size": 4096, "operation": "read"})
    refused(series=None)
    for wrong in ({"until": "bored"}, {"passes": 0}, {"round_s": 0}, {"also": 1}):
        assert fill.series is not None
        refused(series={**fill.series.model_dump(), **wrong})


# Rounds


def repetition(spec: IoSpec, value: float, written: int, seconds: float = 60.0) -> Repetition:
    observed = {"files": [], "reads": 0, "writes": round(value * seconds), "bytes_read": 0,
                "bytes_written": written, "set_up_s": 0.0, "used_bytes": GIB}  # fmt: skip
    series = {"name": "windows", "starts": [0.0, seconds / 2], "durations": [seconds / 2] * 2,
              "columns": [{"metric": "iops", "part": "", "values": [value, value]}]}  # fmt: skip
    return Repetition.model_validate(
        {"id": spec.id, "seconds": seconds, "fresh": False, "interrupted": False,
         "series": [series], "evidence": {"storage_io": observed}}
    )  # fmt: skip


def test_a_round_is_all_that_was_done_in_its_time(machine: Topology) -> None:
    """32 operations that waited for a CPU are done in a sample of 10 us: 3.2 million/s."""
    (curve,) = ask(machine, write_saturation="yes")
    made = repetition(curve, 1e4, GIB, seconds=1.0)
    (first,) = made.series
    values = [(1e4 - 32) / (1 - 1e-5), 32 / 1e-5]
    column = first.columns[0].model_copy(update={"values": values})
    uneven = first.model_copy(update={"durations": [1 - 1e-5, 1e-5], "columns": [column]})
    (found,) = rounds_of([made.model_copy(update={"series": [uneven]})])
    assert found.value == pytest.approx(1e4)


def test_steady_rounds_of_a_drive_that_is_not_written_once_do_not_end_it(
    machine: Topology,
) -> None:
    (curve,) = ask(machine, write_saturation="yes")
    quick = [repetition(curve, 1e5, GIB // 8) for _ in range(8)]
    assert ended_by(curve, quick[1:]) is None
    assert ended_by(curve, quick) == "steady"
    slower = [repetition(curve, 1e5 / number, GIB) for number in range(1, 6)]
    assert ended_by(curve, slower) is None
    assert ended_by(curve, [*slower, *[repetition(curve, 2e4, GIB)] * 4]) == "steady"


def test_the_time_that_is_left(machine: Topology) -> None:
    fill, curve = ask(machine, precondition="fill", write_saturation="yes", budget="10m")
    assert seconds_left(fill, []) is None
    assert seconds_left(fill, [repetition(fill, 1e4, GIB // 2)]) == 180
    assert seconds_left(fill, [repetition(fill, 1e4, GIB)] * 2) == 0
    assert seconds_left(curve, [repetition(curve, 1e4, GIB)] * 9) == 60


def test_figures_are_of_the_last_five_rounds_and_evidence_of_all(machine: Topology) -> None:
    (curve,) = ask(machine, write_saturation="yes")
    repetitions = [repetition(curve, value, GIB) for value in (9e4, 5e4, *[1e4] * 5)]
    assert len(of_figure(curve, repetitions)) == 5
    made = measurement_of(curve, repetitions, None, Bounds())
    assert (made.stop, made.estimate) == ("steady", 1e4)
    assert made.rounds == rounds_of(repetitions)
    assert [one.value for one in made.rounds][:2] == [9e4, 5e4]
    assert made.evidence is not None
    assert made.evidence.storage_io is not None
    assert made.evidence.storage_io.bytes_written == made.rounds[-1].bytes_written == 7 * GIB


def steps(
    state: RunState, fail: str = "", schedule: Schedule = in_rounds
) -> list[tuple[str, bool]]:
    """Carry out a schedule without an engine; return its repetitions, and whether each was
    fresh."""
    made = []
    for step in schedule(state, "run"):
        if isinstance(step, ConcludeStep):
            state.measurements[step.name] = None  # type: ignore[assignment]
            continue
        assert isinstance(step, RepetitionStep)
        made.append((step.name, step.fresh))
        if step.name == fail:
            state.ended[fail] = Failed(id=fail, cause=Cause.STORAGE, reason="EIO")
        else:
            spec = state.specs[step.name]
            assert isinstance(spec, IoSpec)
            state.add_repetition(repetition(spec, 1e4, GIB // 2, step.seconds), step.seconds)
    return made


@pytest.mark.parametrize("schedule", [in_rounds, in_step])
def test_rounds_come_in_order_before_all_else_and_only_the_first_is_fresh(
    machine: Topology, schedule: Schedule
) -> None:
    specs = ask(machine, precondition="fill", op="read,write", budget="1s")
    fill, *others = [spec.id for spec in specs]
    state = RunState(specs)
    assert state.left_s() == pytest.approx(2, abs=0.5), "a fill has its own time"
    made = steps(state, schedule=schedule)
    assert made[:4] == [(fill, True), (fill, False), (fill, False), (fill, False)]
    assert {name for name, _ in made[4:]} == set(others)


def test_a_curve_ends_when_its_time_is_over(machine: Topology) -> None:
    (curve,) = ask(machine, write_saturation="yes", budget="90s", round="40s")
    state = RunState([curve])
    assert [name for name, _ in steps(state)] == [curve.id] * 3
    assert [one.seconds for one in state.repetitions[curve.id]] == [40, 40, 10]


@pytest.mark.parametrize("options", [{"op": "read,write"}, {"write_saturation": "yes"}])
def test_nothing_is_measured_after_a_fill_that_failed(
    machine: Topology, options: dict[str, str]
) -> None:
    specs = ask(machine, precondition="fill", **options)
    assert len(specs) > 1
    state = RunState(specs)
    assert steps(state, fail=specs[0].id) == [(specs[0].id, True)]
    assert all("did not come to its end" in state.ended[spec.id].reason for spec in specs[1:])


# What is shown


def curve_measured(**changes: Any) -> Measurement:
    observed = {"files": [], "reads": 0, "writes": 1, "bytes_read": 0, "bytes_written": 0,
                "set_up_s": 0.0, "used_bytes": GIB}  # fmt: skip
    made = synthetic.storage_measurement(
        MAKER, 1.2e4, operation="write", write_saturation=True, purged=True,
        evidence=Evidence(storage_io=IoEvidence.model_validate(observed)),
    )  # fmt: skip
    rates = [3.6e4] * 10 + [2.4e4] * 10 + [1.2e4] * 30
    rounds = [
        Round(end_s=60.0 * number, value=rate, bytes_written=number * GIB // 10)
        for number, rate in enumerate(rates, 1)
    ]
    return made.model_copy(update={"rounds": rounds, "stop": "steady", **changes})


def test_a_curve_in_words() -> None:
    (line,) = series_lines([curve_measured()])
    assert "purged by discard, then steady by the five-round rule" in line
    assert "after 5 times the 1 GiB written in 50 min" in line
    assert "36000 IOPS in the first one" in line
    (line,) = series_lines([curve_measured(stop="budget")])
    assert "not steady" in line


def test_a_curve_as_a_table_of_some_rounds() -> None:
    text = io.StringIO()
    made = curve_measured()
    show_table(make_console(text), [made], synthetic.run([made]))
    rows = [
        line.split() for line in text.getvalue().splitlines() if " min " in line and "%" in line
    ]
    assert len(rows) <= 12
    assert rows[-1] == ["50", "50", "min", "5.00", "12000", "33%"]


def test_preconditioning_is_not_what_was_asked_for() -> None:
    curve = curve_measured()
    fill = synthetic.changed(curve, estimate=9e4, pattern={"preconditioning": True})
    assert summary_of([fill, curve]) == summary_of([curve])


def test_a_curve_as_a_picture() -> None:
    made = curve_measured()
    (picture,) = over_written(PictureInput("io", "Storage", [made], synthetic.run([made])))
    assert picture.title.startswith("Write saturation: IOPS")
    assert "5 times the 1 GiB" in picture.alt


def test_the_progress_line_says_how_long_a_fill_takes_at_its_rate(machine: Topology) -> None:
    fill, curve = ask(machine, precondition="fill", write_saturation="yes", budget="10m")
    bar = Bar(console=Console(file=io.StringIO(), width=80))
    display = _Display(bar, [fill, curve], lambda _: 86400.0)
    display.watch(Started(id=fill.id))
    assert bar.tasks[0].total is None, "nobody knows before its first round"
    display.watch(repetition(fill, 1e4, GIB // 2))
    display.watch(Started(id=curve.id))
    assert bar.tasks[0].total == 60 + 180 + 600
    display.watch(Progress(id=curve.id, elapsed_s=5.0, samples=2, latest=1e4))
    assert bar.tasks[0].completed == 65
    assert bar.tasks[0].fields["name"] == "write by 1 thread"


def test_the_progress_line_says_which_file_is_filled_or_checked(machine: Topology) -> None:
    (curve,) = ask(machine, write_saturation="yes")
    bar = Bar(console=Console(file=io.StringIO(), width=80))
    display = _Display(bar, [curve], lambda _: 60.0)
    display.watch(Started(id=curve.id))
    preparing = {"what": "checking", "file": "data.bin", "done": GIB // 4, "total": GIB}
    display.watch(Preparing.model_validate({"id": curve.id, **preparing}))
    fields = bar.tasks[0].fields
    assert (fields["name"], fields["value"]) == ("checking data.bin", "25% of 1 GiB")
