"""The page of a comparison: two runs, or several as a trend."""

from dataclasses import dataclass

from tierscope.model.comparison import Comparison, Difference
from tierscope.model.run import Run
from tierscope.report.compare import (
    base_text,
    by_path,
    change_text,
    detectable_text,
    foot_lines,
    headline,
    key_of,
    name_of,
    new_text,
    reasons_for,
    series_of,
    sorted_by_change,
)
from tierscope.report.html.page import Drawn, csv_line, drawn, packed, template
from tierscope.report.naming import path_of
from tierscope.report.pictures.changes import changes_picture, trend_picture

_MAX_ROWS = 120
_MAX_TRENDS = 12
_MAX_PATHS = 12


@dataclass(frozen=True)
class Row:
    """One difference on the page."""

    path: str
    what: str
    base: str
    new: str
    change: str
    detectable: str
    verdict: str


@dataclass(frozen=True)
class Side:
    """One comparison on the page."""

    id: str
    comparison: Comparison
    headline: str
    rows: list[Row]
    left_out: int
    paths: list[str]
    """What changed, path by path."""
    undecided: list[tuple[str, int]]
    refused: list[tuple[str, int]]
    notes: list[str]
    picture: Drawn | None
    data: str


def render_comparison(runs: list[tuple[str, Run]], comparisons: list[Comparison]) -> str:
    """Return the page of comparisons with the first run."""
    most = _MAX_ROWS // len(comparisons)
    sides = [_side(f"side{number}", c, most) for number, c in enumerate(comparisons, 1)]
    trends = _trends(runs, comparisons[-1]) if len(runs) > 2 else []
    settings = [
        (name, [run.header.environment.get(name, "–") for _, run in runs])
        for name in dict.fromkeys(key for _, run in runs for key in run.header.environment)
    ]
    differing = [(name, values) for name, values in settings if len(set(values)) > 1]
    common = [(name, values[0]) for name, values in settings if len(set(values)) == 1]
    return str(
        template("compare.html").render(
            runs=runs, sides=sides, trends=trends, differing=differing, common=common
        )
    )


def _side(prefix: str, comparison: Comparison, most: int) -> Side:
    ordered = sorted_by_change(comparison)
    return Side(
        id=prefix,
        comparison=comparison,
        headline=headline(comparison),
        rows=[_row(d) for d in ordered[:most]],
        left_out=max(0, len(ordered) - most),
        paths=by_path(comparison)[:_MAX_PATHS],
        undecided=reasons_for("undecided", comparison),
        refused=reasons_for("not comparable", comparison),
        notes=foot_lines(comparison),
        picture=drawn(prefix, changes_picture(ordered)) if ordered else None,
        data=packed(_csv(comparison)),
    )


def _row(difference: Difference) -> Row:
    return Row(
        path=path_of(difference),
        what=f"{difference.kind} {name_of(difference)}",
        base=base_text(difference),
        new=new_text(difference),
        change=change_text(difference),
        detectable=detectable_text(difference),
        verdict=difference.verdict,
    )


def _csv(comparison: Comparison) -> list[str]:
    names = ("kind", "initiator", "target", "pattern", "metric", "unit", "base", "new", "ratio",
             "low", "high", "detectable", "verdict", "reason")  # fmt: skip
    lines = [csv_line(list(names))]
    for difference in comparison.differences:
        values = difference.model_dump(mode="json")
        values["pattern"] = name_of(difference)
        lines.append(csv_line(["" if values[key] is None else str(values[key]) for key in names]))
    return lines


def _trends(runs: list[tuple[str, Run]], last: Comparison) -> list[Drawn]:
    """Draw what changed most over all runs."""
    series = series_of([run for _, run in runs])
    names = [name for name, _ in runs]
    return [
        drawn(f"trend{number}", trend_picture(one, series.get(key_of(one), []), names))
        for number, one in enumerate(sorted_by_change(last)[:_MAX_TRENDS], 1)
    ]
