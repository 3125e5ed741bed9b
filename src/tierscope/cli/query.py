"""``tierscope query``."""

from pathlib import Path

import click

from tierscope.cli import options


@options.command()
@click.argument("sql", metavar="SQL")
@options.directory_option
@options.json_option
@options.csv_option
def query(sql: str, directory: Path | None, json: str | None, csv: str | None) -> None:
    """Query all kept runs in SQL (DuckDB): tables runs and measurements.

    SQL is one statement that only reads.

    \b
    runs           name, tags, host, started, complete, cpu, kernel, governor, machine, ...
    measurements   run, id, kind, initiator, target, operation, threads, size, pages, pattern,
                   status, metric, unit, estimate, ci_low, ci_high, n, samples, efficiency, ...
    DESCRIBE runs and DESCRIBE measurements list all columns.

    \b
    Examples:
      tierscope query "select run, max(estimate) / 1e9 as best from measurements
                       where kind = 'bandwidth' group by run"
      tierscope query "describe measurements"
      tierscope query "from runs select host, count(*) group by host" --json
    """
    from tierscope.cli.history_flow import query_runs

    query_runs(sql, directory, options.Forms(json, csv))
