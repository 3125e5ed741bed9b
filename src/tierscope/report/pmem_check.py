"""The table of ``tierscope pmem-check``, and what each method proves."""

from rich.console import Console
from rich.text import Text

from tierscope.model.pmem_check import CrashCheck, CrashReport
from tierscope.report.style import new_table, note, title

_METHODS = {"kill": "killed", "replay": "replayed", "power-cut": "power cut"}
_UNITS = {"kill": "kill", "replay": "state", "power-cut": "cut"}
_WRITERS = {
    "transactions": "pool, in transactions",
    "no-transactions": "pool, no transactions",
    "slots": "two slots",
    "slots-no-flush": "two slots, no flush",
    "slots-no-fence": "two slots, a fence missing",
}
_STYLES = {
    "consistent": "green",
    "caught": "green",
    "inconsistent": "bold red",
    "not caught": "bold red",
    "failed": "bold red",
    "skipped": "yellow",
}
_PROVES = {
    "kill": "A killed process loses no store, since its stores are in caches and memory, which go "
    "on. Kills show that updates are atomic. They do not show that stores are flushed.",
    "replay": "The replay drops what was not flushed and fenced, in every order that x86 allows. "
    "It is of tierscope's own writers, not of libpmemobj and not of this memory.",
    "power-cut": "A power cut shows what survived this one time. Whether a battery or a hypervisor "
    "preserved the caches meanwhile cannot be told from here.",
}

_BROKEN = (
    "Writers without transactions, flushes or a fence are broken on purpose: a method that does "
    "not catch them would prove nothing."
)


def show_crashes(console: Console, report: CrashReport) -> None:
    """Print each writer with what was tried and found."""
    title(console, f"Crash consistency in {report.directory}")
    console.print(Text(_about(report)))
    words = ("method", "writer", "verdict")
    table = new_table("method", "writer", "tried", "consistent", "verdict", words=words)
    for check in report.checks:
        unit = _UNITS[check.method] if check.tried == 1 else f"{_UNITS[check.method]}s"
        table.add_row(
            _METHODS[check.method],
            _WRITERS[check.writer],
            f"{check.tried:,} {unit}" if check.tried else "",
            f"{check.tried - check.inconsistent:,}" if check.tried else "",
            Text(check.verdict, style=_STYLES[check.verdict]),
        )
    console.print(table)
    for line in _further(report.checks):
        note(console, line, style="none")
    if any(check.broken and check.tried for check in report.checks):
        note(console, _BROKEN)
    for method in dict.fromkeys(check.method for check in report.checks):
        note(console, _PROVES[method])


def _about(report: CrashReport) -> str:
    durable = "cache flushes (DAX)" if report.dax else "msync"
    words = [report.file_system, f"stores are made durable by {durable}"]
    if report.seed is not None:
        words.append(f"seed {report.seed}")
    return ", ".join(words)


def _further(checks: list[CrashCheck]) -> list[str]:
    lines = []
    for check in checks:
        name = f"{_METHODS[check.method]}, {_WRITERS[check.writer]}"
        if check.sampled and not check.broken:
            lines.append(
                f"{name}: {check.sampled} of {check.crash_points} crash points have more states "
                "than were tried"
            )
        if check.first and not check.broken:
            lines.append(f"{name}: {check.first}")
        if check.reason:
            verdict = "" if check.tried else f"{check.verdict}: "
            lines.append(f"{name}: {verdict}{check.reason}")
    return lines
