"""From counters to a live screen, lines or JSON, and a run file."""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path

import click

from tierscope.cli.files import say_written
from tierscope.cli.flow import planned
from tierscope.cli.forms import STDOUT, Forms
from tierscope.cli.waiting import say_start
from tierscope.kinds.watch.measurer import Measurer
from tierscope.model.errors import ExitCode
from tierscope.model.lacking import LackingCounters
from tierscope.plans.request import Request
from tierscope.report.watch_screen import Reading, Show, json_line, line_by_line, live_screen
from tierscope.runs.moment import wait_until
from tierscope.runs.output import write_output
from tierscope.runs.watched import WatchRun, visits_of
from tierscope.topology.discover import discover


def watch_machine(
    given: dict[str, str], record: str | None, forms: Forms, start_at: datetime | None = None
) -> int:
    """Watch from ``start_at`` on until the time is over or Ctrl-C; ``record`` is a file, or empty
    for the usual one."""
    forms.check()
    topology = discover()
    (spec,) = planned([Request(kind="watch", options=given)], topology).measurements
    about = spec.identity()
    interval_s = about["interval_s"]
    run = None
    if record is not None:
        run = WatchRun(spec, topology, sys.argv, Path(record) if record else None, start_at)
    lines: list[str] = []
    if start_at:
        say_start(start_at)
        late_s = wait_until(start_at.timestamp(), lambda: False)
        if run is not None:
            run.late_s = late_s
    heading = f"{topology.host}: {about['watched']}, every {interval_s:g} s"
    with _shown(forms, heading, lines) as show:
        measurer = Measurer(show)
        for visit in visits_of(spec, measurer, interval_s):
            if run is not None:
                run.add(visit)
    if forms.json not in (None, STDOUT):
        path = Path(str(forms.json))
        content = "".join(f"{line}\n" for line in lines)
        write_output(path, content, "--json", ExitCode.SOMETHING_FAILED)
        say_written("json", path, aside=False)
    if run is not None:
        _finish(run, forms)
    return 0


def _shown(forms: Forms, heading: str, lines: list[str]) -> AbstractContextManager[Show]:
    """Return what shows readings; JSON that goes to a file is collected in ``lines``."""
    from tierscope.report.console import make_console

    if forms.json == STDOUT:
        return contextlib.nullcontext(_echo_json)
    console = make_console()
    plain = contextlib.nullcontext(line_by_line(console))
    shown = live_screen(console, heading) if console.is_terminal else plain
    return _collecting(shown, lines) if forms.json else shown


def _echo_json(rows: Sequence[Reading], lacking: Sequence[LackingCounters]) -> None:
    click.echo(json_line(rows, lacking))


@contextlib.contextmanager
def _collecting(shown: AbstractContextManager[Show], lines: list[str]) -> Iterator[Show]:
    with shown as show:

        def both(rows: Sequence[Reading], lacking: Sequence[LackingCounters]) -> None:
            lines.append(json_line(rows, lacking))
            show(rows, lacking)

        yield both


def _finish(run: WatchRun, forms: Forms) -> None:
    """End the run file, and show the whole of it on a terminal."""
    from tierscope.kinds.views import VIEWS
    from tierscope.report.console import make_console
    from tierscope.report.run import show_run

    found = run.finish()
    console = make_console()
    if console.is_terminal and forms.printed == "tables":
        show_run(console, found, run.path, VIEWS)
    else:
        say_written("run", run.path, aside=forms.printed != "tables")
