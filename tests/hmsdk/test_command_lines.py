"""HMSDK's documented command lines, each by the name that HMSDK's program has on PATH.

The table has facts only. What needs nodes that this machine lacks is refused by their number here,
and works in the testbed, which runs this file, too.
"""

import fcntl
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from counting_engine import HEADER, write_engine

from tierscope.model.endpoint import parse_ranges
from tierscope.place.damon.files import parse_damo
from tierscope.place.weights import has_table, may_write, read_table, revert

HERE = Path(__file__).parent
TABLE: list[dict[str, Any]] = yaml.safe_load((HERE / "command_lines.yaml").read_text())
NODES = parse_ranges(Path("/sys/devices/system/node/has_memory").read_text().strip())
MLC = """Measuring Memory Bandwidths between nodes within system
Using Read-only traffic type
\t\tNuma node
Numa node\t     0\t     1\t     2
       0\t70000.0\t30000.0\t14000.0
"""
LSTOPO = """Machine (48GB total)
  Package P#0
    NUMANode P#0 (32GB)
    NUMANode P#2 (16GB)
    Core P#0 + PU P#0
"""


@pytest.fixture(scope="module")
def bin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed") / "bin"
    tierscope = Path(sys.executable).with_name("tierscope")
    subprocess.run([tierscope, "peers", "install", folder], check=True, capture_output=True)
    return folder


@pytest.fixture
def started(
    bin_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[dict[str, Any]], "subprocess.Popen[str]"]:
    """Starts a row's line in a folder that has what it names."""
    (tmp_path / "prog").write_text("#!/bin/sh\nenv\n")
    (tmp_path / "prog").chmod(0o755)
    (tmp_path / "mlc.txt").write_text(MLC)
    (tmp_path / "lstopo.txt").write_text(LSTOPO)
    engine = tmp_path / "engine"
    write_engine(engine)
    monkeypatch.chdir(tmp_path)
    environment = os.environ | {"PATH": f"{bin_folder}:{os.environ['PATH']}"}

    def start(row: dict[str, Any]) -> "subprocess.Popen[str]":
        more = {"TIERSCOPE_ENGINE": str(engine)} if row["line"].startswith("bwprof") else {}
        return subprocess.Popen(
            shlex.split(row["line"]), env=environment | more, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    return start


def test_the_table_has_every_program_and_each_row_one_outcome() -> None:
    programs = {row["line"].partition(" ")[0] for row in TABLE}
    assert programs >= {"hmctl", "gen_migpol.py", "gen_config.py", "bwactl.py", "bwprof"}
    assert all(("does" in row) != ("refused" in row) for row in TABLE)
    assert {row["does"] for row in TABLE if "does" in row} == set(CHECKS)
    assert len(TABLE) > 60


@pytest.mark.usefixtures("_weights_return")
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row["line"])
def test_a_documented_line_works_or_is_refused(
    row: dict[str, Any], started: Callable[[dict[str, Any]], "subprocess.Popen[str]"]
) -> None:
    if (program := row.get("needs")) and not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    if row.get("does") in ("report", "dump", "info"):
        started({"line": "bwprof record -i 1 -- ls"}).communicate()
    running = started(row)
    said = ""
    if row.get("until") == "interrupted":
        said = wait_for_a_sample(row, running)
        running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=100)
    out = said + out
    lacking = [node for node in row.get("nodes", ()) if node not in NODES]
    if lacking:
        assert running.returncode != 0
        named = rf"\b(node|nodes) ({'|'.join(map(str, lacking))})\b" if "others" not in row else "."
        assert re.search(named, err), err
    elif "refused" in row:
        assert running.returncode != 0
        assert re.search(row["refused"], err), err
        assert err.count("\n") == 1
    elif row["does"] == "weights" and not may_write():
        assert (running.returncode, "not written" in err) == (1, True)
    else:
        assert running.returncode == 0, err
        CHECKS[row["does"]](row, out)


def wait_for_a_sample(row: dict[str, Any], running: "subprocess.Popen[str]") -> str:
    """Until what is recorded or shown has a line; return what was printed so far."""
    assert running.stdout
    said = ""
    while row["does"] == "top" and "DRAM   Read" not in said:
        said += running.stdout.readline()
    path = Path("bwprof.data/bwprof.csv")
    while row["does"] == "recording" and not (path.exists() and path.read_text().count("\n") > 1):
        time.sleep(0.05)
    return said


def has_environment(row: dict[str, Any], out: str) -> None:
    variables = dict(line.partition("=")[::2] for line in out.splitlines())
    assert variables["HMALLOC_JEMALLOC"] == "1"
    mode, mask = row.get("mode"), row.get("mask")
    assert variables.get("HMALLOC_MPOL_MODE") == (None if mode is None else str(mode))
    assert variables.get("HMALLOC_NODEMASK") == (None if mask is None else str(mask))


def has_help(row: dict[str, Any], out: str) -> None:
    assert out.startswith("Usage: tierscope ")
    if row["line"].startswith("bwprof"):
        assert all(option in out for option in ("--interval", "--data-dir", "--socket", "--top"))


def is_policy(row: dict[str, Any], out: str) -> None:
    """What the file says by damo's format, which damo and tier start read."""
    text = Path(row["file"]).read_text() if "file" in row else out
    assert text.endswith("\n\n")
    rules = parse_damo(text, "policy")
    found = list(rules.schemes())
    ways = [way.split() for way in row["ways"]]
    assert len(found) == len(ways) or row.get("cut")
    for (*_, scheme), (action, _, target) in zip(found, ways, strict=not row.get("cut")):
        assert (scheme.action, scheme.target_nid) == (action, int(target))
        kinds = [one.type for one in scheme.filters]
        assert kinds == (["young"] if row.get("everything") else ["memcg", "young"])


def has_weights(row: dict[str, Any], out: str) -> None:
    """The lines are a shell's, and what they say is what the kernel has."""
    title, initiator, *lines = out.splitlines()
    assert (title, initiator) == ("Bandwidth ratio for all NUMA nodes", "from node0 compute cores:")
    echo = re.compile(r"   echo (\d+) > /sys/kernel/mm/mempolicy/weighted_interleave/node(\d+)")
    weights = {int(one[2]): int(one[1]) for line in lines if (one := echo.fullmatch(line))}
    assert list(weights) == row["of"]
    assert len(lines) == len(weights)
    if len(weights) == 2:
        assert weights == {0: 5, 2: 1}
    assert {node: read_table().weights[node] for node in weights} == weights


def has_recording(row: dict[str, Any], out: str) -> None:
    folder = Path(row.get("directory", "bwprof.data"))
    first, *lines = (folder / "bwprof.csv").read_text().splitlines()
    assert first.startswith(HEADER)
    assert all(float(line.split(",")[0]) > 0 for line in lines)
    assert all(line.split(",")[1:4] == ["2000.00", "500.00", "2500.00"] for line in lines)
    assert f"cmdline:{row['cmdline']}\n" in (folder / "info.txt").read_text()
    if " -- " in row["cmdline"]:
        assert len(lines) >= 1
        assert re.search(r"^Command exited with status 0$", out, re.MULTILINE)
    assert ("    Socket0        Throughput" in out) == ("--top" in row["line"])


def shows_top(row: dict[str, Any], out: str) -> None:
    assert re.search(r"^    DRAM   Read       2000\.00 ", out, re.MULTILINE)
    assert ("Command exited with status 0" in out) == ("sleep" in row["line"])
    assert not Path("bwprof.data").exists()


def shows_report(_row: dict[str, Any], out: str) -> None:
    rates = re.findall(r"(Read|Write|Total) +(\d+\.\d\d|-) ", out.partition("CXL")[0])
    assert rates == [("Read", "2000.00"), ("Write", "500.00"), ("Total", "2500.00")]


def shows_dump(_row: dict[str, Any], out: str) -> None:
    head, *rows = (line.split() for line in out.splitlines())
    assert head[:4] == ["Time(s)", *HEADER.split(",")[1:4]]
    assert rows[0][0] == "0.00"
    assert all(row[1:4] == ["2000.00", "500.00", "2500.00"] for row in rows)


def shows_info(_row: dict[str, Any], out: str) -> None:
    found = dict(re.findall(r"^# ([\w ]+?) +: (.*)$", out, re.MULTILINE))
    assert found["cmdline"] == "bwprof record -- ls"
    assert {"recorded on", "cpu info", "number of cpus", "kernel version", "hostname"} <= set(found)


CHECKS: dict[str, Callable[[dict[str, Any], str], None]] = {
    "environment": has_environment, "help": has_help, "policy": is_policy, "weights": has_weights,
    "recording": has_recording, "top": shows_top, "report": shows_report, "dump": shows_dump,
    "info": shows_info,
}  # fmt: skip


@pytest.fixture
def _weights_return(row: dict[str, Any]) -> Iterator[None]:
    """Lines that write the machine's weights run one at a time, also in several workers."""
    if row.get("does") != "weights":
        yield
        return
    with Path(tempfile.gettempdir(), "tierscope-tests-weights.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
        if has_table():
            revert()
