"""``tierscope show``."""

from tierscope.cli import options


@options.command()
@options.run_argument
@options.json_option
@options.csv_option
def show(run: str, json: str | None, csv: str | None) -> None:
    """Show a run again, whether complete, interrupted or cut short.

    RUN is a run file, the name of a run, a tag, or last, which is the default.

    \b
    Examples:
      tierscope show
      tierscope show results/20260105-140307-quick.jsonl --csv
      tierscope show 20260105-140307-quick --json
    """
    from tierscope.cli.show_flow import show_file

    show_file(run, options.Forms(json, csv))
