"""The installed gds_stats: where it is, and what it says of a process."""

import glob
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tierscope.engine.answer import answer_of
from tierscope.model.errors import ExitCode, UserError
from tierscope.recipes.gds_stats.stats import Stats, parse_stats

if TYPE_CHECKING:
    import subprocess

_PLACES = "/usr/local/cuda*/gds/tools/gds_stats"
_DEADLINE_S = 20.0


def find_tool() -> Path | None:
    """Return gds_stats of PATH, else of the newest CUDA toolkit; None where there is none."""
    found = shutil.which("gds_stats")
    if found:
        return Path(found)
    places = sorted(glob.glob(_PLACES), key=_version)  # noqa: PTH207 - an absolute pattern
    return Path(places[-1]) if places else None


def _version(path: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", path.split("/")[3]))


def stats_of_tool(pid: int, level: int) -> Stats:
    """Run gds_stats; raises UserError (exit code 3) where there is none or it has no statistics."""
    tool = find_tool()
    if tool is None:
        raise UserError(
            f"process {pid} is no run of tierscope, and cuFile's statistics of other processes are "
            f"read by NVIDIA's gds_stats, which is neither on PATH nor at {_PLACES}; it comes with "
            "the CUDA toolkit's package gds-tools",
            ExitCode.NOTHING_MEASURED,
        )
    done = answer_of([tool, "-p", str(pid), "-l", str(level)], _DEADLINE_S)
    stats = parse_stats(done.stdout, f"{tool}, process {pid}")
    if stats is None or done.returncode:
        raise _nothing(tool, pid, done)
    return stats


def _nothing(tool: Path, pid: int, done: "subprocess.CompletedProcess[str]") -> UserError:
    lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    said = f" ('{lines[0].strip()}')" if lines else ""
    return UserError(
        f"{tool} has no statistics of process {pid}{said}: a process keeps them where cufile.json "
        "sets profile.cufile_stats to 1, 2 or 3 and data does not go in compatibility mode",
        ExitCode.NOTHING_MEASURED,
    )
