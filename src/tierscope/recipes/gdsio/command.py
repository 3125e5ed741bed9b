"""gdsio's command: from its arguments to its result line."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from tierscope.model.errors import ExitCode
from tierscope.model.event import Visit
from tierscope.model.run import Measurement
from tierscope.model.topology import Topology
from tierscope.recipes.drop_in.measuring import measured, plan_of
from tierscope.recipes.gdsio.command_line import Line, parse_line
from tierscope.recipes.gdsio.files import looked_up
from tierscope.recipes.gdsio.help import help_text
from tierscope.recipes.gdsio.output import VERIFYING, result_json, result_lines
from tierscope.recipes.gdsio.plan import spec_of
from tierscope.recipes.gdsio.way import way_taken
from tierscope.recipes.gdsio.workload import Workload, workload
from tierscope.runs.record import version
from tierscope.topology.discover import discover

LIKE = "1.12"
"""The version of gdsio whose flags and result line these are."""


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
    """Of the first measurement."""
    results: list[dict[str, Any]] = field(default_factory=list)

    def carry_out(self) -> ExitCode:
        """Measure, print, and verify what was written."""
        for remark in self.work.remarks:
            _say(remark)
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
        result = {} if done.found is None else self._show(work, done.found, done.visits)
        for error in done.errors:
            _say(error)
        _say("; ".join(done.warnings))
        more = {
            "errors": done.errors,
            "warnings": done.warnings,
            "run_file": str(done.outcome.path),
        }
        self.results.append({**result, **{key: value for key, value in more.items() if value}})
        return done.exit_code

    def _show(self, work: Workload, found: Measurement, visits: Sequence[Visit]) -> dict[str, Any]:
        """Print the result line, and on stderr what it cannot say; return it all."""
        if not self.line.json:
            print("\n".join(result_lines(work, visits)), flush=True)
        said = [*filter(None, (way_taken(work, found), _verdict(work, found)))]
        for text in said:
            _say(text)
        return result_json(work, visits, found) | ({"said": said} if said else {})


def _read_back(work: Workload) -> Workload:
    """Return the reads that check what was written: the same blocks in the same order."""
    return replace(work, operation=work.operation - 1, mix=None, refill=False)


def _verdict(work: Workload, found: Measurement) -> str:
    if not work.verify:
        return ""
    verified = found.evidence.verified if found.evidence else None
    return f"verified: {verified}" if verified else "not verified: the engine compared nothing"


def _say(text: str) -> None:
    if text:
        sys.stderr.write(f"tierscope: gdsio: {text}\n")
