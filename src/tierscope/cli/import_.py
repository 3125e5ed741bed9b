"""``tierscope import``."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tierscope.cli import options

if TYPE_CHECKING:
    from tierscope.recipes.imported.source import Format


@options.command("import")
@click.argument("form", metavar="cxlbench|mess|mlc", type=click.Choice(["cxlbench", "mess", "mlc"]))
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=options.PATH)
@options.out_option("RUN", "The run file, or a directory for it  [default: the data directory]")
@click.option("--from", "initiator", metavar="ENDPOINT", help="CPUs that the files do not name")
@click.option("--to", "target", metavar="ENDPOINT", help="Memory that the files do not name")
@click.option("--clock", metavar="HZ", help="Clock of Mess's latencies in cycles, as 2.1ghz; or ns")
@options.json_option
@options.csv_option
def import_(
    form: "Format",
    files: tuple[Path, ...],
    out: Path | None,
    initiator: str | None,
    target: str | None,
    clock: str | None,
    json: str | None,
    csv: str | None,
) -> None:
    """Import published results of CXL-Bench, Mess or Intel MLC as a run.

    The run is shown, reported, compared, queried and exported as others are, and marked as imported
    wherever it has figures: tierscope measured none of them. What files do not tell is unknown.

    \b
    Examples:
      tierscope import cxlbench results/workloads-2024-07-13.json
      tierscope import mess memory_curves.json --from node:0 --to node:0
      tierscope import mess results.csv --clock 2.1ghz
      tierscope import mlc mlc.txt --out mlc.jsonl
    """
    from tierscope.cli.import_flow import import_files

    ends = (initiator, target)
    import_files(form, files, out, ends, clock, options.Forms(json, csv))
