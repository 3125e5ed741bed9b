"""Column scans against tierscope's own read bandwidth.

A filter of a column beside the kind bandwidth's sequential read of as many bytes, by the same
threads in the same engine, measured in turn until the ratio's interval is narrow: what a scan loses
against merely reading. With positions it also writes, so both are shown.
"""

import os
import statistics
from collections.abc import Iterator

from pairs import Comparison, asked, until_narrow
from tierscope.engine.repetitions import living_engine
from tierscope.kinds.plan import Spec

MEBIBYTES = int(os.environ.get("MEBIBYTES", "512"))
"""Of the column, and of what is read."""
SECONDS = float(os.environ.get("SECONDS", "0.5"))
"""Of a repetition."""
FILTERS = (("8", "0", "count"), ("8", "0", "positions"), ("8", "1%", "positions"),
           ("4", "1%", "positions"), ("8", "50%", "positions"))  # fmt: skip
"""Bytes of a key, selectivity, what is kept."""


def compare() -> Iterator[Comparison]:
    """A comparison for each filter and number of threads."""
    cpus = len(os.sched_getaffinity(0))
    for threads in dict.fromkeys((1, cpus)):
        for key_bytes, selectivity, found in FILTERS:
            name = f"{key_bytes} B keys, {selectivity}, {found} / read, {threads} threads"
            yield _beside_read(name, threads, key_bytes, selectivity, found)


def _beside_read(
    name: str, threads: int, key_bytes: str, selectivity: str, found: str
) -> Comparison:
    scan = asked(
        "ops", SECONDS, structure="column", keys=str((MEBIBYTES << 20) // int(key_bytes)),
        selectivity=selectivity, found=found, threads=str(threads), pages="thp",
        **{"key-bytes": key_bytes},
    )  # fmt: skip
    read = asked(
        "bandwidth", SECONDS, op="read", size=f"{MEBIBYTES}m", threads=str(threads),
        pages="thp",
    )  # fmt: skip
    with living_engine() as engine:
        engine.plan([scan, read])

        def repetition(spec: Spec, metric: str) -> float:
            for event in engine.repetition(spec.id, SECONDS, False):
                if event.event in ("skipped", "failed"):
                    raise RuntimeError(f"{spec.id}: {event.reason}")
                if event.event == "repetition":
                    columns = event.series[0].columns
                    (column,) = (c for c in columns if c.metric == metric)
                    return statistics.median(rate for rate in column.values if rate) / 1e9
            raise RuntimeError(f"{spec.id}: no rows")

        return until_narrow(
            name,
            "GB/s",
            lambda: repetition(scan, "bandwidth"),
            lambda: repetition(read, "bandwidth"),
        )
