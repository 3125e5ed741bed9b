"""``tierscope alloc heat``: how hot the memory of each function of a program is."""

import shlex
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tierscope.cli import options
from tierscope.cli.output import Output
from tierscope.cli.parsing import WithProgram
from tierscope.cli.tier import Ending, kernel_here, need_root
from tierscope.model.errors import ExitCode, UserError, counted
from tierscope.plans.grammar import parse_duration, parse_size
from tierscope.runs.output import write_output

if TYPE_CHECKING:
    from rich.console import Console

    from tierscope.place.heat import Found
    from tierscope.place.kernel import Kernel

_LONGEST_S = 30 * 86400


@click.command("heat", cls=WithProgram, context_settings=options.SETTINGS)
@click.option(
    "--to",
    metavar="NODES",
    help="Propose rules: nodes for memory that belongs in slow memory, as of alloc exec --to",
)
@click.option(
    "--fast",
    metavar="SIZE",
    help="With --to: the hottest memory stays, up to SIZE  [default: all but what gets 1% of the "
    "accesses]",
)
@options.out_option("FILE", "With --to: write the rules to a file")
@click.option(
    "--for", "duration", metavar="TIME", help="End the program after this time, as in 60s"
)
@options.json_option
@click.argument("command", metavar="-- PROGRAM [ARGUMENT]...", nargs=-1, type=click.UNPROCESSED)
def heat(
    to: str | None,
    fast: str | None,
    out: Path | None,
    duration: str | None,
    output: Output,
    command: tuple[str, ...],
) -> int:
    """Start a program, and show how often the memory that each of its functions allocates is used.

    The functions are those of 'alloc sites' that get 1 MiB or more. A preloaded library gives the
    blocks of each an arena, and DAMON samples its accesses until the program ends; children count,
    too. With --to, rules for 'alloc exec' have what is cold on slow nodes. What they do for the
    program, 'effect' measures, with the placement alloc:FILE. Needs root and Linux 6.11 or later.

    Exit status: the program's; 126 the program cannot be executed, 127 there is no such program.

    \b
    Examples:
      tierscope alloc heat -- ./server
      tierscope alloc heat --to node:2 --fast 16g --out tiers.rules --for 5min -- ./server
      tierscope effect --placement as-found --placement alloc:tiers.rules -- ./benchmark
    """
    from tierscope.place.alloc_rules import nodes_of
    from tierscope.place.heat import cold, rules_text
    from tierscope.report.heat import heat_json, show_heat

    if not command:
        raise UserError("name the program behind --, as in: tierscope alloc heat -- ./server")
    for name, value in (("--fast", fast), ("--out", out)):
        if value is not None and to is None:
            raise UserError(f"{name} goes with --to, which names nodes for what is cold")
    nodes = nodes_of(to) if to else ""
    most = parse_size(fast) if fast else None
    seconds = parse_duration(duration, 0, _LONGEST_S) if duration else None
    output = output.beside({"--out": out})
    output.check()
    kernel = kernel_here()
    need_root(kernel, "alloc heat")
    took, found, status = _observed(kernel, command, seconds)
    slow = cold(found, most)
    rules = rules_text(slow, nodes) if nodes else ""
    text = shlex.join(command)

    def tables(console: "Console") -> None:
        show_heat(console, text, took, found, slow)
        if rules and out is None:
            console.print(rules, soft_wrap=True, highlight=False, markup=False)

    output.emit(heat_json(command, took, found, slow, rules), tables, indent=2)
    if out is not None:
        write_output(out, rules, "--out")
        output.say(f"{counted(len(slow), 'rule')} in {out}")
    return status


def _observed(
    kernel: "Kernel", command: tuple[str, ...], seconds: float | None
) -> "tuple[float, Found, int]":
    """Run a program to its end; return the time, what was seen, and its status."""
    from tierscope.place import tiering
    from tierscope.place.allocator import environment_for
    from tierscope.place.heat import observe
    from tierscope.place.launch import find_program, own_environment
    from tierscope.place.nodes import format_list, nodes_with_memory

    program = find_program(command[0]).absolute()
    ended = Ending()
    with tempfile.TemporaryDirectory(prefix="tierscope-heat-") as name:
        # Spread over no nodes: as near as there is memory, which is what plain memory does.
        setting = f"{format_list(tuple(nodes_with_memory(kernel)))}:{name}"
        environment = environment_for(program, "", ["strict"], None, own_environment(), setting)
        with tiering.starting(kernel) as started:
            started.begin("observe")
        process = None
        try:
            process = _start(program, command, environment)
            begin = time.monotonic()
            limit = begin + seconds if seconds is not None else float("inf")
            found = observe(
                kernel, started, process.pid, Path(name), lambda: _goes_on(process, ended, limit)
            )
            took = time.monotonic() - begin
        finally:
            status = _end(process, ended.number or signal.SIGTERM) if process else 0
            started.end()
    return took, found, int(ExitCode.INTERRUPTED) if ended.number else status


def _start(
    program: Path, command: tuple[str, ...], environment: dict[bytes, bytes]
) -> "subprocess.Popen[bytes]":
    from tierscope.place.launch import cannot_start

    try:
        return subprocess.Popen(command, executable=program, env=environment)
    except OSError as error:
        raise cannot_start(command[0], error) from None


def _goes_on(process: "subprocess.Popen[bytes]", ended: Ending, limit: float) -> bool:
    return process.poll() is None and not ended.number and time.monotonic() < limit


def _end(process: "subprocess.Popen[bytes]", number: int) -> int:
    """End it where it has not ended by itself; return its status as a shell would."""
    from tierscope.place.launch import end_program

    code = end_program(process, number)
    return 128 - code if code < 0 else code
