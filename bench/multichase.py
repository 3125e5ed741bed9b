"""Idle latency against multichase, named by $MULTICHASE: size, stride, pages and order alike.

Its default is the shortest of its samples; `-a` makes it their mean. `-T` as large as the region
makes its order random over the whole region, as our order random is.
"""

import os
import subprocess
from collections.abc import Iterator

from pairs import Comparison, latency, measure, until_narrow

SIZES = {"64 MiB": 64 << 20, "1 GiB": 1 << 30}
STRIDE = 256
SAMPLES = "6"
"""Of half a second each."""


def compare() -> Iterator[Comparison]:
    """Sizes within and beyond common caches, by one CPU, in transparent huge pages."""
    program = os.environ.get("MULTICHASE")
    if program is None:
        raise SystemExit("name a multichase in $MULTICHASE")
    cpu = min(os.sched_getaffinity(0))
    for name, size in SIZES.items():
        yield until_narrow(
            f"idle latency, {name}, thp, random",
            "ns",
            lambda size=size: measure(latency(size, "thp", cpu)).estimate,
            lambda size=size: theirs(program, size, cpu),
        )


def theirs(program: str, size: int, cpu: int) -> float:
    """Mean time of a load in ns."""
    arguments = ["-a", "-H", "-m", str(size), "-s", str(STRIDE), "-T", str(size), "-n", SAMPLES]
    command = ["taskset", "-c", str(cpu), program, "-X", *arguments]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
