"""The doctor's report: what can be measured here, and what distorts figures."""

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tierscope.model.capability import Capabilities
from tierscope.model.finding import Finding
from tierscope.report.style import title

_MARKS = {"problem": ("!", "bold red"), "note": ("·", "yellow"), "good": ("+", "green")}


_ORDER = ("problem", "note", "good")


def show_doctor(
    console: Console, engine: Capabilities | None, findings: list[Finding], unreadable: list[str]
) -> None:
    """Print what can be measured, what distorts figures, and what could not be read."""
    if engine:
        _show_capabilities(console, engine)
    _show_findings(console, findings)
    _show_unreadable(console, unreadable)


def _show_capabilities(console: Console, engine: Capabilities) -> None:
    title(console, "What can be measured here")
    for capability in engine.capabilities:
        finding = Finding(
            severity="good" if capability.available else "note",
            subject=capability.name,
            found=capability.detail if capability.available else capability.reason,
            remedy=capability.remedy,
        )
        show_finding(console, finding)
    console.print(
        Text(
            f"  engine {engine.engine}, {engine.compiler}; instruction sets: "
            f"{', '.join(engine.isas) or 'none'}",
            style="dim",
        )
    )


def in_order(findings: list[Finding]) -> list[Finding]:
    """Return findings, problems first."""
    return sorted(findings, key=lambda finding: _ORDER.index(finding.severity))


def _show_findings(console: Console, findings: list[Finding]) -> None:
    title(console, "What distorts figures here")
    for finding in findings:
        show_finding(console, finding)
    if not any(finding.severity == "problem" for finding in findings):
        console.print(Text("  nothing that distorts figures", style="green"))


def show_finding(console: Console, finding: Finding) -> None:
    """Print one finding with what it means and what to do."""
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
