"""Messages beside the OSU micro-benchmarks, over the same MPI between two network namespaces.

    [TOLERANCE=0.02] [LIMIT_S=300] python bench/message.py OSU_FOLDER [OPERATION...]

OSU_FOLDER has osu_latency, osu_bw and osu_bibw, built for the MPI whose mpirun is on PATH. Each
namespace has a host name of its own, so that MPI takes the wire, a veth pair, and a CPU of its own,
on which both go before other programs (SCHED_RR).
Both are run in turn, for each operation and size, until the ratio's interval is within TOLERANCE of
it or LIMIT_S have passed. A ratio above 1 is better for tierscope. Needs root, iproute2 and two
CPUs.
"""

import contextlib
import functools
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from pairs import until_narrow

SIZES = (8, 64 << 10, 1 << 20)
PEERS = {"latency": "osu_latency", "bandwidth": "osu_bw", "both-ways": "osu_bibw"}
REPEATS = {8: 20000, 64 << 10: 4000, 1 << 20: 400}
"""Of a latency; OSU warms up on its own."""
WINDOWS = {8: 2000, 64 << 10: 100, 1 << 20: 30}
TIERSCOPE = str(Path(sys.executable).parent / "tierscope")
HOSTS = ("ts-one", "ts-two")
AGENT = """#!/bin/sh
host=$1; shift
exec ip netns exec $host unshare --uts \\
  sh -c "hostname $host; exec chrt -r 1 taskset -c 1 sh -c '$*'"
"""
_MOST_S = 120


@contextlib.contextmanager
def two_hosts() -> Iterator[Path]:
    """Make two namespaces with a wire between them; give mpirun's agent that enters the second."""
    one, two = HOSTS
    with tempfile.TemporaryDirectory() as folder:
        agent = Path(folder) / "agent"
        agent.write_text(AGENT)
        agent.chmod(0o700)
        try:
            for words in (
                f"netns add {one}",
                f"netns add {two}",
                f"link add wire netns {one} type veth peer name wire netns {two}",
                f"-n {one} addr add 10.77.0.1/24 dev wire",
                f"-n {two} addr add 10.77.0.2/24 dev wire",
                f"-n {one} link set wire up",
                f"-n {two} link set wire up",
                f"-n {one} link set lo up",
                f"-n {two} link set lo up",
            ):
                subprocess.run(["ip", *words.split()], check=True)
            yield agent
        finally:
            for host in HOSTS:
                subprocess.run(["ip", "netns", "delete", host], check=False)


def over_mpi(agent: Path, *program: str) -> str:
    """Run a program on both hosts, and return what it printed."""
    one, two = HOSTS
    start = f'hostname {one}; exec chrt -r 1 taskset -c 0 "$@"'
    command = ["ip", "netns", "exec", one, "unshare", "--uts", "sh", "-c", start, "sh"]
    command += ["mpirun", "--mca", "plm_rsh_agent", str(agent), "--bind-to", "none"]
    command += ["--host", f"{one}:1,{two}:1", *program]
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_MOST_S, env={**os.environ, **allowed},
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2000:]}")
    return done.stdout


def ours(agent: Path, operation: str, size: int, folder: str) -> float:
    """Return tierscope's figure, in µs or MB/s."""
    options = ["--operation", operation, "--size", str(size), "--budget", "1s", "--json"]
    text = over_mpi(agent, TIERSCOPE, "message", *options, "--out", folder)
    (result,) = json.loads(text)["results"]
    return float(result["figures"][0]["estimate"]) / (1e3 if operation == "latency" else 1e6)


def theirs(agent: Path, osu: str, operation: str, size: int) -> float:
    """Return OSU's figure, in the same units."""
    repeats = (REPEATS if operation == "latency" else WINDOWS)[size]
    text = over_mpi(agent, f"{osu}/{PEERS[operation]}", "-m", f"{size}:{size}", "-i", str(repeats))
    (value,) = re.findall(rf"^{size}\s+([\d.]+)", text, re.MULTILINE)
    return float(value)


def main() -> None:
    """Print a line for each operation and size."""
    osu, *operations = sys.argv[1:]
    with two_hosts() as agent, tempfile.TemporaryDirectory() as folder:
        for operation, size in itertools.product(operations or PEERS, SIZES):
            own = functools.partial(ours, agent, operation, size, folder)
            other = functools.partial(theirs, agent, osu, operation, size)
            name, unit = f"{operation}, {size} B", "MB/s"
            if operation == "latency":
                name, unit = f"1 / {name}", "1/µs"
                own, other = functools.partial(inverse, own), functools.partial(inverse, other)
            print(until_narrow(name, unit, own, other), flush=True)


def inverse(of: Callable[[], float]) -> float:
    """Return 1 / of()."""
    return 1 / of()


if __name__ == "__main__":
    main()
