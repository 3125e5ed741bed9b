"""``tierscope gdsio``: from a command line to measured transfers and the result line."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from tierscope.machine.discover import discover
from tierscope.model.errors import ExitCode
from tierscope.model.run import Measurement
from tierscope.model.topology import Topology
from tierscope.peers.drop_in import (
    START_AT_ROW,
    STATUS,
    Measured,
    help_page,
    measured,
    plan_of,
    say,
)
from tierscope.peers.gdsio.command import gdsio
from tierscope.peers.gdsio.job_file import OWN, Line, parse_line
from tierscope.peers.gdsio.options import BY_FLAG, TRANSFERS
from tierscope.peers.gdsio.output import VERIFYING, result_json, result_lines, way_taken
from tierscope.peers.gdsio.plan import looked_up, spec_of
from tierscope.peers.gdsio.workload import Workload, workload
from tierscope.runs.record import version

LIKE = "1.12"
"""The version of gdsio whose flags and result line these are."""


def help_text() -> str:
    """Return the whole text."""
    flags = [
        (option.of_job, (f"-{option.flag} {option.metavar}".rstrip(), option.help))
        for option in BY_FLAG.values()
    ]
    transfers = [(f"{number} {one.word}", one.name) for number, one in enumerate(TRANSFERS)]
    return help_page(
        (
            "usage: tierscope gdsio -D DIR|-f FILE [FLAGS] [-D DIR|-f FILE [FLAGS]]...",
            "       tierscope gdsio JOBS.gdsio",
        ),
        "gdsio's flags and job files, measured by tierscope, with the same result line. The queue "
        "depth is the true one, no figure contains set-up, and the path of the data is reported.",
        {
            "For each file or directory": [row for of_job, row in flags if of_job],
            "For all files": [row for of_job, row in flags if not of_job],
            "tierscope's own": (*OWN, START_AT_ROW),
            "Transfer types (-x)": transfers,
        },
        gdsio,
        f"{STATUS} See docs/storage.md.",
    )


def run(arguments: Sequence[str], start_at: datetime | None = None) -> int:
    """Carry out a command line; returns the exit code that tierscope's commands share."""
    line = parse_line(arguments)
    if line.help:
        print(help_text(), end="")
        return 0
    if line.version:
        print(f"gdsio version :{LIKE} (tierscope {version()})")
        return 0
    assert line.request is not None
    work = looked_up(workload(line.request), line.overwrite)
    session = _Session(line, work, discover(), start_at)
    return int(session.carry_out())


@dataclass
class _Session:
    """One command line while it is carried out."""

    line: Line
    work: Workload
    topology: Topology
    start_at: datetime | None
    """Start of the first measurement."""
    results: list[dict[str, Any]] = field(default_factory=list)

    def carry_out(self) -> ExitCode:
        """Measure, print, and verify what was written."""
        say("gdsio", *self.work.remarks)
        code = self._measure(self.work, self.start_at)
        if code is ExitCode.ALL_MEASURED and self.work.verify and self.work.operation in (1, 3):
            if not self.line.json:
                print(VERIFYING)
            code = self._measure(_read_back(self.work))
        if self.line.json:
            print(json.dumps({"gdsio": {"version": LIKE, "results": self.results}}, indent=2))
        return code

    def _measure(self, work: Workload, start_at: datetime | None = None) -> ExitCode:
        spec = spec_of(
            work, self.topology, overwrite=self.line.overwrite, require=self.line.require
        )
        done = measured(plan_of(spec), "gdsio", self.topology, start_at)
        result = {} if done.found is None else self._show(work, done, done.found)
        say("gdsio", *done.errors, "; ".join(done.warnings))
        more = {
            "errors": done.errors,
            "warnings": done.warnings,
            "run_file": str(done.outcome.path),
        }
        self.results.append({**result, **{key: value for key, value in more.items() if value}})
        return done.exit_code

    def _show(self, work: Workload, done: Measured, found: Measurement) -> dict[str, Any]:
        """Print the result line and, on stderr, remarks; return both."""
        if not self.line.json:
            print("\n".join(result_lines(work, done.repetitions, found)), flush=True)
        verdict = done.verdict if work.verify else ""
        said = [*filter(None, (way_taken(work, found), verdict))]
        say("gdsio", *said)
        return result_json(work, done.repetitions, found) | ({"said": said} if said else {})


def _read_back(work: Workload) -> Workload:
    """Return the reads that check what was written: the same blocks in the same order."""
    return replace(work, operation=work.operation - 1, mix=None, refill=False)
