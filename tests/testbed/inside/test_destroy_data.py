"""Writing to a real drive that is named by its serial number or its name by id, and refusals."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from storage import drives, io

pytestmark = pytest.mark.testbed

SERIAL = "testbed0"
NVME = drives()[0]
"""The drive with this serial number."""
MIB = 1 << 20
CAPACITY = 256 * MIB
SECTOR = 512
NOTHING_MEASURED = 3


def io_nvme(out: Path, *options: str, status: int = 0) -> list[dict[str, Any]]:
    """Run the command on the drive and return its results."""
    return io(out, "--to", f"dev:{NVME}", *options, status=status)


def written_bytes() -> int:
    """Bytes that the kernel has written to the drive since it was found."""
    return SECTOR * int((Path("/sys/block") / NVME.name / "stat").read_text().split()[6])


def wipe() -> None:
    subprocess.run(["wipefs", "--all", "--quiet", str(NVME)], check=True)
    # The emulated drive keeps its data when it is told to discard them.
    subprocess.run(["blkdiscard", "--zeroout", "--force", str(NVME)], check=True)


@pytest.fixture(autouse=True)
def _empty_drive() -> Iterator[None]:
    wipe()
    yield
    wipe()


@pytest.fixture(scope="module")
def name_by_id() -> str:
    """The drive's name in /dev/disk/by-id, as udev makes it."""
    subprocess.run(["/lib/systemd/systemd-udevd", "--daemon"], check=True)
    subprocess.run(["udevadm", "trigger", "--subsystem-match=block"], check=True)
    subprocess.run(["udevadm", "settle"], check=True)
    names = [link.name for link in Path("/dev/disk/by-id").iterdir() if link.resolve() == NVME]
    return next(name for name in names if name.endswith(f"_{SERIAL}"))


def refused(out: Path, named: str, said: str) -> None:
    """Nothing is written, and the reason is given."""
    subprocess.run(["sync"], check=True)
    before = written_bytes()
    options = ("--destroy-data", named, "--op", "write", "--budget", "0.5")
    (result,) = io_nvme(out, *options, status=NOTHING_MEASURED)
    assert (result["status"], result["cause"]) == ("skipped", "ownership")
    assert said in result["reason"], result["reason"]
    assert written_bytes() == before


def test_it_is_written_by_its_serial_number(tmp_path: Path) -> None:
    before = written_bytes()
    options = ("--op", "write", "--order", "random", "--block-size", "64k", "--budget", "0.5")
    (result,) = io_nvme(tmp_path, "--destroy-data", SERIAL, *options)
    observed = result["evidence"]["storage_io"]
    assert result["status"] == "measured"
    assert observed["used_bytes"] == CAPACITY
    assert "were read back" in result["evidence"]["verified"]
    assert written_bytes() - before >= observed["bytes_written"] > 0


def test_it_is_purged_filled_and_written_until_it_is_steady(
    tmp_path: Path, name_by_id: str
) -> None:
    before = written_bytes()
    fill, curve = io_nvme(
        tmp_path,
        *("--destroy-data", name_by_id, "--precondition", "purge,fill", "--write-saturation"),
        *("--size", "8m", "--round", "0.5s", "--budget", "8s", "--verify"),
    )
    assert (fill["stop"], fill["pattern"]["purged"]) == ("written", True)
    assert fill["evidence"]["storage_io"]["purged_bytes"] == CAPACITY
    assert fill["rounds"][-1]["bytes_written"] >= 16 * MIB
    assert curve["stop"] in ("steady", "budget")
    rounds, written = (5, 8 * MIB) if curve["stop"] == "steady" else (1, 1)
    assert len(curve["rounds"]) >= rounds
    assert curve["rounds"][-1]["bytes_written"] >= written
    asked = 0
    for result in (fill, curve):
        io_bytes = result["evidence"]["storage_io"]["bytes_written"]
        assert result["rounds"][-1]["bytes_written"] == io_bytes
        # Operations that end after the last row are the drive's, and in no row.
        in_flight = 16 * MIB
        assert 0 <= result["evidence"]["device_bytes_written"] - io_bytes <= in_flight
        asked += io_bytes
    assert asked <= written_bytes() - before


def test_another_name_is_refused(tmp_path: Path) -> None:
    refused(tmp_path, NVME.name, f"'{NVME.name}' is neither its serial number nor its name in")


def test_a_file_system_is_refused_mounted_or_not(tmp_path: Path) -> None:
    subprocess.run(["mkfs.ext4", "-q", "-F", str(NVME), "64m"], check=True)
    refused(tmp_path, SERIAL, "it holds ext4")
    point = tmp_path / "mounted"
    point.mkdir()
    subprocess.run(["mount", "-o", "ro", str(NVME), str(point)], check=True)
    try:
        refused(tmp_path, SERIAL, f"is mounted on {point}")
    finally:
        subprocess.run(["umount", str(point)], check=True)


def test_a_drive_below_another_device_is_refused(tmp_path: Path) -> None:
    subprocess.run(["modprobe", "dm-mod"], check=True)
    table = f"0 2048 linear {NVME} 0\n"
    create = ["dmsetup", "create", "--noudevsync", "above"]
    subprocess.run(create, input=table, text=True, check=True)
    try:
        refused(tmp_path, SERIAL, "is used by dm-")
    finally:
        subprocess.run(["dmsetup", "remove", "--noudevsync", "above"], check=True)


def test_data_without_a_signature_takes_a_second_word(tmp_path: Path) -> None:
    with NVME.open("r+b") as drive:
        drive.write(b"precious" * 512)
    refused(tmp_path, SERIAL, "it holds data at offset 0")
    options = ("--op", "write", "--budget", "0.5", "--second-word", "destroy-unknown-data")
    (result,) = io_nvme(tmp_path, "--destroy-data", SERIAL, *options)
    assert result["status"] == "measured"
