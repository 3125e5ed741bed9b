"""Comparisons of runs, trends and paired ratios as tables and as JSON."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from math import log1p
from statistics import median
from typing import Any

from rich.console import Console
from rich.text import Text

from tierscope.analysis.change import paired_ratio
from tierscope.analysis.compare import identities, percent
from tierscope.model.base import RECORDED
from tierscope.model.comparison import Comparison, Difference, NotComparable, Verdict
from tierscope.model.metric import METRICS
from tierscope.model.run import Figure, Measurement, Run
from tierscope.model.text import brief
from tierscope.report import figures
from tierscope.report.figures import scale_of, seconds_text
from tierscope.report.naming import path_of
from tierscope.report.pictures.picture import is_usual, label_of, metric_name
from tierscope.report.style import SafeTable, new_table, note, title
from tierscope.runs.pairs import FigureKey, Pair, Paired

_STYLES: dict[Verdict, str] = {
    "slower": "bold red", "faster": "bold green", "undecided": "yellow", "same": "",
    "not comparable": "yellow",
}  # fmt: skip
_EXPLAINED: tuple[Verdict, ...] = ("undecided", "not comparable")
"""Verdicts whose reasons are listed."""
_MAX_ROWS = 20
_MAX_PATHS = 8
_MAX_SAME = 10
"""Lines shown where nothing changed."""
_LONGEST_S = 3600
"""Time of pairs beyond which they are not proposed."""
_SPARKS = "▁▂▃▄▅▆▇█"


def pairs_json(found: Sequence[Paired]) -> list[dict[str, Any]]:
    """Return one object for each figure; the ratio is new / base."""
    results = []
    for one in found:
        for (metric, part), pairs in _figures(one).items():
            known = paired_ratio(pairs) if pairs else None
            results.append(
                {
                    "base": one.base.id,
                    "new": one.new.id,
                    "metric": metric,
                    "part": part,
                    "unit": METRICS[metric].unit,
                    "ratio": known.ratio if known else None,
                    "low": known.low if known else None,
                    "high": known.high if known else None,
                    "pairs": pairs,
                    "reason": one.reason,
                }
            )
    return results


def _figures(one: Paired) -> dict[FigureKey, list[Pair]]:
    """Return the pairs of each figure; where nothing was measured, the headline without pairs."""
    return one.figures or {(one.base.metric, ""): []}


def show_pairs(console: Console, found: Sequence[Paired]) -> None:
    """Print the median of both sides and the ratio of each figure."""
    table = SafeTable(box=None, header_style="bold", pad_edge=True)
    for heading in ("measurement", "base", "new", "", "new / base", "pairs"):
        table.add_column(heading, justify="left" if heading == "measurement" else "right")
    for one in found:
        figures_of_one = _figures(one)
        headline, _ = next(iter(figures_of_one))
        for (metric, part), pairs in figures_of_one.items():
            if not pairs:
                table.add_row(one.base.id, "–", "–", "", one.reason or "not measured", "0")
                continue
            base, new = (median(side) for side in zip(*pairs, strict=True))
            unit, factor = scale_of(METRICS[metric].unit, [base, new])
            known = paired_ratio(pairs)
            ratio = f"{known.ratio:.4f}"
            if known.low is not None and known.high is not None:
                ratio += f" ({known.low:.4f}–{known.high:.4f})"
            name = one.base.id if one.base.id == one.new.id else f"{one.base.id} | {one.new.id}"
            further = metric_name(metric) if metric != headline else ""
            cells = (
                brief(base / factor, 4),
                brief(new / factor, 4),
                unit,
                ratio,
                str(len(pairs)),
            )
            table.add_row(", ".join(filter(None, (name, further, part))), *cells)
    console.print(table)


def show_comparison(console: Console, comparison: Comparison) -> None:
    """Print a comparison of two runs."""
    title(console, f"{comparison.base} → {comparison.new}")
    console.print(Text(headline(comparison), style="bold"))
    for obstacle in comparison.obstacles:
        note(console, f"differs: {obstacle}")
    for remark in comparison.remarks:
        note(console, f"differs, as allowed: {remark}")
    rows = sorted_by_change(comparison)
    changed = [d for d in rows if d.verdict in ("slower", "faster")]
    for line in by_path(comparison)[:_MAX_PATHS] if len(changed) > 1 else []:
        console.print(Text(line))
    if rows:
        shown = rows[: max(len(changed), _MAX_SAME)]
        columns = {"base": base_text, "new": new_text, "change": change_text}
        _show_rows(console, shown, {**columns, "detectable": detectable_text})
        if left_out := len(rows) - min(len(shown), _MAX_ROWS):
            note(console, f"and {left_out} more, --json or -o have all")
    if not comparison.obstacles:
        for verdict in _EXPLAINED:
            for reason, count in reasons_for(verdict, comparison)[:_MAX_ROWS]:
                note(console, f"{verdict} ({count}): {reason}")
    for line in foot_lines(comparison):
        note(console, line)


def headline(comparison: Comparison) -> str:
    """Return the verdicts in one line."""
    if comparison.obstacles:
        return "Not comparable; --allow accepts these differences."
    counts = {verdict: comparison.count(verdict) for verdict in _STYLES}
    parts = [f"{number} {verdict}" for verdict, number in counts.items() if number]
    return (
        ", ".join([*parts, f"of {len(comparison.differences)}"]) if parts else "nothing to compare"
    )


def by_path(comparison: Comparison) -> list[str]:
    """Say what changed path by path: "node:0 → node:1 bandwidth: 30 of 30 slower, -5% to -4%"."""
    groups: dict[tuple[str, str], list[Difference]] = {}
    for d in comparison.differences:
        if d.ratio is not None:
            further = metric_name(d.metric) if "metric" in d.pattern else ""
            groups.setdefault((path_of(d), f"{d.kind} {further}".rstrip()), []).append(d)
    found = []
    for (path, kind), members in groups.items():
        for verdict in ("slower", "faster"):
            changes = sorted(100 * ((d.ratio or 1) - 1) for d in members if d.verdict == verdict)
            if changes:
                ends = dict.fromkeys(f"{change:+.1f}%" for change in (changes[0], changes[-1]))
                text = f"{len(changes)} of {len(members)} {verdict}, {' to '.join(ends)}"
                found.append((len(changes), f"{path} {kind}: {text}"))
    return [text for _, text in sorted(found, key=lambda line: -line[0])]


def reasons_for(verdict: Verdict, comparison: Comparison) -> list[tuple[str, int]]:
    """Return why measurements have a verdict, a line a cause, and how many each."""
    groups: dict[NotComparable | None, Counter[str]] = {}
    for d in comparison.differences:
        if d.verdict == verdict:
            groups.setdefault(d.cause, Counter())[d.reason] += 1
    found = []
    for reasons in groups.values():
        ((reason, _),) = reasons.most_common(1)
        others = f" (and {len(reasons) - 1} similar)" if len(reasons) > 1 else ""
        found.append((reason + others, reasons.total()))
    return found


def sorted_by_change(comparison: Comparison) -> list[Difference]:
    """Return what got slower, faster, is undecided, stayed the same, each by size of change."""
    order = {"slower": 0, "faster": 1, "undecided": 2, "same": 3}
    judged = [d for d in comparison.differences if d.verdict in order]
    return sorted(judged, key=lambda d: (order[d.verdict], -_factor(d)))


def _factor(difference: Difference) -> float:
    ratio = difference.ratio or 1.0
    return max(ratio, 1 / ratio)


def name_of(difference: Difference, without: Collection[str] = ()) -> str:
    """Return the identity of a difference in words, but for its path and some properties."""
    told = {"together", *without}
    return ", ".join(
        label_of(key, value, difference.kind)
        for key, value in difference.pattern.items()
        if key not in told and value not in ("", None) and not is_usual(key, value, difference.kind)
    )


def alike(differences: list[Difference]) -> dict[str, list[str]]:
    """Return, for each kind, the properties that all of its measurements have in common."""
    kinds: dict[str, list[Difference]] = {}
    for d in differences:
        kinds.setdefault(d.kind, []).append(d)
    return {
        kind: [key for key in members[0].pattern
               if len({str(d.pattern.get(key)) for d in members}) == 1]
        for kind, members in kinds.items()
        if len(members) > 1
    }  # fmt: skip


def _show_alike(console: Console, differences: list[Difference]) -> None:
    if len(set(map(path_of, differences))) == 1:
        note(console, f"all of {path_of(differences[0])}")
    for kind, keys in alike(differences).items():
        first = next(d for d in differences if d.kind == kind)
        said = name_of(first, [key for key in first.pattern if key not in keys])
        if said:
            note(console, f"{kind}: all {said}")


def change_text(difference: Difference) -> str:
    """Return the change with its interval: "-5.1% (-6.0 to -4.2)"."""
    if difference.ratio is None:
        return ""
    return percent_text(difference.ratio, difference.low, difference.high)


def percent_text(ratio: float, low: float | None, high: float | None) -> str:
    """Return a ratio with its interval as a change: "-5.1% (-6.0 to -4.2)"."""
    value = 100 * (ratio - 1)
    if low is None or high is None:
        return f"{_signed(value, 1)}%"
    decimals = 1 if high - low < 0.2 else 0
    first, last = (_signed(100 * (one - 1), decimals) for one in (low, high))
    return f"{_signed(value, decimals)}% ({first} to {last})"


def detectable_text(difference: Difference) -> str:
    """Return the smallest change that would have shown: 12%."""
    found = difference.detectable
    return "–" if found is None else percent(log1p(found))


def _signed(value: float, decimals: int) -> str:
    return f"{round(value, decimals) + 0.0:+.{decimals}f}"


def base_text(difference: Difference) -> str:
    """Return the base run's figure with its unit."""
    return _value_text(difference, difference.base)


def new_text(difference: Difference) -> str:
    """Return the new run's figure with its unit."""
    return _value_text(difference, difference.new)


def _value_text(difference: Difference, value: float | None) -> str:
    if value is None:
        return "–"
    unit, factor = figures.scale_of(difference.unit or "count", [value])
    # Each side is known at least as well as their ratio.
    ratio, low, high = (difference.ratio or 1.0, difference.low, difference.high)
    side = Figure.model_validate(
        {
            "metric": difference.metric,
            "unit": difference.unit or "count",
            "estimate": value,
            "ci_low": None if low is None else value * low / ratio,
            "ci_high": None if high is None else value * high / ratio,
        },
        context=RECORDED,
    )
    return f"{figures.plain(side, factor)} {unit}"


def foot_lines(comparison: Comparison) -> list[str]:
    """Say how small a change this comparison could detect, and what its intervals are."""
    seen = [log1p(d.detectable) for d in comparison.differences if d.detectable is not None]
    if not seen:
        return []
    smallest = f"{percent(median(seen))} ({percent(min(seen))} for the most precise)"
    tolerated = f"{100 * comparison.tolerance:.2g}%"
    lines = [
        f"smallest detectable change: {smallest}; up to {tolerated} counts as the same",
        "intervals of new / base hold for all measurements simultaneously, with 95% confidence",
    ]
    lines.append(
        f"from run to run, medians may vary by {100 * comparison.wander:.2g}% beyond their own "
        "intervals (with 90%); the intervals shown include it, and --also RUN narrows them"
    )
    return lines + _next_step(comparison)


def _next_step(comparison: Comparison) -> list[str]:
    """Say what would decide the undecided measurements."""
    if comparison.pairs is None:
        return []
    finest = max(100 * comparison.tolerance, 1)
    further = "further runs of the base (--also), longer ones, a quieter machine"
    seconds = comparison.pairs_s or 0.0
    if seconds > _LONGEST_S:
        return [
            (
                f"a change of {finest:.2g}% cannot be detected on this machine as it is: "
                f"{comparison.pairs} pairs would take {seconds_text(seconds)}"
            ),
            f"what may help: {further}",
        ]
    command = f"tierscope compare --pairs {comparison.pairs} BASE.yaml NEW.yaml"
    time = f", in about {seconds_text(seconds)}" if seconds else ""
    return [
        f"to detect a change of {finest:.2g}%: {command} measures both sides in turn{time}",
        f"where that is impossible: {further}",
    ]


def _show_rows(
    console: Console, rows: list[Difference], columns: dict[str, Callable[[Difference], str]]
) -> None:
    """Print a row for each of the first differences, with these columns by their headings."""
    paths = ["path"] if len(set(map(path_of, rows))) > 1 else []
    words = (*paths, "measurement", "verdict")
    table = new_table(*words[:-1], *columns, "verdict", words=words)
    same = alike(rows)
    for d in rows[:_MAX_ROWS]:
        table.add_row(
            *([path_of(d)] if paths else []),
            f"{d.kind} {name_of(d, same.get(d.kind, []))}",
            *(cell(d) for cell in columns.values()),
            Text(d.verdict, style=_STYLES[d.verdict]),
        )
    console.print(table)
    _show_alike(console, rows)


def show_trend(
    console: Console, runs: list[tuple[str, Run]], comparisons: list[Comparison]
) -> None:
    """Print several runs as a trend, each against the first."""
    title(console, f"{len(runs)} runs, each compared with {runs[0][0]}")
    table = new_table("run", *_STYLES, words=("run",))
    for comparison in comparisons:
        counts = [str(comparison.count(verdict)) for verdict in _STYLES]
        table.add_row(comparison.new, *counts)
    console.print(table)
    for obstacle in dict.fromkeys(text for c in comparisons for text in c.obstacles):
        note(console, f"differs: {obstacle}")
    if ordered := sorted_by_change(comparisons[-1]):
        series = series_of([run for _, run in runs])

        def trend(d: Difference) -> str:
            return spark([m.estimate if m else None for m in series.get(key_of(d), [])])

        columns = {"first": base_text, "trend": trend, "last": new_text}
        _show_rows(console, ordered, {**columns, "last / first": change_text})
    for line in foot_lines(comparisons[-1]):
        note(console, f"last run: {line}")


def key_of(one: Difference | Measurement) -> str:
    """Return what joins a difference with its series over runs."""
    return f"{one.kind} {one.initiator} {one.target} {sorted(one.pattern.items())}"


def series_of(runs: list[Run]) -> dict[str, list[Measurement | None]]:
    """Return each measurement over runs, None where a run has it not."""
    found = [identities(run) for run in runs]
    series = {}
    for key in dict.fromkeys(key for known in found for key in known):
        members = [known.get(key) for known in found]
        name = key_of(next(m for m in members if m is not None))
        series[name] = [m if m is not None and m.estimate is not None else None for m in members]
    return series


def spark(values: list[float | None]) -> str:
    """Return values as a line of blocks, from the lowest to the highest; a gap is a space."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    low, span = min(known), max(known) - min(known)
    # A span under 2% is drawn flat: noise blown up to full height would look like a trend.
    flat = span < 0.02 * max(known)
    most = len(_SPARKS) - 1
    return "".join(
        " " if value is None else _SPARKS[3 if flat else round((value - low) / span * most)]
        for value in values
    )
