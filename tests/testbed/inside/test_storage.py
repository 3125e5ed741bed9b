"""Storage that only the virtual machine has: NVMe, DAX, null_blk, and a drive with a fault."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from storage import TIERSCOPE, drives, io

from forked import tierscope

pytestmark = pytest.mark.testbed

NVME = drives()[0]
SHORT = ("--budget", "0.5", "--order", "random", "--block-size", "4k")


@pytest.fixture(scope="module")
def nvme() -> Iterator[Path]:
    """A directory on the NVMe drive."""
    directory = Path("/mnt/nvme")
    directory.mkdir(exist_ok=True)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(NVME), "64m"], check=True)
    subprocess.run(["mount", str(NVME), str(directory)], check=True)
    yield directory
    subprocess.run(["umount", str(directory)], check=True)


@pytest.fixture(scope="module")
def null_block() -> Path:
    """A drive that answers without doing anything."""
    subprocess.run(["modprobe", "null_blk", "nr_devices=1", "gb=1"], check=True)
    return Path("/dev/nullb0")


@pytest.fixture
def half_dead(null_block: Path) -> Iterator[Path]:
    """A drive whose second half has only errors."""
    sectors = int((Path("/sys/block") / null_block.name / "size").read_text()) // 2
    table = f"0 {sectors} linear {null_block} 0\n"
    table += f"{sectors} {sectors} flakey {null_block} {sectors} 0 3600\n"
    subprocess.run(["modprobe", "dm-flakey"], check=True)
    subprocess.run(
        ["dmsetup", "create", "--noudevsync", "half-dead"], input=table, text=True, check=True
    )
    subprocess.run(["dmsetup", "mknodes"], check=True)
    yield Path("/dev/mapper/half-dead")
    subprocess.run(["dmsetup", "remove", "--noudevsync", "half-dead"], check=True)


def test_an_nvme_drive_is_polled(tmp_path: Path) -> None:
    assert (Path("/sys/block") / NVME.name / "queue/io_poll").read_text() == "1\n"
    (result,) = io(tmp_path, *SHORT, "--to", f"dev:{NVME}", "--backend", "io_uring", "--iopoll")
    assert (result["status"], result["figures"][0]["metric"]) == ("measured", "iops")
    assert result["evidence"]["storage_io"]["reads"] > 0


def test_files_on_an_nvme_drive_are_written_verified_and_removed(
    nvme: Path, tmp_path: Path
) -> None:
    results = io(
        tmp_path,
        *SHORT,
        *("--to", f"file:{nvme}", "--size", "4m", "--op", "read,write", "--verify"),
        *("--backend", "posix,libaio,io_uring"),
    )
    assert [result["status"] for result in results] == ["measured"] * 6
    assert all(result["evidence"]["verified"] for result in results)
    assert [path.name for path in nvme.iterdir()] == ["lost+found"]


def test_persistent_memory_is_mapped_past_the_page_cache(tmp_path: Path) -> None:
    file = Path("/mnt/pmem/data")
    file.write_bytes(bytes(4 << 20))
    (result,) = io(tmp_path, *SHORT, "--to", f"file:{file}", "--backend", "mmap", "--op", "read")
    file.unlink()
    assert result["status"] == "measured"
    assert result["evidence"]["storage"][0]["path"]["dax"] is True


def test_a_directory_of_persistent_memory_is_said_to_be_dax(tmp_path: Path) -> None:
    (result,) = io(tmp_path, *SHORT, "--to", "file:/mnt/pmem", "--backend", "mmap", "--size", "4m")
    assert result["evidence"]["storage"][0]["path"]["dax"] is True


def test_the_page_cache_is_warmed_as_far_as_a_cgroup_lets_it(tmp_path: Path) -> None:
    cgroups = tmp_path / "cgroups"
    cgroups.mkdir()
    subprocess.run(["mount", "-t", "cgroup2", "none", str(cgroups)], check=True)
    (cgroups / "cgroup.subtree_control").write_text("+memory")
    small = cgroups / "small"
    small.mkdir()
    (small / "memory.max").write_text("200M")
    inside = ["sh", "-c", f'echo $$ > {small}/cgroup.procs; exec "$@"', "sh"]
    command = [TIERSCOPE, "io", *SHORT, "--to", f"dev:{NVME}", "--direct", "no"]
    command += ["--json", "--out", str(tmp_path)]
    done = subprocess.run([*inside, *command], capture_output=True, text=True, check=True)
    subprocess.run(["umount", str(cgroups)], check=True)
    (result,) = json.loads(done.stdout)["results"]
    assert 0.05 < result["evidence"]["storage_io"]["cached_before"] < 0.9


def test_a_drive_that_does_nothing_can_be_measured(null_block: Path, tmp_path: Path) -> None:
    (result,) = io(
        tmp_path, *SHORT, "--to", f"dev:{null_block}", "--backend", "io_uring", "--depth", "8"
    )
    assert result["status"] == "measured"


def test_both_sockets_read_each_drive_and_the_node_of_persistent_memory_is_known(
    tmp_path: Path,
) -> None:
    limit = ("--time-limit", "6s")
    done = tierscope("storage", "--matrix", *limit, "--json", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    cells = found["matrix"]
    drives = [path.name for path in Path("/dev").glob("nvme?n?")]
    drives += [path.name for path in Path("/dev").glob("pmem?")]
    drives += [path.name for path in Path("/dev").glob("nullb?")]  # of the test before, perhaps
    read = {(cell["initiator"], cell["target"].rpartition("/")[2]) for cell in cells}
    assert {(node, drive) for node in ("node:0", "node:1") for drive in drives} <= read
    of_memory = [cell for cell in cells if "pmem" in cell["target"]]
    assert {(cell["initiator"], cell["affinity"]["label"]) for cell in of_memory} == {
        ("node:0", "SYS"),
        ("node:1", "PHB"),
    }
    assert {group["reads"] for group in found["together"]} == {"large", "small"}
    for group in found["together"]:
        pairs = {(pair["initiator"], pair["target"].rpartition("/")[2]) for pair in group["pairs"]}
        assert {target for _, target in pairs} == set(drives)
        assert ("node:1", next(name for name in drives if name.startswith("pmem"))) in pairs


def test_an_error_of_a_drive_is_named_with_its_place(half_dead: Path, tmp_path: Path) -> None:
    (result,) = io(tmp_path, *SHORT, "--to", f"dev:{half_dead}", "--depth", "4", status=1)
    assert (result["status"], result["cause"]) == ("failed", "storage")
    assert result["reason"].startswith("read of 4096 bytes at offset ")
    assert result["reason"].endswith(f"of {half_dead}: Input/output error")
