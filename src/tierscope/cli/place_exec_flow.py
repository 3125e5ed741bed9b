"""From what was asked to a program that runs so."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Literal, NamedTuple, NoReturn, cast

import click

from tierscope.cli.files import say_written
from tierscope.cli.forms import Forms
from tierscope.model.endpoint import EndpointKind, parse_initiator
from tierscope.model.errors import ExitCode, UserError
from tierscope.placement.launch import Launch, decide, own_environment, preloading
from tierscope.placement.policy import Policy, make_policy, set_policy
from tierscope.placement.programs import cannot_start, find_program
from tierscope.placement.start import become, run_on, start
from tierscope.topology.files import Files
from tierscope.topology.nodes import NODES


class Asked(NamedTuple):
    """The options."""

    policy: str | None
    to: str | None
    initiator: str | None
    balancing: bool
    heap_only: bool
    mechanism: str | None


def start_program(asked: Asked, command: tuple[str, ...], watch: bool, forms: Forms) -> int:
    """Become the program, or start and watch it; returns its exit status."""
    if not command:
        raise UserError("name the program behind --, as in: tierscope place exec --to 0 -- stream")
    forms.check()
    if forms.json and not watch:
        raise UserError("--json is of --watch: add it, as in --watch --json=pages.json")
    cpus = cpus_of(asked.initiator)
    policy = None
    if asked.policy or asked.to:
        policy = make_policy(asked.policy, asked.to, asked.balancing)
    elif asked.balancing or asked.heap_only or asked.mechanism or not (cpus or watch):
        raise UserError("say where its memory is to go, as in --to node:0, or --policy local")
    program = find_program(command[0])
    launch, environment = Launch(), own_environment()
    if policy:
        mechanism = cast(Literal["kernel", "user"] | None, asked.mechanism)
        launch = decide(policy, mechanism, asked.heap_only)
        environment = preloading(launch, policy, program, environment)
    for note in launch.notes:
        sys.stderr.write(f"tierscope: {note}\n")
    if watch:
        return _watched(policy, launch, program, command, cpus, environment, forms)
    return _become(launch, program, command, cpus, environment)


def cpus_of(initiator: str | None) -> list[int]:
    """Return the CPUs that ``--from`` names; none where it was not given. Raises UserError."""
    if not initiator:
        return []
    parsed = parse_initiator(initiator, (EndpointKind.NODE, EndpointKind.CPUS), "place")
    if parsed.kind is EndpointKind.CPUS:
        return list(parsed.numbers)
    files = Files()
    found = []
    for node in parsed.numbers:
        cpus = files.ranges(f"{NODES}/node{node}/cpulist")
        if not cpus:
            raise UserError(f"--from {initiator}: node {node} has no CPUs that are online")
        found += cpus
    return sorted(set(found) & os.sched_getaffinity(0)) or found


def _become(
    launch: Launch,
    program: Path,
    command: tuple[str, ...],
    cpus: list[int],
    environment: dict[bytes, bytes],
) -> NoReturn:
    if cpus:
        run_on(cpus)
    if launch.policy:
        set_policy(launch.policy)
    become(program, command, environment)


def _watched(
    policy: Policy | None,
    launch: Launch,
    program: Path,
    command: tuple[str, ...],
    cpus: list[int],
    environment: dict[bytes, bytes],
    forms: Forms,
) -> int:
    from tierscope.analysis.landing import Watched
    from tierscope.placement.look import looks
    from tierscope.placement.weights import kernel_weights
    from tierscope.report.console import make_console
    from tierscope.report.placement import live_looks, show_watched, watched_json
    from tierscope.runs.output import write_output

    weights = policy.weights if policy else ()
    if policy and policy.mode == "weighted" and launch.mechanism == "kernel":
        weights = kernel_weights(policy.nodes)
    with _signals_passed_on() as pass_signals_to:
        try:
            process = start(launch.policy, command, cpus, executable=program, env=environment)
        except OSError as error:
            raise cannot_start(command[0], error) from None
        pass_signals_to(process)
        seen = []
        with live_looks() as show:
            for look in looks(process.pid, lambda seconds: _ended(process, seconds)):
                seen.append(look)
                show(look)
    status = process.returncode if process.returncode >= 0 else 128 - process.returncode
    watched = Watched(command, policy, launch.mechanism, weights, status, tuple(seen))
    # Standard output is the program's.
    text = json.dumps(watched_json(watched), indent=2)
    if forms.printed == "json":
        click.echo(text)
    else:
        show_watched(make_console(sys.stderr), watched)
    for form, path in forms.files():
        write_output(path, f"{text}\n", "--json", ExitCode.SOMETHING_FAILED)
        say_written(form, path, aside=True)
    return status


def _ended(process: "subprocess.Popen[bytes]", seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


@contextlib.contextmanager
def _signals_passed_on() -> Iterator[Callable[["subprocess.Popen[bytes]"], None]]:
    """Let the program end as it likes: a terminal's Ctrl-C reaches it by itself, others through us.

    Gives a function that takes the program once it has been started; signals wait until then.
    """
    programs: list[subprocess.Popen[bytes]] = []
    waiting: list[int] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if programs:
            programs[0].send_signal(number)
        else:
            waiting.append(number)

    def to(program: "subprocess.Popen[bytes]") -> None:
        programs.append(program)
        for number in waiting:
            program.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGHUP)}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield to
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
