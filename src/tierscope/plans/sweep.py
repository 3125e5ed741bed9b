"""Sweeps over properties: what a request says of each, and the specs of all combinations."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from tierscope.model.errors import UserError
from tierscope.model.property import Declared, MadeBy, declared, flagged
from tierscope.model.rules import Ruled, holds
from tierscope.model.spec import MeasurementSpec
from tierscope.plans import grammar
from tierscope.plans.axes import ID_LENGTH, checked, identity, reason, sentence
from tierscope.plans.options import Option, option_of, written
from tierscope.plans.request import Request

AnySpec = TypeVar("AnySpec", bound=MeasurementSpec)


def options_of(model: type[BaseModel], *without: str) -> tuple[Option, ...]:
    """Return the options of a class's properties, in their order; ``without`` are fields."""
    return options_for(model, *(field for field in declared(model) if field not in without))


def options_for(model: type[BaseModel], *fields: str) -> tuple[Option, ...]:
    """Return the options of some of a class's properties."""
    return tuple(option_of(declared(model)[field]) for field in fields)


def values_of(request: Request, one: Declared, every: int = 1) -> list[Any]:
    """Return the values that a request asks for; else the property's default, None without one.

    ``every`` is what the count ``all`` stands for where the property has no maximum. Raises
    UserError that names the option.
    """
    if one.flag not in request.options and not one.about.default:
        return [one.own_default]
    text = request.options.get(one.flag, one.about.default)
    found: list[Any] = checked(request, one.flag, _parsed, one, text, every)
    if one.about.single and len(found) > 1:
        raise request.wrong(one.flag, "takes a single value")
    return found


def asked(request: Request, model: type[BaseModel], field: str) -> list[Any]:
    """Return the values that a request asks for of a property; none where it is not given.

    Raises UserError that names the option.
    """
    one = declared(model)[field]
    return values_of(request, one) if one.flag in request.options else []


def _parsed(one: Declared, text: str, every: int) -> list[Any]:
    if one.grammar == "words":
        values = {str(choice): choice for choice in one.choices}
        words = grammar.split_words(text)
        return [values[grammar.parse_choice(word, tuple(values))] for word in words]
    if one.grammar == "yes-no":
        words = [grammar.parse_choice(word, ("yes", "no")) for word in grammar.split_words(text)]
        return [word == "yes" for word in words]
    if one.grammar == "times":
        return grammar.expand_nanoseconds(text, int(one.high or 0))
    if one.grammar == "sizes":
        found = grammar.expand_sizes(text)
        if one.high is not None and max(found) > one.high:
            most = grammar.format_size(int(one.high))
            raise UserError(f"{grammar.format_size(max(found))} is out of range: at most {most}")
        return found
    if one.grammar == "counts":
        every = every if one.high is None else int(one.high)
        found = grammar.expand_counts(text, every, int(one.low))
        if one.high is not None and max(found) > one.high:
            raise UserError(f"{max(found)} is too many; the maximum is {int(one.high)}")
        return found
    if one.grammar == "numbers":
        return [_number(one, word) for word in grammar.split_words(text)]
    return [text]


def _number(one: Declared, word: str) -> float:
    high = float("inf") if one.high is None else one.high
    if one.above:
        return grammar.parse_number(word, one.low, high)
    value = grammar.parse_number(word, -float("inf"), float("inf"))
    if not one.low <= value <= high:
        raise UserError(f"'{word}' is out of range: from {one.low:g} to {high:g}")
    return value


def combinations(
    request: Request,
    pattern: type[Ruled],
    given: Mapping[str, Sequence[Any]],
    goes: Callable[[dict[str, Any]], bool] = lambda _: True,
) -> Iterator[dict[str, Any]]:
    """Yield the values of all combinations of a pattern's properties, each combination once.

    ``given`` are values by field where they depend on more than the request; it may have names
    that are no field of the pattern, such as ``threads``. A field that has no meaning in a
    combination (``Prunes``) is left out of it, as are those without a value. Combinations for
    which ``goes`` is false are none. Raises UserError for an option that no combination has a use
    for, unless ``given`` has its field.
    """
    axes: dict[str, Sequence[Any]] = {
        one.field: values_of(request, one)
        for one in declared(pattern).values()
        if one.field not in given
    }
    axes = {name: axes[name] if name in axes else given[name] for name in _order(pattern, given)}
    seen: set[tuple[tuple[str, Any], ...]] = set()
    used: set[str] = set()
    for combination in itertools.product(*axes.values()):
        values = {
            name: value for name, value in zip(axes, combination, strict=True) if value is not None
        }
        if not goes(values):
            continue
        for prune in pattern.prunes():
            if prune.field in values and not holds(prune.unless, values):
                del values[prune.field]
        used |= set(values)
        if (key := tuple(values.items())) not in seen:
            seen.add(key)
            yield values
    for prune in pattern.prunes():
        flag = _flag(pattern, prune.field)
        if flag in request.options and prune.field not in {*used, *given}:
            raise request.wrong(flag, prune.because)


def _order(pattern: type[Ruled], given: Mapping[str, Any]) -> list[str]:
    properties = list(declared(pattern))
    return [*properties, *(name for name in given if name not in properties)]


def _flag(pattern: type[Ruled], field: str) -> str:
    properties = declared(pattern)
    return properties[field].flag if field in properties else field.replace("_", "-")


def id_parts(pattern: type[BaseModel], values: Mapping[str, Any], *without: str) -> list[str]:
    """Return what ids say of a pattern's values, in the order of its properties.

    A value that is the field's default is left out unless the property says otherwise.
    """
    parts = []
    for one in declared(pattern).values():
        value = values.get(one.field)
        quiet = value == one.own_default and not one.about.id_always
        if one.field in without or value is None or quiet:
            continue
        text = written(one, value)
        if one.about.id:
            parts.append(one.about.id.format(text))
        else:
            parts.append(text if one.grammar in ("words", "text") else f"{one.flag}{text}")
    return parts


def spec_of(
    request: Request,
    spec: type[AnySpec],
    fields: Mapping[str, Any],
    parts: Sequence[str],
    longest: int = ID_LENGTH,
) -> AnySpec:
    """Return the spec of these fields; its id begins with the request's name, else the kind's, and
    has at most ``longest`` characters.

    Raises UserError that names the option to which a broken rule is put down.
    """
    try:
        name = request.name or spec.kind_name()
        return spec.model_validate({**fields, "id": identity([name, *parts], longest)})
    except ValidationError as error:
        raise _refusal(request, spec, error) from None


def _refusal(request: Request, spec: type[MeasurementSpec], error: ValidationError) -> UserError:
    """Return the error of a refused spec, put down to an option.

    It is the first one that was given of the fields that the broken rule is about, the sentence's
    own first, else that field's. Behind a property's own flag, the sentence needs no field.
    """
    first = error.errors()[0]
    fields = first["ctx"]["fields"] if first["type"] == "rule" else [str(first["loc"][-1])]
    known = flagged(spec)
    outer = known.get(str(first["loc"][0])) if first["loc"] else None
    outer_flag = outer.flag if isinstance(outer, MadeBy) else ""
    prefix = outer_flag if outer_flag.endswith("-") else ""
    flags = [
        prefix + (known[field].flag if field in known else field.replace("_", "-"))
        for field in fields
    ]
    flags += [outer_flag] if outer_flag and not prefix else []
    option = next((flag for flag in flags if flag in request.options), flags[0])
    given = f"'{request.options[option]}': " if option in request.options else ""
    own = option == flags[0] and not isinstance(known.get(fields[0]), MadeBy)
    return request.wrong(option, given + (sentence(error)[1] if own else reason(error)))
