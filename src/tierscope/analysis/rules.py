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
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tierscope.model.base import Model
from tierscope.model.endpoint import EndpointKind
from tierscope.model.errors import UserError, did_you_mean
from tierscope.model.metric import METRICS
from tierscope.model.text import shown
from tierscope.plans.grammar import parse_size
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
"""What a bound may be written in: the unit that it is compared in, and how many of them it is."""
_YES_NO = {"yes": "True", "true": "True", "no": "False", "false": "False"}


@dataclass(frozen=True)
class Vocabulary:
    """The words that rules may use of the kinds of measurement; made from the kinds' registry."""

    kinds: Mapping[str, str] = field(default_factory=dict)
    """The word for each kind, and its name in run files."""
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


def read_rules(path: Path, words: Vocabulary) -> list[Rule]:
    """Return the rules of a file; raises UserError with file, line and key."""
    return parse_rules(read_text(path, "expectation"), shown(path), words)


def parse_rules(text: str, path: str, words: Vocabulary) -> list[Rule]:
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
    return [_item(place, node, words) for node in sequence(place, top["rules"], "rules")]


def _item(place: Place, node: Any, words: Vocabulary) -> Rule:
    """Parse an item: a rule's text, or a mapping of its name and text."""
    from ruamel.yaml.nodes import MappingNode

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
    from ruamel.yaml.nodes import ScalarNode

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
            kind = words.kinds[word]  # some kinds' operations have the names of other kinds
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
