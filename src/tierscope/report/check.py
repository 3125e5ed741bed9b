"""Findings of a comparison with golden values: a table, and JUnit XML."""

from collections import Counter
from datetime import datetime

from rich.console import Console
from rich.text import Text

from tierscope.analysis.expect import Finding
from tierscope.model.run import Run
from tierscope.report.junit import Case, junit_xml
from tierscope.report.pictures.picture import label_of
from tierscope.report.style import SafeTable


def show_findings(console: Console, findings: list[Finding]) -> None:
    """Print the findings rule by rule, the rules first that failed, and in them what failed."""
    rules: dict[str, list[Finding]] = {}
    for finding in findings:
        rules.setdefault(finding.name, []).append(finding)
    for name, members in sorted(rules.items(), key=lambda rule: all(f.passed for f in rule[1])):
        rule = members[0].rule
        console.print()
        console.print(Text(name if name == rule else f"{name}: {rule}", style="bold"))
        table = SafeTable(box=None, show_header=False, pad_edge=False, padding=(0, 1))
        table.add_column(no_wrap=True)
        for _ in range(3):
            table.add_column(overflow="fold")
        telling = _telling(members)
        for finding in sorted(members, key=lambda f: (f.passed, not f.missed)):
            style = "green" if finding.passed else "bold red" if finding.missed else "yellow"
            word = "pass" if finding.passed else finding.doubt or "FAIL"
            verdict = Text(f"  {word}", style=style)
            table.add_row(
                verdict, Text(finding.path), Text(telling[finding.id]), Text(finding.said)
            )
        console.print(table)
    console.print()
    doubts = Counter[str](finding.doubt for finding in findings if finding.doubt)
    words: dict[str, int] = {
        "passed": sum(finding.passed for finding in findings),
        "failed": sum(finding.missed for finding in findings),
        **doubts,
    }
    console.print(", ".join(f"{count} {word}" for word, count in words.items()))


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
    """Return JUnit XML: a test case for each finding."""
    started = datetime.fromisoformat(run.header.started).isoformat(timespec="seconds")
    cases = [
        Case(
            finding.name,
            f"{finding.path} {finding.id}".strip() or finding.rule,
            finding.said,
            None if finding.passed else f"{finding.where}: {finding.rule}\n{finding.said}",
        )
        for finding in findings
    ]
    return junit_xml(run.header.name, cases, hostname=run.header.host, timestamp=started)
