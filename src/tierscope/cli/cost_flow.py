"""From a file of prices and runs to what memory costs."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from tierscope.analysis.cost import operation_of, priced
from tierscope.cli.files import say_written
from tierscope.cli.forms import Forms, emit
from tierscope.model.errors import ExitCode, UserError, did_you_mean
from tierscope.model.run import Run
from tierscope.model.text import shown
from tierscope.plans.prices import read_prices
from tierscope.report.cost import CostView, cost_json, show_cost
from tierscope.runs.output import is_stdout, write_output
from tierscope.runs.read import read_run
from tierscope.runs.store import find_run


def show(
    path: Path,
    names: Sequence[str],
    operation: str,
    pictures: Mapping[str, Path | None],
    forms: Forms,
) -> None:
    """Print what memory costs; UserError of one line where that cannot be."""
    forms.check({f"--{form}": file for form, file in pictures.items()}, [path])
    prices = read_prices(path)
    files = [find_run(name) for name in names or ["last"]]
    runs = [read_run(file) for file in files]
    _check_hosts(runs)
    _check_operation(runs, operation)
    placements = priced(prices, runs, operation)
    names_shown = [shown(file.stem) for file in files]
    imported = [run.header.imported.said for run in runs if run.header.imported]
    view = CostView(prices, placements, operation, names_shown, imported)
    _write_pictures(view, pictures, forms)

    def tables() -> None:
        if any(file and is_stdout(file) for file in pictures.values()):
            return
        from tierscope.report.console import make_console

        show_cost(make_console(), view)

    emit(forms, lambda: json.dumps(cost_json(view)), tables)


def _check_hosts(runs: Sequence[Run]) -> None:
    hosts = list(dict.fromkeys(run.header.host for run in runs))
    if len(hosts) > 1:
        raise UserError(
            f"the runs are of several machines, {' and '.join(map(shown, hosts))}; a file of "
            "prices is of one"
        )


def _check_operation(runs: Sequence[Run], operation: str) -> None:
    """Refuse an operation whose bandwidth was not measured, where others' was."""
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


def _write_pictures(view: CostView, pictures: Mapping[str, Path | None], forms: Forms) -> None:
    if not any(pictures.values()):
        return
    from tierscope.report.pictures.cost import frontier_picture
    from tierscope.report.pictures.draw import png_for_file, svg_for_file

    picture = frontier_picture(view.placements, view.prices.currency, view.operation)
    aside = forms.printed != "tables"
    if picture is None:
        click.echo("no picture: neither bandwidth nor latency was measured", err=True)
        return
    draw = {"png": png_for_file, "svg": svg_for_file}
    for form, file in pictures.items():
        if file is not None:
            write_output(
                file, draw[form](picture, ", ".join([*view.runs, *view.imported])), f"--{form}"
            )
            say_written("picture", file, aside)
