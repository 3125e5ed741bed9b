"""Results of the STREAMer study: its folders, CSV, and what is neither."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamer.published import CSV, STREAM, write_folders
from tierscope.model.errors import UserError
from tierscope.peers.streamer.importer import as_csv, read_results
from tierscope.peers.streamer.study import Configuration, Memory, Point, Study

NAME = "noHT_Socket0_CXLDAX_Close_noFT_@mnt@pmem0_Arrays1000_Cores2"


def by_words(studies: list[Study]) -> dict[tuple[str, str, str], Configuration]:
    return {(one.machine, one.group, one.words): one for study in studies for one in study}


@pytest.mark.parametrize("tables", [True, False])
def test_folders_say_what_the_csv_says(tables: bool, tmp_path: Path) -> None:
    write_folders(tmp_path, tables)
    found, expected = (by_words(read_results(path, "x")) for path in (tmp_path, CSV))
    assert len(found) == 19
    assert found == expected


def test_memory_of_an_older_generation_is_another_machines() -> None:
    newer, older = read_results(CSV, "STREAMer")
    assert {one.memory.kind for one in older} == {"DDR4"}
    assert {one.memory.kind for one in newer} == {"DDR5", "CXL DDR4"}
    assert [(one.group, one.sockets, one.memory.name) for one in older] == [
        ("2a", (0,), "numa#1"), ("2b", (0, 1), "numa#0"), ("2b", (0, 1), "numa#1")
    ]  # fmt: skip


def test_every_figure_of_the_table_is_there() -> None:
    figures = sum(
        len(points)
        for study in read_results(CSV, "x")
        for one in study
        for points in one.points.values()
    )
    assert figures == 4 * (len(CSV.read_text().splitlines()) - 1)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (f"{NAME}/output_data.csv", "Threads,Copy\n1,2\n", "line 1: the columns are not"),
        (f"{NAME}/output.1.txt", "Copy:  12.0\n", "it is not STREAM's output"),
        (f"{NAME}/output.1.txt", STREAM.format(first="", copy=-1, scale=1, add=1, triad=1),
         "'-1.0' is not a rate in MB/s"),
        (f"{NAME}/notes", "", "it has neither output_data.csv nor output.THREADS.txt"),
        ("noHT_Socket0_Arrays1_Cores1/notes", "", "the name is not HT_SOCKETS_MEMORY"),
        ("other/notes", "", "no folder of STREAMer's results is below it"),
    ],
)  # fmt: skip
def test_folders_of_another_kind_are_refused(
    name: str, content: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(content)
    with pytest.raises(UserError) as refused:
        read_results(tmp_path, "x")
    assert str(tmp_path) in str(refused.value)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("group", "3a", "group '3a' is not one of 1a, 1b"),
        ("sockets", "both", "sockets 'both' are not as in Socket0Socket1"),
        ("memory", "DDR5", "memory 'DDR5' is not as in Socket0DDR5DAX"),
        ("affinity", "Near", "affinity 'Near' is neither Close nor Spread"),
        ("threads", "0", "'0' is not a number of threads"),
        ("threads", "\u0662", "is not a number of threads"),
        ("copy_MBps", "nan", "'nan' is not a rate in MB/s"),
        ("copy_MBps", "inf", "'inf' is not a rate in MB/s"),
    ],
)
def test_a_wrong_cell_is_named_by_its_line(
    column: str, value: str, said: str, tmp_path: Path
) -> None:
    rows = list(csv.DictReader(CSV.open()))
    rows[4][column] = value
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    path = tmp_path / "x.csv"
    path.write_text(text.getvalue())
    with pytest.raises(UserError) as refused:
        read_results(path, "x")
    assert f"{path}, line 6: " in str(refused.value)
    assert said in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"a,b\n1,2\n", b"\0" * 100, b"a" * 200_000])
def test_a_file_that_is_no_table_is_refused_in_one_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"x\.csv"):
        read_results(path, "x")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: No such file or directory"):
        read_results(tmp_path / "none.csv", "x")


RATE = st.integers(10_000, 4_000_000).map(lambda tenths: tenths * 1e5)
POINT = (
    st.tuples(RATE, RATE, RATE).map(sorted).map(lambda three: Point(three[1], three[0], three[2]))
)
POINTS = st.dictionaries(st.integers(1, 300), POINT, min_size=1, max_size=4)
MEMORY = st.builds(
    Memory,
    numbers=st.tuples(st.integers(0, 99)),
    kind=st.sampled_from(["DDR5", "DRAM", "CXL", "HBM", "CXL DDR4"]),
    socket=st.none() | st.integers(0, 7),
    persistent=st.booleans(),
    backing=st.sampled_from(["", "pool", "pool-objects"]),
)


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(["1a", "2b"]), MEMORY, st.sampled_from(["close", "spread"])),
        st.dictionaries(st.sampled_from(["copy", "triad"]), POINTS, min_size=1),
        min_size=1,
        max_size=4,
    )
)
def test_what_is_written_as_csv_is_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    found: dict[tuple[str, Memory, str], dict[str, dict[int, Point]]],
) -> None:
    made = [
        Configuration(group, "here", (0, 1), (1, 1), memory, affinity, points)
        for (group, memory, affinity), points in found.items()
    ]
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    path.write_text(as_csv([Study("here", made)]))
    (study,) = read_results(path, "other")
    assert study.machine == "here"
    read = {(c.group, c.memory, c.affinity): c.points for c in study}
    assert read == {(c.group, c.memory, c.affinity): c.points for c in made}
