"""Bandwidth against likwid-bench: same operation, instruction set, threads, arrays and pages.

likwid-bench takes ordinary pages where transparent huge pages are on request only, so ours are
ordinary ones, too. Its `store`, `copy` and `stream` (triad) kernels use ordinary stores, the
`_mem` ones non-temporal stores.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator

from pairs import Comparison, bandwidth, measure, until_narrow
from tierscope.engine.process import capabilities
from tierscope.kinds.bandwidth.spec import BandwidthPattern, Operation
from tierscope.model.spec import Isa

ARRAY_BYTES = 1 << 30
PEER = {"sse4": "sse", "avx2": "avx", "avx512": "avx512"}
KERNELS: list[tuple[Operation, str, int]] = [
    ("read", "load", 1),
    ("write", "store", 1),
    ("write-nt", "store_mem", 1),
    ("copy", "copy", 2),
    ("copy-nt", "copy_mem", 2),
    ("triad", "stream", 3),
]


def compare() -> Iterator[Comparison]:
    """One comparison an operation, with all CPUs and the widest instruction set."""
    if shutil.which("likwid-bench") is None:
        raise SystemExit("likwid-bench is missing: apt-get install likwid")
    isa: Isa = capabilities().isas[0]  # type: ignore[assignment]
    cpus = sorted(os.sched_getaffinity(0))
    for operation, kernel, arrays in KERNELS:
        yield until_narrow(
            f"{operation} {isa} {len(cpus)} threads",
            "GB/s",
            lambda operation=operation: ours(operation, isa, cpus),
            lambda kernel=kernel, arrays=arrays: theirs(f"{kernel}_{PEER[isa]}", arrays, cpus),
        )


def ours(operation: Operation, isa: Isa, cpus: list[int]) -> float:
    """Program bandwidth in GB/s."""
    pattern = BandwidthPattern(operation=operation, size=ARRAY_BYTES, pages="base", isa=isa)
    return measure(bandwidth(pattern, cpus)).estimate / 1e9


def theirs(kernel: str, arrays: int, cpus: list[int]) -> float:
    """likwid-bench's own figure in GB/s, which counts as STREAM does."""
    size = ARRAY_BYTES * arrays // 1_000_000
    command = ["likwid-bench", "-t", kernel, "-W", f"N:{size}MB:{len(cpus)}"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"MByte/s:\s+([0-9.]+)", output)
    if found is None:
        raise RuntimeError(f"{' '.join(command)} printed no MByte/s")
    return float(found[1]) / 1000
