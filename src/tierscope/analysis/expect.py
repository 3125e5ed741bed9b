"""Whether a run's figures meet its golden values; ``analysis.rules`` says how those are written.

Without ``every`` the best figure of each path has to meet a rule: its highest rate, or the latency
of its largest working set under its heaviest load. With ``every``, too, what caches can hold counts
only where the rule names it by ``size`` or ``id``, and the idle points of a curve under load only
where it names ``load_threads``. Rates of concurrent copies are no path's own: they count with
``every``, or named by ``id``, ``way`` (``way=both-ways-summed``) or all endpoints of a set
(``gpu:0-3 -> node:0``); so are those of several targets of storage together, which ``jobs`` names,
too. A metric that is no headline is looked for in the further figures:
``metric=io_latency_p99.9``, of every part or of one (``part=read``). A rule that no measurement
matches fails, and so does one whose path was skipped or failed.
"""

from fnmatch import fnmatchcase
from typing import Any

from tierscope.analysis.concurrent import is_sum, shared
from tierscope.analysis.further import as_measurement
from tierscope.analysis.rules import OF_LIMIT, Rule
from tierscope.model.base import Model
from tierscope.model.metric import METRICS
from tierscope.model.run import Measurement, Run

_SHOWN_IN = {"B/s": ("GB/s", 1e9)}


class Finding(Model):
    """What comparing one path, or one measurement, with one rule found."""

    name: str
    rule: str
    where: str
    path: str
    """Empty where the rule matched nothing."""
    id: str = ""
    kind: str = ""
    pattern: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it
    """What tells the measurement from others of its path."""
    passed: bool
    said: str
    """The figure beside the bound, or why there is none."""


def check(run: Run, rules: list[Rule]) -> list[Finding]:
    """Compare a run with each rule: a finding for each path, or measurement, that it is about."""
    return [finding for rule in rules for finding in _check(run, rule)]


def _check(run: Run, rule: Rule) -> list[Finding]:
    matched = [m for m in run.measurements if _matches(rule, m)]
    if not matched and "metric" in rule.properties:
        further = (as_measurement(m, figure) for m in run.measurements for figure in m.figures)
        matched = [m for m in further if _matches(rule, m)]
    measured = [m for m in matched if m.status == "measured" and _comparable(rule, m)]
    meant = [m for m in measured if _is_meant(rule, m)]
    compared = meant if rule.every else _best_by_path(meant)
    paths = {(m.initiator, m.target) for m in compared}
    missing: dict[tuple[str, str], Measurement] = {}
    for m in matched:
        if m.status != "measured" and (m.initiator, m.target) not in paths:
            missing.setdefault((m.initiator, m.target), m)
    if not compared and not missing:
        return [_unmatched(rule, matched, measured)]
    return [_compared(rule, m) for m in compared] + [_missing(rule, m) for m in missing.values()]


def _matches(rule: Rule, m: Measurement) -> bool:
    if not fnmatchcase(m.initiator, rule.initiator) or not fnmatchcase(m.target, rule.target):
        return False
    if rule.kind and m.kind != rule.kind:
        return False
    values = {**m.pattern, "metric": m.metric, "id": m.id}
    return all(
        str(values.get(key)).replace(" ", "-") == value for key, value in rule.properties.items()
    )


def _is_meant(rule: Rule, m: Measurement) -> bool:
    """Whether a figure is of memory and of its path by itself, or the rule names what it is."""
    if "id" in rule.properties:
        return True
    if m.fits_caches and "size" not in rule.properties:
        return False
    if m.pattern.get("load_threads") == 0 and "load_threads" not in rule.properties:
        return False
    if rule.every:
        return True
    if "way" in m.pattern:
        return "way" in rule.properties
    if "together" in m.pattern:
        return "jobs" in rule.properties
    if shared(m):
        return is_sum(m) and (rule.initiator, rule.target) == (m.initiator, m.target)
    return True


def _comparable(rule: Rule, m: Measurement) -> bool:
    """Whether a figure has the rule's unit; a rate without a known limit has, and then fails."""
    return m.unit == rule.unit or (rule.unit == OF_LIMIT and m.unit == "B/s")


def _best_by_path(measured: list[Measurement]) -> list[Measurement]:
    paths: dict[tuple[str, str, str, str], Measurement] = {}
    for m in measured:
        key = (m.initiator, m.target, m.kind, m.pattern.get("part", ""))
        known = paths.get(key)
        if known is None or _rank(m) > _rank(known):
            paths[key] = m
    return list(paths.values())


def _rank(m: Measurement) -> tuple[float, float, float]:
    estimate = m.estimate or 0.0
    metric = METRICS.get(m.metric or "")
    if metric is not None and metric.better == "lower":
        heaviest_load = -float(m.pattern.get("delay_ns") or 0)
        return float(m.pattern.get("size", 0)), heaviest_load, -estimate
    return estimate, 0.0, 0.0


def _compared(rule: Rule, m: Measurement) -> Finding:
    value = m.efficiency if rule.unit == OF_LIMIT else m.estimate
    if value is None:
        return _finding(rule, m, False, "its limit is not known")
    passed = {
        ">=": value >= rule.bound,
        "<=": value <= rule.bound,
        ">": value > rule.bound,
        "<": value < rule.bound,
    }[rule.comparison]
    return _finding(rule, m, passed, _said(rule, m, value))


def _said(rule: Rule, m: Measurement, value: float) -> str:
    bound = f"asked {rule.comparison} "
    if rule.unit == OF_LIMIT:
        limit = f" {m.limit.value / 1e9:.4g} GB/s, {m.limit.link}" if m.limit else ""
        return f"{value:.3f} of its limit{limit}; {bound}{rule.bound:g}"
    name, factor = _SHOWN_IN.get(rule.unit, (rule.unit, 1.0))
    interval = ""
    if m.ci_low is not None and m.ci_high is not None:
        interval = f" ({m.ci_low / factor:.4g} to {m.ci_high / factor:.4g})"
    return f"{value / factor:.4g}{interval} {name}; {bound}{rule.bound / factor:.4g} {name}"


def _missing(rule: Rule, m: Measurement) -> Finding:
    return _finding(rule, m, False, f"{m.status}: {m.reason}")


def _unmatched(rule: Rule, matched: list[Measurement], measured: list[Measurement]) -> Finding:
    if measured:
        said = (
            "what it matches ran beside others, without load, or may have stayed in caches; "
            "name it by way=, jobs=, load_threads=, size= or id="
        )
    elif matched:
        units = ", ".join(sorted({str(m.unit) for m in matched}))
        said = f"what it matches was measured in {units}, not in {rule.unit}"
    else:
        said = "it matches no measurement of this run"
    return Finding(
        name=rule.name, rule=rule.text, where=rule.where, path="", passed=False, said=said
    )


def _finding(rule: Rule, m: Measurement, passed: bool, said: str) -> Finding:
    return Finding(
        name=rule.name,
        rule=rule.text,
        where=rule.where,
        path=f"{m.initiator} → {m.target}",
        id=m.id,
        kind=m.kind,
        pattern=m.pattern,
        passed=passed,
        said=said,
    )
