"""Golden values: rules parse as documented, hold as documented, and never pass unheard."""

import contextlib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import synthetic
from typer.testing import CliRunner

from tierscope.analysis.expect import check, parse_rule, parse_rules
from tierscope.cli.app import app
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement, Run
from tierscope.report.check import junit_xml


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("node:0 -> node:0 read: >= 200 GB/s", True),
        ("node:0 <- node:0 read: >= 200 GB/s", True),
        ("node:0 -> node:0 read: >= 300 GB/s", False),
        ("node:0 -> node:0 read: >= 0.85 of limit", True),
        ("node:0 -> node:0 read: >= 85% of limit", True),
        ("node:0 -> node:0 write: >= 85 % of limit", False),
        ("node:0 -> node:1 read: >= 0.1 of limit", False),  # its limit is not known
        ("every node:0 -> node:0 read: >= 200 GB/s", False),
        ("node -> node:2 latency: <= 320 ns", True),
        ("node -> node:2 latency: <= 0.3 us", False),
        ("every node:0 -> node:0 latency size=4k: < 2 ns", True),
        ("node:0 -> node:0 latency pages=base order=random: <= 120 ns", False),
        ("gpu:* <- node memory=pinned: >= 0.6 of limit", True),
        ("gpu:* <- node memory=pinned: >= 0.8 of limit", False),
        ("gpu:0 <- node:0 gpu-copy engine=ce: > 26 GB/s", True),
        ("* -> *: >= 1 kB/s", False),  # one path failed, one was skipped
        ("node:0 -> node:3: >= 1 GB/s", False),
        ("file:/data/* <- node: >= 1 GB/s", False),  # matches nothing
        ("node:0 -> node:0 triad threads=99: >= 1 GB/s", False),
        ("node:0 -> node:0 latency: >= 1 GB/s", False),  # another unit
    ],
)
def test_a_rule(text: str, passed: bool) -> None:
    findings = check(synthetic.full(), [parse_rule(text)])
    assert findings
    assert all(finding.passed for finding in findings) is passed


def of_one_path_and_more() -> Run:
    """A slow path, which sums over copies at once and caches would make look fast."""
    maker = synthetic.Maker()

    def copy(source: str, destination: str, rate: float, **pattern: object) -> Measurement:
        size = {"size": 1 << 30, **pattern}
        return maker.make("gpu-copy", source, destination, size, rate, id=f"copy{maker.count}")

    return synthetic.run(
        [
            copy("node:0", "gpu:0", 30e9),
            copy("node:0", "gpu:0", 58e9, way="both ways summed"),
            copy("node:0", "gpu:0", 20e9, transfers="beside node:0 → gpu:1"),
            copy("node:0", "gpu:0-1", 90e9, transfers="sum of node:0 → gpu:0, node:0 → gpu:1"),
            copy("gpu:0", "gpu:0", 2000e9),
            copy("gpu:0", "gpu:0", 7000e9, size=16 << 20),
            copy("gpu:0", "gpu:1", 700e9, way="both ways summed"),
        ]
    )


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("node:0 -> gpu:0: >= 25 GB/s", True),
        ("node:0 -> gpu:0: >= 50 GB/s", False),
        ("node -> gpu: <= 40 GB/s", True),
        ("every node:0 -> gpu:0: >= 25 GB/s", False),
        ("node:0 -> gpu:0 way=both-ways-summed: >= 50 GB/s", True),
        ("node:0 -> gpu:0 id=copy2: <= 25 GB/s", True),
        ("node:0 -> gpu:0-1: >= 80 GB/s", True),
        ("node:0 -> gpu:0-1: >= 100 GB/s", False),
        ("gpu:0 -> gpu:0: >= 5000 GB/s", False),
        ("gpu:0 -> gpu:0 size=16m: >= 5000 GB/s", True),
        ("gpu:0 -> gpu:1: >= 1 GB/s", False),  # measured beside the way back only
    ],
)
def test_only_what_a_path_gives_by_itself_meets_its_rule(text: str, passed: bool) -> None:
    findings = check(of_one_path_and_more(), [parse_rule(text)])
    assert findings
    assert all(finding.passed for finding in findings) is passed


def test_a_rule_that_only_copies_at_once_match_says_how_to_name_them() -> None:
    (finding,) = check(of_one_path_and_more(), [parse_rule("gpu:0 -> gpu:1: >= 1 GB/s")])
    assert "name it by way=, size= or id=, or say 'every'" in finding.said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("node:0 -> node:0", "is no rule"),
        ("node:0: >= 1 GB/s", "names no path"),
        ("node:0 => node:1: >= 1 GB/s", "names no path"),
        ("gpus:* <- node: >= 1 GB/s", "did you mean 'gpu'"),
        ("gpu: <- node: >= 1 GB/s", "ends at its colon"),
        ("gpu <- node raed: >= 1 GB/s", "did you mean 'read'"),
        ("gpu <- node theads=2: >= 1 GB/s", "did you mean 'threads'"),
        ("gpu <- node size=many: >= 1 GB/s", "is not a size"),
        ("gpu <- node: >= 1", "the number has no unit"),
        ("gpu <- node: >= 1 GBs", "did you mean 'GB/s'"),
        ("gpu <- node: >= many GB/s", "is not a number"),
        ("gpu <- node: >= -1 GB/s", "out of range"),
        ("gpu <- node: >= nan GB/s", "out of range"),
        ("gpu <- node: == 1 GB/s", "is no rule"),
    ],
)
def test_a_rule_that_is_none(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        parse_rule(text)


@given(st.text(max_size=60))
def test_any_text_is_a_rule_or_an_error(text: str) -> None:
    with contextlib.suppress(UserError):
        parse_rule(text)


@given(st.text(max_size=200))
def test_any_file_is_rules_or_an_error_with_its_line(text: str) -> None:
    said = ""
    try:
        parse_rules(text, "f.yaml")
    except UserError as error:
        said = str(error)
    assert said == "" or said.startswith("f.yaml:")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "f.yaml:1: the file is empty"),
        ("rules: []", "f.yaml:1: key 'rules' has to be a list"),
        ("rule:\n- x", "f.yaml:1: unknown key 'rule' in the file; did you mean 'rules'"),
        ("version: 2\nrules:\n- x", "f.yaml:1: key 'version'"),
        ("rules:\n- 'gpu <- node: >= 1 GB/s'\n- 'gpu <- nod: >= 1 GB/s'", "f.yaml:3: key 'rules'"),
        ("rules:\n- gpu:* <- node: '>= 1 GB/s'", "f.yaml:2: key 'rules': put the whole rule in qu"),
        ("rules:\n- name: x", "f.yaml:2: a rule needs a key 'rule'"),
        ("rules:\n- nam: x\n  rule: y", "f.yaml:2: unknown key 'nam' in a rule; did you mean"),
        ("rules: [", "f.yaml:1: not valid YAML"),
    ],
)
def test_a_file_that_is_wrong_is_named_with_line_and_key(text: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_rules(text, "f.yaml")
    assert str(caught.value).startswith(said)


@pytest.fixture
def run_file(tmp_path: Path) -> str:
    return str(synthetic.write(synthetic.full(), tmp_path / "run.jsonl"))


@pytest.mark.parametrize(("bound", "status"), [(200, 0), (300, 1)])
def test_the_exit_status_and_the_table(
    run_file: str, tmp_path: Path, bound: int, status: int
) -> None:
    rules = tmp_path / "expect.yaml"
    rule = f"node:0 -> node:0 bandwidth: >= {bound} GB/s"
    rules.write_text(f'rules:\n  - name: memory\n    rule: "{rule}"\n')
    junit = tmp_path / "junit.xml"
    done = CliRunner().invoke(
        app, ["check", run_file, "--expect", str(rules), "--junit", str(junit)]
    )
    assert done.exit_code == status
    assert ("FAIL" in done.stdout) is (status == 1)
    suite = ElementTree.parse(junit).getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("1", str(status))
    assert suite[0].get("classname") == "memory"


def test_junit_holds_any_text() -> None:
    run = synthetic.run([], host="a<b\x00\x1b")
    findings = check(run, [parse_rule("node -> node: >= 1 GB/s", name="]]>\x01&")])
    case = ElementTree.fromstring(junit_xml(run, findings).partition("\n")[2])[0][0]
    assert case.get("classname") == "]]>\ufffd&"
    assert "matches no measurement" in (case[0].text or "")
