"""MLC's text: every mode's, compared with text written by hand from the reference."""

import json
import re

from tests.mlc.machines import made, measured, text

from tierscope.model.run import Figure, Measurement
from tierscope.peers.mlc.options import parse_line
from tierscope.peers.mlc.output import head, section_json, value_of
from tierscope.peers.mlc.plan import Section

LATENCY = """\
Measuring idle latencies for random access (in ns)...
\t\tNuma node
Numa node\t     0\t     1\t     2
       0\t  82.1\t 141.0\t 255.3
       1\t 141.5\t  81.5\t     -"""

BANDWIDTH = """\
Measuring Memory Bandwidths between nodes within system
Bandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)
Using all the threads from each core if Hyper-threading is enabled
Using Read-only traffic type
\t\tNuma node
Numa node\t     0\t     1\t     2
       0\t79670.3\t34393.4\t 4795.3
       1\t34385.7\t159340.6\t      -"""

PEAK = """\
Measuring Peak Injection Memory Bandwidths for the system
Bandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)
Using all the threads from each core if Hyper-threading is enabled
Using traffic with the following read-write ratios
ALL Reads        :\t200000.0
3:1 Reads-Writes :\t266000.0
2:1 Reads-Writes :\t300000.0
1:1 Reads-Writes :\t400000.0
Stream-triad like:\t100000.0
"""

MAX = """\
Measuring Maximum Memory Bandwidths for the system
Will take several minutes to complete as multiple injection rates will be tried to get the best \
bandwidth
Bandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)
Using only one thread from each core if Hyper-threading is enabled
Using traffic with the following read-write ratios
ALL Reads        :\t105000.00
3:1 Reads-Writes :\t146300.00
2:1 Reads-Writes :\t172500.00
1:1 Reads-Writes :\t240000.00
Stream-triad like:\t125000.00
"""

LOADED = """\
Measuring Loaded Latencies for the system
Using all the threads from each core if Hyper-threading is enabled
Using Read-only traffic type
Inject\tLatency\tBandwidth
Delay\t(ns)\tMB/sec
==========================
 00000\t329.26\t 159154.0
 00300\t 96.70\t   2932.1
 20000\t     -\t        -"""

C2C = """\
Measuring cache-to-cache transfer latency (in ns)...
Local Socket L2->L2 HIT  latency\t49.5
Local Socket L2->L2 HITM latency\t50.5
Remote Socket L2->L2 HITM latency (data address homed in writer socket)
\t\t\tReader Numa Node
Writer Numa Node     0\t     1
            0\t     -\t 115.2
            1\t 115.5\t     -
Remote Socket L2->L2 HITM latency (data address homed in reader socket)
\t\t\tReader Numa Node
Writer Numa Node     0\t     1
            0\t     -\t 184.8
            1\t 185.9\t     -"""


def alone(words: str) -> Section:
    (section,) = made(words)
    return section


def of(section: Section, values: list[float], unit: str = "B/s") -> list[Measurement]:
    cells = section.cells[: len(values)]
    return [measured(cell, value, unit) for cell, value in zip(cells, values, strict=True)]


def total(value: float) -> list[Figure]:
    """What all streams together moved."""
    return [Figure(metric="bandwidth", part="stream2", unit="B/s", estimate=1.0),
            Figure(metric="total_bandwidth", unit="B/s", estimate=value,
                   ci_low=0.5 * value, ci_high=2 * value)]  # fmt: skip


def test_latency_matrix_has_rows_for_cpus_and_columns_for_memory() -> None:
    section = alone("--latency_matrix")
    found = of(section, [82.1, 141.0, 255.3, 141.5, 81.5], "ns")
    assert text("--latency_matrix", section, found) == LATENCY


def test_bandwidth_matrix_has_the_same_grid_in_megabytes() -> None:
    section = alone("--bandwidth_matrix")
    values = [79670.3e6, 34393.4e6, 4795.3e6, 34385.7e6, 159340.6e6]
    assert text("--bandwidth_matrix", section, of(section, values)) == BANDWIDTH


def test_bandwidth_counts_what_is_on_the_bus() -> None:
    section = alone("--bandwidth_matrix -W5")
    shown = text("--bandwidth_matrix -W5", section, of(section, [30e9] * 6))
    assert "Using Read-only" not in shown
    assert shown.splitlines()[-1] == "       1\t60000.0\t60000.0\t60000.0"


def test_peaks_are_those_of_all_nodes_together() -> None:
    section = alone("--peak_injection_bandwidth")
    found = [measured(cell, 1e9, figures=total(200e9)) for cell in section.cells[:4]]
    found.append(measured(section.cells[4], 100e9))
    assert text("--peak_injection_bandwidth", section, found) == PEAK


def test_of_several_numbers_of_threads_the_best_is_printed() -> None:
    words = "--max_bandwidth -X"
    section = alone(words)
    rates = {"R": 100e9, "W3": 110e9, "W2": 115e9, "W5": 120e9, "W10": 125e9}
    found = []
    for number, cell in enumerate(section.cells):
        rate = rates[cell.spec.id.split(".")[1]] * (0.9 if number >= 5 else 1)
        rate = 105e9 if cell.spec.id == section.cells[5].spec.id else rate
        one = [] if "W10" in cell.spec.id else total(rate)
        found.append(measured(cell, rate, figures=one))
    assert text(words, section, found) == MAX


def test_idle_latency_is_in_clocks_and_ns() -> None:
    section = alone("--idle_latency")
    shown = text("--idle_latency", section, of(section, [80.5], "ns"), hz=2.5e9)
    assert shown == "Each iteration took 201.2 base frequency clocks (\t80.5\tns)"
    several = alone("--idle_latency -a -X")
    shown = text("--idle_latency -a -X", several, of(several, [80.0] * 8, "ns"))
    assert shown.count("Each iteration took 160.0 base frequency clocks") == 8


def test_loaded_latency_has_a_row_for_each_delay() -> None:
    section = alone("--loaded_latency")
    assert [cell.row for cell in section.cells] == [
        0, 2, 8, 15, 50, 100, 200, 300, 400, 500, 700, 1000, 1300, 1700, 2500, 3500, 5000, 9000,
        20000,
    ]  # fmt: skip
    chosen = [section.cells[n] for n in (0, 7, 18)]
    short = Section(section.mode, tuple(chosen))
    found = [
        measured(cell, ns, "ns", [Figure(metric="bandwidth", unit="B/s", estimate=rate)])
        for cell, ns, rate in zip(chosen, (329.26, 96.7), (159154e6, 2932.1e6), strict=False)
    ]
    assert text("--loaded_latency", short, found) == LOADED


def test_without_latency_the_column_is_what_mlc_prints() -> None:
    section = alone("--loaded_latency -T -d0 -W5")
    found = [measured(section.cells[0], 1e9, figures=total(80e9))]
    lines = text("--loaded_latency -T -d0 -W5", section, found).splitlines()
    assert lines[-1] == " 00000\t  0.00\t 160000.0"
    # Scripts find the row nine lines below the command line that names the traffic.
    above = head(parse_line(["--loaded_latency", "-T", "-d0", "-W5"]), [section], "1", False)
    assert [*above, *lines].index(lines[-1]) == above.index(
        "Command line parameters: --loaded_latency -T -d0 -W5 "
    ) + 9


def test_threads_can_be_told_apart() -> None:
    words = "--loaded_latency -T -d0 -k0-1 -B"
    section = alone(words)
    one = Figure(metric="bandwidth", part="stream2", unit="B/s", estimate=3e9)
    lines = text(words, section, [measured(section.cells[0], 2e9, figures=[one])]).splitlines()
    assert lines[-2:] == ["  CPU 0:\t2000.0", "  CPU 1:\t3000.0"]


def test_core_to_core_has_a_grid_of_nodes_for_each_home() -> None:
    section = alone("--c2c_latency")
    values = [49.5, 50.5, 115.2, 115.5, 184.8, 185.9]
    assert text("--c2c_latency", section, of(section, values, "ns")) == C2C


def test_heads_are_those_of_mlc() -> None:
    def lines(words: str, switches: bool = False) -> list[str]:
        line = parse_line(words.split())
        return head(line, made(words), "1.0", switches)

    name = "Intel(R) Memory Latency Checker - v3.11b (measured by tierscope 1.0)"
    no_msr = [
        "*** Unable to modify prefetchers (try executing 'modprobe msr')",
        "*** So, enabling random access for latency measurements",
    ]
    assert lines("") == [name, *no_msr]
    assert lines("", switches=True) == [name]
    assert lines("--latency_matrix -b500m") == [
        name,
        "Command line parameters: --latency_matrix -b500m ",
        "",
        "Using buffer size of 500.000MiB",
        *no_msr,
    ]
    assert lines("--latency_matrix -e -b64")[3:] == ["Using buffer size of 0.062MiB"]
    size = "97.656MiB/thread"
    buffers = f"Using buffer size of {size} for reads and an additional {size} for writes"
    assert lines("--peak_injection_bandwidth -b100000")[3:] == [buffers, ""]
    assert lines("--c2c_latency")[1:] == ["Command line parameters: --c2c_latency ", ""]


def test_json_has_intervals_on_the_bus_and_reasons() -> None:
    section = alone("--peak_injection_bandwidth")
    found = {
        section.cells[3].spec.id: measured(section.cells[3], 1e9, figures=total(200e9)),
        section.cells[4].spec.id: measured(section.cells[4], 100e9),
    }
    cells = json.loads(json.dumps(section_json(section, found)))["cells"]
    assert cells[0]["reason"] == "interrupted"
    assert (cells[3]["row"], cells[3]["estimate"]) == ("1:1 Reads-Writes", 400e9)
    assert (cells[3]["ci_low"], cells[3]["ci_high"]) == (200e9, 800e9)
    assert (cells[4]["ci_low"], cells[4]["unit"]) == (90e9, "B/s on the bus")


def test_sums_of_several_mixes_have_no_interval() -> None:
    section = alone("--peak_injection_bandwidth")
    cell = section.cells[0]
    mixed = type(cell)(cell.row, cell.column, cell.spec, {"": 1.0, "stream2": 2.0})
    one = Figure(metric="bandwidth", part="stream2", unit="B/s", estimate=3e9)
    found = {cell.spec.id: measured(cell, 1e9, figures=[one])}
    assert value_of(mixed, found) == (7e9, None, None)


GRID = re.compile(r"^\s*Numa node((?:\s+\d+)+)\s*$", re.MULTILINE)
ROW = re.compile(r"^\s+(\d+)((?:\s+(?:\d+\.\d+|-))+)\s*$", re.MULTILINE)
PEAK_LINE = re.compile(r"^(ALL Reads|\d:\d Reads-Writes|Stream-triad like)\s*:\s*([\d.]+)$", re.M)
POINT = re.compile(r"^ (\d{5})\s+([\d.]+)\s+([\d.]+)$", re.MULTILINE)
IDLE = re.compile(r"took ([\d.]+) (?:core|base frequency) clocks \(\s*([\d.]+)\s*ns\)")
C2C_LINE = re.compile(r"^Local Socket L2->L2 HITM? +latency\s+([\d.]+)$", re.MULTILINE)


def test_expressions_written_from_the_reference_read_our_text() -> None:
    (nodes,) = GRID.findall(LATENCY)
    assert nodes.split() == ["0", "1", "2"]
    rows = {row: values.split() for row, values in ROW.findall(LATENCY)}
    assert rows == {"0": ["82.1", "141.0", "255.3"], "1": ["141.5", "81.5", "-"]}
    assert dict(PEAK_LINE.findall(PEAK))["3:1 Reads-Writes"] == "266000.0"
    assert len(PEAK_LINE.findall(MAX)) == 5
    assert POINT.findall(LOADED) == [("00000", "329.26", "159154.0"), ("00300", "96.70", "2932.1")]
    assert C2C_LINE.findall(C2C) == ["49.5", "50.5"]
    section = alone("--idle_latency")
    assert IDLE.findall(text("--idle_latency", section, of(section, [80.5], "ns"))) == [
        ("161.0", "80.5")
    ]
