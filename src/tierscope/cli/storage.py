"""``tierscope storage``."""

from datetime import datetime
from pathlib import Path

import click

from tierscope.cli import options


@options.command()
@click.argument("paths", metavar="[PATH|DIR|DEVICE]...", nargs=-1)
@click.option(
    "--from",
    "initiator",
    metavar="ENDPOINT",
    help="Initiator: node:0 or cpus:0-7,16; with --matrix several nodes and GPUs",
)
@click.option(
    "--size",
    metavar="SIZE",
    help="Bytes of the file made in a directory  [default: 1g, or a tenth of the free space]",
)
@click.option(
    "--time-limit",
    metavar="TIME",
    help="Fit the measurements into this time, as in 20s  [default: 75 s for each path; with "
    "--matrix 3 s for each pair]",
)
@click.option(
    "--matrix",
    is_flag=True,
    help="Every NUMA node and GPU reads every target: drives and arrays, unless some are named",
)
@click.option("--overwrite", is_flag=True, help="Write to a file that tierscope did not make, too")
@click.option("--keep", is_flag=True, help="Files that were made stay, and are used again")
@click.option(
    "--clean",
    is_flag=True,
    help="Remove what earlier runs left in these directories; measure nothing",
)
@options.file_option("--rated", "What data sheets promise of drives, to compare with")
@options.output_options
def storage(
    paths: tuple[str, ...],
    initiator: str | None,
    size: str | None,
    time_limit: str | None,
    matrix: bool,
    overwrite: bool,
    keep: bool,
    clean: bool,
    rated: Path | None,
    json: str | None,
    csv: str | None,
    dry_run: bool,
    out: Path | None,
    start_at: datetime | None,
    energy: bool,
) -> int:
    """Measure storage: page cache and drive, threads, queue depths, block sizes, reads and writes.

    In a directory, a file is made, filled, measured and removed; nothing else is written. A file
    or a device is read as it is. Under a minute and a half for each path.

    \b
    Examples:
      tierscope storage /tmp
      tierscope storage /tmp --size 256m --json
      tierscope storage /dev/nvme0n1 --rated drives.yaml
      tierscope storage /data /scratch --dry-run
      tierscope storage --matrix
      tierscope storage --matrix /dev/nvme0n1 /data --from node:0,node:1
      tierscope storage /data --clean
    """
    from tierscope.cli.storage_flow import Asked, clean_storage, measure_storage

    if not paths and (clean or not matrix):
        what = "directories" if clean else "a directory, a file or a device, or give --matrix"
        raise click.UsageError(f"name {what}")
    if matrix:
        why = "--matrix only reads"
        options.refuse_given(click.get_current_context(), why, "overwrite")
    if clean:
        return clean_storage(paths, as_json=json is not None)
    output = options.Output(options.Forms(json, csv), dry_run, out, start_at, energy)
    asked = Asked(paths, initiator or "", size, overwrite, keep, rated, time_limit)
    if matrix:
        from tierscope.cli.storage_matrix_flow import measure_matrix

        return measure_matrix(asked, output)
    return measure_storage(asked, output)
