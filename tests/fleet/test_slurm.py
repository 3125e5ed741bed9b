"""A fleet under Slurm: three nodes on this machine, each a host of its own with a slurmd."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from namespaces import NamespacesError
from slurm import Cluster, cluster

from fleet_jobs import mpich_library

ROOT = Path(__file__).parents[2]
TIERSCOPE = ROOT / ".venv/bin/tierscope"
RECIPES = ROOT / "examples/fleet"
NODES = ("node1", "node2", "node3")
TOPOLOGY = """
SwitchName=leaf1 Nodes=node[1-2]
SwitchName=leaf2 Nodes=node3
SwitchName=top Switches=leaf[1-2]
"""
PLAN = """
measurements:
  - kind: bandwidth
    args: {op: "read,copy", threads: 1, size: 1m, budget: BUDGET}
"""
RULE = 'rules:\n  - "node:* -> node:* read size=1m: >= BOUND"\n'
CONF = """
TopologyPlugin=topology/tree
SlurmdTimeout=20
TCPTimeout=2
Epilog={folder}/epilog
PrologEpilogTimeout=120
"""
EPILOG = """#!/bin/bash
[ -e {folder}/local/health.yaml ] || exit 0
export TIERSCOPE={tierscope} TIERSCOPE_HEALTH={folder}/local
export TIERSCOPE_SECONDS=4 TIERSCOPE_LONGEST=100 PATH=/usr/local/bin:/usr/bin:/bin
export TIERSCOPE_ENGINE={engine} FAKE_ENGINE=real-time # its figures have intervals under any load
exec {recipes}/health-check.sh
"""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("slurm")
    (folder / "topology.conf").write_text(TOPOLOGY)
    (folder / "plan.yaml").write_text(PLAN.replace("BUDGET", "0.3"))
    (folder / "long.yaml").write_text(PLAN.replace("BUDGET", "1"))
    engine = ROOT / "tests/fake_engine.py"
    epilog = EPILOG.format(folder=folder, tierscope=TIERSCOPE, recipes=RECIPES, engine=engine)
    (folder / "epilog").write_text(epilog)
    (folder / "epilog").chmod(0o755)
    if shutil.which("slurmctld", path="/usr/sbin") and not has_pmix():
        pytest.skip("Slurm's plugin for PMIx loads libpmix.so, which is in libpmix-dev")
    try:
        with cluster(folder, len(NODES), CONF.format(folder=folder)) as made:
            yield made
    except NamespacesError as error:
        pytest.skip(str(error))


def has_pmix() -> bool:
    return any(Path("/usr/lib").glob("*/pmix2/lib/libpmix.so"))


@pytest.fixture
def fake(fake_engine: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "real-time")


def states(folder: Path) -> dict[str, str]:
    hosts = json.loads((folder / "fleet.json").read_text())["hosts"]
    return {host["host"]: host["state"] for host in hosts}


def records(folder: Path, node: str, record: str) -> int:
    file = folder / "hosts" / f"{node}.jsonl"
    return file.read_text().count(f'"record":"{record}"') if file.exists() else 0


def test_a_job_qualifies_its_nodes_and_slurm_takes_the_drain_commands(
    slurm: Cluster, fake: None
) -> None:
    slurm.wait_for(**dict.fromkeys(NODES, "idle"))
    (slurm.folder / "golden.yaml").write_text(RULE.replace("BOUND", "900 TB/s"))
    status, said = slurm.batch(
        "--nodes=3", RECIPES / "qualify.sbatch", "plan.yaml",
        TIERSCOPE=TIERSCOPE, OUT="out", GOLDEN="golden.yaml", MOST_DRAINED="100%",
    )  # fmt: skip
    out = slurm.folder / "out"
    assert status == 1, f"nodes miss golden values: {said}"
    assert states(out) == dict.fromkeys(NODES, "measured")
    assert "3 hosts" in (out / "report.html").read_text()
    checked = slurm.run(
        TIERSCOPE, "fleet", "check", "out", "--by", "topology.conf", check=False
    ).stdout
    assert "2 hosts of group leaf1" in checked
    assert "1 host of group leaf2" in checked
    slurm.run("sh", "out/drain.txt")
    assert slurm.states() == dict.fromkeys(NODES, "drained")
    assert set(slurm.reasons().values()) == {
        "tierscope: golden value node:* -> node:* read size=1m: >= 900 TB/s"
    }
    slurm.run("scontrol", "update", "NodeName=node[1-3]", "State=RESUME")


def test_parts_of_a_heterogeneous_job_are_judged_together(slurm: Cluster, fake: None) -> None:
    slurm.wait_for(**dict.fromkeys(NODES, "idle"))
    status, said = slurm.batch(
        "--nodes=1", "--exclusive", "--ntasks-per-node=1", ":", "--nodes=2", "--exclusive",
        "--ntasks-per-node=1", RECIPES / "qualify.sbatch", "plan.yaml",
        TIERSCOPE=TIERSCOPE, OUT="parts",
    )  # fmt: skip
    out = slurm.folder / "parts"
    assert status == 3, said  # three hosts are too few to be compared
    first, others = states(out / "0"), states(out / "1")
    assert (len(first), len(others)) == (1, 2)
    assert first | others == dict.fromkeys(NODES, "measured")
    assert "3 hosts" in (out / "report.html").read_text()
    assert not [*out.glob("drain.*")]


def test_a_step_beside_another_one_needs_overlap(slurm: Cluster, fake: None) -> None:
    slurm.wait_for(**dict.fromkeys(NODES, "idle"))
    options = "--mpi=pmix --ntasks-per-node=1 --cpu-bind=none"
    measure = f"{TIERSCOPE} fleet run plan.yaml --out"
    job = slurm.folder / "beside.sbatch"
    job.write_text(
        f"""#!/bin/bash
export SLURM_PMIX_FENCE=tree
srun --ntasks-per-node=1 --exclusive --cpus-per-task={os.cpu_count()} sleep 1000 &
sleep 2
srun --immediate=2 {options} {measure} waits
echo "without: $?"
srun --overlap {options} {measure} beside
echo "with: $?"
kill %1
"""
    )
    _, said = slurm.batch("--nodes=3", "--exclusive", "--ntasks-per-node=1", job)
    assert "with: 0" in said, said
    assert "without: 0" not in said
    assert not (slurm.folder / "waits").exists()
    assert states(slurm.folder / "beside") == dict.fromkeys(NODES, "measured")


def test_mpich_runs_under_srun_by_pmi2(slurm: Cluster, fake: None) -> None:
    slurm.wait_for(**dict.fromkeys(NODES, "idle"))
    step = ["srun", "--mpi=pmi2", "--nodes=3", "--ntasks-per-node=1", "--cpu-bind=none"]
    measure = [TIERSCOPE, "fleet", "run", "plan.yaml", "--out", "mpich"]
    done = slurm.run(*step, *measure, check=False, LD_LIBRARY_PATH=mpich_library(slurm.folder))
    assert done.returncode == 0, done.stderr
    assert states(slurm.folder / "mpich") == dict.fromkeys(NODES, "measured")


def test_an_epilog_drains_the_node_that_misses_its_golden_values(slurm: Cluster) -> None:
    # The epilog of the job before must be through, since it would find these files, too.
    slurm.wait_for(**dict.fromkeys(NODES, "idle"))
    try:
        for node in NODES[:2]:
            bound = "900 TB/s" if node == "node2" else "1 B/s"
            (slurm.folder / node / "health.yaml").write_text(PLAN.replace("BUDGET", "1"))
            (slurm.folder / node / "golden.yaml").write_text(RULE.replace("BOUND", bound))
        slurm.run("srun", "--nodes=3", "--mpi=none", "true")
        slurm.wait_for(node1="idle", node2="drained", node3="idle")
    finally:
        for node in NODES:
            (slurm.folder / node / "health.yaml").unlink(missing_ok=True)
    assert slurm.reasons()["node2"] == "Epilog error"
    assert "golden values missed" in (slurm.folder / "node2/slurmd.log").read_text()
    slurm.run("scontrol", "update", "NodeName=node2", "State=RESUME")


def test_ranks_that_are_killed_or_stopped_cost_their_own_nodes_only(
    slurm: Cluster, fake: None
) -> None:
    slurm.wait_for(**dict.fromkeys(NODES, "idle"))
    out = slurm.folder / "losses"
    step = ["srun", "--nodes=3", "--ntasks-per-node=1", "--cpu-bind=none", "--wait=0"]
    measure = [TIERSCOPE, "fleet", "run", "long.yaml", "--patience", "5s", "--out", out]
    job = subprocess.Popen(
        slurm.hosts["node1"].command(list(map(str, [*step, *measure]))),
        cwd=slurm.folder,
        env=slurm.environment({}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 120
        while min(records(out, node, "repetition") for node in NODES) < 3:
            assert time.monotonic() < deadline
            assert job.poll() is None
            time.sleep(0.05)
        os.kill(rank_on("node2", out), signal.SIGKILL)
        os.kill(rank_on("node3", out), signal.SIGSTOP)
        job.wait(120)
    finally:
        job.kill()
        job.wait()
    assert states(out) == {"node1": "measured", "node2": "lost", "node3": "lost"}
    assert records(out, "node1", "footer") == 1
    assert min(records(out, node, "repetition") for node in NODES) >= 3


def rank_on(node: str, out: Path) -> int:
    """Return the id of the rank's process on a node: the parent of the one that measures."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode().split("\0")
            there = f"SLURMD_NODENAME={node}\0" in (process / "environ").read_text()
        except OSError:
            continue
        if there and "fleet" in words and str(out) in words:
            return int(process.name)
    raise AssertionError(f"no rank on {node}")


def test_without_pmix_a_line_says_what_srun_needs(slurm: Cluster, fake: None) -> None:
    step = ["srun", "--nodes=2", "--ntasks-per-node=1", "--mpi=none", TIERSCOPE]
    done = slurm.run(*step, "fleet", "run", "plan.yaml", "--out", "none", check=False)
    assert done.returncode in (2, 3)
    assert "--mpi=pmix for Open MPI" in done.stderr
