"""``tierscope pmem-check``: cut writers off, look at what is left, print it."""

import secrets
from collections.abc import Sequence
from typing import NoReturn, get_args

import click

from tierscope.cli.forms import Forms, emit
from tierscope.cli.waiting import waiting
from tierscope.engine import power_cut
from tierscope.engine.paths import path_facts
from tierscope.engine.pmem_check import LIBRARY, WriterError, become_writer, killed, replayed
from tierscope.model.errors import ExitCode, UserError, did_you_mean
from tierscope.model.pmem_check import BROKEN, CrashCheck, CrashReport, Writer
from tierscope.model.storage import PathFacts

_KILLED: tuple[Writer, ...] = ("transactions", "no-transactions")
"""Kills show whether updates are atomic, not whether they are flushed: see docs/pmem-check.md."""
_WRITERS: tuple[Writer, ...] = get_args(Writer)


def check_crashes(directory: str, kills: int, states: int, seed: int | None, forms: Forms) -> int:
    """Kill, replay and report; return the exit status. Raises UserError."""
    forms.check()
    facts = _directory(directory)
    chosen = secrets.randbits(31) if seed is None else seed
    with waiting(f"killing writers {kills} times each"):
        checks = [_killed(writer, facts.real, kills, chosen) for writer in _KILLED]
    checks += replayed(states, chosen)
    return _report(facts, chosen, checks, forms)


def write_until_cut(directory: str, writer: str) -> NoReturn:
    """Make a file that survives and write to it until the end. Raises UserError."""
    name = _writer(writer)
    path = power_cut.make_file(name, _directory(directory).real)
    click.echo(f"tierscope: writing to {path}; what is printed is durable", err=True)
    become_writer(name, path)


def look_after_cut(directory: str, given: Sequence[str], forms: Forms) -> int:
    """Look at the files of writers that were cut off; return the exit status. Raises UserError."""
    forms.check()
    facts = _directory(directory)
    wanted = [_acknowledged(word) for word in given]
    checks = [power_cut.look_at(writer, facts.real, last) for writer, last in wanted]
    return _report(facts, None, checks, forms)


def _killed(writer: Writer, directory: str, kills: int, seed: int) -> CrashCheck:
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


def _directory(path: str) -> PathFacts:
    facts = path_facts(path)
    if facts.kind != "directory":
        raise UserError(f"{path} is {_KINDS[facts.kind]}; name a directory to make files in")
    return facts


_KINDS = {"file": "a file", "block": "a device", "missing": "missing", "other": "no directory"}


def _writer(word: str) -> Writer:
    for writer in _WRITERS:
        if writer == word:
            return writer
    allowed = f"allowed: {', '.join(_WRITERS)}"
    raise UserError(f"no writer is named '{word}'; {allowed}{did_you_mean(word, _WRITERS)}")


def _acknowledged(word: str) -> tuple[Writer, int]:
    writer, sign, number = word.partition("=")
    if not sign or not number.isdecimal():
        raise UserError(f"--after-cut {word}: takes WRITER=N, as in transactions=81234")
    return _writer(writer), int(number)


def _report(facts: PathFacts, seed: int | None, checks: list[CrashCheck], forms: Forms) -> int:
    report = CrashReport(
        directory=facts.real,
        file_system=facts.mount.type if facts.mount else "unknown",
        dax=facts.dax,
        seed=seed,
        checks=checks,
    )

    def tables() -> None:
        from tierscope.report.console import make_console
        from tierscope.report.pmem_check import show_crashes

        show_crashes(make_console(), report)

    emit(forms, report.model_dump_json, tables)
    passed = all(check.passed for check in checks)
    return int(ExitCode.ALL_MEASURED if passed else ExitCode.SOMETHING_FAILED)
