"""What PMDK costs, as a table with a sentence for each pool, and as JSON."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from tierscope.model.errors import counted
from tierscope.recipes.pmdk import BACKINGS, Cost
from tierscope.report.figures import significant
from tierscope.report.style import new_table, note, title


def costs_json(found: Sequence[Cost]) -> list[dict[str, Any]]:
    """Return one object for each operation, number of threads and pool; ratios are pool / plain."""
    return [
        {
            "backing": one.backing,
            "initiator": one.paired.base.initiator,
            "node": one.paired.base.target,
            "operation": one.pattern["operation"],
            "threads": one.pattern["threads"],
            "size": one.pattern["size"],
            "unit": "B/s",
            "ratio": one.ratio.ratio if one.ratio else None,
            "low": one.ratio.low if one.ratio else None,
            "high": one.ratio.high if one.ratio else None,
            "pairs": one.paired.pairs,
            "reason": one.paired.reason,
        }
        for one in found
    ]


def costs_csv(found: Sequence[Cost]) -> str:
    """Return a line for each object of ``costs_json``, with the medians of both sides in place of
    all pairs."""
    text = io.StringIO()
    rows = []
    for cost, row in zip(found, costs_json(found), strict=True):
        plain, pool = cost.bandwidths if cost.ratio else (None, None)
        del row["pairs"]
        rows.append({**row, "plain": plain, "pool": pool})
    writer = csv.DictWriter(text, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def show_costs(console: Console, found: Sequence[Cost]) -> None:
    """Print both sides' bandwidths and the change from plain memory to the pool."""
    title(console, "PMDK over plain memory of the same node")
    table = new_table()
    for heading in ("node", "operation", "threads", "pool", "plain GB/s", "pool GB/s", "change"):
        number = "GB/s" in heading or heading in ("threads", "change")
        table.add_column(heading, justify="right" if number else "left", no_wrap=True)
    for one in found:
        rates = [significant(rate / 1e9, 3) for rate in one.bandwidths] if one.ratio else ["–", "–"]
        change = _change(one) if one.ratio else one.paired.reason or "not measured"
        names = (one.paired.base.target, one.pattern["operation"], str(one.pattern["threads"]))
        table.add_row(*map(Text, (*names, one.backing, *rates, change)))
    console.print(table)
    measured = [one for one in found if one.ratio]
    for backing, how in BACKINGS.items():
        if any(one.backing == backing for one in measured):
            note(console, f"{backing}: {how}")
    if measured:
        note(
            console,
            f"medians of {counted(len(measured[0].paired.pairs), 'pair')} of visits, made in turn; "
            "changes with their 95% intervals, of which those with 0 inside show no difference",
        )


def _change(one: Cost) -> str:
    """Return ``-9.5% -9.9..-9.1``, the change from plain memory to the pool."""
    assert one.ratio
    text = f"{100 * (one.ratio.ratio - 1):+.1f}%"
    if one.ratio.low is None or one.ratio.high is None:
        return text
    low, high = (100 * (end - 1) for end in (one.ratio.low, one.ratio.high))
    return f"{text} {low:+.1f}..{high:+.1f}"
