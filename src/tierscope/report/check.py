"""Findings of a comparison with golden values: a table, and JUnit XML."""

from collections import Counter
from datetime import datetime

from rich.console import Console
from rich.text import Text

from tierscope.analysis.expect import Finding, Verdict
from tierscope.model.errors import counted
from tierscope.model.run import Run
from tierscope.report.junit import Case, junit_xml
from tierscope.report.pictures.picture import label_of
from tierscope.report.style import SafeTable

_STYLES: dict[Verdict, str] = {
    "missed": "bold red",
    "inconclusive": "yellow",
    "not measured": "yellow",
    "met": "green",
}
"""In order of urgency."""


def verdict_line(findings: list[Finding]) -> str:
    """Say in one line what the findings come to: "2 rules missed, 1 inconclusive, 5 met"."""
    rules: dict[str, list[Verdict]] = {}
    for finding in findings:
        rules.setdefault(finding.name, []).append(finding.verdict)
    worst = Counter(min(verdicts, key=[*_STYLES].index) for verdicts in rules.values())
    counts = [(worst[verdict], verdict) for verdict in _STYLES if worst[verdict]]
    (count, verdict), *others = counts
    if not others:
        return (
            f"All rules are met: {count}"
            if verdict == "met"
            else f"{counted(count, 'rule')} {verdict}"
        )
    return ", ".join(
        [f"{counted(count, 'rule')} {verdict}", *(f"{n} {word}" for n, word in others)]
    )


def show_findings(console: Console, findings: list[Finding]) -> None:
    """Print the verdict, then the findings rule by rule, those first that need attention."""
    rules: dict[str, list[Finding]] = {}
    for finding in findings:
        rules.setdefault(finding.name, []).append(finding)
    console.print(Text(verdict_line(findings), style="bold"))
    for name, members in sorted(rules.items(), key=lambda rule: min(map(_urgency, rule[1]))):
        rule = members[0].rule
        console.print()
        console.print(Text(name if name == rule else f"{name}: {rule}", style="bold"))
        table = SafeTable(box=None, show_header=False, pad_edge=False, padding=(0, 1))
        table.add_column(no_wrap=True)
        for _ in range(3):
            table.add_column(overflow="fold")
        telling = _telling(members)
        for finding in sorted(members, key=_urgency):
            verdict = Text(f"  {finding.verdict}", style=_STYLES[finding.verdict])
            table.add_row(
                verdict, Text(finding.path), Text(telling[finding.id]), Text(finding.said)
            )
        console.print(table)


def _urgency(finding: Finding) -> int:
    return [*_STYLES].index(finding.verdict)


def _telling(findings: list[Finding]) -> dict[str, str]:
    """Return, by id, what tells a rule's measurements apart: "1 GiB, thp pages"."""
    keys = [
        key
        for key in dict.fromkeys(key for finding in findings for key in finding.pattern)
        if len({str(finding.pattern.get(key)) for finding in findings}) > 1
    ]
    kinds = {finding.kind for finding in findings}
    found = {}
    for finding in findings:
        words = [finding.kind] if len(kinds) > 1 else []
        words += [
            label_of(key, finding.pattern[key], finding.kind)
            for key in keys
            if finding.pattern.get(key) not in (None, "")
        ]
        found[finding.id] = ", ".join(words)
    rows = Counter((finding.path, found[finding.id]) for finding in findings)
    for finding in findings:
        if rows[finding.path, found[finding.id]] > 1:  # the same measurement, more than once
            found[finding.id] = finding.id
    return found


def findings_xml(run: Run, findings: list[Finding]) -> str:
    """Return JUnit XML: a test case for each finding; what is inconclusive is an error of it."""
    started = datetime.fromisoformat(run.header.started).isoformat(timespec="seconds")
    cases = []
    for finding in findings:
        name = f"{finding.path} {finding.id}".strip() or finding.rule
        text = f"{finding.where}: {finding.rule}\n{finding.said}"
        doubtful = finding.verdict in ("inconclusive", "not measured")
        failure = text if finding.verdict == "missed" else None
        error = text if doubtful else None
        cases.append(Case(finding.name, name, finding.said, failure, error))
    return junit_xml(run.header.name, cases, hostname=run.header.host, timestamp=started)
