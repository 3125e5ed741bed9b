"""What pairs of readers and targets reach at the same time, beside what each reaches alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from tierscope.kinds.io.points import rate
from tierscope.kinds.io.words import rate_text
from tierscope.model.run import Measurement, Run, is_unreliable
from tierscope.recipes.storage_matrix import Matrix
from tierscope.recipes.storage_together import Together
from tierscope.report import figures
from tierscope.report.figures import Figured
from tierscope.report.style import new_table, note, title


@dataclass(frozen=True)
class Row:
    """One pair: what it reaches alone, and at the same time as the others."""

    alone: Measurement
    together: Figured

    @property
    def share(self) -> float:
        """Of what it reaches alone."""
        return (self.together.estimate or 0.0) / (self.alone.estimate or 1.0)


@dataclass(frozen=True)
class Group:
    """Pairs that were measured together, and each alone."""

    what: Together
    measurement: Measurement
    rows: list[Row]

    @property
    def sum(self) -> float:
        """What all pairs reach alone, added up."""
        return sum(row.alone.estimate or 0.0 for row in self.rows)

    @property
    def lost(self) -> bool:
        """Whether together they reach less than the sum by more than the intervals."""
        all_of_it = [self.measurement, *(row.alone for row in self.rows)]
        if any(is_unreliable(m) or not figures.has_interval(m) for m in all_of_it):
            return False
        least = sum(row.alone.ci_low or 0.0 for row in self.rows)
        return (self.measurement.ci_high or 0.0) < least


def groups_of(run: Run, matrix: Matrix) -> list[Group]:
    """Return what was measured together, where each pair was measured alone, too."""
    found = {m.id: m for m in run.measurements if m.status == "measured"}
    groups: list[Group] = []
    for what in matrix.together:
        m = found.get(what.id)
        if m is None or any(name not in found for name in what.alone.values()):
            continue
        parts = [(found[name], rate(m, str(m.metric), part)) for part, name in what.alone.items()]
        rows = [Row(alone, part) for alone, part in parts if part is not None]
        if len(rows) == len(parts):
            groups.append(Group(what, m, rows))
    return groups


def show_together(console: Console, groups: list[Group]) -> None:
    """Print a table of the pairs for each group, and what all of them reach."""
    for group in groups:
        small = group.measurement.metric == "iops"
        rates = [row.alone.estimate or 0.0 for row in group.rows]
        unit, factor = ("IOPS", 1.0) if small else figures.scale_of("B/s", rates)
        backend = group.measurement.pattern["backend"]
        title(console, f"All at once: {group.what.reads} reads by {backend}, {unit}")
        table = new_table()
        for name in ("from", "to", "alone", "all at once", "of alone"):
            table.add_column(name, justify="left" if name in ("from", "to") else "right",
                             overflow="fold")  # fmt: skip
        for row in group.rows:
            table.add_row(
                row.alone.initiator,
                row.alone.target,
                figures.with_interval(row.alone, factor),
                figures.plain(row.together, factor),
                f"{row.share:.0%}",
            )
        console.print(table)
        for line in _lines(group):
            note(console, line, style="")


def _lines(group: Group) -> Iterator[str]:
    share = (group.measurement.estimate or 0.0) / (group.sum or 1.0)
    text = (
        f"{len(group.rows)} pairs at once reach {rate_text(group.measurement)}, {share:.0%} of the "
        "sum of each alone"
    )
    yield text if group.lost else f"{text}; the difference is within the intervals"


def together_json(groups: list[Group]) -> list[dict[str, Any]]:
    """Return a group as an object; ``id`` is that of its measurement."""
    return [
        {
            "reads": group.what.reads,
            "id": group.what.id,
            "share_of_sum": round((group.measurement.estimate or 0.0) / (group.sum or 1.0), 4),
            "significant_loss": group.lost,
            "pairs": [
                {
                    "initiator": row.alone.initiator,
                    "target": row.alone.target,
                    "alone": row.alone.id,
                    "share_of_alone": round(row.share, 4),
                }
                for row in group.rows
            ],
        }
        for group in groups
    ]
