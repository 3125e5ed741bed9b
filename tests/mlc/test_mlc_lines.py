"""MLC's command lines: what is taken, what is refused, and with which words."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.model.errors import UserError
from tierscope.peers.mlc.options import BARE, BY_FLAG, MODES, buffer_bytes, parse_line, remarks
from tierscope.peers.mlc.run import help_text

MIB = 1 << 20


def test_without_a_mode_five_are_measured_in_mlc_s_order() -> None:
    assert parse_line([]).modes == (
        "latency_matrix",
        "peak_injection_bandwidth",
        "bandwidth_matrix",
        "loaded_latency",
        "c2c_latency",
    )
    assert parse_line(["-X"]).modes == BARE


@pytest.mark.parametrize("mode", MODES)
def test_a_mode_stands_alone(mode: str) -> None:
    assert parse_line([f"--{mode}", "-b500m", "-X"]).modes == (mode,)


def test_values_stand_behind_their_option_or_apart() -> None:
    for words in ("-b500m -t4 -W5", "-b 500m -t 4 -W 5", "-W5 -t4 -b512000"):
        line = parse_line(["--bandwidth_matrix", *words.split()])
        assert line.of("b") == 500 * MIB
        assert line.of("t") == 4
        assert line.of("W").name == "W5"


def test_arguments_are_repeated_as_mlc_repeats_them() -> None:
    line = parse_line(["--loaded_latency", "-d0", "--json"])
    assert line.shown == "--loaded_latency -d0"
    assert line.json


def test_older_versions_name_of_peak_injection_stays() -> None:
    assert parse_line(["--peak_bandwidth"]).modes == ("peak_injection_bandwidth",)


@pytest.mark.parametrize(
    ("text", "size"), [("1", 1 << 10), ("100000", 100000 << 10), ("500m", 500 * MIB),
                       ("2g", 2 << 30), ("64k", 64 << 10), ("2G", 2 << 30)],
)  # fmt: skip
def test_buffers_are_in_kib_or_say_their_unit(text: str, size: int) -> None:
    assert buffer_bytes(text) == size


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("-b", "-b needs SIZE"),
        ("-bx", "-b: 'x' is not a size"),
        ("-b0", "-b: '0' is not a buffer of 1 KiB to 1 TiB"),
        ("-b2t", "-b: '2t' is not a buffer"),
        ("-W1", "-W: '1' is not a type of traffic; types: 2, 3"),
        ("-t0", "-t: '0' is out of range"),
        ("-tsoon", "-t: 'soon' is not a time"),
        ("-d-1", "-d: '-1' is not a whole number from 0"),
        ("-l100", "-l: '100' is not a multiple of 64 bytes"),
        ("-d0 -d2", "-d is given twice"),
        ("-d0 -gx", "-d and -g contradict each other"),
        ("-R -W5", "-R and -W contradict each other"),
        ("-Y -Z", "-Y and -Z contradict each other"),
        ("-u", "-u is refused: threads that share a buffer"),
        ("-J/mnt", "-J is refused: persistent memory is measured by"),
        ("-m3", "-m is refused: name CPUs in -k"),
        ("-q", "unknown option -q; see 'tierscope mlc --help'"),
        ("extra", "'extra' belongs to no option"),
        ("--latency_matrx", "did you mean '--latency_matrix'"),
        ("--latency_matrix --idle_latency", "--idle_latency stands beside --latency_matrix"),
        ("--memory_bandwidth_scan", "--memory_bandwidth_scan is refused: it goes by physical"),
        ("--idle_latency=3", "--idle_latency takes no value"),
        ("--p", "--p is short for several modes"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(words: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        parse_line(words.split())
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_what_changes_nothing_is_said_and_no_error() -> None:
    line = parse_line(["--idle_latency", "-W3", "-v", "-x20", "-c0"])
    mode, verbose, iterations = remarks(line)
    assert mode == "-W changes nothing with --idle_latency"
    assert verbose == "-v changes nothing: the run file has everything"
    assert iterations.startswith("-x changes nothing: -t limits the time, and an interval")
    assert remarks(parse_line(["-e", "-X", "-c0", "-w1"])) == []


def test_help_has_every_option_and_mode() -> None:
    text = help_text()
    for flag, option in BY_FLAG.items():
        assert f"  -{flag}" in text or (option.refused and f"-{flag}" in text)
    for mode in MODES:
        assert f"--{mode}" in text
    assert max(map(len, text.splitlines())) <= 100


@given(st.lists(st.text(string.printable, max_size=12), max_size=6))
def test_any_words_are_taken_or_refused_in_one_line(words: list[str]) -> None:
    said, given_flags = "", set()
    try:
        given_flags = set(parse_line(words).given)
    except UserError as error:
        said = str(error)
    assert "\n" not in said
    assert given_flags <= set(BY_FLAG)


@given(st.integers(1, 1 << 30))
def test_whole_kib_give_their_bytes(kib: int) -> None:
    assert buffer_bytes(str(kib)) == kib << 10
    assert buffer_bytes(f"{kib}k") == kib << 10
