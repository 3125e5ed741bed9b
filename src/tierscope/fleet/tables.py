"""The tables of a fleet in Parquet: their columns, and where they are: a folder or a URL.

``figures``: ``host`` and the columns of ``runs.query``'s table ``measurements``, of which ``run``
is the host's run file, with columns of that run beside them.

``hosts``: what became of each host, what machine it is and how it is set. ``facts`` has all of that
by name; ``disturbed`` and ``stolen`` are shares of rows and of time that others took; ``load`` is
that a CPU.

``together``: what hosts moved together of storage that they may share (``at_once``).
"""

import os.path
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tierscope.model.errors import UserError
from tierscope.runs.query import TABLES, ask

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

HOSTS, FIGURES, TOGETHER = "hosts", "figures", "together"
OF_RUN = (
    "host", "started", "cpu", "kernel", "governor", "emulated", "imported", "complete", "tierscope",
)  # fmt: skip
COLUMNS: dict[str, dict[str, str]] = {
    HOSTS: {
        "host": "VARCHAR", "state": "VARCHAR", "reason": "VARCHAR", "rank": "INTEGER",
        "rack": "VARCHAR", "switch": "VARCHAR", "run": "VARCHAR", "model": "VARCHAR",
        "product": "VARCHAR", "cpu": "VARCHAR", "architecture": "VARCHAR",
        "hypervisor": "VARCHAR", "packages": "INTEGER", "cores": "INTEGER", "cpus": "INTEGER",
        "memory_bytes": "BIGINT", "gpus": "INTEGER", "kernel": "VARCHAR", "governor": "VARCHAR",
        "turbo": "VARCHAR", "smt": "VARCHAR", "thp": "VARCHAR", "numa_balancing": "VARCHAR",
        "microcode": "VARCHAR", "disturbed": "DOUBLE", "stolen": "DOUBLE", "load": "DOUBLE",
        "measured": "INTEGER", "skipped": "INTEGER", "failed": "INTEGER",
        "started": "TIMESTAMP", "finished": "TIMESTAMP", "emulated": "BOOLEAN",
        "tierscope": "VARCHAR", "clock_offset_ns": "BIGINT", "clock_low_ns": "BIGINT",
        "clock_high_ns": "BIGINT", "facts": "MAP(VARCHAR, VARCHAR)", "environment": "JSON",
    },
    FIGURES: {
        "host": "VARCHAR",
        **TABLES["measurements"],
        **{name: TABLES["runs"][name] for name in OF_RUN if name != "host"},
    },
    TOGETHER: {
        "kind": "VARCHAR", "id": "VARCHAR", "initiator": "VARCHAR", "target": "VARCHAR",
        "pattern": "JSON", "metric": "VARCHAR", "part": "VARCHAR", "unit": "VARCHAR",
        "headline": "BOOLEAN", "estimate": "DOUBLE", "ci_low": "DOUBLE", "ci_high": "DOUBLE",
        "no_interval": "VARCHAR", "mean": "DOUBLE", "fairness": "DOUBLE", "slowest": "DOUBLE",
        "slowest_host": "VARCHAR", "fastest": "DOUBLE", "fastest_host": "VARCHAR",
        "hosts": "INTEGER", "visits": "INTEGER", "left_out": "INTEGER", "seconds": "DOUBLE",
        "common": "DOUBLE", "clocks_ns": "DOUBLE", "stores": "VARCHAR[]",
    },
}  # fmt: skip
_REMOTE = ("s3://", "https://", "http://", "gs://", "gcs://", "r2://", "hf://")
"""What DuckDB's extension httpfs reads."""


def is_url(place: str) -> bool:
    """Whether tables are in an object store or on a server."""
    return place.lower().startswith(_REMOTE)


def is_gathered(folder: Path) -> bool:
    """Whether a folder has a fleet's tables."""
    # os.path's function takes names that are too long for a file, too.
    return all(os.path.isfile(folder / f"{name}.parquet") for name in COLUMNS)  # noqa: PTH113


def open_fleet(place: str) -> "DuckDBPyConnection":
    """Return a database with the tables of a fleet, which are read as they are needed.

    It may read these files and no others. Raises UserError where they cannot be read.
    """
    import duckdb

    files = {name: f"{place.rstrip('/')}/{name}.parquet" for name in COLUMNS}
    database = duckdb.connect(":memory:", config={"autoinstall_known_extensions": "false"})
    if is_url(place):
        _load_httpfs(database, place)
    try:
        database.execute("SET allowed_paths = $files", {"files": list(files.values())})
        for name, file in files.items():
            database.read_parquet(file).create_view(name)
    except duckdb.Error as error:
        raise UserError(
            f"the tables of the fleet in '{place}' cannot be read: "
            f"{' '.join(str(error).split())[:300]}; write them with 'tierscope fleet gather'"
        ) from None
    return database


def _load_httpfs(database: "DuckDBPyConnection", place: str) -> None:
    import duckdb

    try:
        database.execute("LOAD httpfs")
    except duckdb.Error:
        raise UserError(
            f"'{place}' cannot be reached: DuckDB's extension httpfs is not installed; where there "
            "is a network, install it with: python -c \"import duckdb; duckdb.sql('INSTALL "
            "httpfs')\"; else copy the fleet's .parquet files to a folder"
        ) from None


def query_fleet(place: str, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return column names and rows; raises UserError for SQL that fails."""
    return ask(open_fleet(place), sql)
