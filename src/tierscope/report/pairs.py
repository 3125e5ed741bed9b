"""Paired ratios as a table and as JSON."""

from collections.abc import Sequence
from statistics import median
from typing import Any

from rich.console import Console

from tierscope.analysis.paired import paired_ratio
from tierscope.model.metric import METRICS
from tierscope.report.figures import scale_of
from tierscope.report.style import SafeTable
from tierscope.runs.pairs import Paired


def pairs_json(found: Sequence[Paired]) -> list[dict[str, Any]]:
    """Return one object for each measurement; the ratio is new / base."""
    results = []
    for one in found:
        known = paired_ratio(one.pairs) if one.pairs else None
        results.append(
            {
                "base": one.base.id,
                "new": one.new.id,
                "metric": one.base.metric,
                "unit": METRICS[one.base.metric].unit,
                "ratio": known.ratio if known else None,
                "low": known.low if known else None,
                "high": known.high if known else None,
                "pairs": one.pairs,
                "reason": one.reason,
            }
        )
    return results


def show_pairs(console: Console, found: Sequence[Paired]) -> None:
    """Print the median of both sides and the ratio of each measurement."""
    table = SafeTable(box=None, header_style="bold", pad_edge=True)
    for heading in ("measurement", "base", "new", "", "new / base", "pairs"):
        table.add_column(heading, justify="left" if heading == "measurement" else "right")
    for one in found:
        if not one.pairs:
            table.add_row(one.base.id, "–", "–", "", one.reason or "not measured", "0")
            continue
        base, new = (median(side) for side in zip(*one.pairs, strict=True))
        unit, factor = scale_of(METRICS[one.base.metric].unit, [base, new])
        known = paired_ratio(one.pairs)
        ratio = f"{known.ratio:.4f}"
        if known.low is not None and known.high is not None:
            ratio += f" {known.low:.4f}..{known.high:.4f}"
        name = one.base.id if one.base.id == one.new.id else f"{one.base.id} | {one.new.id}"
        cells = (f"{base / factor:.4g}", f"{new / factor:.4g}", unit, ratio, str(len(one.pairs)))
        table.add_row(name, *cells)
    console.print(table)
