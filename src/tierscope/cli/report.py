"""``tierscope report``: an HTML page, and pictures."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tierscope.cli import options
from tierscope.cli.kept import runs_at, together_of
from tierscope.cli.output import STDOUT, Output, waiting, write_pictures
from tierscope.model.errors import counted, shown
from tierscope.runs.output import write_output
from tierscope.runs.store import find_run

if TYPE_CHECKING:
    from tierscope.model.run import Run


@options.command()
@options.runs_argument()
@options.out_option("FILE", "The page  [default: RUN.html]")
@options.file_option("--png", "Write the pictures as PNG files", metavar="DIR")
@options.file_option("--svg", "Write the pictures as SVG files", metavar="DIR")
@options.json_option
def report(
    runs: tuple[str, ...],
    out: Path | None,
    png: Path | None,
    svg: Path | None,
    output: Output,
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
    from tierscope.peers.registry import run_view

    paths = [find_run(name) for name in runs or ["last"]]
    page_path = out or (None if png or svg else Path(f"{paths[0].stem}.html"))
    output = output.beside({"--out": page_path})
    output.check(paths)
    found = runs_at(paths)
    written: dict[str, object] = {}
    for folder, form in ((png, "png"), (svg, "svg")):
        if folder is not None:
            with waiting("drawing pictures"):
                count = write_pictures(folder, form, _pictures(found, form))
            written[form] = count
            if output.json != STDOUT:
                output.say(f"{counted(count, 'picture')} in {folder}")
    if page_path is not None:
        from tierscope.kinds.views import VIEWS
        from tierscope.report.html.page import render_report
        from tierscope.suites.registry import beside_of

        with waiting("drawing the report"):
            views = {name: view for name, run in found if (view := run_view(run))}
            own = {name: view.section for name, view in views.items() if view.section}
            published = {name: one for name, run in found if (one := beside_of(run))}
            together = together_of(paths, found)
            page = render_report(found, VIEWS, own, together, published)
        write_output(page_path, page, "--out")
        written["report"] = shown(page_path)
        if output.json != STDOUT:
            output.say_written("report", page_path)
    output.emit(written, None)


def _pictures(runs: "list[tuple[str, Run]]", form: str) -> Iterator[tuple[str, bytes]]:
    """Yield every picture of every run; runs of a peer may have their own."""
    from tierscope.kinds.views import VIEWS
    from tierscope.peers.registry import run_view
    from tierscope.report.pictures.of_run import beside_files, drawn, origin_of, picture_files
    from tierscope.suites.registry import beside_of

    for name, run in runs:
        prefix = f"{name}-" if len(runs) > 1 else ""
        own = run_view(run)
        if own is not None and own.pictures is not None:
            files = drawn(own.pictures(), form, origin_of(run))
        else:
            published = beside_of(run)
            files = picture_files(
                [(name, run)], form, VIEWS, {name: published} if published else {}
            )
        for file, content in files:
            yield f"{prefix}{file}", content
    if len(runs) > 1:
        yield from beside_files(runs, form, VIEWS)
