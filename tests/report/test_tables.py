"""Tables in narrow terminals: nothing is cut."""

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text
from tests import synthetic

from tierscope.analysis.compare import compare
from tierscope.kinds.views import VIEWS
from tierscope.model.text import brief
from tierscope.report.compare import show_comparison
from tierscope.report.run import show_run
from tierscope.report.style import make_console, new_table

WORDS = st.text("abcdefghij", min_size=1, max_size=12)
CELLS = st.lists(WORDS, min_size=0, max_size=4).map(" ".join)


@given(
    headings=st.lists(WORDS, min_size=1, max_size=8),
    cells=st.lists(CELLS, min_size=8, max_size=32),
    unwrapped=st.sets(st.integers(0, 7)),
    width=st.integers(30, 100),
)
def test_every_word_of_a_table_is_whole(
    headings: list[str], cells: list[str], unwrapped: set[int], width: int
) -> None:
    table = new_table()
    for number, heading in enumerate(headings):
        table.add_column(heading, no_wrap=number in unwrapped)
    rows = [cells[at : at + len(headings)] for at in range(0, len(cells), len(headings))]
    for row in rows:
        table.add_row(*map(Text, row + [""] * (len(headings) - len(row))))
    printed = io.StringIO()
    console = make_console(printed)
    console.width = width
    console.print(table)
    found = printed.getvalue()
    assert all(cell_len(line) <= width for line in found.splitlines())
    words = found.split()
    for word in {word for cell in cells for word in cell.split()}:
        assert words.count(word) >= sum(cell.split().count(word) for cell in cells)


@pytest.mark.parametrize("width", [60, 100])
def test_no_table_of_a_run_or_a_comparison_is_cut(width: int) -> None:
    printed = io.StringIO()
    console = make_console(printed)
    console.width = width
    run = synthetic.full(1)
    show_run(console, run, Path("run.jsonl"), VIEWS)
    show_comparison(console, compare(("base", run), ("new", synthetic.full(2)), 0.03))
    lines = printed.getvalue().splitlines()
    assert [line for line in lines if "…" in line or cell_len(line) > width] == []
    assert sum("level 3, to" in line for line in lines) == 3


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(288_000.4, 4, "288000"), (159_640.0, 3, "160000"), (1234.0, 3, "1230"), (99.96, 3, "100"),
     (12.345, 4, "12.35"), (0.00001234, 2, "1.2e-05"), (float("inf"), 3, "inf"), (0.0, 3, "0")],
)  # fmt: skip
def test_a_large_number_has_no_exponent(value: float, digits: int, text: str) -> None:
    assert brief(value, digits) == text
