"""``tierscope export``."""

from pathlib import Path

import click

from tierscope.cli import options


@options.command()
@options.runs_argument()
@options.form_option("--parquet", "All measurements with their samples, as Parquet")
@options.form_option("--csv", "The same as CSV")
@options.file_option("--prometheus", "One run, for node_exporter's textfile collector")
@options.file_option("--numactl", "A run's best weights: a script that starts programs by them")
@options.file_option("--udev", "The same as rules that set them when nodes appear")
@options.file_option("--systemd", "The same as a service that sets them at boot")
@options.file_option("--cxlbench", "One run of CXL-Bench's cases, as CXL-Bench's JSON")
@options.file_option(
    "--mess", "One run's curves as the Mess simulator reads them, MB/s and ns", metavar="DIR"
)
@click.option("--all", "every", is_flag=True, help="All kept runs")
@options.json_option
@click.pass_context
def export(
    context: click.Context,
    runs: tuple[str, ...],
    parquet: str | None,
    csv: str | None,
    prometheus: Path | None,
    numactl: Path | None,
    udev: Path | None,
    systemd: Path | None,
    cxlbench: Path | None,
    mess: Path | None,
    every: bool,
    json: str | None,
) -> None:
    """Export runs as tables, for Prometheus, as interleave weights, or as CXL-Bench's JSON.

    RUN is a run file, the name of a run, a tag, or last, which is the default.

    \b
    Examples:
      tierscope export --all --parquet=runs.parquet
      tierscope export golden last --csv=two.csv
      tierscope export last --csv
      tierscope export --prometheus /var/lib/node_exporter/tierscope.prom
      tierscope export last --cxlbench results.json
      tierscope export last --mess curves
      tierscope export last --systemd tierscope-weights.service --udev 99-weights.rules
    """
    if mess is not None:
        options.refuse_given(
            context, "--mess writes a folder by itself",
            "parquet", "csv", "prometheus", "numactl", "udev", "systemd", "cxlbench", "every",
        )  # fmt: skip
        from tierscope.cli.mess_files_flow import export_curves

        export_curves(runs, mess, options.Forms(json))
        return
    from tierscope.cli.history_flow import export_runs

    single = {"prometheus": prometheus, "numactl": numactl, "udev": udev, "systemd": systemd,
              "cxlbench": cxlbench}  # fmt: skip
    export_runs(runs, parquet, csv, single, every, options.Forms(json))
