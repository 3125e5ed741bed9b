"""What of a cut run counts: whole lines, the last measurement of each, what is open again."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.runs.test_run_files import header as header  # fixtures
from tests.runs.test_run_files import plan as plan
from tests.runs.test_run_files import records as records
from tests.runs.test_run_files import repetition_of

from tierscope.kinds.plan import Plan
from tierscope.model.base import RECORDED
from tierscope.model.cause import Cause
from tierscope.model.errors import UserError
from tierscope.model.run import (
    Footer,
    Header,
    Imported,
    ImportedFile,
    Measurement,
    RepetitionRecord,
)
from tierscope.model.topology import Gpu, Package, Topology
from tierscope.runs.read import parse_contents, read_bytes, read_run
from tierscope.runs.resume import (
    NothingToResumeError,
    check_machine,
    concluded,
    resumable,
    specs_of,
)
from tierscope.runs.write import RunWriter

ENDED = Footer(
    finished="2026-01-05T14:04:07+00:00", interrupted=False, measured=4, skipped=0, failed=0
)


@pytest.fixture
def writer(tmp_path: Path, header: Header) -> RunWriter:
    return RunWriter.create(tmp_path / "cut.jsonl", header)


def test_a_measurement_with_repetitions_after_it_goes_on(
    writer: RunWriter, records: list[Measurement]
) -> None:
    """The second one was concluded, and repeated once more before the run was cut."""
    first, second, *others = records
    for record in (first, second):
        writer.add(RepetitionRecord(repetition=repetition_of(record.id)))
        writer.add(record)
    writer.add(RepetitionRecord(repetition=repetition_of(second.id, 1.5)))
    writer.close()
    run = resumable(writer.path)
    assert [spec.id for spec in run.pending] == [second.id, *(one.id for one in others)]
    assert list(run.state.measurements) == [first.id]
    assert [len(run.state.repetitions[m.id]) for m in records] == [1, 2, 0, 0]
    assert run.length == len(read_bytes(writer.path))


def test_only_what_is_open_is_concluded_from_repetitions(
    writer: RunWriter, records: list[Measurement]
) -> None:
    """A measurement that stands is taken as it is, though its repetitions would give another."""
    first, second, *_ = records
    writer.add(RepetitionRecord(repetition=repetition_of(first.id, 3.0)))
    writer.add(first)
    writer.add(RepetitionRecord(repetition=repetition_of(second.id, 2.0)))
    writer.close()
    contents = parse_contents(read_bytes(writer.path), "cut")
    assert contents.open == {second.id}
    assert [m.id for m in concluded(contents)] == [second.id]
    one, other = read_run(writer.path).measurements
    assert one == first
    assert other.id == second.id
    assert other.estimate == pytest.approx(2 * 14e9 * 1.001, rel=1e-3)
    assert other.stop == "interrupted"


def test_a_measurement_that_was_cut_goes_on_and_one_that_was_not_does_not(
    writer: RunWriter, records: list[Measurement]
) -> None:
    first, second, *others = records
    writer.add(first.model_copy(update={"stop": "interrupted"}))
    writer.add(second)
    writer.close()
    pending = [spec.id for spec in resumable(writer.path).pending]
    assert pending == [first.id, *(one.id for one in others)]


@pytest.mark.parametrize("interrupted", [True, False])
def test_a_run_with_a_footer_is_complete_unless_it_was_interrupted(
    writer: RunWriter, records: list[Measurement], interrupted: bool
) -> None:
    for record in records:
        writer.add(record)
    writer.add(ENDED.model_copy(update={"interrupted": interrupted}))
    writer.close()
    if interrupted:
        assert resumable(writer.path).pending == []
    else:
        with pytest.raises(NothingToResumeError):
            resumable(writer.path)


def cut_at(path: Path, length: int) -> Path:
    content = path.read_bytes()
    path.write_bytes(content[:length])
    return path


def test_a_repetition_that_was_cut_does_not_count_and_all_before_it_do(
    writer: RunWriter, records: list[Measurement]
) -> None:
    """Cut anywhere inside its line, as by a full disk: neither read, nor kept where it goes on."""
    first, *_ = records
    writer.add(RepetitionRecord(repetition=repetition_of(first.id)))
    whole = len(writer.path.read_bytes())
    writer.add(RepetitionRecord(repetition=repetition_of(first.id, 9.0)))
    end = len(writer.path.read_bytes())
    writer.close()
    for length in range(end - 2, whole, -((end - whole) // 12)):
        contents = parse_contents(read_bytes(cut_at(writer.path, length)), "cut")
        assert [len(lines) for lines in contents.repetitions.values()] == [1]
        assert len(contents.repetitions_of(first.id)) == 1
        assert contents.length == whole
        (found,) = read_run(writer.path).measurements
        assert found.estimate == pytest.approx(14e9, rel=0.01)


def test_what_is_cut_before_the_end_is_damage_with_its_line(
    writer: RunWriter, records: list[Measurement]
) -> None:
    for record in records[:3]:
        writer.add(record)
    writer.close()
    lines = writer.path.read_bytes().split(b"\n")
    assert len(lines) == 5, "a header, three measurements, nothing after the last one"
    for number in (1, 2):
        broken = [*lines]
        broken[number] = lines[number][:-9]
        with pytest.raises(UserError, match=rf"^cut:{number + 1}: .*damaged"):
            parse_contents(b"\n".join(broken), "cut")
    broken = [*lines]
    broken[3] = lines[3][:-9]
    contents = parse_contents(b"\n".join(broken[:4]), "cut")
    assert list(contents.measurements) == [one.id for one in records[:2]]
    assert contents.length == len(b"\n".join(lines[:3])) + 1


def test_a_run_goes_on_after_its_last_whole_line(
    writer: RunWriter, records: list[Measurement]
) -> None:
    first, second, *_ = records
    writer.add(first)
    whole = len(writer.path.read_bytes())
    writer.add(second)
    writer.close()
    cut_at(writer.path, whole + 40)
    cut = resumable(writer.path)
    again = RunWriter.resume(writer.path, cut.length, cut.last)
    again.add(second)
    again.close()
    assert read_run(writer.path).measurements == [first, second]


def test_two_headers_or_none_are_refused(writer: RunWriter, records: list[Measurement]) -> None:
    writer.add(records[0])
    writer.close()
    head, body = writer.path.read_bytes().split(b"\n", 1)
    with pytest.raises(UserError, match=r"cut:3: .*it was doubled or moved"):
        parse_contents(head + b"\n" + body + head + b"\n", "cut")
    with pytest.raises(UserError):
        parse_contents(body, "cut")


def test_what_another_program_measured_cannot_go_on(tmp_path: Path, header: Header) -> None:
    imported = Imported(
        format="f", program="other", files=[ImportedFile(name="x", sha256="0" * 64)]
    )
    path = tmp_path / "i.jsonl"
    RunWriter.create(path, header.model_copy(update={"imported": imported})).close()
    with pytest.raises(UserError, match="is imported: tierscope measured nothing that could go on"):
        resumable(path)


def test_a_measurement_that_a_signal_skipped_goes_on(
    writer: RunWriter, records: list[Measurement]
) -> None:
    """As one that was measured less than it was to be; one that nobody planned does not."""
    first, second, third, fourth = records
    none = {"status": "skipped", "figures": [], "samples": [], "n": 0, "stop": None}
    writer.add(first.model_copy(update={**none, "cause": Cause.INTERRUPTED, "reason": "signal"}))
    writer.add(second.model_copy(update={**none, "cause": Cause.MEMORY, "reason": "full"}))
    writer.add(third.model_copy(update={"id": "nobody's"}))
    writer.close()
    run = resumable(writer.path)
    assert [spec.id for spec in run.pending] == [first.id, third.id, fourth.id]
    assert list(run.state.measurements) == [second.id]


def test_what_is_concluded_is_bounded_by_the_machine_where_that_is_known(
    tmp_path: Path, header: Header, plan: Plan
) -> None:
    """64 MiB do not fit caches of 32."""
    name = plan.measurements[0].id
    for topology, fits in ((header.topology, False), (None, None)):
        path = tmp_path / f"{fits}.jsonl"
        writer = RunWriter.create(path, header.model_copy(update={"topology": topology}))
        writer.add(RepetitionRecord(repetition=repetition_of(name)))
        writer.close()
        (found,) = read_run(path).measurements
        assert (found.fits_caches, found.stop, found.repetitions) == (fits, "interrupted", 1)


def test_a_kind_of_later_versions_is_not_concluded_and_leaves_others(
    tmp_path: Path, header: Header, plan: Plan
) -> None:
    later = {"id": "x.1", "kind": "later", "target": "node:7"}
    known = plan.measurements[0].model_dump(mode="json")
    changed = header.model_copy(update={"plan": {"measurements": [later, known]}})
    writer = RunWriter.create(tmp_path / "later.jsonl", changed)
    for name in ("x.1", known["id"]):
        writer.add(RepetitionRecord(repetition=repetition_of(name)))
    writer.close()
    contents = parse_contents(read_bytes(writer.path), "later")
    unknown, one = concluded(contents)
    assert (one.id, one.status) == (known["id"], "measured")
    assert (unknown.id, unknown.kind, unknown.status) == ("x.1", "later", "skipped")
    assert (unknown.initiator, unknown.target, unknown.cpus) == ("", "node:7", [])
    assert unknown.reason.startswith("run 'later' has a plan that this tierscope cannot read (meas")
    assert (unknown.cause, unknown.remedy) == (
        Cause.OTHER,
        "show it by the tierscope that wrote it",
    )
    with pytest.raises(
        UserError, match=r"later\.jsonl' has a plan that this tierscope cannot read"
    ):
        resumable(writer.path)


def test_specs_have_no_keys_that_nobody_knows_unless_they_are_only_shown(plan: Plan) -> None:
    spec = plan.measurements[0]
    later = {**spec.model_dump(mode="json"), "later": 1}
    assert specs_of([], "x") == []
    assert specs_of([spec.model_dump(mode="json")], "x") == [spec]
    with pytest.raises(UserError, match=r"^run 'x' has .* \(measurements\.0\..*later: Extra"):
        specs_of([later], "x")
    (shown,) = specs_of([later], "x", RECORDED)
    assert json.loads(shown.model_dump_json())["later"] == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ""),
        ({"product": "other", "nodes": []}, ""),
        ({"host": "other"}, "run 'r' is of host test, this is other; compare it there"),
        ({"cpu_model": "X"}, "cpu: Test CPU then, X now"),
        ({"packages": [Package(number=0, cpus=[], cores=4)]}, "packages: 2 then, 1 now"),
        ({"siblings": [[0]]}, "cores: 8 then, 1 now"),
        ({"cpus": [1]}, f"usable cpus: {list(range(16))} then, [1] now"),
        ({"gpus": [Gpu(index=0, name="A", address="")]},
         "gpus: [] then, [{'index': 0, 'name': 'A', 'uuid': ''}] now"),
    ],
)  # fmt: skip
def test_figures_of_another_machine_do_not_belong_to_a_run(
    header: Header, machine: Topology, changes: dict[str, Any], said: str
) -> None:
    found = ""
    try:
        check_machine(Path("r"), header, machine.model_copy(update=changes), "compare it")
    except UserError as error:
        found = str(error)
    start = "run 'r' began on a machine with other "
    assert found == (f"{start}{said}; make a new run" if " then, " in said else said)
