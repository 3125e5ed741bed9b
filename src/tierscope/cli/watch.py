"""``tierscope watch``: counters on a live screen, as lines or JSON, and in a run file."""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tierscope.cli import options
from tierscope.cli.generated import Given, given_options, parameter
from tierscope.cli.measure import planned
from tierscope.cli.output import STDOUT, Output, say_start
from tierscope.kinds.registry import KINDS
from tierscope.runs.output import write_output

if TYPE_CHECKING:
    from tierscope.model.evidence import LackingCounters
    from tierscope.report.watch import Reading, Show
    from tierscope.runs.watched import WatchRun


_OPTIONS = KINDS["watch"].request.options


@options.command(params=[parameter(option) for option in _OPTIONS])
@click.option(
    "--record",
    metavar="[FILE]",
    is_flag=False,
    flag_value="",
    help="Write a run file, too: FILE, or one in the data directory",
)
@options.json_option
@options.start_option
def watch(record: str | None, output: Output, **arguments: Given) -> int:
    """Watch counters of memory, GPUs, drives and ports over time.

    Memory and its bandwidth by node and socket, pages of a process by node, pressure, migrations,
    GPUs, drives and network ports: live in a terminal, in lines elsewhere, with --json as a JSON
    object for each reading. Ctrl-C ends it with exit status 0.

    \b
    Examples:
      tierscope watch
      tierscope watch --interval 500ms --duration 2s --record
      tierscope watch --pid 1 --duration 1s
      tierscope watch --duration 2s --json
    """
    from tierscope.kinds.watch.measurer import Measurer
    from tierscope.machine.discover import discover
    from tierscope.plans.request import Request
    from tierscope.runs.measure import wait_until
    from tierscope.runs.watched import WatchRun, repetitions_of

    given = given_options(_OPTIONS, arguments)

    output.check()
    start_at = output.start_at
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
    with _shown(output, heading, lines) as show:
        measurer = Measurer(show)
        for repetition in repetitions_of(spec, measurer, interval_s):
            if run is not None:
                run.add(repetition)
    for form, path in output.files():
        content = "".join(f"{line}\n" for line in lines)
        write_output(path, content, f"--{form}")
        output.say_written(form, path)
    if run is not None:
        _finish(run, output)
    return 0


def _shown(output: Output, heading: str, lines: list[str]) -> "AbstractContextManager[Show]":
    """Return what shows readings; JSON that goes to a file is collected in ``lines``."""
    from tierscope.report.style import make_console
    from tierscope.report.watch import line_by_line, live_screen

    if output.json == STDOUT:
        return contextlib.nullcontext(_echo_json)
    console = make_console()
    plain = contextlib.nullcontext(line_by_line(console))
    shown = live_screen(console, heading) if console.is_terminal else plain
    return _collecting(shown, lines) if output.json else shown


def _echo_json(rows: "Sequence[Reading]", lacking: "Sequence[LackingCounters]") -> None:
    from tierscope.report.watch import json_line

    click.echo(json_line(rows, lacking))


@contextlib.contextmanager
def _collecting(shown: "AbstractContextManager[Show]", lines: list[str]) -> "Iterator[Show]":
    from tierscope.report.watch import json_line

    with shown as show:

        def both(rows: "Sequence[Reading]", lacking: "Sequence[LackingCounters]") -> None:
            lines.append(json_line(rows, lacking))
            show(rows, lacking)

        yield both


def _finish(run: "WatchRun", output: Output) -> None:
    """End the run file, and show the whole of it on a terminal."""
    from tierscope.kinds.views import VIEWS
    from tierscope.report.run import show_run
    from tierscope.report.style import make_console

    found = run.finish()
    console = make_console()
    if console.is_terminal and output.printed == "tables":
        show_run(console, found, run.path, VIEWS)
    else:
        output.say_written("run", run.path)
