"""The msync path: a drive that loses all writes from one moment on, as a power cut does."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from storage import TIERSCOPE, drives, run

from forked import tierscope

pytestmark = pytest.mark.testbed

NVME = drives()[2]
SECTORS = 64 << 11
LINEAR = f"0 {SECTORS} linear {NVME} 0\n"
LOSING = f"0 {SECTORS} flakey {NVME} 0 0 3600 1 drop_writes\n"
WRITING_S = 2.0


def load(table: str) -> None:
    """Change what the device does, without having the file system write what it still holds."""
    run("dmsetup", "suspend", "--noudevsync", "--nolockfs", "--noflush", "losing")
    subprocess.run(["dmsetup", "load", "losing"], input=table, text=True, check=True)
    run("dmsetup", "resume", "--noudevsync", "losing")


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """ext4 with a journal on a device that can begin to lose writes."""
    run("modprobe", "dm-flakey")
    subprocess.run(
        ["dmsetup", "create", "--noudevsync", "losing"], input=LINEAR, text=True, check=True
    )
    run("dmsetup", "mknodes")
    run("mkfs.ext4", "-q", "-F", "/dev/mapper/losing")
    place = tmp_path / "mounted"
    place.mkdir()
    # Nothing but msync writes data out: neither the kernel every few seconds nor the journal.
    writeback = Path("/proc/sys/vm/dirty_writeback_centisecs")
    before = writeback.read_text()
    writeback.write_text("0")
    run("mount", "-o", "commit=3600", "/dev/mapper/losing", place)
    yield place
    writeback.write_text(before)
    run("umount", place)
    run("dmsetup", "remove", "--noudevsync", "losing")


def acknowledged(writer: "subprocess.Popen[bytes]", seconds: float) -> int:
    """The last number that a writer printed within a time, of which it printed more than ten."""
    assert writer.stdout is not None
    said, end = b"", time.monotonic() + seconds
    while time.monotonic() < end or said.count(b"\n") < 10:
        more = os.read(writer.stdout.fileno(), 1 << 16)
        assert more, "the writer ended"
        said = said[-4096:] + more
    return int(said.split(b"\n")[-2])


@pytest.mark.parametrize(
    ("writer", "verdict"),
    [("slots", "consistent"), ("transactions", "consistent"), ("slots-no-flush", "caught")],
)
def test_what_msync_acknowledged_outlives_lost_writes(
    writer: str, verdict: str, mounted: Path
) -> None:
    command = [TIERSCOPE, "pmem-check", mounted, "--until-cut", writer]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        last = acknowledged(process, WRITING_S)
        load(LOSING)
        process.kill()
    run("umount", mounted)
    load(LINEAR)
    run("mount", "/dev/mapper/losing", mounted)
    done = tierscope("pmem-check", mounted, "--after-cut", f"{writer}={last}", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    (check,) = json.loads(done.stdout)["checks"]
    assert check["verdict"] == verdict
    assert check["generations"] == last > 0
    if verdict == "consistent":
        assert list(mounted.glob("tierscope*")) == []
