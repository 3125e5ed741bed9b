"""The doctor's report on direct transfers between storage and GPUs."""

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tierscope.machine.cufile_audit import as_json
from tierscope.model.capability import Capabilities
from tierscope.model.cufile import CufileAudit, CufileSetting, Way
from tierscope.model.finding import Finding
from tierscope.report.style import note, title

_NO_LIMIT = 18014398509481980
"""KiB that libcufile takes for none."""
_WAYS = {
    "p2p": ("directly, by PCI P2PDMA", "green"),
    "nvfs": ("directly, by nvidia-fs", "green"),
    "compatibility": ("through host memory, in compatibility mode", "yellow"),
    "refused": ("not at all, cuFile refuses files here", "red"),
    "unknown": ("not certain", "yellow"),
}
_MARKS = {"problem": ("!", "bold red"), "note": ("·", "yellow"), "good": ("+", "green")}


def show_storage(
    console: Console, audit: CufileAudit | None, machine: list[Finding], way: Way | None
) -> None:
    """Print cufile.json key by key, the machine's state, and the way that data would take."""
    if audit:
        _show_audit(console, audit)
    title(console, "This machine")
    for finding in in_order(machine):
        show_finding(console, finding)
    if way:
        title(console, f"Data between {way.path} and a GPU goes")
        words, style = _WAYS[way.way]
        line = Text(words, style=style).append(f": {way.why}", style="none")
        console.print(Padding(line, (0, 0, 0, 2), expand=False))


def _show_audit(console: Console, audit: CufileAudit) -> None:
    title(console, "cufile.json")
    if audit.file:
        console.print(Text(f"  {audit.file}, {audit.named_by}"))
        _show_settings(console, [one for one in audit.settings if one.line is not None])
        absent = sum(one.line is None for one in audit.settings)
        note(console, f"{absent} further keys are not in the file; --json lists them")
    for finding in in_order(audit.findings):
        show_finding(console, finding)
    if audit.file and not audit.findings:
        console.print(Text("  no mistake and no contradiction found", style="green"))


def _show_settings(console: Console, settings: list[CufileSetting]) -> None:
    """Print a line for each key, and below it what it means."""
    rows = sorted(settings, key=lambda one: one.line or 0)
    widest = max((cell_len(_parts(one.key)[1]) for one in rows), default=0)
    section = ""
    for one in rows:
        above, name = _parts(one.key)
        if above != section:
            console.print(Text(f"  {above}", style="bold"))
            section = above
        line = Table.grid(padding=(0, 2))
        line.add_column(width=6, justify="right")
        line.add_column(width=widest)
        line.add_column(overflow="fold")
        mark = ("!", "bold red") if one.verdict in ("wrong", "unknown") else ("", "")
        number = Text.assemble(mark, str(one.line))
        line.add_row(number, name, Text(as_json(one.value)).append_text(_default(one)))
        console.print(line)
        console.print(Padding(_meaning(one), (0, 0, 0, 8), expand=False))


def _parts(key: str) -> tuple[str, str]:
    """Split a key into its section and its name, each of which can be printed."""
    names = as_json(key)[1:-1].split(".")
    deep = 2 if names[0] in ("fs", "block") else 1
    deep = min(deep, len(names) - 1)
    return ".".join(names[:deep]), ".".join(names[deep:])


def _default(one: CufileSetting) -> Text:
    """Return what the default is, where the value is another."""
    if one.verdict in ("unknown", "default"):
        return Text("" if one.verdict == "unknown" else "  the default", style="dim")
    if one.default is None:
        return Text("  default not known", style="dim")
    return Text(f"  default {as_json(one.default)} ({one.default_from})", style="dim")


def _built_in(one: CufileSetting) -> str:
    known = {release: value for release, value in one.built_in.items() if value not in ("", [])}
    said = {
        release: "no limit" if value == _NO_LIMIT else as_json(value)
        for release, value in known.items()
    }
    if len(set(said.values())) == 1:
        return next(iter(said.values()))
    return ", ".join(f"{value} in {release}" for release, value in said.items())


def _meaning(one: CufileSetting) -> Text:
    if one.verdict == "unknown":
        return Text("unknown key", style="dim")
    text = Text(one.meaning, style="dim")
    if one.since:
        text.append(f" (since {one.since})" if one.since[0].isdigit() else f" ({one.since})")
    text.append(f"; {one.note}" if one.note else "")
    if any(value != one.default for value in one.built_in.values()):
        text.append(f"; without the key: {_built_in(one)}")
    if one.advice:
        by = f" ({one.advised_by})" if one.advised_by else ""
        text.append(f". Advice: {one.advice}{by}")
    if one.overridden_by:
        text.append(f". {one.overridden_by} counts instead", style="yellow")
    return text


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
    return sorted(findings, key=lambda finding: [*_MARKS].index(finding.severity))


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
