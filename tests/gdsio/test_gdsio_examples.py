"""The job files of examples/gdsio, and those written from an assignment of drives to GPUs."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.gpu import gpu_machine
from tests.topology import topology_machines as machines

from tierscope.cli import topo
from tierscope.cli.app import app
from tierscope.kinds.io.spec import IoSpec
from tierscope.model.errors import UserError
from tierscope.model.topology import Mount, Topology
from tierscope.peers.gdsio.assigned import assigned_jobs
from tierscope.peers.gdsio.job_file import parse_jobs
from tierscope.peers.gdsio.plan import spec_of
from tierscope.peers.gdsio.run import run
from tierscope.peers.gdsio.workload import Workload, workload

EXAMPLES = sorted(Path(__file__).parents[2].glob("examples/gdsio/*.gdsio"))


def asked(text: str, **environment: str) -> Workload:
    return workload(parse_jobs(text, "x.gdsio", environment))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_is_planned_as_it_is(file: Path) -> None:
    work = asked(file.read_text(), GDSIO_DIR="/mnt/nvme", NFS="/mnt/nfs")
    spec = spec_of(work, gpu_machine.machine(gpus=4))
    IoSpec.model_validate(spec)
    assert spec["pattern"]["operation"] == ("write" if "write" in file.stem else "read")
    assert spec["pattern"]["order"] == ("random" if "random" in file.stem else "sequential")
    assert f"examples/gdsio/{file.name}" in file.read_text()


def test_the_example_without_a_gpu_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (file,) = [one for one in EXAMPLES if one.stem == "cpu-read"]
    short = tmp_path / "short.gdsio"
    text = file.read_text().replace("size=1G", "size=1M").replace("runtime=10", "runtime=1")
    short.write_text(text)
    monkeypatch.setenv("GDSIO_DIR", str(tmp_path))
    assert run([str(short)]) == 0
    assert capsys.readouterr().out.startswith("IoType: READ XferType: CPUONLY Threads: 4 ")


@pytest.fixture
def dgx2() -> Topology:
    found = machines.discovered(machines.dgx2)
    mounts = [
        *found.mounts,
        Mount(path="/mnt/nvme2", type="xfs", block="nvme2n1"),
        Mount(path="/mnt/$HOME", type="xfs", block="nvme3n1"),
    ]
    return found.model_copy(update={"mounts": mounts})


def test_an_assignment_becomes_jobs(dgx2: Topology) -> None:
    text, count = assigned_jobs(dgx2)
    work = asked(text)
    assert (count, len(work.jobs), work.writes) == (8, 8, False)
    assert [job.gpu for job in work.jobs] == list(range(0, 16, 2))
    # Mounted; at a path that a job file would expand; not mounted.
    assert [job.path for job in work.jobs[:3]] == ["/mnt/nvme2", "/dev/nvme3n1", "/dev/nvme4n1"]
    assert "# gpu:0 and nvme2: PXB" in text
    assert "numa_node=0" in text
    IoSpec.model_validate(spec_of(work, dgx2))


def test_the_command_writes_the_job_file(
    dgx2: Topology, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topo, "_topology", lambda *_: dgx2)
    file = tmp_path / "jobs.gdsio"
    done = CliRunner().invoke(app, ["topo", "--assign", "--gdsio", str(file)])
    assert (done.exit_code, f"8 jobs: {file}" in done.output) == (0, True)
    assert file.read_text() == assigned_jobs(dgx2)[0]
    assert "A drive and a NIC for each GPU" in done.output
    alone = CliRunner().invoke(app, ["topo", "--gdsio", str(file)])
    assert "--gdsio writes what --assign finds; give --assign, too" in str(alone.exception)


def test_a_machine_without_pairs_has_no_jobs() -> None:
    with pytest.raises(UserError, match="can be assigned a drive"):
        assigned_jobs(gpu_machine.machine(gpus=1))
