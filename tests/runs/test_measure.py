"""From a plan to a run file, through an engine that may die, and on from where a run was cut."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tierscope.kinds.plan import Plan
from tierscope.model.cause import Cause
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.event import Event, Repetition
from tierscope.model.run import Measurement, Refinement
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.runs.bundle import bundle
from tierscope.runs.measure import Outcome, measure
from tierscope.runs.read import read_run
from tierscope.runs.resume import NothingToResumeError, resumable, resume

Fake = Callable[[str], None]
Seen = Callable[[Event | Measurement], None]


def plan_of(machine: Topology, kind: str = "latency", **options: str) -> Plan:
    asked = {"size": "4k..64k", "budget": "2", **options}
    return expand([Request(kind=kind, options=asked)], machine, thp=True)


def run(
    plan: Plan, machine: Topology, folder: Path, seen: Seen | None = None,
    refinement: Refinement | None = None,
) -> Outcome:  # fmt: skip
    watch = seen or (lambda _event: None)
    return measure(plan, "test", machine, ["tierscope"], folder, watch, refinement)


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines(keepends=True)


def cut(path: Path, records: int) -> None:
    """Leave a file its first records and half of the next one."""
    lines = lines_of(path)
    path.write_text("".join(lines[:records]) + lines[records][: len(lines[records]) // 2])


def kinds_of(path: Path) -> str:
    return "".join(json.loads(line)["record"][0] for line in lines_of(path))


def agree(one: Measurement, other: Measurement) -> bool:
    """The fake engine's noise leaves medians of some hundred rows within 3% of each other."""
    assert one.estimate is not None
    return one.estimate == pytest.approx(other.estimate, rel=0.03)


def test_what_was_measured_is_in_the_file(
    machine: Topology, fake_engine: Fake, tmp_path: Path
) -> None:
    outcome = run(plan_of(machine), machine, tmp_path)
    assert outcome.exit_code is ExitCode.ALL_MEASURED
    back = read_run(outcome.path)
    assert back == outcome.run
    assert [m.stop for m in back.measurements] == ["precision"] * 5
    repetitions = [m.repetitions for m in back.measurements]
    assert min(repetitions) >= 8
    assert kinds_of(outcome.path) == "h" + "r" * sum(repetitions) + "m" * 5 + "f"


def test_repetitions_are_made_in_rounds(
    machine: Topology, fake_engine: Fake, tmp_path: Path
) -> None:
    outcome = run(plan_of(machine), machine, tmp_path)
    names = [json.loads(line)["repetition"]["id"] for line in lines_of(outcome.path)[1:26]]
    rounds = [names[at : at + 5] for at in range(0, 25, 5)]
    assert all(len(set(one)) == 5 for one in rounds)
    assert len({tuple(one) for one in rounds}) > 1


def test_the_file_says_when_each_repetition_was(
    machine: Topology, fake_engine: Fake, tmp_path: Path
) -> None:
    fake_engine("slow")
    outcome = run(plan_of(machine, size="4k", budget="0.1"), machine, tmp_path)
    (first, *_) = (json.loads(line)["repetition"] for line in lines_of(outcome.path)[1:2])
    assert 0.5 <= first["at_s"] <= 30


def test_what_is_not_precise_is_repeated_until_its_budget_is_spent(
    machine: Topology, fake_engine: Fake, tmp_path: Path
) -> None:
    fake_engine("noisy")
    outcome = run(plan_of(machine, size="4k"), machine, tmp_path)
    (only,) = outcome.run.measurements
    assert only.stop == "budget"
    repetitions = [json.loads(line)["repetition"] for line in lines_of(outcome.path)[1:-2]]
    assert only.repetitions == len(repetitions)
    # Less where the machine is busy: the start of the engine is part of the time.
    assert 0.2 <= sum(repetition["seconds"] for repetition in repetitions) <= 2.4


def test_the_watch_sees_each_measurement_as_it_is_concluded(
    machine: Topology, fake_engine: Fake, tmp_path: Path
) -> None:
    seen: list[str] = []

    def watch(event: Event | Measurement) -> None:
        seen.append(event.id if isinstance(event, Measurement) else event.event)

    plan = plan_of(machine, size="4k,8k")
    made = run(plan, machine, tmp_path, watch).run.measurements
    repetitions = sum(m.repetitions for m in made)
    assert seen == ["started", "repetition"] * repetitions + [m.id for m in made]


def test_a_crash_costs_the_repetition_and_not_those_before_it(
    machine: Topology, fake_engine: Fake, tmp_path: Path
) -> None:
    fake_engine("noisy,segv@3")  # of the second round
    outcome = run(plan_of(machine, size="4k,8k"), machine, tmp_path)
    cut, other = sorted(outcome.run.measurements, key=lambda m: m.repetitions)
    assert (cut.status, cut.repetitions) == ("measured", 1)
    assert cut.evidence is not None
    assert any("SIGSEGV" in note for note in cut.evidence.notes or [])
    assert other.repetitions >= 8


def test_a_crash_in_the_first_repetition_fails_the_measurement(
    machine: Topology, fake_engine: Fake, tmp_path: Path
) -> None:
    fake_engine("segv@1")
    outcome = run(plan_of(machine, size="4k,8k"), machine, tmp_path)
    failed, measured = sorted(outcome.run.measurements, key=lambda m: m.status)
    assert (failed.status, failed.cause, measured.status) == ("failed", Cause.CRASH, "measured")
    assert outcome.exit_code is ExitCode.SOMETHING_FAILED


def test_wrong_data_fails_a_measurement_whatever_was_measured_before(
    machine: Topology, fake_engine: Fake, tmp_path: Path
) -> None:
    fake_engine("noisy,wrong@2")
    (only,) = run(plan_of(machine, size="4k"), machine, tmp_path).run.measurements
    assert (only.status, only.cause) == ("failed", Cause.VERIFICATION)


def interrupted_run(machine: Topology, folder: Path, plan: Plan) -> Outcome:
    """Send this process SIGINT at the second repetition."""
    repetitions: list[Repetition] = []

    def watch(event: Event | Measurement) -> None:
        if isinstance(event, Repetition):
            repetitions.append(event)
            if len(repetitions) == 2:
                os.kill(os.getpid(), signal.SIGINT)

    return run(plan, machine, folder, watch)


def test_an_interrupted_run_keeps_its_repetitions_and_goes_on(
    machine: Topology, fake_engine: Fake, tmp_path: Path
) -> None:
    fake_engine("noisy")
    plan = plan_of(machine, size="4k,8k")
    outcome = interrupted_run(machine, tmp_path, plan)
    assert outcome.exit_code is ExitCode.INTERRUPTED
    assert [(m.repetitions, m.stop) for m in outcome.run.measurements] == [(1, "interrupted")] * 2
    assert read_run(outcome.path) == outcome.run
    found = resumable(outcome.path)
    assert [spec.id for spec in found.pending] == [spec.id for spec in plan.measurements]
    again = resume(found, machine, lambda _event: None)
    assert again.exit_code is ExitCode.ALL_MEASURED
    assert {m.stop for m in again.run.measurements} == {"budget"}
    assert read_run(outcome.path) == again.run
    repetitions = [m.repetitions for m in again.run.measurements]
    assert min(repetitions) > 1
    assert kinds_of(outcome.path) == "hrrmmf" + "r" * (sum(repetitions) - 2) + "mmf"


@pytest.mark.parametrize("records", [1, 2, 6, 15, 17])
def test_a_run_cut_anywhere_resumes_and_ends_with_the_same_figures(
    machine: Topology, fake_engine: Fake, tmp_path: Path, records: int
) -> None:
    fake_engine("noisy")
    plan = plan_of(machine, size="4k,8k")
    unbroken = run(plan, machine, tmp_path).run.measurements
    broken = run(plan, machine, tmp_path)
    cut(broken.path, records)
    resumed = resume(resumable(broken.path), machine, lambda _event: None)
    assert [m.id for m in resumed.run.measurements] == [m.id for m in unbroken]
    for one, other in zip(resumed.run.measurements, unbroken, strict=True):
        assert agree(one, other)
    assert read_run(broken.path) == resumed.run


def test_a_killed_run_resumes(machine: Topology, fake_engine: Fake, tmp_path: Path) -> None:
    """The whole process dies by SIGKILL between two records."""
    plan = plan_of(machine, size="4k,8k,16k")
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from tierscope.kinds.plan import Plan\n"
        "from tierscope.model.run import Measurement\n"
        "from tierscope.model.topology import Topology\n"
        "from tierscope.runs.measure import measure\n"
        "def watch(event):\n"
        "    if isinstance(event, Measurement): os.kill(os.getpid(), 9)\n"
        "measure(Plan.model_validate_json(sys.argv[1]), 'killed',\n"
        "        Topology.model_validate_json(sys.argv[2]), [], Path(sys.argv[3]), watch)\n"
    )
    arguments = [plan.model_dump_json(), machine.model_dump_json(), str(tmp_path)]
    ended = subprocess.run([sys.executable, "-c", code, *arguments], check=False)
    assert ended.returncode == -signal.SIGKILL
    (path,) = tmp_path.glob("*.jsonl")
    assert {m.stop for m in read_run(path).measurements} == {"precision", "interrupted"}
    resumed = resume(resumable(path), machine, lambda _event: None)
    unbroken = run(plan, machine, tmp_path)
    for one, other in zip(resumed.run.measurements, unbroken.run.measurements, strict=True):
        assert agree(one, other)


def test_a_refined_curve_resumes(machine: Topology, fake_engine: Fake, tmp_path: Path) -> None:
    options = {"size": "1m", "load-size": "1m", "budget": "0.2", "precision": "50%"}
    plan = plan_of(machine, "loaded-latency", **options)
    how = Refinement(points=9)
    unbroken = run(plan, machine, tmp_path, refinement=how)
    loaded = [m for m in unbroken.run.measurements if m.pattern.get("delay_ns") is not None]
    assert len(loaded) == 9
    assert unbroken.run.added
    records = kinds_of(unbroken.path)
    for place in (5, records.index("p"), records.index("p") + 3):
        broken = Path(shutil.copy(unbroken.path, tmp_path / f"{place}.jsonl"))
        cut(broken, place)
        resumed = resume(resumable(broken), machine, lambda _event: None)
        assert [m.id for m in resumed.run.measurements] == [m.id for m in unbroken.run.measurements]
        assert read_run(broken) == resumed.run


def test_a_complete_run_is_not_resumed(
    machine: Topology, fake_engine: Fake, tmp_path: Path
) -> None:
    outcome = run(plan_of(machine, size="4k"), machine, tmp_path)
    with pytest.raises(NothingToResumeError, match="is complete: there is nothing to resume"):
        resumable(outcome.path)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"host": "other"}, "is of host test, this is other; resume it there"),
        ({"cpu_model": "Other CPU"}, "began on a machine with other cpu: Test CPU then"),
        ({"cpus": [0, 1]}, "with other usable cpus"),
    ],
)
def test_another_machine_is_refused(
    machine: Topology, fake_engine: Fake, tmp_path: Path, changes: dict[str, object], says: str
) -> None:
    outcome = run(plan_of(machine, size="4k,8k"), machine, tmp_path)
    cut(outcome.path, 3)
    before = outcome.path.read_bytes()
    with pytest.raises(UserError, match=says):
        resume(resumable(outcome.path), machine.model_copy(update=changes), lambda _event: None)
    assert outcome.path.read_bytes() == before


def test_a_run_is_resumed_by_one_process_only(
    machine: Topology, fake_engine: Fake, tmp_path: Path
) -> None:
    outcome = run(plan_of(machine, size="4k,8k"), machine, tmp_path)
    cut(outcome.path, 3)
    found = resumable(outcome.path)

    refused = 0

    def watch(event: Event | Measurement) -> None:
        nonlocal refused
        if refused and not isinstance(event, Measurement):
            return  # from the first event to the last measurement, not at each in between
        with pytest.raises(UserError, match="is being measured by another process"):
            resume(found, machine, lambda _event: None)
        refused += 1

    assert resume(found, machine, watch).exit_code is ExitCode.ALL_MEASURED
    assert refused == 3


def test_an_engine_that_cannot_start_leaves_a_readable_run(
    machine: Topology, fake_engine: Fake, tmp_path: Path
) -> None:
    fake_engine("stillborn")
    outcome = run(plan_of(machine, size="4k"), machine, tmp_path)
    assert outcome.exit_code is ExitCode.NOTHING_MEASURED
    assert read_run(outcome.path).measurements == []


def test_a_bundle_names_nobody(
    machine: Topology, fake_engine: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "alice")
    named = machine.model_copy(update={"host": "node017.cluster"})
    command = ["tierscope", "run", "/home/alice/plan.yaml", "--out", "/data/alice/runs"]
    outcome = measure(
        plan_of(named, size="4k"), "of-node017", named, command, tmp_path, lambda _event: None
    )
    written = bundle(outcome.path).path
    with tarfile.open(written) as archive:
        texts = {
            Path(name).name: archive.extractfile(name).read().decode()  # type: ignore[union-attr]
            for name in archive.getnames()
        }
    assert set(texts) == {"run.jsonl", "topology.json", "versions.json", "bundle.json"}
    assert not [name for name, text in texts.items() if "node017" in text or "alice" in text]
    assert "host1" in texts["run.jsonl"]
    assert "/home/user1/name" in texts["run.jsonl"]
    assert "pydantic" in json.loads(texts["versions.json"])["now"]["libraries"]
    run_file = tmp_path / "run.jsonl"
    run_file.write_text(texts["run.jsonl"])
    assert read_run(run_file).measurements[0].estimate == outcome.run.measurements[0].estimate
