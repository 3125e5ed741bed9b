"""Files that say what data sheets promise of drives."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import synthetic

from tierscope.model.errors import UserError
from tierscope.model.rating import RatedDrive
from tierscope.model.topology import Topology
from tierscope.plans.rated import parse_rated, read_rated, with_ratings_of
from tierscope.plans.request import Request
from tierscope.runs import resume
from tierscope.runs.state import RunState

EXAMPLE = """\
# from the makers' data sheets
SAMSUNG MZQL23T8HCLS-*:
  read: 6.8 GB/s
  write: 4000 MB/s
  read_iops: 1M
  write_iops: 180k
"Seagate #3":
  {"read": "210MB/s"}
"""


def test_each_model_has_its_ratings_in_decimal_units(tmp_path: Path) -> None:
    file = tmp_path / "rated.yaml"
    file.write_text(EXAMPLE)
    assert read_rated(file) == (
        RatedDrive(model="SAMSUNG MZQL23T8HCLS-*", read=6.8e9, write=4e9, read_iops=1e6,
                   write_iops=180e3, source=f"{file}:2"),
        RatedDrive(model="Seagate #3", read=210e6, source=f"{file}:7"),
    )  # fmt: skip


def test_json_is_read_too() -> None:
    (found,) = parse_rated('{"X 1": {"read": "5 GB/s", "read_iops": 95000}}', "r.json")
    assert found == RatedDrive(model="X 1", read=5e9, read_iops=95e3, source="r.json:1")


def test_a_machine_gets_what_its_requests_name_once(tmp_path: Path, machine: Topology) -> None:
    file = tmp_path / "rated.yaml"
    file.write_text(EXAMPLE)
    request = Request(kind="io", options={"rated": str(file)})
    assert with_ratings_of(machine, [Request(kind="io", options={})]) == machine
    found = with_ratings_of(machine, [request, request]).ratings
    assert [drive.model for drive in found] == ["SAMSUNG MZQL23T8HCLS-*", "Seagate #3"]


def test_a_run_that_goes_on_keeps_its_ratings(
    machine: Topology, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (drive,) = parse_rated("X: {read: 1 GB/s}", "r")
    rated = machine.model_copy(update={"ratings": [drive]})
    header = synthetic.header(host=machine.host, topology=rated)
    seen = []
    monkeypatch.setattr(resume, "check_machine", lambda *_: None)
    monkeypatch.setattr(resume, "capabilities", lambda: None)
    monkeypatch.setattr(resume.RunWriter, "resume", lambda *_: None)
    monkeypatch.setattr(resume, "carry_on", lambda *arguments: seen.append(arguments[3]))
    resume.resume(
        resume.Resumable(tmp_path, header, RunState([]), 0, None), machine, lambda _: None
    )
    assert seen == [rated]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "r:1: the file is empty"),
        ("- a", "r:1: has to be a mapping from drive models"),
        ("X: 5", "r:1: drive model 'X' has to be a mapping with the keys read, write, "),
        ("X: {}", "r:1: drive model 'X' has no ratings"),
        ("X:\n  reed: 5 GB/s", "r:2: unknown key 'reed' in drive model 'X'; did you mean 'read'?"),
        ("X:\n  read: 5", "r:2: key 'read': '5' is not a rate such as 6.8 GB/s or 550 MB/s"),
        ("X:\n  read: 5 GiB/s", "r:2: key 'read': '5 GiB/s' is not a rate"),
        ("X:\n  read: 0 GB/s", "r:2: key 'read': '0 GB/s' is not a rate"),
        ("X:\n  read_iops: 1M/s", "r:2: key 'read_iops': '1M/s' is not a number of operations"),
        ("X:\n  read_iops: 9" + "0" * 400, "r:2: key 'read_iops': '9000"),
        ("X:\n  read:", "r:2: key 'read' has no value"),
        ("X: {read: 1 GB/s}\nX: {read: 2 GB/s}", "r:2: drive model 'X' is given twice"),
        ("X: [", "r:1: not valid YAML"),
    ],
)
def test_what_is_wrong_is_named_with_its_line_and_key(text: str, message: str) -> None:
    with pytest.raises(UserError, match=f"^{re.escape(message)}") as caught:
        parse_rated(text, "r")
    assert "\n" not in str(caught.value)


@given(st.text(alphabet="ab:{}[]\"'\n -#&*|>?!%@`0159.GMkB/s\0\u0085\ud7ff", max_size=60))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    said = ""
    try:
        assert all(drive.model for drive in parse_rated(text, "r"))
    except UserError as error:
        said = str(error)
    assert "\n" not in said
