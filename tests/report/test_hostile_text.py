"""Text of others' making in what is written for terminals, spreadsheets and pages."""

import csv
import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.hostile import hostile_run

from tierscope.kinds.views import VIEWS
from tierscope.model.run import Run
from tierscope.model.text import csv_text, printable
from tierscope.report.html.page import render_report
from tierscope.runs.export import prometheus_text

HOSTILE = "a\x1b[31m\u202eb\u2028c\x9bd"


@given(st.text())
def test_text_keeps_all_that_steers_nothing(text: str) -> None:
    shown = printable(text)
    assert len(shown) == len(text)
    for before, after in zip(text, shown, strict=True):
        steers = unicodedata.category(before) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
        assert after == ("\ufffd" if steers else before)


def test_kept_characters_stay() -> None:
    assert printable("a\n\x1bb", "?", keep="\n") == "a\n?b"


@pytest.mark.parametrize("cell", ["=1+1", "+x", "-x", "@SUM(A1)", "=\x1b"])
def test_a_spreadsheet_takes_no_text_for_a_formula(cell: str) -> None:
    assert csv_text([[cell]]) == f"'{printable(cell)}\n"


@pytest.mark.parametrize("cell", ["\tx", "\rx", "\x1b=1"])
def test_a_formula_does_not_hide_behind_a_control_character(cell: str) -> None:
    (row,) = csv.reader(io.StringIO(csv_text([[cell]])))
    assert row[0].startswith(("'", "\ufffd"))


@pytest.mark.parametrize("cell", ["-1.5", "+3", "1e-9", "node:0", "a,b", "\u00a0"])
def test_numbers_and_plain_text_stay_as_they_are(cell: str) -> None:
    assert list(csv.reader(io.StringIO(csv_text([[cell]])))) == [[cell]]


def _with_part(run: Run, part: str) -> Run:
    first, *others = [m for m in run.measurements if m.figures]
    figures = [first.figures[0].model_copy(update={"part": part}), *first.figures[1:]]
    return run.model_copy(
        update={"measurements": [first.model_copy(update={"figures": figures}), *others]}
    )


def test_no_output_for_people_has_a_character_that_steers() -> None:
    run = _with_part(hostile_run(), HOSTILE)
    for text in (prometheus_text(run), render_report([(HOSTILE, run)], VIEWS)):
        found = {sign for sign in text if not printable(sign, "", keep="\t\n\r")}
        assert not found
