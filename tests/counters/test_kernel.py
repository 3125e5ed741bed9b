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


LINE = "   9 0 {name} {reads} 0 {sectors} {ms} 0 0 0 0 0 5 5 0 0 0 0\n"


def test_an_array_counts_too_and_a_request_s_time_is_a_mean_of_requests(tree: Tree) -> None:
    tree.folder("/sys/block/md0/md")
    tree.write("/proc/diskstats", LINE.format(name="md0", reads=10, sectors=80, ms=100))
    source = counters.requests_source(tree.files)
    assert counters.drives_source(tree.files).available

    def work() -> None:
        tree.write("/proc/diskstats", LINE.format(name="md0", reads=14, sectors=1104, ms=106))

    found = between(source, work)
    assert found["read_await", "md0"] == 1.5e6, "6 ms of 4 reads"
    assert found["read_request_size", "md0"] == 128 << 10
    assert ("write_await", "md0") not in found, "nothing was written"


def test_iowait_is_a_share_of_all_cpus_time(tree: Tree) -> None:
    tree.write("/proc/stat", "cpu  0 0 0 500 0 0 0 0 0 0\ncpu0 0 0 0 500 0 0 0 0 0 0\n")
    source = counters.cpus_source(tree.files)
    found = between(source, lambda: tree.write("/proc/stat", "cpu  90 0 10 540 50 0 0 10 0 0\n"))
    assert found == {("busy", ""): 0.5, ("iowait", ""): 0.25, ("steal", ""): 0.05}


MOUNT = """device server:/data mounted on /mnt/nfs with fstype nfs4 statvers=1.1
\tper-op statistics
\t        READ: {reads} {reads} 0 100 {size} 5 80 {ms} 0
\t       WRITE: 0 0 0 0 0 0 0 0 0
"""


def test_nfs_mounts_have_rates_and_times_of_requests(tree: Tree) -> None:
    tree.write("/proc/self/mountstats", MOUNT.format(reads=10, size=4096, ms=50))
    source = counters.nfs_source(tree.files)
    after = MOUNT.format(reads=14, size=4096 + (4 << 20), ms=62)
    found = between(source, lambda: tree.write("/proc/self/mountstats", after))
    assert found["read_throughput", "/mnt/nfs"] == 4 << 20
    assert (found["read_iops", "/mnt/nfs"], found["operations", "/mnt/nfs"]) == (4, 4)
    assert found["read_await", "/mnt/nfs"] == 3e6


NVIDIA_FS = """GDS Version: 1.0.0.80
Reads                           : n={reads} ok={reads} err=0 readMiB={mib} io_state_err=0
Reads                           : Bandwidth(MiB/s)=13081 Avg-Latency(usec)=9773
Writes                          : n=7 ok=7 err=0 writeMiB=3 io_state_err=0 pg-cache=0
GPU 0000:be:00.0  uuid:87e5c586-88ed-583b-df45-fcee0f1e7917 : Registered_MiB=0 \
cross_root_port(%)=25
"""


def test_nvidia_fs_counts_and_says_what_crosses_root_ports(tree: Tree) -> None:
    file = "/proc/driver/nvidia-fs/stats"
    tree.write(file, NVIDIA_FS.format(reads=100, mib=1000))
    source = counters.nvidia_fs_source(tree.files)
    found = between(source, lambda: tree.write(file, NVIDIA_FS.format(reads=108, mib=1002)))
    assert found == {
        ("read_throughput", ""): 2 << 20,
        ("read_iops", ""): 8,
        ("write_throughput", ""): 0,
        ("write_iops", ""): 0,
        ("crossing_root_ports", "0000:be:00.0"): 0.25,
    }
    assert counters.nfs_source(tree.files).available is False


PEER_AFFINITY = """\
GPU P2P DMA distribution based on pci-distance

(last column indicates p2p via root complex)
GPU :0000:be:00.0:0 0 {near} 0 {far}
GPU :0000:e7:00.0 :0 0 0 0 0
"""


def test_nvidia_fs_says_how_far_the_peers_of_dma_are(tree: Tree) -> None:
    file = "/proc/driver/nvidia-fs/peer_affinity"
    tree.write("/proc/driver/nvidia-fs/stats", NVIDIA_FS.format(reads=100, mib=1000))
    tree.write(file, PEER_AFFINITY.format(near=100, far=5))
    source = counters.nvidia_fs_source(tree.files)
    found = between(source, lambda: tree.write(file, PEER_AFFINITY.format(near=140, far=7)))
    assert {key: rate for key, rate in found.items() if key[0] == "peer_dma"} == {
        ("peer_dma", "0000:be:00.0 distance 3"): 40,
        ("peer_dma", "0000:be:00.0 root complex"): 2,
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
    tree.write(f"{statistics}/rx_packets", "20")
    source = counters.network_source(tree.files)
    found = between(source, lambda: tree.write(f"{statistics}/rx_bytes", "1500"))
    assert found == {
        ("receive_throughput", "eth0"): 500,
        ("send_throughput", "eth0"): 0,
        ("receive_packets", "eth0"): 0,
        ("send_packets", "eth0"): 0,
    }


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
