"""JUnit XML, as CI systems read it."""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from tierscope.report.naming import legal_text


@dataclass(frozen=True)
class Case:
    """A test case."""

    classname: str
    name: str
    said: str = ""
    failure: str | None = None
    """Message in full, where it failed; ``said`` is its first line."""
    error: str | None = None
    """In the same way, where nobody knows whether it failed."""


def junit_xml(name: str, cases: Sequence[Case], **attributes: str) -> str:
    """Return a suite of cases, with further attributes of the suite."""
    failed = sum(case.failure is not None for case in cases)
    unknown = sum(case.error is not None for case in cases)
    counts = {"tests": str(len(cases)), "failures": str(failed), "errors": str(unknown)}
    root = ElementTree.Element("testsuites", counts)
    labels = {"name": f"tierscope {name}", "skipped": "0", "time": "0", **attributes}
    legal = {key: legal_text(value) for key, value in labels.items()}
    suite = ElementTree.SubElement(root, "testsuite", {**counts, **legal})
    for one in cases:
        names = {"classname": legal_text(one.classname), "name": legal_text(one.name), "time": "0"}
        case = ElementTree.SubElement(suite, "testcase", names)
        wrong = {"failure": one.failure, "error": one.error}
        for name_, text in wrong.items():
            if text is not None:
                element = ElementTree.SubElement(case, name_, {"message": legal_text(one.said)})
                element.text = legal_text(text)
        if one.said and one.failure is None and one.error is None:
            ElementTree.SubElement(case, "system-out").text = legal_text(one.said)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, "unicode")}\n'
