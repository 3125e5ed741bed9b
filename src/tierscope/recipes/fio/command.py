"""fio's command: from its arguments to its results."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from tierscope.kinds.plan import Plan
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.event import Visit
from tierscope.model.topology import Topology
from tierscope.recipes.drop_in.measuring import measured, plan_of
from tierscope.recipes.fio.command_line import Line, parse_line, shown
from tierscope.recipes.fio.figures import Result, results
from tierscope.recipes.fio.help import help_text
from tierscope.recipes.fio.jobs import job_of
from tierscope.recipes.fio.json_output import NOT_MEASURED, document, text
from tierscope.recipes.fio.normal_output import body, heading
from tierscope.recipes.fio.plan import spec_of
from tierscope.recipes.fio.stages import Stage, stages
from tierscope.recipes.fio.targets import buffered_foreign, targets_of
from tierscope.runs.output import check_outputs, write_output
from tierscope.runs.record import version
from tierscope.topology.discover import discover

LIKE = "fio-3.33"
"""The version of fio whose options and output these are."""
_STDOUT = Path("-")


def run(arguments: Sequence[str], start_at: datetime | None = None) -> int:
    """Carry out a command line; returns the exit code that tierscope's commands share."""
    line = parse_line(arguments)
    if "help" in line.switches:
        print(help_text(), end="")
        return 0
    if "version" in line.switches:
        print(f"{LIKE} (tierscope {version()})")
        return 0
    if "showcmd" in line.switches:
        print(" ".join(shown(line)))
        return 0
    output = Path(line.output) if line.output else _STDOUT
    check_outputs({"--output": output}, [Path(name) for name in line.files if name != "-"])
    found = stages([job_of(section) for section in line.jobs])
    if "readonly" in line.switches:
        _refuse_writes(found)
    session = _Session(line, found, output, start_at)
    session.say_remarks()
    if "parse-only" in line.switches:
        return 0
    return int(session.carry_out(discover()))


def _refuse_writes(found: Sequence[Stage]) -> None:
    for stage in found:
        for job in stage.jobs:
            if job.writes:
                raise job.values.fail("rw", f"[{job.name}] writes, and --readonly is given")


@dataclass
class _Session:
    """One command line while it is carried out."""

    line: Line
    stages: list[Stage]
    output: Path
    start_at: datetime | None
    """Of the first stage."""
    results: list[Result] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @property
    def _normal(self) -> bool:
        return "normal" in self.line.formats

    def say_remarks(self) -> None:
        """Say once what changes nothing, and what is done in another way."""
        jobs = [job for stage in self.stages for job in stage.jobs]
        said = [*self.line.remarks, *(remark for job in jobs for remark in job.remarks)]
        if self.line.formats != ("normal",):
            said.append(NOT_MEASURED)
        for remark in dict.fromkeys(said):
            _say(remark)

    def carry_out(self, topology: Topology) -> ExitCode:
        """Measure one stage after the other, and print what came of them.

        Raises UserError where the first one cannot begin; what goes wrong later costs no result.
        """
        plan = self._plan(self.stages[0], topology)
        begins = heading(self.stages, f"{LIKE} (tierscope {version()})") if self._normal else ""
        if self.output == _STDOUT:
            print(begins, end="", flush=True)
            begins = ""
        codes = [self._measure(self.stages[0], plan, topology, self.start_at)]
        for stage in self.stages[1:]:
            if codes[-1] is ExitCode.INTERRUPTED:
                break
            try:
                codes.append(self._measure(stage, self._plan(stage, topology), topology))
            except UserError as error:
                _say(str(error))
                codes.append(ExitCode.SOMETHING_FAILED)
        if self.results:
            self._print(begins)
        return _common(codes)

    def _plan(self, stage: Stage, topology: Topology) -> Plan:
        """Look at the files of jobs that run together, and return what is to be measured."""
        others = "overwrite-others" in self.line.switches
        targets = targets_of(stage, others)
        for path in buffered_foreign(targets, stage):
            _say(f"{path} stays in the page cache as it is found: it is not tierscope's")
        spec = spec_of(stage, targets, topology, others)
        if self.line.require:
            for one in (spec, *spec["jobs"]):
                if "pattern" in one:
                    one["pattern"]["require"] = self.line.require
        return plan_of(spec)

    def _measure(
        self, stage: Stage, plan: Plan, topology: Topology, start_at: datetime | None = None
    ) -> ExitCode:
        time.sleep(stage.jobs[0].timing.delay)
        done = measured(plan, "fio", topology, start_at)
        for said in (*done.errors, *done.warnings):
            _say(said)
        if done.found is not None:
            self._note(stage, done.visits[-1])
            verified = done.found.evidence.verified if done.found.evidence else None
            if any(job.verify for job in stage.jobs):
                _say(f"verified: {verified}" if verified else "not verified: nothing was compared")
        return done.exit_code

    def _note(self, stage: Stage, visit: Visit) -> None:
        elapsed = time.monotonic() - self.began
        self.results += results(stage, visit, elapsed, time.time())

    def _print(self, begins: str) -> None:
        parts = []
        for name in self.line.formats:
            if name == "normal":
                parts.append(f"{begins}{body(self.results)}\n")
                continue
            common = {key: str(given.value) for key, given in self.line.common.items()}
            parts.append(text(document(self.results, common, LIKE, bins=name == "json+")))
        write_output(self.output, "".join(parts), "--output")


def _common(codes: Sequence[ExitCode]) -> ExitCode:
    """Return the code of stages together: nothing measured where that is true of all of them."""
    if ExitCode.INTERRUPTED in codes:
        return ExitCode.INTERRUPTED
    found = set(codes)
    return found.pop() if len(found) == 1 else ExitCode.SOMETHING_FAILED


def _say(said: str) -> None:
    sys.stderr.write(f"tierscope: fio: {said}\n")
