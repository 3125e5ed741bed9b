"""``tierscope mlc``: from a command line to measured sections and MLC's text."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from tierscope.engine.prefetchers import restore_left
from tierscope.kinds.plan import PLAN_VERSION, Plan
from tierscope.machine.discover import discover
from tierscope.machine.settings import thp_available
from tierscope.model.errors import ExitCode, UserError
from tierscope.model.run import Measurement
from tierscope.peers.drop_in import START_AT, help_line, help_page, paragraph, reason_of, say
from tierscope.peers.mlc import options
from tierscope.peers.mlc.command import mlc
from tierscope.peers.mlc.options import BARE, MIXES, MODES, OPTIONS, parse_line, remarks
from tierscope.peers.mlc.output import LIKE, body, head, section_json
from tierscope.peers.mlc.plan import Section, base_hz, sections
from tierscope.peers.mlc.settings import Settings
from tierscope.plans.fit import check_memory, fit_time, longest_seconds
from tierscope.report.progress import live_progress
from tierscope.report.summary import warnings_line
from tierscope.runs.measure import Outcome, measure
from tierscope.runs.record import version

_OWN = (
    ("-h, --help", "print this"),
    ("--version", "print the version"),
    ("--start-at TIME", START_AT),
    ("--json", "one JSON document in place of the text, with intervals"),
)
_TYPES = ", ".join(f"{name[1:]} {mix.words}" for name, mix in MIXES.items() if name != "R")
_THREADS = [
    "  CPUS R|Wn seq|rand SIZE dram NODE",
    "  CPUS W21|W23|W27 seq SIZE dram NODE dram NODE PERCENT   pages in turn; PERCENT on the",
    "                                                          second; as R, W3 and W7",
]
_STATUS = (
    "Exit status: 0 measured, 1 something failed, 2 the request was wrong, 3 nothing could be "
    "measured, 4 the command itself failed, 130 interrupted. 'tierscope show last' has "
    "every figure with its interval and evidence, "
    "'tierscope show last --json' as JSON. See docs/mlc.md."
)


def help_text() -> str:
    """Return the whole text."""
    named = [(f"-{one.flag} {one.metavar}".rstrip(), one) for one in OPTIONS]
    refused = ", ".join(f"-{one.flag}" for one in OPTIONS if one.refused)
    return help_page(
        ["usage: tierscope mlc [--MODE] [OPTIONS]"],
        "Modes, options and text of Intel's Memory Latency Checker, measured by tierscope. "
        f"Without a mode: {', '.join(BARE)}, in this order.",
        {
            "Modes": [help_line(f"--{mode}", what, 32) for mode, what in MODES.items()],
            "Options": [
                (name, one.what)
                for name, one in named
                if one.modes and not (one.refused or one.ignored)
            ],
            "Of tierscope": _OWN,
            "Without effect": [(name, one.ignored) for name, one in named if one.ignored],
            "Refused, each with the reason": [f"  {refused}"],
            "Types of traffic (-W), reads to writes on the memory's bus": [
                f"  {line}" for line in paragraph(_TYPES)
            ],
            "Per-thread files (-o), a line for each CPU or range of CPUs": _THREADS,
        },
        mlc,
        _STATUS,
    )


def run(arguments: Sequence[str], start_at: datetime | None = None) -> int:
    """Carry out a command line; returns the exit code that tierscope's commands share."""
    line = parse_line(arguments)
    if line.help:
        print(help_text(), end="")
        return 0
    if line.version:
        print(f"Intel(R) Memory Latency Checker - {LIKE} (tierscope {version()})")
        return 0
    say("mlc", *remarks(line))
    settings = Settings(discover(), thp_available(), line)
    return int(_Session(settings, start_at, sections(settings)).carry_out())


@dataclass
class _Session:
    """One command line while it is carried out."""

    settings: Settings
    start_at: datetime | None
    """Start of the first repetition."""
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
        """Return the plan, within MLC's time: -t for each figure."""
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
        say("mlc", restore_left() or "")
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
        """Print failures, warnings and the run file to stderr."""
        reasons = [reason_of(m) for m in done.run.measurements if m.status != "measured"]
        reasons += [section.missing for section in self.sections]
        say("mlc", *dict.fromkeys(reasons), str(done.error or ""), warnings_line(done.run))
        say("mlc", f"intervals and evidence of each figure: tierscope show {done.path}")
