"""``tierscope report``."""

from pathlib import Path

from tierscope.cli import options


@options.command()
@options.runs_argument()
@options.out_option("FILE", "The page  [default: RUN.html]")
@options.file_option("--png", "Write the pictures as PNG files", metavar="DIR")
@options.file_option("--svg", "Write the pictures as SVG files", metavar="DIR")
@options.json_option
def report(
    runs: tuple[str, ...], out: Path | None, png: Path | None, svg: Path | None, json: str | None
) -> None:
    """Write a report: one self-contained HTML file to read, print and send.

    RUN is a run file, the name of a run, a tag, or last, which is the default. With --png or
    --svg only the pictures are written, unless -o asks for the page too.

    \b
    Examples:
      tierscope report
      tierscope report results/20260105-140307-full.jsonl -o machine.html
      tierscope report last --svg pictures
    """
    from tierscope.cli.show_flow import report_runs

    report_runs(runs, out, png, svg, options.Forms(json))
