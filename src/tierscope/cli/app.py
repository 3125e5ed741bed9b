"""The root command ``tierscope``."""

import click

from tierscope.cli.commands import root_entries
from tierscope.cli.options import SETTINGS
from tierscope.cli.parsing import LazyGroup


def _print_version(context: click.Context, _parameter: click.Parameter, asked: bool) -> None:
    if asked:
        from tierscope.runs.record import version

        click.echo(f"tierscope {version()}")
        context.exit()


def _completion(context: click.Context, parameter: click.Parameter, asked: bool) -> None:
    if asked:
        from tierscope.cli.completion import install, script

        click.echo(install() if parameter.name == "install_completion" else script(), nl=False)
        context.exit()


@click.group(
    cls=LazyGroup,
    entries=root_entries(),
    invoke_without_command=True,
    context_settings=SETTINGS,
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version",
)
@click.option(
    "--install-completion",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_completion,
    help="Install tab completion for this shell: bash, zsh or fish",
)
@click.option(
    "--show-completion",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_completion,
    help="Print the completion script of this shell",
)
@click.pass_context
def app(context: click.Context) -> None:
    """Measure every tier of memory that a machine has, and say how precise each figure is.

    \b
    Start with:
      tierscope run                    this machine's memory, in a minute
      tierscope doctor                 what can be measured here, what distorts figures
      tierscope bandwidth --op read,copy --threads 1..all
      tierscope latency --size 4k..1g

    Exit status: 0 measured, 1 something failed, 2 the request was wrong, 3 nothing could be
    measured, 4 the command itself failed, 130 interrupted.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
