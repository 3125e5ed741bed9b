"""``tierscope tier``: hot pages to fast nodes, cold ones to slow nodes, by rules."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from tierscope.cli import options
from tierscope.cli.commands import tier_entries
from tierscope.cli.output import Output
from tierscope.cli.parsing import LazyGroup
from tierscope.cli.signals import termination_signals
from tierscope.model.errors import ExitCode, UserError
from tierscope.plans.grammar import parse_duration
from tierscope.runs.output import write_output

if TYPE_CHECKING:
    from rich.console import Console

    from tierscope.place.cgroups import Cgroup
    from tierscope.place.kernel import Kernel
    from tierscope.place.tier_look import Look
    from tierscope.place.tiering import Session, Tiering

ROOT = Path("/")
"""Below it are /proc, /run and /sys; tests put a tree of files in its place."""
_LONGEST_S = 30 * 86400
_POLL_S = 0.2
_LOOK_EACH_S = 1.0
"""Between looks at a program that has run for a while; a short one is looked at more often."""
_BALANCING = {
    "name": "numa-balancing",
    "summary": "the kernel's own: NUMA balancing promotes what programs access, "
    "reclaim demotes where the fast node is short of memory",
    "needs": "Linux 5.18",
}


@click.group(cls=LazyGroup, entries=tier_entries(), context_settings=options.SETTINGS)
def tier() -> None:
    """Move hot pages to fast nodes and cold ones to slow nodes, while programs run.

    DAMON, the kernel's monitor of memory accesses, moves them by rules; a preset has NUMA balancing
    and reclaim move them instead. Needs root and Linux 6.11 or later.

    \b
    Examples:
      tierscope tier start --pair 0:2
      tierscope tier status
      tierscope tier stop
      tierscope tier observe 4711
    """


def rule_options(function: options.Function) -> options.Function:
    """Add what says by which rules pages move."""
    for option in (
        click.option(
            "--pid",
            metavar="PID",
            type=click.IntRange(1),
            help="Move only pages of this process and the children that it has now, by their own "
            "addresses; Linux 6.17",
        ),
        click.option("--cgroup", metavar="PATH", help="Move only pages of this cgroup (version 2)"),
        options.file_option("--rules", "Your own rules, or a damo file (YAML, JSON)"),
        click.option(
            "--preset",
            metavar="NAME",
            help="hmsdk, damo or numa-balancing ('tierscope tier presets')  [default: hmsdk]",
        ),
        click.option(
            "--pair",
            "pairs",
            metavar="FAST:SLOW",
            multiple=True,
            help="A fast and a slow node, as in 0:2. May be given again",
        ),
    ):
        function = option(function)
    return function


@options.command()
@rule_options
@click.option(
    "--for", "duration", metavar="TIME", help="Stop after this time, as in 60s, and end CMD"
)
@options.json_option
@click.argument("program", metavar="[-- CMD [ARG]...]", nargs=-1, type=click.UNPROCESSED)
def start(duration: str | None, output: Output, program: tuple[str, ...], **given: Any) -> int:
    """Start moving pages by rules, for the whole machine, a cgroup, a process, or a program.

    Tiering goes on until 'tierscope tier stop'. With -- CMD it goes on until CMD ends, and with
    --for that long; both show what happened. CMD runs in a cgroup of its own, so that only its
    pages and those of its children move; -- sudo -u USER CMD runs it as another user.

    Exit status: CMD's own.

    \b
    Examples:
      tierscope tier start --pair 0:2
      tierscope tier start --preset damo --pair 0:2 --for 10min
      tierscope tier start --pair 0:2 -- ./server --port 8080
      tierscope tier start --rules my_rules.yaml --cgroup /system.slice/redis.service
    """
    from tierscope.place.tier_rules import Asked, begin
    from tierscope.place.tiering import NotUndoneError, warnings
    from tierscope.report.tiering import look_json, show_look

    asked = Asked(**given)
    seconds = parse_duration(duration, 0, _LONGEST_S) if duration else None
    output.check()
    kernel = kernel_here()
    need_root(kernel, "tier start")
    if asked.cgroup and (program or asked.pid is not None):
        other = "CMD gets a cgroup of its own" if program else "--pid is for one process"
        raise UserError(f"{other}; leave --cgroup out")
    stay = bool(program) or seconds is not None
    ended = Ending()
    started = begin(kernel, asked, own_cgroup=bool(program))
    for line in warnings(kernel, damon=started.session.rules is not None):
        click.echo(f"tierscope: {line}", err=True)
    if ended.number and not stay:
        started.end()
        return int(ExitCode.INTERRUPTED)
    if not stay:
        started.keep()
        click.echo(f"{started.session.title()} is on")
        click.echo("'tierscope tier status' shows what it does, 'tierscope tier stop' ends it")
        return 0
    problem: NotUndoneError | None = None
    try:
        started.follow()
        status, last = _stay(kernel, started, program, seconds, ended)
    finally:
        try:
            done = started.end()
        except NotUndoneError as error:
            done, problem = [*error.done], error
    output.emit(look_json(last), lambda console: show_look(console, last), indent=2)
    for line in done:
        click.echo(f"tierscope: {line}", err=True)
    if problem:
        raise problem
    return status


@options.command()
@options.json_option
def status(output: Output) -> None:
    """Show what tiering has moved, where the pages are, and why nothing moves.

    Memory that went online or offline meanwhile is listed, too; new memory is monitored.
    It takes as long as DAMON's aggregation interval, since it reads all regions.

    \b
    Examples:
      tierscope tier status
      tierscope tier status --json
    """
    from tierscope.report.tiering import look_json, show_look

    kernel = kernel_here()
    session = _session(kernel)
    need_root(kernel, "tier status")
    found = _look(kernel, session)
    output.emit(look_json(found), lambda console: show_look(console, found), indent=2)


@options.command()
@click.option(
    "--interval",
    metavar="TIME",
    default="2s",
    show_default=True,
    help="Time between readings",
)
@options.json_option
def watch(interval: str, output: Output) -> int:
    """Show the status live, until Ctrl-C or until tiering ends.

    With --json, each reading is one line.

    \b
    Examples:
      tierscope tier watch
      tierscope tier watch --interval 10s --json
    """
    from tierscope.place import tiering
    from tierscope.report.style import make_console
    from tierscope.report.tiering import look_json, show_look

    seconds = parse_duration(interval, 0, _LONGEST_S)
    if any(output.files()):
        raise UserError(
            "watch has no end to write a file at; leave the file out, or redirect the output"
        )
    kernel = kernel_here()
    session = _session(kernel)
    need_root(kernel, "tier watch")
    console = make_console()
    while tiering.load(kernel) is not None:
        found = _look(kernel, session)
        if output.printed == "json":
            click.echo(json.dumps(look_json(found)))
        else:
            if console.is_terminal:
                console.clear()
            show_look(console, found)
        time.sleep(seconds)
    click.echo("tierscope: tiering has ended", err=True)
    return 0


@options.command()
@options.json_option
def stop(output: Output) -> None:
    """Stop tiering, and restore what it changed: kdamonds, settings, its cgroup.

    Pages stay where they are.

    \b
    Examples:
      tierscope tier stop
    """
    end_tiering(output, killed=False)


@options.command()
@options.json_option
def restore(output: Output) -> None:
    """Restore what a killed tiering left; do nothing where nothing is left.

    'tier start' has a supervisor, which restores everything where the command is killed. This is
    for what it could not restore, and for when it was killed itself.

    \b
    Examples:
      tierscope tier restore
    """
    end_tiering(output, killed=True)


@options.command()
@options.json_option
def presets(output: Output) -> None:
    """List the presets of rules.

    \b
    Examples:
      tierscope tier presets
    """

    from tierscope.place.damon.presets import PRESETS
    from tierscope.report.style import new_table

    rows = [
        {"name": one.name, "summary": one.summary, "needs": one.needs} for one in PRESETS.values()
    ]
    rows.append(_BALANCING)

    def tables(console: "Console") -> None:
        headings = ("preset", "what it does", "needs")
        table = new_table(*headings, words=headings)
        for row in rows:
            table.add_row(row["name"], row["summary"], row["needs"])
        console.print(table)

    output.emit(rows, tables, indent=2)


@options.command()
@rule_options
@options.out_option("FILE", "Write the rules to a file")
@options.json_option
def rules(out: Path | None, output: Output, **given: Any) -> None:
    """Print the rules that 'tier start' would follow, as YAML or JSON for damo; change nothing.

    \b
    Examples:
      tierscope tier rules --pair 0:2
      tierscope tier rules --rules my_rules.yaml --json
    """
    from tierscope.place.damon.files import damo_json, damo_yaml
    from tierscope.place.tier_rules import Asked, label_and_rules

    asked = Asked(**given)
    output = output.beside({"--out": out})
    output.check()
    _, rules = label_and_rules(kernel_here(), asked, asked.cgroup)
    if rules is None:
        raise UserError("numa-balancing has no rules; 'tierscope tier presets' says what it does")
    if out is not None:
        write_output(out, damo_yaml(rules), "--out")
    output.emit(lambda: damo_json(rules), None if out else damo_yaml(rules).rstrip("\n"))


def kernel_here() -> "Kernel":
    """Return this machine's kernel, or a test's."""
    from tierscope.place.kernel import Kernel

    return Kernel(ROOT)


def _stay(
    kernel: "Kernel",
    started: "Tiering",
    program: Sequence[str],
    seconds: float | None,
    ended: "Ending",
) -> "tuple[int, Look]":
    """Wait until a program or the time ends; return the program's status and the last look."""
    from tierscope.place.kernel import KernelError
    from tierscope.place.tier_look import Looks

    process = _run(kernel, program, started.session.cgroup) if program else None
    begin = looked = time.monotonic()
    session: Session | None = started.session
    looks = Looks(_look(kernel, started.session, deep=False))
    gap = _POLL_S
    while not ended.number and (process is None or process.poll() is None):
        if seconds is not None and time.monotonic() - begin >= seconds:
            break
        time.sleep(_POLL_S)
        session = session and started.now()  # 'tier stop' may have ended it
        if session is None and process is None:
            break
        if session and time.monotonic() - looked > gap:
            with contextlib.suppress(KernelError):  # 'tier stop' may end it meanwhile
                looks.add(_look(kernel, session, deep=False))
            looked = time.monotonic()
            gap = min(2 * gap, _LOOK_EACH_S)
    alive = process is None or process.poll() is None
    deep = bool(session) and alive and not ended.number
    last = _look(kernel, started.now() or started.session) if deep else looks.last()
    if process and process.poll() is None:
        process.send_signal(ended.number or signal.SIGTERM)
    code = process.wait() if process else 0
    if ended.number:
        return int(ExitCode.INTERRUPTED), last
    return (128 - code if code < 0 else code), last


def _run(
    kernel: "Kernel", program: Sequence[str], cgroup: "Cgroup | None"
) -> "subprocess.Popen[bytes]":
    from tierscope.place import cgroups

    try:
        enter = partial(cgroups.enter, kernel, cgroup) if cgroup else None
        return subprocess.Popen(program, preexec_fn=enter)
    except OSError as error:
        raise UserError(f"'{program[0]}' does not start: {error.strerror}") from None
    except subprocess.SubprocessError:
        raise UserError(
            f"'{program[0]}' does not start: it cannot enter cgroup {cgroup.path if cgroup else ''}"
        ) from None


class Ending:
    """Notes Ctrl-C, SIGTERM and SIGHUP in place of ending: what was changed is to be undone."""

    def __init__(self) -> None:
        self.number = 0
        for number in (signal.SIGINT, *termination_signals()):
            signal.signal(number, self._note)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.number = number


def end_tiering(output: Output, killed: bool) -> None:
    """Undo what tiering changed, and say what that was."""
    from tierscope.place import tiering

    output.check()
    kernel = kernel_here()
    done: list[str] = []
    if tiering.load(kernel) is None:
        if not killed:
            raise UserError("no tiering is on")
        said = ["nothing to restore"]
    else:
        need_root(kernel, "tier restore" if killed else "tier stop")
        try:
            done = tiering.stop(kernel)
        except tiering.NotUndoneError as error:
            for line in error.done:
                click.echo(f"tierscope: {line}", err=True)
            raise
        said = done or ["nothing is left to restore"]
    output.emit({"done": done}, "\n".join(said))


def _session(kernel: "Kernel") -> "Session":
    from tierscope.place import tiering

    session = tiering.load(kernel)
    if session is None:
        raise UserError("no tiering is on; 'tierscope tier start' begins one")
    return session


def _look(kernel: "Kernel", session: "Session", deep: bool = True) -> "Look":
    from tierscope.place.tier_look import look
    from tierscope.place.tier_rules import rules_in

    return look(kernel, session, rules_in(session), deep)


def need_root(kernel: "Kernel", command: str) -> None:
    """Raise UserError where this is not root, and the kernel is no test's."""
    if kernel.live and os.geteuid() != 0:
        raise UserError(
            f"'{command}' needs root, since DAMON's files in /sys are root's: "
            f"sudo tierscope {command} ...",
            ExitCode.NOTHING_MEASURED,
        )
