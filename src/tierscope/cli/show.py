"""``tierscope show``."""

import click

from tierscope.cli import options


@options.command()
@options.run_argument
@click.option(
    "--beside",
    metavar="RUN",
    multiple=True,
    shell_complete=options.complete_run,
    help="Show what the curves of RUN and of this run come to, beside each other; may be repeated",
)
@options.json_option
@options.csv_option
@click.pass_context
def show(
    context: click.Context, run: str, beside: tuple[str, ...], json: str | None, csv: str | None
) -> None:
    """Show a run again, whether complete, interrupted or cut short.

    RUN is a run file, the name of a run, a tag, or last, which is the default. Runs of any
    machines, and imported ones, go beside each other.

    \b
    Examples:
      tierscope show
      tierscope show results/20260105-140307-quick.jsonl --csv
      tierscope show 20260105-140307-quick --json
      tierscope show last --beside published
    """
    if beside:
        options.refuse_given(context, "runs beside each other are tables and --json", "csv")
        from tierscope.cli.beside_flow import show_beside

        show_beside((run, *beside), options.Forms(json))
        return
    from tierscope.cli.show_flow import show_file

    show_file(run, options.Forms(json, csv))
