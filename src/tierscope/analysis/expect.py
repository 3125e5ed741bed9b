"""Golden values as text: rules that a run's figures have to meet, in a file beside a machine's
configuration.

A rule is one line::

    [every] TARGET <- INITIATOR [WORD...]: COMPARISON NUMBER [UNIT | of limit]

    gpu:* <- node: >= 0.85 of limit
    node:0 -> node:* read: >= 20 GB/s
    every node:0 -> node:0 latency pages=thp: <= 130 ns

``A <- B`` is ``B -> A`` and names the path as tables do: of GPU copies from B's memory to A's; of
all other kinds B is the initiator and A the target. Each side is an endpoint, a pattern of one
(``gpu:*``), a kind of endpoint alone (``node``) or ``*``. Words narrow a rule: a kind of
measurement (``latency``), an operation (``read``) or a property (``threads=2``, ``size=1g``).

Without ``every`` the best figure of each path has to meet a rule: its highest rate, its idle
latency (``idle_latencies``), or the latency under its heaviest load. With ``every``, too, what
caches can hold counts only where the rule names it by ``size`` or ``id``, and the idle points of a
curve under load only where it names ``load_threads``. Rates of concurrent copies are no path's own:
they count with ``every``, or named by ``id``, ``way`` (``way=both-ways-summed``), or all endpoints
of a set (``gpu:0-3 -> node:0``); so do those of several targets of storage together, which ``jobs``
names, too. A metric that is not a headline is looked for in the further figures:
``metric=io_latency_p99.9``, of every part or of one (``part=read``). A rule that matches nothing is
a mistake of its file.

A rule is *met* where all of a figure's confidence interval meets the bound, and *missed* where none
of it does. Else it is *inconclusive*: the bound lies within the interval, there is none, or other
programs disturbed the figure. Where the best of several figures counts, one that meets the bound is
enough, and all have to miss it. A path that was skipped or failed is *not measured*.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from tierscope.analysis.best import Ends, conservative_rank, idle_latencies, is_one_of
from tierscope.model.base import Model
from tierscope.model.endpoint import EndpointKind
from tierscope.model.errors import UserError, did_you_mean, shown
from tierscope.model.gpu import SUM
from tierscope.model.metric import METRICS
from tierscope.model.run import Measurement, Run, lower_is_better, shared
from tierscope.model.text import brief
from tierscope.plans.grammar import parse_duration, parse_size
from tierscope.plans.yaml_file import Place, compose, mapping, read_text, scalar, sequence

OF_LIMIT = "of limit"
_VERSION = "1"
_RULE = re.compile(
    r"(?P<subject>.*\S)\s*:\s*(?P<comparison>>=|<=|>|<)\s*(?P<number>[^\s%]+)\s*(?P<unit>.*)"
)
_ARROWS = {"<-": True, "←": True, "->": False, "→": False}
_MULTIPLES: dict[str, dict[str, float]] = {
    "B/s": {"TB/s": 1e12, "GB/s": 1e9, "MB/s": 1e6, "kB/s": 1e3},
    "ns": {"us": 1e3, "µs": 1e3, "ms": 1e6},
    "1/s": {"million/s": 1e6},
}
UNITS: dict[str, tuple[str, float]] = {
    spelling: (unit, factor)
    for unit in dict.fromkeys(metric.unit for metric in METRICS.values())
    for spelling, factor in {**_MULTIPLES.get(unit, {}), unit: 1.0}.items()
} | {OF_LIMIT: (OF_LIMIT, 1.0), f"% {OF_LIMIT}": (OF_LIMIT, 0.01)}
"""Units of bounds: the unit compared in, and the factor to it."""
_YES_NO = {"yes": "True", "true": "True", "no": "False", "false": "False"}
_SHOWN_IN = {"B/s": ("GB/s", 1e9)}
Verdict = Literal["met", "missed", "inconclusive", "not measured"]


@dataclass(frozen=True)
class Vocabulary:
    """The words that rules may use of the kinds of measurement; made from the kinds' registry."""

    kinds: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    properties: Mapping[str, type] = field(default_factory=dict)
    """Keys of what run files record of a measurement, with the type of their values."""


class Rule(Model):
    """One rule of an expectation file."""

    text: str
    where: str
    """File and line, for messages."""
    name: str
    every: bool
    initiator: str
    target: str
    """Patterns of endpoints."""
    kind: str = ""
    properties: dict[str, str]
    comparison: Literal[">=", "<=", ">", "<"]
    bound: float
    """In the metrics' units; of a limit, a share."""
    unit: str
    """A metric's unit, or "of limit"."""


@dataclass(frozen=True)
class Expectation:
    """An expectation file."""

    rules: list[Rule]
    again_s: float = 0.0
    """For how long what is inconclusive is measured again, at most."""


def read_expectation(path: Path, words: Vocabulary) -> Expectation:
    """Return what a file has; raises UserError with file, line and key."""
    return parse_expectation(read_text(path, "expectation"), shown(path), words)


def parse_expectation(text: str, path: str, words: Vocabulary) -> Expectation:
    """Return what a text has; ``path`` is for error messages only."""
    root = compose(text, path)
    if root is None:
        raise UserError(f"{path}:1: the file is empty; it needs a key 'rules'")
    place = Place(path)
    top = mapping(place, root, "the file", ("version", "again", "rules"))
    if "version" in top and scalar(place, top["version"], "version") != _VERSION:
        raise place.error(top["version"], f"key 'version': this tierscope reads {_VERSION}")
    if "rules" not in top:
        raise place.error(root, "the file has no key 'rules'")
    again_s = 0.0
    if "again" in top:
        try:
            again_s = parse_duration(scalar(place, top["again"], "again"), 0, 86400)
        except UserError as error:
            raise place.error(top["again"], f"key 'again': {error}") from None
    rules = [_item(place, node, words) for node in sequence(place, top["rules"], "rules")]
    return Expectation(rules, again_s)


def _item(place: Place, node: Any, words: Vocabulary) -> Rule:
    """Parse an item: a rule's text, or a mapping of its name and text."""
    from yaml import MappingNode

    name, key = "", "rules"
    where = f"{place.path}:{node.start_mark.line + 1}"
    if isinstance(node, MappingNode):
        if _is_unquoted(node):
            raise place.error(
                node, "key 'rules': put the whole rule in quotes; YAML splits it at ': ' otherwise"
            )
        parts = mapping(place, node, "a rule", ("name", "rule"))
        if "rule" not in parts:
            raise place.error(node, "a rule needs a key 'rule'")
        name = scalar(place, parts["name"], "name") if "name" in parts else ""
        node, key = parts["rule"], "rule"
    text = " ".join(scalar(place, node, key).split())
    try:
        return parse_rule(text, words, where, name)
    except UserError as error:
        raise place.error(node, f"key '{key}': {error}") from None


def _is_unquoted(node: Any) -> bool:
    from yaml import ScalarNode

    keys = [key.value for key, _ in node.value if isinstance(key, ScalarNode)]
    return any(arrow in key for key in keys for arrow in _ARROWS)


def parse_rule(text: str, words: Vocabulary, where: str = "", name: str = "") -> Rule:
    """Parse one rule; raises UserError that says what is wrong and what is allowed."""
    match = _RULE.fullmatch(text)
    if not match:
        raise UserError(
            f"'{text}' is not a rule; write it as 'TARGET <- INITIATOR: >= NUMBER UNIT', such as "
            "'gpu:* <- node: >= 0.85 of limit'"
        )
    subject = match["subject"].split()
    every = subject[0] == "every"
    subject = subject[1:] if every else subject
    arrow = subject[1] if len(subject) > 1 else ""
    if len(subject) < 3 or arrow not in _ARROWS:
        raise UserError(
            f"'{match['subject']}' names no path; write TARGET <- INITIATOR or INITIATOR -> TARGET"
        )
    first, second = _endpoint(subject[0]), _endpoint(subject[2])
    target, initiator = (first, second) if _ARROWS[arrow] else (second, first)
    kind, properties = _narrowed(subject[3:], words)
    unit, factor = _unit(match["unit"].strip(), "%" in text[match.end("number") :][:2])
    return Rule.model_validate(
        {
            "text": text, "where": where, "name": name or text, "every": every,
            "initiator": initiator, "target": target, "kind": kind, "properties": properties,
            "comparison": match["comparison"], "bound": _number(match["number"]) * factor,
            "unit": unit,
        }
    )  # fmt: skip


def _endpoint(word: str) -> str:
    """Return an endpoint's pattern; ``gpu`` alone is any GPU."""
    kinds = tuple(EndpointKind)
    name, colon, rest = word.partition(":")
    if word == "*":
        return word
    if name not in kinds:
        raise UserError(
            f"'{word}' is not an endpoint; write {', '.join(f'{kind}:*' for kind in kinds)} or *"
            f"{did_you_mean(name, tuple(map(str, kinds)))}"
        )
    if colon and not rest:
        raise UserError(f"'{word}' ends at its colon; '{name}:*' is any {name}")
    return word if colon else f"{name}:*"


def _narrowed(subject: list[str], words: Vocabulary) -> tuple[str, dict[str, str]]:
    """Return the kind and the properties that a rule's words name."""
    kind, properties = "", {}
    known = {**words.properties, "metric": str, "part": str, "id": str}
    for word in subject:
        key, equals, value = word.partition("=")
        if equals:
            if key not in known:
                raise UserError(
                    f"unknown property '{key}'{did_you_mean(key, tuple(known))}; "
                    f"allowed: {', '.join(known)}"
                )
            properties[key] = _value(key, value, known[key])
        elif word in words.kinds and not (kind and word in words.operations):
            kind = word  # some kinds' operations have the names of other kinds
        elif word in words.operations:
            properties["operation"] = word
        else:
            allowed = (*words.kinds, *words.operations)
            raise UserError(
                f"'{word}' is neither a kind of measurement, an operation nor KEY=VALUE"
                f"{did_you_mean(word, allowed)}; allowed: {', '.join(allowed)}, KEY=VALUE"
            )
    return kind, properties


def _value(key: str, text: str, kind: type) -> str:
    """Return a property's value as ``str()`` writes what run files hold."""
    if kind is int:
        return str(parse_size(text))
    if kind is float:
        return str(_number(text))
    if kind is bool:
        if text.lower() not in _YES_NO:
            raise UserError(f"{key}='{text}' is neither yes nor no")
        return _YES_NO[text.lower()]
    if key == "metric" and text not in METRICS:
        known = tuple(METRICS)
        raise UserError(f"'{text}' is not a metric{did_you_mean(text, known)}")
    return text


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise UserError(f"'{text}' is not a number") from None
    if not (math.isfinite(value) and 0 < value < 1e18):
        raise UserError(f"'{text}' is out of range: more than 0, less than 1e18")
    return value


def _unit(text: str, percent: bool) -> tuple[str, float]:
    word = " ".join(text.split())
    if percent and not word.startswith("%"):
        word = f"% {word}"
    if word not in UNITS:
        said = f"'{word}' is not one of" if word else "the number has no unit; write one of"
        raise UserError(f"{said} {', '.join(UNITS)}{did_you_mean(word, tuple(UNITS))}")
    return UNITS[word]


class Finding(Model):
    """Outcome of one rule for one path or measurement."""

    name: str
    rule: str
    where: str
    path: str
    """Empty where the rule matched nothing."""
    id: str = ""
    kind: str = ""
    pattern: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it
    """Properties that distinguish the measurement from others of its path."""
    verdict: Verdict
    said: str
    """The figure beside the bound, or why there is none."""


def check(run: Run, rules: list[Rule]) -> list[Finding]:
    """Compare a run with each rule: a finding for each path, or measurement, that it is about."""
    return [finding for rule in rules for finding in _check(run, rule)]


def best_figures(run: Run, rule: Rule) -> list[Measurement]:
    """Return the best figure of each path that a rule is about."""
    _, measured = _matched(run, rule)
    return [members[0] for members in _by_path([m for m in measured if _is_meant(rule, m)])]


def refuse_unmatched(run: Run, findings: list[Finding]) -> None:
    """Raise UserError with file, line and text of a rule that matches nothing in a whole run.

    In a run that ended early, its figure may only not have been reached.
    """
    if run.footer is None or run.footer.interrupted:
        return
    for finding in findings:
        if not finding.path:
            raise UserError(f"{finding.where}: rule '{finding.rule}': {finding.said}")


def _check(run: Run, rule: Rule) -> list[Finding]:
    matched, measured = _matched(run, rule)
    meant = [m for m in measured if _is_meant(rule, m)]
    if rule.every:
        found = [_compared(rule, m) for m in meant]
    else:
        found = [_deciding(rule, members) for members in _by_path(meant)]
    paths = {finding.path for finding in found}
    missing: dict[str, Measurement] = {}
    for m in matched:
        if m.status != "measured" and (path := _path_of(m)) not in paths:
            missing.setdefault(path, m)
    if not found and not missing:
        return [_unmatched(rule, matched, measured)]
    return found + [_missing(rule, m) for m in missing.values()]


def _matched(run: Run, rule: Rule) -> tuple[list[Measurement], list[Measurement]]:
    """Return what a rule matches, and those of it that have a figure in its unit."""
    matched = [one for m in run.measurements for one in _figures(rule, m) if _matches(rule, one)]
    return matched, [m for m in matched if m.status == "measured" and _comparable(rule, m)]


def _figures(rule: Rule, m: Measurement) -> list[Measurement]:
    """Return a measurement with each figure that a rule may be about.

    That is the headline, unless the rule names a part, or a metric that is not the headline's.
    """
    named = rule.properties.keys() & {"metric", "part"}
    of_headline = not named or (named == {"metric"} and rule.properties["metric"] == m.metric)
    return [m.of_figure(one) for one in m.figures[: 1 if of_headline else None]] or [m]


def _matches(rule: Rule, m: Measurement) -> bool:
    if not fnmatchcase(m.initiator, rule.initiator) or not fnmatchcase(m.target, rule.target):
        return False
    if rule.kind and m.kind != rule.kind:
        return False
    values = {**m.pattern, "metric": m.metric, "id": m.id}
    return all(
        str(values.get(key)).replace(" ", "-") == value for key, value in rule.properties.items()
    )


def _is_sum(measurement: Measurement) -> bool:
    """Return whether it sums up several transfers, and its endpoints name all of theirs."""
    return str(measurement.pattern.get("transfers", "")).startswith(SUM)


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
        return _is_sum(m) and (rule.initiator, rule.target) == (m.initiator, m.target)
    return True


def _comparable(rule: Rule, m: Measurement) -> bool:
    """Whether a figure has the rule's unit; a rate without a known limit has, and then fails."""
    return m.unit == rule.unit or (rule.unit == OF_LIMIT and m.unit == "B/s")


def _by_path(measured: list[Measurement]) -> list[list[Measurement]]:
    """Return the figures of which the best one counts for its path, that one first."""
    idle = idle_latencies(measured)
    paths: dict[tuple[str, ...], list[Measurement]] = {}
    for m in measured:
        key = (m.initiator, m.target, m.kind, *(m.pattern.get(k, "") for k in ("metric", "part")))
        paths.setdefault(key, []).append(m)
    return [_candidates(members, idle) for members in paths.values()]


def _candidates(measured: list[Measurement], idle: dict[Ends, Measurement]) -> list[Measurement]:
    if not lower_is_better(measured[0]):
        counting = measured
    elif loaded := [m for m in measured if m.pattern.get("load_threads")]:
        heaviest = min(map(_delay, loaded))
        counting = [m for m in loaded if _delay(m) == heaviest]
    else:
        counting = [m for m in measured if is_one_of(m, idle)] or measured
    return sorted(counting, key=conservative_rank, reverse=True)


def _delay(m: Measurement) -> float:
    return float(m.pattern.get("delay_ns") or 0)


def _deciding(rule: Rule, candidates: list[Measurement]) -> Finding:
    """Return what decides for a path: one figure that meets the rule is enough, and all have to
    miss it."""
    findings = [_compared(rule, m) for m in candidates]
    order: tuple[Verdict, ...] = ("met", "inconclusive", "missed")
    return min(findings, key=lambda finding: order.index(finding.verdict))


def _compared(rule: Rule, m: Measurement) -> Finding:
    value = m.efficiency if rule.unit == OF_LIMIT else m.estimate
    if value is None:
        return _finding(rule, m, "inconclusive", "its limit is not known")
    verdict, why = _verdict(rule, m, value)
    said = _said(rule, m, value)
    return _finding(rule, m, verdict, f"{said}; {why}" if why else said)


def _verdict(rule: Rule, m: Measurement, value: float) -> tuple[Verdict, str]:
    """Return whether a figure meets its bound, and why that is inconclusive."""
    if m.evidence is not None and m.evidence.disturbed:
        return "inconclusive", "other programs disturbed it"
    if m.ci_low is None or m.ci_high is None or not m.estimate:
        return "inconclusive", "it has no confidence interval"
    scale = value / m.estimate  # to shares of the limit, where the rule is about those
    low, high = m.ci_low * scale, m.ci_high * scale
    meets = {
        ">=": (low >= rule.bound, high >= rule.bound),
        ">": (low > rule.bound, high > rule.bound),
        "<=": (high <= rule.bound, low <= rule.bound),
        "<": (high < rule.bound, low < rule.bound),
    }[rule.comparison]
    if all(meets):
        return "met", ""
    return ("inconclusive", "the bound is within its interval") if any(meets) else ("missed", "")


def _said(rule: Rule, m: Measurement, value: float) -> str:
    bound = f"asked {rule.comparison} "
    if rule.unit == OF_LIMIT:
        limit = f" {m.limit.value / 1e9:.4g} GB/s, {m.limit.link}" if m.limit else ""
        return f"{value:.3f} of its limit{limit}; {bound}{rule.bound:g}"
    name, factor = _SHOWN_IN.get(rule.unit, (rule.unit, 1.0))

    def said(value: float) -> str:
        return brief(value / factor, 4)

    interval = ""
    if m.ci_low is not None and m.ci_high is not None:
        interval = f" ({said(m.ci_low)} to {said(m.ci_high)})"
    return f"{said(value)}{interval} {name}; {bound}{said(rule.bound)} {name}"


def _missing(rule: Rule, m: Measurement) -> Finding:
    return _finding(rule, m, "not measured", f"{m.status}: {m.reason}")


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
        name=rule.name,
        rule=rule.text,
        where=rule.where,
        path="",
        verdict="not measured",
        said=said,
    )


def _path_of(m: Measurement) -> str:
    return f"{m.initiator} → {m.target}"


def _finding(rule: Rule, m: Measurement, verdict: Verdict, said: str) -> Finding:
    return Finding(
        name=rule.name,
        rule=rule.text,
        where=rule.where,
        path=_path_of(m),
        id=m.id,
        kind=m.kind,
        pattern=m.pattern,
        verdict=verdict,
        said=said,
    )
