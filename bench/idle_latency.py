"""DRAM idle latency against chase.c, an independent program with another way to the cycle."""

import os
import subprocess
import tempfile
from pathlib import Path

from pairs import Comparison, latency, measure, until_narrow

SIZE = 1 << 30
SECONDS = "2"


def compare() -> list[Comparison]:
    """1 GiB in transparent huge pages, one CPU."""
    cpu = min(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory, "chase")
        source = Path(__file__).with_name("chase.c")
        subprocess.run(["cc", "-O2", "-o", program, source], check=True)

        def theirs() -> float:
            command = [program, str(SIZE), str(cpu), SECONDS]
            output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            return float(output.split()[0])

        def ours() -> float:
            return measure(latency(SIZE, "thp", cpu)).estimate

        return [until_narrow("idle latency, 1 GiB, thp", "ns", ours, theirs)]
