"""MLC's per-thread files."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mlc.machines import made, two_sockets

from tierscope.model.errors import UserError
from tierscope.peers.mlc.options import MIXES
from tierscope.peers.mlc.threads_file import parse_threads

RANDOM = ("R", "W2", "W5", "W6")


def test_a_line_says_what_its_threads_move() -> None:
    one, two = parse_threads("# readers\n0-2 R seq 1024 dram 1\n\n5 W5 rand 64m dram 2\r\n", "f")
    assert one.cpus == (0, 1, 2)
    assert (one.mix.name, one.order, one.size) == ("R", "sequential", 1 << 20)
    assert [share.node for share in one.placement.nodes] == [1]
    assert (two.cpus, two.mix.name, two.order, two.size) == ((5,), "W5", "random", 64 << 20)


@pytest.mark.parametrize(
    ("percent", "weights"),
    [(25, {0: 3, 2: 1}), (50, {0: 1, 2: 1}), (33, {0: 67, 2: 33}), (0, {0: 1}), (100, {2: 1})],
)
def test_two_nodes_take_pages_in_turn(percent: int, weights: dict[int, int]) -> None:
    (line,) = parse_threads(f"0 W23 seq 1024 dram 0 dram 2 {percent}", "f")
    assert line.mix.name == "W3"
    assert {share.node: share.weight for share in line.placement.nodes} == weights
    assert line.placement.policy == ("weighted" if len(weights) > 1 else "bind")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "f: no line says what a thread does"),
        ("0 R seq 1024 dram", "f:1: 5 words, not 6"),
        ("x R seq 1024 dram 0", "f:1: endpoint 'cpus:x'"),
        ("0 W1 seq 1024 dram 0", "f:1: 'W1' is not one of R, W2"),
        ("0 W21 seq 1024 dram 0", "f:1: 'W21' is not one of R, W2"),
        ("0 R seq 1024 dram 0 dram 1 50", "f:1: 'R' is not one of W21, W23, W27"),
        ("0 R both 1024 dram 0", "f:1: 'both' is neither seq nor rand"),
        ("0 W3 rand 1024 dram 0", "f:1: rand goes with R, W2, W5, W6, not with W3"),
        ("0 R seq x dram 0", "f:1: 'x' is not a size"),
        ("0 R seq 1024 pmem /mnt", "f:1: 'pmem' is not dram; persistent memory is measured by"),
        ("0 R seq 1024 dram one", "f:1: 'one' is not the number of a node"),
        ("0 W21 seq 1024 dram 1 dram 1 50", "f:1: node 1 is named twice"),
        ("0 W21 seq 1024 dram 0 dram 1 101", "f:1: '101' is not a whole number from 0 to 100"),
        ("0-2 R seq 1024 dram 0\n2 R seq 1024 dram 1", "f:2: CPU 2 has a thread already, by f:1"),
    ],
)
def test_errors_name_the_line(text: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        parse_threads(text, "f")
    assert str(error.value).startswith(said)


def test_threads_that_do_the_same_are_one_stream(tmp_path: Path) -> None:
    file = tmp_path / "threads"
    file.write_text(
        "0-1 R seq 1024 dram 0\n2 R seq 1024 dram 0\n3 W5 seq 1024 dram 1\n"
        "4 W21 seq 1024 dram 0 dram 2 25\n"
    )
    (section,) = made(f"--loaded_latency -T -d0 -o{file}")
    (cell,) = section.cells
    spec = cell.spec.model_dump()
    assert spec["cpus"] == [0, 1, 2]
    assert spec["pattern"]["size"] == 3 << 20
    writers, mixed = spec["beside"]
    assert (writers["cpus"], writers["pattern"]["writes"]) == ([3], 100)
    assert writers["placement"]["nodes"] == [{"node": 1, "weight": 1}]
    assert mixed["placement"]["policy"] == "weighted"
    assert [one["pattern"]["pages"] for one in (spec, writers, mixed)] == ["thp", "thp", "base"]
    assert cell.parts == {"": 1.0, "stream2": 2.0, "stream3": 1.0}


def test_what_this_machine_lacks_is_said_by_line(tmp_path: Path) -> None:
    file = tmp_path / "threads"
    file.write_text("0 R seq 1024 dram 0\n99 R seq 1024 dram 0\n")
    with pytest.raises(UserError, match=r"threads:2: .*CPU 99 is not online"):
        made(f"--loaded_latency -T -o {file}")
    file.write_text("0 R seq 1024 dram 7\n")
    with pytest.raises(UserError, match=r"threads:1: .*there is no node 7"):
        made(f"--loaded_latency -T -o {file}")
    with pytest.raises(UserError, match="job file 'none' cannot be read"):
        made("--loaded_latency -T -o none")


def test_latency_is_measured_beside_one_kind_of_threads(tmp_path: Path) -> None:
    file = tmp_path / "threads"
    file.write_text("1 R seq 1024 dram 0\n2 R seq 1024 dram 0\n")
    (section,) = made(f"--loaded_latency -d0 -o {file}")
    assert section.cells[0].spec.model_dump()["load"]["cpus"] == [1, 2]
    file.write_text("1 R seq 1024 dram 0\n2 W5 seq 1024 dram 0\n")
    with pytest.raises(UserError, match="-o: threads has 2 kinds of threads"):
        made(f"--loaded_latency -d0 -o {file}")
    file.write_text("0 R seq 1024 dram 0\n")
    with pytest.raises(UserError, match="-o: CPU 0 measures the latency and cannot load"):
        made(f"--loaded_latency -d0 -o {file}")


def test_more_streams_than_run_together_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "threads"
    file.write_text("".join(f"{cpu} R seq {1024 + cpu} dram 0\n" for cpu in range(17)))
    with pytest.raises(UserError, match="17 different streams are to run together; at most 16"):
        made(f"--loaded_latency -T -d0 -o {file}", two_sockets(cores=8))


CPUS = st.integers(0, 500)
LINE = st.builds(
    lambda first, more, name, kib, node: (
        f"{first}-{first + more} {name} {'rand' if name in RANDOM else 'seq'} {kib} dram {node}"
    ),
    CPUS,
    st.integers(0, 8),
    st.sampled_from(sorted(MIXES)),
    st.integers(1, 1 << 20),
    st.integers(0, 1023),
)


@given(LINE)
def test_whole_lines_are_taken_as_they_are(line: str) -> None:
    (found,) = parse_threads(line, "f")
    cpus, name, order, kib, _, node = line.split()
    assert f"{found.cpus[0]}-{found.cpus[-1]}" == cpus
    assert (found.mix.name, found.size) == (name, int(kib) << 10)
    assert found.order == {"rand": "random", "seq": "sequential"}[order]
    assert found.placement.nodes[0].node == int(node)


@given(st.text(st.sampled_from("0123456789-, RW seqrandm\n#x%"), max_size=80))
def test_any_text_is_taken_or_refused_by_file_and_line(text: str) -> None:
    found, said = [], ""
    try:
        found = parse_threads(text, "f")
    except UserError as error:
        said = str(error)
    assert bool(found) == (not said)
    assert not said or said.startswith("f:")
    assert "\n" not in said
