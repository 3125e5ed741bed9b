"""`tierscope nvbandwidth` against nvbandwidth itself: the same test cases, in turn, on one machine.

Needs a GPU and nvbandwidth v0.8 or newer, on PATH or named by $NVBANDWIDTH. Both print
`SUM <test case> <value>`, the sum over the GPUs or pairs of GPUs; for latencies, too. $PAIRS sets
how many pairs (default 3): some 30 seconds each on one GPU, two minutes on two.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

from pairs import Comparison, take_turns

PAIRS = int(os.environ.get("PAIRS", "3"))
V08 = [str(index) for index in range(35)]
"""The single-node test cases of v0.8 by index, which v0.10's follow; v0.8 itself runs no others."""
CACHED = (
    "host and GPU both ways by kernels: each thread of v0.8's copies the same 16 bytes sixteen "
    "times in a row, so that its figure is partly one of caches; see docs/gpu-measurements.md"
)


@dataclass(frozen=True)
class Run:
    """One run of a whole list: what it printed by test case, and the seconds it took."""

    sums: dict[str, float]
    seconds: float


def compare() -> Iterator[Comparison | str]:
    """One comparison a test case that both sides ran, then of the time the whole list takes."""
    sides = take_turns(PAIRS, lambda: run(ours()), lambda: run(theirs()))
    for name in sides[1][0].sums:
        if all(name in one.sums for side in sides for one in side):
            unit = "ns" if "latency" in name else "GB/s"
            yield Comparison(name, unit, *([one.sums[name] for one in side] for side in sides))
        else:
            yield f"{name}: not in every run of both sides"
    if any(name.endswith("bidirectional_memcpy_sm") for name in sides[1][0].sums):
        yield CACHED
    yield Comparison("whole list of v0.8", "s", *([one.seconds for one in s] for s in sides))


def ours() -> list[str]:
    """The drop-in's command."""
    start = "from tierscope.cli.main import main; main()"
    return [sys.executable, "-c", start, "nvbandwidth", "-t", *V08]


def theirs() -> list[str]:
    """nvbandwidth's command."""
    found = os.environ.get("NVBANDWIDTH") or shutil.which("nvbandwidth")
    if not found:
        raise SystemExit("nvbandwidth is missing: put it on PATH or name it in NVBANDWIDTH")
    return [found]


def run(command: list[str]) -> Run:
    """One run of all test cases; what fails stays out of the sums and is shown."""
    start = time.perf_counter()
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if ran.returncode:
        sys.stderr.write(ran.stdout[-500:] + ran.stderr[-500:])
    found = re.findall(r"^SUM (\S+) (\S+)$", ran.stdout, re.MULTILINE)
    return Run({name: float(value) for name, value in found}, seconds)
