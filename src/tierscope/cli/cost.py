"""``tierscope cost``."""

from pathlib import Path

import click

from tierscope.cli import options


@options.command()
@click.argument("prices", metavar="PRICES.yaml", type=options.PATH)
@options.runs_argument()
@click.option(
    "--op",
    "operation",
    metavar="NAME",
    default="read",
    help="Operation of the bandwidth that is priced: read, write, copy, or a mix as 67:33  "
    "[default: read]",
)
@options.file_option("--png", "Write the picture as a PNG file", metavar="FILE")
@options.file_option("--svg", "Write the picture as an SVG file", metavar="FILE")
@options.json_option
def cost(
    prices: Path,
    runs: tuple[str, ...],
    operation: str,
    png: Path | None,
    svg: Path | None,
    json: str | None,
) -> None:
    """Say what each tier's capacity, bandwidth and operations cost.

    PRICES.yaml names each tier of memory with its price, source and date. RUN is a run file, the
    name of a run, a tag, or last, which is the default; all have to be of one machine.

    \b
    PRICES.yaml:
      tiers:
        DRAM:
          target: node:0
          price: 310 EUR
          size: 64g
          source: a shop, one RDIMM
          date: 2025-02-10

    Of several placements, the frontier names those that none beats at a price as low.

    \b
    Examples:
      tierscope cost prices.yaml
      tierscope cost prices.yaml expansion latencies --op write --svg frontier.svg
      tierscope cost prices.yaml last --json
    """
    from tierscope.cli.cost_flow import show

    show(prices, runs, operation, {"png": png, "svg": svg}, options.Forms(json))
