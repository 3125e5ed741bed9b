"""`tierscope nvbandwidth` against nvbandwidth itself: the same test cases, in turn, on one machine.

Needs a GPU and nvbandwidth v0.8 or newer, on PATH or named by $NVBANDWIDTH. Both print
`SUM <test case> <value>`, the sum over the GPUs; with one GPU that is its figure. Some two minutes
on one GPU.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator

from pairs import Comparison

PAIRS = 3
# The test cases that one GPU can run, less those which do the same as another on one GPU. Neither
# side starts once for each: setting CUDA up would take longer than measuring.
GROUPS = [
    [
        "host_to_device_memcpy_ce",
        "device_to_host_memcpy_ce",
        "host_to_device_bidirectional_memcpy_ce",
        "device_to_host_bidirectional_memcpy_ce",
    ],
    [
        "host_to_device_memcpy_sm",
        "device_to_host_memcpy_sm",
        "host_to_device_bidirectional_memcpy_sm",
        "device_to_host_bidirectional_memcpy_sm",
    ],
    ["host_device_latency_sm", "device_local_copy"],
]


def compare() -> Iterator[Comparison | str]:
    """One comparison a test case, then the time that each side takes for its whole list."""
    sides = {"ours": ours(), "theirs": theirs()}
    for group in GROUPS:
        found = alternate(group, sides)
        for name in group:
            unit = "ns" if "latency" in name else "GB/s"
            yield Comparison(name, unit, *([figures[name] for figures in f] for f in found))
    yield whole_list(sides)


def ours() -> list[str]:
    """The drop-in's command."""
    return [sys.executable, "-c", "from tierscope.cli.main import main; main()", "nvbandwidth"]


def theirs() -> list[str]:
    """nvbandwidth's command."""
    found = os.environ.get("NVBANDWIDTH") or shutil.which("nvbandwidth")
    if not found:
        raise SystemExit("nvbandwidth is missing: put it on PATH or name it in NVBANDWIDTH")
    return [found]


def alternate(
    group: list[str], sides: dict[str, list[str]]
) -> tuple[list[dict[str, float]], list[dict[str, float]]]:
    """Figures of ours and of theirs, a pair each time; each side goes first in every other pair."""
    found: dict[str, list[dict[str, float]]] = {"ours": [], "theirs": []}
    for pair in range(PAIRS):
        for side in sorted(sides, reverse=pair % 2 == 1):
            found[side].append(figures([*sides[side], "-t", *group]))
    return found["ours"], found["theirs"]


def figures(command: list[str]) -> dict[str, float]:
    """What a command prints, by test case; NaN for what failed."""
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.stderr.write(ran.stdout[-500:] + ran.stderr[-500:])
    found = re.findall(r"^SUM (\S+) (\S+)$", ran.stdout, re.MULTILINE)
    return defaultdict(lambda: float("nan"), {name: float(value) for name, value in found})


def whole_list(sides: dict[str, list[str]]) -> str:
    """Seconds that each side takes for all of v0.8's single-node test cases."""
    seconds = {}
    for side, more in (("theirs", []), ("ours", ["-t", *map(str, range(35))])):
        start = time.perf_counter()
        subprocess.run([*sides[side], *more], capture_output=True, check=False)
        seconds[side] = time.perf_counter() - start
    return (
        f"whole list of v0.8: {seconds['ours']:.1f} s, nvbandwidth {seconds['theirs']:.1f} s, "
        f"ratio {seconds['ours'] / seconds['theirs']:.2f}"
    )
