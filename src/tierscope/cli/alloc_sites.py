"""``tierscope alloc sites``."""

import click

from tierscope.cli import options
from tierscope.cli.parsing import WithProgram


@click.command("sites", cls=WithProgram, context_settings=options.SETTINGS)
@options.form_option("--json", "Write a line of JSON for each process to FILE when it ends")
@click.argument("command", metavar="-- PROGRAM [ARGUMENT]...", nargs=-1, type=click.UNPROCESSED)
def sites(json: str | None, command: tuple[str, ...]) -> int:
    """Start a program, and when it ends show which functions called malloc for most bytes.

    The table on stderr has a line for each function that calls malloc, calloc or the like itself,
    as a rule names it: OBJECT:FUNCTION, or OBJECT+0xOFFSET where the file has no symbols. Bytes are
    all that were allocated, freed ones included. All memory is plain.

    Exit status: the program's; 126 the program cannot be executed, 127 there is no such program.

    \b
    Examples:
      tierscope alloc sites -- ./server
      tierscope alloc sites -- sort /etc/services
    """
    from tierscope.cli.alloc_flow import start_program

    return start_program("sites", command, lambda: "", ["sites"], options.Forms(json))
