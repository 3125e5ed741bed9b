"""Kept runs: listed, tagged, asked in SQL, exported."""

import csv
import fcntl
import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests import synthetic

from tierscope.cli.app import app
from tierscope.model.errors import UserError
from tierscope.model.run import Footer, Imported, ImportedFile
from tierscope.runs.export import prometheus_text, table_bytes
from tierscope.runs.history import Entry, entries, run_files, set_tags
from tierscope.runs.query import TABLES, query


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three runs in the user's data directory: whole, cut, and no run at all."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = tmp_path / "tierscope/runs"
    folder.mkdir(parents=True)
    maker = synthetic.Maker()
    whole = synthetic.run(synthetic.memory_measurements(maker)[:30])
    synthetic.write(whole, folder / "20260105-140307-quick.jsonl")
    later = synthetic.run(
        synthetic.latency_measurements(maker)[:7], finished=False,
        started="2026-01-06T09:00:00+01:00", host="node018",
    )  # fmt: skip
    file = synthetic.write(later, folder / "20260106-090000-quick.jsonl")
    with file.open("a") as torn:
        torn.write('{"record":"measur')
    (folder / "20260107-000000-broken.jsonl").write_text("no run\n")
    os.utime(folder / "20260107-000000-broken.jsonl", (0, 0))
    return folder


def do(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def test_the_list_says_which_runs_came_to_their_end(kept: Path) -> None:
    done = do("list", "--json")
    found = {entry["name"]: entry for entry in json.loads(done.stdout)["runs"]}
    assert [entry["state"] for entry in found.values()] == ["unreadable", "complete", "cut"]
    assert found["20260105-140307-quick"]["measured"] == 30
    assert found["20260106-090000-quick"]["measured"] is None
    text = do("list").stdout
    assert "30 of 30" in text
    assert all(len(line) <= 100 for line in text.splitlines())


def test_tags_name_runs(kept: Path) -> None:
    assert do("tag", "20260105-140307-quick", "golden", "idle").exit_code == 0
    assert "20260105-140307-quick" in do("show", "golden").stdout
    assert [
        e["name"] for e in json.loads(do("list", "--tag", "idle", "--json").stdout)["runs"]
    ] == ["20260105-140307-quick"]
    assert do("tag", "golden", "--remove", "idle").stdout == "20260105-140307-quick: golden\n"
    assert (kept / "20260105-140307-quick.tags").read_text() == "golden\n"


def test_a_tag_stays_with_runs_that_can_be_compared(kept: Path) -> None:
    whole, other = "20260105-140307-quick", "20260106-090000-quick"
    assert do("tag", whole, "golden").exit_code == 0
    refused = do("tag", other, "golden").exception
    assert isinstance(refused, UserError)
    assert f"'golden' names run {whole}, which has no measurement in common" in str(refused)
    assert do("tag", other, "unlike").exit_code == 0
    synthetic.write(synthetic.run(synthetic.memory_measurements(synthetic.Maker())[:30]),
                    kept / "20260108-090000-quick.jsonl")  # fmt: skip
    assert do("tag", "20260108-090000-quick", "golden").exit_code == 0


def test_the_last_run_is_the_newest_one_with_a_figure(kept: Path) -> None:
    one = synthetic.memory_measurements(synthetic.Maker())[0]
    skipped = one.model_copy(update={"status": "skipped", "figures": [], "samples": [], "n": 0})
    empty = synthetic.write(synthetic.run([skipped]), kept / "20260109-090000-quick.jsonl")
    assert "20260106-090000-quick" in do("tag", "last", "cut").stdout
    for path in kept.glob("*.jsonl"):
        if path != empty:
            path.unlink()
    assert "20260109-090000-quick" in do("tag", "last", "empty").stdout


@pytest.mark.parametrize("tag", ["a b", "last", "../x", "", "x" * 41])
def test_a_tag_that_is_none(kept: Path, tag: str) -> None:
    assert isinstance(do("tag", "last", tag).exception, UserError)


def test_a_tag_that_is_not_there_cannot_go(kept: Path) -> None:
    assert "has no tag 'x'" in str(do("tag", "last", "--remove", "x").exception)


def test_sql_over_all_runs(kept: Path) -> None:
    done = do(
        "query",
        "select r.host, m.kind, count(*) as n, max(m.estimate) > 1e9 as fast from measurements m "
        "join runs r on m.run = r.name group by all order by host",
        "--json",
    )
    assert json.loads(done.stdout)["rows"] == [
        {"host": "node017", "kind": "bandwidth", "n": 30, "fast": True},
        {"host": "node018", "kind": "latency", "n": 7, "fast": False},
    ]
    assert "20260107-000000-broken" in done.stderr


def test_properties_that_have_no_column_are_asked_as_json(kept: Path) -> None:
    done = do("query", "select distinct pattern->>'stride' as stride from measurements "
                       "where kind = 'latency'", "--csv")  # fmt: skip
    assert done.stdout == "stride\n256\n"


def test_times_are_utc(kept: Path) -> None:
    done = do("query", "select started from runs where host = 'node018'", "--csv")
    assert done.stdout == "started\n2026-01-06 08:00:00\n"


@pytest.mark.parametrize("table", TABLES)
def test_the_help_s_columns_are_there(kept: Path, table: str) -> None:
    rows = json.loads(do("query", f"describe {table}", "--json").stdout)["rows"]
    assert {row["column_name"] for row in rows} == set(TABLES[table])


@pytest.mark.parametrize(
    "sql", ["selec", "select nothing from runs", "copy runs to '{}/x.csv'",
            "select * from read_text('/etc/passwd')", "install httpfs", "", "select 1; select 2",
            "drop table runs", "delete from measurements"],
)  # fmt: skip
def test_a_query_that_fails_is_one_line_and_reaches_no_file(
    kept: Path, tmp_path: Path, sql: str
) -> None:
    done = do("query", sql.format(tmp_path))
    assert isinstance(done.exception, UserError)
    assert "the query failed" in str(done.exception)
    assert "\n" not in str(done.exception)
    assert not (tmp_path / "x.csv").exists()


def test_no_runs_at_all(tmp_path: Path) -> None:
    assert "no runs" in do("list").stdout
    assert do("query", "select count(*) as n from runs", "--csv").stdout == "n\n0\n"


def test_parquet_and_csv_have_every_measurement(kept: Path, tmp_path: Path) -> None:
    import duckdb

    table, text = tmp_path / "all.parquet", tmp_path / "all.csv"
    done = do("export", "--all", "--parquet", str(table), "--csv", str(text))
    assert done.exit_code == 0, done.output
    found = duckdb.connect().execute(
        f"select count(*), sum(len(samples)), count(distinct host) from '{table}'"
    )
    assert found.fetchone() == (37, 37 * 40, 2)
    rows = list(csv.DictReader(text.open()))
    assert len(rows) == 37
    assert len(rows[0]["samples"].split()) == 40


def test_an_apostrophe_in_a_file_s_name_is_only_that(kept: Path, tmp_path: Path) -> None:
    target = tmp_path / "it's.parquet"
    assert do("export", "20260105-140307-quick", "--parquet", str(target)).exit_code == 0
    assert target.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "say what to write"),
        (["--all", "last", "--csv", "x"], "not both"),
        (["--all", "--prometheus", "x"], "takes one run"),
        (["--parquet=/no/such/place/x"], "cannot be written"),
        (["--prometheus", "/no/such/place/x"], "cannot be written"),
    ],
)
def test_an_export_that_cannot_be(kept: Path, arguments: list[str], said: str) -> None:
    assert said in str(do("export", *arguments).exception)


SAMPLE = re.compile(r'[a-z_]+(\{([a-zA-Z_][a-zA-Z0-9_]*="([^"\\\n]|\\["\\n])*",?)*\})? [-+0-9.e]+')


def test_prometheus_text_is_what_the_collector_reads(kept: Path, tmp_path: Path) -> None:
    target = tmp_path / "tierscope.prom"
    assert do("export", "20260106-090000-quick", "--prometheus", str(target)).exit_code == 0
    lines = target.read_text().splitlines()
    assert all(line.startswith("# ") or SAMPLE.fullmatch(line) for line in lines)
    assert any(line.startswith("tierscope_latency_seconds{") for line in lines)
    assert "tierscope_run_complete 0" in lines
    helped = [line.split()[2] for line in lines if line.startswith("# HELP")]
    assert len(helped) == len(set(helped))
    assert stat.S_IMODE(target.stat().st_mode) == 0o644
    assert list(tmp_path.glob(".tierscope-*")) == []


def test_no_two_series_have_the_same_labels() -> None:
    maker = synthetic.Maker()
    alike = [maker.make("latency", "node:0", "node:0", {"delay_ns": None}, 90.0, "ns")
             for _ in range(3)]  # fmt: skip
    lines = prometheus_text(synthetic.run(alike, synthetic.gpu_measurements(maker))).splitlines()
    series = [line.rpartition(" ")[0] for line in lines if not line.startswith("#")]
    assert len(series) == len(set(series))
    assert sum("repeat=" in line for line in series) == 2 * 3
    assert not any("None" in line for line in series)


def test_units_stand_last_in_names() -> None:
    lines = prometheus_text(synthetic.full()).splitlines()
    names = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert "tierscope_bandwidth_ci_low_bytes_per_second" in names
    assert all(name.endswith(("_seconds", "_per_second", "_ratio", "_complete", "_info"))
               for name in names)  # fmt: skip


def test_a_measurement_of_very_many_samples_is_asked_for(tmp_path: Path) -> None:
    pattern = {"order": "random", "stride": 256, "size": 1 << 30, "pages": "thp"}
    made = synthetic.Maker(n=60_000).make("latency", "node:0", "node:0", pattern, 110.0, "ns")
    file = synthetic.write(synthetic.run([made]), tmp_path / "long.jsonl")
    assert file.stat().st_size > 1 << 20
    assert query([file], "select len(samples) from measurements")[1] == [(60_000,)]


def test_tables_are_made_in_little_memory(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import duckdb

    connect = duckdb.connect

    def with_little(name: str, config: dict[str, str]) -> Any:
        return connect(name, config={**config, "memory_limit": "100MB", "threads": "2"})

    monkeypatch.setattr(duckdb, "connect", with_little)
    assert table_bytes(list(kept.glob("2026010[56]*")), "parquet")[1] == 37


def test_prometheus_labels_hold_any_text() -> None:
    nasty = 'a"b\\c\nd'
    made = synthetic.Maker().make("bandwidth", nasty, nasty, {"x-y": nasty}, 1e9)
    lines = prometheus_text(synthetic.run([made])).splitlines()
    assert all(line.startswith("# ") or SAMPLE.fullmatch(line) for line in lines)


def test_a_query_s_json_has_no_nan_and_loses_no_column(kept: Path) -> None:
    done = do("query", "select 'nan'::double as x, ['inf'::double] as y", "--json")
    assert json.loads(done.stdout) == {"rows": [{"x": None, "y": [None]}]}
    done = do("query", "select 1 as a, 2 as a", "--json")
    assert "two columns are called 'a'" in str(done.exception)


def footer(measured: int = 0, skipped: int = 0, failed: int = 0, **more: Any) -> Footer:
    counts = {"measured": measured, "skipped": skipped, "failed": failed}
    values = {"finished": "x", "interrupted": False, **counts, **more}
    return Footer.model_validate(values)


def entry(file: Path) -> Entry:
    (found,) = [one for one in entries(file.parent) if one.path == str(file)]
    return found


def with_lines(file: Path, *lines: str) -> Path:
    with file.open("a") as end:
        end.writelines(f"{line}\n" for line in lines)
    return file


def test_an_entry_is_what_the_two_ends_of_a_file_tell(tmp_path: Path) -> None:
    imported = Imported(
        format="f", program="other 2", files=[ImportedFile(name="x", sha256="0" * 64)]
    )
    run = synthetic.run([], imported=imported, emulated=True, plan={"measurements": [{"id": "a"}]})
    file = synthetic.write(run, tmp_path / "one.jsonl")
    set_tags(file, ["t"], [])
    assert entry(file) == Entry(
        name="one", path=str(file), tags=["t"], host="node017", cpu="Example 9000",
        started="2026-01-05T14:03:07+00:00", emulated=True, imported="other 2", planned=1,
        measured=0, state="complete",
    )  # fmt: skip
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert entry(file).state == "complete", "an editor wrote its mark before the header"
    file.write_text("no run\n")
    assert entry(file).model_dump(exclude={"path", "tags"}) == {
        "name": "one", "host": "", "cpu": "", "started": "", "emulated": False, "imported": "",
        "planned": 0, "measured": None, "state": "unreadable",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "state", "measured", "planned"),
    [
        ([], "cut", None, 3),
        ([footer(1, 1)], "complete", 1, 3),
        ([footer(2, 3, 4)], "complete", 2, 9),
        ([footer(2, interrupted=True)], "interrupted", 2, 3),
        ([footer(1), footer(2)], "complete", 2, 3),
        ([footer(1), '{"record":"later","x":1}'], "complete", 1, 3),
        ([footer(1), '{"record":"later","x":1}', ""], "complete", 1, 3),
        ([footer(1), '{"record":"measur'], "cut", None, 3),
        ([footer(1), synthetic.Maker().make("latency", "node:0", "node:0", {}, 9.0, "ns")], "cut",
         None, 3),
        # What is before a footer may be longer than what is read of a file's end.
        (["x" * 9000, footer(1)], "complete", 1, 3),
        ([footer(1), f'{{"record":"later","x":"{"x" * 9000}"}}'], "cut", None, 3),
    ],
)  # fmt: skip
def test_the_last_record_says_how_a_run_ended(
    tmp_path: Path, lines: list[Any], state: str, measured: int | None, planned: int
) -> None:
    plan = {"measurements": [{"id": name} for name in "abc"]}
    file = synthetic.write(synthetic.run([], finished=False, plan=plan), tmp_path / "r.jsonl")
    with_lines(file, *(one if isinstance(one, str) else one.model_dump_json() for one in lines))
    found = entry(file)
    assert (found.state, found.measured, found.planned) == (state, measured, planned)


def test_runs_are_listed_by_time_and_name(tmp_path: Path) -> None:
    for name, hour in (("c", 1), ("b", 3), ("a", 3), ("d", 2)):
        run = synthetic.run([], started=f"2026-01-05T0{hour}:00:00+00:00")
        synthetic.write(run, tmp_path / f"{name}.jsonl")
    (tmp_path / "e.jsonl").mkdir()
    (tmp_path / "f.json").touch()
    assert [one.name for one in entries(tmp_path)] == ["c", "d", "a", "b"]
    assert [path.name for path in run_files(tmp_path)] == [f"{name}.jsonl" for name in "abcd"]


def test_a_folder_of_runs_that_is_none_or_closed(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(run_files()) == 3
    with pytest.raises(UserError, match=r"^--in: '.*none' is not a directory$"):
        run_files(tmp_path / "none")
    monkeypatch.setattr(os, "access", lambda _path, how: how != os.R_OK | os.X_OK)
    with pytest.raises(UserError, match=r"^the directory '.*runs' cannot be read; name another"):
        run_files()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "new"))
    assert run_files() == []


def test_tags_are_a_list_in_which_each_is_once(tmp_path: Path) -> None:
    run, file = tmp_path / "r.jsonl", tmp_path / "r.tags"
    assert set_tags(run, [], []) == []
    assert not file.exists()
    assert set_tags(run, ["b", "a", "b", "x" * 40], []) == ["b", "a", "x" * 40]
    assert set_tags(run, ["c", "a"], ["b", "x" * 40]) == ["a", "c"]
    assert file.read_text() == "a\nc\n"
    assert set_tags(run, [], []) == ["a", "c"]
    with pytest.raises(UserError, match=r"^run 'r' has no tag 'b'; it has a, c$"):
        set_tags(run, ["d"], ["b"])
    assert file.read_text() == "a\nc\n"
    assert set_tags(run, ["c"], ["a", "c"]) == []
    assert not file.exists()
    with pytest.raises(UserError, match=r"^run 'r' has no tag 'b'; it has none$"):
        set_tags(run, [], ["b"])


@pytest.mark.parametrize(("others", "found"), [(None, ["mine"]), ("theirs\n", ["theirs", "mine"])])
def test_tags_that_others_change_meanwhile_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: str | None, found: list[str]
) -> None:
    """The file goes, or another one comes, just before it is locked: the new one is locked too."""
    run, file = tmp_path / "r.jsonl", tmp_path / "r.tags"
    file.write_text("old\n")
    lock = fcntl.flock
    locked: list[int] = []

    def changed_before(descriptor: int, how: int) -> None:
        locked.append(how)
        if len(locked) == 1:
            file.unlink()
            if others:
                file.write_text(others)
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", changed_before)
    assert set_tags(run, ["mine"], []) == found
    assert locked == [fcntl.LOCK_EX] * 2


def test_tags_that_cannot_be_written_are_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"/none/r\.tags cannot be written: No such file"):
        set_tags(tmp_path / "none/r.jsonl", ["a"], [])
