"""What comparing a run with its golden values found: a table, and JUnit XML."""

import xml.etree.ElementTree as ElementTree
from datetime import datetime

from rich.console import Console
from rich.text import Text

from tierscope.analysis.expect import Finding
from tierscope.model.run import Run
from tierscope.report.legal import legal_text
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
        table.add_column(overflow="fold")
        table.add_column(overflow="fold")
        for finding in sorted(members, key=lambda finding: finding.passed):
            style = "green" if finding.passed else "bold red"
            verdict = Text("  pass" if finding.passed else "  FAIL", style=style)
            table.add_row(verdict, Text(finding.path), Text(finding.said))
        console.print(table)
    console.print()
    failed = sum(not finding.passed for finding in findings)
    console.print(f"{len(findings) - failed} passed, {failed} failed")


def junit_xml(run: Run, findings: list[Finding]) -> str:
    """Return JUnit XML, as CI systems read it: a test case for each finding."""
    failed = sum(not finding.passed for finding in findings)
    counts = {"tests": str(len(findings)), "failures": str(failed), "errors": "0"}
    root = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        {
            **counts,
            "name": legal_text(f"tierscope {run.header.name}"),
            "hostname": legal_text(run.header.host),
            "timestamp": datetime.fromisoformat(run.header.started).isoformat(timespec="seconds"),
            "skipped": "0",
            "time": "0",
        },
    )
    for finding in findings:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            {
                "classname": legal_text(finding.name),
                "name": legal_text(f"{finding.path} {finding.id}".strip() or finding.rule),
                "time": "0",
            },
        )
        if not finding.passed:
            failure = ElementTree.SubElement(case, "failure", {"message": legal_text(finding.said)})
            failure.text = legal_text(f"{finding.where}: {finding.rule}\n{finding.said}")
        else:
            ElementTree.SubElement(case, "system-out").text = legal_text(finding.said)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, "unicode")}\n'
