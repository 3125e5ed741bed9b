"""Tables and trees where the output takes ASCII only (LANG=C)."""

import io
from pathlib import Path

import pytest
from rich.text import Text

from tierscope.machine.hwloc import read_hwloc
from tierscope.report.style import ascii_text, make_console, new_table
from tierscope.report.topology import show_machine

XML = Path(__file__).parents[1] / "topology/xml"


def printed(*rows: tuple[str, str]) -> list[str]:
    """A table of two columns on an output that takes ASCII only."""
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    table = new_table()
    table.add_column("path → end", no_wrap=True)
    table.add_column("ns", justify="right")
    for row in rows:
        table.add_row(*row)
    make_console(file).print(table)
    file.flush()
    return [line for line in raw.getvalue().decode("ascii").splitlines() if line.strip()]


def test_longer_likenesses_keep_columns_in_line() -> None:
    lines = printed(("node:0 → node:1", "81.2 ±0.5"), ("plain", "3"))
    head, rule, first, second = lines
    assert (head.split()[0], first.split()[:3]) == ("path", ["node:0", "->", "node:1"])
    ends = {len(line.rstrip()) for line in (head, first, second)}
    assert len(ends) == 1
    assert set(rule.strip()) == {"-"}


def test_nothing_is_cut_that_fits_in_utf_8() -> None:
    assert "node:0 -> node:1" in printed(("node:0 → node:1", "1"))[2]


def test_the_trees_branches_are_ascii() -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    topology = read_hwloc(XML / "cxl-memory-dax.xml")
    show_machine(make_console(file), topology, nvlink=True)
    file.flush()
    text = raw.getvalue().decode("ascii")
    assert "?? " not in text
    assert "\n`- package 0" in text
    assert "   |- node 0" in text


@pytest.mark.parametrize("text", ["plain", "a → b … ±", "ü"])
def test_styles_survive_and_ascii_stays_as_it_is(text: str) -> None:
    styled = Text(text, style="bold")
    styled.append(" → end", style="red")
    found = ascii_text(styled)
    assert found.plain.endswith(" -> end")
    assert any(span.style == "red" for span in found.spans)
