"""Lookups in our indexes against other libraries' maps: a B+-tree beside abseil's btree_map, a hash
index beside abseil's flat_hash_map and Boost's unordered_flat_map.

The same keys are asked for in the same order by one thread on the same CPU, all memory local and of
huge pages, values compared on both sides. Peers come from the distribution's packages (libabsl-dev,
libboost1.81-dev or later); the program is compiled here with $CXX -O3. Each side is built once and
measured in turn, $SECONDS at a time, until the ratio's interval is narrow.
"""

import contextlib
import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from pairs import Comparison, asked, until_narrow
from tierscope.engine.repetitions import living_engine

KEYS = [int(word) for word in os.environ.get("KEYS", "1000000,32000000").split(",")]
SECONDS = float(os.environ.get("SECONDS", "0.5"))
PEERS = {"btree": ("absl-btree",), "hash": ("absl-flat", "boost-flat")}
"""Maps beside each structure."""
_PACKAGES = ("absl_btree", "absl_flat_hash_map")
_ROOT = Path(__file__).parents[1]


def compare() -> Iterator[Comparison]:
    """A comparison for each size, structure and peer."""
    cpu = min(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as directory:
        program = _compiled(Path(directory))
        for keys in KEYS:
            for structure, peers in PEERS.items():
                with _ours(structure, keys, cpu) as ours:
                    for peer in peers:
                        with _peer(program, peer, keys, cpu) as theirs:
                            name = f"{structure} / {peer}, {keys / 1e6:g} M keys"
                            yield until_narrow(name, "M/s", ours, theirs)


def _compiled(directory: Path) -> Path:
    compiler = os.environ.get("CXX") or shutil.which("g++") or "c++"
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", *_PACKAGES], capture_output=True, text=True, check=True
    ).stdout.split()
    program = directory / "ops_peers"
    source = _ROOT / "bench" / "ops_peers.cpp"
    subprocess.run(
        [compiler, "-std=c++20", "-O3", f"-I{_ROOT / 'engine'}", str(source), *flags, "-o",
         str(program)],
        check=True,
    )  # fmt: skip
    return program


@contextlib.contextmanager
def _ours(structure: str, keys: int, cpu: int) -> Iterator[Callable[[], float]]:
    spec = asked(
        "ops", SECONDS, structure=structure, keys=str(keys), threads="1", pages="thp",
        **{"from": f"cpus:{cpu}"},
    )  # fmt: skip
    with living_engine() as engine:
        engine.plan([spec])

        def repetition() -> float:
            for event in engine.repetition(spec.id, SECONDS, False):
                if event.event in ("skipped", "failed"):
                    raise RuntimeError(f"{spec.id}: {event.reason}")
                if event.event == "repetition":
                    rates = [rate for rate in event.series[0].columns[0].values if rate]
                    return statistics.median(rates) / 1e6
            raise RuntimeError(f"{spec.id}: no rows")

        yield repetition


@contextlib.contextmanager
def _peer(program: Path, name: str, keys: int, cpu: int) -> Iterator[Callable[[], float]]:
    command = ["taskset", "-c", str(cpu), str(program), name, str(keys)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as peer:
        assert peer.stdin
        assert peer.stdout
        stdin, stdout = peer.stdin, peer.stdout
        if stdout.readline() != "ready\n":
            raise RuntimeError(f"{name} was not built")

        def measure() -> float:
            stdin.write(f"{SECONDS}\n")
            stdin.flush()
            return float(stdout.readline()) / 1e6

        yield measure
        stdin.close()
