"""Writing to a real drive that is named by its serial number or its name by id, and refusals."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from storage import drives, io, run

from forked import tierscope
from waiting import wait_until

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


def test_it_is_qualified(tmp_path: Path) -> None:
    """A purge of all of it, writes of twice the size, and rounds, for each part of the test."""
    before = written_bytes()
    words = ("--qualify", "throughput", "--size", "32m", "--round", "0.2s")
    done = tierscope(
        *("storage", NVME, "--destroy-data", SERIAL, *words, "--json", "--out", tmp_path)
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    parts = document["qualification"]
    assert [part["test"] for part in parts] == ["throughput-1m", "throughput-128k"]
    results = {one["id"]: one for one in document["results"]}
    for part in parts:
        assert part["purged"] is True
        assert part["rounds"] >= 5
        assert part["steady"] == (part["window"]["range"] <= 0.2 and part["window"]["slope"] <= 0.1)
        assert [one["read_percent"] for one in part["results"]] == [100, 0]
        assert all(one["bandwidth"] > 0 for one in part["results"])
        fill = results[f"{part['test']}.fill"]
        assert fill["evidence"]["storage_io"]["purged_bytes"] == CAPACITY
        assert fill["rounds"][-1]["bytes_written"] >= 2 * 32 * MIB
    asked = sum(one["evidence"]["storage_io"]["bytes_written"] for one in results.values())
    assert 0 < asked <= written_bytes() - before


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


# What the tools of volumes, arrays, encryption, caches and partitions write, used or not.


def module(name: str) -> None:
    """Load a module of the kernel; skip where it has none such."""
    done = subprocess.run(["modprobe", name], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"the guest's kernel has no {name}: {done.stderr.strip()}")


def test_swap_is_refused_in_use_or_not(tmp_path: Path) -> None:
    run("mkswap", NVME)
    refused(tmp_path, SERIAL, "it holds swap")
    run("swapon", NVME)
    try:
        refused(tmp_path, SERIAL, "holds swap space in use")
    finally:
        run("swapoff", NVME)


def test_a_physical_volume_of_lvm_is_refused_in_use_or_not(tmp_path: Path) -> None:
    module("dm-mod")
    lvm = ("--config", "devices { use_devicesfile=0 } activation { udev_sync=0 udev_rules=0 }")
    run("pvcreate", *lvm, "--yes", NVME)
    refused(tmp_path, SERIAL, "it holds LVM2_member")
    run("vgcreate", *lvm, "group", NVME)
    run("lvcreate", *lvm, "--yes", "--wipesignatures", "n", "--extents", "8", "group")
    try:
        refused(tmp_path, SERIAL, "is used by dm-")
    finally:
        run("vgremove", *lvm, "--force", "--yes", "group")


@pytest.mark.parametrize("metadata", ["0.90", "1.0", "1.2"])
def test_a_member_of_an_array_is_refused_in_use_or_not(tmp_path: Path, metadata: str) -> None:
    module("raid1")
    array = Path("/dev/md7")
    create = ["mdadm", "--create", array, "--run", f"--metadata={metadata}", "--level=1"]
    run(*create, "--force", "--raid-devices=1", NVME)
    try:
        refused(tmp_path, SERIAL, "is used by md7")
    finally:
        run("mdadm", "--stop", array)
    refused(tmp_path, SERIAL, "it holds linux_raid_member")


@pytest.mark.parametrize("version", ["luks1", "luks2"])
def test_an_encrypted_device_is_refused_open_or_not(tmp_path: Path, version: str) -> None:
    module("dm-crypt")
    key = tmp_path / "key"
    key.write_bytes(b"k" * 32)
    quick = ("--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000", "--batch-mode")
    run("cryptsetup", "luksFormat", "--type", version, *quick, "--key-file", key, NVME)
    refused(tmp_path, SERIAL, "it holds crypto_LUKS")
    run("cryptsetup", "open", "--key-file", key, NVME, "secret")
    try:
        refused(tmp_path, SERIAL, "is used by dm-")
    finally:
        run("cryptsetup", "close", "secret")


def test_a_backing_device_of_bcache_is_refused_in_use_or_not(tmp_path: Path) -> None:
    module("bcache")
    used = Path("/sys/block") / NVME.name / "bcache"
    run("make-bcache", "-B", NVME)
    try:
        with suppress(OSError):  # udev may have registered it.
            Path("/sys/fs/bcache/register").write_text(f"{NVME}\n")
        wait_until(used.exists, "bcache takes the drive")
        refused(tmp_path, SERIAL, "is used by bcache")
    finally:
        (used / "stop").write_text("1\n")
        wait_until(lambda: not used.exists(), "bcache lets the drive go")
    refused(tmp_path, SERIAL, "it holds bcache")


@pytest.mark.parametrize("label", ["dos", "gpt", "sun"])
def test_a_partition_table_is_refused(tmp_path: Path, label: str) -> None:
    subprocess.run(["sfdisk", NVME], input=f"label: {label}\n", text=True, check=True)
    refused(tmp_path, SERIAL, f"it holds {label} partition table")


def test_the_backup_of_a_gpt_alone_is_refused(tmp_path: Path) -> None:
    subprocess.run(["sfdisk", NVME], input="label: gpt\n,64M\n", text=True, check=True)
    subprocess.run(["sfdisk", "--delete", NVME], check=False)
    with NVME.open("r+b") as drive:
        drive.write(bytes(MIB))
    refused(tmp_path, SERIAL, "it holds gpt partition table")
