"""A cluster with Slurm on one machine: hosts made of namespaces, with a slurmd each.

Debian's packages (``slurmctld slurmd slurm-client munge``); the daemons run in a private folder,
with a key and a configuration of their own, and end with the context.
"""

import contextlib
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from namespaces import Hosts, NamespacesError, namespaces

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scontrol", "sinfo")
_CONF = """
ClusterName=testing
SlurmctldHost={first}
SlurmUser=root
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/local
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/local/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/local/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=2
MpiDefault=pmix
FirstJobId={first_job}
{more}
NodeName={names} CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=all Nodes={names} Default=YES MaxTime=INFINITE State=UP
"""
"""Open MPI calls files in /tmp and /dev/shm by a host's name and a job's number, so that two
clusters at a time, of two processes that test, need other numbers."""
_UP_S = 120.0
_JOB_S = 240.0
_ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY"}


@dataclass
class Cluster:
    """A cluster under way; its first host has the controller, too."""

    folder: Path
    hosts: Hosts

    def run(
        self, *words: object, check: bool = True, **environment: object
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command on the first host."""
        done = subprocess.run(
            self.hosts.hosts[0].command(list(map(str, words))),
            cwd=self.folder,
            env=self.environment({name: str(value) for name, value in environment.items()}),
            capture_output=True,
            text=True,
            timeout=300,
            stdin=subprocess.DEVNULL,
        )
        if check and done.returncode:
            raise AssertionError(f"{words}: {done.stdout}{done.stderr}")
        return done

    def batch(self, *words: object, **environment: object) -> tuple[int, str]:
        """Run a batch job on the cluster; return its script's exit status and what it wrote.

        ``sbatch --wait`` would look for its end every half minute.
        """
        job = self.run("sbatch", "--parsable", *words, **environment).stdout.strip()
        deadline = time.monotonic() + _JOB_S
        while True:
            shown = self.run("scontrol", "show", "job", "--oneliner", job).stdout
            (first,) = (line for line in shown.splitlines() if line.startswith(f"JobId={job} "))
            facts = dict(word.split("=", 1) for word in first.split() if "=" in word)
            if facts["JobState"] in _ENDED:
                break
            if time.monotonic() > deadline:
                raise AssertionError(shown)
            time.sleep(0.2)
        return int(facts["ExitCode"].split(":")[0]), Path(facts["StdOut"]).read_text()

    def environment(self, more: dict[str, str]) -> dict[str, str]:
        """Return the environment of commands."""
        return {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf"), **more}

    def states(self) -> dict[str, str]:
        """Return the state of each node, as ``idle`` or ``drained``."""
        listed = self.run("sinfo", "-h", "-N", "-o", "%N %T").stdout.split()
        return dict(zip(listed[::2], listed[1::2], strict=True))

    def reasons(self) -> dict[str, str]:
        """Return why nodes are drained or down."""
        lines = self.run("sinfo", "-h", "-N", "-o", "%N %E").stdout.splitlines()
        return dict(line.split(maxsplit=1) for line in lines)

    def wait_for(self, **states: str) -> None:
        """Return once nodes are in these states."""
        deadline = time.monotonic() + _UP_S
        while not states.items() <= (found := self.states()).items():
            if time.monotonic() > deadline:
                raise AssertionError(f"nodes are {found}, not {states}")
            time.sleep(0.1)


@contextlib.contextmanager
def cluster(folder: Path, nodes: int, more: str = "") -> Iterator[Cluster]:
    """Start a cluster of node1, node2 ...; ``more`` is added to slurm.conf.

    Raises NamespacesError where this machine lacks Slurm, or cannot make hosts.
    """
    if lacking := [name for name in PROGRAMS if not _program(name)]:
        raise NamespacesError(f"Slurm's {', '.join(lacking)} not installed")
    with contextlib.ExitStack() as stack:
        hosts = stack.enter_context(namespaces(nodes))
        made = Cluster(folder, hosts)
        names = [host.name for host in hosts.hosts]
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
        conf = _CONF.format(
            first=names[0], folder=folder, more=more, memory=memory, first_job=os.getpid(),
            names=",".join(names), cpus=os.cpu_count(),
        )  # fmt: skip
        (folder / "slurm.conf").write_text(conf)
        (folder / "cgroup.conf").write_text("CgroupAutomount=no\n")
        (folder / "mpi.conf").write_text(f"PMIxCliTmpDirBase={folder}/local\n")
        for name in ("state", "local", *names):
            (folder / name).mkdir()
        _start_munge(stack, made)
        _start(stack, made, names[0], ["slurmctld", "-D", "-c"])
        for name in names:
            own_disk = ["mount", "--bind", str(folder / name), str(folder / "local")]
            subprocess.run(hosts[name].command(own_disk), check=True)
            _start(stack, made, name, ["slurmd", "-D"])
        deadline = time.monotonic() + _UP_S
        while made.run("scontrol", "ping", check=False).returncode:
            if time.monotonic() > deadline:
                raise AssertionError((folder / "slurmctld.log").read_text())
            time.sleep(0.1)
        made.wait_for(**dict.fromkeys(names, "idle"))
        yield made


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


def _start_munge(stack: contextlib.ExitStack, made: Cluster) -> None:
    folder = made.folder
    (folder / "munge.key").write_bytes(secrets.token_bytes(128))
    (folder / "munge.key").chmod(0o600)
    names = {"socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    files = [f"--{option}={folder}/munge.{name}" for option, name in names.items()]
    key = f"--key-file={folder}/munge.key"
    _start(stack, made, made.hosts.hosts[0].name, ["munged", "-F", "--force", key, *files])
    deadline = time.monotonic() + _UP_S
    while not (folder / "munge.socket").exists() and time.monotonic() < deadline:
        time.sleep(0.02)


def _start(stack: contextlib.ExitStack, made: Cluster, host: str, words: Sequence[str]) -> None:
    program = _program(words[0])
    assert program
    log = stack.enter_context((made.folder / f"{words[0]}-{host}.out").open("w"))
    process = subprocess.Popen(
        made.hosts[host].command([program, *words[1:]]),
        env=made.environment({}),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
    )
    stack.enter_context(process)
    stack.callback(process.terminate)
