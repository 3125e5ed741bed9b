"""Bandwidth against STREAM: the same operations, array size, threads and pages.

Needs a STREAM that was built with OpenMP, named by $STREAM. Its arrays are static, so they take
transparent huge pages only where those are always on. Compilers turn STREAM's copy loop into a call
of the C library's memcpy, which writes large arrays by non-temporal stores: ours to set beside it
is the operation memcpy. Scale, add and triad are compiled to ordinary stores unless the compiler
was told otherwise. STREAM's own headline is its best repetition; here it is its average, as our
figure is a median.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from pairs import Comparison, bandwidth, measure, take_turns
from tierscope.kinds.bandwidth.spec import BandwidthPattern, Operation
from tierscope.model.spec import Pages, Sampling

PAIRS = 6
OPERATIONS: dict[str, Operation] = {
    "Copy": "memcpy",
    "Scale": "scale",
    "Add": "add",
    "Triad": "triad",
}
BYTES = {"Copy": 2, "Scale": 2, "Add": 3, "Triad": 3}
"""Arrays that each of STREAM's operations counts."""


def compare() -> Iterator[Comparison]:
    """One comparison an operation, with all CPUs."""
    program = os.environ.get("STREAM")
    if program is None:
        raise SystemExit("name a STREAM that was built with OpenMP in $STREAM")
    cpus = sorted(os.sched_getaffinity(0))
    size = int(_found(r"Array size = (\d+)", _output(program))) * 8
    always = "[always]" in Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text()
    pages: Pages = "thp" if always else "base"

    def ours() -> dict[str, float]:
        patterns = {
            name: BandwidthPattern(operation=operation, size=size, pages=pages)
            for name, operation in OPERATIONS.items()
        }
        return {
            name: measure(bandwidth(pattern, cpus, Sampling(budget_s=1.0))).estimate / 1e9
            for name, pattern in patterns.items()
        }

    sides = take_turns(PAIRS, ours, lambda: theirs(program, size))
    for name, operation in OPERATIONS.items():
        label = f"{name} as {operation}, {len(cpus)} threads, {pages}"
        yield Comparison(label, "GB/s", *([one[name] for one in side] for side in sides))


def theirs(program: str, size: int) -> dict[str, float]:
    """Average rate of each operation, in GB/s."""
    output = _output(program)
    return {
        name: BYTES[name] * size / float(_found(rf"{name}: +\S+ +(\S+)", output)) / 1e9
        for name in OPERATIONS
    }


def _output(program: str) -> str:
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def _found(pattern: str, output: str) -> str:
    found = re.search(pattern, output)
    if found is None:
        raise RuntimeError(f"STREAM printed nothing that matches '{pattern}'")
    return found[1]
