"""The outcome of holding a run against its golden values: a table, and JUnit XML."""

import xml.etree.ElementTree as ElementTree
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tierscope.analysis.expect import Finding
from tierscope.model.errors import UserError
from tierscope.model.run import Run
from tierscope.report.legal import legal_text
from tierscope.report.style import new_table
from tierscope.runs.replace import replace_file


def show_findings(console: Console, findings: list[Finding]) -> None:
    """Print the findings, those that failed first."""
    table = new_table()
    table.add_column("", no_wrap=True)
    table.add_column("rule", overflow="fold")
    table.add_column("path", overflow="fold")
    table.add_column("found", overflow="fold")
    for finding in sorted(findings, key=lambda finding: finding.passed):
        verdict = Text("pass", style="green") if finding.passed else Text("FAIL", style="bold red")
        table.add_row(verdict, Text(finding.name), Text(finding.path), Text(finding.said))
    console.print(table)
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


def write_junit(run: Run, findings: list[Finding], path: Path) -> None:
    """Write JUnit XML; raises UserError where that cannot be."""
    try:
        replace_file(path, junit_xml(run, findings))
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from None
