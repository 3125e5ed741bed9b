"""Imported runs wherever runs are taken: marked, and refused where only measured figures count."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.runs.later import file_of

from forked import tierscope
from tierscope.model.errors import UserError
from tierscope.runs.read import parse_run

MLC = """Intel(R) Memory Latency Checker - v3.11
Measuring idle latencies for sequential access (in ns)...
\t\tNuma node
Numa node\t     0\t     1\t
       0\t  82.1\t 141.0\t

Measuring Memory Bandwidths between nodes within system
Using Read-only traffic type
\t\tNuma node
Numa node\t     0\t     1\t
       0\t79670.3\t34393.4\t
"""
PRICES = """
tiers:
  DRAM:
    target: node:0
    price: 640 EUR
    size: 64g
    capacity: 64g
    source: an example
    date: 2026-01-05
"""
PROGRAM = "Intel MLC v3.11"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a kept run, its file at runs.jsonl too."""
    folder = tmp_path_factory.mktemp("imported")
    (folder / "mlc.txt").write_text(MLC)
    done = tierscope("import", "mlc", folder / "mlc.txt", "--json", environment=data(folder))
    assert done.returncode == 0, done.stderr
    return folder


def data(folder: Path) -> dict[str, str]:
    return {"XDG_DATA_HOME": str(folder)}


def out(home: Path, *words: object, status: int = 0) -> str:
    done = tierscope(*words, environment=data(home), folder=home)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def document(home: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(out(home, "show", "--json"))
    return found


def test_json_says_it_of_the_run_and_of_each_figure(home: Path) -> None:
    found = document(home)
    imported = found["run"]["imported"]
    assert (imported["format"], imported["program"]) == ("mlc", PROGRAM)
    assert imported["files"][0]["name"].endswith("mlc.txt")
    assert len(imported["files"][0]["sha256"]) == 64
    assert {one["status"] for one in found["results"]} == {"imported"}
    assert {one["figures"][0]["no_interval"] for one in found["results"]} == {"imported"}
    assert found["run"]["footer"]["measured"] == 0
    assert found["run"]["footer"]["imported"] == 4


def test_what_files_do_not_tell_is_unknown(home: Path) -> None:
    found = document(home)
    assert found["run"]["host"] == "unknown"
    assert found["run"]["machine"]["nodes"] == []
    assert found["run"]["environment"] == {}
    for one in found["results"]:
        assert one["evidence"] is None
        for figure in one["figures"]:
            assert all(figure[key] is None for key in ("ci_low", "ci_high", "limit"))
        assert (one["samples"], one["n"], one["repetitions"]) == ([], 0, 0)


def test_the_list_of_runs_names_the_program(home: Path) -> None:
    assert f"imported from {PROGRAM}" in " ".join(out(home, "list").split())
    (entry,) = json.loads(out(home, "list", "--json"))["runs"]
    assert (entry["imported"], entry["measured"]) == (PROGRAM, 0)


def test_queries_and_tables_have_it_in_each_row(home: Path) -> None:
    sql = "select count(*) n, status from measurements group by status"
    assert json.loads(out(home, "query", sql, "--json"))["rows"] == [{"n": 4, "status": "imported"}]
    rows = json.loads(out(home, "query", "select imported from runs", "--json"))["rows"]
    assert rows == [{"imported": PROGRAM}]
    head, first, *_ = out(home, "export", "--csv").splitlines()
    assert "imported" in head.split(",")
    assert PROGRAM in first


def test_prometheus_has_a_label(home: Path) -> None:
    out(home, "export", "--prometheus", home / "x.prom")
    lines = [line for line in (home / "x.prom").read_text().splitlines() if "latency_sec" in line]
    assert all(f'imported="{PROGRAM}"' in line for line in lines if not line.startswith("#"))


def test_the_report_is_marked_on_top_and_at_each_section(home: Path) -> None:
    out(home, "report", "-o", home / "page.html")
    page = (home / "page.html").read_text()
    assert f"{PROGRAM} measured these figures, not tierscope" in page
    assert "Bandwidth (imported)" in page
    assert ">Measured</th>" not in page
    assert "Peak bandwidth, imported" in page


def test_a_comparison_is_refused_unless_asked_for_and_then_decides_nothing(home: Path) -> None:
    file = next((home / "tierscope/runs").glob("*.jsonl"))
    again = home / "again.jsonl"
    again.write_bytes(file.read_bytes())
    done = tierscope("compare", file, again, environment=data(home))
    assert done.returncode == 3
    assert f"imported: {PROGRAM} measured the base run" in " ".join(done.stdout.split())
    done = tierscope("compare", file, again, "--allow", "imported", "--json")
    found = json.loads(done.stdout)["comparisons"][0]
    assert {one["verdict"] for one in found["differences"]} == {"undecided"}
    assert {one["ratio"] for one in found["differences"]} == {1.0}


def test_prices_are_held_against_it_and_say_so(home: Path) -> None:
    (home / "prices.yaml").write_text(PRICES)
    done = tierscope("cost", "prices.yaml", environment=data(home), folder=home)
    assert done.returncode == 0, done.stderr
    assert f"{PROGRAM} measured these figures, not tierscope" in " ".join(done.stdout.split())
    assert "79.7" in done.stdout


def test_golden_values_weights_and_resuming_are_refused(home: Path) -> None:
    (home / "rules.yaml").write_text('rules:\n  - "node:0 -> node:0 read: >= 1 GB/s"\n')
    said = out(home, "check", "--expect", "rules.yaml", status=2)
    assert f"{PROGRAM} measured it; golden values hold for figures" in said
    said = out(home, "export", "--numactl", "x.sh", status=2)
    assert "--numactl takes weights that tierscope measured" in said
    said = out(home, "export", "--cxlbench", "x.json", status=2)
    assert "has no figures of CXL-Bench's cases" in said
    file = next((home / "tierscope/runs").glob("*.jsonl"))
    said = out(home, "run", "--resume", file, status=2)
    assert "is imported: tierscope measured nothing that could go on" in said


@pytest.mark.parametrize("which", ["header", "measurement"])
def test_a_file_that_lost_the_mark_is_damaged(home: Path, which: str) -> None:
    """Neither can an imported figure lose its mark alone, nor a run its measured ones."""
    file = next((home / "tierscope/runs").glob("*.jsonl"))
    records = [json.loads(line) for line in file.read_text().splitlines()]
    if which == "header":
        records[0]["imported"] = None
    else:
        records[1]["status"] = "measured"
    content = file_of(records)
    with pytest.raises(UserError, match=r"damaged here .*status is"):
        parse_run(content, "x.jsonl")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("mlc", "/no/such"), "/no/such cannot be read"),
        (("mlc", "mlc.txt", "--clock", "2ghz"), "--clock: mlc says in which units"),
        (("mlc", "mlc.txt", "--from", "node:0"), "--from goes with the other end"),
        (("cxlbench", "mlc.txt", "--to", "node:0"), "--to: CXL-Bench's files name their nodes"),
        (("mlc", "mlc.txt", "--out", "-"), "--out: a run goes to a file"),
        (("stream", "mlc.txt"), "'stream' is not one of 'cxlbench', 'mess', 'mlc'"),
    ],
)
def test_wrong_words_are_refused(home: Path, words: tuple[str, ...], said: str) -> None:
    assert said in out(home, "import", *words, status=2)


def test_several_files_are_one_run(home: Path) -> None:
    (home / "second.txt").write_text(MLC.replace("82.1", "85.0"))
    target = home / "two.jsonl"
    out(home, "import", "mlc", "mlc.txt", "second.txt", "--out", target)
    found = parse_run(target.read_bytes(), "two.jsonl")
    assert len(found.measurements) == 8
    assert len({m.id for m in found.measurements}) == 8
