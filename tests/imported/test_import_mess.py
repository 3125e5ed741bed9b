"""Mess's curves as runs. The files here were written for these tests."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forked import tierscope
from tierscope.kinds.loaded_latency.show import curves_of, idle_latencies, loaded_points
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement
from tierscope.peers.importing import Source
from tierscope.peers.mess import importer

CURVES = {
    "50": [[80.0, 400.0], [60.0, 150.0], [20.0, 110.0], [0.0, 100.0]],
    "100": [[0.0, 101.0], [30.0, 112.0], [90.0, 180.0], [100.0, 390.0]],
}
NEW_CSV = """read_pct_rounded,pause,bandwidth_mean,bandwidth_std,latency_mean,latency_smooth
75.0,5000.0,0.0,0.5,99.0,99.0
75.0,100.0,40.5,0.5,120.0,121.0
75.0,0.0,70.0,0.5,300.0,301.0
"""
OLD_CSV = """type,rd_percentage,pause,bandwidth_mean,latency_mean
DDR4,100,0,110.0,2000.0
DDR4,100,500,30.0,210.0
"""
LINES = "# a comment\n20000.0 400.0  # rd: 1, wr: 2\n10000.5\t200.0\n"


def read(
    name: str, content: str, clock: str | None = None, ends: tuple[str, str] | None = None
) -> list[Measurement]:
    return importer.read([Source(name, content.encode())], ends, clock).measurements


def points(found: list[Measurement]) -> dict[str, list[tuple[float, float]]]:
    return {
        curve[-1].pattern["mix"]: [
            (point.bandwidth / 1e9, point.latency)
            for point in sorted(loaded_points(curve), key=lambda point: -point.delay_ns)
        ]
        for curve in curves_of(found)
    }


def test_curves_in_json_are_gb_and_ns_in_either_order() -> None:
    found = read("memory_curves.json", json.dumps(CURVES))
    assert points(found) == {
        "50:50 bus": [(20.0, 110.0), (60.0, 150.0), (80.0, 400.0)],
        "100:0 bus": [(30.0, 112.0), (90.0, 180.0), (100.0, 390.0)],
    }
    assert [idle_latencies(curve) for curve in curves_of(found)] == [[100.0], [101.0]]
    assert {m.status for m in found} == {"imported"}
    assert {(m.initiator, m.target) for m in found} == {("unknown", "unknown")}


def test_a_path_may_be_given() -> None:
    found = read("memory_curves.json", json.dumps(CURVES), ends=("node:0", "node:2"))
    assert {(m.initiator, m.target) for m in found} == {("node:0", "node:2")}
    assert {m.pattern["load_to"] for m in found} == {"node:2"}


def test_the_csv_of_mess_2_is_in_ns() -> None:
    assert points(read("memory_curves.csv", NEW_CSV)) == {
        "75:25 bus": [(40.5, 120.0), (70.0, 300.0)]
    }


def test_the_csv_of_the_first_mess_asks_for_the_clock() -> None:
    with pytest.raises(UserError, match=r"a.csv:1: it does not say in which unit.*--clock 2.1ghz"):
        read("a.csv", OLD_CSV)
    assert points(read("a.csv", OLD_CSV, "2ghz")) == {
        "100:0 issued": [(30.0, 105.0), (110.0, 1000.0)]
    }
    assert points(read("a.csv", OLD_CSV, "ns"))["100:0 issued"][0] == (30.0, 210.0)


def test_a_file_a_curve_is_in_mb_and_has_its_share_in_its_name() -> None:
    with pytest.raises(UserError, match="--clock"):
        read("bwlat_64.txt", LINES)
    assert points(read("x/bwlat_64.txt", LINES, "2000 MHz")) == {
        "64:36 bus": [(10.0005, 100.0), (20.0, 200.0)]
    }


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", '{"50": [[1, 2], [3]]}', "a.json: 50[1]: not a point [GB/s, ns]"),
        ("a.json", '{"50": [[1, "x"]]}', "a.json: 50[0]: 'x' is not a latency"),
        ("a.json", '{"150": [[1, 2]]}', "a.json: 150: '150' is not a share of reads in percent"),
        ("a.json", '{"50": [[1,\n2]', "a.json:2: not JSON"),
        ("a.txt", LINES, "a.txt: neither Mess's JSON nor its CSV"),
        ("bwlat_50.txt", "1 2\n3 4 5\n", "bwlat_50.txt:2: 3 numbers, not a bandwidth"),
        ("bwlat_50.txt", "1 2\n3 x\n", "bwlat_50.txt:2: 'x' is not a number"),
        ("a.csv", NEW_CSV.replace("120.0", "x"), "a.csv:3: 'x' is not a number"),
        ("a.csv", f"{'a' * 200_000},{NEW_CSV}", "a.csv: neither Mess's JSON nor its CSV"),
        ("a.csv", NEW_CSV.replace("120.0", "1" * 200_000), "a.csv:3: not CSV: field larger"),
        ("a.csv", f"#{'a' * 200_000}\n{NEW_CSV}", "a.csv:1: not CSV: field larger"),
        ("a.txt", "a" * 200_000, "a.txt: neither Mess's JSON nor its CSV"),
        ("a.json", "", "a.json: the file is empty"),
        ("a.txt", "Measuring idle latencies (in ns)...\n", "a.txt: this is MLC's text; tierscope"),
        ("a.json", '[{"bm_name": "x"}]', "a.json: this is CXL-Bench's JSON; tierscope import"),
    ],
)
def test_errors_name_the_file_and_the_place(name: str, content: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        read(name, content, "ns")
    assert str(refused.value).startswith(said)


@pytest.mark.parametrize("clock", ["", "fast", "2.1", "0ghz", "1e9", "-2ghz", "9999ghz"])
def test_a_clock_is_a_frequency(clock: str) -> None:
    with pytest.raises(UserError, match="--clock"):
        read("a.csv", OLD_CSV, clock)


PIECES = st.sampled_from(
    [*json.dumps(CURVES).split(" "), *NEW_CSV.splitlines(), *OLD_CSV.splitlines(), *LINES.split()]
)


@given(
    st.binary(max_size=60)
    | st.lists(PIECES, max_size=8).map(lambda words: "\n".join(words).encode()),
    st.sampled_from(["bwlat_50.txt", "a.csv", "memory_curves.json"]),
)
def test_any_bytes_give_points_or_an_error_of_one_line(content: bytes, name: str) -> None:
    said = name
    try:
        assert importer.read([Source(name, content)], None, "2ghz").measurements
    except UserError as error:
        said = str(error)
    assert said.startswith(name)
    assert len(said.splitlines()) == 1


def test_the_command_draws_the_curves(tmp_path: Path) -> None:
    (tmp_path / "memory_curves.json").write_text(json.dumps(CURVES))
    file = tmp_path / "run.jsonl"
    done = tierscope("import", "mess", tmp_path / "memory_curves.json", "--from", "node:0", "--to",
                     "node:2", "--out", file)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "node:0 → node:2, load 50:50 bus" in done.stdout
    assert "400 (imported)" in done.stdout
    assert "knee" not in done.stdout
    drawn = tierscope("report", file, "--svg", tmp_path)
    assert drawn.returncode == 0, drawn.stderr
    (svg,) = tmp_path.glob("loaded*.svg")
    assert "Mess measured these figures" in svg.read_text()
