"""``tierscope hmsdk bwprof``."""

from pathlib import Path

import click

from tierscope.cli import options

_COMMANDS = ("record", "top", "dump", "report", "info", "help")


@options.command("bwprof")
@click.argument("command", type=click.Choice(_COMMANDS), metavar="|".join(_COMMANDS))
@click.option(
    "-i", "--interval", metavar="SECONDS", default="1", help="Time between lines  [default: 1]"
)
@click.option(
    "-s", "--socket", metavar="N", type=click.IntRange(0), help="One socket  [default: all]"
)
@click.option(
    "-d",
    "--dir",
    "directory",
    metavar="DIR",
    type=options.PATH,
    default="bwprof.data",
    help="Directory of the recording  [default: bwprof.data]",
)
@click.option("--top", is_flag=True, help="Show each line, too")
@click.option("--duration", metavar="TIME", help="How long to record  [default: until Ctrl-C]")
@options.json_option
@click.pass_context
def bwprof(
    context: click.Context,
    command: str,
    interval: str,
    socket: int | None,
    directory: Path,
    top: bool,
    duration: str | None,
    json: str | None,
) -> int:
    """Record memory bandwidth by socket, of DRAM and of CXL devices, as HMSDK's bwprof does.

    record writes DIR/bwprof.csv (MB/s) and DIR/info.txt; an earlier DIR becomes DIR.old. top shows
    the same and records nothing. dump prints the CSV, report its means, info the machine.

    \b
    Examples:
      tierscope hmsdk bwprof record -i 1 --top
      tierscope hmsdk bwprof record -s 0 -d before --duration 60s
      tierscope hmsdk bwprof report -d before
      tierscope hmsdk bwprof help
    """
    from tierscope.cli.hmsdk_bwprof_flow import Asked, record, show

    if command == "help":
        click.echo(context.get_help())
        return 0
    asked = Asked(interval, socket, directory, top or command == "top", duration)
    if command in ("record", "top"):
        options.Forms(json).check()
        return record(asked, command == "record", options.Forms(json))
    return show(command, directory, options.Forms(json))
