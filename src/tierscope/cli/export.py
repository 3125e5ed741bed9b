"""``tierscope export``."""

from pathlib import Path

import click

from tierscope.cli import options


@click.command(context_settings=options.SETTINGS)
@options.runs_argument()
@options.file_option("--parquet", "All measurements with their samples, as Parquet")
@options.file_option("--csv", "The same as CSV")
@options.file_option("--prometheus", "One run, for node_exporter's textfile collector")
@click.option("--all", "every", is_flag=True, help="All kept runs")
@options.json_option
def export(
    runs: tuple[str, ...],
    parquet: Path | None,
    csv: Path | None,
    prometheus: Path | None,
    every: bool,
    json: bool,
) -> None:
    """Export runs as a Parquet or CSV table, or for Prometheus.

    RUN is a run file, the name of a run, a tag, or last, which is the default.

    \b
    Examples:
      tierscope export --all --parquet runs.parquet
      tierscope export golden last --csv two.csv
      tierscope export --prometheus /var/lib/node_exporter/tierscope.prom
    """
    from tierscope.cli.history_flow import export_runs

    export_runs(runs, parquet, csv, prometheus, every, json)
