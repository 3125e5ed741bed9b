"""gdsio's command: from its arguments to its result line."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.event import Event, Failed, Visit
from tierscope.model.run import Measurement, Run
from tierscope.model.topology import Topology
from tierscope.recipes.gdsio.command_line import Line, parse_line
from tierscope.recipes.gdsio.files import looked_up
from tierscope.recipes.gdsio.help import help_text
from tierscope.recipes.gdsio.output import VERIFYING, result_json, result_lines
from tierscope.recipes.gdsio.plan import spec_of
from tierscope.recipes.gdsio.way import way_taken
from tierscope.recipes.gdsio.workload import Workload, workload
from tierscope.report.warnings import warnings_of
from tierscope.runs.measure import Outcome, measure
from tierscope.runs.record import version
from tierscope.topology.discover import discover

LIKE = "1.12"
"""The version of gdsio whose flags and result line these are."""


def run(arguments: Sequence[str]) -> int:
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
    session = _Session(line, work, discover())
    return int(session.carry_out())


@dataclass
class _Session:
    """One command line while it is carried out."""

    line: Line
    work: Workload
    topology: Topology
    results: list[dict[str, Any]] = field(default_factory=list)

    def carry_out(self) -> ExitCode:
        """Measure, print, and verify what was written."""
        for remark in self.work.remarks:
            _say(remark)
        code = self._measure(self.work)
        if code is ExitCode.ALL_MEASURED and self.work.verify and self.work.operation in (1, 3):
            if not self.line.json:
                print(VERIFYING)
            code = self._measure(_read_back(self.work))
        if self.line.json:
            print(json.dumps({"gdsio": {"version": LIKE, "results": self.results}}, indent=2))
        return code

    def _measure(self, work: Workload) -> ExitCode:
        plan = _plan(work, self.topology, self.line)
        visits: list[Visit] = []
        failures: list[str] = []

        def watch(event: Event | Measurement) -> None:
            if isinstance(event, Visit):
                visits.append(event)
            elif isinstance(event, Failed):
                failures.append(event.reason)

        done = measure(plan, "gdsio", self.topology, sys.argv, None, watch)
        found = next((one for one in done.run.measurements if one.status == "measured"), None)
        result = {} if found is None else self._show(work, found, visits)
        errors = _errors(done, failures)
        for error in errors:
            _say(error)
        warnings = _warnings(done.run) if found is not None else []
        _say("; ".join(warnings))
        more = {"errors": errors, "warnings": warnings, "run_file": str(done.path)}
        self.results.append({**result, **{key: value for key, value in more.items() if value}})
        if failures and done.exit_code is ExitCode.ALL_MEASURED:  # of a further visit
            return ExitCode.SOMETHING_FAILED
        return done.exit_code

    def _show(self, work: Workload, found: Measurement, visits: Sequence[Visit]) -> dict[str, Any]:
        """Print the result line, and on stderr what it cannot say; return it all."""
        if not self.line.json:
            print("\n".join(result_lines(work, visits)), flush=True)
        said = [*filter(None, (way_taken(work, found), _verdict(work, found)))]
        for text in said:
            _say(text)
        return result_json(work, visits, found) | ({"said": said} if said else {})


def _errors(done: Outcome, failures: list[str]) -> list[str]:
    """Say what went wrong, each in a line."""
    if done.error is not None:
        return [str(done.error)]
    missing = [
        "; ".join(filter(None, (one.reason, one.remedy)))
        for one in done.run.measurements
        if one.status != "measured"
    ]
    return missing or failures


def _warnings(run: Run) -> list[str]:
    """Return what may invalidate the line, which has no interval that could be missing or wide."""
    return [text for text in warnings_of(run) if "interval" not in text]


def _plan(work: Workload, topology: Topology, line: Line) -> Plan:
    spec = spec_of(work, topology, overwrite=line.overwrite, require=line.require)
    try:
        return Plan.model_validate({"version": PLAN_VERSION, "measurements": [spec]})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][3:])
        said = first["msg"].removeprefix("Value error, ")
        raise UserError(f"{where}: {said}" if where else said) from None


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
