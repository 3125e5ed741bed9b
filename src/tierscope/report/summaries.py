"""Tables of what many figures come to, in the terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from tierscope.report.style import new_table, note
from tierscope.report.view import Summary


def show_summaries(console: Console, found: Sequence[Summary]) -> None:
    """Print tables with their notes; notes that several tables have stand below the last one."""
    for number, summary in enumerate(found):
        console.print()
        console.print(Text(summary.title, style="bold"))
        table = new_table()
        for place, name in enumerate(summary.columns):
            table.add_column(name, justify="right" if place else "left")
        for row in summary.rows:
            table.add_row(*map(Text, row))
        console.print(table)
        later = {line for other in found[number + 1 :] for line in other.notes}
        for line in summary.notes:
            if line not in later:
                note(console, line)
