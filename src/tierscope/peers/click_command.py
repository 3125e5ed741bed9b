"""The click command of a peer that parses its arguments as the original does."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import click

from tierscope.cli.options import start_option
from tierscope.cli.output import Output, say_start

Run = Callable[[list[str], datetime | None], int]
"""Carries out arguments, optionally from a given time on; returns the exit status."""


def drop_in_command(
    cls: type[click.Command] = click.Command, serves: Callable[[], bool] = lambda: False
) -> Callable[[Run], click.Command]:
    """Make a command that parses its arguments itself, except ``--start-at``.

    ``serves`` returns True on an MPI rank that only served rank 0, and now ends.
    """

    def make(function: Run) -> click.Command:
        def call(context: click.Context, output: Output) -> int:
            if serves():
                return 0
            say_start(output.start_at)
            return function(context.args, output.start_at)

        settings: dict[str, Any] = {"ignore_unknown_options": True, "allow_extra_args": True}
        command = click.command(
            function.__name__,
            cls=cls,
            help=function.__doc__,
            add_help_option=False,
            context_settings=settings,
        )
        return command(start_option(click.pass_context(call)))

    return make
