"""``tierscope mlc`` as its users run it, on this machine, by the engine."""

import json
import os
import re
from pathlib import Path

import pytest
from tests.forked import tierscope

SHORT = ("-b2m", "-t0.1")
LATENCY = r"\s*\d+\.\d"
SHAPES = {
    "--latency_matrix": rf"\t\tNuma node\nNuma node\t     0.*\n       0\t{LATENCY}",
    "--bandwidth_matrix": rf"\t\tNuma node\nNuma node\t     0.*\n       0\t{LATENCY}",
    "--peak_injection_bandwidth": (
        r"ALL Reads        :\t\d+\.\d\n(.+\n)+Stream-triad like:\t\d+\.\d\n\n$"
    ),
    "--max_bandwidth": r"ALL Reads        :\t\d+\.\d\d\n(.+\n)+Stream-triad like:\t\d+\.\d\d\n\n$",
    "--idle_latency": r"Each iteration took \d+\.\d base frequency clocks \(\t\d+\.\d\tns\)",
    "--loaded_latency -T -d0": r"={26}\n 00000\t  0\.00\t\s*\d+\.\d\n",
}
LOADED = r"={26}\n 00000\t\s*\d+\.\d\d\t\s*\d+\.\d\n 00700\t\s*\d+\.\d\d\t\s*\d+\.\d\n"
C2C = r"L2->L2 HIT  latency\t\d+\.\d\nLocal Socket L2->L2 HITM latency\t\d+\.\d\n"
SEVERAL = len(os.sched_getaffinity(0)) > 1


@pytest.mark.parametrize("words", SHAPES)
def test_a_mode_prints_what_its_readers_look_for(words: str) -> None:
    done = tierscope("mlc", *words.split(), *SHORT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Intel(R) Memory Latency Checker - v3.11b")
    assert f"Command line parameters: {words} -b2m -t0.1 \n\n" in done.stdout
    assert re.search(SHAPES[words], done.stdout), done.stdout
    assert "intervals and evidence of each figure: tierscope show " in done.stderr


@pytest.mark.skipif(not SEVERAL, reason="one CPU cannot load while it measures latency")
def test_latency_under_load_by_a_file_of_delays(tmp_path: Path) -> None:
    delays = tmp_path / "delays"
    delays.write_text("0\n700\n")
    done = tierscope("mlc", "--loaded_latency", f"-g{delays}", "-t0.3", "-b2m")
    assert done.returncode == 0, done.stderr
    assert re.search(LOADED, done.stdout), done.stdout


@pytest.mark.skipif(not SEVERAL, reason="one CPU has no other core to read from")
def test_lines_go_from_core_to_core() -> None:
    done = tierscope("mlc", "--c2c_latency", "-t0.2")
    assert done.returncode == 0, done.stderr
    assert re.search(C2C, done.stdout), done.stdout


@pytest.mark.skipif(not SEVERAL, reason="one CPU has no second thread")
def test_threads_of_a_file_run_together(tmp_path: Path) -> None:
    file = tmp_path / "threads"
    file.write_text("0 R seq 2048 dram 0\n1 W5 rand 2048 dram 0\n")
    done = tierscope("mlc", "--loaded_latency", "-T", "-d0", f"-o{file}", "-t0.2", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)["mlc"]
    ((cell,),) = [section["cells"] for section in document["sections"]]
    assert cell["estimate"] > 0
    planned = json.loads(Path(document["run_file"]).read_text().splitlines()[0])["plan"]
    (spec,) = planned["measurements"]
    assert [spec["pattern"]["order"], spec["beside"][0]["pattern"]["order"]] == [
        "sequential",
        "random",
    ]


@pytest.mark.skipif(not SEVERAL, reason="one CPU has neither load nor another core")
def test_bare_mlc_prints_five_sections_in_order() -> None:
    done = tierscope("mlc", "-b2m", "-t0.1", "-e", "-d300")
    assert done.returncode == 0, done.stderr
    titles = [line for line in done.stdout.splitlines() if line.startswith("Measuring")]
    assert [title.partition(" (")[0] for title in titles] == [
        "Measuring idle latencies for random access",
        "Measuring Peak Injection Memory Bandwidths for the system",
        "Measuring Memory Bandwidths between nodes within system",
        "Measuring Loaded Latencies for the system",
        "Measuring cache-to-cache transfer latency",
    ]
    assert re.findall(r"^ (\d{5})\t", done.stdout, re.MULTILINE) == ["00300"]
    assert "-\t" not in done.stdout


def test_json_is_all_of_stdout_and_the_run_file_has_the_rest() -> None:
    done = tierscope("mlc", "--peak_injection_bandwidth", *SHORT, "--json")
    document = json.loads(done.stdout)["mlc"]
    cells = document["sections"][0]["cells"]
    assert [cell["row"] for cell in cells] == [
        "ALL Reads", "3:1 Reads-Writes", "2:1 Reads-Writes", "1:1 Reads-Writes",
        "Stream-triad like",
    ]  # fmt: skip
    shown = json.loads(tierscope("show", document["run_file"], "--json").stdout)
    assert len(shown["results"]) == 5
    assert all(one["evidence"]["pages"] for one in shown["results"])
    assert "verified" in shown["results"][3]["evidence"]


def test_the_profile_is_shown_in_tables_of_our_own() -> None:
    done = tierscope("run", "--profile", "peak-injection", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "peak.W5" in done.stdout


def test_pages_that_there_are_none_of_are_said_with_the_remedy() -> None:
    done = tierscope("mlc", "--idle_latency", "-L", "-b1g", "-t0.1")
    if done.returncode == 0:
        pytest.skip("this machine has a pool of huge pages")
    assert done.returncode == 3
    assert "Each iteration took - base frequency clocks (\t-\tns)" in done.stdout
    assert "hugetlb pages of 2 MiB" in done.stderr


def test_a_wrong_request_is_one_line_and_status_2() -> None:
    done = tierscope("mlc", "--latency_matrix", "-W99")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "-W: '99' is not a type of traffic" in done.stderr


def test_help_and_version_measure_nothing() -> None:
    assert "usage: tierscope mlc" in tierscope("mlc", "--help").stdout
    assert "usage: tierscope mlc" in tierscope("mlc", "-h").stdout
    assert "Memory Latency Checker - v3.11b (tierscope" in tierscope("mlc", "--version").stdout
