"""``tierscope fio``: from a command line to measured jobs and fio's output."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from tierscope.kinds.plan import Plan
from tierscope.machine.discover import discover
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.event import Repetition
from tierscope.model.storage import BlockCounts
from tierscope.model.topology import Topology
from tierscope.peers.drop_in import (
    START_AT_ROW,
    STATUS,
    help_page,
    long_options,
    measured,
    plan_of,
    say,
)
from tierscope.peers.fio.command import fio
from tierscope.peers.fio.file_engines import files_spec
from tierscope.peers.fio.job_file import OWN, Line, parse_line, shown
from tierscope.peers.fio.jobs import Job
from tierscope.peers.fio.logs import log_paths, logs_of
from tierscope.peers.fio.options import OPTIONS, RefusedError, Section
from tierscope.peers.fio.output import (
    Result,
    body,
    document,
    drives_of,
    heading,
    program,
    results,
    text,
    too_slow,
)
from tierscope.peers.fio.plan import Stage, buffered_foreign, spec_of, stages, targets_of
from tierscope.runs.output import check_outputs, write_output

_STDOUT = Path("-")


def help_text() -> str:
    """Return the whole text."""
    return help_page(
        (
            "usage: tierscope fio [OPTIONS] JOB.fio [JOB2.fio]...",
            "       tierscope fio [OPTIONS] --name=JOB --OPTION=VALUE... [--name=JOB2 ...]",
        ),
        "fio's job files and command line, measured by tierscope, with fio's output. The queue "
        "depth is the true one, and no figure contains set-up. An option that cannot be honoured "
        "is an error.",
        {
            "Whole command": (*OWN, START_AT_ROW),
            "Jobs (in job files without the dashes)": [
                (f"--{one.name}={one.metavar}", one.help) for one in OPTIONS
            ],
        },
        fio,
        f"{STATUS} See docs/fio.md.",
        indent=28,
    )


def option_names() -> list[str]:
    """Return the options of a command line, for tab completion."""
    own = dict.fromkeys(long_options((*OWN, START_AT_ROW)).values())
    return [f"--{name}" for name in (*own, *(f"{one.name}=" for one in OPTIONS))]


def run(arguments: Sequence[str], start_at: datetime | None = None) -> int:
    """Carry out a command line; returns the exit code that tierscope's commands share."""
    line = parse_line(arguments)
    if "help" in line.switches:
        print(help_text(), end="")
        return 0
    if "version" in line.switches:
        print(program())
        return 0
    if "showcmd" in line.switches:
        print(" ".join(shown(line)))
        return 0
    output = Path(line.output) if line.output else _STDOUT
    found = stages(_jobs(line.jobs))
    outputs = {"--output": output, **_log_files(found)}
    check_outputs(outputs, [Path(name) for name in line.files if name != "-"])
    jobs = [job for stage in found for job in stage.jobs]
    writer = next((job for job in jobs if job.writes), None)
    if writer and "readonly" in line.switches:
        raise writer.fail("rw", f"[{writer.name}] writes, and --readonly is given")
    say("fio", *dict.fromkeys((*line.remarks, *(one for job in jobs for one in job.remarks))))
    if "parse-only" in line.switches:
        return 0
    return int(_Session(line, found, output, start_at).carry_out(discover()))


def _jobs(sections: Sequence[Section]) -> list[Job]:
    """Return the jobs; UserError is about the last option that cannot be honoured, and those before
    it are said."""
    jobs: list[Job] = []
    errors: list[str] = []
    for section in sections:
        try:
            jobs.append(Job(section))
        except RefusedError as refused:
            errors += refused.lines
        except UserError as error:
            errors.append(str(error))
    *others, last = dict.fromkeys(errors) or [""]
    if last:
        sys.stderr.writelines(f"tierscope: {one}\n" for one in others)
        raise UserError(last)
    return jobs


@dataclass
class _Session:
    """One command line while it is carried out."""

    line: Line
    stages: list[Stage]
    output: Path
    start_at: datetime | None
    """Start of the first stage."""
    results: list[Result] = field(default_factory=list)
    repetitions: list[Repetition] = field(default_factory=list)
    logs: dict[Path, str] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    def carry_out(self, topology: Topology) -> ExitCode:
        """Measure one stage after the other, and print the results.

        Raises UserError where the first one cannot begin; later failures lose no result.
        """
        plan = self._plan(self.stages[0], topology)
        begins = heading(self.stages) if "normal" in self.line.formats else ""
        if self.output == _STDOUT:
            print(begins, end="", flush=True)
            begins = ""
        codes = [self._measure(self.stages[0], plan, topology, self.start_at)]
        for before, stage in pairwise(self.stages):
            if codes[-1] is ExitCode.INTERRUPTED or _ends_all(before):
                break
            try:
                codes.append(self._measure(stage, self._plan(stage, topology), topology))
            except UserError as error:
                say("fio", str(error))
                codes.append(ExitCode.SOMETHING_FAILED)
        if self.results:
            self._print(begins)
        return _common(codes)

    def _plan(self, stage: Stage, topology: Topology) -> Plan:
        """Look at the files of jobs that run together, and return what is to be measured."""
        if stage.of_files:
            return plan_of(files_spec(stage, topology))
        others = "overwrite-others" in self.line.switches
        targets = targets_of(stage, others, "readonly" in self.line.switches)
        for path in buffered_foreign(targets):
            say("fio", f"the page cache of {path} is left as found: the file is not tierscope's")
        spec = spec_of(targets, topology, others)
        if self.line.require:
            for one in (spec, *spec["jobs"]):
                if "pattern" in one:
                    one["pattern"]["require"] = self.line.require
        return plan_of(spec)

    def _measure(
        self, stage: Stage, plan: Plan, topology: Topology, start_at: datetime | None = None
    ) -> ExitCode:
        done = measured(plan, "fio", topology, start_at)
        say("fio", *done.errors, *done.warnings)
        if done.found is not None:
            elapsed = time.monotonic() - self.began
            repetition = done.repetitions[-1]
            self.repetitions.append(repetition)
            bound_by = done.found.bound_by
            self.results += results(stage, repetition, bound_by, elapsed, time.time())
            self._log(stage, repetition)
            slow = [*too_slow(stage, repetition)]
            say("fio", *slow)
            if slow and done.exit_code is ExitCode.ALL_MEASURED:
                return ExitCode.SOMETHING_FAILED
            say("fio", done.verdict if any(job.verify for job in stage.jobs) else "")
        return done.exit_code

    def _log(self, stage: Stage, repetition: Repetition) -> None:
        """Add the lines of a stage to its logs."""
        earlier = self.stages[: self.stages.index(stage)]
        first = 1 + sum(len(one.clones) for one in earlier)
        for path, lines in logs_of(stage, repetition, first):
            self.logs[path] = self.logs.get(path, "") + lines

    def _drives(self) -> list[BlockCounts]:
        wanted = any(job.of("disk_util") for stage in self.stages for job in stage.jobs)
        return drives_of(self.repetitions) if wanted else []

    def _print(self, begins: str) -> None:
        parts = []
        for name in self.line.formats:
            if name == "normal":
                parts.append(f"{begins}{body(self.results, self._drives())}\n")
                continue
            common = {key: str(given.value) for key, given in self.line.common.own.items()}
            parts.append(text(document(self.results, common, name == "json+", self._drives())))
        write_output(self.output, "".join(parts), "--output")
        for path, lines in self.logs.items():
            write_output(path, lines, "a log")


def _log_files(found: Sequence[Stage]) -> dict[str, Path]:
    """Return the log files of all clones, each once, by what asks for them."""
    clones = [clone for stage in found for clone in stage.clones]
    asked = {
        path: f"{clone.job.place}: its {kind} log"
        for number, clone in enumerate(clones, start=1)
        for kind, path in log_paths(clone.job, number).items()
    }
    return {place: path for path, place in asked.items()}


def _ends_all(stage: Stage) -> bool:
    """Return whether no later job begins once one of these has ended."""
    return any(job.of("exitall") and job.of("exit_what") == "all" for job in stage.jobs)


def _common(codes: Sequence[ExitCode]) -> ExitCode:
    """Return the code of all stages: nothing measured only where no stage measured."""
    if ExitCode.INTERRUPTED in codes:
        return ExitCode.INTERRUPTED
    found = set(codes)
    return found.pop() if len(found) == 1 else ExitCode.SOMETHING_FAILED
