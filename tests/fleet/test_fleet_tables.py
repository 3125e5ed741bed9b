"""Which file and which word of the index count for a host, and in which order tables have them."""

import random
import tempfile
from pathlib import Path

import pytest
from tests import synthetic
from tests.fleet import made

from tierscope.fleet.gather import Gathered, gather
from tierscope.fleet.tables import query_fleet
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.fleet import FleetHost, FleetIndex

LOST = ("lost", "the fleet's run ended before this host told anything")
MISSING = ("failed", "its run file is missing")
CUT = ("partial", "its run file ends before its run did")
SAID = "as the index says"
WHOLE = ("measured", "")


def hosts(folder: Path) -> list[tuple[str, ...]]:
    sql = "select host, state, reason, run from hosts order by host"
    return query_fleet(str(folder), sql)[1]


def run_file(folder: Path, name: str, host: int = 0, finished: bool = True, day: int = 5) -> Path:
    members = made.measurements(random.Random(1), figures=day)
    made_run = made.run_of(
        host, members, finished=finished, started=f"2026-01-0{day}T14:00:00+00:00"
    )
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    written: Path = synthetic.write(made_run, path)
    return written


def damage(path: Path) -> None:
    path.write_text(path.read_text()[:300])


def index(folder: Path, state: str | None) -> None:
    if state is not None:
        reason = "" if state == "measured" else SAID
        one = FleetHost(host=made.name_of(0), state=state, reason=reason)
        found = FleetIndex(started="2026-01-05T14:00:00+00:00", hosts=[one])
        (folder / "fleet.json").write_text(found.model_dump_json())


@pytest.mark.parametrize(
    ("state", "absent", "cut", "whole"),
    [
        ("measured", MISSING, CUT, WHOLE),
        ("partial", MISSING, ("partial", SAID), ("partial", SAID)),
        ("failed", ("failed", SAID), ("failed", SAID), ("failed", SAID)),
        ("lost", ("lost", SAID), ("lost", SAID), ("lost", SAID)),
        ("cannot", ("cannot", SAID), ("cannot", SAID), ("cannot", SAID)),
        ("waiting", LOST, CUT, WHOLE),
        ("measuring", LOST, CUT, WHOLE),
        (None, None, CUT, WHOLE),
    ],
)
def test_the_index_knows_more_than_a_run_file_unless_that_is_missing_or_cut(
    tmp_path: Path,
    state: str | None,
    absent: tuple[str, str] | None,
    cut: tuple[str, str],
    whole: tuple[str, str],
) -> None:
    index(tmp_path, state)
    if absent:
        gather(tmp_path, tmp_path)
        assert hosts(tmp_path) == [(made.name_of(0), *absent, "")]
    name = f"hosts/{made.name_of(0)}.jsonl"
    path = tmp_path / name
    for finished, said in ((False, cut), (True, whole)):
        run_file(tmp_path, name, finished=finished)
        gather(tmp_path, tmp_path)
        assert hosts(tmp_path) == [(made.name_of(0), *said, name)]
    damage(path)
    gather(tmp_path, tmp_path)
    ((host, broken, reason, run),) = hosts(tmp_path)
    assert (host, broken, run) == (made.name_of(0), "failed", name)
    assert "cut inside its header" in reason


def found(gathered: Gathered) -> tuple[int, int, list[str], int]:
    return gathered.hosts, gathered.figures, gathered.older, len(gathered.unreadable)


def test_of_several_run_files_of_a_host_the_latest_counts(tmp_path: Path) -> None:
    """So many figures as it has days; of two of a time, the one with the last path."""
    for name, day in (("a", 2), ("c", 4), ("b", 4), ("d", 3)):
        run_file(tmp_path, f"{name}.jsonl", day=day)
    run_file(tmp_path, "other.jsonl", host=1, day=1)
    result = gather(tmp_path, tmp_path)
    assert found(result) == (2, 5, ["a.jsonl", "b.jsonl", "d.jsonl"], 0)
    assert [row[3] for row in hosts(tmp_path)] == ["c.jsonl", "other.jsonl"]


def test_a_damaged_file_counts_where_its_host_has_no_other(tmp_path: Path) -> None:
    run_file(tmp_path, "x/whole.jsonl", day=2)
    damage(run_file(tmp_path, f"{made.name_of(0)}.jsonl", day=4))
    damage(run_file(tmp_path, "alone.jsonl", host=9))
    (tmp_path / "notes.jsonl").write_text("hello\n")
    assert found(gather(tmp_path, tmp_path)) == (2, 2, [], 3)
    assert [(row[0], row[1]) for row in hosts(tmp_path)] == [
        ("alone", "failed"), (made.name_of(0), "measured")
    ]  # fmt: skip


def test_states_are_counted_the_most_frequent_first(tmp_path: Path) -> None:
    for number in range(6):
        finished = number not in (2, 4)
        run_file(tmp_path, f"{number}.jsonl", host=number, finished=finished, day=1)
    for number in (1, 3):
        damage(tmp_path / f"{number}.jsonl")
    states = gather(tmp_path, tmp_path).states
    assert [*states.items()] == [("failed", 2), ("measured", 2), ("partial", 2)]
    run_file(tmp_path, "7.jsonl", host=7, day=1)
    assert [*gather(tmp_path, tmp_path).states] == ["measured", "failed", "partial"]


def test_tables_go_where_they_are_to(tmp_path: Path) -> None:
    folder, out = tmp_path / "fleet", tmp_path / "it's here"
    run_file(folder, "a.jsonl", day=1)
    out.mkdir()
    gather(folder, out)
    assert sorted(path.name for path in out.iterdir()) == [
        "figures.parquet", "hosts.parquet", "together.parquet"
    ]  # fmt: skip
    assert [path.name for path in folder.iterdir()] == ["a.jsonl"]
    (out / "together.parquet").unlink()
    (out / "together.parquet").mkdir()
    with pytest.raises(UserError, match=r"--out \(together\.parquet\)"):
        gather(folder, out)


def test_no_room_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_file(tmp_path, "a.jsonl", day=1)
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    said = r"^the tables cannot be made: No such file .*; make room in /nowhere \(or .*and in '"
    with pytest.raises(UserError, match=said) as told:
        gather(tmp_path, tmp_path)
    assert told.value.exit_code is ExitCode.COMMAND_FAILED
