"""SQL over run files, through DuckDB: tables in memory, made from the files as they are.

``runs``: name (its path where another run has the same name), path, tags, host, started,
finished, interrupted, complete, emulated, imported, cpu, hypervisor, kernel, governor, tierscope,
planned, machine (JSON), environment (JSON); times are UTC.

``figures``: run, number, figure, id, kind, initiator, target, operation, access_order, threads,
size, access_size, pages, pattern (JSON), status, cause, reason, metric, part, unit, estimate,
ci_low, ci_high, no_interval, compared, repetitions, n, stop, samples, distributions (JSON), cpus,
limit_value, limit_link, efficiency, evidence (JSON). ``number`` is the measurement's place in its
run, ``figure`` the figure's in the measurement; samples, distributions and evidence stand beside
figure 0, the headline. A figure's pattern has its part, too, and its metric where that is not the
headline's. A measurement without a figure has a row, too.
Copies of GPUs run from where bytes come from to where they go, as tables show them.

``measurements``: the rows of figure 0, one a measurement.
"""

import json
import os
import re
import tempfile
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tierscope.model.errors import ExitCode, UserError, shown
from tierscope.model.run import Figure, Measurement, Run
from tierscope.runs.read import read_run
from tierscope.runs.store import tags_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_RUNS = {
    "name": "VARCHAR", "path": "VARCHAR", "tags": "VARCHAR[]", "host": "VARCHAR",
    "started": "TIMESTAMP", "finished": "TIMESTAMP", "interrupted": "BOOLEAN",
    "complete": "BOOLEAN", "emulated": "BOOLEAN", "imported": "VARCHAR", "cpu": "VARCHAR",
    "hypervisor": "VARCHAR", "kernel": "VARCHAR", "governor": "VARCHAR",
    "tierscope": "VARCHAR", "planned": "INTEGER",
    "machine": "JSON", "environment": "JSON",
}  # fmt: skip
_FIGURES = {
    "run": "VARCHAR", "number": "INTEGER", "figure": "INTEGER", "id": "VARCHAR", "kind": "VARCHAR",
    "initiator": "VARCHAR", "target": "VARCHAR", "operation": "VARCHAR",
    "access_order": "VARCHAR", "threads": "INTEGER", "size": "BIGINT", "access_size": "BIGINT",
    "pages": "VARCHAR", "pattern": "JSON", "status": "VARCHAR", "cause": "VARCHAR",
    "reason": "VARCHAR", "metric": "VARCHAR", "part": "VARCHAR", "unit": "VARCHAR",
    "estimate": "DOUBLE", "ci_low": "DOUBLE", "ci_high": "DOUBLE", "no_interval": "VARCHAR",
    "compared": "BOOLEAN", "repetitions": "INTEGER", "n": "INTEGER",
    "stop": "VARCHAR", "samples": "DOUBLE[]", "distributions": "JSON", "cpus": "INTEGER[]",
    "limit_value": "DOUBLE", "limit_link": "VARCHAR", "efficiency": "DOUBLE", "evidence": "JSON",
}  # fmt: skip
TABLES = {"runs": _RUNS, "figures": _FIGURES}
_ONCE = ("samples", "distributions", "evidence")
"""Columns that only a measurement's first row has."""
_OF_ALL = tuple(key for key in _FIGURES if key in Measurement.model_fields and key not in _ONCE)
"""Columns that are a measurement's own fields."""
_OF_EACH = tuple(key for key in _FIGURES if key in Figure.model_fields)
"""Columns that are a figure's."""


def open_runs(paths: list[Path]) -> "tuple[DuckDBPyConnection, list[str]]":
    """Return a database of these run files, and why some of them were left out.

    The database cannot reach files or the network once it is made.
    """
    import duckdb

    database = duckdb.connect(":memory:", config={"autoinstall_known_extensions": "false"})
    try:
        return database, _fill(database, paths)
    except (duckdb.Error, OSError) as error:
        raise UserError(
            f"tables of runs cannot be made in {tempfile.gettempdir()}: {system_cause(error)}; "
            "make room, or name another directory with TMPDIR",
            ExitCode.COMMAND_FAILED,
        ) from None


def system_cause(error: Exception) -> str:
    """What the system said, where DuckDB passes its number on; else DuckDB's own words."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    number = re.search(r'"errno":"(\d+)"', str(error))
    return os.strerror(int(number[1])) if number else " ".join(str(error).split())


def _fill(database: "DuckDBPyConnection", paths: list[Path]) -> list[str]:
    """Make the tables; return why some runs were left out."""
    problems: list[str] = []
    names: set[str] = set()
    with tempfile.TemporaryDirectory(prefix="tierscope-") as folder:
        files = {name: Path(folder) / f"{name}.jsonl" for name in TABLES}
        with files["runs"].open("w") as runs, files["figures"].open("w") as figures:
            for path in paths:
                try:
                    run = read_run(path)
                except UserError as error:
                    problems.append(str(error))
                    continue
                stem = shown(path.stem)
                name = stem if stem not in names else shown(path)
                names.add(name)
                runs.write(json.dumps(run_row(name, path, run)) + "\n")
                figures.writelines(json.dumps(row) + "\n" for row in figure_rows(name, run))
        for name, columns in TABLES.items():
            database.execute(
                f"CREATE TABLE {name} AS SELECT * FROM read_json($file, "  # noqa: S608  # constants
                "format = 'newline_delimited', columns = $columns, "
                "maximum_object_size = $longest)",
                {"file": str(files[name]), "columns": columns, "longest": _longest(files[name])},
            )
    database.execute("CREATE VIEW measurements AS SELECT * FROM figures WHERE figure = 0")
    return problems


def _longest(file: Path) -> int:
    """Return how many bytes DuckDB has to allow for a line; its buffers are twice that."""
    with file.open("rb") as lines:
        return max(1 << 20, 2 * max(map(len, lines), default=0))


def query(paths: list[Path], sql: str) -> tuple[list[str], list[tuple[Any, ...]], list[str]]:
    """Return column names, rows and what was left out; raises UserError for SQL that fails."""
    database, problems = open_runs(paths)
    return *ask(database, sql), problems


def ask(database: "DuckDBPyConnection", sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return column names and rows of a query, which reaches no file beyond those that the
    database was allowed (``allowed_paths``); raises UserError for SQL that fails."""
    import duckdb

    database.execute("SET enable_external_access = false")
    database.execute("SET lock_configuration = true")
    try:
        _check_reading(sql)
        result = database.execute(sql)
        names = [str(column[0]) for column in result.description or []]
        return names, result.fetchall() if names else []
    except duckdb.Error as error:
        if "pytz" in str(error):
            raise UserError(
                "the query failed: times with a time zone cannot be shown; cast them, as in "
                "now()::timestamp"
            ) from None
        raise UserError(f"the query failed: {' '.join(str(error).split())}") from None


def _check_reading(sql: str) -> None:
    """Refuse all but one statement that reads: the tables are copies, and changes would be lost."""
    import duckdb

    statements = duckdb.extract_statements(sql)
    if len(statements) != 1:
        raise UserError(f"the query failed: it has to be one statement, not {len(statements)}")
    kinds = duckdb.StatementType
    kind = statements[0].type
    if kind not in (kinds.SELECT, kinds.EXPLAIN, kinds.MULTI):  # PIVOT is a multi
        raise UserError(
            "the query failed: it may only read, as SELECT, FROM, DESCRIBE and SUMMARIZE do, not "
            f"{kind.name}; run files are never changed"
        )


def run_row(name: str, path: Path, run: Run) -> dict[str, Any]:
    """Return a run's row of the table ``runs``."""
    header, footer = run.header, run.footer
    return {
        "name": name,
        "path": shown(path),
        "tags": tags_of(path),
        "host": header.host,
        "started": _utc(header.started),
        "finished": _utc(footer.finished) if footer else None,
        "interrupted": footer.interrupted if footer else None,
        "complete": footer is not None and not footer.interrupted,
        "emulated": header.emulated,
        "imported": header.imported.program if header.imported else None,
        "cpu": header.machine.get("cpu"),
        "hypervisor": header.machine.get("hypervisor"),
        "kernel": header.environment.get("kernel"),
        "governor": header.environment.get("governor"),
        "tierscope": header.tierscope,
        "planned": len(header.plan.get("measurements", [])),
        "machine": header.machine,
        "environment": header.environment,
    }


def _utc(text: str) -> str | None:
    """Return a time as DuckDB takes it; None where it is not one."""
    try:
        return datetime.fromisoformat(text).astimezone(timezone.utc).isoformat(" ", "seconds")[:19]
    except (ValueError, OverflowError):
        return None


def figure_rows(name: str, run: Run) -> Iterator[dict[str, Any]]:
    """Yield a run's rows of the table ``figures``."""
    for number, m in enumerate(run.measurements):
        same = _same(name, number, m)
        for place, figure in enumerate(m.figures or (None,)):
            row = {**same, "figure": place}
            if figure is not None:
                row |= {key: getattr(figure, key) for key in _OF_EACH}
                row["pattern"] = _in_order(m.of_figure(figure).pattern)
                row["limit_value"] = figure.limit.value if figure.limit else None
                row["limit_link"] = figure.limit.link if figure.limit else None
            if place == 0:
                row |= m.model_dump(mode="json", include={*_ONCE}, exclude_none=True)
            yield row


def _same(name: str, number: int, m: Measurement) -> dict[str, Any]:
    """Return what all rows of a measurement have."""
    whole = {key: m.pattern.get(key) for key in ("threads", "size", "access_size")}
    # Kinds of later versions may have other values here; the column "pattern" has them all.
    numbers = {key: value if isinstance(value, int) else None for key, value in whole.items()}
    return {
        **{key: getattr(m, key) for key in _OF_ALL},
        **numbers,
        "pattern": _in_order(m.pattern),
        "operation": m.pattern.get("operation"),
        "run": name,
        "number": number,
        "access_order": m.pattern.get("order"),
        "pages": m.pattern.get("pages"),
    }


def _in_order(pattern: dict[str, Any]) -> dict[str, Any]:
    """Return a pattern with its keys in one order: patterns are compared as text."""
    return dict(sorted(pattern.items()))
