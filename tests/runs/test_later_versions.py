"""Run files of later versions: what is unknown is kept and passed on, and the rest is shown."""

import copy
import csv
import io
import json
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.runs.later import (
    CORPUS,
    MARK,
    UNKNOWN,
    file_of,
    objects_in,
    records_of,
    words_in,
)

from tierscope.cli.app import app
from tierscope.model.errors import UserError
from tierscope.model.run import Run
from tierscope.runs.export import to_json
from tierscope.runs.read import parse_readable, parse_run
from tierscope.runs.store import runs_directory

FILES = sorted(CORPUS.glob("*.jsonl"))
RULES = """\
rules:
  - "node:0 -> node:0 read: >= 1 MB/s"
"""
WORD = "tomorrows-word"
COMMANDS = [
    ["show", "x"],
    ["show", "x", "--json"],
    ["show", "x", "--csv"],
    ["list", "--json"],
    ["query", "select * exclude (samples, distributions, evidence) from figures", "--json"],
    ["query", "select * exclude (machine) from runs", "--json"],
    ["compare", "x", "x"],
    ["compare", "x", "x", "--json"],
    ["check", "x", "--expect", "rules.yaml"],
    ["export", "x", "--csv", "-"],
    ["export", "x", "--prometheus", "-"],
    ["export", "x", "--trace-events", "-"],
    ["fleet", "check", "fleet", "--expect", "rules.yaml"],
    ["report", "x", "-o", "-"],
    ["fleet", "report", "fleet", "-o", "-"],
]


@pytest.fixture(params=FILES, ids=[file.name for file in FILES])
def records(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    """Records of a real run file."""
    return records_of(request.param.read_bytes())


def with_unknown_keys(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return records with an unknown key in each of their objects."""
    found = copy.deepcopy(records)
    for record in found:
        for one in objects_in(record):
            one[MARK] = UNKNOWN
    return found


def run_of(records: list[dict[str, Any]]) -> Run:
    return parse_run(file_of(copy.deepcopy(records)), "x")


def plain(value: Any) -> Any:
    """Return a JSON value without what is unknown."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items() if key != MARK}
    return [plain(one) for one in value] if isinstance(value, list) else value


def without(key: str, value: Any) -> Any:
    """Return a JSON value without a key, wherever it is."""
    if isinstance(value, dict):
        return {name: without(key, one) for name, one in value.items() if name != key}
    return [without(key, one) for one in value] if isinstance(value, list) else value


def as_json(run: Run) -> Any:
    return json.loads(to_json(run))


def marks(value: Any) -> int:
    """Return how often the unknown key is in a value, those inside unknown values left out."""
    return json.dumps(value).count(f'"{MARK}"')


def said(words: Sequence[str], content: bytes, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a command on a run file, kept as x and gathered as a fleet of six hosts; return its
    status and what it printed."""
    data = runs_directory()
    hosts = data / "fleet" / "hosts"
    hosts.mkdir(parents=True, exist_ok=True)
    (data / "x.jsonl").write_bytes(content)
    (data / "rules.yaml").write_text(RULES)
    records = records_of(content)
    for number in range(6):
        records[0]["host"] = f"n{number}"
        (hosts / f"n{number}.jsonl").write_bytes(file_of(records))
    monkeypatch.chdir(data)
    done = CliRunner().invoke(app, words, standalone_mode=False)
    assert done.exception is None or isinstance(done.exception, UserError | SystemExit), (
        done.exception
    )
    said = f"{done.exception!r}" if done.exception else ""
    return done.return_value, said + done.output


def _cell(text: str) -> Any:
    return plain(json.loads(text)) if text.startswith(("{", "[")) else text


def told(words: Sequence[str], content: bytes, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the same, without what differs between any two calls, and what is unknown."""
    status, text = said(words, content, monkeypatch)
    if "--json" in words or "--trace-events" in words:
        return status, plain(json.loads(text))
    if text.startswith(("run,", "id,")):
        rows = csv.reader(io.StringIO(text))
        return status, [[_cell(cell) for cell in row] for row in rows]
    text = re.sub(r'(,?)"' + MARK + r'":' + re.escape(json.dumps(UNKNOWN, separators=(",", ":")))
                  + "(,?)", lambda found: "," if found[1] and found[2] else "", text)  # fmt: skip
    # A report lists whatever was observed; ids in pictures count all that were drawn.
    text = re.sub(r"clip\d+", "clip", text)
    return status, re.sub(r"(; )?of a later version \{.*?\}\]\}", "", text)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_files_of_every_version_are_read_whole(file: Path) -> None:
    run = parse_run(file.read_bytes(), file.name)
    assert run.footer
    assert run.footer.measured == len(run.measurements) > 1
    assert run.header.tierscope in file.name


def test_unknown_keys_anywhere_change_nothing_and_are_passed_on(
    records: list[dict[str, Any]],
) -> None:
    later = with_unknown_keys(records)
    shown = as_json(run_of(later))
    assert plain(shown) == as_json(run_of(records))
    header, *others = later
    del header["topology"][MARK]  # of --json's keys it is the only one that is not the record's
    kept = [header, *(one for one in others if one["record"] in ("measurement", "footer"))]
    assert marks(shown) >= sum(map(marks, kept)) > 30
    # What `bundle` packs has all of them.
    packed, problems = parse_readable(file_of(copy.deepcopy(later)), "x")
    assert not problems
    assert [record for _, record in packed] == [
        {key: value for key, value in record.items() if key not in ("line", "crc32")}
        for record in later
    ]


def test_unknown_keys_of_a_cut_run_are_read(records: list[dict[str, Any]]) -> None:
    cut = [one for one in records if one["record"] in ("header", "repetition")]
    run = run_of(with_unknown_keys(cut))
    assert plain(as_json(run)) == as_json(run_of(cut))
    assert all(one.figures for one in run.measurements)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_commands_say_the_same_of_a_file_with_unknown_keys(
    words: list[str], records: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = told(words, file_of(records), monkeypatch)
    assert told(words, file_of(with_unknown_keys(records)), monkeypatch) == before
    assert before[1]


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
).filter(lambda value: value is not None)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 1 << 32),
    key=st.text(max_size=12),
    value=_VALUES,
)
def test_any_key_and_value_in_any_object_changes_no_figure(
    seed: int, key: str, value: Any, records: list[dict[str, Any]]
) -> None:
    chosen = random.Random(seed)
    later = copy.deepcopy(records)
    record = chosen.choice(later)
    one = chosen.choice(list(objects_in(record)))
    key = f"later-{key}"
    one[key] = value
    before, after = as_json(run_of(records)), as_json(run_of(later))
    if record["record"] in ("header", "measurement", "footer"):
        assert before != after  # it is passed on
    assert without(key, after) == without(key, before)


def test_every_word_of_a_fixed_set_may_be_another_one(records: list[dict[str, Any]]) -> None:
    count = sum(len(list(words_in(record))) for record in records)
    assert count > 15
    for number in range(count):
        later = copy.deepcopy(records)
        place, key = [word for record in later for word in words_in(record)][number]
        place[key] = WORD
        assert len(run_of(later).measurements) == len(run_of(records).measurements)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_commands_show_a_file_with_unknown_words(
    words: list[str], records: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    later = copy.deepcopy(records)
    for record in later:
        for place, key in words_in(record):
            if key != "status":
                place[key] = WORD
    said(words, file_of(later), monkeypatch)


def test_what_is_unknown_is_there_after_resume(
    tmp_path: Path, fake_engine: Callable[[str], None]
) -> None:
    path = tmp_path / "x.jsonl"
    begin = CliRunner().invoke(app, ["latency", "--size", "4k..64k", "--out", str(path)])
    assert begin.exit_code == 0, begin.output
    later = with_unknown_keys(records_of(path.read_bytes())[:4])
    for spec in later[0]["plan"]["measurements"]:
        del spec[MARK]
    later.insert(3, {"record": "telemetry", "at": 1})
    before = file_of(later)
    path.write_bytes(before + b'{"record":"repet')
    done = CliRunner().invoke(app, ["run", "--resume", str(path), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["run"][MARK] == UNKNOWN
    after = path.read_bytes()
    assert after.startswith(before)
    _, problems = parse_readable(after, "x")
    assert not problems
    assert parse_run(after, "x").footer


def test_a_kind_a_status_and_a_record_that_nobody_knows(
    records: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    later = copy.deepcopy(records)
    later[0]["tierscope"] = "9.8.7"
    other = copy.deepcopy(next(one for one in later if one["record"] == "measurement"))
    other |= {"id": "teleport.a", "kind": "teleport", "pattern": {"size": 1, "shape": {"of": [1]}}}
    other["figures"][0] |= {"metric": "teleported", "unit": "B/fortnight"}
    other["evidence"] = {"cpus": [0], "portal": {"x": 1}}
    later[0]["plan"]["measurements"].append({"kind": "teleport", "id": "teleport.a", "x": 1})
    later[0]["plan"]["measurements"].append({"kind": "teleport", "id": "teleport.b", "x": 1})
    undone = other | {"id": "undone", "status": "postponed", "figures": [], "n": 0, "samples": []}
    later[-1:-1] = [other, undone, {"record": "telemetry", "at": 1, "deep": {"x": [1]}}]
    later.append({"record": "signature", "of": "x"})
    content = file_of(later)
    for words in COMMANDS:
        said(words, content, monkeypatch)
    _, table = said(["show", "x"], content, monkeypatch)
    assert "written by tierscope 9.8.7; this one does not know the kind 'teleport'" in table
    _, text = said(["show", "x", "--json"], content, monkeypatch)
    found = json.loads(text)["results"]
    assert found[-2]["evidence"]["portal"] == {"x": 1}
    assert found[-1]["status"] == "postponed"
    assert [one["id"] for one in found[:-2]] == [
        one["id"] for one in records if one["record"] == "measurement"
    ]
    _, kept = said(["list", "--json"], content, monkeypatch)
    assert json.loads(kept)["runs"][0]["state"] == "complete"
