"""What the kernel's files tell, from trees of such files."""

from collections.abc import Callable
from pathlib import Path

import pytest

from counters.tree import Tree
from tierscope.machine import counters
from tierscope.machine.counters import Source, cgroup_sources, process_source, rates
from tierscope.machine.files import Files


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock is a second after the last."""
    seconds = iter(range(1000))
    monkeypatch.setattr("time.monotonic", lambda: float(next(seconds)))


def between(source: Source, change: Callable[[], None]) -> dict[tuple[str, str], float]:
    before = source.read()
    change()
    return dict(rates(before, source.read()))


def test_memory_by_node_and_a_node_that_comes(tree: Tree) -> None:
    node = "Node {0} MemTotal: 100 kB\nNode {0} MemFree: 60 kB\nNode {0} AnonPages: 8 kB\n"
    tree.write("/sys/devices/system/node/node0/meminfo", node.format(0))
    source = counters.memory_source(tree.files)
    assert source.read().levels == {
        ("memory_used", ""): 40 << 10,
        ("memory_used", "node 0"): 40 << 10,
        ("memory_anonymous", "node 0"): 8 << 10,
        ("memory_file", "node 0"): 0,
        ("memory_free", "node 0"): 60 << 10,
    }
    tree.write("/sys/devices/system/node/node2/meminfo", node.format(2))
    assert source.read().levels["memory_used", ""] == 80 << 10


def test_a_kernel_without_numa_has_its_memory_as_a_whole(tree: Tree) -> None:
    tree.write("/proc/meminfo", "MemTotal: 100 kB\nMemFree: 60 kB\nHugePages_Total: 0\n")
    assert counters.memory_source(tree.files).read().levels == {("memory_used", ""): 40 << 10}


PRESSURE = "some avg10=0.00 avg60=0.00 avg300=0.00 total={}\nfull avg10=0.00 total={}\n"


def test_pressure_is_a_share_of_time(tree: Tree) -> None:
    for what in ("memory", "io", "cpu"):
        tree.write(f"/proc/pressure/{what}", PRESSURE.format(1_000_000, 0))
    source = counters.pressure_source(tree.files)

    def stall() -> None:
        tree.write("/proc/pressure/io", PRESSURE.format(1_900_000, 300_000))

    found = between(source, stall)
    assert found["stalled", "io some"] == pytest.approx(0.9)
    assert found["stalled", "io full"] == pytest.approx(0.3)
    assert found["stalled", "memory some"] == 0
    assert ("stalled", "cpu full") not in found


@pytest.mark.parametrize(
    ("present", "remedy"), [(False, "use one that was built with CONFIG_PSI"), (True, "psi=1")]
)
def test_pressure_that_is_off_says_how_to_get_it(tree: Tree, present: bool, remedy: str) -> None:
    if present:
        tree.write("/proc/pressure/memory", "")  # reading it is refused: "not supported"
    source = counters.pressure_source(tree.files)
    assert not source.available
    (lacking,) = source.lacking
    assert remedy in lacking.remedy


def test_migrations_are_the_kernels_own_names(tree: Tree) -> None:
    text = "pgmigrate_success {}\npgdemote_kswapd 5\nnuma_hit 1\npgfault 9\n"
    tree.write("/proc/vmstat", text.format(100))
    source = counters.migrations_source(tree.files)
    found = between(source, lambda: tree.write("/proc/vmstat", text.format(164)))
    assert found == {
        ("pages_migrated", ""): 64,
        ("page_events", "pgdemote_kswapd"): 0,
        ("page_events", "numa_hit"): 0,
    }


DISK = "   8 0 {} {} 1 {} 5 {} 2 {} 7 0 {} 30 0 0 0 0\n"


def test_drives_are_those_with_a_device_and_their_busy_time_wraps_around(tree: Tree) -> None:
    tree.folder("/sys/block/sda/device")
    loop = DISK.format("loop0", 1, 1, 1, 1, 1)
    busy = (1 << 32) - 250  # milliseconds, in 32 bits
    tree.write("/proc/diskstats", loop + DISK.format("sda", 10, 100, 20, 200, busy))
    source = counters.drives_source(tree.files)

    def work() -> None:
        tree.write("/proc/diskstats", loop + DISK.format("sda", 13, 108, 24, 216, 250))

    assert between(source, work) == {
        ("read_throughput", "sda"): 8 * 512,
        ("write_throughput", "sda"): 16 * 512,
        ("read_iops", "sda"): 3,
        ("write_iops", "sda"): 4,
        ("busy", "sda"): pytest.approx(0.5),
    }


def test_a_drive_that_is_pulled_and_one_that_is_plugged_in(tree: Tree) -> None:
    for name in ("sda", "sdb"):
        tree.folder(f"/sys/block/{name}/device")
    tree.write("/proc/diskstats", DISK.format("sda", 10, 100, 20, 200, 5))
    source = counters.drives_source(tree.files)
    before = source.read()
    tree.write("/proc/diskstats", DISK.format("sdb", 999, 999, 999, 999, 999))
    middle = source.read()
    assert rates(before, middle) == {}, "what came has no rate yet, and what went none any more"
    tree.write("/proc/diskstats", DISK.format("sdb", 1000, 999, 999, 999, 999))
    assert rates(middle, source.read())["read_iops", "sdb"] == 1


def test_ports_with_a_device(tree: Tree) -> None:
    tree.folder("/sys/class/net/eth0/device")
    tree.folder("/sys/class/net/lo")
    statistics = "/sys/class/net/eth0/statistics"
    tree.write(f"{statistics}/rx_bytes", "1000")
    tree.write(f"{statistics}/tx_bytes", "10")
    source = counters.network_source(tree.files)
    found = between(source, lambda: tree.write(f"{statistics}/rx_bytes", "1500"))
    assert found == {("receive_throughput", "eth0"): 500, ("send_throughput", "eth0"): 0}


@pytest.mark.parametrize("make", [counters.drives_source, counters.network_source])
def test_what_is_not_there_is_said(tree: Tree, make: Callable[[Files], Source]) -> None:
    source = make(tree.files)
    assert not source.available
    assert source.lacking


def test_a_cgroup_has_memory_by_node_and_pressure(tree: Tree) -> None:
    tree.write("/cg/memory.numa_stat", "anon N0=4096 N2=8192\nfile N0=1\nkernel_stack N0=5\n")
    for what in ("memory", "io", "cpu"):
        tree.write(f"/cg/{what}.pressure", PRESSURE.format(1, 1))
    memory, pressure = cgroup_sources(tree.files, "/cg")
    assert memory.read().levels == {
        ("memory_used", "cgroup"): 12289,
        ("memory_used", "cgroup node 0"): 4097,
        ("memory_used", "cgroup node 2"): 8192,
    }
    assert ("stalled", "cgroup memory some") in pressure.read().counts


def test_a_cgroup_without_its_controller_says_what_to_enable(tree: Tree) -> None:
    tree.folder("/cg")
    memory, pressure = cgroup_sources(tree.files, "/cg")
    assert not memory.available
    assert "cgroup.subtree_control" in memory.lacking[0].remedy
    assert not pressure.available


def test_a_process_has_memory_by_node_until_it_ends(tree: Tree) -> None:
    maps = "7f00 default anon=3 N0=1 N1=2 kernelpagesize_kB=4\n"
    tree.write("/proc/7/numa_maps", maps)
    source = process_source(tree.files, 7)
    assert source.read().levels == {
        ("memory_used", "pid 7"): 12288,
        ("memory_used", "pid 7 node 0"): 4096,
        ("memory_used", "pid 7 node 1"): 8192,
    }
    (tree.root / "proc/7/numa_maps").unlink()
    assert source.read().levels == {("memory_used", "pid 7"): 0}
