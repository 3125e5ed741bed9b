"""Join the run files of many hosts as tables in Parquet (``tables``).

Run files are read one after the other, and their rows go to temporary files at once. DuckDB turns
these into tables piece by piece, so memory does not depend on the number of hosts.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tierscope.fleet.rows import INDEXED, ROWS, Rows, Told, read_rows, run_files_below
from tierscope.fleet.tables import COLUMNS, FIGURES, HOSTS, TOGETHER
from tierscope.fleet.together import RepetitionsAtOnce
from tierscope.model.base import Count, Model
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.outlier import TogetherFigure
from tierscope.runs.output import check_outputs, replacing
from tierscope.runs.query import system_cause

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MEMORY = "128MB"
"""DuckDB's memory limit; beyond it, it uses temporary files."""
_PIECE = 4096
_PIECE_BYTES = 4 << 20
"""Rows and bytes at which a row group ends."""
_LEAST_LINE = 1 << 17
"""Minimum of the longest line that DuckDB accepts, in bytes."""
_UNUSED = f"""
CREATE TABLE unused AS
SELECT run, left_out FROM (
    SELECT run, left_out, host IN (SELECT host FROM {INDEXED}) AS known, row_number() OVER (
        PARTITION BY host
        ORDER BY coalesce(left_out, false), started DESC NULLS LAST, run DESC
    ) AS place
    FROM rows_of_{HOSTS}
) WHERE place > 1 OR (left_out AND NOT known)
"""  # noqa: S608 - constants
_USED = "WHERE run NOT IN (SELECT run FROM unused)"
_SETTLED = "i.state NOT IN ('waiting', 'measuring')"
_SAYS = f"""
CASE
    WHEN h.run IS NULL AND i.state IN ('measured', 'partial') THEN
        {{'state': 'failed', 'reason': 'its run file is missing'}}
    WHEN h.run IS NULL AND NOT {_SETTLED} THEN
        {{'state': 'lost', 'reason': 'the fleet''s run ended before this host told anything'}}
    WHEN h.run IS NULL OR (
        h.left_out IS NULL AND {_SETTLED} AND NOT (i.state = 'measured' AND h.state = 'partial')
    ) THEN {{'state': i.state, 'reason': i.reason}}
    ELSE {{'state': h.state, 'reason': h.reason}}
END
"""
"""State and reason of a host. A damaged, missing or cut file overrides the index; otherwise the
index, which knows more than the run file, has them."""


class Gathered(Model):
    """Summary of the tables."""

    hosts: Count
    figures: Count
    """Rows of the table ``figures``, measured or not."""
    states: dict[str, Count]
    unreadable: list[str]
    """Reasons for files that were left out."""
    older: list[str]
    """Run files that were left out, since their hosts have later ones."""
    together: list[TogetherFigure]
    """Combined figures of hosts that measured in step, of storage that they may share."""


def gather(folder: Path, out: Path, told: Told = lambda _done, _all: None) -> Gathered:
    """Write the tables to ``out``, each as TABLE.parquet, of all run files below ``folder``."""
    import duckdb

    paths = run_files_below(folder)
    targets = {name: out / f"{name}.parquet" for name in COLUMNS}
    check_outputs({f"--out ({path.name})": path for path in targets.values()})
    try:
        with tempfile.TemporaryDirectory(prefix="tierscope-") as place:
            rows = {name: Rows(Path(place) / name) for name in ROWS}
            at_once = RepetitionsAtOnce(Path(place))
            unreadable = read_rows(folder, paths, told, rows, at_once)
            with _database(Path(place)) as database:
                older = _load(database, rows)
                without = _left_out(database)
                together = [*at_once.rows(lambda run: run not in without)]
                _load_together(database, Path(place) / TOGETHER, together)
                counts = {name: _write(database, name, out) for name, out in targets.items()}
                return Gathered(
                    hosts=counts[HOSTS],
                    figures=counts[FIGURES],
                    states=_states(database, targets[HOSTS]),
                    unreadable=unreadable,
                    older=older,
                    together=together,
                )
    except (duckdb.Error, OSError) as error:
        raise UserError(
            f"the tables cannot be made: {system_cause(error)}; make room in "
            f"{tempfile.gettempdir()} (or name another directory with TMPDIR) and in '{out}'",
            ExitCode.COMMAND_FAILED,
        ) from None


@contextmanager
def _database(place: Path) -> Iterator["DuckDBPyConnection"]:
    import duckdb

    database = duckdb.connect(
        str(place / "tables.duckdb"),
        config={
            "memory_limit": _MEMORY, "threads": 1, "temp_directory": str(place),
            "preserve_insertion_order": False,  # with it, row groups have no limit in bytes
        },
    )  # fmt: skip
    try:
        yield database
    finally:
        database.close()


def _load(database: "DuckDBPyConnection", rows: Mapping[str, Rows]) -> list[str]:
    """Make a view of each table; return the run files of hosts that have a later one."""
    for name, types in ROWS.items():
        _view_rows(database, name, types, rows[name])
    database.execute(f"CREATE TABLE {INDEXED} AS FROM rows_of_{INDEXED}")
    database.execute(_UNUSED)
    # Of a join, the right side is kept in memory.
    database.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
    special = {
        **{name: f"i.{name}" for name in ROWS[INDEXED]},
        **{name: f"({_SAYS}).{name}" for name in ("state", "reason")},
        "host": "host",
        "run": "coalesce(h.run, '')",
    }
    columns = ", ".join(f"{special.get(name, f'h.{name}')} AS {name}" for name in COLUMNS[HOSTS])
    database.execute(
        f"CREATE VIEW {HOSTS} AS SELECT {columns} "  # noqa: S608 - constants
        f"FROM (FROM rows_of_{HOSTS} {_USED}) h FULL JOIN {INDEXED} i USING (host)"
    )
    database.execute(f"CREATE VIEW {FIGURES} AS FROM rows_of_{FIGURES} {_USED}")
    found = database.execute("SELECT run FROM unused WHERE left_out IS NULL ORDER BY run")
    return [run for (run,) in found.fetchall()]


def _left_out(database: "DuckDBPyConnection") -> set[str]:
    """Return the run files that were not read whole, and those of hosts that have a later one."""
    found = database.execute(
        f"SELECT run FROM rows_of_{HOSTS} WHERE left_out IS NOT NULL "  # noqa: S608 - constants
        "UNION SELECT run FROM unused"
    )
    return {run for (run,) in found.fetchall()}


def _load_together(
    database: "DuckDBPyConnection", place: Path, together: list[TogetherFigure]
) -> None:
    rows = Rows(place)
    for one in together:
        rows.add(one.model_dump(mode="json"))
    rows.close()
    _view_rows(database, TOGETHER, COLUMNS[TOGETHER], rows)
    database.execute(f"CREATE VIEW {TOGETHER} AS FROM rows_of_{TOGETHER}")


def _view_rows(
    database: "DuckDBPyConnection", name: str, types: Mapping[str, str], rows: Rows
) -> None:
    """Make a view over lines of JSON.

    They are read as lines of CSV without quotes and separators: for JSON, DuckDB takes buffers of
    50 MB, whatever it is told.
    """
    longest = max(_LEAST_LINE, rows.longest + 1)
    columns = json.dumps(types)
    database.execute(
        f"CREATE VIEW rows_of_{name} AS SELECT unnest(from_json(line, '{columns}')) "  # noqa: S608
        f"FROM read_csv('{_quoted(rows.files)}', columns={{'line': 'VARCHAR'}}, "
        "auto_detect=false, header=false, delim='\x01', quote='', escape='', "
        f"buffer_size={2 * longest}, max_line_size={longest})"
    )


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def _write(database: "DuckDBPyConnection", name: str, target: Path) -> int:
    """Write a table; return its number of rows."""
    order = ", ".join(COLUMNS[name])
    with replacing(target) as beside:
        written = database.execute(
            f"COPY (SELECT {order} FROM {name}) TO '{_quoted(beside)}' "  # noqa: S608
            f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {_PIECE}, "
            f"ROW_GROUP_SIZE_BYTES {_PIECE_BYTES})"
        ).fetchone()
    assert written is not None
    return int(written[0])


def _states(database: "DuckDBPyConnection", hosts: Path) -> dict[str, int]:
    """Return how many hosts are in each state, the most frequent first."""
    found = database.execute(
        "SELECT state, count(*) AS n FROM read_parquet($file) GROUP BY ALL ORDER BY n DESC, state",
        {"file": str(hosts)},
    )
    return dict(found.fetchall())
