"""``tierscope list`` and ``tierscope tag``: the kept runs and their tags."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tierscope.cli import options
from tierscope.cli.output import Output
from tierscope.model.errors import UserError, shown
from tierscope.runs.store import find_run, tags_of

if TYPE_CHECKING:
    from rich.console import Console

    from tierscope.model.run import Run


@options.command("list")
@click.option("--tag", metavar="TAG", help="Only runs with this tag")
@click.option("--host", metavar="HOST", help="Only runs of this host")
@options.directory_option
@options.json_option
def list_runs(tag: str | None, host: str | None, directory: Path | None, output: Output) -> None:
    """List the kept runs, oldest first.

    \b
    Examples:
      tierscope list
      tierscope list --tag golden
      tierscope list --in results --json
    """
    from tierscope.runs.history import entries

    found = [
        entry
        for entry in entries(directory)
        if (tag is None or tag in entry.tags) and (host is None or host == entry.host)
    ]

    def tables(console: "Console") -> None:
        from tierscope.report.history import show_entries

        show_entries(console, found)

    runs = [entry.model_dump(mode="json") for entry in found]
    output.emit({"runs": runs}, tables)


@options.command()
@click.argument("run", metavar="RUN", shell_complete=options.complete_run)
@click.argument("tags", metavar="[TAG]...", nargs=-1)
@click.option("--remove", metavar="TAG", multiple=True, help="Remove this tag; may be repeated")
@options.json_option
def tag(run: str, tags: tuple[str, ...], remove: tuple[str, ...], output: Output) -> None:
    """Tag a run; wherever a command takes a run, it also takes a tag.

    A tag has at most 40 letters, digits and . - _ signs. Where several runs have the same tag, it
    names the newest of them. A tag of a run moves to one that has measurements in common with it
    only, since scripts compare with it. Without a TAG, print the run's tags.

    \b
    Examples:
      tierscope tag last golden
      tierscope compare golden last
      tierscope tag golden --remove golden
    """
    from tierscope.runs.history import set_tags
    from tierscope.runs.read import read_run

    path = find_run(run)
    found = read_run(path)
    for name in tags:
        _refuse_unlike(name, path, found)
    kept = set_tags(path, list(tags), list(remove))
    name = shown(path.stem)
    output.emit({"run": name, "tags": kept}, f"{name}: {', '.join(kept) if kept else 'no tags'}")


def _refuse_unlike(tag: str, path: Path, run: "Run") -> None:
    """Raise UserError where a tag names a run with which this one cannot be compared at all."""
    from tierscope.analysis.compare import join
    from tierscope.runs.read import read_run

    try:
        tagged = find_run(tag)
        before = read_run(tagged)
    except UserError:
        return
    if tag not in tags_of(tagged) or tagged == path:
        return
    if not any(old and new for old, new in join(before, run)):
        raise UserError(
            f"'{tag}' names run {shown(tagged.stem)}, which has no measurement in common with this "
            f"one: `compare {tag}` would compare nothing; take it away first, by "
            f"`tierscope tag {tag} --remove {tag}`, or choose another tag"
        )
