"""Lookups in our indexes against other libraries' maps: a B+-tree beside ordered maps, a hash index
beside hash maps; our sort beside other libraries'.

The same keys are asked for in the same order by one thread on the same CPU, all memory local and of
huge pages, values compared on both sides; sorts have the same entries of a key and a value. Peers
are those whose headers the compiler finds: libabsl-dev, libboost1.81-dev or later (its sorts are in
libboost-dev, too), libparallel-hashmap-dev, libtlx-dev, or what lies in the
folders of $PEERS_INCLUDE (with : between them). The program is compiled here with $CXX -O3. Each
side is built once and measured in turn, $SECONDS at a time, until the ratio's interval is narrow.
Rates are by CPU time: what other programs take counts on neither side.

$KEYS: numbers of keys; max is as many as 80% of the available memory holds, of both sides.
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
from tierscope.model.event import Series

KEYS = os.environ.get("KEYS", "1000000,32000000,max").split(",")
SECONDS = float(os.environ.get("SECONDS", "0.5"))
PEERS = {
    ("btree", "lookup"): ("absl-btree", "phmap-btree", "tlx-btree", "std-map"),
    ("hash", "lookup"): ("absl-flat", "boost-flat", "phmap-flat", "std-unordered"),
    ("string-btree", "lookup"): ("absl-btree-string", "phmap-btree-string", "std-map-string"),
    ("string-hash", "lookup"): (
        "absl-flat-string", "boost-flat-string", "phmap-flat-string", "std-unordered-string",
    ),
    ("runs", "sort"): ("boost-pdqsort", "boost-spreadsort", "std-sort"),
}  # fmt: skip
"""What stands beside each structure and operation."""
_BYTES_OF_KEY = 128
"""Of ours and of the largest peer, a map of nodes, together."""
_PACKAGES = ("absl_btree", "absl_flat_hash_map")
_ROOT = Path(__file__).parents[1]


def compare() -> Iterator[Comparison | str]:
    """A comparison for each size, structure and peer; of peers that are lacking, their names."""
    cpu = min(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as directory:
        program = _compiled(Path(directory))
        there = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
        lacking = [peer for peers in PEERS.values() for peer in peers if peer not in there]
        if lacking:
            yield f"no headers of {', '.join(lacking)}"
        for keys in map(_number_of, KEYS):
            for (structure, operation), peers in PEERS.items():
                with ours(structure, operation, keys, cpu) as rate:
                    for peer in (one for one in peers if one in there):
                        with _peer(program, peer, keys, cpu) as theirs:
                            name = f"{structure} {operation} / {peer}, {keys / 1e6:.3g} M keys"
                            yield until_narrow(name, "M/s", rate, theirs)


def _number_of(keys: str) -> int:
    """Return a number of keys; of max as many as memory allows."""
    if keys != "max":
        return int(keys)
    (line,) = (one for one in Path("/proc/meminfo").read_text().splitlines()
               if one.startswith("MemAvailable"))  # fmt: skip
    return int(int(line.split()[1]) * 1024 * 0.8 / _BYTES_OF_KEY)


def _compiled(directory: Path) -> Path:
    compiler = os.environ.get("CXX") or shutil.which("g++") or "c++"
    asked = ["pkg-config", "--cflags", "--libs", *_PACKAGES]
    flags = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.split()
    folders = [f"-I{one}" for one in os.environ.get("PEERS_INCLUDE", "").split(":") if one]
    program = directory / "ops_peers"
    source = _ROOT / "bench" / "ops_peers.cpp"
    subprocess.run(
        [compiler, "-std=c++20", "-O3", f"-I{_ROOT / 'engine'}", *folders, str(source), *flags,
         "-o", str(program)],
        check=True,
    )  # fmt: skip
    return program


@contextlib.contextmanager
def ours(
    structure: str, operation: str, keys: int, cpu: int, **more: str
) -> Iterator[Callable[[], float]]:
    """Build a structure of ours; yield what measures its rate, in millions of operations a second.

    ``more`` are further options of ``tierscope ops``.
    """
    spec = asked(
        "ops", SECONDS, structure=structure, op=operation, keys=str(keys), threads="1",
        pages="thp", **{"from": f"cpus:{cpu}"}, **more,
    )  # fmt: skip
    with living_engine() as engine:
        engine.plan([spec])

        def repetition() -> float:
            for event in engine.repetition(spec.id, SECONDS, False):
                if event.event in ("skipped", "failed"):
                    raise RuntimeError(f"{spec.id}: {event.reason}")
                if event.event == "repetition":
                    return statistics.median(_by_cpu_time(event.series[0])) / 1e6
            raise RuntimeError(f"{spec.id}: no rows")

        yield repetition


def _by_cpu_time(series: Series) -> list[float]:
    """Return the rates of samples as they are by the CPU time that others did not take."""
    rates = series.columns[0].values
    lost = series.lost or [0.0] * len(rates)
    return [rate / (1 - share) for rate, share in zip(rates, lost, strict=True)
            if rate and share < 1]  # fmt: skip


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
