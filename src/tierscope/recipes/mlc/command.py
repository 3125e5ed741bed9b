"""MLC's command: from its arguments to its text."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from tierscope.engine.prefetchers import restore_left
from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.run import Measurement
from tierscope.plans.fit import check_memory, fit_time, longest_seconds
from tierscope.recipes.mlc import options
from tierscope.recipes.mlc.cells import Section
from tierscope.recipes.mlc.clock import base_hz
from tierscope.recipes.mlc.command_line import parse_line, remarks
from tierscope.recipes.mlc.help import help_text
from tierscope.recipes.mlc.output import LIKE, body, head, section_json
from tierscope.recipes.mlc.sections import sections
from tierscope.recipes.mlc.settings import Settings
from tierscope.report.progress import live_progress
from tierscope.report.warnings import warnings_line
from tierscope.runs.measure import Outcome, measure
from tierscope.runs.record import version
from tierscope.topology.discover import discover
from tierscope.topology.settings import thp_available


def run(arguments: Sequence[str], start_at: datetime | None = None) -> int:
    """Carry out a command line; returns the exit code that tierscope's commands share."""
    line = parse_line(arguments)
    if line.help:
        print(help_text(), end="")
        return 0
    if line.version:
        print(f"Intel(R) Memory Latency Checker - {LIKE} (tierscope {version()})")
        return 0
    for remark in remarks(line):
        _say(remark)
    settings = Settings(discover(), thp_available(), line)
    return int(_Session(settings, start_at, sections(settings)).carry_out())


@dataclass
class _Session:
    """One command line while it is carried out."""

    settings: Settings
    start_at: datetime | None
    """Of the first visit."""
    sections: list[Section]
    found: dict[str, Measurement] = field(default_factory=dict)

    def carry_out(self) -> int:
        """Measure all sections in one run, and print them."""
        line = self.settings.line
        clocked = any(section.mode == options.IDLE for section in self.sections)
        hz = base_hz() if clocked else 0.0
        plan = self._plan()
        if not line.json:
            switches = self.settings.switches_prefetchers
            print("\n".join(head(line, self.sections, version(), switches)), flush=True)
        done = self._measure(plan)
        self.found = {entry.id: entry for entry in done.run.measurements}
        if line.json:
            self._print_json(done)
        else:
            texts = ["\n".join(body(one, line, self.found, hz)) for one in self.sections]
            print("\n\n".join(texts))
        self._say_all(done)
        return int(done.exit_code)

    def _plan(self) -> Plan:
        """Return what is measured, in as much time as MLC takes: -t for each figure."""
        specs = [cell.spec for section in self.sections for cell in section.cells]
        if not specs:
            raise UserError(self.sections[0].missing, ExitCode.NOTHING_MEASURED)
        plan = Plan(version=PLAN_VERSION, measurements=specs)
        try:
            check_memory(plan, self.settings.topology)
        except UserError as error:
            raise UserError(str(error).replace("--size", "-b")) from None
        whole = sum(spec.sampling.budget_s for spec in specs)
        return fit_time(plan, whole, strictly=False)

    def _measure(self, plan: Plan) -> Outcome:
        if said := restore_left():
            _say(said)
        seconds = {
            spec.id: longest
            for spec, longest in zip(
                plan.measurements, longest_seconds(plan.measurements), strict=True
            )
        }
        with live_progress(plan.measurements, lambda name: seconds[name]) as show:
            return measure(
                plan, "mlc", self.settings.topology, sys.argv, None, show, start_at=self.start_at
            )

    def _print_json(self, done: Outcome) -> None:
        document = {
            "version": LIKE,
            "command_line": self.settings.line.shown,
            "run_file": str(done.path),
            "sections": [section_json(one, self.found) for one in self.sections],
        }
        print(json.dumps({"mlc": document}, indent=2))

    def _say_all(self, done: Outcome) -> None:
        """Say on stderr what went wrong, what may invalidate figures, and where all of it is."""
        reasons = [
            "; ".join(filter(None, (entry.reason, entry.remedy)))
            for entry in done.run.measurements
            if entry.status != "measured"
        ]
        reasons += [section.missing for section in self.sections]
        for said in dict.fromkeys(filter(None, reasons)):
            _say(said)
        for text in filter(None, (done.error, warnings_line(done.run))):
            _say(str(text))
        _say(f"intervals and evidence of each figure: tierscope show {done.path}")


def _say(text: str) -> None:
    sys.stderr.write(f"tierscope: mlc: {text}\n")
