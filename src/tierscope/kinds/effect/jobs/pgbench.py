"""pgbench with percentiles: ``pgbench.py FOLDER ARGUMENTS...``.

Prints throughput as pgbench has it, and mean and percentiles of all transactions, whose times
pgbench logs into the folder (https://www.postgresql.org/docs/15/pgbench.html, Per-Transaction
Logging). A transaction that fails makes all fail.
"""

import math
import re
import subprocess
import sys
from array import array
from itertools import chain
from pathlib import Path
from statistics import fmean

_PERCENTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
_TPS = re.compile(r"^tps = ([0-9.]+) \(without initial connection time\)$", re.MULTILINE)
_FAILED = re.compile(r"^number of failed transactions: (\d+)", re.MULTILINE)


def main() -> None:
    """Run pgbench, print its figures."""
    folder, arguments = Path(sys.argv[1]), sys.argv[2:]
    command = ["pgbench", "--log", f"--log-prefix={folder}/transactions", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        sys.exit(f"pgbench: {error.strerror}")
    tps, failed = _TPS.search(done.stdout), _FAILED.search(done.stdout)
    if done.returncode != 0 or tps is None:
        sys.exit(first_error(done.stderr) or f"pgbench exited with status {done.returncode}")
    if failed and int(failed[1]):
        sys.exit(f"{failed[1]} transactions failed")
    print(f"throughput: {tps[1]} 1/s")
    times = logged(folder)
    print(f"mean: {fmean(times)} us")
    for name, share in _PERCENTILES.items():
        print(f"{name}: {times[math.ceil(share * len(times)) - 1]} us")


def first_error(text: str) -> str:
    """Return the first line that names an error, which is the cause of further ones; empty: none
    does."""
    return next((line for line in text.splitlines() if "error: " in line), "")


def logged(folder: Path) -> "array[int]":
    """Return the times of all transactions in us, the shortest first.

    Each thread has a file. The third number of a line is the time.
    """
    files = (path.open() for path in sorted(folder.glob("transactions.*")))
    times = array("q", (int(line.split()[2]) for line in chain.from_iterable(files)))
    if not times:
        sys.exit("pgbench logged no transaction")
    return array("q", sorted(times))


if __name__ == "__main__":
    main()
