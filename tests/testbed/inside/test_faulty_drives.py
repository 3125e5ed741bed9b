"""Drives that fail: errors in the middle and writes that are lost; and a drive over the network."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from storage import drives, io, run

from forked import tierscope

pytestmark = pytest.mark.testbed

NVME = drives()[1]
SECTORS = 64 << 11
"""Of what lies on the drive: 64 MiB."""
MIDDLE = SECTORS // 2
SUBSYSTEM = "tierscope-test"
CONFIG = Path("/sys/kernel/config/nvmet")


def table(*features: object) -> str:
    """The first half as it is, the second half with a fault."""
    fault = " ".join(map(str, [0, 3600, len(features), *features] if features else [0, 3600]))
    return f"0 {MIDDLE} linear {NVME} 0\n{MIDDLE} {MIDDLE} flakey {NVME} {MIDDLE} {fault}\n"


@pytest.fixture
def faulty(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A device with the fault that the test names, and with ext4 from before."""
    run("mkfs.ext4", "-q", "-F", "-O", "^has_journal", NVME, "64m")
    run("modprobe", "dm-flakey")
    create = ["dmsetup", "create", "--noudevsync", "faulty"]
    subprocess.run(create, input=table(*request.param), text=True, check=True)
    run("dmsetup", "mknodes")
    yield Path("/dev/mapper/faulty")
    run("dmsetup", "remove", "--noudevsync", "faulty")


@pytest.mark.parametrize("faulty", [()], indirect=True)
def test_fio_names_the_operation_that_failed(faulty: Path, tmp_path: Path) -> None:
    words = ["--name=a", f"--filename={faulty}", "--direct=1", "--bs=64k", "--ioengine=libaio"]
    done = tierscope("fio", *words, "--iodepth=4", environment={"XDG_DATA_HOME": str(tmp_path)})
    assert done.returncode == 1, done.stdout
    said = f"read of 65536 bytes at offset {MIDDLE * 512} of {faulty.resolve()}: Input/output error"
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("faulty", [("drop_writes",)], indirect=True)
def test_writes_that_a_drive_loses_fail_verification(faulty: Path, tmp_path: Path) -> None:
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    run("mount", faulty, mounted)
    try:
        options = ["--op", "write", "--order", "random", "--block-size", "64k"]
        options += ["--size", "40m", "--budget", "2"]
        (result,) = io(tmp_path, "--to", f"file:{mounted}", *options, "--verify", status=1)
    finally:
        run("umount", mounted)
    assert result["status"] == "failed"
    assert result["cause"] == "verification"
    assert "Traceback" not in result["reason"]


@pytest.fixture
def over_tcp() -> Iterator[Path]:
    """A drive of this machine, which it connects to by NVMe over TCP."""
    run("modprobe", "-a", "nvmet-tcp", "nvme-tcp")
    run("ip", "link", "set", "lo", "up")
    if not CONFIG.exists():
        run("mount", "-t", "configfs", "configfs", "/sys/kernel/config")
    subsystem, port = CONFIG / "subsystems" / SUBSYSTEM, CONFIG / "ports/1"
    namespace = subsystem / "namespaces/1"
    namespace.mkdir(parents=True)
    (subsystem / "attr_allow_any_host").write_text("1")
    (namespace / "device_path").write_text(str(NVME))
    (namespace / "enable").write_text("1")
    port.mkdir()
    for name, value in (("trtype", "tcp"), ("adrfam", "ipv4"), ("traddr", "127.0.0.1"),
                        ("trsvcid", "4420")):  # fmt: skip
        (port / f"addr_{name}").write_text(value)
    (port / "subsystems" / SUBSYSTEM).symlink_to(subsystem)
    before = set(Path("/dev").glob("nvme?n1"))
    run("nvme", "connect", "-t", "tcp", "-a", "127.0.0.1", "-s", "4420", "-n", SUBSYSTEM)
    yield appeared(before)
    run("nvme", "disconnect", "-n", SUBSYSTEM)
    (port / "subsystems" / SUBSYSTEM).unlink()
    port.rmdir()
    namespace.rmdir()
    subsystem.rmdir()


def appeared(before: set[Path]) -> Path:
    """The drive that was not there before; the kernel looks for it after the connection is made."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if found := set(Path("/dev").glob("nvme?n1")) - before:
            return found.pop()
        time.sleep(0.1)
    pytest.fail("no drive came of the connection")


def test_a_drive_over_tcp_says_where_it_is_and_why_it_has_no_limit(
    over_tcp: Path, tmp_path: Path
) -> None:
    options = ("--budget", "0.5", "--order", "random", "--block-size", "4k", "--depth", "4")
    (result,) = io(tmp_path, "--to", f"dev:{over_tcp}", *options)
    assert result["status"] == "measured"
    (facts,) = result["evidence"]["storage"]
    (drive,) = facts["drives"]
    found = (drive["transport"], drive["server"], drive["interfaces"])
    assert found == ("tcp", "127.0.0.1", ["lo"])
    assert result["figures"][0]["limit"] is None
    (lo,) = result["evidence"]["ports"]
    assert lo["received_bytes"] >= result["evidence"]["storage_io"]["bytes_read"]
    topo = tierscope("topo", "node:0", f"dev:{over_tcp}")
    assert topo.returncode == 0, topo.stderr
    assert "the server is this machine" in " ".join(topo.stdout.split())
