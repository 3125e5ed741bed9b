"""``tierscope hmctl``."""

import click


@click.command(
    "hmctl",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("words", metavar="PROGRAM [ARGUMENT]...", nargs=-1, type=click.UNPROCESSED)
def hmctl(words: tuple[str, ...]) -> int:
    """Start a program with hmctl's options: sets the environment that HMSDK's hmalloc reads.

    \b
    Examples:
      tierscope hmctl -m 2 ./program
      tierscope hmctl --weighted-interleave=0,2 ./program --its-own-options
    """
    from tierscope.recipes.hmctl import run

    return run(words)
