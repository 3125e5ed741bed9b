"""Two hosts of a fleet on one server of NFS, each a client of its own: a network namespace's."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import storage
from storage import TIERSCOPE, run

from tierscope.fleet.at_once import together_of
from tierscope.model.fleet import FleetIndex
from tierscope.runs.read import read_run

pytestmark = pytest.mark.testbed

PLAN = """
measurements:
  - kind: io
    args: {to: "file:/mnt/shared", file: one, op: "read,write", size: 4m, block-size: 64k,
           budget: 0.5, verify: "yes"}
  - kind: io
    args: {to: "file:/mnt/shared", size: 2m, block-size: 64k, budget: 0.5}
"""
RANK = 'mount --bind "$0" /mnt/shared && exec "$@"'
"""Each rank has a client's mount in the same place, in a mount namespace of its own."""


@pytest.fixture(scope="module")
def served() -> Iterator[Path]:
    """What the guest serves; /mnt/left and /mnt/right are it, by two clients of NFS 4.2."""
    place, state = Path("/mnt/exported"), Path("/var/lib/nfs")
    run("mkfs.ext4", "-q", "-F", storage.drives()[1], "64m")
    for folder in ("exported", "left", "right", "shared"):
        Path("/mnt", folder).mkdir()
    run("mount", storage.drives()[1], place)
    run("mount", "-t", "tmpfs", "state", state)
    for name in ("v4recovery", "sm", "rpc_pipefs"):
        (state / name).mkdir()
    for name in ("etab", "rmtab"):
        (state / name).touch()
    run("modprobe", "-a", "nfsd", "nfs", "veth")
    run("mount", "-t", "nfsd", "nfsd", "/proc/fs/nfsd")
    Path("/etc/exports").write_text(f"{place} *(rw,no_root_squash,fsid=0,insecure)\n")
    # Another test may have started the first of these.
    for command in (["rpcbind"], ["exportfs", "-ra"], ["rpc.mountd"], ["rpc.nfsd", "4"]):
        subprocess.run(command, check=command[0] != "rpcbind", capture_output=True)
    run("ip", "link", "set", "lo", "up")
    run("ip", "netns", "add", "right")
    run("ip", "link", "add", "here", "type", "veth", "peer", "name", "there", "netns", "right")
    run("ip", "addr", "add", "10.9.0.1/24", "dev", "here")
    run("ip", "link", "set", "here", "up")
    run("ip", "-n", "right", "addr", "add", "10.9.0.2/24", "dev", "there")
    run("ip", "-n", "right", "link", "set", "there", "up")
    run("mount", "-t", "nfs", "-o", "vers=4.2", "127.0.0.1:/", "/mnt/left")
    inside = ["nsenter", "--net=/run/netns/right"]
    run(*inside, "mount", "-t", "nfs", "-o", "vers=4.2", "10.9.0.1:/", "/mnt/right")
    yield place
    for mount in ("/mnt/right", "/mnt/left"):
        run("umount", "-l", mount)
    run("rpc.nfsd", "0")
    run("exportfs", "-ua")
    run("ip", "netns", "del", "right")


def test_two_clients_measure_together_and_leave_nothing(served: Path, tmp_path: Path) -> None:
    plan, out = tmp_path / "plan.yaml", tmp_path / "fleet"
    plan.write_text(PLAN)
    fleet = [TIERSCOPE, "fleet", "run", plan, "--ranks-as-hosts", "--out", out]
    ranks = [
        ["-n", "1", "unshare", "-m", "sh", "-c", RANK, mount, *fleet]
        for mount in ("/mnt/left", "/mnt/right")
    ]
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
    found = [one for one in together_of(out, index) if one.headline]
    assert len(found) == 3
    for one in found:
        assert one.hosts == 2
        assert len(one.stores) == 2
        assert all(store.startswith("nfs4 ") for store in one.stores)
    assert [path.name for path in served.iterdir()] == ["lost+found"]
