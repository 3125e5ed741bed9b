"""``tierscope fio``."""

from datetime import datetime

import click
from click.shell_completion import CompletionItem

from tierscope.cli.options import start_option
from tierscope.cli.waiting import say_start


class _Fio(click.Command):
    """Completes fio's options, which click does not know."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return the options that begin so, else files."""
        if not incomplete.startswith("-"):
            return [CompletionItem(incomplete, type="file")]
        from tierscope.recipes.fio.help import option_names

        return [CompletionItem(name) for name in option_names() if name.startswith(incomplete)]


@click.command(
    cls=_Fio,
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
@start_option
@click.pass_context
def fio(context: click.Context, start_at: datetime | None) -> int:
    """Measure storage with fio's job files, command line and output.

    \b
    Examples:
      tierscope fio jobs.fio
      tierscope fio --name=a --rw=randread --bs=4k --size=64m --direct=1 --runtime=10 --time_based
      tierscope fio --output-format=json+ --output=result.json jobs.fio
    """
    from tierscope.recipes.fio.command import run

    say_start(start_at)
    return run(context.args, start_at)
