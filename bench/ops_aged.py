"""Aged B+-trees beside bulk-loaded ones of the same keys: what lookups, updates and scans lose.

One thread on one CPU, all memory local, each tree built once and measured in turn, $SECONDS at a
time, until the ratio's interval is narrow. Rates are by CPU time, as those of ops.
"""

import os
from collections.abc import Iterator

from ops import ours
from pairs import Comparison, until_narrow

KEYS = [int(keys) for keys in os.environ.get("KEYS", "1000000,16000000").split(",")]


def compare() -> Iterator[Comparison]:
    """A comparison for each number of keys and operation."""
    cpu = min(os.sched_getaffinity(0))
    for keys in KEYS:
        for operation in ("lookup", "update", "scan"):
            with (
                ours("btree", operation, keys, cpu, build="aged") as aged,
                ours("btree", operation, keys, cpu, build="bulk") as bulk,
            ):
                name = f"btree {operation}, aged / bulk loaded, {keys / 1e6:.3g} M keys"
                yield until_narrow(name, "M/s", aged, bulk)
