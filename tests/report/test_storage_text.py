"""Storage targets in words."""

from typing import Any

from tests import synthetic

from tierscope.model.event import Evidence
from tierscope.model.run import Measurement
from tierscope.model.storage import (
    DriveFacts,
    DriveState,
    DriveWear,
    MountFacts,
    PathFacts,
    StorageFacts,
)
from tierscope.model.topology import PcieLink
from tierscope.report.evidence import evidence_line, warnings


def target(*drives: DriveFacts, file_system: str = "xfs", **more: Any) -> StorageFacts:
    mount = MountFacts(id=1, point="/data", type=file_system, source="x", options="rw")
    path = PathFacts(
        path="/data/x", kind="file", real="/data/x", device="9:0", mount=mount, page_bytes=4096
    )
    return StorageFacts(path=path, drives=list(drives), **more)


def drive(name: str = "nvme0n1", **more: Any) -> DriveFacts:
    values = {"kind": "nvme", "model": "FAST 2", "queue": {"scheduler": "none"}, **more}
    return DriveFacts(name=name, **values)


def measured(*targets: StorageFacts) -> Measurement:
    made = synthetic.Maker().make("bandwidth", "node:0", "file:/data/x", {}, 5e9)
    return made.model_copy(update={"evidence": Evidence(storage=list(targets))})


def test_a_drive_is_told_by_file_system_model_and_scheduler() -> None:
    assert evidence_line([measured(target(drive())), measured(target(drive()))]) == (
        "observed: xfs at /data on nvme0n1 (FAST 2, scheduler none)"
    )


def test_an_array_and_what_is_on_no_drive_are_told() -> None:
    array = target(drive(), drive("nvme1n1"), level="raid0")
    assert evidence_line([measured(array)]) == (
        "observed: xfs at /data on raid0 of nvme0n1, nvme1n1 (FAST 2, scheduler none)"
    )
    memory = target(file_system="tmpfs", note="held in memory, not on a drive")
    assert evidence_line([measured(memory)]) == (
        "observed: tmpfs at /data (held in memory, not on a drive)"
    )


def test_a_loop_device_is_told_by_its_file() -> None:
    loop = drive("loop0", kind="loop", model="", queue={}, backing_file="/dev/shm/image")
    assert evidence_line([measured(target(loop))]) == (
        "observed: xfs at /data on loop0 (backed by /dev/shm/image)"
    )


def test_a_worn_drive_is_warned_of() -> None:
    worn = DriveWear(used_percent=104, spare_percent=3, spare_threshold_percent=10, warnings=8,
                     written_bytes=1e15, media_errors=2)  # fmt: skip
    fresh = worn.model_copy(
        update={"used_percent": 99, "spare_percent": 10, "warnings": 2, "media_errors": 0}
    )
    assert warnings([measured(target(drive(wear=worn), drive("nvme1n1", wear=fresh)))]) == [
        "nvme0n1 is worn: 104% of its expected life is used",
        "nvme0n1 has 3% of its spare blocks left",
        "nvme0n1 counts 2 media errors",
        "nvme0n1 reports that it is unreliable or read-only",
    ]


def test_temperatures_are_a_span_and_hot_drives_a_warning() -> None:
    states = [DriveState(temperature_c=41.2, hot=False), DriveState(temperature_c=83.6, hot=True)]
    run = [measured(target(drive(states=states[:1]))), measured(target(drive(states=states)))]
    assert evidence_line(run).endswith("; drives at 41 to 84 °C")
    assert warnings(run) == ["nvme0n1 was above its warning temperature, where it may throttle"]


def test_a_link_that_ran_below_its_best_is_a_warning() -> None:
    slow, best = PcieLink(speed=8, width=2), PcieLink(speed=16, width=4)
    states = [DriveState(link=best), DriveState(link=slow)]
    assert warnings([measured(target(drive(states=states, link_best=best)))]) == [
        "nvme0n1's link ran at PCIe 3.0 x2; it and its slot support PCIe 4.0 x4"
    ]
    assert warnings([measured(target(drive(states=states[:1], link_best=best)))]) == []


def test_a_virtual_disk_is_said_to_be_cached_by_the_host_once() -> None:
    virtual = drive("vda", kind="virtual", model="", note="virtual disk: the host may cache")
    run = [measured(target(virtual)), measured(target(virtual))]
    assert warnings(run) == ["vda: virtual disk: the host may cache"]
