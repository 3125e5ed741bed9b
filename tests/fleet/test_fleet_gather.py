"""A fleet's run files as tables: joined, asked in SQL, judged."""

import json
import random
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests import synthetic
from tests.fleet import made

from tierscope.cli.app import app
from tierscope.fleet.gather import gather
from tierscope.fleet.groups import expand
from tierscope.fleet.index import read_index
from tierscope.fleet.tables import COLUMNS, query_fleet
from tierscope.model.errors import UserError
from tierscope.model.event import Evidence
from tierscope.model.fleet import ClockOffset, FleetHost, FleetIndex, FleetJob
from tierscope.model.run import Measurement
from tierscope.runs.export import table_bytes


def do(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(one) for one in arguments], standalone_mode=False)


def rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    return query_fleet(str(folder), sql)[1]


def host_of(folder: Path, number: int) -> tuple[Any, ...]:
    sql = f"select state, reason, measured from hosts where host = '{made.name_of(number)}'"
    (found,) = rows(folder, sql)
    return found


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 hosts: 3 and 7 are slow everywhere, 9 on one path; what differs in them is known."""
    folder = tmp_path_factory.mktemp("slow")
    made.fleet(folder, 60)
    source = random.Random(1)
    for number, changes in {
        3: {"environment": {"governor": "powersave"}},
        7: {"environment": {"power-cap": "package-0 150 W"}},
        9: {},
        11: {"environment": {"kernel": "Linux 6.13.0"}},
    }.items():
        by = 0.1 if number in (3, 7) else 0.0
        found = made.measurements(source, by)
        if number == 9:
            found[0] = _slower(found[0], 0.9)
        if number == 7:
            found = [one.model_copy(update={"evidence": _disturbed()}) for one in found]
        made.write(folder, made.run_of(number, found, **changes))
    assert do("fleet", "gather", folder).return_value in (0, None)
    return folder


def _slower(one: Measurement, factor: float) -> Measurement:
    values = {key: getattr(one, key) * factor for key in ("estimate", "ci_low", "ci_high")}
    return synthetic.changed(one, **values, samples=[value * factor for value in one.samples])


def _disturbed() -> Evidence:
    return Evidence(disturbed=10, replaced=0, steal_share=0.2)


def test_tables_have_every_figure_of_every_host(tmp_path: Path) -> None:
    import duckdb

    made.fleet(tmp_path, 5)
    done = do("fleet", "gather", tmp_path, "--json")
    assert done.return_value in (0, None), done.output
    assert json.loads(done.stdout) == {
        "hosts": 5, "figures": 40, "states": {"measured": 5}, "unreadable": [], "older": [],
        "together": [],
    }  # fmt: skip
    for name, columns in COLUMNS.items():
        listed = rows(tmp_path, f"describe {name}")
        assert [row[0] for row in listed] == list(columns)
    one = tmp_path / "hosts" / f"{made.name_of(2)}.jsonl"
    content, _, _ = table_bytes([one], "parquet")
    (tmp_path / "one.parquet").write_bytes(content)
    # The text of JSON differs in the order of keys.
    same = [name for name, kind in COLUMNS["figures"].items() if name != "run" and kind != "JSON"]
    listed = ", ".join(same)
    exported = duckdb.sql(f"select {listed} from '{tmp_path / 'one.parquet'}' order by number")
    sql = f"select {listed} from figures where host = '{made.name_of(2)}' order by number"
    assert rows(tmp_path, sql) == exported.fetchall()


def test_whatever_is_there_is_joined(tmp_path: Path) -> None:
    """Copied together without an index: cut in a row, cut in the header, damaged, no run, twice."""
    made.fleet(tmp_path, 6)
    hosts = tmp_path / "hosts"
    whole = (hosts / f"{made.name_of(1)}.jsonl").read_text()
    lines = whole.splitlines(keepends=True)
    (hosts / f"{made.name_of(1)}.jsonl").write_text("".join(lines[:4]) + lines[4][:50])
    (hosts / f"{made.name_of(2)}.jsonl").write_text(whole[:100])
    (hosts / f"{made.name_of(3)}.jsonl").write_text(lines[0] + "rubbish\n" + lines[1])
    (hosts / "notes.jsonl").write_text("hello\n")
    found = made.measurements(random.Random(3))
    again = made.run_of(4, found[:3], started="2026-02-01T00:00:00+00:00")
    (tmp_path / "later").mkdir()
    synthetic.write(again, tmp_path / "later" / "again.jsonl")
    done = do("fleet", "gather", tmp_path)
    assert done.return_value in (0, None), done.output
    assert "6 hosts: 3 measured, 2 failed, 1 partial; 22 figures" in done.stdout
    for name in (made.name_of(2), made.name_of(3), "notes", made.name_of(4)):
        assert f"{name}.jsonl" in done.stderr
    assert done.stderr.count("left out") == 4
    state, reason, _ = host_of(tmp_path, 3)
    assert state == "failed"
    assert "node00003.jsonl:2: the run file is damaged here" in reason
    assert do("fleet", "check", tmp_path).return_value == 3
    assert host_of(tmp_path, 1) == ("partial", "its run file ends before its run did", 3)
    assert rows(tmp_path, "select run from hosts where host = 'node00004'") == [
        ("later/again.jsonl",)
    ]


def test_the_index_says_what_became_of_hosts(tmp_path: Path) -> None:
    made.fleet(tmp_path, 3)
    clock = ClockOffset(offset_ns=-3, low_ns=-9, high_ns=3, round_trip_ns=12, round_trips=100)
    states = [
        FleetHost(host=made.name_of(0), rank=0, state="measured", rack="r1", clock=clock),
        FleetHost(host=made.name_of(1), rank=1, state="lost", reason="its rank died", rack="r1"),
        FleetHost(host=made.name_of(2), rank=2, state="measuring"),
        FleetHost(host=made.name_of(3), rank=3, state="cannot", reason="it has no node:1"),
        FleetHost(host=made.name_of(4), rank=4, state="waiting"),
    ]
    index = FleetIndex(started="2026-01-05T14:00:00+00:00", hosts=states)
    (tmp_path / "fleet.json").write_text(index.model_dump_json())
    gather(tmp_path, tmp_path)
    asked = rows(tmp_path, "select state, reason, rack, clock_low_ns from hosts order by host")
    assert asked[:4] == [
        ("measured", "", "r1", -9), ("lost", "its rank died", "r1", None),
        ("measured", "", None, None), ("cannot", "it has no node:1", None, None),
    ]  # fmt: skip
    assert asked[4][0] == "lost"
    done = do("fleet", "check", tmp_path)
    assert done.return_value == 3
    assert "it has no node:1" in done.stdout
    drained = do("fleet", "check", tmp_path, "--drain")
    assert drained.stdout == ""
    for host in ("node00001 (not judged: lost: its rank died)", "node00003 (not judged: cannot: "):
        assert host in drained.stderr
    assert "node00004 (not judged: lost: the fleet?s run ended before" in drained.stderr


def test_what_the_index_calls_measured_needs_a_whole_run_file(tmp_path: Path) -> None:
    made.fleet(tmp_path, 4)
    (tmp_path / "hosts" / f"{made.name_of(1)}.jsonl").unlink()
    (tmp_path / "hosts" / f"{made.name_of(2)}.jsonl").write_bytes(b"\x00\xff")
    cut = tmp_path / "hosts" / f"{made.name_of(3)}.jsonl"
    cut.write_bytes(b"".join(cut.read_bytes().splitlines(keepends=True)[:-1]))
    (tmp_path / "hosts" / "notes.jsonl").write_text("no host's\n")
    states = [FleetHost(host=made.name_of(number), state="measured") for number in range(4)]
    index = FleetIndex(started="2026-01-05T14:00:00+00:00", hosts=states)
    (tmp_path / "fleet.json").write_text(index.model_dump_json())
    found = gather(tmp_path, tmp_path)
    assert (found.hosts, found.states) == (4, {"failed": 2, "measured": 1, "partial": 1})
    assert len(found.unreadable) == 2
    assert host_of(tmp_path, 1) == ("failed", "its run file is missing", None)
    assert "is not a tierscope run file" in host_of(tmp_path, 2)[1]
    assert host_of(tmp_path, 3)[:2] == ("partial", "its run file ends before its run did")


def test_an_index_is_read_host_by_host(tmp_path: Path) -> None:
    names = [f'"hosts": [{{node{number}\\' for number in range(2000)]
    states = [FleetHost(host=name, state="lost", reason="]") for name in names]
    job = {"started": "2026-01-05T14:00:00+00:00", "command": ['"hosts": [', "x" * 100_000]}
    index = FleetIndex(**job, hosts=states).model_dump(mode="json")
    reordered = {key: index[key] for key in ("hosts", *index)}
    for text in (json.dumps(index), json.dumps(reordered, indent=3)):
        (tmp_path / "fleet.json").write_text(text)
        found: list[str] = []
        read = read_index(tmp_path, lambda host, found=found: found.append(host.host))
        assert read == FleetJob(**job)
        assert found == names


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"version": 1}', "started: Field required"),
        ('{"started": "2026-01-05T14:00:00+00:00", "hosts": []}', "hosts: List should have"),
        ('{"hosts": [{"host": "a", "state": "lost"}]}', "started: Field required"),
        ('{"hosts": [{"host": "a"}]}', "state: Field required"),
        ('{"hosts": [{"host": "a", "state": "lost"}', "Expecting"),
        ("", "Expecting value"),
    ],
)
def test_an_index_that_is_none_is_named(text: str, said: str, tmp_path: Path) -> None:
    made.fleet(tmp_path, 1)
    (tmp_path / "fleet.json").write_text(text)
    error = do("fleet", "gather", tmp_path).exception
    assert isinstance(error, UserError)
    assert f"is not an index of a fleet ({said}" in str(error)
    assert "\n" not in str(error)


def test_rows_of_any_length_are_joined(tmp_path: Path) -> None:
    """A row of many samples is longer than what is read at once of other rows."""
    made.fleet(tmp_path, 30)
    (one,) = made.measurements(random.Random(1), figures=1)
    source = random.Random(3)
    many = [one.estimate * source.uniform(0.9, 1.1) for _ in range(20_000)]
    for number in (7, 8):
        changed = [one.model_copy(update={"samples": many, "n": len(many)})] * 10
        made.write(tmp_path, made.run_of(number, _numbered(changed)))
    assert gather(tmp_path, tmp_path).figures == 28 * 8 + 2 * 10
    sql = "select count(*), sum(len(samples)) from figures where n = 20000"
    assert rows(tmp_path, sql) == [(20, 20 * 20_000)]


def _numbered(found: list[Measurement]) -> list[Measurement]:
    return [one.model_copy(update={"id": f"b.{number}"}) for number, one in enumerate(found)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("fleet gather nowhere", "is not a directory"),
        ("fleet gather empty", "has neither run files"),
        ("fleet gather none", "none' has no run file"),
        ("fleet gather made --out nowhere", "there is no such directory"),
        ("fleet check nowhere", "is not a directory"),
        ("fleet check made --minimum 3", "did you mean '3%'?"),
        ("fleet check made --by rack", "no host of this fleet is in one"),
        ("fleet check made --by nowhere.csv", "cannot be read"),
        ("fleet check made --drain --json", "--drain prints commands only"),
        ("fleet check made --expect nowhere.yaml", "cannot be read"),
    ],
)
def test_what_is_wrong_is_one_line(
    words: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "none").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "none/notes.jsonl").write_text("hello\n")
    if " made" in words:
        made.fleet(tmp_path / "made", 2)
    error = do(*words.split()).exception
    assert isinstance(error, UserError), error
    assert said in str(error)
    assert "\n" not in str(error)


def test_sql_over_a_fleet(slow: Path) -> None:
    sql = "select governor, count(*) as n from hosts group by all order by n"
    done = do("query", sql, "--in", slow, "--csv")
    assert done.stdout == "governor,n\npowersave,1\nperformance,59\n"
    for reaching in ("select * from read_text('/etc/passwd')", "copy hosts to 'x.csv'"):
        assert "the query failed" in str(do("query", reaching, "--in", slow).exception)


def test_several_nights_are_asked_at_once(tmp_path: Path) -> None:
    for night in ("05", "06"):
        made.fleet(tmp_path / night, 2)
        gather(tmp_path / night, tmp_path / night)
    sql = "select host, count(*) as n from figures group by all order by all"
    done = do("query", sql, "--in", tmp_path / "*", "--csv")
    assert done.stdout == "host,n\nnode00000,16\nnode00001,16\n"
    (tmp_path / "07").mkdir()
    refused = do("query", "from hosts", "--in", tmp_path / "*").exception
    assert isinstance(refused, UserError)


def test_slow_hosts_are_named_with_what_differs_in_them(slow: Path) -> None:
    done = do("fleet", "check", slow, "--json")
    assert done.return_value == 1
    found = json.loads(done.stdout)
    named = {one["host"]: one for one in found["verdict"]["outliers"]}
    assert set(named) == {made.name_of(number) for number in (3, 7, 9)}
    assert named[made.name_of(3)]["causes"] == ["governor: powersave (group: performance)"]
    assert named[made.name_of(7)]["causes"][:2] == [
        "other programs disturbed 50% of the rows", "the hypervisor took 20% of the time",
    ]  # fmt: skip
    assert named[made.name_of(9)]["causes"] == []
    (path,) = named[made.name_of(9)]["paths"]
    assert path["deviation"] == pytest.approx(-0.1, abs=0.02)
    assert sorted(one["hosts"] for one in found["drain"]) == [made.name_of(n) for n in (3, 9)]
    (kept,) = found["inconclusive"]
    assert kept["hosts"] == made.name_of(7)
    assert kept["reason"].endswith("other programs disturbed it")


def test_the_check_as_a_table_and_as_junit(slow: Path, tmp_path: Path) -> None:
    junit = tmp_path / "fleet.xml"
    done = do("fleet", "check", slow, "--junit", junit)
    assert done.return_value == 1
    assert all(len(line) <= 100 for line in done.stdout.splitlines())
    assert "unknown" in done.stdout
    assert "60 hosts, 60 compared; 3 slower than their group; 0 not measured" in done.stdout
    root = ElementTree.parse(junit).getroot()
    assert (root.get("failures"), root.get("tests")) == ("3", "5")
    failed = {
        case.get("name") for case in root.iter("testcase") if case.find("failure") is not None
    }
    assert failed == {made.name_of(number) for number in (3, 7, 9)}


def test_what_most_hosts_have_without_harm_is_no_cause(tmp_path: Path) -> None:
    """A kernel that a third of all hosts have is on a slow host, too."""
    source = random.Random(2)
    for number in range(30):
        kernel = "Linux 6.13.0" if number % 3 == 0 else "Linux 6.12.0"
        found = made.measurements(source, 0.1 if number == 3 else 0.0)
        made.write(tmp_path, made.run_of(number, found, environment={"kernel": kernel}))
    (one,) = json.loads(do("fleet", "check", tmp_path, "--json").stdout)["verdict"]["outliers"]
    assert (one["host"], one["causes"]) == (made.name_of(3), [])


def test_golden_values_hold_for_every_host(slow: Path, tmp_path: Path) -> None:
    expect = tmp_path / "golden.yaml"
    expect.write_text('rules: ["every node:0 -> node:0 read: >= 235 GB/s"]\n')
    done = do("fleet", "check", slow, "--expect", expect, "--minimum", "50%", "--json")
    assert done.return_value == 1
    found = json.loads(done.stdout)
    assert {one["host"] for one in found["unmet"]} == {made.name_of(n) for n in (3, 7, 9)}
    assert found["verdict"]["outliers"] == []
    assert [one["hosts"] for one in found["drain"]] == ["node[00003,00009]"]
    assert [one["hosts"] for one in found["inconclusive"]] == [made.name_of(7)]
    expect.write_text('rules: ["every node:0 -> node:0 read: >= 100 GB/s"]\n')
    done = do("fleet", "check", slow, "--expect", expect, "--minimum", "50%")
    assert done.return_value == 3, "one host's figures are disturbed"
    assert "0 not up to golden values; 1 inconclusive" in done.stdout


def golden_fleet(folder: Path, **changes: dict[str, object]) -> Path:
    """Three hosts, measured at 250 GB/s and ±1%; the third one's figures are changed."""
    for number in range(3):
        found = made.measurements(random.Random(1))
        values: dict[str, Any] = {"estimate": 250e9, "ci_low": 248e9, "ci_high": 252e9}
        values |= changes if number == 2 else {}
        found[0] = synthetic.changed(found[0], **values)
        if found[0].status == "skipped":
            found[0] = found[0].model_copy(update={"figures": []})
        made.write(folder, made.run_of(number, found[:2]))
    return folder


@pytest.mark.parametrize("form", ["--drain", "--json"])
def test_a_rule_that_matches_nothing_on_any_host_is_a_mistake_of_the_file(
    tmp_path: Path, form: str
) -> None:
    expect = tmp_path / "typo.yaml"
    expect.write_text('rules:\n- "node:0 -> node:0: >= 900 GB/s"\n- "node:7 -> node:0: >= 1 B/s"\n')
    done = do("fleet", "check", golden_fleet(tmp_path / "f"), "--expect", expect, form)
    assert isinstance(done.exception, UserError)
    assert done.exception.exit_code == 2
    assert "typo.yaml:3: rule 'node:7 -> node:0: >= 1 B/s' matches" in str(done.exception)
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("changes", "drained", "said"),
    [
        ({"estimate": 90e9, "ci_low": 89e9, "ci_high": 91e9}, True, ""),
        ({"estimate": 90e9, "ci_low": 89e9, "ci_high": 100e9}, False, "inconclusive"),
        ({"estimate": 90e9, "ci_low": None, "ci_high": None, "no_interval": "few-samples"}, False,
         "inconclusive"),
        ({"estimate": 90e9, "ci_low": 89e9, "ci_high": 91e9, "evidence": _disturbed()}, False,
         "inconclusive"),
        ({"status": "skipped", "reason": "no memory"}, False, "not measured"),
        ({"target": "node:3"}, False, "not measured"),
    ],
    ids=["beyond doubt", "interval", "no interval", "disturbed", "skipped", "absent"],
)  # fmt: skip
def test_only_a_figure_that_misses_beyond_doubt_drains_its_host(
    tmp_path: Path, changes: dict[str, Any], drained: bool, said: str
) -> None:
    golden_fleet(tmp_path, **changes)
    expect = tmp_path / "golden.yaml"
    expect.write_text('rules: ["node:0 -> node:0 read: >= 100 GB/s"]\n')
    done = do("fleet", "check", tmp_path, "--expect", expect, "--drain")
    assert done.return_value == (1 if drained else 3)
    assert ("NodeName=node00002 " in done.stdout) is drained
    assert (done.stdout == "") is not drained
    if drained:
        assert done.stderr == ""
    else:
        assert done.stderr.count("\n") == 1
        assert done.stderr.startswith(
            "tierscope: inconclusive or not judged, not drained: node00002 (golden"
        )
        assert said in done.stderr


def test_what_others_took_from_a_host_is_beside_its_figures(tmp_path: Path) -> None:
    (one,) = made.measurements(random.Random(1), figures=1)
    disturbed = synthetic.changed(one, evidence=_disturbed())
    run = made.run_of(1, [disturbed], environment={"load": "3.0"})
    made.write(tmp_path, run)
    assert do("fleet", "gather", tmp_path).return_value in (0, None)
    ((load, share, stolen),) = rows(tmp_path, "select load, disturbed, stolen from hosts")
    assert load == 3.0 / run.header.machine["cpus"]
    assert (share, stolen) == (10 / disturbed.n, 0.2)


def test_hosts_that_are_not_judged_are_named_where_there_are_some(tmp_path: Path) -> None:
    expect = tmp_path / "golden.yaml"
    expect.write_text('rules: ["node:0 -> node:0 read: >= 100 GB/s"]\n')
    for name, high, named in (("clear", 91e9, False), ("doubtful", 100e9, True)):
        fleet = golden_fleet(tmp_path / name, estimate=90e9, ci_low=89e9, ci_high=high)
        shown = do("fleet", "check", fleet, "--expect", expect).stdout
        assert ("inconclusive or not judged, not drained: node00002" in shown) is named, shown


def test_hosts_are_compared_within_their_switch(tmp_path: Path) -> None:
    """Every host of the far switch is slow: no outlier in it, all of them over the model."""
    made.fleet(tmp_path, 40, slow=range(30, 40))
    conf = tmp_path / "topology.conf"
    conf.write_text(
        "SwitchName=near Nodes=node[00000-00029]\nSwitchName=far Nodes=node[00030-00039]\n"
    )
    assert do("fleet", "check", tmp_path, "--by", conf).return_value in (0, None)
    uneven = do("fleet", "check", tmp_path)
    assert uneven.return_value == 3
    said = " ".join(uneven.stdout.split())
    assert "not homogeneous: 10 of its 40 hosts are slower than the others, by 9.9%" in said
    few = do("fleet", "check", tmp_path, "--drain", "--most-drained", "20%")
    assert few.stdout == ""
    drained = do("fleet", "check", tmp_path, "--drain", "--most-drained", "30%").stdout
    assert drained.count("\n") == 1
    listed = drained.split("NodeName=")[1].split("'")[0]
    assert expand(listed) == [made.name_of(number) for number in range(30, 40)]


def test_tables_that_are_older_than_run_files_are_made_again(tmp_path: Path) -> None:
    made.fleet(tmp_path, 20)
    assert do("fleet", "check", tmp_path).return_value in (0, None)
    made.write(tmp_path, made.run_of(5, made.measurements(random.Random(1), 0.2)))
    assert do("fleet", "check", tmp_path).return_value == 1


def test_names_steer_neither_terminal_nor_shell(tmp_path: Path) -> None:
    made.fleet(tmp_path, 12)
    odd = made.run_of(50, made.measurements(random.Random(1), 0.3))
    name = "a'; touch x\x1b[31m $(id) `id`"
    odd = odd.model_copy(update={"header": odd.header.model_copy(update={"host": name})})
    synthetic.write(odd, tmp_path / "hosts" / "odd.jsonl")
    drained = do("fleet", "check", tmp_path, "--drain").stdout
    assert "touch x" in drained
    assert not set("\x1b`$") & set(drained)
    assert drained.count("'") == 4  # those of two quoted words
