"""MLC's text as runs. The texts here were written for these tests, in MLC's form."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forked import tierscope
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement
from tierscope.peers.importing import Source
from tierscope.peers.mlc import importer

HEAD = "Intel(R) Memory Latency Checker - v3.11\n"
LATENCIES = """Measuring idle latencies for sequential access (in ns)...
\t\tNuma node
Numa node\t     0\t     1\t
       0\t  82.1\t 141.0\t
       1\t 140.2\t     -\t
"""
PEAK = """Measuring Peak Injection Memory Bandwidths for the system
Bandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)
Using all the threads from each core if Hyper-threading is enabled
Using traffic with the following read-write ratios
ALL Reads        :\t158844.5\t
3:1 Reads-Writes :\t150023.1\t
2:1 Reads-Writes :\t149000.0\t
1:1 Reads-Writes :\t140001.2\t
Stream-triad like:\t141000.9\t
"""
BANDWIDTHS = """Measuring Memory Bandwidths between nodes within system
Bandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)
Using all the threads from each core if Hyper-threading is enabled
Using Read-only traffic type
\t\tNuma node
Numa node\t     0\t     1\t
       0\t79670.3\t34393.4\t
       1\t34400.1\t79511.0\t
"""
LOADED = """Measuring Loaded Latencies for the system
Using all the threads from each core if Hyper-threading is enabled
Using Read-only traffic type
Inject\tLatency\tBandwidth
Delay\t(ns)\tMB/sec
==========================
 00000\t329.26\t 159154.0
 00100\t150.00\t 121001.2
 20000\t 83.20\t   1901.2
"""
CACHES = """Measuring cache-to-cache transfer latency (in ns)...
Local Socket L2->L2 HIT  latency\t49.5
Local Socket L2->L2 HITM latency\t49.6
Remote Socket L2->L2 HITM latency (data address homed in writer socket)
\t\t\tReader Numa Node
Writer Numa Node     0\t     1\t
            0\t     -\t 115.2\t
            1\t 115.4\t     -\t
Remote Socket L2->L2 HITM latency (data address homed in reader socket)
\t\t\tReader Numa Node
Writer Numa Node     0\t     1\t
            0\t     -\t 175.2\t
            1\t 175.4\t     -\t
"""
WHOLE = "\n".join([HEAD, LATENCIES, PEAK, BANDWIDTHS, LOADED, CACHES])
IDLE = """Intel(R) Memory Latency Checker - v3.10
Command line parameters: --idle_latency -c3 -j 1 -l128

Using buffer size of 200.000MiB
*** Unable to modify prefetchers (try executing 'modprobe msr')
*** So, enabling random access for latency measurements
Each iteration took 201.2 base frequency clocks (\t80.5\tns)
"""


def read(text: str, ends: tuple[str, str] | None = None) -> list[Measurement]:
    return importer.read([Source("mlc.txt", text.encode())], ends).measurements


def by_path(found: list[Measurement]) -> dict[tuple[str, str], float]:
    return {(m.initiator, m.target): m.estimate or 0.0 for m in found}


def test_a_bare_run_gives_all_five_modes() -> None:
    found = read(WHOLE)
    names = dict.fromkeys(m.id.rpartition(".")[0] for m in found)
    assert list(names) == [
        "latency_matrix", "peak_injection", "bandwidth_matrix", "loaded_latency", "c2c",
    ]  # fmt: skip
    assert {m.status for m in found} == {"imported"}
    assert importer.read([Source("a", WHOLE.encode())], None).program == "Intel MLC v3.11"


def test_rows_are_cpus_and_columns_memory() -> None:
    assert by_path(read(LATENCIES)) == {
        ("node:0", "node:0"): 82.1, ("node:0", "node:1"): 141.0, ("node:1", "node:0"): 140.2,
    }  # fmt: skip
    rates = by_path(read(BANDWIDTHS))
    assert rates[("node:0", "node:1")] == pytest.approx(34393.4e6)
    assert {m.pattern["operation"] for m in read(BANDWIDTHS)} == {"read"}


def test_mixes_are_by_bytes_on_the_bus() -> None:
    found = {m.pattern["mix"]: m.estimate for m in read(PEAK)}
    assert list(found) == ["100:0", "3:1 bus", "2:1 bus", "1:1 bus", "Stream-triad like"]
    assert found["1:1 bus"] == pytest.approx(140001.2e6)
    maximum = read(PEAK.replace("Peak Injection", "Maximum"))
    assert {m.pattern["mode"] for m in maximum} == {"max bandwidth"}


def test_loaded_latencies_are_points_of_a_curve() -> None:
    heaviest, *_, lightest = read(LOADED, ("node:0", "node:1"))
    assert (heaviest.estimate, heaviest.figures[1].estimate) == (329.26, 159154.0e6)
    assert (heaviest.pattern["inject"], lightest.pattern["inject"]) == (0, 20000)
    assert (heaviest.pattern["mix"], heaviest.target) == ("100:0", "node:1")


def test_latencies_between_sockets_have_writer_reader_and_home() -> None:
    found = [m for m in read(CACHES) if m.pattern["writer_at"] == "node:0"]
    assert by_path(found) == {("node:1", "node:0"): 115.2, ("node:1", "node:1"): 175.2}
    local = [m for m in read(CACHES) if m.pattern["writer_at"] == "the same socket"]
    assert [(m.pattern["state"], m.estimate) for m in local] == [
        ("clean", 49.5), ("modified", 49.6),
    ]  # fmt: skip


def test_idle_latency_takes_cpu_node_size_and_order_from_what_is_printed() -> None:
    (idle,) = read(IDLE)
    assert (idle.initiator, idle.target, idle.estimate) == ("cpus:3", "node:1", 80.5)
    assert idle.pattern == {"order": "random", "stride": 128, "size": 200 << 20}


@pytest.mark.parametrize("section", [LATENCIES, PEAK, BANDWIDTHS, LOADED, CACHES])
def test_a_part_is_enough_and_gives_what_the_whole_does(section: str) -> None:
    part = [(m.kind, m.initiator, m.target, m.pattern, m.estimate) for m in read(section)]
    whole = [(m.kind, m.initiator, m.target, m.pattern, m.estimate) for m in read(WHOLE)]
    assert part
    assert all(one in whole for one in part)


@pytest.mark.parametrize(("section", "figures"), [(PEAK, 5), (LOADED, 3), (CACHES, 6)])
def test_a_section_whose_title_was_cut_off_is_known_by_its_lines(
    section: str, figures: int
) -> None:
    lines = section.splitlines(keepends=True)
    first = next(n for n, line in enumerate(lines)
                 if line.startswith(("ALL Reads", "Inject", "Local Socket")))  # fmt: skip
    assert len(read("".join(lines[first:]))) == figures


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LATENCIES.replace("82.1", "x"), "mlc.txt:4: 'x' is not a latency in ns"),
        (LATENCIES.replace("\t 141.0", ""), "mlc.txt:4: node 0 has 1 latencies, not 2"),
        (PEAK.replace("158844.5", "1.2.3"), "mlc.txt:5: '1.2.3' is not a bandwidth in MB/s"),
        (HEAD, "mlc.txt: none of MLC's measurements is in it"),
        ("Each iteration took 2 clocks\n", "mlc.txt:1: no latency in ns"),
        ('[{"bm_name": "x"}]', "mlc.txt: this is CXL-Bench's JSON; tierscope import cxlbench"),
        ('{"50": [[1, 2]]}', "mlc.txt: this is Mess's curves; tierscope import mess mlc.txt"),
    ],
)
def test_errors_name_the_line(text: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        read(text)
    assert str(refused.value).startswith(said)


LINES = st.sampled_from([*WHOLE.splitlines(), *IDLE.splitlines(), "", "0 1 2", "Numa node 0"])


@given(
    st.binary(max_size=60)
    | st.lists(LINES, max_size=12).map(lambda lines: "\n".join(lines).encode())
)
def test_any_bytes_give_figures_or_an_error_of_one_line(content: bytes) -> None:
    said = "mlc.txt"
    try:
        assert importer.read([Source("mlc.txt", content)], None).measurements
    except UserError as error:
        said = str(error)
    assert said.startswith("mlc.txt")
    assert len(said.splitlines()) == 1


def test_the_command_shows_matrices(tmp_path: Path) -> None:
    (tmp_path / "mlc.txt").write_text(WHOLE)
    file = tmp_path / "run.jsonl"
    done = tierscope("import", "mlc", tmp_path / "mlc.txt", "--out", file)
    assert done.returncode == 0, done.stderr
    assert "Intel MLC v3.11 measured these figures, not tierscope; from mlc.txt" in done.stdout
    assert "141 (imported)" in done.stdout
    wrong = tierscope("import", "cxlbench", tmp_path / "mlc.txt")
    assert (wrong.returncode, "this is MLC's text; tierscope import mlc" in wrong.stderr) == (
        2, True,
    )  # fmt: skip
