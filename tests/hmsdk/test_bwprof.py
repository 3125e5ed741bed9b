"""bwprof's files, from an engine that counts what it is told; bwactl by the command."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from forked import tierscope
from tierscope.model.errors import UserError
from tierscope.peers.hmsdk.bwprof import header, line, make_directory, read_csv, statistics

ENGINE = """#!{python}
import json, sys, time
if sys.argv[1] != "traffic":
    sys.exit(9)
print(json.dumps({{"sources": [{{"name": "memory controllers", "available": True, "detail": "",
                                "reason": "", "remedy": ""}}]}}), flush=True)
reads, writes = "uncore_imc_0/cas_count_read", "uncore_imc_0/cas_count_write"
messages = "cxl_pmu_mem0.0/s2m_drs_memdata"
for second, _ in enumerate(sys.stdin):
    print(json.dumps({{"counts": [
        {{"source": "x", "counter": name, "cpu": 0, "bytes": rate * second, "seconds": second}}
        for name, rate in ((reads, 2e9), (writes, 5e8), (messages, 1e9))]}}), flush=True)
"""
HEADER = "Timestamp,SKT0-RD,SKT0-WR,SKT0-SUM,SKT0-CXLRD,SKT0-CXLWR,SKT0-CXLSUM"


@pytest.fixture
def counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with an engine that counts 2 GB/s read and 0.5 GB/s written."""
    engine = tmp_path / "engine"
    engine.write_text(ENGINE.format(python=sys.executable))
    engine.chmod(0o755)
    monkeypatch.setenv("TIERSCOPE_ENGINE", str(engine))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*words: str) -> "subprocess.CompletedProcess[str]":
    return tierscope("hmsdk", *words)


def test_what_is_recorded_has_hmsdk_s_form(counting: Path) -> None:
    done = call("bwprof", "record", "-i", "0.1", "-s", "0", "--duration", "0.3")
    assert done.returncode == 0, done.stderr
    first, *lines = (counting / "bwprof.data/bwprof.csv").read_text().splitlines()
    assert first == HEADER
    assert len(lines) >= 2
    for text in lines:
        assert text.partition(",")[2] == "2000.00,500.00,2500.00,1000.00,,"
    assert "interval: 0.1 s" in (counting / "bwprof.data/info.txt").read_text()
    assert call("bwprof", "dump").stdout.splitlines()[0] == HEADER
    report = json.loads(call("bwprof", "report", "--json").stdout)
    assert report["columns"][0] == {"column": "SKT0-RD", "mean": 2e3, "min": 2e3, "max": 2e3}
    assert call("bwprof", "info").stdout.startswith("program: tierscope")


def test_an_earlier_directory_becomes_old(counting: Path) -> None:
    for number in range(3):
        done = call("bwprof", "record", "-i", "0.1", "--duration", "0.1", "-d", "d")
        assert done.returncode == 0, done.stderr
        (counting / "d" / f"mark.{number}").touch()
    assert (counting / "d/mark.2").exists()
    assert (counting / "d.old/mark.1").exists()


def test_top_shows_and_records_nothing(counting: Path) -> None:
    done = call("bwprof", "top", "-i", "0.1", "-s", "0", "--duration", "0.2")
    assert done.stdout.splitlines()[0] == HEADER
    assert "2000.00,500.00" in done.stdout
    assert not (counting / "bwprof.data").exists()


def test_without_counters_it_says_so_in_a_line_and_leaves_files_alone(
    counting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (counting / "engine").read_text()
    (counting / "engine").write_text(
        text.replace('True, "detail": "",', 'False, "detail": "",').replace(
            '"reason": ""', '"reason": "not permitted to this user"'
        )
    )
    done = call("bwprof", "record")
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "not permitted to this user" in done.stderr
    assert not (counting / "bwprof.data").exists()


def test_a_directory_of_others_is_left_alone(tmp_path: Path) -> None:
    for name in ("d", "e.old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "precious").touch()
    with pytest.raises(UserError, match=r"not of bwprof's; name another"):
        make_directory(tmp_path / "d")
    make_directory(tmp_path / "e")
    (tmp_path / "e/bwprof.csv").touch()
    with pytest.raises(UserError, match="move it away"):
        make_directory(tmp_path / "e")
    assert (tmp_path / "d/precious").exists()
    assert (tmp_path / "e.old/precious").exists()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "bwprof.csv:1: the header"),
        ("Timestamp,SKT0-RD\nnow,1,2\n", "bwprof.csv:2: 3 values, not 2"),
        ("Timestamp,SKT0-RD\nnow,1\nnow,x\n", "bwprof.csv:3: 'x' is not a bandwidth"),
    ],
)
def test_a_damaged_csv_is_named_with_its_line(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "bwprof.csv").write_text(text)
    with pytest.raises(UserError, match=why):
        read_csv(tmp_path)


def test_columns_of_what_was_never_counted_have_no_statistics() -> None:
    rows = [["Timestamp", "SKT0-RD", "SKT0-WR"], ["a", "1.0", ""], ["b", "3.0", ""]]
    assert list(statistics(rows)) == [("SKT0-RD", 2.0, 1.0, 3.0)]


def test_each_socket_has_its_columns() -> None:
    from datetime import datetime, timezone

    values = {("read_throughput", "socket 1"): 1e9, ("write_throughput", "socket 1 mem0"): 2e6,
              ("throughput", "socket 1 CPUs"): 9e9}  # fmt: skip
    cells = line(datetime(2026, 1, 5, tzinfo=timezone.utc), values, [0, 1])
    assert len(header([0, 1])) == len(cells)
    assert cells[1:] == ["", "", "", "", "", "", "1000.00", "", "", "", "2.00", ""]


# bwactl

MATRIX = """Measuring Memory Bandwidths between nodes within system
Using Read-only traffic type
\t\tNuma node
Numa node\t     0\t     2
       0\t79670.3\t29617.2
"""


def test_bwactl_prints_weights_and_the_commands(tmp_path: Path) -> None:
    (tmp_path / "mlc.txt").write_text(MATRIX)
    words = ("bwactl", "--mlc-file", str(tmp_path / "mlc.txt"), "--topology", "[[0,2]]")
    done = call(*words, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "node 0: 191, node 2: 71" in done.stdout
    assert "echo 71 | sudo tee /sys/kernel/mm/mempolicy/weighted_interleave/node2" in done.stdout
    (group,) = json.loads(call(*words, "--dry-run", "--json").stdout)["groups"]
    assert group["weights"] == {"0": 191, "2": 71}
    rule = call(*words, "--dry-run", "--json", "--hmsdk-rule")
    assert json.loads(rule.stdout)["groups"][0]["weights"] == {"0": 5, "2": 2}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--topology", "[0]"), "--topology: '[0]'"),
        (("--mlc-file", "/no/such"), "--mlc-file: /no/such cannot be read"),
        (("--lstopo-file", "/no/such"), "/no/such"),
    ],
)
def test_bwactl_says_what_is_wrong(words: tuple[str, str], why: str) -> None:
    done = call("bwactl", "--dry-run", *words)
    assert done.returncode == 2
    assert why in done.stderr
    assert done.stderr.count("\n") == 1
