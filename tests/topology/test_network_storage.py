"""Mounts of NFS: the route to the server, the NIC, the limit, and what the kernel counts."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import synthetic
from topology_machines import (
    BRIDGE_CLASS,
    GPU_CLASS,
    MELLANOX,
    NIC_CLASS,
    NVIDIA,
    FakeNvml,
    Sysfs,
    fake_gpu,
)

from tierscope.engine.targets import counted, with_targets
from tierscope.kinds.io.show import network_lines
from tierscope.machine.discover import discover
from tierscope.machine.files import Files
from tierscope.machine.network import (
    interface_to,
    nfs_counts,
    nfs_facts,
    nvidia_fs_errors,
    physical,
    port_counts,
)
from tierscope.machine.paths import MachinePaths
from tierscope.machine.storage_facts import storage_facts
from tierscope.machine.storage_paths import near_and_far, reach
from tierscope.model.endpoint import parse_endpoint
from tierscope.model.event import Evidence, Repetition, Series
from tierscope.model.path import Limit
from tierscope.model.storage import Access, MountFacts, PathFacts, StorageFacts
from tierscope.model.topology import Topology
from tierscope.report.evidence import evidence_line, targets_text, warnings

ROUTES = """\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0
eth0\t0000000A\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0
ib0\t0001A8C0\t00000000\t0001\t0\t0\t200\t00FFFFFF\t0\t0\t0
ib1\t0001A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0
down\t0101A8C0\t00000000\t0000\t0\t0\t0\tFFFFFFFF\t0\t0\t0
none\t0201A8C0\t00000000\t0201\t0\t0\t0\tFFFFFFFF\t0\t0\t0
"""
ROUTES6 = """\
fd000000000000000000000000000000 40 00000000000000000000000000000000 00 \
00000000000000000000000000000000 00000100 00000001 00000000 00000001 ib1
00000000000000000000000000000000 00 00000000000000000000000000000000 00 \
fe800000000000000000000000000001 00000400 00000001 00000000 00000003 eth0
"""
TRIE = """\
Local:
  +-- 0.0.0.0/0 3 0 5
        |-- 10.0.0.5
           /32 host LOCAL
        |-- 10.0.0.255
           /32 link BROADCAST
"""
OPTIONS = (
    "rw,vers=4.2,rsize=1048576,wsize=524288,hard,proto=tcp,nconnect=4,timeo=600,"
    "clientaddr=10.0.0.5,addr={}"
)


@pytest.fixture
def sysfs(tmp_path: Path) -> Sysfs:
    tree = Sysfs(tmp_path)
    tree.two_packages()
    tree.write("/proc/net/route", ROUTES.rstrip())
    tree.write("/proc/net/ipv6_route", ROUTES6.rstrip())
    tree.write("/proc/net/fib_trie", TRIE.rstrip())
    tree.write("/proc/net/if_inet6", "fd000000000000000000000000000005 02 40 00 80     ib1")
    return tree


@pytest.mark.parametrize(
    ("address", "interface"),
    [
        ("10.0.0.9", "eth0"),
        ("8.8.8.8", "eth0"),
        ("192.168.1.7", "ib1"),  # two of one length: the lower metric
        ("192.168.1.1", "ib1"),  # its own route is down
        ("192.168.1.2", "ib1"),  # its own route rejects
        ("10.0.0.5", "lo"),
        ("127.0.0.2", "lo"),
        ("::1", "lo"),
        ("fd00::7", "ib1"),
        ("fd00::5", "lo"),
        ("2001:db8::1%eth0", "eth0"),
        ("server", ""),
        ("", ""),
    ],
)
def test_the_longest_prefix_leads_to_a_server(sysfs: Sysfs, address: str, interface: str) -> None:
    assert interface_to(Files(sysfs.root), address) == interface


def test_without_a_route_no_interface_is_known(tmp_path: Path) -> None:
    assert interface_to(Files(tmp_path), "10.0.0.9") == ""


@given(st.text(max_size=40))
def test_any_address_has_an_interface_or_none(text: str) -> None:
    assert interface_to(Files("/nowhere"), text) in ("", "lo")


def nic(sysfs: Sysfs, bus: int, name: str, megabits: int, node: int = 0, number: int = 0) -> str:
    made = sysfs.pci(
        f"0000:{bus - 1:02x}/0000:{bus - 1:02x}:00.0/0000:{bus:02x}:00.0",
        NIC_CLASS, MELLANOX, node=node, now=(16.0, 16), best=(16.0, 16),
    )  # fmt: skip
    interface(sysfs, made, name, megabits)
    return made


def interface(sysfs: Sysfs, device: str, name: str, megabits: int) -> None:
    place = f"{device}/net/{name}"
    sysfs.write(f"{place}/speed", megabits)
    sysfs.write(f"{place}/operstate", "up")
    sysfs.write(f"{place}/mtu", 9000)
    sysfs.link(f"{place}/device", device)
    sysfs.link(f"/sys/class/net/{name}", place)


def mount(sysfs: Sysfs, path: str, address: str, kind: str = "nfs4") -> None:
    file = sysfs.root / "proc/self/mountinfo"
    before = file.read_text() if file.exists() else ""
    line = f"40 1 0:44 / {path} rw - {kind} {address}:/x {OPTIONS.format(address)}"
    sysfs.write("/proc/self/mountinfo", before + line)


def limit(topology: Topology, *targets: str, initiator: str = "node:0") -> Limit | None:
    ways = [(initiator, target) for target in targets]
    return MachinePaths(topology).storage_limit(ways, Access())


def test_mounts_have_the_sum_of_distinct_nics(sysfs: Sysfs) -> None:
    nic(sysfs, 0x18, "eth0", 100_000)
    nic(sysfs, 0x28, "ib1", 200_000, node=1)
    for path, address in (("/a", "10.0.0.9"), ("/b", "10.0.0.10"), ("/c", "192.168.1.7")):
        mount(sysfs, path, address)
    topology = discover(sysfs.root)
    one = limit(topology, "file:/a")
    assert one is not None
    assert (one.value, one.link) == (12.5e9, "network port eth0")
    same = limit(topology, "file:/a", "file:/b")
    assert same is not None
    assert same.value == 12.5e9
    both = limit(topology, "file:/a", "file:/b", "file:/c")
    assert both is not None
    assert both.value == pytest.approx(12.5e9 + 25e9)
    assert both.link == "network port eth0 and network port ib1"


def test_the_way_to_a_server_goes_over_the_nics_own_link_and_node(sysfs: Sysfs) -> None:
    nic(sysfs, 0x28, "ib1", 400_000, node=1)
    mount(sysfs, "/c", "192.168.1.7")
    topology = discover(sysfs.root)
    path = MachinePaths(topology).path("node:0", "file:/c")
    assert [hop.name for hop in path.hops][1:] == ["NIC ib1", "port ib1"]
    assert path.hops[0].role == "interconnect"
    assert path.limit is not None
    assert path.limit.link == "PCIe 4.0 x16 at 0000:28:00.0"
    assert near_and_far(topology, parse_endpoint("file:/c")) == ([1], [0])


def test_a_gpu_and_a_nic_below_one_switch_meet_there(sysfs: Sysfs) -> None:
    port = "0000:16/0000:16:00.0"
    switch = f"{port}/0000:17:00.0"
    for bridge in (port, switch):
        sysfs.pci(bridge, BRIDGE_CLASS, node=0, now=(16.0, 16), best=(16.0, 16))
    below = {"now": (16.0, 16), "best": (16.0, 16), "node": 0}
    made = sysfs.pci(f"{switch}/0000:18:00.0/0000:19:00.0", NIC_CLASS, MELLANOX, **below)
    sysfs.pci(f"{switch}/0000:18:01.0/0000:1a:00.0", GPU_CLASS, NVIDIA, **below)
    interface(sysfs, made, "eth0", 100_000)
    mount(sysfs, "/a", "10.0.0.9")
    topology = discover(sysfs.root, FakeNvml([fake_gpu("1a")]))
    hops = MachinePaths(topology).path("gpu:0", "file:/a").hops
    assert [hop.name for hop in hops if hop.name.startswith(("NIC", "port", "switch"))] == [
        "NIC eth0", "port eth0",
    ]  # fmt: skip


def test_the_members_of_a_bond_carry_packets_side_by_side(sysfs: Sysfs) -> None:
    nic(sysfs, 0x18, "eth0", 100_000)
    nic(sysfs, 0x28, "eth1", 100_000)
    sysfs.write("/sys/class/net/bond0/mtu", 1500)
    for member in ("eth0", "eth1"):
        sysfs.write(f"/sys/class/net/bond0/lower_{member}/x", 1)
    sysfs.write("/proc/net/route", ROUTES.replace("eth0", "bond0").rstrip())
    mount(sysfs, "/a", "10.0.0.9")
    assert physical(Files(sysfs.root), "bond0") == ["eth0", "eth1"]
    found = limit(discover(sysfs.root), "file:/a")
    assert found is not None
    assert (found.value, found.formula) == (25e9, "12.5 + 12.5 = 25 GB/s")


def fabric_drive(sysfs: Sysfs, address: str) -> StorageFacts:
    """An NVMe drive by TCP, whose namespace hangs off its subsystem."""
    controller = "/sys/devices/virtual/nvme-fabrics/ctl/nvme4"
    subsystem = "/sys/devices/virtual/nvme-subsystem/nvme-subsys4"
    sysfs.write(f"{controller}/address", f"traddr={address},trsvcid=4420,src_addr=10.0.0.5")
    sysfs.write(f"{controller}/transport", "tcp")
    sysfs.link("/sys/class/nvme/nvme4", controller)
    sysfs.link(f"{subsystem}/nvme4", controller)
    namespace = f"{subsystem}/nvme4n1"
    for name, text in (("dev", "259:9"), ("size", 4096), ("device/model", "Linux")):
        sysfs.write(f"{namespace}/{name}", text)
    sysfs.link("/sys/class/block/nvme4n1", namespace)
    sysfs.link("/sys/dev/block/259:9", namespace)
    path = PathFacts(path="/dev/nvme4n1", kind="block", real="/dev/nvme4n1", device="259:9",
                     page_bytes=4096)  # fmt: skip
    return storage_facts(path, Files(sysfs.root))


def test_a_drive_over_the_network_has_its_nic_as_limit(sysfs: Sysfs) -> None:
    nic(sysfs, 0x18, "eth0", 100_000, node=1)
    facts = fabric_drive(sysfs, "10.0.0.9")
    (drive,) = facts.drives
    assert (drive.transport, drive.server, drive.interfaces) == ("tcp", "10.0.0.9", ["eth0"])
    topology, target = discover(sysfs.root), "dev:/dev/nvme4n1"
    found = limit(topology, target)
    assert found is not None
    assert (found.value, found.link) == (12.5e9, "network port eth0")
    assert near_and_far(topology, parse_endpoint(target)).near == [1]
    assert [str(reach(topology, f"node:{node}", [facts])) for node in (0, 1)] == ["SYS", "PHB"]
    assert facts.interfaces == ["eth0"]
    assert "nvme4n1 (Linux, NVMe over tcp from 10.0.0.9)" in targets_text(Evidence(storage=[facts]))


def test_a_drive_over_loopback_has_no_limit_and_says_why(sysfs: Sysfs) -> None:
    facts = fabric_drive(sysfs, "127.0.0.1")
    assert facts.drives[0].interfaces == ["lo"]
    (hop,) = MachinePaths(discover(sysfs.root)).path("node:0", "dev:/dev/nvme4n1").hops
    assert (hop.name, hop.limit) == ("nvme4n1 of 127.0.0.1", None)
    assert hop.note == "the server is this machine: a loopback interface has no rate"


def test_the_loopback_interface_has_no_limit_and_says_so(sysfs: Sysfs) -> None:
    mount(sysfs, "/a", "127.0.0.1")
    topology = discover(sysfs.root)
    assert limit(topology, "file:/a") is None
    path = MachinePaths(topology).path("node:0", "file:/a")
    assert path.note == (
        "nfs4 on /a from 127.0.0.1: the server is this machine: a loopback interface has no rate"
    )


def test_a_server_behind_no_known_port_has_no_limit(sysfs: Sysfs) -> None:
    mount(sysfs, "/a", "10.0.0.9")
    (hop,) = MachinePaths(discover(sysfs.root)).path("node:0", "file:/a").hops
    assert (hop.limit, hop.note) == (None, "eth0: not a port of this machine")


def mounted(address: str = "10.0.0.9", kind: str = "nfs4") -> MountFacts:
    return MountFacts(
        id=1, point="/a", type=kind, source="server:/x", options=OPTIONS.format(address)
    )


def target(sysfs: Sysfs) -> StorageFacts:
    path = PathFacts(path="/a/x", kind="file", real="/a/x", device="0:44", mount=mounted(),
                     page_bytes=4096)  # fmt: skip
    return storage_facts(path, Files(sysfs.root))


def test_the_matrix_has_the_affinity_of_a_mount_by_its_nic(sysfs: Sysfs) -> None:
    nic(sysfs, 0x18, "eth0", 100_000, node=1)
    topology = discover(sysfs.root)
    found = [str(reach(topology, f"node:{node}", [target(sysfs)])) for node in (0, 1)]
    assert found == ["SYS", "PHB"]


def test_a_mounts_options_and_interface_are_facts_of_its_target(sysfs: Sysfs) -> None:
    nic(sysfs, 0x18, "eth0", 100_000)
    found = target(sysfs).nfs
    assert found is not None
    assert found.model_dump() == {
        "server": "10.0.0.9", "version": "4.2", "transport": "tcp", "connections": 4,
        "rsize": 1 << 20, "wsize": 512 << 10, "interface": "eth0", "ports": ["eth0"], "mtu": 9000,
    }  # fmt: skip
    assert nfs_facts(Files(sysfs.root), mounted(kind="ext4")) is None
    assert nfs_facts(Files(sysfs.root), MountFacts(
        id=1, point="/a", type="nfs", source="x", options="rw")) is None  # fmt: skip


STATS = """\
device /dev/sda mounted on /x with fstype ext4
device server:/x mounted on /a\\040b with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2
\txprt:\ttcp 0 0 2 0 0 23 23 0 23 0 2 0 0
\tper-op statistics
\t        NULL: 1 1 0 44 24 90 28 119 0
\t        READ: {} {} 2 400 {} 5 90 120 1
\t       WRITE: 4 4 0 4096 500 6 40 60 0
\t      LOOKUP: 3 3 0 9 9 0 0 0 3

device server:/y mounted on /old with fstype nfs statvers=1.1
\tper-op statistics
\t        READ: 1 1 0 2 3 4 5 6
"""


def test_operations_of_a_mount_are_read_from_its_statistics(sysfs: Sysfs) -> None:
    sysfs.write("/proc/self/mountstats", STATS.format(10, 13, 5000))
    (found,) = nfs_counts(Files(sysfs.root), ["/a b"])
    assert found.model_dump() == {
        "name": "/a b", "reads": 10, "read_bytes": 5000, "read_rtt_ms": 90, "read_ms": 120,
        "writes": 4, "write_bytes": 4096, "write_rtt_ms": 40, "write_ms": 60, "operations": 18,
        "retransmissions": 3, "timeouts": 2, "errors": 1,
    }  # fmt: skip
    (old,) = nfs_counts(Files(sysfs.root), ["/old"])
    assert (old.reads, old.read_rtt_ms, old.errors) == (1, 5, 0)
    assert nfs_counts(Files(sysfs.root), ["/x"]) == []


@given(st.text())
def test_any_statistics_are_read_or_left_out(text: str) -> None:
    class Said(Files):
        def text(self, path: str) -> str | None:  # noqa: ARG002
            return f"device x mounted on /a with fstype nfs statvers=1.1\n{text}"

    assert len(nfs_counts(Said("/nowhere"), ["/a"])) <= 2


def counters(sysfs: Sysfs, words: int, errors: int, received: int) -> None:
    port = "/sys/class/infiniband/mlx5_0/ports/1/counters"
    sysfs.write(f"{port}/port_rcv_data", words)
    sysfs.write(f"{port}/port_xmit_data", 2 * words)
    sysfs.write(f"{port}/port_rcv_errors", errors)
    statistics = "/sys/class/net/eth0/statistics"
    sysfs.write(f"{statistics}/rx_bytes", received)
    sysfs.write(f"{statistics}/tx_bytes", 7)
    sysfs.write(f"{statistics}/rx_dropped", 0)


def infiniband(sysfs: Sysfs) -> None:
    made = nic(sysfs, 0x18, "eth0", 100_000)
    sysfs.rdma(made, "mlx5_0")
    counters(sysfs, 1000, 0, 50)


def test_counters_of_infiniband_are_words_of_four_bytes(sysfs: Sysfs) -> None:
    infiniband(sysfs)
    net, port = port_counts(Files(sysfs.root), ["eth0"])
    assert (net.name, net.received_bytes, net.sent_bytes) == ("eth0", 50, 7)
    assert (port.name, port.received_bytes, port.sent_bytes) == ("mlx5_0/1", 4000, 8000)
    assert port_counts(Files(sysfs.root), ["eth7"]) == []


NVFS = """\
GDS Version: 1.7.0.0
IO stats: Enabled, peer IO stats: Enabled
Reads\t\t\t\t: err={} io_state_err=0
Sparse Reads\t\t\t: n=230 io=0 holes=0 pages=0
Writes\t\t\t\t: err=0 io_state_err=237 pg-cache=0 pg-cache-fail=0 pg-cache-eio=0
Error\t\t\t\t: cpu-gpu-pages=0 sg-ext=1 dma-map=0 dma-ref=0
Ops\t\t\t\t: Read=0 Write=0 BatchIO=0
"""


def test_errors_of_nvidia_fs_have_its_own_names(sysfs: Sysfs) -> None:
    sysfs.write("/proc/driver/nvidia-fs/stats", NVFS.format(3))
    found = nvidia_fs_errors(Files(sysfs.root))
    assert {name: number for name, number in found.items() if number} == {
        "Reads err": 3, "Writes io_state_err": 237, "Error sg-ext": 1,
    }  # fmt: skip
    assert "Writes pg-cache-eio" in found
    assert "Sparse Reads n" not in found


def test_evidence_has_what_was_counted_during_a_repetition(sysfs: Sysfs) -> None:
    infiniband(sysfs)
    files = Files(sysfs.root)
    sysfs.write("/proc/self/mountstats", STATS.replace("/a\\040b", "/a").format(10, 13, 5000))
    sysfs.write("/proc/driver/nvidia-fs/stats", NVFS.format(3))
    before = counted([target(sysfs)], files)
    counters(sysfs, 3000, 2, 60)
    sysfs.write("/proc/self/mountstats", STATS.replace("/a\\040b", "/a").format(110, 114, 105000))
    sysfs.write("/proc/driver/nvidia-fs/stats", NVFS.format(5))
    series = Series.model_validate(
        {
            "name": "w",
            "starts": [0],
            "durations": [1],
            "columns": [{"metric": "iops", "values": [1]}],
        }
    )
    repetition = Repetition(id="x", seconds=1, fresh=False, interrupted=False, series=[series],
                  evidence=Evidence())  # fmt: skip
    evidence = with_targets(repetition, before, files).evidence
    (nfs,), (net, port) = evidence.nfs or [], evidence.ports or []
    assert (nfs.reads, nfs.read_bytes, nfs.retransmissions, nfs.writes) == (100, 100000, 1, 0)
    assert (net.received_bytes, port.received_bytes, port.sent_bytes) == (10, 8000, 16000)
    assert evidence.nvidia_fs_errors == {"Reads err": 2}
    made = synthetic.Maker().make("io", "node:0", "file:/a/x", {}, 1e9)
    measured = [made.model_copy(update={"evidence": evidence})]
    assert network_lines(measured)[0] == (
        "NFS at /a, set-up included: 100 READs of 1000 B, round trip 0 ms; 1 sent again."
    )
    assert warnings(measured) == [
        "NFS at /a: 1 requests were sent again",
        "mlx5_0/1: 2 packets in error or dropped",
        "nvidia-fs: Reads err grew by 2",
    ]
    assert evidence_line(measured) == (
        "observed: nfs4 at /a (NFS 4.2 by tcp from 10.0.0.9 over eth0, MTU 9000, nconnect 4, "
        "rsize 1 MiB, wsize 512 KiB)"
    )
