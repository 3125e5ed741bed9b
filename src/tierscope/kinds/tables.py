"""Write a plan's objects as tables that the engine's parser enforces.

The tables have what ``Plan`` and the specs of all kinds that the engine measures declare: fields
with types, ranges and defaults, and the rules that are data. Of rules that are arithmetic the
engine gets the sentences, and of a kind's module of specs the constants of ``ENGINE_CONSTANTS``.
"""

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import singledispatch
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen, MultipleOf
from pydantic.fields import FieldInfo

from tierscope.kinds.plan import PLAN_VERSION, OfAnyKind, Plan
from tierscope.kinds.registry import KINDS, Kind
from tierscope.model.base import Model
from tierscope.model.event import DISTURBED_SHARE
from tierscope.model.rules import (
    Below,
    Check,
    Condition,
    Differs,
    Distinct,
    Elements,
    Given,
    Obeys,
    PowerOfTwo,
    Rule,
    Ruled,
    Same,
    Test,
    Uneven,
    all_rules,
    as_rule,
)

_HEAD = "// Written by `make schema` from the models in src/tierscope. Do not edit.\n"
_OFF = "// clang-format off\n"
_OBJECT = "Type::kObject"
_TYPES: dict[Any, str] = {
    bool: "Type::kBoolean",
    int: "Type::kInteger",
    float: "Type::kNumber",
    str: "Type::kText",
    list: "Type::kArray",
    dict: "Type::kMap",
}
_ORDER = (
    "name", "required", "otherwise", "nullable", "type", "choices", "multiple", "power_of_two",
    "least", "above", "most", "below", "shortest", "longest", "pattern", "element", "distinct",
    "distinct_by", "table", "variants", "rules",
)  # fmt: skip
"""Members of a field, as engine/protocol/tables.h declares them."""
_CONSTRAINTS = (
    (Ge, "least", "ge"),
    (Gt, "least", "gt"),
    (Le, "most", "le"),
    (Lt, "most", "lt"),
    (MultipleOf, "multiple", "multiple_of"),
    (MinLen, "shortest", "min_length"),
    (MaxLen, "longest", "max_length"),
)


def constants() -> str:
    """Return the header of what the engine's code names: sentences and numbers."""
    lines = [_HEAD, "#pragma once\n\n", '#include "protocol/tables.h"\n\n', _OFF]
    lines.append("namespace tierscope::tables {\n\n")
    for name, check in _checks().items():
        lines.append(
            f"inline constexpr Check k{name}{{{_text(check.field)}, {_text(check.because)}}};\n"
        )
    lines.append(f"\ninline constexpr int kPlanVersion = {PLAN_VERSION};\n")
    lines.append(f"inline constexpr double kDisturbedShare = {DISTURBED_SHARE};\n")
    for kind in KINDS.values():
        for name, value in _constants_of(kind).items():
            of_type = "double" if isinstance(value, float) else "std::uint64_t"
            lines.append(
                f"inline constexpr {of_type} k{_camel(kind.name)}{_camel(name)} = {value};\n"
            )
    lines.append("\n}  // namespace tierscope::tables\n")
    return "".join(lines)


def tables() -> str:
    """Return the source of the tables."""
    writer = _Writer()
    plan = writer.table(Plan)
    lines = [_HEAD, '#include "protocol/tables.h"\n\n', _OFF, "namespace tierscope::tables {\n"]
    lines += ["namespace {\n\n", *writer.lines, "\n}  // namespace\n\n"]
    lines.append(f"const Table& plan() {{ return {plan}; }}\n\n")
    lines.append("std::span<const Model> models() {\n  static constexpr Model kModels[] = {\n")
    lines += [f"      {{{_text(name)}, &k{name}}},\n" for name in writer.models]
    lines.append("  };\n  return kModels;\n}\n\n}  // namespace tierscope::tables\n")
    return "".join(lines)


def _constants_of(kind: Kind) -> Mapping[str, int | float]:
    return getattr(sys.modules[kind.spec.__module__], "ENGINE_CONSTANTS", {})


def _checks() -> dict[str, Check]:
    """Return the checks of all models of a plan by the names of their constants."""
    writer = _Writer()
    writer.table(Plan)
    found: dict[str, Check] = {}
    for model in writer.models.values():
        for base in reversed(model.__mro__):
            for check in base.__dict__.get("rules", ()):
                if isinstance(check, Check):
                    name = base.__name__ + (check.name or _camel(check.field))
                    assert found.setdefault(name, check) is check, f"two checks are {name}"
    return found


class _Writer:
    """Writes each table once, behind those that it refers to."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.models: dict[str, type[Model]] = {}
        self._values: dict[str, str] = {}

    def table(self, model: type[Model]) -> str:
        """Return the name of a model's table."""
        name = model.__name__
        if name in self.models:
            assert self.models[name] is model, f"two models are called {name}"
            return f"k{name}"
        fields = [self._field(key, field) for key, field in model.model_fields.items()]
        rules = []
        if issubclass(model, Ruled):
            data = [rule for rule in all_rules(model) if not isinstance(rule, Check)]
            rules = [self._rule(as_rule(model, rule)) for rule in data]
        self.models[name] = model
        self.lines.append(f"constexpr Field k{name}Fields[] = {{\n")
        self.lines += [f"    {{{field}}},\n" for field in fields]
        self.lines.append("};\n")
        text = f"k{name}Fields"
        if rules:
            text += ", " + self._array("Rule", rules)
        self.lines.append(f"constexpr Table k{name}{{{text}}};\n\n")
        return f"k{name}"

    def _field(self, name: str, field: FieldInfo) -> str:
        found = {"name": _text(name), **self._type(field.annotation, [*field.metadata, field])}
        if field.is_required():
            found["required"] = "true"
        if isinstance(field.default, str | bool | int | float):
            found["otherwise"] = _value(field.default)
        return _initializers(found)

    def _type(self, annotation: Any, metadata: Iterable[Any]) -> dict[str, str]:
        """Return the members of a field that its type, and what annotates it, say."""
        origin, inner = get_origin(annotation), get_args(annotation)
        metadata = _flat(metadata)
        if any(one is OfAnyKind for one in metadata):
            specs = [kind.spec for kind in KINDS.values() if kind.in_engine]
            return self._variants(specs, "kind")
        if origin is Annotated:
            return self._type(inner[0], [*annotation.__metadata__, *metadata])
        if origin in (Union, UnionType):
            some = tuple(one for one in inner if one is not NoneType)
            if len(some) < len(inner):
                return {**self._type(Union[some], metadata), "nullable": "true"}  # noqa: UP007 - made here
            tags = (getattr(one, "discriminator", None) for one in metadata)
            return self._variants(some, next(filter(None, tags), ""))
        if origin is Literal:
            choices = self._array("Value", map(_value, inner))
            return {"type": _TYPES[type(inner[0])], "choices": choices}
        if origin in (list, dict):
            return {
                "type": _TYPES[origin],
                "element": self._element(inner[-1]),
                **_constraints(metadata),
            }
        if annotation in _TYPES:
            return {"type": _TYPES[annotation], **_constraints(metadata)}
        found = {"type": _OBJECT, "table": f"&{self.table(annotation)}"}
        obeyed = [rule for one in metadata if isinstance(one, Obeys) for rule in one.rules]
        if obeyed:
            found["rules"] = self._array("Rule", map(self._rule, obeyed))
        return found

    def _variants(self, models: Sequence[type[Model]], tag: str) -> dict[str, str]:
        """Return the members of an object of one of several models: the tag says of which, or
        the one key that only this model needs."""
        found = []
        for model in models:
            needed = {name for name, one in model.model_fields.items() if one.is_required()}
            for other in models:
                if other is not model and not tag:
                    needed -= set(other.model_fields)
            key = tag or min(needed)
            value = model.model_fields[tag].default if tag else ""
            found.append(f"{{{_text(key)}, {_text(value)}, &{self.table(model)}}}")
        return {"type": _OBJECT, "variants": self._array("Variant", found)}

    def _element(self, annotation: Any) -> str:
        """Return the address of a field without a name."""
        return self._array("Field", [f"{{{_initializers(self._type(annotation, ()))}}}"])

    def _rule(self, rule: Rule) -> str:
        unless = ""
        if rule.unless is not None:
            unless = f", {self._tests(rule.unless)}"
        return f"{{{_text(rule.field)}, {_text(rule.because)}, {self._tests(rule.when)}{unless}}}"

    def _tests(self, condition: Condition) -> str:
        return self._array("Test", [self._test(path, test) for path, test in condition.items()])

    def _test(self, path: str, test: Test) -> str:
        kind, values = _tested(test)
        return f"{{{_text(path)}, Test::Kind::{kind}, {self._array('Value', map(_value, values))}}}"

    def _array(self, of: str, values: Iterable[str]) -> str:
        """Return the name of an array of these values."""
        text = f"constexpr {of} NAME[] = {{{', '.join(values)}}};\n"
        if text.endswith("{};\n"):
            return "{}"
        if text not in self._values:
            self._values[text] = f"k{of}s{len(self._values)}"
            self.lines.append(text.replace("NAME", self._values[text], 1))
        return self._values[text]


@singledispatch
def _tested(test: Any) -> tuple[str, Iterable[Any]]:
    return "kIn", test if isinstance(test, tuple) else (test,)


@_tested.register
def _(test: Below | Uneven | Same) -> tuple[str, Iterable[Any]]:
    return f"k{type(test).__name__}", (test.other,)


@_tested.register
def _(_test: Given) -> tuple[str, Iterable[Any]]:
    return "kGiven", ()


@_tested.register
def _(test: Differs) -> tuple[str, Iterable[Any]]:
    return "kDiffers", (test.value,)


@_tested.register
def _(test: Elements) -> tuple[str, Iterable[Any]]:
    return "kElements", (test.count,)


def _initializers(members: Mapping[str, str]) -> str:
    return ", ".join(f".{name} = {members[name]}" for name in _ORDER if name in members)


def _constraints(metadata: Iterable[Any]) -> dict[str, str]:
    """Return the members that constraints of a value say."""
    found: dict[str, str] = {}
    for one in metadata:
        if isinstance(one, Lt) and one.lt == 1 << 63:
            continue  # The engine takes no larger integer.
        for constraint, member, attribute in _CONSTRAINTS:
            if isinstance(one, constraint):
                bound = getattr(one, attribute)
                found[member] = _value(bound) if member in ("least", "most") else str(bound)
        if isinstance(one, Gt):
            found["above"] = "true"
        if isinstance(one, Lt):
            found["below"] = "true"
        if isinstance(one, PowerOfTwo):
            found["power_of_two"] = "true"
        if isinstance(one, Distinct):
            found["distinct"] = "true"
            found |= {"distinct_by": _text(one.by)} if one.by else {}
        if getattr(one, "pattern", None) and not isinstance(one, FieldInfo):
            found["pattern"] = _text(one.pattern)
    return found


def _flat(metadata: Iterable[Any]) -> list[Any]:
    """Return annotations, those of ``Field`` one by one."""
    return [
        one
        for each in metadata
        for one in ([*each.metadata, each] if isinstance(each, FieldInfo) else [each])
    ]


def _value(value: str | bool | int | float | None) -> str:
    if value is None:
        return "std::monostate{}"
    if isinstance(value, bool):
        return f"Value{{{'true' if value else 'false'}}}"
    if isinstance(value, str):
        return f"std::string_view{{{_text(value)}}}"
    return f"{value}" if isinstance(value, float) else f"std::int64_t{{{value}}}"


def _text(text: str) -> str:
    return json.dumps(text)


def _camel(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[-_.]", name))
