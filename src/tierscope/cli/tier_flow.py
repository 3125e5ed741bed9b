"""From options to tiering that runs, is looked at, and ends."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import FrameType

import click

from tierscope.cli.forms import Forms, emit
from tierscope.model.errors import ExitCode, UserError
from tierscope.placement import cgroups, tiering
from tierscope.placement.cgroups import Cgroup
from tierscope.placement.kernel import Kernel
from tierscope.placement.tier_look import Look, look
from tierscope.placement.tier_warnings import warnings
from tierscope.placement.tiering import Session
from tierscope.plans.grammar import parse_duration
from tierscope.plans.tier_start import Asked, begin, rules_in
from tierscope.report.console import make_console
from tierscope.report.tiering import look_json, show_look

ROOT = Path("/")
"""Below it are /proc, /run and /sys; tests put a tree of files in its place."""
_LONGEST_S = 30 * 86400
_POLL_S = 0.2


def kernel_here() -> Kernel:
    """Return this machine's kernel, or a test's."""
    return Kernel(ROOT)


def start_tiering(asked: Asked, duration: str | None, program: Sequence[str], forms: Forms) -> int:
    """Start; with a program or a duration stay until its end, show what happened, and stop."""
    seconds = parse_duration(duration, 0, _LONGEST_S) if duration else None
    forms.check()
    kernel = kernel_here()
    need_root(kernel, "start")
    if asked.cgroup and (program or asked.pid is not None):
        other = "CMD gets a cgroup of its own" if program else "--pid is for one process"
        raise UserError(f"{other}; leave --cgroup out")
    stay = bool(program) or seconds is not None
    ended = Ending()
    session = begin(kernel, asked, own_cgroup=bool(program))
    for line in warnings(kernel, damon=session.rules is not None):
        click.echo(f"tierscope: {line}", err=True)
    if ended.number and not stay:
        tiering.stop(kernel)
        return int(ExitCode.INTERRUPTED)
    if not stay:
        click.echo(f"tiering of {session.scope()} by {session.label} is on")
        click.echo("'tierscope tier status' shows what it does, 'tierscope tier stop' ends it")
        return 0
    try:
        status, last = _stay(kernel, session, program, seconds, ended)
    finally:
        done = tiering.stop(kernel)
    emit(
        forms,
        lambda: json.dumps(look_json(last), indent=2),
        lambda: show_look(make_console(), last),
    )
    for line in done:
        click.echo(f"tierscope: {line}", err=True)
    return status


def _stay(
    kernel: Kernel,
    session: Session,
    program: Sequence[str],
    seconds: float | None,
    ended: "Ending",
) -> tuple[int, Look]:
    """Wait until a program or the time ends; return the program's status and the last look."""
    process = _run(kernel, program, session.cgroup) if program else None
    begin = looked = time.monotonic()
    last = _look(kernel, session, deep=False)
    on = True
    while not ended.number and (process is None or process.poll() is None):
        if seconds is not None and time.monotonic() - begin >= seconds:
            break
        time.sleep(_POLL_S)
        on = on and tiering.load(kernel) is not None  # 'tier stop' may have ended it
        if not on and process is None:
            break
        if on and time.monotonic() - looked > 1:
            last = _look(kernel, session, deep=False)
            looked = time.monotonic()
    alive = process is None or process.poll() is None
    if on and alive and not ended.number:
        last = _look(kernel, session)
    if process and process.poll() is None:
        process.send_signal(ended.number or signal.SIGTERM)
    code = process.wait() if process else 0
    if ended.number:
        return int(ExitCode.INTERRUPTED), last
    return (128 - code if code < 0 else code), last


def _run(
    kernel: Kernel, program: Sequence[str], cgroup: Cgroup | None
) -> "subprocess.Popen[bytes]":
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
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._note)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.number = number


def show_status(forms: Forms) -> None:
    """Print a look at the tiering that is on."""
    kernel = kernel_here()
    session = _session(kernel)
    need_root(kernel, "status")
    found = _look(kernel, session)
    emit(
        forms,
        lambda: json.dumps(look_json(found), indent=2),
        lambda: show_look(make_console(), found),
    )


def watch_tiering(interval: str, forms: Forms) -> int:
    """Print looks until Ctrl-C, or until tiering ends."""
    seconds = parse_duration(interval, 0, _LONGEST_S)
    if any(forms.files()):
        raise UserError(
            "watch has no end to write a file at; leave the file out, or redirect the output"
        )
    kernel = kernel_here()
    session = _session(kernel)
    need_root(kernel, "watch")
    console = make_console()
    while tiering.load(kernel) is not None:
        found = _look(kernel, session)
        if forms.printed == "json":
            click.echo(json.dumps(look_json(found)))
        else:
            if console.is_terminal:
                console.clear()
            show_look(console, found)
        time.sleep(seconds)
    click.echo("tierscope: tiering has ended", err=True)
    return 0


def end_tiering(forms: Forms, killed: bool) -> None:
    """Undo what tiering changed, and say what that was."""
    forms.check()
    kernel = kernel_here()
    done: list[str] = []
    if tiering.load(kernel) is None:
        if not killed:
            raise UserError("no tiering is on")
        said = ["nothing to restore"]
    else:
        need_root(kernel, "restore" if killed else "stop")
        done = tiering.stop(kernel)
        said = done or ["nothing was changed yet"]
    emit(forms, lambda: json.dumps({"done": done}), lambda: click.echo("\n".join(said)))


def _session(kernel: Kernel) -> Session:
    session = tiering.load(kernel)
    if session is None:
        raise UserError("no tiering is on; 'tierscope tier start' begins one")
    return session


def _look(kernel: Kernel, session: Session, deep: bool = True) -> Look:
    return look(kernel, session, rules_in(session), deep)


def need_root(kernel: Kernel, command: str) -> None:
    """Raise UserError where this is not root, and the kernel is no test's."""
    if kernel.live and os.geteuid() != 0:
        raise UserError(
            f"'tier {command}' needs root, since DAMON's files in /sys are root's: "
            f"sudo tierscope tier {command} ...",
            ExitCode.NOTHING_MEASURED,
        )
