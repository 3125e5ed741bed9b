"""bwprof's files, from an engine that counts what it is told; bwactl by the command."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from counting_engine import HEADER, write_engine

from forked import tierscope
from tierscope.model.errors import UserError
from tierscope.peers.hmsdk.bwactl import read_lstopo
from tierscope.peers.hmsdk.bwprof import (
    Recording,
    header,
    line,
    make_directory,
    rates_of,
    read_csv,
    statistics,
)
from tierscope.peers.hmsdk.lstopo import parse_lstopo
from tierscope.peers.hmsdk.weights import groups_of, initiator_of

TIERSCOPE = Path(sys.executable).with_name("tierscope")
INFO, CSV = "bwprof.data/info.txt", "d/bwprof.csv"


@pytest.fixture
def counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with an engine that counts 2 GB/s read and 0.5 GB/s written."""
    engine = tmp_path / "engine"
    write_engine(engine)
    monkeypatch.setenv("TIERSCOPE_ENGINE", str(engine))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*words: str) -> "subprocess.CompletedProcess[str]":
    return tierscope("hmsdk", *words)


INFO_NAMES = ["data_version", "cmdline", "recorded_time", "cpuinfo", "nr_cpus", "desc", "meminfo",
              "osinfo", "kernel", "hostname", "distro"]  # fmt: skip
"""Lines that HMSDK's bwprof writes and reads."""
SOCKET = """\
    Socket0        Throughput   AccessTotal    MemAccess  MediaAccess
                         MB/s            GB        Ratio        Ratio
    DRAM   Read       2000.00          4.00        80.0%            -
           Write       500.00          1.00        20.0%            -
           Total      2500.00          5.00            -       100.0%
    CXL    Read       1000.00          2.00            -            -
           Write            -             -            -            -
           Total            -             -            -            -
"""


def test_what_is_recorded_has_hmsdk_s_form(counting: Path) -> None:
    done = call("bwprof", "record", "-i", "0.1", "-s", "0", "--duration", "0.3")
    assert done.returncode == 0, done.stderr
    first, *lines = (counting / "bwprof.data/bwprof.csv").read_text().splitlines()
    assert first == HEADER
    assert len(lines) >= 2
    stamps = [float(text.partition(",")[0]) for text in lines]
    assert stamps == sorted(stamps)
    assert 0 < time.monotonic() - stamps[-1] < 600
    for text in lines:
        assert re.fullmatch(r"\d+\.\d{9},2000\.00,500\.00,2500\.00,1000\.00,,", text)
    names = [line.partition(":")[0] for line in (counting / INFO).read_text().splitlines()]
    assert names[: len(INFO_NAMES)] == INFO_NAMES
    report = json.loads(call("bwprof", "report", "--json").stdout)
    assert report["columns"][0] == {"column": "SKT0-RD", "mean": 2e3, "min": 2e3, "max": 2e3}
    info = call("bwprof", "info").stdout
    assert info.startswith("# system information\n# ==================\n# recorded on         : ")
    assert "\n# cmdline             : bwprof record\n" in info
    assert "\n# interval            : 0.1 s\n" in info
    assert json.loads(call("bwprof", "info", "--json").stdout)["info"]["data_version"] == "1"


def test_dump_and_report_are_laid_out_as_hmsdk_s(counting: Path) -> None:
    (counting / "d").mkdir()
    rates = ",2000.00,500.00,2500.00,1000.00,,\n"
    (counting / CSV).write_text(f"{HEADER}\n100.500000000{rates}101.000000000{rates}")
    (counting / "d/info.txt").write_text("start:99.000000000\n")
    dump = call("bwprof", "dump", "--data-dir", "d").stdout
    assert dump.splitlines() == [
        "    Time(s)" + "".join(f"  {name:>11}" for name in HEADER.split(",")[1:]),
        "       0.00      2000.00       500.00      2500.00      1000.00            -            -",
        "       0.50      2000.00       500.00      2500.00      1000.00            -            -",
    ]
    assert call("bwprof", "report", "-d", "d").stdout == SOCKET + "\n"
    (counting / "d/info.txt").unlink()  # HMSDK's does not say when it began.
    assert "Read       2000.00          2.00" in call("bwprof", "report", "-d", "d").stdout
    dumped = json.loads(call("bwprof", "dump", "-d", "d", "--json").stdout)
    assert dumped["rows"][1] == [101.0, 2000.0, 500.0, 2500.0, 1000.0, None, None]


@pytest.mark.parametrize(
    ("program", "how"),
    [("exit 0", "exited with status 0"), ("exit 3", "exited with status 3"),
     ("sleep 0.3; kill -9 $$", "terminated by signal 9")],
)  # fmt: skip
def test_it_records_while_a_program_runs(counting: Path, program: str, how: str) -> None:
    """One that ends before the first interval is over, too: HMSDK's records nothing then."""
    done = call("bwprof", "record", "--", "sh", "-c", f"echo its own output; {program}")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^Started command with PID \d+$", done.stdout, re.MULTILINE)
    assert "its own output\n" in done.stdout
    assert f"\nCommand {how}\n" in done.stdout
    _, *lines = (counting / "bwprof.data/bwprof.csv").read_text().splitlines()
    assert len(lines) == 1
    cmdline = f"cmdline:bwprof record -- sh -c 'echo its own output; {program}'\n"
    assert cmdline in (counting / INFO).read_text()


def test_a_program_that_is_not_there_is_said_before_anything_is_written(counting: Path) -> None:
    done = call("bwprof", "record", "/no/such", "program")
    assert (done.returncode, done.stderr.count("\n")) == (127, 1)
    assert not (counting / "bwprof.data").exists()


def test_an_interrupted_recording_ends_its_program(counting: Path) -> None:
    words = [
        "hmsdk",
        "bwprof",
        "record",
        "-i",
        "0.1",
        "--",
        "sh",
        "-c",
        "echo ready; exec sleep 60",
    ]
    recording = subprocess.Popen([TIERSCOPE, *words], stdout=subprocess.PIPE, text=True)
    assert recording.stdout
    while recording.stdout.readline() != "ready\n":
        pass
    while (counting / "bwprof.data/bwprof.csv").read_text().count("\n") < 2:
        time.sleep(0.02)
    recording.send_signal(signal.SIGTERM)
    assert "Command terminated by signal 15" in recording.communicate()[0]
    assert recording.returncode == 0


def test_an_earlier_directory_becomes_old(counting: Path) -> None:
    for number in range(3):
        done = call("bwprof", "record", "-i", "0.1", "--duration", "0.1", "-d", "d")
        assert done.returncode == 0, done.stderr
        (counting / "d" / f"mark.{number}").touch()
    assert (counting / "d/mark.2").exists()
    assert (counting / "d.old/mark.1").exists()


def test_top_shows_and_records_nothing(counting: Path) -> None:
    done = call("bwprof", "top", "-i", "0.1", "-s", "0", "--duration", "0.2")
    texts = done.stdout.count("    Socket0        Throughput")
    moved = re.findall(r"DRAM   Read       2000\.00 +(\d+\.\d\d)        80\.0%", done.stdout)
    assert len(moved) == texts >= 1
    assert float(moved[0]) >= 0.2
    assert sorted(map(float, moved)) == [*map(float, moved)]
    assert "\033" not in done.stdout
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
        ("Timestamp,SKT0-RD\n1,2\n", "bwprof.csv:1: the header is not that of bwprof"),
        (f"{HEADER}\n1,2\n", "bwprof.csv:2: 2 values, not 7"),
        (f"{HEADER}\n1{',1' * 6}\n2{',x' * 6}\n", "bwprof.csv:3: 'x' is not a bandwidth"),
        (f"{HEADER}\nnow{',1' * 6}\n", "bwprof.csv:2: 'now' is not a time in seconds"),
    ],
)
def test_a_damaged_csv_is_named_with_its_line(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "bwprof.csv").write_text(text)
    with pytest.raises(UserError, match=why):
        read_csv(tmp_path)


def test_columns_of_what_was_never_counted_have_no_statistics() -> None:
    rows: list[list[float | None]] = [[1.0, *[None] * 5], [3.0, *[None] * 5]]
    assert list(statistics(Recording([0], [1.0, 2.0], rows))) == [("SKT0-RD", 2.0, 1.0, 3.0)]


def test_each_socket_has_its_columns() -> None:
    values = {("read_throughput", "socket 1"): 1e9, ("write_throughput", "socket 1 mem0"): 2e6,
              ("throughput", "socket 1 CPUs"): 9e9}  # fmt: skip
    cells = line(1.5, [rates_of(values, 0), rates_of(values, 1)])
    assert len(header([0, 1])) == len(cells)
    assert cells == ["1.500000000", *[""] * 6, "1000.00", "", "", "", "2.00", ""]


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
    folder = "/sys/kernel/mm/mempolicy/weighted_interleave"
    assert done.stdout.splitlines() == [
        "Bandwidth ratio for all NUMA nodes",
        "from node0 compute cores:",
        f"   echo 191 > {folder}/node0",
        f"   echo 71 > {folder}/node2",
    ]
    assert "node 0 at 79.67 GB/s, node 2 at 29.62 GB/s: the ratio is off by" in done.stderr
    (group,) = json.loads(call(*words, "--dry-run", "--json").stdout)["groups"]
    assert group["weights"] == {"0": 191, "2": 71}
    rule = call(*words, "--dry-run", "--json", "--hmsdk-rule")
    assert json.loads(rule.stdout)["groups"][0]["weights"] == {"0": 5, "2": 2}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--topology", "[0]"), "--topology: '[0]'"),
        (("--mlc-file", "/no/such"), "--mlc-file: /no/such cannot be read"),
        (("--lstopo-file", "/no/such"), "--lstopo-file: /no/such cannot be read"),
        (
            ("--lstopo-file", "/dev/null"),
            "--lstopo-file: /dev/null cannot be read: it is a character",
        ),
    ],
)
def test_bwactl_says_what_is_wrong(words: tuple[str, str], why: str) -> None:
    done = call("bwactl", "--dry-run", *words)
    assert done.returncode == 2
    assert why in done.stderr
    assert done.stderr.count("\n") == 1


# lstopo's text

LSTOPO = """\
Machine (95GB total)
  Package P#0
    NUMANode P#0 (31GB)
    NUMANode P#2 (16GB)
    L3 P#0 (16MB)
      L2 P#0 (1024KB) + L1d P#0 (48KB) + L1i P#0 (32KB) + Core P#0
        PU P#0
        PU P#4
      L2 P#1 (1024KB) + L1d P#1 (48KB) + L1i P#1 (32KB) + Core P#1 + PU P#1
  Package P#1
    Group0
      NUMANode P#1 (31GB)
      L3 P#1 (16MB)
        L2 P#2 (1024KB) + L1d P#2 (48KB) + L1i P#2 (32KB) + Core P#0 + PU P#2
    Group0
      NUMANode P#5
      L3 P#3 (16MB)
        L2 P#4 (1024KB) + L1d P#4 (48KB) + L1i P#4 (32KB) + Core P#1 + PU P#3
  NUMANode P#3 (16GB)
  HostBridge
    PCI 00:02.0 (Storage)
"""
"""Two sockets; one has CXL memory, the other a node without memory; node 3 is of no socket."""


def test_lstopo_s_text_has_packages_nodes_and_cpus() -> None:
    machine = parse_lstopo(LSTOPO, "lstopo.txt")
    found = {
        node.number: (node.package, node.cpus, node.total_bytes >> 30) for node in machine.nodes
    }
    assert found == {
        0: (0, [0, 4, 1], 31), 1: (1, [2], 31), 2: (0, [], 16), 3: (None, [], 16), 5: (1, [3], 0),
    }  # fmt: skip
    with pytest.raises(UserError, match="node 3 is at no single package; name the groups"):
        groups_of(machine)
    without = parse_lstopo(LSTOPO.replace("  NUMANode P#3 (16GB)\n", ""), "lstopo.txt")
    groups = groups_of(without)
    assert groups == [[0, 2], [1]]
    assert [initiator_of(group, without) for group in groups] == [0, 1]
    with pytest.raises(UserError, match="there are two nodes 0"):
        parse_lstopo(LSTOPO + "  NUMANode P#0 (1GB)\n", "lstopo.txt")


def test_text_and_xml_of_a_machine_say_the_same() -> None:
    by_text = read_lstopo(Path(__file__).with_name("xeon-cluster-on-die.txt"))
    by_xml = read_lstopo(Path(__file__).parents[1] / "topology/xml/xeon-cluster-on-die.xml")
    assert groups_of(by_text) == groups_of(by_xml) == [[0, 1], [2, 3]]
    for one, other in zip(by_text.nodes, by_xml.nodes, strict=True):
        assert (one.number, one.package, one.cpus) == (other.number, other.package, other.cpus)
