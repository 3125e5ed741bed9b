"""The tables of a fleet in Parquet, in a folder or at a URL, and their columns.

``figures``: ``host`` and the columns of ``runs.query``'s table ``figures``, of which ``run``
is the host's run file, with columns of that run beside them.

``hosts``: state, machine and settings of each host. ``facts`` has all of these by name;
``disturbed`` and ``stolen`` are the shares of rows and of time that others took; ``load`` is the
load per CPU.

``together``: combined figures of hosts, of storage that they may share (``together``).
"""

import glob
import os.path
import re
from datetime import timedelta
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
        **TABLES["figures"],
        **{name: TABLES["runs"][name] for name in OF_RUN if name != "host"},
    },
    TOGETHER: {
        "kind": "VARCHAR", "id": "VARCHAR", "initiator": "VARCHAR", "target": "VARCHAR",
        "pattern": "JSON", "metric": "VARCHAR", "part": "VARCHAR", "unit": "VARCHAR",
        "headline": "BOOLEAN", "estimate": "DOUBLE", "ci_low": "DOUBLE", "ci_high": "DOUBLE",
        "no_interval": "VARCHAR", "mean": "DOUBLE", "fairness": "DOUBLE", "slowest": "DOUBLE",
        "slowest_host": "VARCHAR", "fastest": "DOUBLE", "fastest_host": "VARCHAR",
        "hosts": "INTEGER", "repetitions": "INTEGER", "left_out": "INTEGER", "seconds": "DOUBLE",
        "common": "DOUBLE", "clocks_ns": "DOUBLE", "stores": "VARCHAR[]",
    },
}  # fmt: skip
_URL = re.compile(r"(s3|gs|abfss?|https?)://.+")
_PATIENCE = timedelta(seconds=20)


def is_url(place: str) -> bool:
    """Whether tables are in an object store or on a server."""
    return _URL.fullmatch(place) is not None


def name_of(place: str) -> str:
    """Return the last part of a folder's path or a URL."""
    return place.rstrip("/").rpartition("/")[2] if is_url(place) else Path(place).resolve().name


def is_gathered(place: str) -> bool:
    """Whether a folder, or each folder that matches a pattern as ``nights/*``, has the tables."""
    # os.path's functions take names that are too long for a file, too.
    return all(os.path.isfile(file) for files in _files(place).values() for file in files)  # noqa: PTH113


def _files(place: str) -> dict[str, list[str]]:
    """Return the files of each table: one, or one in each folder that matches a pattern."""
    files = {name: f"{place.rstrip('/')}/{name}.parquet" for name in COLUMNS}
    one = is_url(place) or os.path.isdir(place)  # noqa: PTH112
    several = [] if one else sorted(glob.glob(place))  # noqa: PTH207
    return {
        name: [f"{folder}/{name}.parquet" for folder in several] or [file]
        for name, file in files.items()
    }


def open_fleet(place: str) -> "DuckDBPyConnection":
    """Return a database with the tables of a fleet, which are read as they are needed.

    It may read these files and no others. Raises UserError where they cannot be read.
    """
    import duckdb

    files = _files(place)
    database = duckdb.connect(":memory:", config={"autoinstall_known_extensions": "false"})
    if is_url(place):
        _register_store(database, place)
    try:
        database.execute(
            "SET allowed_paths = $files",
            {"files": [file for some in files.values() for file in some]},
        )
        for name, some in files.items():
            database.read_parquet(some, union_by_name=True).create_view(name)
    except duckdb.Error as error:
        raise UserError(
            f"the tables of the fleet in '{place}' cannot be read: {_cause(error)}; write them "
            "with 'tierscope fleet gather'"
        ) from None
    return database


def _register_store(database: "DuckDBPyConnection", place: str) -> None:
    """Let DuckDB read an object store; its own extension for that has to come from the network."""
    try:
        from obstore.fsspec import FsspecStore
    except ImportError:
        raise UserError(
            f"'{place}' cannot be reached: the packages obstore and fsspec are not installed; "
            "install them with: pip install 'tierscope[object-store]'; or copy the fleet's "
            ".parquet files to a folder"
        ) from None
    protocol = place.partition(":")[0]
    store = FsspecStore(  # type: ignore[call-overload]
        protocol,
        retry_config={"max_retries": 3, "retry_timeout": _PATIENCE},
        client_options={"allow_http": True} if protocol == "http" else None,
    )
    database.register_filesystem(store)


def _cause(error: Exception) -> str:
    """Return the message of DuckDB or of a store, without traceback and dump of the store."""
    text = str(error).partition("\n\nDebug source")[0]
    said = [line for line in text.splitlines() if not line.startswith((" ", "Traceback"))]
    return " ".join(" ".join(said).split())[:400]


def records(database: "DuckDBPyConnection", sql: str) -> list[dict[str, Any]]:
    """Return the rows of a query by column name."""
    cursor = database.execute(sql)
    names = [str(column[0]) for column in cursor.description or []]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def query_fleet(place: str, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return column names and rows; raises UserError for SQL that fails."""
    return ask(open_fleet(place), sql)
