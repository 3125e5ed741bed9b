"""``tierscope fio``."""

from datetime import datetime

import click
from click.shell_completion import CompletionItem

from tierscope.peers.click_command import drop_in_command


class _Fio(click.Command):
    """Completes fio's options, which click does not know."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return the options that begin so, else files."""
        if not incomplete.startswith("-"):
            return [CompletionItem(incomplete, type="file")]
        from tierscope.peers.fio.run import option_names

        return [CompletionItem(name) for name in option_names() if name.startswith(incomplete)]


@drop_in_command(_Fio)
def fio(arguments: list[str], start_at: datetime | None) -> int:
    """Measure storage with fio's job files, command line and output.

    \b
    Examples:
      tierscope fio jobs.fio
      tierscope fio --name=a --rw=randread --bs=4k --size=64m --direct=1 --runtime=10 --time_based
      tierscope fio --output-format=json+ --output=result.json jobs.fio
      tierscope fio --section=reads jobs.fio
    """
    from tierscope.peers.fio.run import run

    return run(arguments, start_at)
