import csv
import io
import json
import os
import re
from datetime import datetime, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests import synthetic
from tests.seals import resealed, without_seals

from tierscope.kinds.plan import Plan
from tierscope.model.capability import Capabilities
from tierscope.model.cause import Cause
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.event import Failed, Repetition, Skipped
from tierscope.model.run import Footer, Header, Limit, Measurement, RepetitionRecord, Run
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request
from tierscope.runs.export import table_bytes, to_json
from tierscope.runs.measure import exit_code
from tierscope.runs.read import parse_run, read_run
from tierscope.runs.record import Bounds, make_header, measurement_of
from tierscope.runs.store import find_run, new_run_path
from tierscope.runs.write import RunWriter

NOW = datetime(2026, 1, 5, 14, 3, 7, tzinfo=timezone.utc)
ENGINE = Capabilities(
    engine="0", plan_version=2, git_commit="abc", compiler="c", isas=["sse4"], capabilities=[]
)


@pytest.fixture
def plan(machine: Topology) -> Plan:
    request = Request(
        kind="bandwidth", options={"op": "read,copy", "size": "64m", "threads": "1,2"}
    )
    return expand([request], machine, thp=True)


@pytest.fixture
def header(machine: Topology, plan: Plan) -> Header:
    return make_header("a-run", NOW, ["tierscope", "run"], plan, machine, {"thp": "always"}, ENGINE)


def repetition_of(name: str, scale: float = 1.0, **changes: object) -> Repetition:
    """A repetition of forty rows around 14 GB/s."""
    values = [scale * 14e9 * (1 + 0.001 * (i % 3)) for i in range(40)]
    return Repetition.model_validate(
        {
            "id": name, "seconds": 2.0, "fresh": False, "interrupted": False,
            "series": [
                {
                    "name": "windows",
                    "starts": [0.01 * i for i in range(40)],
                    "durations": [0.01] * 40,
                    "columns": [{"metric": "bandwidth", "part": "", "values": values}],
                }
            ],
            "evidence": {"pages": {"0": 16384}, "page_bytes": 4096, "cpus": [0]},
            **changes,
        }
    )  # fmt: skip


@pytest.fixture
def records(plan: Plan) -> list[Measurement]:
    return [
        measurement_of(spec, [repetition_of(spec.id)], None, Bounds(fits_caches=False))
        for spec in plan.measurements
    ]


@pytest.fixture
def whole(tmp_path: Path, header: Header, records: list[Measurement]) -> Path:
    """A run as it is written: each measurement after its repetition, a footer at the end."""
    path = tmp_path / "whole.jsonl"
    writer = RunWriter.create(path, header)
    for record in records:
        writer.add(RepetitionRecord(repetition=repetition_of(record.id)))
        writer.add(record)
    writer.add(Footer(finished=NOW.isoformat(), interrupted=False, measured=4, skipped=0, failed=0))
    writer.close()
    return path


def test_what_is_written_is_read_back(
    whole: Path, header: Header, records: list[Measurement]
) -> None:
    run = read_run(whole)
    assert (run.header, run.measurements) == (header, records)
    assert run.footer is not None


def test_a_file_cut_anywhere_reads_up_to_the_cut(whole: Path, header: Header) -> None:
    content = whole.read_bytes()
    ends = [index for index, byte in enumerate(content) if byte == ord("\n")]
    for cut in range(ends[0], len(content), 97):
        run = parse_run(content[:cut], "cut")
        # Repetitions count even where the cut came before what was concluded from them.
        assert len(run.measurements) == sum(end <= cut for end in ends[1:-1:2])
        assert run.header == header


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(cut=st.integers(min_value=0), junk=st.binary(max_size=20))
def test_a_torn_and_overwritten_end_reads_or_is_refused_in_one_line(
    whole: Path, cut: int, junk: bytes
) -> None:
    content = whole.read_bytes()
    said = "torn"
    try:
        parse_run(content[: cut % len(content)] + junk, "torn")
    except UserError as error:
        said = str(error)
    assert said.startswith("torn")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"hello\nworld\n", "is not a tierscope run file"),
        (b'{"a": 1}', "is not a tierscope run file"),
        (b"\x00\xff", "is not a tierscope run file"),
    ],
)
def test_what_is_no_run_file_is_refused(content: bytes, says: str) -> None:
    with pytest.raises(UserError, match=says):
        parse_run(content, "x.jsonl")


def test_a_cut_inside_the_header_says_so(whole: Path) -> None:
    with pytest.raises(UserError, match="cut inside its header"):
        parse_run(whole.read_bytes()[:300], "x")


@pytest.mark.parametrize("version", [1, 2, 9])
def test_a_file_of_another_version_says_who_wrote_it(whole: Path, version: int) -> None:
    content = whole.read_bytes().replace(b'"version":4', b'"version":%d' % version, 1)
    wrote = rb'"tierscope":"0.0.9"'
    content = re.sub(rb'"tierscope":"[^"]*"', wrote, content, count=1)
    says = f"x: tierscope 0.0.9 wrote this run file of version {version}; this one reads version 4"
    for file in (resealed(content), without_seals(content)):
        with pytest.raises(UserError, match=says):
            parse_run(file, "x")


def test_damage_before_the_end_names_the_line(whole: Path) -> None:
    lines = whole.read_bytes().split(b"\n")
    lines[2] = lines[2][:50]
    with pytest.raises(UserError, match="x:3: the run file is damaged here"):
        parse_run(b"\n".join(lines), "x")


def test_a_cut_file_s_repetitions_are_concluded_as_they_would_have_been(
    whole: Path, records: list[Measurement]
) -> None:
    lines = whole.read_bytes().splitlines(keepends=True)
    cut = parse_run(
        b"".join(lines[:4]), "x"
    )  # a repetition, its measurement, and another repetition
    assert [m.id for m in cut.measurements] == [m.id for m in records[:2]]
    assert cut.measurements[1].samples == records[1].samples
    assert cut.measurements[1].estimate == records[1].estimate
    assert cut.footer is None


def test_a_later_measurement_takes_the_place_of_an_earlier_one(
    whole: Path, records: list[Measurement]
) -> None:
    better = synthetic.changed(records[1], estimate=15e9, ci_low=14e9, ci_high=16e9)
    lines = whole.read_bytes().splitlines()
    lines.insert(-1, better.model_dump_json().encode())
    run = parse_run(resealed(b"\n".join(lines)), "x")
    assert [m.id for m in run.measurements] == [m.id for m in records]
    assert run.measurements[1].estimate == 15e9


def test_the_last_footer_counts(whole: Path) -> None:
    content = whole.read_bytes()
    footer = Footer(finished="now", interrupted=True, measured=4, skipped=0, failed=0)
    run = parse_run(resealed(content + footer.model_dump_json().encode()), "x")
    assert run.footer == footer


def test_what_follows_a_footer_makes_a_run_cut_again(whole: Path) -> None:
    content = whole.read_bytes()
    run = parse_run(resealed(content + content.splitlines(keepends=True)[1]), "x")
    assert run.footer is None


def test_a_damaged_repetition_is_named_where_it_is_needed(whole: Path) -> None:
    lines = whole.read_bytes().splitlines()
    broken = lines[3].replace(b'"durations":[', b'"durations":[true,')
    with pytest.raises(UserError, match="x:4: the run file is damaged here"):
        parse_run(resealed(b"\n".join([*lines[:3], broken])), "x")


def test_a_limit_gives_an_efficiency(plan: Plan) -> None:
    spec = plan.measurements[0]
    limit = Limit(value=100e9, unit="B/s", link="a link", formula="f", source="s")
    measured = measurement_of(spec, [repetition_of(spec.id)], None, Bounds(limit))
    assert measured.efficiency == pytest.approx(0.14, rel=0.01)
    other = Bounds(limit.model_copy(update={"unit": "ns"}))
    assert measurement_of(spec, [repetition_of(spec.id)], None, other).efficiency is None


@pytest.mark.parametrize(
    ("last", "status", "note"),
    [
        (None, "measured", None),
        (
            Failed(id="x", cause=Cause.CRASH, reason="died"),
            "measured",
            "a further repetition failed",
        ),
        (Skipped(id="x", cause=Cause.MEMORY, reason="full"), "measured", "was skipped: full"),
        (Skipped(id="x", cause=Cause.INTERRUPTED, reason="signal"), "measured", None),
        (Failed(id="x", cause=Cause.VERIFICATION, reason="wrong"), "failed", None),
        (Failed(id="x", cause=Cause.PLACEMENT, reason="moved"), "failed", None),
    ],
)
def test_a_lost_repetition_leaves_those_before_it_unless_it_disproves_them(
    plan: Plan, last: Skipped | Failed | None, status: str, note: str | None
) -> None:
    spec = plan.measurements[0]
    record = measurement_of(spec, [repetition_of(spec.id)], last, Bounds())
    assert record.status == status
    notes = (record.evidence.notes if record.evidence else None) or []
    assert sum("further repetition" in one for one in notes) == bool(note)
    assert not note or any(note in one for one in notes)


def test_figures_of_zero_fail_a_measurement(plan: Plan) -> None:
    spec = plan.measurements[0]
    record = measurement_of(spec, [repetition_of(spec.id, scale=0.0)], None, Bounds())
    assert (record.status, record.cause) == ("failed", Cause.OTHER)
    assert "no operation ended in most samples" in record.reason


def test_json_has_the_documented_keys(whole: Path) -> None:
    document = json.loads(to_json(read_run(whole)))
    assert set(document) == {"run", "results"}
    asked = {
        "kind", "initiator", "target", "pattern", "figures", "samples", "repetitions", "n", "stop",
        "status", "cause", "reason", "evidence",
    }  # fmt: skip
    of_figures = {
        "metric", "part", "unit", "estimate", "ci_low", "ci_high", "no_interval", "unreliable",
        "limit", "efficiency", "compared",
    }  # fmt: skip
    assert all(asked <= set(result) for result in document["results"])
    assert all(
        set(one) == of_figures for result in document["results"] for one in result["figures"]
    )
    assert document["run"]["complete"] is True


def test_csv_has_a_line_for_each_measurement(whole: Path) -> None:
    content, count, problems = table_bytes([whole], "csv")
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    assert (count, problems) == (4, [])
    assert [row["operation"] for row in rows] == ["read", "read", "copy", "copy"]
    assert [row["threads"] for row in rows] == ["1", "2", "1", "2"]
    assert float(rows[0]["estimate"]) == pytest.approx(14e9, rel=0.01)


def test_two_runs_in_one_second_do_not_meet(tmp_path: Path) -> None:
    first = new_run_path("quick", tmp_path, NOW)
    first.touch()
    assert first.name == "20260105-140307-quick.jsonl"
    assert new_run_path("quick", tmp_path, NOW).name == "20260105-140307-quick-2.jsonl"


def test_a_label_cannot_leave_the_directory(tmp_path: Path) -> None:
    assert new_run_path("../../etc/x", tmp_path, NOW).parent == tmp_path


def test_runs_are_found_by_name_and_as_last(tmp_path: Path) -> None:
    path = new_run_path("quick", None, NOW)
    assert tmp_path in path.parents
    path.parent.mkdir(parents=True)
    path.touch()
    assert find_run("last") == find_run(path.stem) == find_run(path.name) == path


def test_a_run_may_be_given_its_name_and_replaces_no_file(tmp_path: Path) -> None:
    path = new_run_path("quick", tmp_path / "mine.jsonl", NOW)
    assert path == tmp_path / "mine.jsonl"
    path.touch()
    with pytest.raises(UserError, match=r"--out: '.*mine.jsonl' is there already; name another"):
        new_run_path("quick", path, NOW)


def test_an_unknown_run_names_the_directory() -> None:
    with pytest.raises(
        UserError, match=r"neither a file nor the name of a run in .*/tierscope/runs"
    ):
        find_run("nothing")


@pytest.mark.parametrize("directory", ["/proc/tierscope", "/sys/kernel/tierscope"])
def test_a_directory_that_cannot_be_written_is_refused(header: Header, directory: str) -> None:
    with pytest.raises(UserError, match=f"cannot be written to {directory}: .*--out") as caught:
        RunWriter.create(Path(directory) / "run.jsonl", header)
    assert caught.value.exit_code is ExitCode.REQUEST_WRONG


def test_an_existing_file_is_never_overwritten(tmp_path: Path, header: Header) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        RunWriter.create(path, header)
    assert path.read_text() == "mine"


def test_a_record_that_does_not_fit_leaves_those_before_it(
    tmp_path: Path, header: Header, records: list[Measurement], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "full.jsonl"
    writer = RunWriter.create(path, header)
    writer.add(records[0])
    write = os.write

    def half_then_full(descriptor: int, data: bytes) -> int:
        if len(data) < 100:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[: len(data) - 50])

    monkeypatch.setattr(os, "write", half_then_full)
    with pytest.raises(UserError, match="No space left") as caught:
        writer.add(records[1])
    monkeypatch.undo()
    writer.close()
    assert caught.value.exit_code is ExitCode.COMMAND_FAILED
    assert read_run(path).measurements == records[:1]
    assert path.read_bytes().endswith(b"\n")


@pytest.mark.parametrize(
    ("statuses", "interrupted", "code"),
    [
        (["measured"], False, ExitCode.ALL_MEASURED),
        (["measured", "skipped"], False, ExitCode.ALL_MEASURED),
        (["measured", "failed"], False, ExitCode.SOMETHING_FAILED),
        (["skipped", "failed"], False, ExitCode.SOMETHING_FAILED),
        (["skipped"], False, ExitCode.NOTHING_MEASURED),
        (["measured"], True, ExitCode.INTERRUPTED),
    ],
)
def test_exit_codes(header: Header, statuses: list[str], interrupted: bool, code: ExitCode) -> None:
    measurements = [
        Measurement.model_validate(
            {
                "id": "x", "kind": "latency", "initiator": "node:0", "target": "node:0",
                "cpus": [0], "pattern": {}, "status": status,
            }
        )
        for status in statuses
    ]  # fmt: skip
    footer = Footer(finished="", interrupted=interrupted, measured=0, skipped=0, failed=0)
    assert exit_code(Run(header=header, measurements=measurements, footer=footer)) is code


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"packages":2', '"packages":"two"', "machine"),
        ('"caches":[', '"caches":[7,', "machine"),
        ('"measurements":[]', '"measurements":7', "plan"),
    ],
)
def test_a_damaged_run_says_where(tmp_path: Path, old: str, new: str, says: str) -> None:
    header = synthetic.header().model_dump_json()
    measured = synthetic.memory_measurements(synthetic.Maker())[0].model_dump_json()
    content = f"{header}\n{measured}\n{measured}\n"
    assert old in content
    with pytest.raises(UserError, match=f"damaged.*{says}"):
        parse_run(content.replace(old, new, 1).encode(), "x")


def test_a_figure_of_zero_is_damage() -> None:
    made = synthetic.memory_measurements(synthetic.Maker())[0]
    measured = synthetic.changed(made, ci_low=0.0)
    content = f"{synthetic.header().model_dump_json()}\n{measured.model_dump_json()}\n"
    with pytest.raises(UserError, match=r"x:2: .*damaged.*ci_low is 0"):
        parse_run(content.encode(), "x")
