"""Golden values: rules that a run's figures have to meet, kept beside a machine's configuration.

A rule is one line::

    [every] TARGET <- INITIATOR [WORD...]: COMPARISON NUMBER [UNIT | of limit]

    gpu:* <- node: >= 0.85 of limit
    node:0 -> node:* read: >= 20 GB/s
    every node:0 -> node:0 latency pages=thp: <= 130 ns

``A <- B`` is ``B -> A``, and means the path that tables call so: of GPU copies from B's memory to
A's, of all other kinds B is the initiator and A the target. An end is an endpoint, a pattern of
one (``gpu:*``), a kind of endpoint alone (``node``) or ``*``. Words narrow a rule: a kind
(``latency``), an operation (``read``) or a property (``threads=2``, ``size=1g``).

Without ``every`` the best figure of each path has to meet the rule: its highest rate, or the
latency of its largest working set, which is the memory's and no cache's. Rates of several copies at
once, and of what caches can hold, are no path's own: they count where the rule names them, by
``id``, ``way`` (``way=both-ways-summed``), ``size`` or all ends of a set (``gpu:0-3 -> node:0``). A
rule that no measurement matches fails, and so does one whose path was skipped or failed.
"""

import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from tierscope.analysis.caches import may_stay_in_caches
from tierscope.analysis.flat import is_sum, shared
from tierscope.model.base import Model
from tierscope.model.endpoint import EndpointKind
from tierscope.model.errors import UserError
from tierscope.model.run import Measurement, Run
from tierscope.plans.grammar import did_you_mean, parse_size
from tierscope.plans.yaml_file import Place, compose, mapping, read_text, scalar, sequence

_VERSION = "1"
_RULE = re.compile(
    r"(?P<subject>.*\S)\s*:\s*(?P<comparison>>=|<=|>|<)\s*(?P<number>[^\s%]+)\s*(?P<unit>.*)"
)
_ARROWS = {"<-": True, "←": True, "->": False, "→": False}
_UNITS: dict[str, tuple[str, float]] = {
    "TB/s": ("B/s", 1e12), "GB/s": ("B/s", 1e9), "MB/s": ("B/s", 1e6), "kB/s": ("B/s", 1e3),
    "B/s": ("B/s", 1.0), "ns": ("ns", 1.0), "us": ("ns", 1e3), "µs": ("ns", 1e3),
    "ms": ("ns", 1e6), "1/s": ("1/s", 1.0), "of limit": ("of limit", 1.0),
    "% of limit": ("of limit", 0.01),
}  # fmt: skip
_OPERATIONS = ("read", "write", "write-nt", "copy", "copy-nt", "scale", "add", "triad", "rmw")
_KINDS = ("bandwidth", "latency", "loaded-latency", "gpu-copy", "gpu-memory", "gpu-latency")
_KEYS = (
    "operation", "order", "threads", "size", "access_size", "stride", "pages", "isa", "policy",
    "mechanism", "streams", "engine", "memory", "way", "issued", "mix", "metric", "id",
)  # fmt: skip
_SIZES = ("size", "access_size", "stride")


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
    """In bytes/s, ns or 1/s; of a limit, a share."""
    unit: str
    """B/s, ns, 1/s or "of limit"."""


class Finding(Model):
    """What holding one rule against one path, or one measurement, found."""

    name: str
    rule: str
    where: str
    path: str
    """Empty where the rule matched nothing."""
    id: str = ""
    passed: bool
    said: str
    """The figure beside the bound, or why there is none."""


def read_rules(path: Path) -> list[Rule]:
    """Return the rules of a file; raises UserError with file, line and key."""
    return parse_rules(read_text(path, "expectation"), str(path))


def parse_rules(text: str, path: str) -> list[Rule]:
    """Return the rules of a text; ``path`` is for error messages only."""
    root = compose(text, path)
    if root is None:
        raise UserError(f"{path}:1: the file is empty; it needs a key 'rules'")
    place = Place(path)
    top = mapping(place, root, "the file", ("version", "rules"))
    if "version" in top and scalar(place, top["version"], "version") != _VERSION:
        raise place.error(top["version"], f"key 'version': this tierscope reads {_VERSION}")
    if "rules" not in top:
        raise place.error(root, "the file has no key 'rules'")
    return [_rule(place, node) for node in sequence(place, top["rules"], "rules")]


def _rule(place: Place, node: Any) -> Rule:
    """Parse an item: a rule's text, or a mapping of its name and text."""
    from ruamel.yaml.nodes import MappingNode

    name, key = "", "rules"
    where = f"{place.path}:{node.start_mark.line + 1}"
    if isinstance(node, MappingNode):
        if _is_unquoted(node):
            raise place.error(
                node, "key 'rules': put the whole rule in quotes; without, YAML splits it at ': '"
            )
        parts = mapping(place, node, "a rule", ("name", "rule"))
        if "rule" not in parts:
            raise place.error(node, "a rule needs a key 'rule'")
        name = scalar(place, parts["name"], "name") if "name" in parts else ""
        node, key = parts["rule"], "rule"
    text = " ".join(scalar(place, node, key).split())
    try:
        return parse_rule(text, where, name)
    except UserError as error:
        raise place.error(node, f"key '{key}': {error}") from None


def _is_unquoted(node: Any) -> bool:
    from ruamel.yaml.nodes import ScalarNode

    keys = [key.value for key, _ in node.value if isinstance(key, ScalarNode)]
    return any(arrow in key for key in keys for arrow in _ARROWS)


def parse_rule(text: str, where: str = "", name: str = "") -> Rule:
    """Parse one rule; raises UserError that says what is wrong and what is allowed."""
    match = _RULE.fullmatch(text)
    if not match:
        raise UserError(
            f"'{text}' is no rule; write it as 'TARGET <- INITIATOR: >= NUMBER UNIT', such as "
            "'gpu:* <- node: >= 0.85 of limit'"
        )
    words = match["subject"].split()
    every = words[0] == "every"
    words = words[1:] if every else words
    arrow = words[1] if len(words) > 1 else ""
    if len(words) < 3 or arrow not in _ARROWS:
        raise UserError(
            f"'{match['subject']}' names no path; write TARGET <- INITIATOR or INITIATOR -> TARGET"
        )
    first, second = _end(words[0]), _end(words[2])
    target, initiator = (first, second) if _ARROWS[arrow] else (second, first)
    kind, properties = _words(words[3:])
    unit, factor = _unit(match["unit"].strip(), "%" in text[match.end("number") :][:2])
    return Rule.model_validate(
        {
            "text": text, "where": where, "name": name or text, "every": every,
            "initiator": initiator, "target": target, "kind": kind, "properties": properties,
            "comparison": match["comparison"], "bound": _number(match["number"]) * factor,
            "unit": unit,
        }
    )  # fmt: skip


def _end(word: str) -> str:
    """Return an endpoint's pattern; ``gpu`` alone is any GPU."""
    kinds = tuple(EndpointKind)
    name, colon, rest = word.partition(":")
    if word == "*":
        return word
    if name not in kinds:
        raise UserError(
            f"'{word}' is no endpoint: {', '.join(f'{kind}:*' for kind in kinds)} or *"
            f"{did_you_mean(name, tuple(map(str, kinds)))}"
        )
    if colon and not rest:
        raise UserError(f"'{word}' ends at its colon; '{name}:*' is any {name}")
    return word if colon else f"{name}:*"


def _words(words: list[str]) -> tuple[str, dict[str, str]]:
    kind, properties = "", {}
    for word in words:
        key, equals, value = word.partition("=")
        if equals:
            if key not in _KEYS:
                raise UserError(
                    f"unknown property '{key}'{did_you_mean(key, _KEYS)}; "
                    f"allowed: {', '.join(_KEYS)}"
                )
            properties[key] = str(parse_size(value)) if key in _SIZES else value
        elif word in _OPERATIONS:
            properties["operation"] = word
        elif word in _KINDS:
            kind = word
        else:
            known = (*_KINDS, *_OPERATIONS)
            raise UserError(
                f"'{word}' is neither a kind, an operation nor a property"
                f"{did_you_mean(word, known)}; allowed: {', '.join(known)}, KEY=VALUE"
            )
    return kind, properties


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise UserError(f"'{text}' is not a number") from None
    if not 0 < value < 1e18:
        raise UserError(f"'{text}' is out of range: more than 0, at most 1e18")
    return value


def _unit(text: str, percent: bool) -> tuple[str, float]:
    word = " ".join(text.split())
    if percent and not word.startswith("%"):
        word = f"% {word}"
    if word not in _UNITS:
        said = f"'{word}' is not one of" if word else "the number has no unit; write one of"
        raise UserError(f"{said} {', '.join(_UNITS)}{did_you_mean(word, tuple(_UNITS))}")
    return _UNITS[word]


def check(run: Run, rules: list[Rule]) -> list[Finding]:
    """Hold each rule against a run: a finding for each path, or measurement, that it is about."""
    return [finding for rule in rules for finding in _check(run, rule)]


def _check(run: Run, rule: Rule) -> list[Finding]:
    matched = [m for m in run.measurements if _matches(rule, m)]
    measured = [m for m in matched if m.status == "measured" and _comparable(rule, m)]
    meant = [m for m in measured if _is_meant(run, rule, m)]
    held = meant if rule.every else _best_by_path(meant)
    paths = {(m.initiator, m.target) for m in held}
    missing: dict[tuple[str, str], Measurement] = {}
    for m in matched:
        if m.status != "measured" and (m.initiator, m.target) not in paths:
            missing.setdefault((m.initiator, m.target), m)
    if not held and not missing:
        return [_unmatched(rule, matched, measured)]
    return [_held(rule, m) for m in held] + [_missing(rule, m) for m in missing.values()]


def _matches(rule: Rule, m: Measurement) -> bool:
    if not fnmatchcase(m.initiator, rule.initiator) or not fnmatchcase(m.target, rule.target):
        return False
    if rule.kind and m.kind != rule.kind:
        return False
    values = {**m.pattern, "metric": m.metric, "id": m.id}
    return all(
        str(values.get(key)).replace(" ", "-") == value for key, value in rule.properties.items()
    )


def _is_meant(run: Run, rule: Rule, m: Measurement) -> bool:
    """Whether a figure is of memory and of its path by itself, or the rule names what it is."""
    if rule.every or "id" in rule.properties:
        return True
    if "way" in m.pattern:
        return "way" in rule.properties
    if shared(m):
        return is_sum(m) and (rule.initiator, rule.target) == (m.initiator, m.target)
    return "size" in rule.properties or not may_stay_in_caches(run, m)


def _comparable(rule: Rule, m: Measurement) -> bool:
    """Whether a figure has the rule's unit; one without a known limit has, and then fails."""
    return m.unit == rule.unit or (rule.unit == "of limit" and m.unit == "B/s")


def _best_by_path(measured: list[Measurement]) -> list[Measurement]:
    paths: dict[tuple[str, str, str], Measurement] = {}
    for m in measured:
        key = (m.initiator, m.target, m.kind)
        known = paths.get(key)
        if known is None or _rank(m) > _rank(known):
            paths[key] = m
    return list(paths.values())


def _rank(m: Measurement) -> tuple[float, float]:
    estimate = m.estimate or 0.0
    if m.unit == "ns":
        return float(m.pattern.get("size", 0)), -estimate
    return estimate, 0.0


def _held(rule: Rule, m: Measurement) -> Finding:
    value = m.efficiency if rule.unit == "of limit" else m.estimate
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
    if rule.unit == "of limit":
        limit = f" {m.limit.value / 1e9:.4g} GB/s, {m.limit.link}" if m.limit else ""
        return f"{value:.3f} of its limit{limit}; {bound}{rule.bound:g}"
    name, factor = {"B/s": ("GB/s", 1e9), "ns": ("ns", 1.0)}.get(rule.unit, (rule.unit, 1.0))
    interval = ""
    if m.ci_low is not None and m.ci_high is not None:
        interval = f" ({m.ci_low / factor:.4g} to {m.ci_high / factor:.4g})"
    return f"{value / factor:.4g}{interval} {name}; {bound}{rule.bound / factor:.4g} {name}"


def _missing(rule: Rule, m: Measurement) -> Finding:
    return _finding(rule, m, False, f"{m.status}: {m.reason}")


def _unmatched(rule: Rule, matched: list[Measurement], measured: list[Measurement]) -> Finding:
    if measured:
        said = (
            "what it matches ran beside other copies or may have stayed in caches; name it by "
            "way=, size= or id=, or say 'every'"
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
        passed=passed,
        said=said,
    )
