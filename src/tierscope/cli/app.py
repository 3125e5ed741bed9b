"""``tierscope``: the commands, gathered."""

from typing import Annotated

import typer

from tierscope.cli import (
    bandwidth,
    check,
    compare,
    doctor,
    export,
    gpu,
    latency,
    loaded_latency,
    matrix,
    nvbandwidth,
    patterns,
    query,
    report,
    run,
    show,
    topo,
)
from tierscope.cli import list as runs_list

app = typer.Typer(
    name="tierscope",
    invoke_without_command=True,
    rich_markup_mode=None,  # rich's help costs more time than all else that --help does
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        from tierscope.runs.record import version

        typer.echo(f"tierscope {version()}")
        raise typer.Exit


@app.callback()
def _tierscope(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Measure every tier of memory a machine has, and say how sure each figure is.

    \b
    Start with:
      tierscope run                    this machine's memory, in a minute
      tierscope doctor                 what can be measured here, what spoils figures
      tierscope bandwidth --op read,copy --threads 1..all
      tierscope latency --size 4k..1g

    Exit status: 0 measured, 1 something failed, 2 the request was wrong, 3 nothing could be
    measured, 130 interrupted.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command("run")(run.run)
app.command("bandwidth")(bandwidth.bandwidth)
app.command("latency")(latency.latency)
app.command("loaded-latency")(loaded_latency.loaded_latency)
app.command("matrix")(matrix.matrix)
app.command("streams")(patterns.streams)
app.command("atomics")(patterns.atomics)
app.command("mapping")(patterns.mapping)
app.command("show")(show.show)
app.command("doctor")(doctor.doctor)
app.command("topo")(topo.topo)
app.command("report")(report.report)
app.command("compare")(compare.compare)
app.command("check")(check.check)
app.command("list")(runs_list.list_)
app.command("tag")(runs_list.tag)
app.command("query")(query.query)
app.command("export")(export.export)
app.add_typer(gpu.app, name="gpu")
app.command(
    "nvbandwidth",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)(nvbandwidth.nvbandwidth)
