"""``tierscope list`` and ``tierscope tag``."""

from pathlib import Path

import click

from tierscope.cli import options


@options.command("list")
@click.option("--tag", metavar="TAG", help="Only runs with this tag")
@click.option("--host", metavar="HOST", help="Only runs of this host")
@options.directory_option
@options.json_option
def list_runs(tag: str | None, host: str | None, directory: Path | None, json: str | None) -> None:
    """List the kept runs, oldest first.

    \b
    Examples:
      tierscope list
      tierscope list --tag golden
      tierscope list --in results --json
    """
    from tierscope.cli.history_flow import list_runs

    list_runs(tag, host, directory, options.Forms(json))


@options.command()
@click.argument("run", metavar="RUN", shell_complete=options.complete_run)
@click.argument("tags", metavar="[TAG]...", nargs=-1)
@click.option("--remove", metavar="TAG", multiple=True, help="Remove this tag; may be repeated")
@options.json_option
def tag(run: str, tags: tuple[str, ...], remove: tuple[str, ...], json: str | None) -> None:
    """Tag a run; wherever a command takes a run, it also takes a tag.

    A tag has at most 40 letters, digits and . - _ signs. Where several runs have the same tag, it
    names the newest of them. Without a TAG, print the run's tags.

    \b
    Examples:
      tierscope tag last golden
      tierscope compare golden last
      tierscope tag golden --remove golden
    """
    from tierscope.cli.history_flow import tag_run

    tag_run(run, tags, remove, options.Forms(json))
