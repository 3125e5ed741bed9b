#!/usr/bin/env python3
"""Hosts made of namespaces, joined by a switch: for MPI and Slurm on one machine.

    python tests/fleet/namespaces.py --slow node3=100mbit --lossy node2=0.01 3 mpirun COMMAND...
    python tests/fleet/namespaces.py 2 on node1 COMMAND...

Each host has its own host name, network (``eth0``), ``/etc/hosts`` and ``/sys/class/net``; all
other files, CPUs and processes are the machine's. The switch is a bridge in a namespace of its own,
so nothing is left in the machine's network once the holders of the namespaces have ended. It needs
root, iproute2 and util-linux, and no further packages.
"""

import argparse
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_NETWORK = "10.211.0"
_HOLD = """
set -e
{private}
echo ready
exec sleep infinity
"""
_PRIVATE = """
hostname {name}
mount --bind {hosts} /etc/hosts
mkdir -p {old}
mount --rbind /sys {old}
mount -t sysfs sysfs /sys
mount --rbind {old}/fs/cgroup /sys/fs/cgroup
umount -l {old}
ip link set lo up
"""
"""A sysfs shows the interfaces of the network that it was mounted in."""


class NamespacesError(Exception):
    """Namespaces cannot be made here; says why."""


@dataclass(frozen=True)
class Host:
    """A host, which lives as long as the process that holds its namespaces."""

    name: str
    pid: int
    address: str

    def command(self, words: Sequence[str]) -> list[str]:
        """Return the command that runs these words on this host."""
        return ["nsenter", "-t", str(self.pid), "--net", "--uts", "--mount", "--wd=.", *words]


class Hosts:
    """Hosts that reach each other over a switch."""

    def __init__(self, folder: Path, switch: Host, hosts: list[Host]) -> None:
        self._folder = folder
        self._switch = switch
        self.hosts = hosts

    def __getitem__(self, name: str) -> Host:
        return next(host for host in self.hosts if host.name == name)

    def mpirun(self, *words: str, ranks_each: int = 1) -> list[str]:
        """Return Open MPI's command, which starts on the first host and so many ranks on each.

        TCP over eth0 is all that it may take between hosts; a host's own ranks share memory.
        """
        agent = self._folder / "rsh"
        lines = [f"  {host.name}) exec {shlex.join(host.command(['sh', '-c']))} \"$*\" ;;"
                 for host in self.hosts]  # fmt: skip
        agent.write_text("\n".join(["#!/bin/sh", "to=$1; shift", "case $to in", *lines, "esac\n"]))
        agent.chmod(0o755)
        named = ",".join(f"{host.name}:{ranks_each}" for host in self.hosts)
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        settings = {"plm_rsh_agent": str(agent), "orte_tmpdir_base": str(self._folder)}
        settings |= {"btl_tcp_if_include": "eth0", "oob_tcp_if_include": "eth0"}
        settings |= {"pml": "ob1", "btl": "self,vader,tcp"}
        mca = [word for name, value in settings.items() for word in ("--mca", name, value)]
        return self.hosts[0].command(["mpirun", *root, *mca, "--host", named, *words])

    def slow(self, name: str, rate: str) -> None:
        """Shape a host's link in both directions; ``rate`` is tc's, as ``100mbit``."""
        shape = ["tbf", "rate", rate, "burst", "64k", "latency", "100ms"]
        for where, device in self._ends(name):
            _run(where.command(["tc", "qdisc", "replace", "dev", device, "root", *shape]))

    def lossy(self, name: str, share: float) -> None:
        """Drop a share of a link's packets in both directions, at random.

        This needs no netem: a filter sends packets by a random number to a queue of no length.
        """
        random, at_least, end, match = 0x20, 0x35, 0x06, 0xFFFFFFFF
        number = 0xFFFFF038  # SKF_AD_OFF + SKF_AD_RANDOM of linux/filter.h
        filtered = f"4,{random} 0 0 {number},{at_least} 1 0 {int(share * 2**32)},"
        filtered += f"{end} 0 0 {match},{end} 0 0 0"
        for where, device in self._ends(name):
            for words in (
                f"qdisc replace dev {device} root handle 1: htb default 1",
                f"class add dev {device} parent 1: classid 1:1 htb rate 40gbit quantum 60000",
                f"class add dev {device} parent 1: classid 1:2 htb rate 40gbit quantum 60000",
                f"qdisc add dev {device} parent 1:2 pfifo limit 0",
            ):
                _run(where.command(["tc", *words.split()]))
            tc = ["tc", "filter", "add", "dev", device, "parent", "1:", "bpf", "bytecode"]
            _run(where.command([*tc, filtered, "flowid", "1:2"]))

    def cut(self, name: str) -> None:
        """Pull a host's cable."""
        _run(self._switch.command(["ip", "link", "set", name, "down"]))

    def join(self, name: str) -> None:
        """Plug it in again."""
        _run(self._switch.command(["ip", "link", "set", name, "up"]))

    def _ends(self, name: str) -> list[tuple[Host, str]]:
        """Return both ends of a host's link."""
        return [(self[name], "eth0"), (self._switch, name)]


@contextlib.contextmanager
def namespaces(number: int, prefix: str = "node") -> Iterator[Hosts]:
    """Make hosts node1, node2 ..., which end with the context.

    Raises NamespacesError where this machine, or this user, cannot.
    """
    if lacking := [name for name in ("ip", "tc", "nsenter", "unshare") if not shutil.which(name)]:
        raise NamespacesError(f"namespaces as hosts need {', '.join(lacking)}")
    if os.geteuid() != 0:
        raise NamespacesError("namespaces as hosts need root")
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hosts-")))
        table = folder / "hosts"
        names = [f"{prefix}{index + 1}" for index in range(number)]
        addresses = [f"{_NETWORK}.{index + 1}" for index in range(number)]
        entries = zip(addresses, names, strict=True)
        lines = ["127.0.0.1 localhost", *(f"{address} {name}" for address, name in entries)]
        table.write_text("\n".join(lines) + "\n")
        switch = Host("switch", _hold(stack, ""), "")
        _run(switch.command(["ip", "link", "add", "switch", "type", "bridge"]))
        _run(switch.command(["ip", "link", "set", "switch", "up"]))
        hosts = []
        for name, address in zip(names, addresses, strict=True):
            script = _PRIVATE.format(name=name, hosts=table, old=folder / "sys")
            host = Host(name, _hold(stack, script), address)
            ends = ["type", "veth", "peer", "name", "eth0", "netns", str(host.pid)]
            _run(switch.command(["ip", "link", "add", name, *ends]))
            _run(switch.command(["ip", "link", "set", name, "master", "switch", "up"]))
            _run(host.command(["ip", "address", "add", f"{address}/24", "dev", "eth0"]))
            _run(host.command(["ip", "link", "set", "eth0", "up"]))
            hosts.append(host)
        stack.callback(_end_all, hosts)
        yield Hosts(folder, switch, hosts)


def _end_all(hosts: list[Host]) -> None:
    """Kill what still runs on hosts, as daemons of an mpirun that could not reach them."""
    networks = {Path(f"/proc/{host.pid}/ns/net").stat().st_ino for host in hosts}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            if (process / "ns/net").stat().st_ino in networks:
                os.kill(int(process.name), signal.SIGKILL)


def _hold(stack: contextlib.ExitStack, private: str) -> int:
    """Return the id of a process that holds new namespaces until the stack closes."""
    unshared = ["--net", "--uts", "--mount", "--propagation", "private"]
    script = _HOLD.format(private=private)
    process = subprocess.Popen(
        ["unshare", *unshared, "sh", "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    stack.enter_context(process)
    stack.callback(process.kill)
    assert process.stdout is not None
    assert process.stderr is not None
    if process.stdout.readline() != "ready\n":
        raise NamespacesError(f"namespaces cannot be made here: {process.stderr.read().strip()}")
    return process.pid


def _run(words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise NamespacesError(f"{shlex.join(words)}: {done.stderr.strip()}")


def main() -> int:
    """Run a command among hosts; return its exit status."""
    assert __doc__
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--slow", metavar="HOST=RATE", action="append", default=[])
    parser.add_argument("--lossy", metavar="HOST=SHARE", action="append", default=[])
    parser.add_argument("number", type=int)
    parser.add_argument("how", choices=["mpirun", "on"])
    parser.add_argument("command", nargs=argparse.REMAINDER)
    asked = parser.parse_args()
    try:
        with namespaces(asked.number) as hosts:
            for name, rate in (one.split("=") for one in asked.slow):
                hosts.slow(name, rate)
            for name, share in (one.split("=") for one in asked.lossy):
                hosts.lossy(name, float(share))
            if asked.how == "mpirun":
                words = hosts.mpirun(*asked.command)
            else:
                words = hosts[asked.command[0]].command(asked.command[1:])
            return subprocess.run(words).returncode
    except NamespacesError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
