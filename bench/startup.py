"""How long commands take before they do anything, in processor time and wall time.

Beside them stand Python itself and the two libraries that cost most, for comparison: no command
that uses them can start faster. The best of several tries counts, since a machine is rarely idle.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

TRIES = 7
FLOORS = ("pass", "import click", "from pydantic import BaseModel")
TARGETS_S = {"--help": 0.15, "bandwidth --help": 0.4, "topo": 0.4, "list": 0.4, "show": 0.4}
"""Wall time asked of each command."""
MEASURED = "bandwidth --op read --size 1m --threads 1 --budget 0.2"
"""Makes the run that ``list`` and ``show`` read."""


def report() -> Iterator[str]:
    """Yield one line for each command."""
    tierscope = str(Path(sys.executable).with_name("tierscope"))
    for code in FLOORS:
        cpu, wall = best([sys.executable, "-c", code], os.environ)
        yield f"python -c '{code}': {cpu * 1e3:.0f} ms CPU, {wall * 1e3:.0f} ms"
    with tempfile.TemporaryDirectory() as data:
        environment = {**os.environ, "XDG_DATA_HOME": data}
        call([tierscope, *MEASURED.split()], environment)
        for name, target in TARGETS_S.items():
            cpu, wall = best([tierscope, *name.split()], environment)
            yield (
                f"tierscope {name}: {cpu * 1e3:.0f} ms CPU, {wall * 1e3:.0f} ms "
                f"(asked: < {target * 1e3:.0f})"
            )


def best(command: list[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """Return the least processor time and the least wall time of a command, in seconds."""
    tries = [timed(command, environment) for _ in range(TRIES)]
    return min(cpu for cpu, _ in tries), min(wall for _, wall in tries)


def timed(command: list[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """Return the processor time and the wall time of a command, in seconds."""
    before, begin = os.times(), time.perf_counter()
    call(command, environment)
    wall = time.perf_counter() - begin
    after = os.times()
    user = after.children_user - before.children_user
    return user + after.children_system - before.children_system, wall


def call(command: list[str], environment: Mapping[str, str]) -> None:
    """Run a command; its output goes nowhere."""
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    for line in report():
        print(line)
