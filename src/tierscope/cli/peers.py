"""``tierscope peers install``: programs on PATH by the names that other tools have."""

import contextlib
import os
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tierscope.cli import options
from tierscope.cli.output import Output
from tierscope.model.errors import UserError, did_you_mean, shown
from tierscope.peers.registry import PROGRAMS

if TYPE_CHECKING:
    from rich.console import Console

_MARK = "# Written by 'tierscope peers install'."


@options.command("install")
@click.argument("folder", metavar="[DIR]", type=options.PATH, required=False)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--force", is_flag=True, help="Replace files of these names that have other contents")
@options.json_option
def install(folder: Path | None, names: tuple[str, ...], force: bool, output: Output) -> int:
    """Put programs on PATH under the names that other tools have, so that scripts run unchanged.

    Each is a launcher: a script of three lines that starts the command of tierscope which takes the
    tool's options. Without a NAME, all are written. A file that is not such a launcher is left
    alone, and then none is written. Without DIR, the programs are listed.

    \b
    Examples:
      tierscope peers install
      tierscope peers install bin hmctl bwprof gen_migpol.py bwactl.py
      tierscope peers install bin && PATH="$PWD/bin:$PATH" gen_migpol.py --help
    """
    output.check()
    if folder is None:
        output.emit({"programs": PROGRAMS}, _show)
        return 0
    if wrong := next((name for name in names if name not in PROGRAMS), None):
        near = did_you_mean(wrong, tuple(PROGRAMS))
        raise UserError(f"there is no program '{wrong}'{near}; there are {', '.join(PROGRAMS)}")
    own = _own_program()
    chosen = {name: PROGRAMS[name] for name in names or PROGRAMS}
    if not force:
        _check_free([folder / name for name in chosen])
    for name, command in chosen.items():
        _write(folder / name, f'#!/bin/sh\n{_MARK}\nexec {shlex.quote(own)} {command} "$@"\n')
    lines = [f"{shown(folder / name)}: tierscope {command}" for name, command in chosen.items()]
    output.emit({"directory": str(folder), "programs": chosen}, "\n".join(lines))
    _say_first(folder, [*chosen], output)
    return 0


def _show(console: "Console") -> None:
    from tierscope.report.style import new_table

    table = new_table("program", "starts", words=("program", "starts"))
    for name, command in PROGRAMS.items():
        table.add_row(name, f"tierscope {command}")
    console.print(table)


def _own_program() -> str:
    """Return the program that launchers start: the one that was started, or this Python's."""
    for one in (Path(sys.argv[0]), Path(sysconfig.get_path("scripts"), "tierscope")):
        if one.name == "tierscope" and os.access(one, os.X_OK) and one.is_file():
            return str(one.absolute())
    raise UserError("no program tierscope is installed with this Python; install it with pip")


def _check_free(paths: list[Path]) -> None:
    for path in paths:
        if not os.path.lexists(path):
            continue
        text = b""
        with contextlib.suppress(OSError), path.open("rb") as file:
            text = file.read(4096)
        if _MARK.encode() not in text.splitlines()[1:2]:
            raise UserError(
                f"{shown(path)} is there, and no launcher of tierscope: it is left alone, and "
                "nothing is written; name another directory, or the programs, or use --force"
            )


def _write(path: Path, text: str) -> None:
    """Put a launcher in place of what is there, not in that of what a link leads to."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8", errors="surrogateescape")
        beside.chmod(0o755)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        why = f"{shown(path)} cannot be written: {error.strerror}"
        raise UserError(why) from None


def _say_first(folder: Path, names: list[str], output: Output) -> None:
    """Say where PATH leads to other programs of these names, or to none."""
    found = {name: shutil.which(name) for name in names}
    others = [path for name, path in found.items() if path != str((folder / name).absolute())]
    if others:
        first = next(filter(None, others), None)
        why = f" ({shown(first)} is found first)" if first else ""
        output.say(
            f'on PATH they are by: export PATH={shlex.quote(str(folder.absolute()))}:"$PATH"{why}'
        )
