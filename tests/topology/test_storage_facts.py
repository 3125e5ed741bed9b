"""Facts of drives, from trees as sysfs has them."""

from pathlib import Path

import pytest
from topology_machines import NVME_CLASS, SAMSUNG, Sysfs

from tierscope.machine.files import Files
from tierscope.machine.storage_facts import storage_facts, with_state
from tierscope.model.storage import DriveFacts, MountFacts, PathFacts, StorageFacts
from tierscope.model.topology import PcieLink

ADDRESS = "0000:17:00.0"


@pytest.fixture
def sysfs(tmp_path: Path) -> Sysfs:
    return Sysfs(tmp_path)


def path(device: str, file_system: str = "xfs") -> PathFacts:
    mount = MountFacts(id=30, point="/data", type=file_system, source="x", options="rw")
    return PathFacts(
        path="/data/x", kind="missing", real="/data", device=device, mount=mount, page_bytes=4096
    )


def block(sysfs: Sysfs, place: str, number: str, **queue: object) -> str:
    """A block device at a place below /sys/devices; its directory."""
    name = place.rpartition("/")[2]
    directory = f"/sys/devices/{place}"
    sysfs.write(f"{directory}/dev", number)
    sysfs.write(f"{directory}/size", 2048)
    for setting, value in queue.items():
        sysfs.write(f"{directory}/queue/{setting}", str(value))
    sysfs.link(f"/sys/class/block/{name}", directory)
    sysfs.link(f"/sys/dev/block/{number}", directory)
    return directory


def facts(sysfs: Sysfs, device: str, file_system: str = "xfs") -> StorageFacts:
    return storage_facts(path(device, file_system), Files(sysfs.root))


def drive(sysfs: Sysfs, device: str) -> DriveFacts:
    (found,) = facts(sysfs, device).drives
    return found


def nvme(sysfs: Sysfs) -> str:
    """A drive whose slot has half its lanes, with a sensor; the controller's directory."""
    port = "0000:16/0000:16:00.0"
    sysfs.pci(port, 0x060400, now=(16.0, 2), best=(32.0, 2))
    pci = sysfs.pci(f"{port}/{ADDRESS}", NVME_CLASS, SAMSUNG, node=1, now=(8.0, 2), best=(16.0, 4))
    controller = f"{pci}/nvme/nvme0"
    for name, text in (("model", "SAMSUNG MZQL2  "), ("serial", "S64"), ("firmware_rev", "GDC5")):
        sysfs.write(f"{controller}/{name}", text)
    sysfs.write(f"{controller}/transport", "pcie")
    sysfs.write(f"{controller}/hwmon3/temp1_input", 41850)
    sysfs.write(f"{controller}/hwmon3/temp1_max", 80850)
    sysfs.write(f"{controller}/hwmon3/temp1_alarm", 0)
    sysfs.link("/sys/class/nvme/nvme0", controller)
    own = f"{controller}/nvme0n1".removeprefix("/sys/devices/")
    directory = block(
        sysfs, own, "259:0", scheduler="[none] mq-deadline", nr_requests=1023, rotational=0,
        logical_block_size=512, physical_block_size=4096, write_cache="write through",
        max_sectors_kb=128,
    )  # fmt: skip
    sysfs.link(f"{directory}/device", controller)
    return controller


def test_an_nvme_drive_is_known_by_its_controller_queue_link_and_sensor(sysfs: Sysfs) -> None:
    nvme(sysfs)
    found = drive(sysfs, "259:0")
    assert (found.name, found.kind, found.transport) == ("nvme0n1", "nvme", "pcie")
    assert (found.model, found.serial, found.firmware) == ("SAMSUNG MZQL2", "S64", "GDC5")
    assert (found.rotational, found.logical_block_bytes, found.physical_block_bytes) == (
        False, 512, 4096,
    )  # fmt: skip
    assert found.write_cache == "write through"
    assert found.queue == {"scheduler": "none", "nr_requests": "1023", "max_sectors_kb": "128"}
    assert (found.node, found.address) == (1, ADDRESS)
    assert found.link_best == PcieLink(speed=16.0, width=2)
    assert found.warning_c == 80.85
    (state,) = found.states
    assert (state.temperature_c, state.hot) == (41.85, False)
    assert state.link == PcieLink(speed=8.0, width=2)


def test_what_changed_during_a_repetition_is_a_second_state(sysfs: Sysfs) -> None:
    controller = nvme(sysfs)
    before = facts(sysfs, "259:0")
    sysfs.write(f"{controller}/hwmon3/temp1_input", 81000)
    sysfs.write(f"{controller}/hwmon3/temp1_alarm", 1)
    sysfs.write(f"/sys/bus/pci/devices/{ADDRESS}/current_link_speed", "2.5 GT/s PCIe")
    (after,) = with_state(before, Files(sysfs.root)).drives
    assert [state.temperature_c for state in after.states] == [41.85, 81.0]
    assert [state.hot for state in after.states] == [False, True]
    assert [state.link and state.link.speed for state in after.states] == [8.0, 2.5]


def test_a_volume_on_an_array_of_partitions_leads_to_the_drives(sysfs: Sysfs) -> None:
    for index, letter in enumerate("ab"):
        disk = f"pci0000:00/0000:00:1f.2/ata{index}/block/sd{letter}"
        block(sysfs, disk, f"8:{16 * index}", rotational=1)
        partition = block(sysfs, f"{disk}/sd{letter}1", f"8:{16 * index + 1}")
        sysfs.write(f"{partition}/partition", 1)
    array = block(sysfs, "virtual/block/md0", "9:0")
    sysfs.write(f"{array}/md/level", "raid1")
    volume = block(sysfs, "virtual/block/dm-3", "252:3")
    for below, above in (("sda1", array), ("sdb1", array), ("md0", volume)):
        sysfs.write(f"{above}/slaves/{below}", "")
    found = facts(sysfs, "252:3")
    assert found.chain == ["dm-3", "md0", "sda1", "sdb1", "sda", "sdb"]
    assert found.level == "raid1"
    assert [(d.name, d.transport, d.rotational) for d in found.drives] == [
        ("sda", "sata", True),
        ("sdb", "sata", True),
    ]


@pytest.mark.parametrize(
    ("place", "vendor", "model"),
    [
        ("pci0000:00/0000:00:02.0/virtio1/block/vda", "0x1af4", ""),
        ("pci0000:00/0000:00:1f.2/ata1/block/sda", "ATA", "QEMU HARDDISK"),
        ("vbd-51712/block/xvda", "", ""),
        ("pci0000:00/0000:00:10.0/host2/block/sda", "VMware", "Virtual disk"),
    ],
)
def test_a_hypervisors_disk_is_said_to_be_cached_by_the_host(
    sysfs: Sysfs, place: str, vendor: str, model: str
) -> None:
    directory = block(sysfs, place, "254:0")
    sysfs.write(f"{directory}/device/vendor", vendor)
    sysfs.write(f"{directory}/device/model", model)
    found = drive(sysfs, "254:0")
    assert (found.kind, found.note) == ("virtual", "virtual disk: the host may cache")
    assert found.model == model


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("loop0", "loop", "a file as a device"),
        ("nullb0", "none", "no drive"),
        ("zram0", "memory", "held in memory"),
        ("ram3", "memory", "held in memory"),
        ("pmem0", "pmem", ""),
    ],
)
def test_what_is_no_drive_is_said_to_be_none(
    sysfs: Sysfs, name: str, kind: str, words: str
) -> None:
    directory = block(sysfs, f"virtual/block/{name}", "7:0")
    sysfs.write(f"{directory}/loop/backing_file", "/dev/shm/an image")
    sysfs.write(f"{directory}/loop/dio", 1)
    found = drive(sysfs, "7:0")
    assert found.kind == kind
    assert found.note.find(words) >= 0
    assert bool(found.note) == bool(words)
    assert (found.backing_file, found.backing_direct) == ("/dev/shm/an image", True)


def test_a_scsi_drives_serial_number_comes_from_its_inquiry_page(sysfs: Sysfs) -> None:
    directory = block(sysfs, "pci0000:00/0000:00:1f.2/host0/block/sda", "8:0")
    page = b"\x00\x80\x00\x08  Z1X2Y3"
    sysfs.write(f"{directory}/device/vpd_pg80", "")
    (sysfs.root / directory.lstrip("/") / "device/vpd_pg80").write_bytes(page)
    assert drive(sysfs, "8:0").serial == "Z1X2Y3"


@pytest.mark.parametrize(
    ("file_system", "words"),
    [("tmpfs", "held in memory"), ("overlay", "an overlay"), ("nfs4", "not on a drive of this")],
)
def test_what_is_on_no_drive_says_why(sysfs: Sysfs, file_system: str, words: str) -> None:
    found = facts(sysfs, "0:42", file_system)
    assert not found.drives
    assert words in found.note
