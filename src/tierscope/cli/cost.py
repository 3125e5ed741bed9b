"""``tierscope cost``: what memory costs, from prices and runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tierscope.cli import options
from tierscope.cli.kept import check_one_machine
from tierscope.cli.output import Output
from tierscope.model.errors import ExitCode, UserError, did_you_mean, shown
from tierscope.runs.output import write_output
from tierscope.runs.store import find_run

if TYPE_CHECKING:
    from tierscope.model.run import Run
    from tierscope.report.cost import CostView


@options.command()
@click.argument("prices", metavar="PRICES.yaml", type=options.PATH)
@options.runs_argument()
@click.option(
    "--op",
    "operation",
    metavar="NAME",
    default="read",
    help="Operation whose bandwidth is priced: read, write, copy, or a mix as in 67:33  "
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
    output: Output,
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
    from tierscope.analysis.cost import priced
    from tierscope.plans.prices import read_prices
    from tierscope.report.cost import CostView, cost_json, show_cost
    from tierscope.runs.read import read_run

    pictures = {"png": png, "svg": svg}
    output = output.beside({f"--{form}": file for form, file in pictures.items()})
    output.check([prices])
    price_list = read_prices(prices)
    files = [find_run(name) for name in runs or ["last"]]
    found = [read_run(file) for file in files]
    check_one_machine(found, "a file of prices is of one")
    _check_operation(found, operation)
    placements = priced(price_list, found, operation)
    names = [shown(file.stem) for file in files]
    imported = [run.header.imported.said for run in found if run.header.imported]
    view = CostView(price_list, placements, operation, names, imported)
    _write_pictures(view, pictures, output)
    output.emit(cost_json(view), lambda console: show_cost(console, view))


def _check_operation(runs: "Sequence[Run]", operation: str) -> None:
    """Refuse an operation whose bandwidth was not measured, where others' was."""
    from tierscope.analysis.cost import operation_of

    known = tuple(
        dict.fromkeys(
            name
            for run in runs
            for m in run.measurements
            if m.has_figure and m.metric == "bandwidth" and (name := operation_of(m))
        )
    )
    if known and operation not in known:
        raise UserError(
            f"--op: the runs have no bandwidth of '{operation}'{did_you_mean(operation, known)}; "
            f"they have {', '.join(known)}",
            ExitCode.NOTHING_MEASURED,
        )


def _write_pictures(view: "CostView", pictures: Mapping[str, Path | None], output: Output) -> None:
    if not any(pictures.values()):
        return
    from tierscope.report.pictures.cost import frontier_picture
    from tierscope.report.pictures.draw import png_for_file, svg_for_file

    picture = frontier_picture(view.placements, view.prices.currency, view.operation)
    if picture is None:
        click.echo("no picture: neither bandwidth nor latency was measured", err=True)
        return
    draw = {"png": png_for_file, "svg": svg_for_file}
    for form, file in pictures.items():
        if file is not None:
            write_output(
                file, draw[form](picture, ", ".join([*view.runs, *view.imported])), f"--{form}"
            )
            output.say_written("picture", file)
