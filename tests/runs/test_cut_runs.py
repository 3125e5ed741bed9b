"""What of a cut run counts: whole lines, the last measurement of each, what is open again."""

from pathlib import Path

import pytest
from tests.runs.test_run_files import header as header  # fixtures
from tests.runs.test_run_files import plan as plan
from tests.runs.test_run_files import records as records
from tests.runs.test_run_files import repetition_of

from tierscope.model.errors import UserError
from tierscope.model.run import Footer, Header, Measurement, RepetitionRecord
from tierscope.runs.read import parse_contents, read_bytes, read_run
from tierscope.runs.resume import NothingToResumeError, concluded, resumable
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
