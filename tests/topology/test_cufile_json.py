"""cufile.json is parsed or refused with its place; what is JSON parses as Python parses it."""

import json
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierscope.machine.cufile_audit import settings_of
from tierscope.machine.cufile_json import parse, with_value
from tierscope.model.errors import UserError

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)
OBJECTS = st.dictionaries(st.text(), VALUES)
COMMENTS = st.sampled_from(["// a \" ' , } /* comment\n", "/* { // \n } */", " ", "\n", "\t"])
WORDS = st.sampled_from(
    ["{", "}", "[", "]", ",", ":", '"properties"', '"', "//", "/*", "*/", "\n", "1", "-", "1e999",
     "true", "NaN", "'", "#", "\\", "\x00", "é", "9" * 5000, "blacklist", '"fs"', '"a": 1']
)  # fmt: skip


@given(OBJECTS, st.booleans(), st.booleans())
def test_json_parses_as_python_parses_it(values: dict, ascii_only: bool, wide: bool) -> None:
    text = json.dumps(values, ensure_ascii=ascii_only, indent=2 if wide else None)
    assert parse(text, "f").values == json.loads(text)


@given(OBJECTS, st.data())
def test_comments_between_values_change_nothing(values: dict, data: st.DataObject) -> None:
    text = json.dumps(values, indent=1)
    lines = [line + data.draw(COMMENTS) for line in text.split("\n")]
    assert parse("\n".join(lines), "f").values == values


@given(st.lists(WORDS | st.text(max_size=3)).map("".join))
def test_any_text_is_parsed_and_looked_through_or_refused_with_its_place(text: str) -> None:
    try:
        parsed = parse(text, "FILE")
    except UserError as error:
        said = str(error)
    else:
        settings, findings, _ = settings_of(parsed, {})
        assert all(one.line is None or one.line <= text.count("\n") + 1 for one in settings)
        assert all(finding.found for finding in findings)
        return
    place = re.fullmatch(r"FILE:(\d+):(\d+): .+", said)
    assert place
    assert int(place[2]) <= len(text.split("\n")[int(place[1]) - 1]) + 1


_COMMA = "2:8" if sys.version_info >= (3, 13) else "3:1"
"""Python 3.13 says where the comma is, older ones where the bracket is."""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# comment\n{}", "f:1:1: '#' begins no comment here"),
        ('{\n "a": 1,\n}', f"f:{_COMMA}: a comma before the closing bracket"),
        ('{"a": 1', "f:1:8: the file ends too early"),
        ('{\n"a" 1}', "f:2:5: a colon is expected"),
        ("{'a': 1}", "f:1:2: text stands in double quotes"),
        ("/* { }", "f:1:1: this comment has no end"),
        ('{"a": 1}}', "f:1:9: '}' after the end"),
        ("[]", "f:1:1: an object is needed"),
        ("\ufeff{}", "f:1:1: a byte order mark"),
        ('{"a":\n NaN}', "f:2:2: not a number"),
        ('{"a": "b\n"}', "f:1:9: a line break"),
    ],
)
def test_usual_mistakes_are_said_in_words(text: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        parse(text, "f")
    assert str(refused.value).startswith(said)


def test_every_key_has_its_line() -> None:
    text = '{ // x\n"a": {\n"b": [{"c": 1}],\n"d": "//"},\n/*\n*/ "a": {"d": 2}}'
    lines = parse(text, "f").lines
    assert lines[("a",)] == [2, 6]
    assert lines["a", "d"] == [4, 6]
    assert lines["a", "b"] == [3]


def test_deep_nesting_is_refused_in_a_line() -> None:
    with pytest.raises(UserError, match="nested too deeply"):
        parse('{"a":' * 100_000, "f")


def test_a_value_is_put_in_without_touching_the_rest() -> None:
    values = {"properties": {"io_batchsize": 1}, "fs": 3}
    changed = with_value(values, "properties.io_batchsize", 2)
    assert changed == {"properties": {"io_batchsize": 2}, "fs": 3}
    assert with_value(values, "fs.nfs.mount_table", {})["fs"] == {"nfs": {"mount_table": {}}}
    assert values["properties"]["io_batchsize"] == 1
