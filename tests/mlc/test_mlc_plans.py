"""What MLC's modes measure on a machine with two sockets and CXL memory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.mlc.machines import made, one_cpu, two_sockets

from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.model.errors import UserError
from tierscope.peers.mlc import plan
from tierscope.peers.mlc.plan import base_hz, clocked_ns, prepare

MIB = 1 << 20
FIRST, SECOND = [0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]
"""CPUs of either socket, one of each core first."""


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "base_hz", lambda: 2e9)


def specs(words: str) -> list[dict[str, Any]]:
    """The specs of a mode, as the plan has them."""
    (section,) = made(words)
    plan = Plan(version=PLAN_VERSION, measurements=[cell.spec for cell in section.cells])
    return [spec.model_dump() for spec in plan.measurements]


def test_a_bare_command_line_measures_every_cell_once() -> None:
    found = made("")
    assert [len(section.cells) for section in found] == [6, 5, 6, 19, 6]
    ids = [cell.spec.id for section in found for cell in section.cells]
    assert len(set(ids)) == len(ids)
    Plan(version=PLAN_VERSION, measurements=[c.spec for s in found for c in s.cells])


def test_latency_goes_from_each_node_s_first_cpu_to_each_memory() -> None:
    ways = [(s["cpu"], s["placement"]["nodes"][0]["node"]) for s in specs("--latency_matrix")]
    assert ways == [(0, 0), (0, 1), (0, 2), (4, 0), (4, 1), (4, 2)]


def test_cpus_that_move_data_are_not_those_of_latency() -> None:
    found = {section.mode: section.cells for section in made("-k5-7 -X")}
    assert {cell.spec.thread_cpus()[0] for cell in found["latency_matrix"]} == {0, 4}
    assert {cell.row for cell in found["bandwidth_matrix"]} == {1}
    assert found["peak_injection_bandwidth"][0].spec.thread_cpus() == [5, 6, 7]
    assert found["loaded_latency"][0].spec.thread_cpus() == [0, 5, 6, 7]
    assert len(found["c2c_latency"]) == 6


@pytest.mark.parametrize(
    ("words", "pattern"),
    [
        ("", {"order": "page-random", "stride": 256, "pages": "thp"}),
        ("-D256k", {"order": "page-random"}),
        ("-D1m -l128", {"order": "random", "stride": 128}),
        ("-b64m -L", {"size": 64 * MIB, "pages": "2m"}),
        ("-b1", {"size": 1024, "stride": 256}),
    ],
)
def test_latency_s_pattern_follows_options(words: str, pattern: dict[str, Any]) -> None:
    (spec,) = specs(f"--idle_latency {words}")
    assert spec["pattern"] | pattern == spec["pattern"]
    assert (spec["cpu"], spec["prefetchers"]) == (0, "as-found")


@pytest.mark.parametrize(
    ("words", "cpu", "node"),
    [("-c5", 5, 1), ("-c5 -i0", 5, 0), ("-c1 -j2", 1, 2), ("-c1 -i0 -j2", 1, 2), ("-j 1", 0, 1)],
)
def test_latency_s_cpu_and_memory_are_chosen(words: str, cpu: int, node: int) -> None:
    (spec,) = specs(f"--idle_latency {words}")
    assert (spec["cpu"], spec["placement"]["nodes"][0]["node"]) == (cpu, node)


def test_every_cpu_measures_its_own_memory() -> None:
    assert [spec["cpu"] for spec in specs("--idle_latency -a")] == list(range(16))
    assert [spec["cpu"] for spec in specs("--idle_latency -a -X")] == list(range(8))


def test_bandwidth_has_a_buffer_for_each_thread() -> None:
    found = specs("--bandwidth_matrix -b64m")
    assert [spec["cpus"] for spec in found] == [FIRST] * 3 + [SECOND] * 3
    assert {spec["pattern"]["size"] for spec in found} == {8 * 64 * MIB}
    mixed = specs("--bandwidth_matrix -b64m -W2")  # one of reads and one of writes
    assert {spec["pattern"]["size"] for spec in mixed} == {2 * 8 * 64 * MIB}
    assert specs("--bandwidth_matrix -b64m -W5")[0]["pattern"]["size"] == 8 * 64 * MIB


def test_bandwidth_follows_options() -> None:
    spec = specs("--bandwidth_matrix -X -U -Z -L -W8 -t0.5")[0]
    assert spec["cpus"] == [0, 1, 2, 3]
    pattern = {"writes": 50, "stores": "nt", "order": "random", "access_size": 64,
               "isa": "avx512", "pages": "2m"}  # fmt: skip
    assert spec["pattern"] | pattern == spec["pattern"]
    assert spec["sampling"]["budget_s"] == 0.5
    assert specs("--bandwidth_matrix -Y")[0]["pattern"]["isa"] == "avx2"
    assert [spec["cpus"] for spec in specs("--bandwidth_matrix -k0-1,9")] == [[0, 1, 9]] * 3


@pytest.mark.parametrize(("words", "operation"), [("-W10", "triad-nt"), ("-W11", "triad")])
def test_two_read_buffers_are_measured_as_triad(words: str, operation: str) -> None:
    spec = specs(f"--bandwidth_matrix {words} -b64m")[2]
    assert (spec["kind"], spec["pattern"]["operation"]) == ("bandwidth", operation)
    assert spec["pattern"]["size"] == 8 * 64 * MIB
    assert spec["placement"]["nodes"] == [{"node": 2, "weight": 1}]


def test_peak_injection_goes_to_each_node_s_own_memory_at_once() -> None:
    *streams, triad = specs("--peak_injection_bandwidth -b64m")
    assert [spec["pattern"]["writes"] for spec in streams] == [0, 33, 50, 100]
    for spec in streams:
        (other,) = spec["beside"]
        assert (spec["cpus"], other["cpus"]) == (FIRST, SECOND)
        nodes = [one["placement"]["nodes"][0]["node"] for one in (spec, other)]
        assert nodes == [0, 1]
    assert triad["cpus"] == FIRST + SECOND
    assert triad["placement"]["policy"] == "first-touch"
    assert triad["placement"]["nodes"] == [{"node": 0, "weight": 1}, {"node": 1, "weight": 1}]


def test_small_buffers_on_several_nodes_have_small_pages() -> None:
    """A huge page would hold buffers of threads on both sides."""
    for size, pages in (("1m", "base"), ("64m", "thp")):
        *streams, triad = specs(f"--peak_injection_bandwidth -b{size}")
        assert triad["pattern"]["pages"] == pages
        assert {spec["pattern"]["pages"] for spec in streams} == {"thp"}
        assert specs(f"--loaded_latency -b{size}")[0]["load"]["pattern"]["pages"] == pages
    assert specs("--peak_injection_bandwidth -b1m -L")[4]["pattern"]["pages"] == "2m"


def test_where_a_node_has_cpus_and_no_memory_its_threads_go_to_the_nearest() -> None:
    machine = two_sockets()
    bare = machine.nodes[1].model_copy(update={"total_bytes": 0, "distances": {0: 21, 2: 17}})
    machine = machine.model_copy(update={"nodes": [machine.nodes[0], bare, machine.nodes[2]]})
    (section,) = made("--peak_injection_bandwidth", machine)
    for cell in section.cells:  # triad, too, whose buffers nobody could touch first there
        (other,) = cell.spec.model_dump()["beside"]
        assert other["placement"]["nodes"][0]["node"] == 2
    (grid,) = made("--latency_matrix", machine)
    assert grid.columns == (0, 2)
    assert {cell.row for cell in grid.cells} == {0, 1}


def test_the_best_bandwidth_is_sought_over_numbers_of_threads() -> None:
    counts = [
        len(spec["cpus"]) + sum(len(one["cpus"]) for one in spec.get("beside", []))
        for spec in specs("--max_bandwidth")
    ]
    assert counts == [16] * 5 + [8] * 5 + [4] * 5


def test_the_profile_and_the_mode_measure_the_same() -> None:
    prepared = prepare("peak-injection", two_sockets(), True)
    (section,) = made("--peak_injection_bandwidth")
    assert prepared.plan.measurements == [cell.spec for cell in section.cells]
    assert "2:1 non-temporal, two read buffers" in prepared.notes[0]


def test_load_comes_from_all_other_cpus_each_to_its_own_node() -> None:
    found = specs("--loaded_latency -b64m")
    load = found[0]["load"]
    assert found[0]["cpu"] == 0
    assert load["cpus"] == FIRST[1:] + SECOND
    assert load["placement"]["policy"] == "partition"
    # A thread's share is 64 MiB, and the ranges are of 7 and of 8 shares.
    assert load["placement"]["nodes"] == [{"node": 0, "weight": 7}, {"node": 1, "weight": 8}]
    assert load["pattern"]["size"] == 15 * 64 * MIB
    assert specs("--loaded_latency -X")[0]["load"]["cpus"] == [1, 2, 3, 4, 5, 6, 7]


def test_load_follows_options(tmp_path: Path) -> None:
    spec = specs("--loaded_latency -d300 -c4 -k0-1 -j2 -W7")[0]
    assert (spec["cpu"], spec["load"]["cpus"]) == (4, [0, 1])
    assert spec["placement"]["nodes"][0]["node"] == 2
    assert spec["load"]["placement"] == spec["placement"]
    assert spec["load"]["pattern"]["writes"] == 33
    assert spec["load"]["pattern"]["delay_ns"] == 1200
    delays = tmp_path / "delays"
    delays.write_text("0\n\n500\n")
    found = specs(f"--loaded_latency -g{delays}")
    assert [one["load"]["pattern"]["delay_ns"] for one in found] == [0, 2000]
    delays.write_text("5\nsoon\n")
    with pytest.raises(UserError, match="delays:2: 'soon' is not a whole number"):
        specs(f"--loaded_latency -g{delays}")


def test_without_latency_all_cpus_load() -> None:
    (spec,) = specs("--loaded_latency -T -d0")
    assert (spec["cpus"], spec["beside"][0]["cpus"]) == (FIRST, SECOND)
    (spec,) = specs("--loaded_latency -T -d0 -k0-2 -j2")
    assert (spec["cpus"], spec["placement"]["nodes"][0]["node"]) == ([0, 1, 2], 2)


def test_128_bytes_go_with_as_many_clocks_as_the_delay() -> None:
    assert clocked_ns(300, 2e9) == 1200  # 1024 bytes in 8 x 300 clocks of 0.5 ns
    assert clocked_ns(0, 2e9) == 0


def test_core_to_core_goes_within_a_socket_and_between_nodes() -> None:
    found = specs("--c2c_latency")
    ways = [
        (s["writer"], s["cpu"], s["placement"]["nodes"][0]["node"], s["pattern"]["state"])
        for s in found
    ]
    assert ways == [
        (1, 0, 0, "clean"), (1, 0, 0, "modified"),
        (0, 4, 0, "modified"), (4, 0, 1, "modified"),
        (0, 4, 1, "modified"), (4, 0, 0, "modified"),
    ]  # fmt: skip
    chosen = specs("--c2c_latency -c2 -w3")[0]
    assert (chosen["writer"], chosen["cpu"]) == (3, 2)
    with pytest.raises(UserError, match="-w: CPU 2 reads already"):
        specs("--c2c_latency -c2 -w2")


def test_one_cpu_measures_what_it_can() -> None:
    found = {section.mode: section for section in made("", one_cpu())}
    assert len(found["peak_injection_bandwidth"].cells) == 5
    assert found["loaded_latency"].cells == found["c2c_latency"].cells == ()
    assert "no other is left to load" in found["loaded_latency"].missing
    assert "has no other core" in found["c2c_latency"].missing
    with pytest.raises(UserError, match="no other is left to load; with -T it loads alone"):
        made("--loaded_latency", one_cpu())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--loaded_latency -k0-3", "-k: CPU 0 measures the latency and cannot load, too"),
        ("--loaded_latency -B", "-B: the bandwidth of each thread is measured with -T only"),
        ("--bandwidth_matrix -k99", "-k: CPU 99 is not online; this machine's CPUs are 0-15"),
        ("--idle_latency -c99", "-c: CPU 99 is not online"),
        ("--idle_latency -j9", "-j: there is no node 9; this machine's nodes are 0-2"),
    ],
)
def test_what_this_machine_lacks_is_refused_by_option(words: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        made(words)
    assert said in str(error.value)


@pytest.fixture
def root(tmp_path: Path) -> Callable[..., Path]:
    """A machine's files."""

    def write(cpuinfo: str, base: str = "") -> Path:
        (tmp_path / "proc").mkdir()
        (tmp_path / "proc/cpuinfo").write_text(cpuinfo)
        if base:
            folder = tmp_path / "sys/devices/system/cpu/cpu0/cpufreq"
            folder.mkdir(parents=True)
            (folder / "base_frequency").write_text(base)
        return tmp_path

    return write


@pytest.mark.parametrize(
    ("cpuinfo", "base", "hz"),
    [
        ("model name\t: Example @ 2.10GHz\ncpu MHz\t\t: 800.0\n", "2000000\n", 2.0e9),
        ("model name\t: Example @ 2.10GHz\ncpu MHz\t\t: 800.0\n", "", 2.1e9),
        ("model name\t: Example 9000\ncpu MHz\t\t: 2596.14\n", "", 2.59614e9),
    ],
)
def test_the_clock_is_the_base_frequency(
    root: Callable[..., Path], cpuinfo: str, base: str, hz: float
) -> None:
    assert base_hz(root(cpuinfo, base)) == pytest.approx(hz)


def test_an_unknown_clock_is_an_error(root: Callable[..., Path]) -> None:
    with pytest.raises(UserError, match="the CPU's base frequency"):
        base_hz(root("Features : fp\n"))
