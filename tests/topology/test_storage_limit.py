"""What bounds reads and writes of storage, and which CPUs are near a drive."""

import re
from pathlib import Path

import pytest
import topology_machines as machines
from hypothesis import given
from hypothesis import strategies as st
from tests import synthetic
from topology_machines import BRIDGE_CLASS, GPU_CLASS, NVIDIA, NVME_CLASS, SAMSUNG, Sysfs

from tierscope.kinds.io.spec import IoSpec
from tierscope.machine.discover import discover
from tierscope.machine.paths import MachinePaths
from tierscope.machine.storage_limit import useful_share
from tierscope.machine.storage_paths import near_and_far, near_or_far
from tierscope.model.endpoint import parse_endpoint
from tierscope.model.errors import UserError
from tierscope.model.path import Limit
from tierscope.model.rating import RatedDrive
from tierscope.model.storage import Access
from tierscope.model.topology import Topology
from tierscope.plans.expand import expand
from tierscope.plans.request import Request

X4_GEN4 = 16e9 * 4 * 128 / 130 / 8
X2_GEN3 = 8e9 * 2 * 128 / 130 / 8
FAST = RatedDrive(
    model="FAST *", read=6.8e9, write=4e9, read_iops=1e6, write_iops=180e3, source="rated.yaml:1"
)


@pytest.fixture
def sysfs(tmp_path: Path) -> Sysfs:
    tree = Sysfs(tmp_path)
    tree.cpus([[0, 1], [2, 3]], "Intel(R) Xeon(R) Platinum 8480+")
    tree.node(0, [0, 1], 1000, "10 21")
    tree.node(1, [2, 3], 1000, "21 10")
    return tree


def drive(
    sysfs: Sysfs,
    bus: int,
    now: tuple[float, int] = (16.0, 4),
    vendor: int = SAMSUNG,
    node: int = 0,
    model: str = "FAST 2",
) -> None:
    number = bus - 0x17
    made = sysfs.pci(
        f"0000:16/0000:16:{number:02x}.0/0000:{bus:02x}:00.0",
        NVME_CLASS, vendor, node=node, now=now, best=now,
    )  # fmt: skip
    sysfs.nvme(made, f"nvme{number}n1")
    sysfs.write(f"{made}/nvme/nvme{number}/nvme{number}n1/device/model", model)


def limit(
    topology: Topology, access: Access, *targets: str, initiator: str = "node:0"
) -> Limit | None:
    return MachinePaths(topology).storage_limit(
        [(initiator, target) for target in targets or ["file:/data"]], access
    )


def rated(topology: Topology, *ratings: RatedDrive) -> Topology:
    return topology.model_copy(update={"ratings": list(ratings)})


def known(topology: Topology, access: Access, *targets: str, initiator: str = "node:0") -> Limit:
    found = limit(topology, access, *targets, initiator=initiator)
    assert found is not None
    return found


def one_drive(sysfs: Sysfs, now: tuple[float, int] = (16.0, 4)) -> Topology:
    drive(sysfs, 0x17, now)
    sysfs.mount("/data", "nvme0n1")
    return discover(sysfs.root)


def test_bandwidth_is_limited_by_the_drives_link(sysfs: Sysfs) -> None:
    topology = one_drive(sysfs)
    for reads in (0.0, 1.0):
        found = known(topology, Access(read_share=reads))
        assert (found.value, found.unit) == (pytest.approx(X4_GEN4), "B/s")
        assert found.link == "PCIe 4.0 x4 at 0000:17:00.0"


def test_a_link_carries_reads_and_writes_at_the_same_time(sysfs: Sysfs) -> None:
    found = known(one_drive(sysfs), Access(read_share=0.7))
    assert found.value == pytest.approx(X4_GEN4 / 0.7)
    assert "70% reads, 30% writes has 0.7 B in the direction of reads" in found.formula


def test_operations_are_limited_by_the_link_over_the_block_size(sysfs: Sysfs) -> None:
    found = known(one_drive(sysfs), Access(counts_operations=True, block_bytes=4096))
    assert (found.value, found.unit) == (pytest.approx(X4_GEN4 / 4096), "1/s")
    assert found.formula.endswith("; / 4096 B an operation = 1,923,077/s")


def test_the_page_cache_has_no_limit_of_a_drive(sysfs: Sysfs) -> None:
    assert limit(rated(one_drive(sysfs), FAST), Access(direct=False)) is None


@pytest.mark.parametrize(
    ("access", "value", "formula"),
    [
        (Access(), 6.8e9, "6.8 GB/s"),
        (Access(read_share=0), 4e9, "4 GB/s"),
        (Access(counts_operations=True), 1e6, "1,000,000/s"),
        (Access(counts_operations=True, read_share=0), 180e3, "180,000/s"),
        (
            Access(counts_operations=True, read_share=0.5),
            1 / (0.5 / 1e6 + 0.5 / 180e3),
            "50% reads at 1,000,000/s; 50% writes at 180,000/s; in turn 305,085/s",
        ),
        (
            Access(counts_operations=True, random=False),
            6.8e9 / 4096,
            "6.8 GB/s; / 4096 B an operation = 1,660,156/s",
        ),
        (
            Access(counts_operations=True, block_bytes=131072),
            6.8e9 / 131072,
            "6.8 GB/s; / 131072 B an operation = 51,880/s",
        ),
    ],
)
def test_a_data_sheet_that_promises_less_limits(
    sysfs: Sysfs, access: Access, value: float, formula: str
) -> None:
    found = known(rated(one_drive(sysfs), FAST), access)
    assert (found.value, found.formula) == (pytest.approx(value), formula)
    assert found.link == "rating of nvme0n1 (FAST 2)"
    assert found.source == "data sheet, by rated.yaml:1"


def test_a_link_that_carries_less_than_the_data_sheet_limits(sysfs: Sysfs) -> None:
    found = known(rated(one_drive(sysfs, (8.0, 2)), FAST), Access())
    assert (found.value, found.link) == (
        pytest.approx(X2_GEN3),
        "PCIe 3.0 x2 at 0000:17:00.0",
    )


def test_another_models_rating_is_not_taken(sysfs: Sysfs) -> None:
    other = FAST.model_copy(update={"model": "SLOW 1"})
    assert known(rated(one_drive(sysfs), other), Access()).link.startswith("PCIe")


def test_a_full_name_goes_before_a_pattern(sysfs: Sysfs) -> None:
    exact = RatedDrive(model="FAST 2", read=3e9)
    assert known(rated(one_drive(sysfs), FAST, exact), Access()).value == 3e9


def array(sysfs: Sysfs, level: str) -> Topology:
    for bus in (0x17, 0x18, 0x19, 0x1A):
        drive(sysfs, bus)
    sysfs.array("md0", level, [f"nvme{n}n1" for n in range(4)])
    sysfs.mount("/data", "md0")
    return discover(sysfs.root)


@pytest.mark.parametrize(
    ("level", "share"),
    [("raid0", 1), ("raid1", 1 / 4), ("raid10", 1 / 2), ("raid5", 3 / 4), ("raid6", 2 / 4)],
)
def test_an_array_reads_from_all_and_writes_its_copies_and_parity_too(
    sysfs: Sysfs, level: str, share: float
) -> None:
    topology = array(sysfs, level)
    assert known(topology, Access()).value == pytest.approx(4 * X4_GEN4)
    assert known(topology, Access(read_share=0)).value == pytest.approx(4 * X4_GEN4 * share)
    topology = rated(topology, FAST)
    writes = Access(read_share=0, counts_operations=True)
    assert known(topology, writes).value == pytest.approx(4 * 180e3 * share)
    assert known(topology, Access()).value == pytest.approx(4 * 6.8e9)


def test_drives_of_which_one_has_no_rating_have_none_together(sysfs: Sysfs) -> None:
    drive(sysfs, 0x17)
    drive(sysfs, 0x18, model="OTHER")
    sysfs.array("md0", "raid0", ["nvme0n1", "nvme1n1"])
    sysfs.mount("/data", "md0")
    found = known(rated(discover(sysfs.root), FAST), Access())
    assert found.value == pytest.approx(2 * X4_GEN4)


def test_targets_on_two_drives_add_up_and_those_on_one_do_not(sysfs: Sysfs) -> None:
    drive(sysfs, 0x17)
    drive(sysfs, 0x18, now=(8.0, 2))
    sysfs.mount("/data", "nvme0n1")
    sysfs.mount("/more", "nvme1n1")
    topology = discover(sysfs.root)
    same = known(topology, Access(), "file:/data/a", "file:/data/b", "dev:/dev/nvme0n1")
    assert same.value == pytest.approx(X4_GEN4)
    both = known(topology, Access(), "file:/data/a", "file:/more/b")
    assert both.value == pytest.approx(X4_GEN4 + X2_GEN3)
    assert both.link == "PCIe 4.0 x4 at 0000:17:00.0 and PCIe 3.0 x2 at 0000:18:00.0"


def test_targets_below_one_switch_have_no_more_than_its_uplink_together(sysfs: Sysfs) -> None:
    port = "0000:16/0000:16:00.0"
    switch = f"{port}/0000:17:00.0"
    for bridge in (port, switch):
        sysfs.pci(bridge, BRIDGE_CLASS, now=(16.0, 4), best=(16.0, 4), node=0)
    for number in (0, 1):
        place = f"{switch}/0000:18:0{number}.0/0000:1{9 + number:x}:00.0"
        made = sysfs.pci(place, NVME_CLASS, SAMSUNG, now=(16.0, 4), best=(16.0, 4), node=0)
        sysfs.nvme(made, f"nvme{number}n1")
    drive(sysfs, 0x20)
    topology = discover(sysfs.root)
    below = known(topology, Access(), "dev:/dev/nvme0n1", "dev:/dev/nvme1n1")
    assert below.value == pytest.approx(X4_GEN4)
    all_three = known(
        topology, Access(), "dev:/dev/nvme0n1", "dev:/dev/nvme1n1", "dev:/dev/nvme9n1"
    )
    assert all_three.value == pytest.approx(2 * X4_GEN4)


def test_a_mirror_writes_as_fast_as_its_slowest_member(sysfs: Sysfs) -> None:
    slow = FAST.model_copy(update={"model": "SLOW", "read": 3e9, "write": 1e9})
    drive(sysfs, 0x17)
    drive(sysfs, 0x18, now=(8.0, 2), model="SLOW")
    sysfs.array("md0", "raid1", ["nvme0n1", "nvme1n1"])
    topology = discover(sysfs.root)
    reads = known(topology, Access(), "dev:/dev/md0")
    assert reads.value == pytest.approx(X4_GEN4 + X2_GEN3)
    writes = known(topology, Access(read_share=0), "dev:/dev/md0")
    assert writes.value == pytest.approx(X2_GEN3)
    assert writes.link == "PCIe 3.0 x2 at 0000:18:00.0"
    sheets = known(rated(topology, FAST, slow), Access(read_share=0), "dev:/dev/md0")
    assert (sheets.value, sheets.formula) == (1e9, "the slowest of 2: 1 GB/s")


def test_an_array_below_a_partition_counts_its_copies(sysfs: Sysfs) -> None:
    drive(sysfs, 0x17)
    drive(sysfs, 0x18)
    sysfs.array("md0", "raid1", ["nvme0n1", "nvme1n1"])
    sysfs.array("dm-0", "", ["md0"])
    sysfs.mount("/data", "dm-0")
    topology = rated(discover(sysfs.root), FAST)
    assert known(topology, Access(read_share=0)).value == pytest.approx(4e9)


def test_a_link_that_qemu_makes_up_limits_nothing(sysfs: Sysfs) -> None:
    drive(sysfs, 0x17, now=(2.5, 1), vendor=0x1B36)
    sysfs.mount("/data", "nvme0n1")
    topology = discover(sysfs.root)
    assert limit(topology, Access()) is None
    hops = MachinePaths(topology).path("node:0", "file:/data").hops
    assert "emulated by QEMU" in hops[0].note


def test_what_is_unknown_has_no_limit_and_no_error(sysfs: Sysfs) -> None:
    topology = one_drive(sysfs)
    assert limit(topology, Access(), "dev:/dev/nvme7n1") is None
    assert limit(topology, Access(), "file:/elsewhere") is None
    assert limit(topology, Access(), initiator="node:9") is None


def test_a_copy_through_the_host_pays_for_the_way_up_from_a_switch(sysfs: Sysfs) -> None:
    port = "0000:16/0000:16:00.0"
    switch = f"{port}/0000:17:00.0"
    sysfs.pci(port, BRIDGE_CLASS, now=(8.0, 2), best=(8.0, 2))
    sysfs.pci(switch, BRIDGE_CLASS, node=0, now=(8.0, 2), best=(8.0, 2))
    below = {"now": (16.0, 4), "best": (16.0, 4), "node": 0}
    made = sysfs.pci(f"{switch}/0000:18:00.0/0000:19:00.0", NVME_CLASS, SAMSUNG, **below)
    sysfs.pci(f"{switch}/0000:18:01.0/0000:1a:00.0", GPU_CLASS, NVIDIA, **below)
    sysfs.nvme(made, "nvme0n1")
    sysfs.mount("/data", "nvme0n1")
    topology = discover(sysfs.root, machines.FakeNvml([machines.fake_gpu("1a")]))
    direct = known(topology, Access(), initiator="gpu:0")
    copied = known(topology, Access(through_host=True), initiator="gpu:0")
    assert direct.value == pytest.approx(X4_GEN4)
    assert (copied.value, copied.link) == (
        pytest.approx(X2_GEN3),
        "PCIe 3.0 x2 at 0000:17:00.0",
    )


@given(st.sampled_from(["raid0", "raid1", "raid4", "raid5", "raid6", "raid10", "linear", ""]),
       st.integers(1, 64))  # fmt: skip
def test_an_array_never_writes_less_than_it_stores(level: str, members: int) -> None:
    assert 0 <= useful_share(level, members) <= 1


def io_spec(*, amount: str | None = None, **options: str) -> IoSpec:
    topology = synthetic.topology()
    amounts = {"amount": amount} if amount else {}
    request = Request(kind="io", options={"to": "file:/data", **options, **amounts})
    (spec,) = expand([request], topology, thp=False).measurements
    assert isinstance(spec, IoSpec)
    return spec


def test_jobs_on_two_drives_have_the_limit_of_both(sysfs: Sysfs) -> None:
    drive(sysfs, 0x17)
    drive(sysfs, 0x18)
    sysfs.mount("/data", "nvme0n1")
    sysfs.mount("/more", "nvme1n1")
    spec = io_spec(size="64m")
    other = spec.jobs[0].files.model_copy(update={"path": "/more/x"})
    second = spec.jobs[0].model_copy(update={"name": "second", "files": other})
    both = spec.model_copy(update={"jobs": [*spec.jobs, second]})
    paths = MachinePaths(discover(sysfs.root))
    one, two = spec.limit(paths), both.limit(paths)
    assert one is not None
    assert two is not None
    assert two.value == pytest.approx(2 * one.value)


def specs_together(**options: str) -> list[IoSpec]:
    given = {"to": "file:/data,file:/more", "size": "64m", **options}
    plan = expand([Request(kind="io", options=given)], synthetic.topology(), thp=False)
    return [spec for spec in plan.measurements if isinstance(spec, IoSpec)]


def test_targets_are_measured_alone_and_together() -> None:
    first, second, both = specs_together(together="no,yes", threads="2")
    assert [spec.target for spec in (first, second)] == ["file:/data", "file:/more"]
    assert [job.name for job in both.jobs] == ["file:/data", "file:/more"]
    assert [job.cpus for job in both.jobs] == [[0, 1], [2, 3]]
    assert both.identity()["together"] == "file:/data, file:/more"
    assert "together" not in first.identity()
    assert both.identity()["threads"] == 4


def test_one_target_is_not_measured_together() -> None:
    with pytest.raises(UserError, match="--together: needs several targets in --to"):
        specs_together(to="file:/data", together="yes")


def test_each_of_several_devices_has_its_own_name_to_be_destroyed() -> None:
    options = {"to": "dev:/dev/a,dev:/dev/b", "op": "write", "together": "yes"}
    (spec,) = specs_together(**options, **{"destroy-data": "S1,S2"})
    assert [getattr(job.files, "destroy", "") for job in spec.jobs] == ["S1", "S2"]
    with pytest.raises(UserError, match="--destroy-data: 1 name for 2 devices in --to"):
        specs_together(**options, **{"destroy-data": "S1"})


def test_near_cpus_of_each_target_take_part_together(sysfs: Sysfs) -> None:
    drive(sysfs, 0x17, node=1)
    drive(sysfs, 0x18, node=0)
    sysfs.mount("/data", "nvme0n1")
    sysfs.mount("/more", "nvme1n1")
    options = {"from": "near", "to": "file:/data,file:/more", "together": "yes", "size": "64m"}
    plan = expand([Request(kind="io", options=options)], discover(sysfs.root), thp=False)
    (spec,) = plan.measurements
    assert isinstance(spec, IoSpec)
    assert [job.cpus for job in spec.jobs] == [[2], [1]]
    assert [job.buffers.name for job in spec.jobs] == ["node:1", "node:0"]
    assert spec.identity()["together"] == "node:1 → file:/data, cpus:1 → file:/more"


def test_large_files_and_amounts_are_not_taken_for_a_hang() -> None:
    assert io_spec(size="100g").set_up_s() > 100 * 60
    usual, whole = io_spec(size="64m"), io_spec(size="64m", amount="1g", **{"block-size": "4k"})
    assert usual.set_up_s() < 10
    assert whole.set_up_s() > 2 * 60 * 60


def test_near_and_far_follow_the_drive(sysfs: Sysfs) -> None:
    drive(sysfs, 0x17, node=1)
    sysfs.mount("/data", "nvme0n1")
    topology = discover(sysfs.root)
    target = parse_endpoint("file:/data/x")
    assert near_and_far(topology, target) == ([1], [0])
    assert (near_or_far(topology, "near", target), near_or_far(topology, "far", target)) == (1, 0)


def test_requests_take_near_and_far_for_each_target(sysfs: Sysfs) -> None:
    drive(sysfs, 0x17, node=1)
    drive(sysfs, 0x18, node=0)
    sysfs.mount("/data", "nvme0n1")
    sysfs.mount("/more", "nvme1n1")
    options = {"from": "near, far,cpus:3", "to": "file:/data,file:/more", "size": "64m"}
    plan = expand([Request(kind="io", options=options)], discover(sysfs.root), thp=False)
    assert [(spec.target, spec.initiator) for spec in plan.measurements] == [
        ("file:/data", "node:1"), ("file:/data", "node:0"), ("file:/data", "cpus:3"),
        ("file:/more", "node:0"), ("file:/more", "node:1"), ("file:/more", "cpus:3"),
    ]  # fmt: skip


def test_a_request_for_far_cpus_that_there_are_not_names_its_option(tmp_path: Path) -> None:
    sysfs = Sysfs(tmp_path)
    sysfs.cpus([[0, 1]])
    sysfs.node(0, [0, 1], 1000)
    request = Request(kind="io", options={"from": "far", "to": "file:/data", "size": "64m"})
    with pytest.raises(UserError, match=re.escape("--from: no CPUs are far from 'file:/data': ")):
        expand([request], one_drive(sysfs), thp=False)


def test_far_is_the_other_socket_before_a_node_of_the_same(tmp_path: Path) -> None:
    machines.dgx_a100(tmp_path)
    topology = discover(tmp_path)
    found = near_and_far(topology, parse_endpoint("dev:/dev/nvme2n1"))
    assert found.near == [2]
    assert set(found.far[:4]) == {4, 5, 6, 7}
    assert set(found.far[4:]) == {0, 1, 3}


def test_a_machine_of_one_node_has_no_far_cpus(tmp_path: Path) -> None:
    sysfs = Sysfs(tmp_path)
    sysfs.cpus([[0, 1]])
    sysfs.node(0, [0, 1], 1000)
    topology = one_drive(sysfs)
    target = parse_endpoint("file:/data")
    assert near_or_far(topology, "near", target) == 0
    with pytest.raises(UserError, match=re.escape("no CPUs are far from 'file:/data': ")):
        near_or_far(topology, "far", target)


def test_a_drive_that_is_near_nobody_is_said_to_be(sysfs: Sysfs) -> None:
    drive(sysfs, 0x17, node=-1)
    sysfs.mount("/data", "nvme0n1")
    message = "'file:/data' lies on nvme0n1, whose NUMA node is not known: name CPUs"
    with pytest.raises(UserError, match=f"^{re.escape(message)}"):
        near_and_far(discover(sysfs.root), parse_endpoint("file:/data"))
