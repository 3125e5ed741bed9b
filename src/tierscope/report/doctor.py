"""The doctor's report: what can be measured here, and what spoils figures."""

import json

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tierscope.engine import capabilities
from tierscope.model.errors import UserError
from tierscope.model.event import Capabilities
from tierscope.model.finding import Finding
from tierscope.report.console import make_console
from tierscope.report.style import title
from tierscope.topology import discover
from tierscope.topology.checks import link_findings
from tierscope.topology.settings import foreign_load, read_settings
from tierscope.topology.settings_checks import settings_findings

_LOOK_S = 0.5
_ORDER = ("problem", "note", "good")
_MARKS = {"problem": ("!", "bold red"), "note": ("·", "yellow"), "good": ("+", "green")}


def examine(as_json: bool) -> None:
    """Print what can be measured and what was found; raises UserError without an engine."""
    topology = discover()
    load = foreign_load(_LOOK_S)  # first, before anything of ours makes load
    settings = read_settings(topology)
    findings = settings_findings(topology, settings, load) + link_findings(topology)
    findings.sort(key=lambda finding: _ORDER.index(finding.severity))
    engine: Capabilities | None = None
    error: UserError | None = None
    try:
        engine = capabilities()
    except UserError as caught:
        error = caught
    if as_json:
        found = {
            "engine": engine.model_dump(mode="json") if engine else None,
            "settings": settings,
            "findings": [finding.model_dump(mode="json") for finding in findings],
            "unreadable": topology.unreadable,
        }
        print(json.dumps(found))
    else:
        console = make_console()
        if engine:
            _show_capabilities(console, engine)
        _show_findings(console, findings)
        _show_unreadable(console, topology.unreadable)
    if error:
        raise error


def _show_capabilities(console: Console, engine: Capabilities) -> None:
    title(console, "What can be measured here")
    for capability in engine.capabilities:
        finding = Finding(
            severity="good" if capability.available else "note",
            subject=capability.name,
            found=capability.detail if capability.available else capability.reason,
            remedy=capability.remedy,
        )
        _show_finding(console, finding)
    console.print(
        Text(
            f"  engine {engine.engine}, {engine.compiler}; instruction sets: "
            f"{', '.join(engine.isas) or 'none'}",
            style="dim",
        )
    )


def _show_findings(console: Console, findings: list[Finding]) -> None:
    title(console, "What spoils figures here")
    for finding in findings:
        _show_finding(console, finding)
    if not any(finding.severity == "problem" for finding in findings):
        console.print(Text("  nothing that would mislead", style="green"))


def _show_finding(console: Console, finding: Finding) -> None:
    mark, style = _MARKS[finding.severity]
    line = Table.grid()
    line.add_column(width=4)
    line.add_column(overflow="fold")
    found = Text(finding.subject, style="bold").append(f": {finding.found}", style="none")
    line.add_row(Text(f"  {mark}", style=style), found)
    console.print(line)
    if finding.meaning:
        console.print(Padding(Text(finding.meaning, style="dim"), (0, 0, 0, 6), expand=False))
    if finding.remedy:
        remedy = Text("remedy: ", style="cyan").append(finding.remedy, style="none")
        console.print(Padding(remedy, (0, 0, 0, 6), expand=False))


def _show_unreadable(console: Console, unreadable: list[str]) -> None:
    if unreadable:
        title(console, "What could not be read")
        for line in unreadable:
            console.print(Padding(Text(line), (0, 0, 0, 2), expand=False))
