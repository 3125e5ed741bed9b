"""Rules: what goes with what among the fields of a spec, stated once for both programs.

A class of specs lists its rules in ``rules``. The models enforce them here; ``make schema`` writes
those that are data as tables that the engine's parser enforces, with the same sentences. A sentence
follows the name of the field or option that it is about: "stride: goes with order strided".
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, ClassVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema, PydanticCustomError
from pydantic_core.core_schema import no_info_after_validator_function
from typing_extensions import Self

from tierscope.model.base import Model
from tierscope.model.property import declared

Scalar = str | bool | int | float | None
Values = Scalar | tuple[Scalar, ...]
"""The value of a field, or those that it may have; None: it is absent."""


@dataclass(frozen=True)
class Below:
    """A number below another one."""

    other: int | str
    """A number, or the field that has it."""


@dataclass(frozen=True)
class Uneven:
    """A number that is not a multiple of another one."""

    other: int | str
    """A number, or the field that has it."""


@dataclass(frozen=True)
class Same:
    """The value that another field has, too."""

    other: str


@dataclass(frozen=True)
class Given:
    """Any value but None."""


@dataclass(frozen=True)
class Differs:
    """Any value but this one."""

    value: str | bool | int | float


@dataclass(frozen=True)
class Elements:
    """An array of this many elements."""

    count: int


Compared = Below | Uneven | Same
Test = Values | Compared | Given | Differs | Elements
Condition = Mapping[str, Test]
"""Fields, dotted below the class's own (``pattern.order``), and what each has to have."""


@dataclass(frozen=True, eq=False)
class Rule:
    """Refuses specs for which all of ``when`` holds, unless all of ``unless`` does."""

    field: str
    """Subject of the sentence."""
    when: Condition
    because: str
    """The sentence, without the field that it begins with."""
    unless: Condition | None = None

    def fields(self) -> list[str]:
        """Fields that it is about, without what stands before their last dot; its own first."""
        tests = {**self.when, **(self.unless or {})}
        others = [test.other for test in tests.values() if isinstance(test, Compared)]
        return _names(self.field, *tests, *(name for name in others if isinstance(name, str)))


def refuses(when: Condition, because: str, unless: Condition | None = None) -> Rule:
    """Return a rule about the first field of ``when``."""
    return Rule(next(iter(when)), when, because, unless)


def needs(field: str, when: Condition, because: str) -> Rule:
    """Return a rule that a field has to be given under a condition; the sentence is about the
    condition's first field."""
    return Rule(next(iter(when)), when, because, {field: Given()})


@dataclass(frozen=True, eq=False)
class Prunes:
    """A field that has a meaning only where all of ``unless`` holds.

    A sweep leaves it out elsewhere, so that such combinations come once; a spec that has it
    elsewhere is refused.
    """

    field: str
    unless: Condition

    @property
    def because(self) -> str:
        """The sentence: ``goes with order strided``."""
        return "goes with " + " and ".join(
            name.rpartition(".")[2] + ("" if values == Given() else f" {_text(values)}")
            for name, values in self.unless.items()
        )

    def fields(self) -> list[str]:
        """Fields that it is about, its own first."""
        return _names(self.field, *self.unless)

    def rule(self, default: Any) -> Rule:
        """The rule that refuses the field elsewhere, of a field that is absent as ``default``."""
        given: Test = Given() if default is None else Differs(default)
        return Rule(self.field, {self.field: given}, self.because, self.unless)


@dataclass(frozen=True)
class Check:
    """A rule that is arithmetic; each side has code for it, and this sentence.

    Rules that are data are checked before these.
    """

    field: str
    """Subject of the sentence."""
    because: str
    """The sentence; each ``{}`` of it stands for one of ``values``."""
    holds: Callable[[Any], bool]
    """From a spec, or a pattern where the rule is a pattern's."""
    others: tuple[str, ...] = ()
    """Further fields that it depends on."""
    values: Callable[[Any], tuple[object, ...]] = lambda _model: ()
    name: str = ""
    """Name of the engine's constant, behind its class; empty: the field's."""

    def fields(self) -> list[str]:
        """Fields that it is about, its own first."""
        return _names(self.field, *self.others)


Ruling = Rule | Prunes | Check


def _names(*paths: str) -> list[str]:
    return list(dict.fromkeys(path.rpartition(".")[2] for path in paths))


def _text(values: Test) -> str:
    if isinstance(values, Compared):
        return f"{type(values).__name__.lower()} {values.other}"
    if isinstance(values, Given | Differs):
        return "given"
    if isinstance(values, Elements):
        return f"of {values.count}"
    words = values if isinstance(values, tuple) else (values,)
    return " or ".join(_word(word) for word in words)


def _word(value: Scalar) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def value_at(model: Any, path: str) -> Any:
    """Return the value of a dotted field, of a model or of a mapping; None where it is absent."""
    for name in _names_in(path):
        model = model.get(name) if isinstance(model, Mapping) else getattr(model, name, None)
    return model


@cache
def _names_in(path: str) -> list[str]:
    return path.split(".")


def holds(condition: Condition | None, model: Any) -> bool:
    """Return whether a model, or a mapping of its fields, has all that a condition asks for."""
    return all(_has(model, name, values) for name, values in (condition or {}).items())


def _has(model: Any, name: str, values: Test) -> bool:
    found = value_at(model, name)
    if isinstance(values, Compared):
        return found is not None and _compares(model, found, values)
    if isinstance(values, Given):
        return found is not None
    if isinstance(values, Differs):
        return found is not None and found != values.value
    if isinstance(values, Elements):
        return found is not None and len(found) == values.count
    return found in (values if isinstance(values, tuple) else (values,))


def _compares(model: Any, found: Any, values: Compared) -> bool:
    other = values.other if isinstance(values.other, int) else value_at(model, values.other)
    if other is None:
        return False
    if isinstance(values, Same):
        return bool(found == other)
    return bool(found < other if isinstance(values, Below) else found % other)


def broken(error_of: Ruling, model: Any) -> PydanticCustomError:
    """Return the error of a broken rule; its context has the fields that the rule is about."""
    because = error_of.because
    if isinstance(error_of, Check):
        because = because.format(*error_of.values(model))
    context = {"because": because, "field": error_of.field, "fields": error_of.fields()}
    return PydanticCustomError("rule", "{because}", context)


class Ruled(Model):
    """A model with rules; an instance that breaks one cannot be made.

    The error's context has the fields that the rule is about, as ``fields``.
    """

    rules: ClassVar[Sequence[Ruling]] = ()
    """Those of the class itself; it has those of its bases, too."""

    @classmethod
    def prunes(cls) -> list[Prunes]:
        """Those of its rules that leave fields out of sweeps."""
        return [rule for rule in all_rules(cls) if isinstance(rule, Prunes)]

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        for ruling, is_kept in _checks(type(self)):
            if not is_kept(self):
                raise broken(ruling, self)
        return self

    def as_recorded(self) -> dict[str, Any]:
        """Its fields as identities have them: those with a value and a meaning, and of those that
        identities leave out where they are usual, the others."""
        found = self.model_dump(mode="json", exclude_none=True)
        for prune in self.prunes():
            if not holds(prune.unless, self):
                found.pop(prune.field, None)
        for name, one in declared(type(self)).items():
            if not one.about.identity and getattr(self, name) == one.own_default:
                found.pop(name, None)
        return found


@cache
def all_rules(of: type[Ruled]) -> tuple[Ruling, ...]:
    """Return the rules of a class and of its bases, those that are arithmetic last."""
    found = [rule for base in reversed(of.__mro__) for rule in base.__dict__.get("rules", ())]
    return tuple(sorted(found, key=lambda rule: isinstance(rule, Check)))


@cache
def as_rule(of: type[Ruled], ruling: Rule | Prunes) -> Rule:
    """Return a rule of a class that is data as conditions."""
    if isinstance(ruling, Rule):
        return ruling
    return ruling.rule(of.model_fields[ruling.field].default)


@cache
def _checks(of: type[Ruled]) -> tuple[tuple[Ruling, Callable[[Any], bool]], ...]:
    """Return each rule of a class with what says whether a model keeps it."""
    return tuple(
        (
            ruling,
            ruling.holds if isinstance(ruling, Check) else partial(_keeps, as_rule(of, ruling)),
        )
        for ruling in all_rules(of)
    )


def _keeps(rule: Rule, model: Any) -> bool:
    return not breaks(rule, model)


def breaks(rule: Rule, model: Any) -> bool:
    """Return whether a model, or a mapping of its fields, breaks a rule."""
    return holds(rule.when, model) and (rule.unless is None or not holds(rule.unless, model))


class _Annotation:
    """Checks a value that has passed its other checks."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return no_info_after_validator_function(self.checked, handler(source))

    def checked(self, value: Any) -> Any:
        """Return the value, or raise what pydantic reports."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Obeys(_Annotation):
    """Annotates a field whose model has to obey further rules there."""

    rules: tuple[Rule, ...]

    def checked(self, value: Any) -> Any:
        """As of its class."""
        for rule in self.rules:
            if breaks(rule, value):
                raise broken(rule, value)
        return value


@dataclass(frozen=True)
class Distinct(_Annotation):
    """Annotates a list whose elements differ, or a field of theirs does."""

    by: str = ""

    def checked(self, value: Any) -> Any:
        """As of its class."""
        keys = [getattr(each, self.by) for each in value] if self.by else value
        twice = next((key for key, count in Counter(keys).items() if count > 1), None)
        if twice is not None:
            raise PydanticCustomError("twice", "names {one} twice", {"one": twice})
        return value

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return handler(schema) | ({} if self.by else {"uniqueItems": True})


@dataclass(frozen=True)
class PowerOfTwo(_Annotation):
    """Annotates an integer."""

    def checked(self, value: int) -> int:
        """As of its class."""
        if value.bit_count() != 1:
            raise PydanticCustomError("power", "is not a power of two")
        return value
