"""``tierscope query``."""

from typing import Annotated

import typer

from tierscope.cli import options
from tierscope.cli.list import In


def query(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One statement that reads")],
    directory: In = None,
    json: options.Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV instead of a table")] = False,
) -> None:
    """Ask all kept runs in SQL (DuckDB's): tables runs and measurements.

    \b
    runs           name, tags, host, started, complete, cpu, kernel, governor, machine, ...
    measurements   run, id, kind, initiator, target, operation, threads, size, pages, pattern,
                   status, metric, unit, estimate, ci_low, ci_high, n, samples, efficiency, ...
    DESCRIBE runs, or DESCRIBE measurements, lists all columns.

    \b
    Examples:
      tierscope query "select run, max(estimate) / 1e9 as best from measurements
                       where kind = 'bandwidth' group by run"
      tierscope query "describe measurements"
      tierscope query "from runs select host, count(*) group by host" --json
    """
    from tierscope.cli.history_flow import query_runs
    from tierscope.model.errors import UserError

    if json and csv:
        raise UserError("give --json or --csv, not both")
    query_runs(sql, directory, "json" if json else "csv" if csv else "table")
