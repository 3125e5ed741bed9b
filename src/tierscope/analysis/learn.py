"""Golden values from earlier runs: bounds that a healthy machine meets, and a slow one misses.

A bound is that of a prediction interval of logarithms: the next run's figure is on its right side
with a probability of 99% (Hahn and Meeker, Statistical Intervals, 1991, 4.3.2). The scatter
between runs is joined with what is usual of machines, as if two runs before had shown it, so that
few runs, which happen to be alike, give no narrow bounds.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from tierscope.analysis.best import idle_latencies, is_one_of
from tierscope.analysis.estimate import student_quantile
from tierscope.analysis.expect import OF_LIMIT, Vocabulary, best_figures, parse_rule
from tierscope.model.errors import UserError
from tierscope.model.metric import METRICS
from tierscope.model.run import Measurement, Run, lower_is_better, shared
from tierscope.model.text import brief

_USUAL_SPREAD, _USUAL_RUNS = 0.015, 2
"""Relative standard deviation between runs of a machine that nobody knows, and its weight."""
_MISSED_BY_CHANCE = 0.01
_DIGITS = 3
_NAMED = ("operation", "order", "mix")
"""Properties that tell quantities of a path apart; of all others the best figure counts."""


@dataclass(frozen=True)
class Learned:
    """What runs say of one figure."""

    subject: str
    """The rule up to its colon."""
    lowest: float
    highest: float
    spread: float
    """Relative standard deviation between runs; 0 of one run."""
    runs: int
    unit: str
    rule: str
    """Empty where no run has an undisturbed figure with an interval."""


def learn(runs: Sequence[Run], kinds: Iterable[str], words: Vocabulary) -> list[Learned]:
    """Return a rule for each path and quantity of these kinds that a run has, in their order."""
    taken = {*kinds}
    subjects: dict[str, str] = {}
    for run in runs:
        usual = [m for m in run.measurements if m.kind in taken and _is_learned(m)]
        idle = idle_latencies(usual)
        for m in usual:
            if not lower_is_better(m) or is_one_of(m, idle):
                subjects.setdefault(_subject(m, usual), str(m.unit))
    return [_learned(subject, unit, runs, words) for subject, unit in subjects.items()]


def _is_learned(m: Measurement) -> bool:
    return m.has_figure and m.metric in METRICS and not m.fits_caches and not shared(m)


def _subject(m: Measurement, measured: Sequence[Measurement]) -> str:
    """Return a rule's words for what stands for a path: those properties that vary there."""
    words = [f"{m.initiator} -> {m.target}", m.kind]
    if not lower_is_better(m):
        alike = [one for one in measured if (one.kind, one.unit) == (m.kind, m.unit)]
        for key in _NAMED:
            values = {str(one.pattern.get(key)) for one in alike}
            if key in m.pattern and (key == "operation" or len(values) > 1):
                value = str(m.pattern[key]).replace(" ", "-")
                words.append(value if key == "operation" else f"{key}={value}")
    return " ".join(words)


def _learned(subject: str, unit: str, runs: Sequence[Run], words: Vocabulary) -> Learned:
    try:
        rule = parse_rule(f"{subject}: >= 1 {unit}", words)
    except UserError:  # a path with spaces in it, which no rule can name
        return Learned(subject, 0.0, 0.0, 0.0, 0, unit, "")
    figures = [m for run in runs for m in best_figures(run, rule)[:1] if _decides(m)]
    if not figures or rule.unit == OF_LIMIT:
        return Learned(subject, 0.0, 0.0, 0.0, 0, unit, "")
    lower = lower_is_better(figures[0])
    values = [math.log(m.estimate or 1.0) for m in figures]
    middle, count = fmean(values), len(values)
    squares = sum((value - middle) ** 2 for value in values)
    freedom = _USUAL_RUNS + count - 1
    variance = (_USUAL_RUNS * _USUAL_SPREAD**2 + squares) / freedom
    variance += fmean(_sampling(m) ** 2 for m in figures)
    half = student_quantile(freedom, 2 * _MISSED_BY_CHANCE) * math.sqrt(variance * (1 + 1 / count))
    bound = math.exp(middle + half if lower else middle - half)
    return Learned(
        subject,
        math.exp(min(values)),
        math.exp(max(values)),
        math.sqrt(squares / (count - 1)) if count > 1 else 0.0,
        count,
        unit,
        _rule(subject, bound, unit, lower),
    )


def _decides(m: Measurement) -> bool:
    disturbed = m.evidence is not None and bool(m.evidence.disturbed)
    return bool(m.estimate) and m.ci_low is not None and m.ci_high is not None and not disturbed


def _sampling(m: Measurement) -> float:
    """Return the standard error of the logarithm of a figure with an interval."""
    assert m.ci_low is not None
    assert m.ci_high is not None
    return math.log(m.ci_high / m.ci_low) / 2 / 1.96


def _rule(subject: str, bound: float, unit: str, lower: bool) -> str:
    """Return a rule whose bound is rounded to the side on which it is met."""
    shown, factor = ("GB/s", 1e9) if unit == "B/s" else (unit, 1.0)
    step = 10.0 ** (math.floor(math.log10(bound / factor)) + 1 - _DIGITS)
    rounded = (math.ceil if lower else math.floor)(bound / factor / step) * step
    return f"{subject}: {'<=' if lower else '>='} {brief(rounded, _DIGITS)} {shown}"


def as_file(learned: Sequence[Learned], runs: Sequence[Run]) -> str:
    """Return the text of an expectation file, with what was seen beside each rule."""
    hosts = sorted({run.header.host for run in runs})
    days = sorted(run.header.started[:10] for run in runs)
    where = hosts[0] if len(hosts) == 1 else f"{len(hosts)} hosts, {hosts[0]} to {hosts[-1]}"
    lines = [
        f"# Golden values from {len(runs)} runs of {where}, {days[0]} to {days[-1]}.",
        "# A healthy machine misses a bound by chance in 1 of 100 runs; below each rule: what the",
        "# runs had, lowest to highest, and the standard deviation between them. Edit at will.",
        "version: 1",
        "rules:",
    ]
    for one in learned:
        if not one.rule:
            lines.append(f"  # {one.subject}: no undisturbed figure with an interval")
            continue
        factor, unit = (1e9, "GB/s") if one.unit == "B/s" else (1.0, one.unit)
        low, high = (brief(value / factor, 4) for value in (one.lowest, one.highest))
        seen = f"{low} to {high} {unit}, ±{one.spread:.1%}" if one.runs > 1 else f"{low} {unit}"
        lines += [f'  - "{one.rule}"', f"    # {one.runs} of {len(runs)} runs: {seen}"]
    return "\n".join(lines) + "\n"
