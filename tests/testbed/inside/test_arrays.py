"""Arrays of four NVMe drives, and NFS that the guest serves to itself by two addresses."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import storage
from storage import io, run

from forked import tierscope
from tierscope.fleet.together import together_of
from tierscope.model.fleet import FleetIndex
from tierscope.runs.read import read_run

pytestmark = pytest.mark.testbed

PLAN = """
measurements:
  - kind: io
    args: {to: "file:/mnt/shared", hosts-file: one, op: "read,write", size: 4m, block-size: 64k,
           budget: 0.5, verify: "yes"}
  - kind: io
    args: {to: "file:/mnt/shared", size: 2m, block-size: 64k, budget: 0.5}
"""
RANK = 'mount --bind "$0" /mnt/shared && exec "$@"'
"""Each rank has a client's mount in the same place, in a mount namespace of its own."""

SHORT = ("--budget", "0.5", "--block-size", "256k", "--depth", "2")
RATED = """\
"QEMU NVMe*":
  read: 1 GB/s
  write: 0.5 GB/s
"""


@pytest.fixture(scope="module")
def drives() -> list[Path]:
    """The four drives in the order of their serial numbers."""
    return storage.drives()


@pytest.fixture
def array(request: pytest.FixtureRequest, drives: list[Path]) -> Iterator[tuple[str, Path]]:
    """An md array of the level that the test names, clean from the start."""
    level, device = str(request.param), Path("/dev/md0")
    run("modprobe", "-a", "raid0", "raid1", "raid456")
    options = ["--assume-clean"] if level != "raid0" else []
    created = ["--create", device, "--run", f"--level={level}", f"--raid-devices={len(drives)}"]
    run("mdadm", *created, *options, *drives)
    yield level, device
    run("mdadm", "--stop", device)
    run("mdadm", "--zero-superblock", *drives)


@pytest.fixture
def rated(tmp_path: Path) -> str:
    """A data sheet for the drives of QEMU."""
    file = tmp_path / "rated.yaml"
    file.write_text(RATED)
    return str(file)


def devices(result: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What the array did, and what its members did."""
    first, *members = result["evidence"]["devices"]
    assert first["name"] == "md0"
    return first, members


@pytest.mark.parametrize("array", ["raid0", "raid5"], indirect=True)
def test_an_array_reads_from_its_members_as_much_as_it_gives(
    array: tuple[str, Path], rated: str, tmp_path: Path
) -> None:
    level, device = array
    (result,) = io(tmp_path, *SHORT, "--to", f"dev:{device}", "--size", "32m", "--rated", rated)
    assert result["figures"][0]["limit"]["value"] == 4e9 / (256 << 10)
    assert "1 GB/s + 1 GB/s + 1 GB/s + 1 GB/s = 4 GB/s" in result["figures"][0]["limit"]["formula"]
    own, members = devices(result)
    assert len(members) == 4
    assert own["bytes_read"] > 0
    # What looks for tables of partitions reads members alone.
    read = sum(one["bytes_read"] for one in members)
    assert 0.98 * own["bytes_read"] <= read < 1.5 * own["bytes_read"]
    (facts,) = result["evidence"]["storage"]
    assert facts["level"] == level
    assert all(drive["wear"]["used_percent"] < 100 for drive in facts["drives"])
    assert sorted(drive["serial"] for drive in facts["drives"]) == [
        f"testbed{number}" for number in range(4)
    ]


@pytest.mark.parametrize("array", ["raid1"], indirect=True)
def test_a_mirror_writes_every_member(array: tuple[str, Path], rated: str, tmp_path: Path) -> None:
    _, device = array
    run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", device, "64m")
    directory = tmp_path / "mirror"
    directory.mkdir()
    run("mount", device, directory)
    try:
        options = ["--op", "write", "--size", "4m", "--amount", "4m", "--rated", rated]
        (result,) = io(tmp_path, *SHORT, "--to", f"file:{directory}", *options)
    finally:
        run("umount", directory)
    assert "the slowest of 4: 0.5 GB/s" in result["figures"][0]["limit"]["formula"]
    own, members = devices(result)
    written = sum(one["bytes_written"] for one in members)
    assert written >= 4 * 0.9 * own["bytes_written"]  # and what md notes of itself


def test_each_drive_alone_and_all_together(drives: list[Path], tmp_path: Path) -> None:
    names = [f"dev:{drive}" for drive in drives]
    options = ["--to", ",".join(names), "--together", "no,yes", "--size", "16m"]
    *alone, together = io(tmp_path, *SHORT, *options)
    assert [result["target"] for result in alone] == names
    counted = {one["name"]: one["bytes_read"] for one in together["evidence"]["devices"]}
    asked = {one["name"]: one for one in together["evidence"]["storage_io"]["targets"]}
    assert list(asked) == names
    for drive, name in zip(drives, names, strict=True):
        assert counted[drive.name] >= asked[name]["bytes_read"] > 0


@pytest.fixture(scope="module")
def mounts(drives: list[Path]) -> Iterator[list[Path]]:
    """Two directories of a drive, mounted by NFS from two addresses of this machine."""
    served, state = Path("/mnt/served"), Path("/var/lib/nfs")
    run("mkfs.ext4", "-q", "-F", drives[0], "64m")
    served.mkdir()
    run("mount", drives[0], served)
    run("ip", "link", "set", "lo", "up")
    # The server keeps its state there, and the guest's root file system cannot hold it.
    run("mount", "-t", "tmpfs", "state", state)
    for name in ("v4recovery", "sm", "rpc_pipefs"):
        (state / name).mkdir()
    for name in ("etab", "rmtab"):
        (state / name).touch()
    run("modprobe", "-a", "nfsd", "nfs")
    run("mount", "-t", "nfsd", "nfsd", "/proc/fs/nfsd")
    Path("/etc/exports").write_text(f"{served} *(rw,no_root_squash,fsid=0,insecure)\n")
    for command in (["rpcbind"], ["exportfs", "-ra"], ["rpc.mountd"], ["rpc.nfsd", "4"]):
        run(*command)
    found = []
    for number in (1, 2):
        (served / str(number)).mkdir()
        mount = Path(f"/mnt/nfs{number}")
        mount.mkdir()
        # Version 3: by version 4.1 both addresses would turn out to be one server, and share a
        # connection.
        options = f"vers=3,nolock,nconnect={number}"
        run("mount", "-t", "nfs", "-o", options, f"127.0.0.{number}:{served}/{number}", mount)
        found.append(mount)
    yield found
    run("rpc.nfsd", "4")
    for mount in found:
        run("umount", "-l", mount)  # what was left behind there may hold it for a while yet
    run("rpc.nfsd", "0")
    run("exportfs", "-ua")
    run("umount", served)


def test_two_mounts_at_once_have_figures_of_their_own(mounts: list[Path], tmp_path: Path) -> None:
    targets = [f"file:{mount}" for mount in mounts]
    options = ["--to", ",".join(targets), "--together", "yes", "--size", "2m"]
    (result,) = io(tmp_path, *SHORT, *options)
    parts = {
        one["part"]: one for one in result["figures"] if one["metric"] == "iops" and one["part"]
    }
    assert list(parts) == targets
    assert all(one["estimate"] > 0 for one in parts.values())
    evidence = result["evidence"]
    assert [one["name"] for one in evidence["nfs"]] == [str(mount) for mount in mounts]
    for mount, asked in zip(evidence["nfs"], evidence["storage_io"]["targets"], strict=True):
        assert mount["read_bytes"] >= asked["bytes_read"] > 0
    facts = [one["nfs"] for one in evidence["storage"]]
    assert [one["server"] for one in facts] == ["127.0.0.1", "127.0.0.2"]
    assert [one["connections"] for one in facts] == [1, 2]
    assert {one["interface"] for one in facts} == {"lo"}
    assert result["figures"][0]["limit"] is None
    (lo,) = evidence["ports"]
    assert lo["received_bytes"] >= sum(one["read_bytes"] for one in evidence["nfs"])


@pytest.fixture
def clients(mounts: list[Path]) -> Iterator[list[Path]]:
    """The same directory twice, by two clients of NFS 4.2: one is that of another network."""
    assert mounts
    run("modprobe", "veth")
    run("ip", "netns", "add", "right")
    run("ip", "link", "add", "here", "type", "veth", "peer", "name", "there", "netns", "right")
    run("ip", "addr", "add", "10.9.0.1/24", "dev", "here")
    run("ip", "link", "set", "here", "up")
    run("ip", "-n", "right", "addr", "add", "10.9.0.2/24", "dev", "there")
    run("ip", "-n", "right", "link", "set", "there", "up")
    Path("/mnt/shared").mkdir()
    # A server takes two clients of one name for one that restarted, and ends what the first held.
    name = "echo right > /sys/fs/nfs/net/nfs_client/identifier"
    run("ip", "netns", "exec", "right", "sh", "-c", name)
    found = [Path("/mnt/left"), Path("/mnt/right")]
    inside = (["env"], ["nsenter", "--net=/run/netns/right"])
    for mount, server, enter in zip(found, ("127.0.0.1", "10.9.0.1"), inside, strict=True):
        mount.mkdir()
        run(*enter, "mount", "-t", "nfs", "-o", "vers=4.2", f"{server}:/", mount)
    known = [path.read_text() for path in Path("/proc/fs/nfsd/clients").glob("*/info")]
    assert len(known) == 2
    assert all("status: confirmed" in one for one in known)
    yield found
    for mount in found:
        run("umount", "-l", mount)
    run("ip", "netns", "del", "right")


def test_two_clients_measure_together_and_leave_nothing(
    clients: list[Path], tmp_path: Path
) -> None:
    plan, out = tmp_path / "plan.yaml", tmp_path / "fleet"
    plan.write_text(PLAN)
    fleet = [storage.TIERSCOPE, "fleet", "run", plan, "--ranks-as-hosts", "--out", out]
    ranks = [["-n", "1", "unshare", "-m", "sh", "-c", RANK, mount, *fleet] for mount in clients]
    done = subprocess.run(
        [str(word) for word in ["mpirun", "--oversubscribe", *ranks[0], ":", *ranks[1]]],
        env={
            **os.environ,
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    index = FleetIndex.model_validate_json((out / "fleet.json").read_bytes())
    runs = [read_run(out / host.run) for host in index.hosts]
    for measured in zip(*(one.measurements for one in runs), strict=True):
        used = []
        for one in measured:
            assert one.status == "measured", one.reason
            assert one.evidence is not None
            assert one.evidence.verified, "what one client wrote, the other one reads"
            assert one.evidence.storage_io is not None
            used += one.evidence.storage_io.files
        assert len(set(used)) == (1 if measured[0].pattern.get("file") == "one" else 2)
    parts = [one.header.fleet for one in runs]
    assert [(part.order, part.alone) for part in parts if part] == [("together", False)] * 2
    # One emulator runs both clients in turn, so they may have no time in common to be summed up.
    for one in (one for one in together_of(out, index) if one.headline):
        assert one.hosts == 2
        assert len(one.stores) == 2
        assert all(store.startswith("nfs4 ") for store in one.stores)
    assert sorted(path.name for path in clients[0].iterdir()) == ["1", "2", "lost+found"]


def test_checkpoints_on_a_server_outlive_the_programs_that_save_them(
    mounts: list[Path], tmp_path: Path
) -> None:
    options = ["--size", "256k", "--threads", "1", "--kills", "1", "--budget", "1s", "--json"]
    done = tierscope("checkpoint", mounts[0], *options, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(done.stdout)["results"]
    assert result["status"] == "measured", result
    assert result["evidence"]["checkpoint"]["kills"]["kills"] == 1
    assert result["evidence"]["storage"][0]["path"]["mount"]["type"].startswith("nfs")


def test_a_server_that_stops_costs_its_measurement_and_the_run_goes_on(
    mounts: list[Path], tmp_path: Path
) -> None:
    mount = mounts[0]
    targets = f"file:{mount},file:/dev/shm"
    hasty = "from tierscope.engine import repetitions; repetitions._START_S = 15.0; "
    tierscope = [sys.executable, "-c", hasty + "from tierscope.cli.main import main; main()"]
    command = [*tierscope, "io", "--to", targets, "--budget", "8", "--size", "2m", "--depth", "2",
               "--block-size", "64k", "--json", "--out", str(tmp_path)]  # fmt: skip
    before = reads(mount)
    child = subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        wait_for_reads(mount, before + 100, child)  # more than are made before it measures
        run("rpc.nfsd", "0")
        output, said = child.communicate()
    finally:
        if child.poll() is None:
            os.kill(child.pid, signal.SIGKILL)
        run("rpc.nfsd", "4")
    dead, alive = json.loads(output)["results"]
    # Repetitions that ended before the server did count; the one that it cut is told either way.
    said_of = [dead["reason"]] if dead["status"] == "failed" else dead["evidence"]["notes"]
    told = " ".join(text for text in said_of if "the engine took far longer" in text)
    assert told, (dead["status"], said_of, said)
    assert f"{mount} does not answer in 5 s" in told, said
    assert "\n" not in told
    assert alive["status"] == "measured"


def reads(mount: Path) -> int:
    """Operations by which a mount was read from."""
    part = Path("/proc/self/mountstats").read_text().partition(f" mounted on {mount} ")[2]
    return int(part.partition("READ: ")[2].split()[0])


def wait_for_reads(mount: Path, most: int, child: "subprocess.Popen[str]") -> None:
    """Wait until a mount was read from more often than this."""
    while child.poll() is None:
        if reads(mount) > most:
            return
        time.sleep(0.2)
    pytest.fail("the mount was not read from")
