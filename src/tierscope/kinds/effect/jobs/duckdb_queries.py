"""DuckDB over a table in memory: ``duckdb_queries.py ROWS``.

A scan sums a column; a join looks each row's key up in a table a tenth as large. Each query is made
five times, and the median of its times is printed.
"""

import os
import sys
import time
from statistics import median

import duckdb

_TIMES = 5
_FACTS = """\
CREATE TABLE facts AS
SELECT (hash(range) % ?)::BIGINT AS key, range * 7 AS value FROM range(?)"""
_DIMENSION = "CREATE TABLE dimension AS SELECT range AS key, 1 AS weight FROM range(?)"
_QUERIES = {
    "scan": "SELECT sum(value), max(key) FROM facts",
    "join": "SELECT count(*), sum(weight) FROM facts JOIN dimension USING (key)",
}


def main() -> None:
    """Make the tables, query, print."""
    rows = int(sys.argv[1])
    keys = max(1, rows // 10)
    base = duckdb.connect()
    base.execute(f"SET threads = {len(os.sched_getaffinity(0))}")
    base.execute(_FACTS, [keys, rows])
    base.execute(_DIMENSION, [keys])
    for name, query in _QUERIES.items():
        times = []
        for _ in range(_TIMES):
            began = time.perf_counter()
            found = base.execute(query).fetchone()
            times.append(time.perf_counter() - began)
            expected = rows if name == "join" else 7 * rows * (rows - 1) // 2
            if not found or found[0] != expected:
                sys.exit(f"{name} gave {found}, not {expected}")
        print(f"{name}: {median(times)} s")


if __name__ == "__main__":
    main()
