"""``tierscope pmem-check``: crash consistency of persistent memory."""

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn, get_args

import click

from tierscope.cli import options
from tierscope.cli.output import Output, waiting
from tierscope.model.endpoint import whole_number
from tierscope.model.errors import ExitCode, UserError, did_you_mean
from tierscope.model.pmem_check import Writer

if TYPE_CHECKING:
    from tierscope.model.pmem_check import CrashCheck
    from tierscope.model.storage import PathFacts


_WRITERS: tuple[Writer, ...] = get_args(Writer)
_KILLED: tuple[Writer, ...] = ("transactions", "no-transactions")
"""Kills show whether updates are atomic, not whether they are flushed: see docs/pmem-check.md."""
_KINDS = {"file": "a file", "block": "a device", "missing": "missing", "other": "no directory"}


@options.command("pmem-check")
@click.option(
    "--kills",
    metavar="N",
    type=click.IntRange(1, 1_000_000),
    default=30,
    help="Kills of each writer, each on a new pool  [default: 30]",
)
@click.option(
    "--states",
    metavar="N",
    type=click.IntRange(1, 1_000_000),
    default=20_000,
    help="Maximum memory states tried per crash point  [default: 20000]",
)
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(0, (1 << 32) - 1),
    help="Seed of the kill times and of the states tried  [default: at random]",
)
@click.option(
    "--until-cut",
    metavar="WRITER",
    type=click.Choice(_WRITERS),
    help="Write to a new file in DIR until this machine loses power, and print each number that is "
    f"durable: {', '.join(_WRITERS)}",
)
@click.option(
    "--after-cut",
    metavar="WRITER=N",
    multiple=True,
    help="After the power cut: look at the writer's file in DIR, of which N was the last number "
    "printed; remove it if it is consistent. May be given again",
)
@options.json_option
@click.argument("directory", metavar="DIR")
@click.pass_context
def pmem_check(
    context: click.Context,
    directory: str,
    kills: int,
    states: int,
    seed: int | None,
    until_cut: str | None,
    after_cut: tuple[str, ...],
    output: Output,
) -> int:
    """Check that what is written to persistent memory in DIR stays consistent across crashes.

    A writer that uses libpmemobj's transactions is killed again and again, and its pool is looked
    at; and stores, flushes and fences are recorded and replayed with lines dropped that were not
    flushed. Writers that are broken on purpose show that the methods notice. Files in DIR have no
    names and vanish; nothing that exists is touched. What each method proves, and what not:
    docs/pmem-check.md.

    Exit status: 0 consistent, and every broken writer was caught; 1 something is inconsistent, was
    not caught or failed; 2 the request was wrong.

    \b
    Examples:
      tierscope pmem-check /mnt/pmem
      tierscope pmem-check . --kills 500 --seed 1 --json
      tierscope pmem-check /mnt/pmem --until-cut transactions
      tierscope pmem-check /mnt/pmem --after-cut transactions=81234
    """
    if until_cut is not None:
        options.refuse_given(
            context, "--until-cut does nothing else", "kills", "states", "seed", "after_cut", "json"
        )
        return write_until_cut(directory, until_cut)
    if after_cut:
        options.refuse_given(context, "--after-cut does nothing else", "kills", "states", "seed")
        return look_after_cut(directory, after_cut, output)
    return check_crashes(directory, kills, states, seed, output)


def check_crashes(directory: str, kills: int, states: int, seed: int | None, output: Output) -> int:
    """Kill, replay and report; return the exit status. Raises UserError."""
    from tierscope.engine.pmem_check import replayed

    output.check()
    facts = _directory(directory)
    chosen = secrets.randbits(31) if seed is None else seed
    with waiting(f"killing writers {kills} times each"):
        checks = [_killed(writer, facts.real, kills, chosen) for writer in _KILLED]
    checks += replayed(states, chosen)
    return _report(facts, chosen, checks, output)


def write_until_cut(directory: str, writer: str) -> NoReturn:
    """Make a file that survives and write to it until the end. Raises UserError."""
    from tierscope.engine import pmem_check
    from tierscope.engine.pmem_check import become_writer

    name = _writer(writer)
    path = pmem_check.make_file(name, _directory(directory).real)
    click.echo(f"tierscope: writing to {path}; what is printed is durable", err=True)
    become_writer(name, path)


def look_after_cut(directory: str, given: Sequence[str], output: Output) -> int:
    """Look at the files of writers that were cut off; return the exit status. Raises UserError."""
    from tierscope.engine import pmem_check

    output.check()
    facts = _directory(directory)
    wanted = [_acknowledged(word) for word in given]
    checks = [pmem_check.look_at(writer, facts.real, last) for writer, last in wanted]
    return _report(facts, None, checks, output)


def _killed(writer: Writer, directory: str, kills: int, seed: int) -> "CrashCheck":
    from tierscope.engine.pmem_check import LIBRARY, WriterError, killed
    from tierscope.model.pmem_check import BROKEN, CrashCheck

    try:
        return killed(writer, directory, kills, seed)
    except WriterError as error:
        return CrashCheck(
            method="kill",
            writer=writer,
            broken=writer in BROKEN,
            verdict="skipped" if str(error).startswith(LIBRARY) else "failed",
            reason=str(error),
        )


def _directory(path: str) -> "PathFacts":
    from tierscope.engine.targets import path_facts

    facts = path_facts(path)
    if facts.kind != "directory":
        raise UserError(f"{path} is {_KINDS[facts.kind]}; name a directory to make files in")
    return facts


def _writer(word: str) -> Writer:
    for writer in _WRITERS:
        if writer == word:
            return writer
    allowed = f"allowed: {', '.join(_WRITERS)}"
    raise UserError(f"no writer is named '{word}'; {allowed}{did_you_mean(word, _WRITERS)}")


def _acknowledged(word: str) -> tuple[Writer, int]:
    writer, _, text = word.partition("=")
    number = whole_number(text)
    if number is None:
        raise UserError(f"--after-cut {word}: takes WRITER=N, as in transactions=81234")
    return _writer(writer), number


def _report(
    facts: "PathFacts", seed: int | None, checks: "list[CrashCheck]", output: Output
) -> int:
    from tierscope.model.pmem_check import CrashReport
    from tierscope.report.pmem_check import show_crashes

    report = CrashReport(
        directory=facts.real,
        file_system=facts.mount.type if facts.mount else "unknown",
        dax=facts.dax,
        seed=seed,
        checks=checks,
    )

    output.emit(report.model_dump_json, lambda console: show_crashes(console, report))
    passed = all(check.passed for check in checks)
    return int(ExitCode.ALL_MEASURED if passed else ExitCode.SOMETHING_FAILED)
