"""Bandwidth against STREAM: the same operations, array size, threads, pages and stores.

$STREAM names a STREAM that was built with OpenMP and ordinary stores (gcc -O3), $STREAM_NT one with
non-temporal stores (clang, whose builtin makes them of vectors); either alone will do. Compilers
turn STREAM's copy loop into a call of the C library's memcpy, which writes large arrays by
non-temporal stores: ours to set beside it is the operation memcpy.

STREAM's arrays are static, so they take transparent huge pages only where those are always on. Our
samples last as long as its passes do, and as many are taken. Two figures of each side are compared:
the mean time, and STREAM's own headline, the best. Each side goes first in every other pair.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from pairs import Comparison, bandwidth, measure, take_turns
from tierscope.kinds.bandwidth.spec import BandwidthPattern, Operation
from tierscope.model.spec import Pages, Sampling

PAIRS = int(os.environ.get("PAIRS", "6"))
BYTES = {"Copy": 2, "Scale": 2, "Add": 3, "Triad": 3}
"""Arrays that each of STREAM's operations counts."""
KIN: dict[str, dict[str, Operation]] = {
    "STREAM": {"Copy": "memcpy", "Scale": "scale", "Add": "add", "Triad": "triad"},
    "STREAM_NT": {"Copy": "copy-nt", "Scale": "scale-nt", "Add": "add-nt", "Triad": "triad-nt"},
}
"""Ours to set beside each binary's operations, by the variable that names the binary."""


@dataclass(frozen=True)
class Rates:
    """Rates of an operation in GB/s."""

    mean: float
    """Of the mean time of a pass."""
    best: float


def compare() -> Iterator[Comparison]:
    """Two comparisons an operation, with all CPUs."""
    programs = {name: os.environ[name] for name in KIN if name in os.environ}
    if not programs:
        raise SystemExit("name a STREAM that was built with OpenMP in $STREAM or $STREAM_NT")
    for name, program in programs.items():
        yield from _compare(program, KIN[name])


def _compare(program: str, kin: dict[str, Operation]) -> Iterator[Comparison]:
    cpus = sorted(os.sched_getaffinity(0))
    output = _output(program)
    size = int(_found(r"Array size = (\d+)", output)) * 8
    passes = int(_found(r"executed (\d+) times", output))
    always = "[always]" in Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text()
    pages: Pages = "thp" if always else "base"
    pass_s = {name: BYTES[name] * size / rates.best / 1e9 for name, rates in _rates(output, size)}

    def ours() -> dict[str, Rates]:
        return {
            name: _ours(BandwidthPattern(operation=operation, size=size, pages=pages), cpus,
                        pass_s[name], passes)
            for name, operation in kin.items()
        }  # fmt: skip

    sides = take_turns(PAIRS, ours, lambda: dict(_rates(_output(program), size)))
    for name, operation in kin.items():
        for what in ("mean", "best"):
            label = f"{name} as {operation}, {what}, {len(cpus)} threads, {pages}"
            figures = ([getattr(one[name], what) for one in side] for side in sides)
            yield Comparison(label, "GB/s", *figures)


def _ours(pattern: BandwidthPattern, cpus: list[int], pass_s: float, passes: int) -> Rates:
    sampling = Sampling(budget_s=1.3 * pass_s * passes, sample_s=pass_s, precision=0.0001)
    samples = measure(bandwidth(pattern, cpus, sampling)).samples[:passes]
    return Rates(1 / fmean(1 / rate for rate in samples) / 1e9, max(samples) / 1e9)


def _rates(output: str, size: int) -> Iterator[tuple[str, Rates]]:
    for name, arrays in BYTES.items():
        best, mean_s = _found(rf"{name}: +(\S+ +\S+)", output).split()
        yield name, Rates(arrays * size / float(mean_s) / 1e9, float(best) / 1e3)


def _output(program: str) -> str:
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def _found(pattern: str, output: str) -> str:
    found = re.search(pattern, output)
    if found is None:
        raise RuntimeError(f"STREAM printed nothing that matches '{pattern}'")
    return found[1]
