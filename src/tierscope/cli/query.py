"""``tierscope query``: SQL over kept runs, or over the tables of a fleet."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tierscope.cli import options
from tierscope.cli.kept import say_left_out
from tierscope.cli.output import Output, waiting
from tierscope.model.errors import UserError, is_text
from tierscope.model.text import csv_text

if TYPE_CHECKING:
    from rich.console import Console


@options.command()
@click.argument("sql", metavar="SQL")
@click.option(
    "--in",
    "place",
    metavar="DIR|URL",
    help="A directory of runs; the folder of a fleet, or several as NIGHTS/*; s3://... of a fleet  "
    "[default: the data directory]",
)
@options.json_option
@options.csv_option
def query(sql: str, place: str | None, output: Output) -> None:
    """Query kept runs, or the tables of a fleet, in SQL (DuckDB).

    SQL is one statement that only reads.

    \b
    runs           name, tags, host, started, complete, cpu, kernel, governor, machine, ...
    measurements   run, id, kind, initiator, target, operation, threads, size, pages, pattern,
                   status, metric, unit, estimate, ci_low, ci_high, n, samples, efficiency, ...
    DESCRIBE runs and DESCRIBE measurements list all columns.

    A fleet that 'tierscope fleet gather' joined has other tables.

    \b
    hosts          host, state, reason, rack, switch, model, kernel, governor, facts, ...
    figures        host, and the columns of measurements
    together       what hosts moved at once of storage that they share: estimate, fairness, ...

    \b
    Examples:
      tierscope query "select run, max(estimate) / 1e9 as best from measurements
                       where kind = 'bandwidth' group by run"
      tierscope query "describe measurements"
      tierscope query "from runs select host, count(*) group by host" --json
      tierscope query "select state, count(*) from hosts group by state" --in fleet
    """
    from tierscope.fleet.tables import is_gathered, is_url, query_fleet
    from tierscope.runs.history import run_files
    from tierscope.runs.query import query

    if not is_text(sql):
        raise UserError("the query failed: it is not UTF-8 text")
    if place is not None and (is_url(place) or is_gathered(place)):
        output.check()
        with waiting("reading the fleet"):
            names, rows = query_fleet(place, sql)
    else:
        paths = run_files(Path(place) if place is not None else None)
        output.check(paths)
        with waiting("reading runs"):
            names, rows, problems = query(paths, sql)
        say_left_out(problems)

    def in_json() -> str:
        twins = sorted({name for name in names if names.count(name) > 1})
        if twins:
            raise UserError(f"two columns are called '{twins[0]}'; name one of them with AS")
        records = [dict(zip(names, map(_json_value, row), strict=True)) for row in rows]
        return json.dumps({"rows": records}, default=str)

    def in_csv() -> str:
        return csv_text([names, *rows])

    def tables(console: "Console") -> None:
        from tierscope.report.history import show_rows

        show_rows(console, names, rows)

    output.emit(in_json, tables, in_csv)


def _json_value(value: Any) -> Any:
    """JSON has no NaN and no infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    return value
